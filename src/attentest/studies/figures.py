"""Figures over all of a study's models: the rows of the same figure in several findings, in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from attentest.measures.intervals import Estimate
from attentest.studies.experiments import untrained
from attentest.studies.results import EXPERIMENT, TRIAL
from attentest.trials import correlation, information, uniform
from attentest.trials.base import Chart
from attentest.trials.charts.bars import bars_side_by_side
from attentest.trials.charts.boxes import boxes_side_by_side
from attentest.trials.charts.classes import distinct
from attentest.trials.stored import StoredFinding

FIGURES = "figures"  # the folder of their files
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class PlacedFinding:
    """A finding, and whose it is."""

    kind: str
    name: str  # of the trial or experiment
    corpus: str
    model: str
    block: str  # the model, as it is called in the study
    finding: StoredFinding


@dataclass(frozen=True)
class Form:
    """A figure of one finding that several models have, drawn for all of them."""

    kind: str
    name: str  # of the trial or experiment
    title: str  # of the figure
    rows: Callable[[pa.Table, Mapping[str, Estimate]], Rows]
    draw: Callable[[Rows], Chart]


def across_models(findings: Sequence[PlacedFinding]) -> dict[str, Chart]:
    """By title, those that at least two models have."""
    charts = {}
    for form in FORMS:
        same = [found for found in findings if (found.kind, found.name) == (form.kind, form.name)]
        rows = {found.block: [_words(found) | dict(row) for row in found.finding.made(form.rows)] for found in same}
        if sum(map(bool, rows.values())) > 1:
            charts[f"{form.title}, all models"] = form.draw(_labelled([row for some in rows.values() for row in some]))
    return charts


def _labelled(rows: Rows) -> list[dict[str, Any]]:
    """With names of corpora that fit labels: a file may have brought any."""
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    shown = dict(zip(corpora, distinct(corpora), strict=True))
    return [{**row, "corpus": shown[row["corpus"]]} for row in rows]


def _words(found: PlacedFinding) -> dict[str, Any]:
    more = found.block.removeprefix(f"{found.corpus} {found.model}")  # settings, projection and seed
    encoder, _, alignment = found.model.partition("+")
    return {
        "corpus": found.corpus,
        "model": f"{found.model}{more}",
        "encoder": f"{encoder}{more}",
        "attention mechanism": alignment or "additive",  # of a HAN, which has no other name
    }


def _information(rows: Rows) -> Chart:
    return boxes_side_by_side(
        rows,
        ("attention mechanism", "encoder"),
        "weighted Kendall τ (−1 to 1)",
        "Box plots over clusterings of the weighted correlation of weight and mutual information, by attention "
        "mechanism and encoder, as in Wen et al. 2022, Fig. 2.",
        (-1, 1),
    )


def _correlation(figure: str, what: str) -> Callable[[Rows], Chart]:
    def draw(rows: Rows) -> Chart:
        return boxes_side_by_side(
            [_renamed(row, what) for row in rows],
            ("model", what),
            f"Kendall τ-b of attention with {what} (−1 to 1)",
            f"Box plots of the rank correlation of attention with {what} of inputs and of hidden states, model by "
            f"model, as in Meister et al. 2021, {figure}.",
            (-1, 1),
        )

    return draw


def _accuracy(when: str) -> Callable[[Rows], Chart]:
    def draw(rows: Rows) -> Chart:
        return bars_side_by_side(
            [_renamed(row, f"weights {when}") for row in rows],
            ("model", f"weights {when}"),
            "accuracy (0–1)",
            f"Accuracy with the model's own attention and with other weights {when}, with 95 % intervals, as in "
            "Vashishth et al. 2019, Fig. 1.",
        )

    return draw


def _renamed(row: Mapping[str, Any], group: str) -> dict[str, Any]:
    return {group if key == "group" else key: value for key, value in row.items()}


def _taus_by(title: str) -> Callable[[pa.Table, Mapping[str, Estimate]], Rows]:
    return lambda table, summary: correlation.tau_rows(table, title)


FORMS = (
    Form(
        TRIAL, "information", information.TAU_CHART,
        lambda table, summary: information.tau_rows(information.clusterings(summary), "this model"), _information,
    ),
    Form(
        TRIAL, "correlation", correlation.GRADIENTS, _taus_by(correlation.GRADIENTS),
        _correlation("Fig. 1", "gradients"),
    ),
    Form(
        TRIAL, "correlation", correlation.LEFT_OUT, _taus_by(correlation.LEFT_OUT),
        _correlation("Fig. 4", "leave-one-out"),
    ),
    Form(
        TRIAL, "uniform", uniform.ACCURACY, lambda table, summary: uniform.accuracy_rows(summary),
        _accuracy("at inference"),
    ),
    Form(
        EXPERIMENT, "uniform", untrained.ACCURACY,
        lambda table, summary: untrained.score_rows(summary, "accuracy"), _accuracy("in training"),
    ),
)  # fmt: skip
