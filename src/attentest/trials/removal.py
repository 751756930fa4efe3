"""T9 and T10: does removing the most attended item matter more than removing a random one?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from jaxtyping import Float
from torch import Tensor

from attentest.measures.divergences import LARGEST_JSD, jsd
from attentest.measures.intervals import Estimate, mean, share, share_difference
from attentest.measures.mcnemar import mcnemar_p
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, SimpleTrial, column, truths
from attentest.trials.cells import Cell
from attentest.trials.charts import cross_table, scatter
from attentest.trials.reading import Reading
from attentest.trials.reduced_weights import exchanged, most_attended_and_random, without
from attentest.trials.work import Load, Work, Works

LOST, SAME_WEIGHT = "probability lost", "random item with the same weight"
NEGATIVE = "share with ΔJS < 0"


@dataclass(frozen=True)
class Removal(SimpleTrial):
    """ΔJS = JS(p, p without i*) − JS(p, p without r) against α_i* − α_r, for the heaviest item i* and a random r.

    More weight moves the output more, whichever item has it, so ΔJS is above 0 also for random weights. A reference
    with the same weight: i* and r exchange their weights, and the output is compared before and after r goes. The
    difference in the probability of the decision that is lost is 0 on average if the weights know nothing of the items.
    """

    name: ClassVar[str] = "removal"
    number: ClassVar[str] = "T9"
    keys: ClassVar[Mapping[str, str]] = {
        "difference": "mean ΔJS",
        "mass-matched": f"{LOST}, heaviest − {SAME_WEIGHT}",
        "null": f"{LOST}, {SAME_WEIGHT}",
    }
    question: ClassVar[str] = "Does removing the most attended item matter more than removing a random one?"
    source: ClassVar[str] = "Serrano & Smith 2019 §4.1; Vashishth et al. 2019 §4.2, Fig. 3"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "A ΔJS above 0 means that removing the heaviest item changes the output more than removing a random one; it "
        "should grow with the difference of their weights. Points below 0, especially at a large difference of "
        "weights, are evidence against the ranking. One item is removed at a time, so a small ΔJS may also mean that "
        "other items carry the same information. More weight moves the output more whichever item has it; the "
        "comparison with a random item of the same weight does not have this advantage."
    )

    seed: int = setting(0, "Random seed for the random item.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def works(self, load: Load) -> Works:
        return {self.name: Work(load.decoded(4))}  # without either item, and exchanged, with and without the second

    def examine(self, reading: Reading) -> Columns:
        items = most_attended_and_random(reading, self.seed)
        reduced = reading.decode(without(reading, items)).softmax(-1)
        distance = jsd(reduced, reading.probabilities.unsqueeze(1))
        other = reading.decode(exchanged(reading, items)).softmax(-1)
        weight = reading.attention.gather(1, items)
        return {
            "js_heaviest": distance[:, 0].cpu().numpy(),
            "js_random": distance[:, 1].cpu().numpy(),
            "delta_js": (distance[:, 0] - distance[:, 1]).cpu().numpy(),
            "delta_attention": (weight[:, 0] - weight[:, 1]).cpu().numpy(),
            "lost_heaviest": _lost(reading.probabilities, reduced[:, 0]).cpu().numpy(),
            "lost_same_weight": _lost(other[:, 0], other[:, 1]).cpu().numpy(),
        }

    def conclude(self, table: pa.Table) -> Conclusion:
        summary = removal_figures(table)
        answer = (
            f"Removing the heaviest item changes the output by {summary['mean ΔJS']} more (JS) than removing a random "
            f"one. The random item matters more in a share of {summary[NEGATIVE]} of the texts. The decision loses "
            f"{summary[self.keys['mass-matched']]} more probability than without a {SAME_WEIGHT}."
        )
        return Conclusion(answer, summary)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        chart = scatter(
            table,
            "delta_attention",
            "delta_js",
            "α of heaviest − α of random item (0–1)",
            "ΔJS (nats)",
            "How much more the output changes without the heaviest item than without a random one, against the "
            "difference of their weights, as in Serrano & Smith 2019, Fig. 3, and Vashishth et al. 2019, Fig. 3.",
        )
        return {"ΔJS by difference of weights": chart}


@dataclass(frozen=True)
class Flips(SimpleTrial):
    """The share of texts whose decision flips when i* goes × when r goes, and McNemar's test of the difference."""

    name: ClassVar[str] = "flips"
    number: ClassVar[str] = "T10"
    keys: ClassVar[Mapping[str, str]] = {
        "difference": "flips, heaviest − random",
        "mass-matched": f"flips, heaviest − {SAME_WEIGHT}",
        "null": f"flips when a {SAME_WEIGHT} goes",
    }
    question: ClassVar[str] = "Does the decision flip when the most attended item is removed, or a random one?"
    source: ClassVar[str] = "Serrano & Smith 2019 §4.2, Table 2"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "If many decisions flip only without the heaviest item, decisions depend on it. If as many flip without a "
        "random item, the weights single out nothing. Few flips of either kind show that no single item decides, not "
        "that attention is wrong."
    )

    seed: int = setting(0, "Random seed for the random item.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def works(self, load: Load) -> Works:
        return {self.name: Work(load.decoded(4))}  # without either item, and exchanged, with and without the second

    def examine(self, reading: Reading) -> Columns:
        items = most_attended_and_random(reading, self.seed)
        decision = reading.decode(without(reading, items)).argmax(-1)
        flipped = (decision != reading.predicted.unsqueeze(1)).cpu().numpy()
        other = reading.decode(exchanged(reading, items)).argmax(-1)
        same = (other[:, 0] != other[:, 1]).cpu().numpy()
        return {"flip_heaviest": flipped[:, 0], "flip_random": flipped[:, 1], "flip_same_weight": same}

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        only_heaviest = summary["flips only when the heaviest goes"].value
        shares = {
            (True, True): summary["flips when the heaviest goes"].value - only_heaviest,
            (True, False): only_heaviest,
            (False, True): summary["flips only when the random one goes"].value,
        }
        shares[(False, False)] = 1 - sum(shares.values())
        for (heaviest, random), part in shares.items():
            variant = f"heaviest removed: {_word(heaviest)}, random removed: {_word(random)}"
            yield Cell(variant, "share %", 100 * part, float("nan"), float("nan"))

    def conclude(self, table: pa.Table) -> Conclusion:
        heaviest, random = truths(table, "flip_heaviest"), truths(table, "flip_random")
        only_heaviest, only_random = int((heaviest & ~random).sum()), int((random & ~heaviest).sum())
        same = truths(table, "flip_same_weight")
        summary = {
            "flips when the heaviest goes": share(heaviest),
            "flips when a random one goes": share(random),
            "flips only when the heaviest goes": share(heaviest & ~random),
            "flips only when the random one goes": share(random & ~heaviest),
            "flips, heaviest − random": share_difference(heaviest, random),
            self.keys["null"]: share(same),
            self.keys["mass-matched"]: share_difference(heaviest, same),
        }
        p = mcnemar_p(only_heaviest, only_random)
        answer = (
            f"The decision flips in a share of {summary['flips when the heaviest goes']} of the texts without the "
            f"heaviest item, and of {summary['flips when a random one goes']} without a random one (McNemar p = "
            f"{p:.2g})."
        )
        return Conclusion(answer, summary)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        heaviest, random = truths(table, "flip_heaviest"), truths(table, "flip_random")
        cells = [
            {"y": _word(h), "x": _word(r), "share": float(((heaviest == h) & (random == r)).mean())}
            for h in (True, False)
            for r in (True, False)
        ]
        chart = cross_table(
            cells,
            "random item removed",
            "heaviest item removed",
            (_word(True), _word(False)),
            "Shares of texts whose decision flips without the heaviest item and without a random one, as in "
            "Serrano & Smith 2019, Table 2.",
        )
        return {"decision flips": chart}


def removal_figures(table: pa.Table) -> dict[str, Estimate]:
    """From what was measured text by text, or step by step."""
    delta = column(table, "delta_js")
    heaviest, same = column(table, "lost_heaviest"), column(table, "lost_same_weight")
    return {
        Removal.keys["difference"]: mean(delta, (-LARGEST_JSD, LARGEST_JSD)),
        NEGATIVE: share(delta < 0),
        "mean JS, heaviest": mean(column(table, "js_heaviest"), (0, LARGEST_JSD)),
        "mean JS, random": mean(column(table, "js_random"), (0, LARGEST_JSD)),
        f"{LOST}, heaviest": mean(heaviest, (-1, 1)),
        Removal.keys["null"]: mean(same, (-1, 1)),
        Removal.keys["mass-matched"]: mean(heaviest - same, (-2, 2)),
    }


def _lost(before: Float[Tensor, "batch classes"], after: Float[Tensor, "batch classes"]) -> Float[Tensor, "batch"]:
    """How much of its probability the decision of before has lost."""
    decision = before.argmax(-1, keepdim=True)
    return (before.gather(1, decision) - after.gather(1, decision)).squeeze(1)


def _word(flipped: bool) -> str:
    return "flip" if flipped else "no flip"
