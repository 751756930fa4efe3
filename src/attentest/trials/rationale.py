"""Does the weight lie on the reason, where the corpus knows it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from attentest.errors import InputError
from attentest.measures.intervals import Estimate, mean, share
from attentest.measures.marked import KINDS, agreement, chance_agreement
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.text.prepare import TokenizedCorpus
from attentest.text.rationales import sentence_marks, token_marks
from attentest.text.sequences import Sequences
from attentest.trials.base import Chart, Columns, Conclusion, Trial, column
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import bars, box, boxes, interval
from attentest.trials.rankings import ranks_by
from attentest.trials.reading import Reading
from attentest.trials.scores import ATTENTION, ScoreSettings, usable, works_of_scores
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Works

MEASURES = ("gradient-input-fixed", "leave-one-out")
CHANCE = "chance"


@dataclass(frozen=True)
class Rationale(Trial):
    """The share of texts whose heaviest token belongs to the known reason (a question's supporting facts, what people
    marked), against the share of tokens that do; texts without a reason are left out."""

    name: ClassVar[str] = "rationale"
    number: ClassVar[str] = "T21"
    cost: ClassVar[float] = 8
    keys: ClassVar[Mapping[str, str]] = {
        "heaviest": "heaviest token in the rationale",
        "more weight": "weight − tokens in the rationale",
        "tokens": "tokens in the rationale",
        "auprc": f"AUPRC, {ATTENTION}",
        "auprc null": f"AUPRC, {CHANCE}",
        "more auprc": f"AUPRC, {ATTENTION} − {CHANCE}",
    }
    question: ClassVar[str] = "Is the weight on the rationale given in the corpus?"
    source: ClassVar[str] = (
        "Vashishth et al. 2019 §4.4 (the question); DeYoung et al. 2020 (agreement); rationales of the corpus"
    )
    how_to_read: ClassVar[str] = (
        "If the heaviest token is in the rationale far more often than a random token would be, the weights are on "
        "the known reason; if not, they do no better than chance. This tells whether attention is plausible, not "
        "whether it is faithful: a model may decide by other tokens and still highlight the right ones."
    )
    needs: ClassVar[str] = "attention weights, and a corpus with rationales"
    needs_rationale: ClassVar[bool] = True

    seed: int = setting(0, "Random seed for the order of tokens with the same score.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        yield cell("attention", "heaviest in rationale %", summary[cls.keys["heaviest"]], 100)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        weight, share = (column(table, name) for name in ("weight_on_rationale", "rationale_share"))
        title = "share in the rationale (0–1)"
        means = bars(
            [
                *interval("heaviest token", summary["heaviest token in the rationale"]),
                *interval("weight", summary["weight on the rationale"]),
                *interval("tokens (chance)", summary["tokens in the rationale"]),
            ],
            title,
            "How often the heaviest token is in the rationale, and the shares of the weight and of the tokens in it, "
            "means over texts with 95 % intervals.",
            "counted",
        )
        spread = boxes(
            [*box("weight", weight), *box("tokens", share)],
            title,
            "Box plots over texts of the shares of the weight and of the tokens in the rationale; whiskers reach 1.5 "
            "interquartile ranges.",
            (0, 1),
            "counted",
        )
        charts = {"share in the rationale": means, "weight and tokens by text": spread}
        areas = {name: summary.get(f"AUPRC, {name}") for name in (ATTENTION, *MEASURES, CHANCE)}
        if areas[ATTENTION] is not None:  # earlier versions had none
            charts["agreement with the rationale"] = bars(
                [row for name, area in areas.items() if area is not None for row in interval(name, area)],
                "AUPRC (0–1)",
                "How well attention and importance measures rank the tokens of the rationale before the others (area "
                "under the curve of precision and recall), and what a random order gives, means over texts with 95 % "
                "intervals.",
                "ranked by",
            )
        return charts

    def fits(self, subject: Subject) -> bool:
        return bool(token_marks(subject.data).any())

    def works(self, load: Load) -> Works:
        return works_of_scores(load, usable(load.subject.model, MEASURES), ScoreSettings(seed=self.seed))

    def examiner(self, subject: Subject) -> _Marked:
        check_rationales(subject.data, self.name)
        marks, sequences = marks_of(subject)
        return _Marked(self, sequences, marks, (ATTENTION, *usable(subject.model, MEASURES)))


@dataclass(frozen=True)
class _Marked:
    trial: Rationale
    sequences: Sequences
    marks: np.ndarray
    measures: tuple[str, ...]

    def examine(self, reading: Reading) -> Columns:
        marks = self.sequences.padded(reading.rows, self.marks)[0].astype(float)
        weights = reading.attention.cpu().numpy()
        heaviest = np.take_along_axis(marks, weights.argmax(1)[:, None], 1)[:, 0]
        tokens = marks.sum(1) / reading.lengths.cpu().numpy()
        known = np.where(tokens > 0, 1.0, np.nan)
        return {
            "heaviest_in_rationale": heaviest * known,
            "weight_on_rationale": (weights * marks).sum(1) * known,
            "rationale_share": tokens * known,
            **self._agreement(reading, marks > 0),
        }

    def _agreement(self, reading: Reading, marks: np.ndarray) -> Columns:
        settings = ScoreSettings(seed=self.trial.seed)
        found = {name: agreement(ranks_by(reading, name, settings).cpu().numpy(), marks) for name in self.measures}
        found[CHANCE] = chance_agreement(marks, reading.lengths.cpu().numpy())
        return {f"{kind}, {name}": values for name, kinds in found.items() for kind, values in kinds.items()}

    def conclude(self, table: pa.Table) -> Conclusion:
        heaviest, weight, tokens = (
            column(table, name) for name in ("heaviest_in_rationale", "weight_on_rationale", "rationale_share")
        )
        summary = {
            "heaviest token in the rationale": share(heaviest),
            "weight on the rationale": mean(weight, (0, 1)),
            "tokens in the rationale": mean(tokens, (0, 1)),
            "weight − tokens in the rationale": mean(weight - tokens, (-1, 1)),
            "heaviest in the rationale − tokens in the rationale": mean(heaviest - tokens, (-1, 1)),
        }
        for kind in KINDS:
            values = {name: column(table, f"{kind}, {name}") for name in (*self.measures, CHANCE)}
            summary |= {f"{kind}, {name}": mean(found, (0, 1)) for name, found in values.items()}
            summary[f"{kind}, {ATTENTION} − {CHANCE}"] = mean(values[ATTENTION] - values[CHANCE], (-1, 1))
        answer = (
            f"The heaviest token is in the rationale in a share of {summary['heaviest token in the rationale']} of the "
            f"texts; a random token would be in {summary['tokens in the rationale'].value:.3f}. Ranked by weight, the "
            f"tokens of the rationale have an AUPRC of {summary[f'AUPRC, {ATTENTION}']}; a random order has "
            f"{summary[f'AUPRC, {CHANCE}'].value:.3f}."
        )
        without = int(np.isnan(tokens).sum())
        notes = [f"{without:,} texts are left out: the part that the model reads has no rationale."] if without else []
        return Conclusion(answer, summary, notes)


def marks_of(subject: Subject) -> tuple[np.ndarray, Sequences]:
    """A 1 for each item of a text that belongs to its rationale, and the layout of these."""
    if subject.items == "sentences":
        return sentence_marks(subject.data)
    return token_marks(subject.data), subject.data.sequences


def check_rationales(data: TokenizedCorpus, trial: str) -> np.ndarray:
    """The marks of the tokens; without any, the trial is refused."""
    marks = token_marks(data)
    if not marks.any():
        raise InputError(
            f"{data.corpus.name} has no rationales, which the trial {trial} needs; name their column with `rationale`, "
            "or leave the trial out."
        )
    return marks
