"""T7, exact: which heads would give the same output under other weights?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, TypeGuard

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.errors import InputError
from attentest.layer_interventions import real_queries, uniform_rows
from attentest.measures.intervals import Estimate, mean, share
from attentest.models.protocol import AttentionModel, HeadValuesModel, provides
from attentest.parallel import over_cores
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.text.batches import Batch, make_batch
from attentest.trials.base import Chart, Columns, Conclusion, Trial, column
from attentest.trials.charts import bars_in_groups, interval, intervals
from attentest.trials.layer_charts import SITE
from attentest.trials.layers import HEAD, layer_batches, layers_of
from attentest.trials.reading import Reading
from attentest.trials.same_output import kept_directions, least_weight, optimizer
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Work, Works

LOST = "lost"  # column of a head: the share of its heaviest token's weight that can be taken away
HALF = 0.5  # of this weight: a head that can lose more is not identified
LOGITS = 1e-4  # change of a logit that rounding may cause, relative to 1 + the largest
SOLVING = 3e-4  # seconds for each head and token that a linear programme takes on a core, about
LOOKED_AT = 4  # texts, to find the token that decides
Deciding = Literal["first", "last", "none"]
_PLACED: tuple[Deciding, ...] = ("first", "last")


@dataclass(frozen=True)
class Unidentified(Trial):
    """How much of the weight of the heaviest token can go elsewhere while the output of the head stays the same, for
    the row of the token that decides, at each head of each layer."""

    name: ClassVar[str] = "unidentified"
    number: ClassVar[str] = "T7"
    keys: ClassVar[Mapping[str, str]] = {
        "heads": "heads not identified",
        "texts": "texts with a head that is not identified",
        "lost": "weight that can be taken away",
    }
    question: ClassVar[str] = "Do the outputs of self-attention determine its weights?"
    source: ClassVar[str] = (
        "the question of Jain & Wallace 2019 §4.2.2, answered exactly by linear programming for each head"
    )
    how_to_read: ClassVar[str] = (
        "Where most of the heaviest token's weight can go elsewhere without any change of any logit, the map of this "
        "head is one of many that explain the output equally well, so its heaviest token means little. Where nothing "
        "can be moved, the weights are determined by the output; that does not make them a good explanation. Short "
        "texts are determined simply because they have fewer tokens than a value has entries."
    )
    needs: ClassVar[str] = "a model with layers of self-attention whose values are known"
    needs_layers: ClassVar[bool] = True
    cost: ClassVar[float] = 100

    sink: float = setting(0.3, "Mean weight from a head's other rows above which a token is a sink.", least=0, most=1)
    seed: int = setting(0, "Random seed for the row where no single token decides.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def fits(self, subject: Subject) -> bool:
        return not subject.view and _values_are_known(subject.model, _longest(subject))

    def works(self, load: Load) -> Works:
        heads = layers_of(load.subject.model, self.name).heads
        looks = (len(heads) - 1) / 2  # each runs no further than its layer
        deciding = min(LOOKED_AT, load.texts) * (1 + 2 / len(heads))
        solved = SOLVING * sum(heads.values()) * float(load.lengths.sum())
        return {self.name: Work(load.texts * (looks + 2) + deciding, seconds=solved, held="layered")}

    def examiner(self, subject: Subject) -> _Solving:
        optimizer()
        model, batch = subject.model, _longest(subject)
        if not _values_are_known(model, batch):
            raise InputError(
                f"The trial unidentified needs a model with layers of self-attention whose values are known; "
                f"{type(model).__name__} has none (attentest.models.HeadValuesModel: values_at and special_keys)."
            )
        with torch.no_grad():
            return _Solving(self, subject, model, deciding_token(model, batch))

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        sites = [(name, re.fullmatch(f"{cls.keys['heads']}, {SITE}", name)) for name in summary]
        by_site = intervals(
            [row for name, found in sites if found for row in interval(found[1], summary[name])],
            "share of heads not identified (0–1)",
            "Share of each layer's heads that can lose more than half of the heaviest token's weight while all logits "
            "stay the same, means over texts with 95 % intervals.",
            "layer",
        )
        heads = [(name, re.fullmatch(f"{LOST}, {SITE} head {HEAD}", name)) for name in table.column_names]
        by_head = bars_in_groups(
            [
                {**row, "layer": found[1], "head": found[2]}
                for name, found in heads
                if found
                for row in interval("", mean(column(table, name), (0, 1)))
            ],
            ("layer", "head"),
            "weight that can be taken away (0–1)",
            "Share of the heaviest token's weight that can go elsewhere while all logits stay the same, for each "
            "head, means over texts with 95 % intervals.",
            coloured=False,
        )
        charts = {"heads not identified by layer": by_site, "weight that can be taken away by head": by_head}
        return {title: chart for title, chart in charts.items() if chart["data"]["values"]}


@dataclass(frozen=True)
class _Found:
    """Of one site: for each text and head what can be lost, and the weights of the row that lose it."""

    lost: Float[np.ndarray, "batch heads"]  # NaN where there is no token to take weight from
    rows: Float[Tensor, "batch heads keys"]
    places: Int[Tensor, "batch"]  # of the row


@dataclass(frozen=True)
class _Solving:
    trial: Unidentified
    subject: Subject
    model: HeadValuesModel
    decides: Deciding

    def examine(self, reading: Reading) -> Columns:
        batches = layer_batches(self.subject, self.model, reading)
        parts = [self._examine(batch) for batch in batches]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _examine(self, batch: Batch) -> dict[str, np.ndarray]:
        found = {site: self._at(batch, site) for site in self.model.heads}
        moved = self._logit_change(batch, found)
        same = np.where(moved <= LOGITS, 1.0, np.nan)[:, None]
        lost = {site: at.lost * same for site, at in found.items()}
        every = np.concatenate(list(lost.values()), 1)
        columns = {
            "heads": (~np.isnan(every)).sum(1),
            "unidentified": _mean(np.where(np.isnan(every), np.nan, every > HALF)),
            "mean_lost": _mean(every),
            "logit_change": moved,
        }
        for site, values in lost.items():
            columns |= {f"{LOST}, {site} head {head}": values[:, head] for head in range(values.shape[1])}
        return columns

    def _at(self, batch: Batch, site: str) -> _Found:
        weights, values, allowed = self.model.values_at(batch, site)
        assert values is not None  # the examiner looked
        places = self._places(batch, real_queries(allowed))
        row, seen = _at_query(weights, places), _at_query(allowed, places)
        sinks = _sinks(weights, allowed, places, self.trial.sink)
        candidates = seen & ~self.model.special_keys(batch).unsqueeze(1) & ~sinks
        top = row.masked_fill(~candidates, -1).argmax(-1).cpu().numpy()
        given = [part.detach().cpu().double().numpy() for part in (row, values)]
        visible, possible = seen.cpu().numpy(), candidates.any(-1).cpu().numpy()

        def solve(place: tuple[int, ...]) -> tuple[float, np.ndarray]:
            own, of = given[0][place], given[1][place]
            return _least(own, of, visible[place], int(top[place])) if possible[place] else (np.nan, own)

        solved = over_cores(solve, np.ndindex(*top.shape))
        lost = np.array([share for share, _ in solved]).reshape(top.shape)
        others = np.stack([other for _, other in solved]).reshape(row.shape)
        return _Found(lost, torch.from_numpy(others).to(row), places)

    def _places(self, batch: Batch, real: Bool[Tensor, "batch queries"]) -> Int[Tensor, "batch"]:
        """Of the row to examine: that of the token that decides, or of one that is drawn for each text."""
        if self.decides != "none":
            return _place_of(self.decides, real)
        drawn = torch.from_numpy(keyed_uniform(self.trial.seed, "row", batch.rows, 1)[:, 0]).to(real.device)
        return _nth(real, (drawn * real.sum(1)).long())

    def _logit_change(self, batch: Batch, found: Mapping[str, _Found]) -> Float[np.ndarray, "batch"]:
        """With the other weights in all heads of all layers at once: none of them changes what the next one gets."""

        def others(site: str, weights: Tensor, allowed: Tensor) -> Tensor:
            at = found[site]
            changed = weights.clone()
            changed[torch.arange(len(changed), device=changed.device), :, at.places] = at.rows.to(weights)
            return changed

        before, after = (self.model.changed(batch, change, list(found)) for change in (_unchanged, others))
        moved = (after - before).abs().amax(1) / (1 + before.abs().amax(1))
        return moved.cpu().double().numpy()

    def conclude(self, table: pa.Table) -> Conclusion:
        keys = self.trial.keys
        of_texts = column(table, "unidentified")
        summary = {
            keys["heads"]: mean(of_texts, (0, 1)),
            keys["texts"]: share(np.where(np.isnan(of_texts), np.nan, of_texts > 0)),
            keys["lost"]: mean(column(table, "mean_lost"), (0, 1)),
        }
        for site, heads in self.model.heads.items():
            lost = np.stack([column(table, f"{LOST}, {site} head {head}") for head in range(heads)], 1)
            beyond = np.where(np.isnan(lost), np.nan, lost > HALF)
            summary[f"{keys['heads']}, {site}"] = mean(_mean(beyond), (0, 1))
        answer = (
            f"A share of {summary[keys['heads']]} of the heads can lose more than half of the heaviest token's weight "
            f"with no change of the output; {summary[keys['texts']]} of the texts have such a head. On average a share "
            f"of {summary[keys['lost']]} of this weight can be taken away."
        )
        return Conclusion(answer, summary, self._notes(table))

    def _notes(self, table: pa.Table) -> list[str]:
        change = column(table, "logit_change")
        failed = change > LOGITS
        row = {
            "first": "Rows are those of the first token, which alone reads the last layer's output for the decision.",
            "last": "Rows are those of the last token, which alone reads the last layer's output for the decision.",
            "none": "No single token's row decides, so one row is drawn at random for each text.",
        }[self.decides]
        notes = [row]
        if not failed.all():
            largest = change[~failed].max()
            notes.append(
                f"With the other weights in all heads at once, logits change by at most {largest:.1e} (relative)."
            )
        if failed.any():
            notes.append(
                f"{int(failed.sum()):,} texts are left out: with the other weights a logit changes by more than "
                f"{LOGITS:g} (relative), so rounding in the model hides whether the output is the same."
            )
        return notes


def _longest(subject: Subject) -> Batch:
    """A few texts in which rows differ."""
    order = np.argsort(-subject.data.sequences.lengths[subject.rows], kind="stable")
    return make_batch(subject.data, subject.rows[order[:LOOKED_AT]]).to(subject.device)


def _values_are_known(model: AttentionModel, batch: Batch) -> TypeGuard[HeadValuesModel]:
    """Some architectures keep them to themselves."""
    if not provides(model, HeadValuesModel):
        return False
    with torch.no_grad():
        return model.values_at(batch, next(iter(model.heads)))[1] is not None


def deciding_token(model: HeadValuesModel, batch: Batch) -> Deciding:
    """Whose row of the last layer decides: uniform weights in all others then change nothing."""
    site = list(model.heads)[-1]
    before = model.changed(batch, _unchanged, [site])
    allowance = LOGITS * (1 + before.abs().max())
    for decides in _PLACED:
        after = model.changed(batch, partial(_uniform_but, decides), [site])
        if (after - before).abs().max() <= allowance:
            return decides
    return "none"


def _uniform_but(decides: Deciding, site: str, weights: Tensor, allowed: Tensor) -> Tensor:
    changed = uniform_rows(allowed, weights.dtype)
    texts, kept = torch.arange(len(weights), device=weights.device), _place_of(decides, real_queries(allowed))
    changed[texts, :, kept] = weights[texts, :, kept]
    return changed


def _place_of(decides: Deciding, real: Bool[Tensor, "batch queries"]) -> Int[Tensor, "batch"]:
    count = real.sum(1)
    return _nth(real, torch.zeros_like(count) if decides == "first" else count - 1)


def _unchanged(site: str, weights: Tensor, allowed: Tensor) -> None:
    return None


def _least(own: np.ndarray, values: np.ndarray, seen: np.ndarray, top: int) -> tuple[float, np.ndarray]:
    """The share of the top token's weight that can be taken away, and the whole row of weights without it."""
    kept = kept_directions(values[seen])
    if kept.shape[1] >= seen.sum() or own[top] == 0:
        return 0.0, own
    found = least_weight(own[seen], values[seen], kept, int(seen[:top].sum()))
    if found is None:
        return np.nan, own
    others = np.zeros_like(own)
    others[seen] = found
    return float(np.clip(1 - others[top] / own[top], 0, 1)), others


def _sinks(weights: Tensor, allowed: Tensor, places: Tensor, threshold: float) -> Bool[Tensor, "batch heads keys"]:
    """Tokens that get much weight from a head's other rows, whatever these are about; in short texts every token gets
    much, so a sink also has twice its even share."""
    others = real_queries(allowed).clone()
    others[torch.arange(len(others), device=others.device), places] = False
    seen = allowed & others[:, None, :, None]
    means = (weights * seen).sum(2) / seen.sum(2).clamp(min=1)
    even = 1 / _at_query(allowed, places).sum(-1, keepdim=True)
    return means > (2 * even).clamp(min=threshold)


def _at_query(of_rows: Tensor, places: Int[Tensor, "batch"]) -> Tensor:
    return of_rows[torch.arange(len(places), device=places.device), :, places]


def _nth(real: Bool[Tensor, "batch queries"], number: Int[Tensor, "batch"]) -> Int[Tensor, "batch"]:
    """The place of the real query of this number, from 0."""
    return (real & (real.cumsum(1) == number.unsqueeze(1) + 1)).int().argmax(1)


def _mean(values: Float[np.ndarray, "batch heads"]) -> Float[np.ndarray, "batch"]:
    """NaN where none is defined."""
    defined = ~np.isnan(values)
    means: np.ndarray = np.where(defined, values, 0).sum(1) / np.where(defined.any(1), defined.sum(1), np.nan)
    return means
