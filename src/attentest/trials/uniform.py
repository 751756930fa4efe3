"""T1, at inference: is attention needed at all?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.errors import InputError
from attentest.interventions import PERMUTED_SENTENCES, RANDOM_SENTENCES, permuted, random_weights, uniform_weights
from attentest.measures.divergences import tvd
from attentest.measures.entropy import normalised_entropy
from attentest.measures.intervals import Estimate, mean, share, share_difference
from attentest.models.protocol import PartsModel, provides
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, SimpleTrial, column, truths
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import bars, box, boxes, interval
from attentest.trials.reading import Reading
from attentest.trials.work import Load, Work, Works

VARIANTS = ("uniform", "random", "permuted")
ACCURACY = "accuracy by weights at inference"


@dataclass(frozen=True)
class Uniform(SimpleTrial):
    """Accuracy when the trained model's weights are replaced at inference: uniform, U(0, 1) normalised, permuted."""

    name: ClassVar[str] = "uniform"
    number: ClassVar[str] = "T1"
    keys: ClassVar[Mapping[str, str]] = {
        "change": "difference, uniform",
        "lost": "accuracy lost, uniform",
        "decisions": "decisions changed, uniform",
        "entropy": "normalised entropy of the weights",
    }
    question: ClassVar[str] = "Is the attention needed, or do uniform, random or permuted weights work as well?"
    source: ClassVar[str] = "Wiegreffe & Pinter 2019 §3.2; Vashishth et al. 2019 §4.1, Tables 1–3 (inference only)"
    how_to_read: ClassVar[str] = (
        "A large loss of accuracy means that this trained model uses its weights to decide. A loss near 0 means that "
        "its hidden states carry the decision under nearly any weights, so the weights explain little. The trial does "
        "not tell whether a model trained without attention would be as accurate (the experiment uniform does), nor "
        "whether the weights point at the right tokens."
    )
    headline: ClassVar[str] = "difference, uniform"

    seed: int = setting(0, "Random seed for the random weights and the permutation.", least=0, most=LARGEST_SEED)
    all_sites: bool = setting(
        False, "At the site word of a hierarchical model: replace the weights of its sentences, too, at once."
    )

    def __post_init__(self) -> None:
        check_values(self)

    def works(self, load: Load) -> Works:
        return {self.name: Work(load.decoded(len(VARIANTS)))}

    def examine(self, reading: Reading) -> Columns:
        like = (reading.mask, reading.weights.dtype, reading.within, reading.inner)
        variants = torch.stack(
            (
                uniform_weights(*like),
                random_weights(reading.mask, reading.rows, self.seed, *like[1:]),
                permuted(reading.weights, reading.mask, reading.rows, self.seed, reading.within),
            ),
            1,
        )
        logits = self._everywhere(reading, variants) if self.all_sites else reading.decode(variants)
        change = tvd(logits.softmax(-1), reading.probabilities.unsqueeze(1)).cpu().numpy()
        right = (logits.argmax(-1) == _labels(reading).unsqueeze(1)).cpu().numpy()
        changed = (logits.argmax(-1) != reading.predicted.unsqueeze(1)).cpu().numpy()
        base = (reading.predicted == _labels(reading)).cpu().numpy()
        entropy = normalised_entropy(reading.attention, reading.mask)
        columns = {"right": base, "entropy": entropy.cpu().numpy()}
        for i, name in enumerate(VARIANTS):
            columns |= {f"right_{name}": right[:, i], f"changed_{name}": changed[:, i], f"tvd_{name}": change[:, i]}
        return columns

    def _everywhere(
        self, reading: Reading, words: Float[Tensor, "batch variants tokens"]
    ) -> Float[Tensor, "batch variants classes"]:
        """Logits with the weights of words and of sentences replaced alike (Vashishth et al. 2019, Table 1)."""
        model, encoded = reading.model, reading.encoded
        if not provides(model, PartsModel) or reading.within is None:
            raise InputError(
                "`all_sites` is for the site word of a hierarchical model; leave it out, or give the site."
            )
        (above,) = (site for site in model.sites if site != reading.site)
        there, own = model.part_mask(encoded), model.attend(encoded)[above]
        of_sentences = (
            uniform_weights(there, own.dtype),
            random_weights(there, reading.rows, self.seed, own.dtype, purpose=RANDOM_SENTENCES),
            permuted(own, there, reading.rows, self.seed, purpose=PERMUTED_SENTENCES),
        )
        pairs = zip(words.unbind(1), of_sentences, strict=True)
        return torch.stack([model.decode(encoded, {reading.site: w, above: s}) for w, s in pairs], 1)

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        for variant in VARIANTS:
            yield cell(f"{variant}, inferred", "delta accuracy %", summary[f"difference, {variant}"], 100)
            yield cell(f"{variant}, inferred", "accuracy", summary[f"accuracy, {variant}"])

    def conclude(self, table: pa.Table) -> Conclusion:
        right = truths(table, "right")
        summary = {"accuracy": share(right), self.keys["entropy"]: mean(column(table, "entropy"), (0, 1))}
        for name in VARIANTS:
            other = truths(table, f"right_{name}")
            summary[f"accuracy, {name}"] = share(other)
            summary[f"difference, {name}"] = share_difference(other, right)
            summary[f"accuracy lost, {name}"] = share_difference(right, other)
            summary[f"decisions changed, {name}"] = share(truths(table, f"changed_{name}"))
            summary[f"mean TVD, {name}"] = mean(column(table, f"tvd_{name}"), (0, 1))
        losses = ", ".join(f"{100 * summary[f'difference, {name}'].value:+.1f} {name}" for name in VARIANTS)
        cost = "lower the accuracy" if summary["difference, uniform"].high < 0 else "do not clearly lower the accuracy"
        answer = (
            f"Uniform weights at inference {cost} of {summary['accuracy']}. Change in percentage points by weights: "
            f"{losses}. Uniform weights change a share of {summary[self.keys['decisions']]} of the decisions."
        )
        return Conclusion(answer, summary)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        accuracy = bars(
            accuracy_rows(summary),
            "accuracy (0–1)",
            "Accuracy with the model's own weights and with other weights at inference, with 95 % intervals, as in "
            "Vashishth et al. 2019, Fig. 1.",
            "weights at inference",
        )
        change = boxes(
            [row for name in VARIANTS for row in box(name, column(table, f"tvd_{name}"))],
            "TVD to the model's prediction (0–1)",
            "Box plots of how far predictions change when the model's weights are replaced; whiskers reach 1.5 "
            "interquartile ranges.",
            (0, 1),
            "weights",
        )
        return {ACCURACY: accuracy, "change of predictions": change}


def accuracy_rows(summary: Mapping[str, Estimate]) -> list[dict[str, Any]]:
    """Of the figure of accuracies: the model's own, then that under other weights."""
    named = {"the model's own": "accuracy"} | {name: f"accuracy, {name}" for name in VARIANTS}
    return [row for group, key in named.items() for row in interval(group, summary[key])]


def _labels(reading: Reading) -> torch.Tensor:
    assert reading.batch.labels is not None
    return reading.batch.labels
