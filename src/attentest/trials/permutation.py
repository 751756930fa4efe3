"""T6: does shuffling the weights change the output?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.interventions import permuted
from attentest.measures.intervals import Estimate, mean, median, share
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import BIN_NAMES, Chart, Columns, Conclusion, SimpleTrial, by_group, column, truths
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import violins_by_bin
from attentest.trials.reading import Reading
from attentest.trials.work import Load, Work, Works

MEDIAN_TVD = "median tvd"  # what cells call the measure
_WEIGHTS_AT_ONCE = 2_000_000
_ENOUGH = 12  # texts of one length to be shuffled apart from the others


@dataclass(frozen=True)
class Permutation(SimpleTrial):
    """The median over `permutations` of TVD(ŷ, ŷ with α permuted), text by text.

    The permutations of a length are drawn once; each text first turns its weights round by a number of its own, so
    that every text gets uniformly random ones, and few texts the same.
    """

    name: ClassVar[str] = "permutation"
    number: ClassVar[str] = "T6"
    keys: ClassVar[Mapping[str, str]] = {"moved": "mean of median TVD", "decisions": "decisions changed"}
    question: ClassVar[str] = "Does shuffling the attention weights change the prediction?"
    source: ClassVar[str] = "Jain & Wallace 2019 §4.2.1; Vashishth et al. 2019 §4.1, Fig. 2"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "A high median TVD means that the output depends on which token has which weight. A value near 0, especially "
        "in texts whose largest weight is high, means that the model hardly uses the order of its weights. A low value "
        "does not prove the weights wrong: if all hidden states carry the same information, any weights give the same "
        "output."
    )

    permutations: int = setting(100, "Permutations drawn for each text.", least=1, most=100_000)
    seed: int = setting(0, "Random seed for the permutations.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def works(self, load: Load) -> Works:
        return {f"{self}": Work(load.decoded(self.permutations)), self.name: Work(load.decoded(1))}

    def examine(self, reading: Reading) -> Columns:
        shuffled = permuted(reading.weights, reading.mask, reading.rows, self.seed, reading.within, "one permutation")
        decision = reading.decode(shuffled.unsqueeze(1)).argmax(-1).squeeze(1)
        changed = (decision != reading.predicted).cpu().numpy()
        return {"median_tvd": reading.once(self, lambda: self._median_changes(reading)), "changed": changed}

    def _median_changes(self, reading: Reading) -> Float[np.ndarray, "batch"]:
        if reading.within is not None or reading.inner:
            return self._within_parts(reading).cpu().numpy()
        changes = np.zeros(len(reading.batch))
        lengths = reading.lengths.cpu().numpy()
        turns = (keyed_uniform(self.seed, "permutation", reading.rows, 1)[:, 0] * lengths).astype(int)
        kinds, kind = np.unique(lengths, return_inverse=True)
        if len(lengths) < _ENOUGH * len(kinds):
            return self._mixed_lengths(reading, kinds, kind, turns).cpu().numpy()
        for length in kinds:
            alike = np.flatnonzero(lengths == length)
            places = torch.from_numpy(alike).to(reading.weights.device)
            changes[alike] = self._median_change(reading, places, turns[alike], int(length)).cpu().numpy()
        return changes

    def _median_change(self, reading: Reading, places: Tensor, turns: np.ndarray, length: int) -> Tensor:
        """Texts of one length: (texts, permutations) at once, in chunks of permutations."""
        own = (np.arange(length) + turns[:, None]) % length
        shuffled = reading.weights[places, :length].gather(1, torch.from_numpy(own).to(places.device))
        orders = torch.from_numpy(_orders(self.seed, self.permutations, length)).to(places.device)
        step = max(1, _WEIGHTS_AT_ONCE // (length * len(places)))
        changes = [
            reading.moved(shuffled.index_select(1, chunk.flatten()).view(len(places), -1, length), places)
            for chunk in orders.split(step)
        ]
        return _median(torch.cat(changes, 1))

    def _mixed_lengths(self, reading: Reading, kinds: np.ndarray, kind: np.ndarray, turns: np.ndarray) -> Tensor:
        """The same for texts of all lengths together, where there are few of each; padding stays where it is."""
        step, length = np.arange(kinds[-1]), kinds[kind][:, None]
        own = np.where(step < length, (step + turns[:, None]) % length, step)
        device = reading.weights.device
        shuffled = reading.weights[:, : kinds[-1]].gather(1, torch.from_numpy(own).to(device)).unsqueeze(1)
        orders = np.tile(step, (len(kinds), self.permutations, 1))
        for place, longest in enumerate(kinds):
            orders[place, :, :longest] = _orders(self.seed, self.permutations, int(longest))
        which, every = torch.from_numpy(kind).to(device), torch.from_numpy(orders).to(device)
        at_once = max(1, _WEIGHTS_AT_ONCE // own.size)
        changes = [
            reading.moved(shuffled.expand(-1, some.shape[1], -1).gather(2, some.index_select(0, which)))
            for some in every.split(at_once, 1)
        ]
        return _median(torch.cat(changes, 1))

    def _within_parts(self, reading: Reading) -> Tensor:
        """Each sentence's weights are shuffled among its own words, and each head's for itself."""
        step = reading.variants_at_once(max(1, _WEIGHTS_AT_ONCE // reading.weights.numel()))
        changes = []
        for start in range(0, self.permutations, step):
            some = range(start, min(start + step, self.permutations))
            given = (reading.weights, reading.mask, reading.rows, self.seed, reading.within)
            shuffled = torch.stack([permuted(*given, purpose=f"permutation {i}") for i in some], 1)
            changes.append(reading.moved(shuffled))
        return _median(torch.cat(changes, 1))

    def conclude(self, table: pa.Table) -> Conclusion:
        overall = mean(column(table, "median_tvd"), (0, 1))
        changed = share(truths(table, "changed"))
        groups = by_group(table, "median_tvd", "bin", "predicted", statistic=median)
        answer = (
            f"Shuffling the weights changes the prediction by {overall} (median TVD over {self.permutations} "
            f"permutations, mean over texts). One permutation changes a share of {changed} of the decisions."
        )
        return Conclusion(answer, {"mean of median TVD": overall, self.keys["decisions"]: changed} | groups)

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        yield cell("permuted", MEDIAN_TVD, summary[cls.keys["moved"]])
        for name in BIN_NAMES:
            for number, label in enumerate(classes):
                if f"{name} {label}" in summary:
                    yield cell(f"largest weight in {name}, class {number}", MEDIAN_TVD, summary[f"{name} {label}"])

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        chart = violins_by_bin(
            table,
            "median_tvd",
            "median TVD over permutations (0–1)",
            "Densities of the median change of the prediction over permutations of the weights, by the largest weight "
            "and the predicted class, as in Vashishth et al. 2019, Fig. 2, after Jain & Wallace 2019.",
        )
        return {"densities by largest weight": chart}


def _orders(seed: int, permutations: int, length: int) -> Int[np.ndarray, "permutations length"]:
    """Uniformly random orders: what a random order of more places makes of the first `length` of them."""
    more = _drawn(seed, permutations, -(-length // 16) * 16)
    return more[more < length].reshape(permutations, length)


@lru_cache(maxsize=4)
def _drawn(seed: int, permutations: int, places: int) -> Int[np.ndarray, "permutations places"]:
    generator = np.random.default_rng([seed, places])
    return generator.permuted(np.tile(np.arange(places, dtype=np.int32), (permutations, 1)), axis=1)


def _median(values: Float[Tensor, "texts permutations"]) -> Float[Tensor, "texts"]:
    """With the mean of the two in the middle if their number is even; much faster than sorting them."""
    count = values.shape[1]
    return (values.kthvalue((count + 1) // 2, 1).values + values.kthvalue(count // 2 + 1, 1).values) / 2
