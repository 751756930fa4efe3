"""Gather a study's results: tables, figures, and ours beside the published figures."""

from __future__ import annotations

import csv
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from attentest.files import read_as, write_table
from attentest.progress import Listener
from attentest.studies.directions import Direction, Replication, examine, printed_by
from attentest.studies.figures import FIGURES, PlacedFinding, across_models
from attentest.studies.published import CellComparison, compare, estimates, pool, trainings_behind
from attentest.studies.result_cells import cells_of_result, comparable_cells
from attentest.studies.results import (
    BASELINE,
    RUN,
    SINKS,
    WITHOUT_SINKS,
    Failure,
    FindingRef,
    ModelResult,
    ResultRef,
    Summary,
    counting_of,
    result_of_run,
    result_of_translation,
)
from attentest.studies.results import INSTANCES as HEAT_MAP_TABLE
from attentest.studies.steps.baseline import FILE as METRICS
from attentest.studies.steps.instances import FILE as INSTANCES
from attentest.studies.steps.sinks import read_search
from attentest.training.run import Run
from attentest.translation.folder import is_translation_run
from attentest.translation.run import TranslationRun
from attentest.trials.cells import Cell, cell
from attentest.trials.charts.files import listed, save_charts, slug
from attentest.trials.instances import HEAT_MAPS
from attentest.trials.of_translation.sentences import FILE as SENTENCES
from attentest.trials.sinks import SinkSearch
from attentest.trials.stored import ChartFiles, finding_in

_LONGEST = 80  # characters of a file's name


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    refs = [ResultRef(**row) for row in settings["results"]]
    results = _Results(out, settings["paper"])
    for ref in refs:
        results.add(ref, inputs[ref.role])
    if "beside" in inputs:
        shutil.copytree(inputs["beside"] / "comparison", out / "comparison")
        shutil.copy2(inputs["beside"] / INSTANCES, out / "comparison" / INSTANCES)
    _write_rows(out / "ours.csv", results.rows)
    _write_rows(out / "means.csv", _means(results.rows))
    figures = across_models(results.placed)
    undrawn = save_charts(out / FIGURES, figures)
    compared = compare(settings["paper"], results.comparable, settings["tolerances"]) if settings["paper"] else []
    _write_rows(out / "beside_published.csv", [c.as_row() for c in compared])
    replications = _replications(settings, results.comparable)
    _write_rows(out / "directions.csv", [replication.as_row() for replication in replications])
    summary = Summary(
        study=settings["study"],
        title=settings["title"],
        kind=settings["kind"],
        budget=settings["budget"],
        rows=settings["rows"],
        notes=[*settings["notes"], *undrawn.values()],
        blocks=results.blocks,
        findings=results.findings,
        missing=settings["missing"],
        failed=[Failure(**row) for row in settings["failed"]],
        figures=[ChartFiles(**chart) for chart in listed(figures, undrawn, f"{FIGURES}/")],
        directions=replications,
        cells=count(compared) if settings["paper"] else {},
        not_covered=settings["not_covered"] if settings["paper"] else {},
        deviations=settings.get("deviations", {}),
    )
    summary.write(out)
    (out / "summary.md").write_text(_page(summary, compared), encoding="utf-8")


class _Results:
    """What the steps of a study gave, as it is laid out in the folder."""

    def __init__(self, out: Path, paper: str) -> None:
        self.out, self.paper = out, paper
        self.rows: list[dict[str, Any]] = []
        self.comparable: dict[tuple[str, str], dict[int, list[Cell]]] = {}
        self.blocks: dict[str, ModelResult] = {}
        self.findings: list[FindingRef] = []
        self.placed: list[PlacedFinding] = []
        self.as_usual: set[str] = set()  # models without sinks, of which nothing is told twice

    def add(self, ref: ResultRef, folder: Path) -> None:
        if ref.block in self.as_usual:
            return
        if ref.kind == SINKS:
            self._add_sinks(ref, read_search(folder))
        elif ref.kind == RUN and is_translation_run(folder):
            self.blocks[ref.block] = result_of_translation(TranslationRun(folder))
        elif ref.kind == RUN:
            self._add_run(ref, Run(folder))
        elif ref.kind == HEAT_MAP_TABLE and (folder / SENTENCES).is_file():
            self._add_instances(ref, folder / SENTENCES)
        elif ref.kind == HEAT_MAP_TABLE:
            self._add_instances(ref, folder / INSTANCES)
        elif ref.kind == BASELINE:
            self._add_baseline(ref, folder / METRICS)
        else:
            self._add_finding(ref, folder)

    def _add_run(self, ref: ResultRef, run: Run) -> None:
        self.blocks[ref.block] = result_of_run(run)
        self._add_cells(ref, cells_of_result(ref, run.path))

    def _add_instances(self, ref: ResultRef, table: Path) -> None:
        target = self.out / HEAT_MAPS / f"{_file_name(ref.role, ref.block)}{table.suffix}"
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(table, target)
        if ref.block in self.blocks:
            place = str(target.relative_to(self.out))
            self.blocks[ref.block] = replace(self.blocks[ref.block], instances=place)

    def _add_sinks(self, ref: ResultRef, found: SinkSearch) -> None:
        usual = ref.block.removesuffix(WITHOUT_SINKS)
        if usual in self.blocks:
            self.blocks[usual] = replace(self.blocks[usual], sinks=found)
        if not found.sinks:
            self.as_usual.add(ref.block)

    def _add_baseline(self, ref: ResultRef, metrics: Path) -> None:
        if ref.block in self.blocks:
            found = read_as(metrics, dict[str, float | None])
            self.blocks[ref.block] = replace(self.blocks[ref.block], baseline=found)

    def _add_finding(self, ref: ResultRef, folder: Path) -> None:
        finding = finding_in(folder)
        target = self.out / "findings" / _file_name(ref.role, ref.block, ref.name)
        shutil.copytree(finding.folder, target)
        self.placed.append(PlacedFinding(ref.kind, ref.name, ref.corpus, ref.model, ref.block, finding))
        place, record = str(target.relative_to(self.out)), finding.record
        self.findings.append(
            FindingRef(ref.corpus, ref.block, ref.kind, ref.name, place, record.question, record.answer)
        )
        self._add_cells(ref, cells_of_result(ref, folder, self.blocks[ref.block].classes))
        if not self.paper:  # all figures, in the finding's own words
            self._add_rows(ref, [cell(ref.name, entry, figure) for entry, figure in finding.summary.items()])

    def _add_cells(self, ref: ResultRef, cells: Sequence[Cell]) -> None:
        self._add_rows(ref, cells)
        for model, some in comparable_cells(ref, cells).items():
            self.comparable.setdefault((ref.corpus, model), {}).setdefault(ref.seed, []).extend(some)

    def _add_rows(self, ref: ResultRef, cells: Sequence[Cell]) -> None:
        where = {"corpus": ref.corpus, "model": ref.model, "projection": ref.projection, "seed": ref.seed}
        seen = counting_of(ref.block)  # no mean is taken over several ways
        self.rows += [{**where, **vars(c), "model": f"{c.model or ref.model}{seen}"} for c in cells]


def _means(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Over the seeds of a study that has several: mean, standard deviation and range of every figure."""
    if len({row["seed"] for row in rows}) < 2:
        return []
    words = ("corpus", "model", "projection", "variant", "measure")
    values: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        values.setdefault(tuple(row[word] for word in words), []).append(row["value"])
    return [
        {
            **dict(zip(words, key, strict=True)),
            "mean": float(np.mean(some)),
            "std": float(np.std(some, ddof=1)) if len(some) > 1 else math.nan,
            "low": min(some),
            "high": max(some),
            "seeds": len(some),
        }
        for key, some in values.items()
    ]


def _file_name(role: str, *words: str) -> str:
    """The role alone tells results apart; the words are for people."""
    return slug(f"{role.zfill(3)} {' '.join(words)}")[:_LONGEST].strip("-")


def _replications(
    settings: Mapping[str, Any], ours: Mapping[tuple[str, str], Mapping[int, list[Cell]]]
) -> list[Replication]:
    """What the paper found, corpus by corpus, with our difference and what it says."""
    directions = [Direction.from_dict(row) for row in settings["directions"]]
    corpora = list(dict.fromkeys(corpus for corpus, _ in ours))
    found: list[Replication] = []
    for corpus in corpora if directions else []:
        models = [model for name, model in ours if name == corpus]
        pooled = {place: figure for model in models for place, figure in pool(model, ours[(corpus, model)]).items()}
        first, task = settings["first_models"][corpus], settings["tasks"].get(corpus, "")
        claimed = [direction for direction in directions if direction.is_about(corpus, task)]
        found += examine(
            claimed,
            corpus,
            first,
            estimates(pooled),
            printed_by(settings["paper"], corpus),
            paper=settings["paper"],
            trainings=trainings_behind(pooled),
        )
    return found


def count(compared: Sequence[CellComparison]) -> dict[str, int]:
    return {
        "published": len(compared),
        "with public data": sum(c.theirs.public for c in compared),
        "ours": sum(c.ours is not None for c in compared),
        "within tolerance": sum(bool(c.within) for c in compared),
        "not comparable": sum(bool(c.reason) for c in compared),
    }


def _in_a_table(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def directions_table(replications: Sequence[Replication]) -> list[str]:
    """As lines of Markdown."""
    lines = ["| finding | where | corpus | theirs | ours | interval | replicated |", "|---|---|---|---|---|---|---|"]
    for row in replications:
        theirs, ours = _signed(row.theirs), _signed(row.ours)
        interval = f"[{_signed(row.low)}, {_signed(row.high)}]" if ours else ""
        said = f"{row.replicated} ({row.decides})" if row.decides else row.replicated
        cells = (row.says, row.source, row.corpus, theirs, ours, interval, said)
        lines.append(f"| {' | '.join(map(_in_a_table, cells))} |")
    return lines


def _signed(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:+.3f}"


def _page(summary: Summary, compared: Sequence[CellComparison]) -> str:
    rows = f", at most {summary.rows:,} rows of each corpus" if summary.rows else ""
    lines = [f"# {summary.study}", "", *([f"Budget: {summary.budget}{rows}.", ""] if summary.budget else [])]
    lines += [f"- differs from the paper: {what}: {why}" for what, why in summary.deviations.items()]
    lines += [f"- **missing, because a step failed**: {name}" for name in summary.missing]
    for finding in summary.findings:
        lines += [f"- **{finding.block}, {finding.name}**: {finding.answer}"]
    if summary.directions:
        lines += [
            "",
            "Findings of the paper, each as a difference that is above 0 if we find the same:",
            "",
            *directions_table(summary.directions),
        ]
    if compared:
        cells = summary.cells
        lines += [
            "",
            f"{cells['ours']} of {cells['published']} published cells have one of ours "
            f"({cells['with public data']} can be computed from public data); {cells['within tolerance']} lie within "
            "their tolerance.",
            "",
            "| table | corpus | model | variant | measure | published | ours | interval | trainings | difference "
            "| tolerance | status |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        lines += [_line(c) for c in compared if c.ours is not None]
        lines += ["", *(f"- not covered: {table}: {why}" for table, why in summary.not_covered.items())]
    return "\n".join(lines) + "\n"


def _line(c: CellComparison) -> str:
    assert c.ours is not None
    assert c.tolerance is not None
    ours = c.ours.estimate
    status = f"{c.status} ({c.reason})" if c.reason else c.status
    return (
        f"| {c.theirs.table} | {c.theirs.corpus} | {c.theirs.model} | {c.theirs.variant} | {c.theirs.measure} "
        f"| {c.theirs.value:g} | {ours.value:.3f} | [{ours.low:.3f}, {ours.high:.3f}] | {c.ours.seeds} "
        f"| {c.difference:+.3f} | {c.tolerance.value:.3g} ({c.tolerance.source}) | {status} |"
    )


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """As CSV and as Parquet; no rows are no file."""
    if not rows:
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    write_table(path.with_suffix(".parquet"), pa.Table.from_pylist(list(rows)))
