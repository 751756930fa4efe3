"""T16: which layers of self-attention matter?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from attentest.errors import InputError
from attentest.layer_interventions import KINDS, UNIFORM, layer_change
from attentest.measures.divergences import tvd
from attentest.measures.intervals import Estimate, mean, share, share_difference
from attentest.models.protocol import AttentionModel, LayersModel, provides
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.text.batches import Batch, make_batch
from attentest.trials.base import Chart, Columns, Conclusion, Trial, column, words
from attentest.trials.charts import bars_in_groups, interval
from attentest.trials.layer_charts import KIND, SITE, bars_of_layers, curves_of_layers
from attentest.trials.layer_choices import ALL, layer_choices, span
from attentest.trials.reading import Reading
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Work, Works

LABEL, PREDICTED, TVD = "label", "predicted", "tvd"  # columns; the last two also once for each change
ACCURACY, FLIPS, MOVED = "accuracy", "decisions changed", "mean TVD"  # of the summary, for each change
HEAD = r"(\d{1,4})"  # in names of columns and of the summary
_WEIGHTS_AT_ONCE = 4_000_000  # of one site


@dataclass(frozen=True)
class Layers(Trial):
    """Accuracy, decisions and outputs when the weights of several layers of self-attention are replaced, cumulatively
    from the lowest or the highest layer, of one layer at a time, and of one head at a time."""

    name: ClassVar[str] = "layers"
    number: ClassVar[str] = "T16"
    question: ClassVar[str] = "Which layers of self-attention does the decision depend on?"
    source: ClassVar[str] = "Vashishth et al. 2019 §4.3, Fig. 4"
    how_to_read: ClassVar[str] = (
        "If accuracy falls when the weights of a layer are replaced, the model uses the weights of this layer. If it "
        "stays, the layer's weights can be anything, and a map of them explains little. A single layer or head with "
        "no effect may still matter together with others, so read the cumulative curves next to the bars."
    )
    needs: ClassVar[str] = "a model with layers of self-attention"
    needs_layers: ClassVar[bool] = True
    cost: ClassVar[float] = 100

    kinds: tuple[str, ...] = setting(KINDS, "Weights that replace those of layers.", choices=KINDS)
    heads: tuple[str, ...] = setting((UNIFORM,), "Weights that replace those of one head at a time.", choices=KINDS)
    seed: int = setting(0, "Random seed for the permutations and the random weights.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)
        if not self.kinds:
            raise InputError(f"The trial layers needs at least one of the kinds {', '.join(KINDS)}.")

    def fits(self, subject: Subject) -> bool:
        return provides(subject.model, LayersModel) and not subject.view

    def works(self, load: Load) -> Works:
        changes = dict.fromkeys(self.examiner(load.subject).changes().values())
        first = {site: place for place, site in enumerate(layers_of(load.subject.model, self.name).heads)}
        runs = float(len(changes))
        if load.longest.reuses:  # and one run whose states below the changes are kept
            runs = 1 + sum(1 - first[change.sites[0]] / len(first) for change in changes)
        return {self.name: Work(load.texts * runs, held="layered")}

    def examiner(self, subject: Subject) -> _Changing:
        return _Changing(self, subject, layers_of(subject.model, self.name))

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        curves = curves_of_layers(
            summary,
            ACCURACY,
            "accuracy (0–1)",
            "Accuracy by the number of layers whose weights are replaced, with 95 % intervals, as in Vashishth et al. "
            "2019, Fig. 4; with 0 the model has its own weights.",
        )
        single = bars_of_layers(
            summary,
            FLIPS,
            "share of decisions changed (0–1)",
            "How many decisions change when the weights of a single layer are replaced, with 95 % intervals.",
        )
        return {**curves, **single, **_bars_of_heads(summary)}


@dataclass(frozen=True)
class _Changed:
    """Some sites get weights of a kind, all of their heads or one."""

    kind: str
    sites: tuple[str, ...]
    head: int | None = None

    @property
    def column(self) -> str:
        at = span(self.sites)
        return f"{self.kind}, {at}" if self.head is None else f"{self.kind}, {_of_head(at, self.head)}"


@dataclass(frozen=True)
class _Changing:
    trial: Layers
    subject: Subject
    model: LayersModel

    def changes(self) -> dict[str, _Changed]:
        """By what the summary calls them; the same change may have several names."""
        heads = self.model.heads
        found: dict[str, _Changed] = {}
        for kind in self.trial.kinds:
            choices = layer_choices(heads)
            found |= {f"{kind}, {name}": _Changed(kind, sites) for name, sites in choices.items()}
        for kind in self.trial.heads:
            for site, count in heads.items():
                for head in range(count):
                    found[f"{kind}, {_of_head(site, head)}"] = _Changed(kind, (site,), head)
        return found

    def examine(self, reading: Reading) -> Columns:
        found: dict[str, list[np.ndarray]] = {}
        names = np.array(self.subject.classes, dtype=object)
        done = 0
        for batch in layer_batches(self.subject, self.model, reading):
            before = reading.probabilities[done : done + len(batch)]
            done += len(batch)
            for change in dict.fromkeys(self.changes().values()):
                replace = layer_change(change.kind, batch.rows, self.trial.seed, change.head)
                logits = self.model.changed(batch, replace, change.sites)
                decided = names[logits.argmax(-1).cpu().numpy()]
                found.setdefault(f"{PREDICTED}, {change.column}", []).append(decided)
                moved = tvd(logits.softmax(-1), before).cpu().numpy()
                found.setdefault(f"{TVD}, {change.column}", []).append(moved)
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def conclude(self, table: pa.Table) -> Conclusion:
        label, before = words(table, LABEL), words(table, PREDICTED)
        changes = self.changes()
        after = {change: words(table, f"{PREDICTED}, {change.column}") for change in changes.values()}
        summary = {
            f"difference, {kind}, {ALL}": share_difference(after[changes[f"{kind}, {ALL}"]] == label, before == label)
            for kind in self.trial.kinds
        }
        summary[ACCURACY] = share(before == label)
        figures = {
            change: {
                ACCURACY: share(decided == label),
                FLIPS: share(decided != before),
                MOVED: mean(column(table, f"{TVD}, {change.column}"), (0, 1)),
            }
            for change, decided in after.items()
        }
        for name, change in changes.items():
            summary |= {f"{measure}, {name}": figure for measure, figure in figures[change].items()}
        return Conclusion(self._answer(summary), summary)

    def _answer(self, summary: Mapping[str, Estimate]) -> str:
        kind = self.trial.kinds[0]
        most = max(self.model.heads, key=lambda site: summary[f"{FLIPS}, {kind}, {site}"].value)
        return (
            f"With {kind} weights in all layers the accuracy is {summary[f'{ACCURACY}, {kind}, {ALL}']} instead of "
            f"{summary[ACCURACY]}, and a share of {summary[f'{FLIPS}, {kind}, {ALL}']} of the decisions changes. Of "
            f"single layers, {most} changes most decisions: {summary[f'{FLIPS}, {kind}, {most}']}."
        )


def layers_of(model: AttentionModel, trial: str) -> LayersModel:
    if not provides(model, LayersModel):
        raise InputError(
            f"The trial {trial} needs a model with layers of self-attention; {type(model).__name__} has none that can "
            "be changed (attentest.models.LayersModel: heads and changed)."
        )
    return model


def layer_batches(subject: Subject, model: LayersModel, reading: Reading) -> Iterator[Batch]:
    """The texts of a reading as the model itself reads them, few enough for the weights of a whole site."""
    weights = max(model.heads.values()) * reading.mask.shape[1] ** 2
    size = max(1, _WEIGHTS_AT_ONCE // weights)
    for start in range(0, len(reading.rows), size):
        yield make_batch(subject.data, reading.rows[start : start + size]).to(subject.device)


def _of_head(site: str, head: int) -> str:
    return f"{site} head {head}"


def _bars_of_heads(summary: Mapping[str, Estimate]) -> dict[str, Chart]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, estimate in summary.items():
        found = re.fullmatch(rf"{FLIPS}, {KIND}, {SITE} head {HEAD}", name)
        if found:
            placed = {"layer": found[2], "head": found[3]}
            rows.setdefault(found[1], []).extend({**row, **placed} for row in interval("", estimate))
    return {f"decisions changed by single heads, {kind}": _of_heads(of_kind, kind) for kind, of_kind in rows.items()}


def _of_heads(rows: Sequence[Mapping[str, Any]], kind: str) -> Chart:
    return bars_in_groups(
        rows,
        ("layer", "head"),
        "share of decisions changed (0–1)",
        f"How many decisions change when a single head gets {kind} weights, with 95 % intervals.",
        coloured=False,
    )
