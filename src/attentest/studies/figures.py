"""Figures over all of a study's models: the rows of the same figure in several findings, in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.files import read_json
from attentest.studies.experiments import untrained
from attentest.trials import correlation, information, uniform
from attentest.trials.base import Chart
from attentest.trials.charts.bars import bars_side_by_side
from attentest.trials.charts.boxes import boxes_side_by_side
from attentest.trials.charts.classes import distinct

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class StoredFinding:
    """A finding as it is stored, and what it is about."""

    place: Mapping[str, Any]  # as the plan of the study has it
    folder: Path
    finding: Mapping[str, Any]


def across_models(findings: Sequence[StoredFinding]) -> dict[str, Chart]:
    """By title, those that at least two models have."""
    charts = {}
    for (kind, name, title), draw in FORMS.items():
        same = [found for found in findings if (found.place["kind"], found.place["name"]) == (kind, name)]
        rows = [row for found in same for row in _rows(found, title)]
        if len({row["block"] for row in rows}) > 1:
            charts[f"{title}, all models"] = draw(_labelled(rows))
    return charts


def _labelled(rows: Rows) -> list[dict[str, Any]]:
    """With names of corpora that fit labels: a file may have brought any."""
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    shown = dict(zip(corpora, distinct(corpora), strict=True))
    return [{k: v for k, v in row.items() if k != "block"} | {"corpus": shown[row["corpus"]]} for row in rows]


def _rows(found: StoredFinding, title: str) -> list[dict[str, Any]]:
    """Of the finding's figure with that title, with the words for its model."""
    place = found.place
    more = place["block"].removeprefix(f"{place['corpus']} {place['model']}")  # settings, projection and seed
    encoder, _, alignment = place["model"].partition("+")
    words = {
        "block": place["block"],
        "corpus": place["corpus"],
        "model": f"{place['model']}{more}",
        "encoder": f"{encoder}{more}",
        "attention mechanism": alignment or "additive",  # of a HAN, which has no other name
    }
    specs = [chart["spec"] for chart in found.finding["charts"] if chart["title"] == title]
    return [words | row for spec in specs for row in read_json(found.folder / spec)["data"]["values"]]


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


FORMS: dict[tuple[str, str, str], Callable[[Rows], Chart]] = {  # kind and name of a finding, title of its figure
    ("finding", "information", information.TAU_CHART): _information,
    ("finding", "correlation", correlation.GRADIENTS): _correlation("Fig. 1", "gradients"),
    ("finding", "correlation", correlation.LEFT_OUT): _correlation("Fig. 4", "leave-one-out"),
    ("finding", "uniform", uniform.ACCURACY): _accuracy("at inference"),
    ("experiment", "uniform", untrained.ACCURACY): _accuracy("in training"),
}
