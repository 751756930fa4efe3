"""Cells: single figures with the words that published tables name them by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from attentest.files import read_json
from attentest.measures.classification import classification_metrics
from attentest.measures.intervals import Estimate, bootstrap
from attentest.models import ModelSettings
from attentest.training.run import Run

CELLS = "cells.json"
GAIN = " gain over "  # "f1 gain over base": a measure whose two sides were set against each other text by text


@dataclass(frozen=True)
class Cell:
    variant: str
    measure: str
    value: float
    low: float
    high: float
    model: str = ""  # where it is another than the base's


def cell(variant: str, measure: str, estimate: Estimate, factor: float = 1.0, model: str = "") -> Cell:
    value, low, high = (factor * x for x in (estimate.value, estimate.low, estimate.high))
    return Cell(variant, measure, value, low, high, model)


def write_cells(folder: Path, cells: Iterable[Cell]) -> None:
    text = json.dumps([asdict(c) for c in cells], ensure_ascii=False)
    (folder / CELLS).write_text(text, encoding="utf-8")


def read_cells(folder: Path) -> list[Cell]:
    return [Cell(**row) for row in read_json(folder / CELLS)]


def cells_of_run(run: Run, variant: str) -> Iterator[Cell]:
    """Accuracy and F1 on the test split."""
    for measure, estimate in scores(run).items():
        yield cell(variant, measure, estimate, 1, _model(run))
        yield cell(variant, f"{measure} %", estimate, 100, _model(run))


def _model(run: Run) -> str:
    return ModelSettings(**run.settings["model"]).name


def accuracy_gain(base: Run, other: Run) -> Estimate:
    """The other's accuracy less the base's, with its interval over the texts that both were tested on."""
    right = [
        np.array(run.predictions["label"].to_pylist()) == np.array(run.predictions["predicted"].to_pylist())
        for run in (base, other)
    ]
    return bootstrap(right[1].astype(float) - right[0].astype(float))


def f1_gain(run: Run, other: Run, variant: str, other_variant: str) -> Cell:
    return cell(variant, f"f1{GAIN}{other_variant}", f1_difference(run, other), model=_model(run))


def f1_difference(run: Run, other: Run) -> Estimate:
    """The run's F1 less the other's, with its interval over the texts that both were tested on."""
    drawn = np.array(_f1_draws(run)) - np.array(_f1_draws(other))
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    ours, theirs = scores(run)["f1"], scores(other)["f1"]
    return Estimate(ours.value - theirs.value, float(low), float(high), ours.n)


@lru_cache(maxsize=64)
def scores(run: Run) -> dict[str, Estimate]:
    """Accuracy and F1 with intervals over test texts."""
    labels, probabilities = _tested(run)
    found = classification_metrics(labels, probabilities)
    low, high = np.nanquantile(_f1_draws(run), [0.025, 0.975])
    return {
        "accuracy": bootstrap((labels == probabilities.argmax(1)).astype(float)),
        "f1": Estimate(found["f1"], float(low), float(high), len(labels)),
    }


@lru_cache(maxsize=64)
def _f1_draws(run: Run, draws: int = 500) -> tuple[float, ...]:
    """F1 of resampled test texts, the same ones for every run that was tested on them."""
    labels, probabilities = _tested(run)
    decided = np.eye(len(run.classes))[probabilities.argmax(1)]
    generator = np.random.default_rng(0)
    rows = (generator.integers(0, len(labels), len(labels)) for _ in range(draws))
    return tuple(classification_metrics(labels[some], decided[some])["f1"] for some in rows)


def _tested(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities of the test texts."""
    table = run.predictions
    labels = np.array([run.classes.index(name) for name in table["label"].to_pylist()])
    return labels, np.array(table["probability"].to_pylist())


def cells_of_finding(finding: Mapping[str, Any], projection: str, classes: list[str]) -> Iterator[Cell]:
    """What a trial's finding says in the words of the papers' tables."""
    summary = {name: stored_estimate(row) for name, row in finding["summary"].items()}
    name = finding["trial"]
    if not summary:  # nothing could be said about these texts
        return
    if name == "uniform":
        for variant in ("uniform", "random", "permuted"):
            yield cell(f"{variant}, inferred", "delta accuracy %", summary[f"difference, {variant}"], 100)
            yield cell(f"{variant}, inferred", "accuracy", summary[f"accuracy, {variant}"])
    elif name == "correlation":
        for label, estimate in summary.items():
            kind, _, pair = label.partition(" ")
            measure = {"τ": "tau", "significant": "significant share"}.get(kind)
            pair, _, group = pair.partition(", ")
            if measure is None or (group and group not in classes):
                continue
            variants = [f"class {classes.index(group)}"] if group else ["all", projection]
            for variant in variants:
                yield cell(variant, f"{measure} {pair}", estimate)
                if kind == "significant":
                    yield cell(variant, f"{measure} % {pair}", estimate, 100)
    elif name == "flips":
        cells = {"flip": True, "no flip": False}
        both = summary["flips when the heaviest goes"].value - summary["flips only when the heaviest goes"].value
        shares = {
            (True, True): both,
            (True, False): summary["flips only when the heaviest goes"].value,
            (False, True): summary["flips only when the random one goes"].value,
        }
        shares[(False, False)] = 1 - sum(shares.values())
        for heaviest in cells:
            for random in cells:
                share = shares[(cells[heaviest], cells[random])]
                variant = f"heaviest removed: {heaviest}, random removed: {random}"
                yield Cell(variant, "share %", 100 * share, float("nan"), float("nan"))
    elif name == "dispersion":
        for label, estimate in summary.items():
            yield cell(projection, label, estimate)
    elif name == "rationale":
        yield cell("attention", "heaviest in rationale %", summary["heaviest token in the rationale"], 100)
    elif name == "information":
        yield cell("base", "weighted tau", summary["weighted τ"])


def stored_estimate(row: Mapping[str, Any]) -> Estimate:
    """An estimate from JSON, which has null where a figure is not defined."""
    value, low, high = (float("nan") if row[key] is None else float(row[key]) for key in ("value", "low", "high"))
    return Estimate(value, low, high, int(row["n"]))
