"""Figures over all of a study's models: the rows of the same figure in several findings, in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attentest.studies.experiments import untrained
from attentest.studies.results import EXPERIMENT, TRIAL, ResultRef
from attentest.trials import correlation, information, uniform
from attentest.trials.base import Chart
from attentest.trials.charts.bars import bars_side_by_side
from attentest.trials.charts.boxes import boxes_side_by_side
from attentest.trials.charts.classes import distinct
from attentest.trials.stored import StoredFinding

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class PlacedFinding:
    """A finding, and whose it is."""

    ref: ResultRef
    finding: StoredFinding


@dataclass(frozen=True)
class Form:
    """A figure of one finding that several models have, drawn for all of them."""

    kind: str
    name: str  # of the trial or experiment
    title: str  # of the figure
    rows: Callable[[StoredFinding], Rows]
    draw: Callable[[Rows], Chart]


def across_models(findings: Sequence[PlacedFinding]) -> dict[str, Chart]:
    """By title, those that at least two models have."""
    charts = {}
    for form in FORMS:
        same = [found for found in findings if (found.ref.kind, found.ref.name) == (form.kind, form.name)]
        rows = {found.ref.block: [_words(found.ref) | dict(row) for row in form.rows(found.finding)] for found in same}
        if sum(map(bool, rows.values())) > 1:
            charts[f"{form.title}, all models"] = form.draw(_labelled([row for some in rows.values() for row in some]))
    return charts


def _labelled(rows: Rows) -> list[dict[str, Any]]:
    """With names of corpora that fit labels: a file may have brought any."""
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    shown = dict(zip(corpora, distinct(corpora), strict=True))
    return [{**row, "corpus": shown[row["corpus"]]} for row in rows]


def _words(ref: ResultRef) -> dict[str, Any]:
    more = ref.block.removeprefix(f"{ref.corpus} {ref.model}")  # settings, projection and seed
    encoder, _, alignment = ref.model.partition("+")
    return {
        "corpus": ref.corpus,
        "model": f"{ref.model}{more}",
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


def _taus_by(title: str) -> Callable[[StoredFinding], Rows]:
    return lambda finding: correlation.tau_rows(finding.table, title)


FORMS = (
    Form(
        TRIAL, "information", information.TAU_CHART,
        lambda finding: information.tau_rows(information.clusterings(finding.summary), "this model"), _information,
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
        TRIAL, "uniform", uniform.ACCURACY, lambda finding: uniform.accuracy_rows(finding.summary),
        _accuracy("at inference"),
    ),
    Form(
        EXPERIMENT, "uniform", untrained.ACCURACY,
        lambda finding: untrained.score_rows(finding.summary, "accuracy"), _accuracy("in training"),
    ),
)  # fmt: skip
