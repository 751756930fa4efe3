"""Read what a folder holds (an audit, a study, a run, a trial) into what a page shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import checked, inside, is_folder, make_folder, name_of, read_as, read_foreign_table, write_table
from attentest.measures.intervals import Estimate, independent_difference
from attentest.publish import plan_of
from attentest.reports.contents import Block, Difference, Figure, Instance, Report, Section
from attentest.reports.first_screen import first_screen
from attentest.reports.first_screen_of_translation import first_screen_of_translation
from attentest.reports.instances import read_instances, write_csv
from attentest.reports.parts.picture import is_plain
from attentest.reports.redrawn import class_of, picture_of, redrawn
from attentest.reports.summary_text import facts_of, lead_of, models_of, notes_of, weakness
from attentest.studies import comparison
from attentest.studies.experiments.controls import LEFT_OUT_CONTROL, POSITIVE, Controls, figures_of_controls
from attentest.studies.figures import FIGURES, PlacedFinding, across_models
from attentest.studies.folder import PLAN, VERDICT, plan_key
from attentest.studies.published import PublishedRow
from attentest.studies.reproduction.state import is_reproduction
from attentest.studies.results import (
    EXPERIMENT,
    SINKS,
    SUMMARY,
    TRIAL,
    WITHOUT_SINKS,
    FindingRef,
    ModelResult,
    Summary,
    counting_of,
    read_summary,
    result_of_run,
)
from attentest.studies.verdict import EVERY_CRITERION, LABELS, TRANSLATIONS, Verdict, judge, judge_translation
from attentest.studies.verdict.judge import Broken, Summaries
from attentest.training.record import RUN
from attentest.training.run import Run
from attentest.translation.folder import is_translation_run
from attentest.trials import TRIALS, trial_class
from attentest.trials.base import Chart, NoChartNumbersError
from attentest.trials.charts.files import slug
from attentest.trials.instances import HEAT_MAPS, instances
from attentest.trials.of_translation.sentences import read_sentences
from attentest.trials.rationale import Rationale
from attentest.trials.stored import CSV, TABLE, StoredFinding, read_finding
from attentest.trials.stored import FILE as FINDING
from attentest.trials.subject import subject_of
from attentest.version import __version__

Thresholds = Mapping[str, float]
COMPARISON = comparison.NAME
# names that had another figure in version 1
REPLACED = ("needed.trained", "stable.seeds", "exclusive.model", "faithful.sets", "informative.information")
LARGEST_PICTURE = 5_000_000  # bytes; ours are far smaller
UNKNOWN = "This version of attentest does not know it and cannot draw its charts; its numbers are as they were found."
EARLIER = "An earlier version of attentest made it, without the numbers that its charts need; make it again for them."

_BLIND = "no models of known truth were trained to show how well the tests work on this corpus."
LEFT_OUT = f"Controls were left out (by choice, or in an audit of an earlier version): {_BLIND}"
NO_CONTROLS = f"There are no controls, which the audit of a corpus trains: {_BLIND}"

NO_SINKS = (
    "An earlier version of attentest made this without verdicts without sinks (tokens that draw weight whatever the "
    "text says). For these, run it again."
)


def gather(folder: Path, start: Path, companions: Path, thresholds: Thresholds, beside: str = HEAT_MAPS) -> Report:
    """What the page of a folder shows.

    Links to files start at `start`. Files that belong to the page are made in `companions`, which will lie beside it as
    `beside`.
    """
    reader = _Reader(folder, start, companions, beside, thresholds)
    return {SUMMARY: reader.study, RUN: reader.run, FINDING: reader.trial}[mark_of(folder)]()


def mark_of(folder: Path) -> str:
    """The file that tells what a folder holds."""
    if not is_folder(folder):
        raise InputError(f"{folder}: there is no such folder.")
    for mark in (SUMMARY, RUN, FINDING):
        if (folder / mark).is_file():
            return mark
    if (folder / PLAN).is_file():
        raise InputError(
            f"{folder} is not finished (see its progress with: attentest status {folder}); run the same command again "
            "to resume."
        )
    if is_translation_run(folder):
        raise InputError(
            f"{folder} is a translation run, which has no page yet: audit it with attentest audit {folder}."
        )
    raise InputError(
        f"{folder} is not the folder of an audit, a study, a run or a trial: it has no {SUMMARY}, {RUN} or {FINDING}."
    )


def families_in(folder: Path) -> set[str]:
    """Of the models that a folder has verdicts on, where that is known."""
    if is_reproduction(folder):
        return set()
    mark = mark_of(folder)
    if mark == SUMMARY:
        return {LABELS if one.translation is None else TRANSLATIONS for one in read_summary(folder).blocks.values()}
    return {LABELS} if mark == RUN else set()


def kept_thresholds(folder: Path) -> dict[str, float]:
    """Those other than the usual ones that an audit was given."""
    if not is_folder(folder) or not (folder / VERDICT).is_file():
        return {}
    kept = read_as(folder / VERDICT, Judged)
    return {name: value for name, value in kept.thresholds.items() if name not in kept.outdated}


@dataclass(frozen=True)
class Judged:
    """What of verdict.json is read again."""

    thresholds: dict[str, float]
    version: int = 1  # the first had no number

    @property
    def outdated(self) -> list[str]:
        """Thresholds of tests that are gone, or that measure something else now."""
        if self.version > 1:
            return []
        return [name for name in self.thresholds if name not in EVERY_CRITERION or name in REPLACED]


@dataclass(frozen=True)
class _Reader:
    folder: Path
    start: Path  # where links start
    companions: Path  # where files that belong to the page are made …
    beside: str  # … and what this will be called beside the page
    thresholds: Thresholds

    def study(self) -> Report:
        summary = read_summary(self.folder)
        blocks = [self._block(n, name, about, summary) for n, (name, about) in enumerate(summary.blocks.items(), 1)]
        lead = lead_of(blocks, any(weakness(name, about) for name, about in summary.blocks.items()))
        differences = _differences(blocks) if summary.kind == COMPARISON else []
        if (self.folder / COMPARISON / FINDING).is_file():
            blocks.insert(0, self._beside(summary.title))
        rows = f": at most {summary.rows:,} rows of each corpus" if summary.rows else ""
        titles = {
            "all figures": "ours",
            "means over seeds": "means",
            "published figures and ours": "beside_published",
            **({"findings of the paper": "directions"} if summary.directions else {}),
        }
        kinds = {"CSV": "csv", "Parquet": "parquet"}
        tables = {f"{t} ({k})": f"{name}.{end}" for t, name in titles.items() for k, end in kinds.items()}
        return Report(
            title=summary.title or summary.study,
            kind=summary.kind,
            lead=lead,
            facts=[*([("budget", f"{summary.budget}{rows}")] if summary.budget else []), ("attentest", __version__)],
            notes=[
                *self._of_earlier_plan(),
                *dict.fromkeys(note for block in blocks for note in unproven(block.sections, block.verdicts)),
                *self._outdated_thresholds(),
                *notes_of(summary),
                *_lacks(summary),
            ],
            blocks=blocks,
            figures=self._figures(inside(self.folder, FIGURES), across_models(self._placed(summary))),
            directions=summary.directions,
            differences=differences,
            published=self._published(),
            not_covered=summary.not_covered,
            deviations=summary.deviations,
            files=self._files(self.folder, tables),
        )

    def _of_earlier_plan(self) -> list[str]:
        shown = plan_of(self.folder)
        if not shown or shown == plan_key(self.folder):
            return []
        return ["These are results of an earlier time: what was planned here since is not finished."]

    def _outdated_thresholds(self) -> list[str]:
        file = self.folder / VERDICT
        dropped = read_as(file, Judged).outdated if file.is_file() else []
        if not dropped or self.thresholds != kept_thresholds(self.folder):  # others were given in their place
            return []
        return [
            "Thresholds that were set for an earlier version do not count, as their tests are gone or measure "
            f"something else now: {', '.join(dropped)}."
        ]

    def run(self) -> Report:
        run = Run(self.folder)
        if not run.finished:
            raise InputError(f"{self.folder} is not finished; finish its training first.")
        folders = sorted(path.parent for path in (self.folder / "trials").glob("*/finding.json"))
        order = {name: place for place, name in enumerate(TRIALS)}
        folders.sort(key=lambda f: order.get(f.name, len(order)))
        sections = [self._section(f"model-{place.name}", str(place.relative_to(self.folder))) for place in folders]
        own = [section for section in sections if _is_of(section, run)]
        # not at another site than the model's last
        usual = [s for s, place in zip(sections, folders, strict=True) if s in own and place.name in TRIALS]
        table = self.companions / "instances.parquet"
        write_instances(run, table)
        shown = read_instances(table)
        about = result_of_run(run)
        name = f"{about.corpus} {run.record.model.name}"
        weak = weakness(name, about)
        judged = _summaries(usual)
        verdicts = judge(judged, self.thresholds, impossible=_impossible(shown)) if own else []
        block = Block(
            anchor="model",
            name=name,
            facts=facts_of(about),
            verdicts=verdicts,
            sections=own,
            instances=shown,
            files=self._instance_files(table),
            about=about,
            first=first_screen(about, judged, verdicts, weak is not None) if verdicts else None,
        )
        notes = [
            *([weak] if weak else []),
            *self._outdated_thresholds(),
            *run.notes,
            *([NO_CONTROLS] if verdicts else []),
        ]
        if not own:
            notes.append(f"No trial has been run yet. To run all: attentest trial all {self.folder}")
        if len(own) < len(sections):
            others = ", ".join(section.name for section in sections if section not in own)
            notes.append(f"Left out, because they are of an earlier run in this folder: {others}.")
        return Report(
            title=f"Run {name_of(self.folder)}",
            kind="run",
            lead=lead_of([block], weak is not None),
            facts=[("attentest", __version__)],
            notes=notes,
            blocks=[block],
        )

    def trial(self) -> Report:
        section = self._section("finding", ".")
        signature = section.signature
        block = Block("model", str(signature.get("corpus", "model")), [], [], [section])
        return Report(
            title=f"{section.kind.capitalize()} {section.name}",
            kind="trial",
            lead=section.answer,
            facts=[("attentest", str(signature.get("attentest", __version__)))],
            notes=[],
            blocks=[block],
        )

    def _instances(self, about: ModelResult) -> list[Instance]:
        return read_instances(inside(self.folder, about.instances)) if about.instances else []

    def _block(self, number: int, name: str, about: ModelResult, summary: Summary) -> Block:
        anchor = f"model-{number}"
        own = [ref for ref in summary.findings if ref.block == name]
        sections = [self._section(f"{anchor}-{ref.kind}-{ref.name}", ref.folder) for ref in own]
        broken = {(failure.kind, failure.name) for failure in summary.failed if failure.block == name}
        if about.translation is not None:
            return self._of_translation(anchor, name, about, sections, broken)
        table = inside(self.folder, about.instances) if about.instances else None
        shown = self._instances(about)
        # a model whose tokens are counted in another way has no heat maps of its own, and the same texts
        usual = summary.blocks.get(name.removesuffix(counting_of(name)), about)
        summaries, impossible = _summaries(sections), _impossible(shown or self._instances(usual))
        verdicts = judge(summaries, self.thresholds, broken, impossible, self._controls(own))
        first = first_screen(about, summaries, verdicts, weakness(name, about) is not None)
        return Block(
            anchor=anchor,
            name=name,
            facts=facts_of(about),
            verdicts=verdicts,
            sections=sections,
            instances=shown,
            files=self._instance_files(table) if table else {},
            about=about,
            first=replace(first, because=[*first.because, *unproven(sections, verdicts)]),
        )

    def _of_translation(
        self, anchor: str, name: str, about: ModelResult, sections: Sequence[Section], broken: Broken
    ) -> Block:
        summaries = _summaries(sections)
        verdicts = judge_translation(summaries, self.thresholds, broken)
        table = inside(self.folder, about.instances) if about.instances else None
        return Block(
            anchor=anchor,
            name=name,
            facts=facts_of(about),
            verdicts=verdicts,
            sections=sections,
            sentences=read_sentences(table).sentences if table else [],
            files={"JSON": self._link(table)} if table else {},
            about=about,
            first=first_screen_of_translation(about, summaries, verdicts, weakness(name, about) is not None),
        )

    def _controls(self, findings: Sequence[FindingRef]) -> Mapping[str, Summaries]:
        """What the models of known truth got that were trained next to this one."""
        place = next((ref.folder for ref in findings if (ref.kind, ref.name) == (EXPERIMENT, Controls.name)), None)
        return {} if place is None else self._finding(place).made(lambda table, _: figures_of_controls(table))

    def _beside(self, title: str) -> Block:
        """Two models against each other."""
        table = inside(self.folder, f"{COMPARISON}/instances.parquet")
        section = self._section("both-models", COMPARISON)
        return Block("both", title, [], [], [section], read_instances(table), self._instance_files(table))

    def _placed(self, summary: Summary) -> list[PlacedFinding]:
        models = {name: about.settings.model.name for name, about in summary.blocks.items() if about.settings}
        return [
            PlacedFinding(ref.kind, ref.name, ref.corpus, models[ref.block], ref.block, self._finding(ref.folder))
            for ref in summary.findings
            if ref.block in models
        ]

    def _finding(self, place: str) -> StoredFinding:
        return read_finding(inside(self.folder, place))

    def _section(self, anchor: str, place: str) -> Section:
        finding = self._finding(place)
        record = finding.record
        about = class_of(record.kind, record.trial)
        notes = [*record.notes, *([] if about else [UNKNOWN])]
        try:
            charts = redrawn(finding)
        except NoChartNumbersError:
            charts = {}
            notes.append(EARLIER)
        return Section(
            anchor=anchor,
            kind=record.kind,
            name=record.trial,
            question=record.question,
            answer=record.answer,
            source=about.source if about else "",
            how_to_read=about.how_to_read if about else "",
            summary=finding.summary,
            figures=self._figures(finding.folder, charts),
            notes=notes,
            signature=record.signature,
            files=self._files(finding.folder, {"CSV": CSV, "Parquet": TABLE}),
        )

    def _figures(self, folder: Path, charts: Mapping[str, Chart]) -> list[Figure]:
        """Whatever specifications and pictures the folder has: these are drawn anew, and theirs only linked to."""
        return [self._figure(folder, title, chart, picture_of(chart)) for title, chart in charts.items()]

    def _figure(self, folder: Path, title: str, chart: Chart, svg: str) -> Figure:
        ends = ("svg", "png") if svg else ("csv",)
        files = self._files(folder, {end.upper(): f"{slug(title)}.{end}" for end in ends})
        return Figure(title, str(chart["description"]), chart, svg, files)

    def _files(self, folder: Path, names: Mapping[str, str]) -> dict[str, str]:
        """Links to those that are there, and that no browser takes for more than a picture or a table."""
        found = {kind: inside(folder, name) for kind, name in names.items() if (folder / name).is_file()}
        return {kind: self._link(path) for kind, path in found.items() if _is_harmless(path)}

    def _instance_files(self, table: Path) -> dict[str, str]:
        beside = self.companions / f"{table.stem}.csv"
        make_folder(beside.parent)
        write_csv(table, beside)
        return {"CSV": self._link(beside), "Parquet": self._link(table)}

    def _link(self, path: Path) -> str:
        if path.is_relative_to(self.companions):
            return f"{self.beside}/{path.relative_to(self.companions).as_posix()}"
        return Path(os.path.relpath(path, self.start)).as_posix()

    def _published(self) -> list[dict[str, Any]]:
        table = self.folder / "beside_published.parquet"
        if not table.is_file():
            return []
        rows: list[dict[str, Any]] = read_foreign_table(inside(self.folder, table.name)).to_pylist()
        checked(rows, list[PublishedRow], table)
        return [row for row in rows if row["public"] or row["ours"] is not None]


def write_instances(run: Run, path: Path) -> None:
    """Heat maps of a run, made once."""
    if not path.is_file() or path.stat().st_mtime < (run.path / "result.json").stat().st_mtime:
        make_folder(path.parent)
        write_table(path, instances(subject_of(run)))


def _is_harmless(path: Path) -> bool:
    """A browser that opens an SVG runs and loads what is in it; of tables and PNG it does not."""
    try:
        if path.suffix != ".svg":
            return True
        return path.stat().st_size <= LARGEST_PICTURE and is_plain(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def _summaries(sections: Sequence[Section]) -> dict[tuple[str, str], Mapping[str, Estimate]]:
    return {(section.kind, section.name): section.summary for section in sections}


def _impossible(shown: Sequence[Instance]) -> dict[tuple[str, str], str]:
    """Trials that these texts rule out."""
    if not shown or any(instance.marks is not None for instance in shown):
        return {}
    return {(TRIAL, Rationale.name): "the corpus has no rationales"}


def unproven(sections: Sequence[Section], verdicts: Sequence[Verdict]) -> list[str]:
    """Which controls were left out and why, and what the tests were checked with instead."""
    notes = [note for s in sections if (s.kind, s.name) == (EXPERIMENT, Controls.name) for note in s.notes]
    left_out = [note for note in notes if LEFT_OUT_CONTROL in note]
    if not left_out:
        return []
    kept = {name for verdict in verdicts for ruling in verdict.rulings for name in ruling.controls}
    checked = POSITIVE in kept and len(kept) > 1
    means = "with the other controls only" if checked else "with no controls: nothing shows how well they work here"
    return [f"{' '.join(left_out)} The tests were checked {means}."]


def _lacks(summary: Summary) -> list[str]:
    """What the verdicts of this version have, and the folder does not."""
    done = {(ref.kind, ref.name) for ref in summary.findings} | {(f.kind, f.name) for f in summary.failed}
    trained = any(kind == EXPERIMENT for kind, _ in done)
    told = any(note.startswith(f"The experiment {Controls.name} ") for note in summary.notes)  # why they are left out
    labelled = {name: about for name, about in summary.blocks.items() if about.translation is None}
    without = bool(labelled) and (EXPERIMENT, Controls.name) not in done and not told
    lacks = [LEFT_OUT if trained else NO_CONTROLS] if without else []
    made_here = any(about.settings is not None for about in summary.blocks.values())
    kinds = {name: trial_class(name) for name in TRIALS}
    always = [name for name, kind in kinds.items() if not kind.needs_rationale and not kind.needs_layers]
    missing = [name for name in always if (TRIAL, name) not in done]
    lacks += [NO_SINKS] if _never_looked_for_sinks(summary) else []
    if summary.kind != "audit" or not made_here or not missing:
        return lacks
    names = ", ".join(missing)
    return [
        f"An earlier version of attentest made this audit, without the trials {names}; verdicts that need them are not "
        "tested. To run what is missing, run the same audit again.",
        *lacks,
    ]


def _never_looked_for_sinks(summary: Summary) -> bool:
    """Whether a version made this that knew no sinks; where the search failed, that is told anyway."""
    known = {failure.block for failure in summary.failed if failure.kind == SINKS}
    encoders = [
        name
        for name, about in summary.blocks.items()
        if about.settings is not None and about.settings.model.pretrained is not None and not counting_of(name)
    ]
    return any(summary.blocks[name].sinks is None and f"{name}{WITHOUT_SINKS}" not in known for name in encoders)


def _is_of(section: Section, run: Run) -> bool:
    """Whether a finding in a run's folder is of this run, and not of one that was there before it."""
    said, made = section.signature, run.settings
    same = all(said.get(part, made[part]) == made[part] for part in ("model", "training", "text"))
    return same and said.get("corpus_hash") == made["corpus"]["fingerprint"]


def _differences(blocks: Sequence[Block]) -> list[Difference]:
    """The figures that both models have; careful, as both stand on the same texts and are taken as if they did not."""
    models = models_of(blocks)
    if len(models) != 2:  # what one of them stands on failed
        return []
    first, second = models
    others = {section.name: section.summary for section in second.sections}
    return [
        Difference(section.name, entry, figure, other, independent_difference(other, figure))
        for section in first.sections
        for entry, figure in section.summary.items()
        if (other := others.get(section.name, {}).get(entry)) is not None
    ]
