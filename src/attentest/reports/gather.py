"""Read what a folder holds (an audit, a study, a run, a trial) into what a page shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import is_folder, make_folder, name_of, read_as, read_table, write_table
from attentest.measures.intervals import Estimate, independent_difference
from attentest.publish import of_earlier_plan
from attentest.reports.contents import Block, Difference, Figure, Instance, Report, Section
from attentest.reports.instances import read_instances, write_csv
from attentest.reports.summary_text import facts_of, lead_of, notes_of, weakness
from attentest.studies import comparison
from attentest.studies.experiments import EXPERIMENTS, experiment_class
from attentest.studies.folder import PLAN, VERDICT
from attentest.studies.results import EXPERIMENT, SUMMARY, TRIAL, ModelResult, Summary, read_summary, result_of_run
from attentest.studies.verdict import judge
from attentest.training.record import RUN
from attentest.training.run import Run
from attentest.trials import TRIALS, trial_class
from attentest.trials.instances import HEAT_MAPS, instances
from attentest.trials.rationale import Rationale
from attentest.trials.stored import FILE as FINDING
from attentest.trials.stored import ChartFiles, read_finding
from attentest.trials.subject import subject_of
from attentest.version import __version__

Thresholds = Mapping[str, float]
COMPARISON = comparison.NAME


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
    raise InputError(
        f"{folder} is not the folder of an audit, a study, a run or a trial: it has no {SUMMARY}, {RUN} or {FINDING}."
    )


def kept_thresholds(folder: Path) -> dict[str, float]:
    """Those other than the usual ones that an audit was given."""
    if not is_folder(folder) or not (folder / VERDICT).is_file():
        return {}
    return read_as(folder / VERDICT, Judged).thresholds


@dataclass(frozen=True)
class Judged:
    """What of verdict.json is read again."""

    thresholds: dict[str, float]


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
        tables = {
            "all figures": "ours.csv",
            "means over seeds": "means.csv",
            "published figures and ours": "beside_published.csv",
        }
        tables |= {"findings of the paper": "directions.csv"} if summary.directions else {}
        return Report(
            title=summary.title or summary.study,
            kind=summary.kind,
            lead=lead,
            facts=[*([("budget", f"{summary.budget}{rows}")] if summary.budget else []), ("attentest", __version__)],
            notes=[*self._of_earlier_plan(), *notes_of(summary)],
            blocks=blocks,
            figures=[self._figure(self.folder, chart) for chart in summary.figures],
            directions=summary.directions,
            differences=differences,
            published=[row for row in self._rows("beside_published") if row["public"] or row["ours"] is not None],
            not_covered=summary.not_covered,
            files={
                f"{title} ({kind})": self._link(path)
                for title, name in tables.items()
                for kind, path in _both(self.folder / name)
            },
        )

    def _of_earlier_plan(self) -> list[str]:
        if not of_earlier_plan(self.folder, self.folder / PLAN):
            return []
        return ["These are results of an earlier time: what was planned here since is not finished."]

    def run(self) -> Report:
        run = Run(self.folder)
        if not run.finished:
            raise InputError(f"{self.folder} is not finished; finish its training first.")
        folders = sorted(path.parent for path in (self.folder / "trials").glob("*/finding.json"))
        order = {name: place for place, name in enumerate(TRIALS)}
        folders.sort(key=lambda f: order.get(f.name, len(order)))
        sections = [self._section(f"model-{place.name}", place) for place in folders]
        own = [section for section in sections if _is_of(section, run)]
        # not at another site than the model's last
        usual = [s for s, place in zip(sections, folders, strict=True) if s in own and place.name in TRIALS]
        table = self.companions / "instances.parquet"
        write_instances(run, table)
        shown = read_instances(table)
        about = result_of_run(run)
        name = f"{about.corpus} {run.record.model.name}"
        block = Block(
            anchor="model",
            name=name,
            facts=facts_of(about),
            verdicts=judge(_summaries(usual), self.thresholds, impossible=_impossible(shown)) if own else [],
            sections=own,
            instances=shown,
            files=self._instance_files(table),
        )
        weak = weakness(name, about)
        notes = [*([weak] if weak else []), *run.notes]
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
        section = self._section("finding", self.folder)
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

    def _block(self, number: int, name: str, about: ModelResult, summary: Summary) -> Block:
        anchor = f"model-{number}"
        own = [ref for ref in summary.findings if ref.block == name]
        sections = [self._section(f"{anchor}-{ref.kind}-{ref.name}", self.folder / ref.folder) for ref in own]
        broken = {(failure.kind, failure.name) for failure in summary.failed if failure.block == name}
        table = self.folder / about.instances if about.instances else None
        shown = read_instances(table) if table else []
        return Block(
            anchor=anchor,
            name=name,
            facts=facts_of(about),
            verdicts=judge(_summaries(sections), self.thresholds, broken, _impossible(shown)),
            sections=sections,
            instances=shown,
            files=self._instance_files(table) if table else {},
        )

    def _beside(self, title: str) -> Block:
        """Two models against each other."""
        place = self.folder / COMPARISON
        table = place / "instances.parquet"
        section = self._section("both-models", place)
        return Block("both", title, [], [], [section], read_instances(table), self._instance_files(table))

    def _section(self, anchor: str, folder: Path) -> Section:
        finding = read_finding(folder)
        record = finding.record
        about = _class_of(record.kind, record.trial)
        return Section(
            anchor=anchor,
            kind=record.kind,
            name=record.trial,
            question=record.question,
            answer=record.answer,
            source=about.source if about else "",
            how_to_read=about.how_to_read if about else "",
            summary=finding.summary,
            figures=[self._figure(folder, chart) for chart in record.charts],
            notes=record.notes,
            signature=record.signature,
            files={
                title: self._link(folder / record.files[key])
                for title, key in (("CSV", "csv"), ("Parquet", "table"))
                if key in record.files
            },
        )

    def _figure(self, folder: Path, chart: ChartFiles) -> Figure:
        return Figure(
            title=chart.title,
            description=chart.description,
            spec=read_as(folder / chart.spec, dict[str, Any]),
            svg=_read_picture(folder / chart.svg) if chart.svg else "",
            files={
                kind.upper(): self._link(folder / name)
                for kind, name in (("svg", chart.svg), ("png", chart.png), ("csv", chart.csv))
                if name
            },
        )

    def _instance_files(self, table: Path) -> dict[str, str]:
        beside = self.companions / f"{table.stem}.csv"
        make_folder(beside.parent)
        write_csv(table, beside)
        return {"CSV": self._link(beside), "Parquet": self._link(table)}

    def _link(self, path: Path) -> str:
        if path.is_relative_to(self.companions):
            return f"{self.beside}/{path.relative_to(self.companions).as_posix()}"
        return Path(os.path.relpath(path, self.start)).as_posix()

    def _rows(self, name: str) -> list[dict[str, Any]]:
        table = self.folder / f"{name}.parquet"
        return read_table(table).to_pylist() if table.is_file() else []


def write_instances(run: Run, path: Path) -> None:
    """Heat maps of a run, made once."""
    if not path.is_file() or path.stat().st_mtime < (run.path / "result.json").stat().st_mtime:
        make_folder(path.parent)
        write_table(path, instances(subject_of(run)))


def _both(path: Path) -> list[tuple[str, Path]]:
    found = [("CSV", path), ("Parquet", path.with_suffix(".parquet"))]
    return [(kind, file) for kind, file in found if file.is_file()]


def _read_picture(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); run its study or trial again.") from error


def _summaries(sections: Sequence[Section]) -> dict[tuple[str, str], Mapping[str, Estimate]]:
    return {(section.kind, section.name): section.summary for section in sections}


def _impossible(shown: Sequence[Instance]) -> dict[tuple[str, str], str]:
    """Trials that these texts rule out."""
    if not shown or any(instance.marks is not None for instance in shown):
        return {}
    return {(TRIAL, Rationale.name): "the corpus has no rationales"}


def _is_of(section: Section, run: Run) -> bool:
    """Whether a finding in a run's folder is of this run, and not of one that was there before it."""
    said, made = section.signature, run.settings
    same = all(said.get(part, made[part]) == made[part] for part in ("model", "training", "text"))
    return same and said.get("corpus_hash") == made["corpus"]["fingerprint"]


def _differences(blocks: Sequence[Block]) -> list[Difference]:
    """The figures that both models have; careful, as both stand on the same texts and are taken as if they did not."""
    if len(blocks) != 2:  # what one of them stands on failed
        return []
    first, second = blocks
    others = {section.name: section.summary for section in second.sections}
    return [
        Difference(section.name, entry, figure, other, independent_difference(other, figure))
        for section in first.sections
        for entry, figure in section.summary.items()
        if (other := others.get(section.name, {}).get(entry)) is not None
    ]


def _class_of(kind: str, name: str) -> Any:
    """What a trial or experiment says about itself; None if this version has it no more."""
    if kind == COMPARISON:
        return comparison.ABOUT
    if kind == EXPERIMENT:
        return experiment_class(name) if name in EXPERIMENTS else None
    return trial_class(name) if name in TRIALS else None
