"""Gather a study's results: tables, figures, and ours beside the published figures."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from attentest.files import read_json, write_json, write_table
from attentest.progress import Listener
from attentest.studies.about import about_run
from attentest.studies.cells import Cell, cells_of_finding, cells_of_run, read_cells
from attentest.studies.directions import Direction, examine, of_cells, of_published
from attentest.studies.figures import StoredFinding, across_models
from attentest.studies.published import CellComparison, compare, of_corpus
from attentest.studies.steps.instances import FILE as INSTANCES
from attentest.training.run import Run
from attentest.trials.charts.files import listed, save_charts
from attentest.trials.instances import HEAT_MAPS

FIGURES = "figures"
_LONGEST = 160  # characters of a file's name, which may have 255 with what comes after
_IN_A_NAME = str.maketrans({"/": "_", ":": "_", "\\": "_"})


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    rows: list[dict[str, Any]] = []
    comparable: dict[tuple[str, str], list[Cell]] = {}
    blocks: dict[str, dict[str, Any]] = {}
    findings: list[dict[str, Any]] = []
    placed: list[StoredFinding] = []
    for place in settings["results"]:
        folder = inputs[place["role"]]
        if place["kind"] == "run":
            run = Run(folder)
            blocks[place["block"]] = about_run(run)
            cells = list(cells_of_run(run, "base" if place["projection"] == "softmax" else place["projection"]))
        elif place["kind"] == "instances":
            target = out / HEAT_MAPS / f"{_file_name(place['role'], place['block'])}.parquet"
            target.parent.mkdir(exist_ok=True)
            shutil.copy2(folder / INSTANCES, target)
            if place["block"] in blocks:
                blocks[place["block"]]["instances"] = str(target.relative_to(out))
            continue
        else:
            finding_folder = next(folder.glob("*/finding.json")).parent
            finding = read_json(finding_folder / "finding.json")
            if place["kind"] == "experiment":
                cells = read_cells(folder)
            else:
                cells = list(cells_of_finding(finding, place["projection"], blocks[place["block"]]["classes"]))
            target = out / "findings" / f"{_file_name(place['role'], place['block'])}, {place['name']}"
            shutil.copytree(finding_folder, target)
            placed.append(StoredFinding(place, finding_folder, finding))
            words = {key: place[key] for key in ("corpus", "block", "kind", "name")}
            answer = {"question": finding["question"], "answer": finding["answer"]}
            findings.append(words | answer | {"folder": str(target.relative_to(out))})
        where = {key: place[key] for key in ("corpus", "model", "projection", "seed")}
        rows += [{**where, **vars(c), "model": c.model or place["model"]} for c in cells]
        if place["first"]:
            _compare_later(comparable, place, cells)
    if "beside" in inputs:
        shutil.copytree(inputs["beside"] / "comparison", out / "comparison")
        shutil.copy2(inputs["beside"] / INSTANCES, out / "comparison" / INSTANCES)
    _write_rows(out / "ours.csv", rows)
    summary: dict[str, Any] = {"study": settings["study"], "budget": settings["budget"], "findings": findings}
    summary |= {"title": settings["title"], "kind": settings["kind"], "notes": settings["notes"], "blocks": blocks}
    figures = across_models(placed)
    undrawn = save_charts(out / FIGURES, figures)
    summary["figures"] = listed(figures, undrawn, f"{FIGURES}/")
    summary["notes"] = [*summary["notes"], *undrawn.values()]
    summary |= {"rows": settings["rows"], "missing": settings["missing"], "failed": settings["failed"]}
    if settings["paper"]:
        compared = compare(settings["paper"], comparable, settings["tolerances"])
        _write_rows(out / "beside_published.csv", [c.as_row() for c in compared])
        summary |= {"cells": count(compared), "not_covered": settings["not_covered"]}
    replications = _replications(settings, comparable)
    _write_rows(out / "directions.csv", replications)
    summary["directions"] = replications
    write_json(out / "summary.json", summary)
    page = _page(summary, replications, compared if settings["paper"] else [])
    (out / "summary.md").write_text(page, encoding="utf-8")


def _file_name(role: str, block: str) -> str:
    """The role alone tells results apart; of the rest as much as a file's name may have."""
    name = f"{role} {block}".translate(_IN_A_NAME)
    return "".join(c if " " <= c <= "~" else "_" for c in name)[:_LONGEST]  # which every file system can write


def _replications(settings: Mapping[str, Any], ours: Mapping[tuple[str, str], list[Cell]]) -> list[dict[str, Any]]:
    """What the paper found, corpus by corpus, with our difference and what it says."""
    directions = [Direction.from_dict(row) for row in settings["directions"]]
    corpora = list(dict.fromkeys(corpus for corpus, _ in ours))
    found: list[dict[str, Any]] = []
    for corpus in corpora if directions else []:
        models = [model for name, model in ours if name == corpus]
        cells = {(model, c.variant, c.measure): c for model in models for c in ours[(corpus, model)]}
        theirs = of_corpus(settings["paper"], corpus) if settings["paper"] else {}
        first = settings["first_models"][corpus]
        replications = examine(directions, corpus, first, of_cells(cells), of_published(theirs))
        found += [replication.as_row() for replication in replications]
    return found


def _compare_later(comparable: dict[tuple[str, str], list[Cell]], place: Mapping[str, Any], cells: list[Cell]) -> None:
    """The model with softmax stands for the paper's; others of its kind only for what bears their projection's name."""
    usual = place["projection"] == "softmax"
    for found in cells:
        if usual or found.variant == place["projection"]:
            comparable.setdefault((place["corpus"], found.model or place["model"]), []).append(found)


def count(compared: Sequence[CellComparison]) -> dict[str, int]:
    return {
        "published": len(compared),
        "with public data": sum(c.theirs.public for c in compared),
        "ours": sum(c.ours is not None for c in compared),
        "within tolerance": sum(bool(c.within) for c in compared),
    }


def _in_a_table(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def directions_table(replications: Sequence[Mapping[str, Any]]) -> list[str]:
    """As lines of Markdown."""
    lines = ["| finding | where | corpus | theirs | ours | interval | replicated |", "|---|---|---|---|---|---|---|"]
    for row in replications:
        figures = ("" if row[key] is None or row[key] != row[key] else f"{row[key]:+.3f}" for key in ("theirs", "ours"))
        theirs, ours = figures
        interval = f"[{row['low']:+.3f}, {row['high']:+.3f}]" if ours else ""
        cells = (row["says"], row["source"], row["corpus"], theirs, ours, interval, row["replicated"])
        lines.append(f"| {' | '.join(map(_in_a_table, cells))} |")
    return lines


def _page(
    summary: Mapping[str, Any], replications: Sequence[Mapping[str, Any]], compared: Sequence[CellComparison]
) -> str:
    rows = f", at most {summary['rows']:,} rows a corpus" if summary["rows"] else ""
    lines = [f"# {summary['study']}", "", f"Budget: {summary['budget']}{rows}.", ""]
    lines += [f"- **missing, as a step failed**: {name}" for name in summary["missing"]]
    for finding in summary["findings"]:
        lines += [f"- **{finding['block']}, {finding['name']}**: {finding['answer']}"]
    if replications:
        lines += [
            "",
            "What was found, as a difference that is above 0 if we find it too:",
            "",
            *directions_table(replications),
        ]
    if compared:
        cells = summary["cells"]
        lines += [
            "",
            f"{cells['ours']} of {cells['published']} published cells have one of ours "
            f"({cells['with public data']} can be had with public data); {cells['within tolerance']} lie within the "
            "tolerance of their table.",
            "",
            "| table | corpus | model | variant | measure | published | ours | interval | difference | tolerance |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        lines += [_line(c) for c in compared if c.ours is not None]
        lines += ["", *(f"- not covered: {table}: {why}" for table, why in summary["not_covered"].items())]
    return "\n".join(lines) + "\n"


def _line(c: CellComparison) -> str:
    assert c.ours is not None
    mark = "" if c.within else " ✗"
    return (
        f"| {c.theirs.table} | {c.theirs.corpus} | {c.theirs.model} | {c.theirs.variant} | {c.theirs.measure} "
        f"| {c.theirs.value:g} | {c.ours.value:.3f} | [{c.ours.low:.3f}, {c.ours.high:.3f}] "
        f"| {c.difference:+.3f}{mark} | {c.tolerance:g} |"
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
