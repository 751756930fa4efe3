"""T23: does the decision follow the words that are known to be the reason?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch

from attentest.chance import keyed_uniform
from attentest.measures.divergences import tvd
from attentest.measures.intervals import Estimate, mean, share, share_difference
from attentest.models.protocol import AttentionModel
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.text.batches import make_batch
from attentest.text.prepare import TokenizedCorpus
from attentest.text.rationales import token_marks
from attentest.trials.base import Chart, Columns, Conclusion, Trial, column
from attentest.trials.charts import bars, interval
from attentest.trials.rationale import check_rationales
from attentest.trials.reading import Reading
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Work, Works

NO_DONOR = -1


@dataclass(frozen=True)
class Swaps(Trial):
    """The share of decisions that become another class's when a text's rationale is replaced, token by token, with
    that of a text of this class; and the same for as many other tokens."""

    name: ClassVar[str] = "swaps"
    number: ClassVar[str] = "T23"
    keys: ClassVar[Mapping[str, str]] = {
        "follows": "decisions that follow the swap",
        "moved": "change of the output",
        "control": "decisions that follow the control swap",
    }
    question: ClassVar[str] = "Does the decision follow the words of the rationale?"
    source: ClassVar[str] = "not from a paper: rationales exchanged between texts as counterfactuals"
    how_to_read: ClassVar[str] = (
        "If almost every decision follows the swapped rationale and hardly any follows the control swap, the model "
        "decides by the rationale. If few follow, it decides by something else, or by more than these words. This "
        "is about the model, not about its attention: it tells what attention would have to show."
    )
    needs: ClassVar[str] = "a corpus with rationales"
    needs_rationale: ClassVar[bool] = True
    cost: ClassVar[float] = 2

    seed: int = setting(0, "Random seed for the other text and the control's tokens.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def fits(self, subject: Subject) -> bool:
        return bool(token_marks(subject.data).any())

    def works(self, load: Load) -> Works:
        return {self.name: Work(2 * load.reading)}

    def examiner(self, subject: Subject) -> _Swapping:
        marks = check_rationales(subject.data, self.name)
        return _Swapping(subject, marks, donors_of(subject, marks, self.seed), self.seed)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        rows = [
            *interval("follow the swap", summary["decisions that follow the swap"]),
            *interval("follow the control", summary["decisions that follow the control swap"]),
            *interval("change with the swap", summary["decisions that change"]),
            *interval("change with the control", summary["decisions that change, control"]),
        ]
        if not rows:
            return {}
        chart = bars(
            rows,
            "share of decisions (0–1)",
            "How many decisions become the other text's class, and how many change at all, when the rationale is "
            "replaced with that of a text of another class, and when as many other tokens are, with 95 % intervals.",
            "decisions that",
        )
        return {"decisions after swaps": chart}


@dataclass(frozen=True)
class _Swapping:
    subject: Subject
    marks: np.ndarray
    donors: np.ndarray  # for each row of the data, or NO_DONOR
    seed: int

    def examine(self, reading: Reading) -> Columns:
        data, rows = self.subject.data, reading.rows
        donors = self.donors[rows]
        target = torch.from_numpy(np.where(donors == NO_DONOR, 0, data.labels[donors])).to(reading.logits.device)
        already = (reading.predicted == target).cpu().numpy()
        found: dict[str, np.ndarray] = {"donor": np.full(len(rows), "", object)}
        found["donor"][donors != NO_DONOR] = self.subject.ids(donors[donors != NO_DONOR])
        for prefix, control in (("", False), ("control_", True)):
            ids, swapped = self._swapped(rows, donors, control)
            logits = _run(self.subject.model, data, rows, ids, self.subject.device)
            decided = logits.argmax(-1)
            known = np.where(swapped, 1.0, np.nan)
            can_follow = np.where(already, np.nan, known)
            found |= {
                f"{prefix}follows": (decided == target).cpu().numpy() * can_follow,
                f"{prefix}changes": (decided != reading.predicted).cpu().numpy() * known,
                f"{prefix}moved": tvd(logits.softmax(-1), reading.probabilities).cpu().numpy() * known,
            }
        return found

    def conclude(self, table: pa.Table) -> Conclusion:
        follows, other = column(table, "follows"), column(table, "control_follows")
        both = np.where(np.isnan(other), np.nan, follows)
        summary = {
            "decisions that follow the swap": share(follows),
            "change of the output": mean(column(table, "moved"), (0, 1)),
            "decisions that change": share(column(table, "changes")),
            "decisions that follow the control swap": share(other),
            "change of the output, control": mean(column(table, "control_moved"), (0, 1)),
            "decisions that change, control": share(column(table, "control_changes")),
            "follow the swap − follow the control": share_difference(both, other),
        }
        answer = (
            f"With the rationale of a text of another class, the decision becomes this class in a share of "
            f"{summary['decisions that follow the swap']} of the texts; with as many other tokens of that text in "
            f"{summary['decisions that follow the control swap']}."
        )
        return Conclusion(answer, summary, self._left_out(table))

    def _left_out(self, table: pa.Table) -> list[str]:
        moved, follows = column(table, "moved"), column(table, "follows")
        without = int(np.isnan(moved).sum())
        already = int((np.isnan(follows) & ~np.isnan(moved)).sum())
        notes = []
        if without:
            notes.append(
                f"{without:,} texts are left out: they have no rationale among the tokens that the model reads, or no "
                "text of another class has a rationale of as many tokens."
            )
        if already:
            notes.append(
                f"{already:,} decisions cannot follow the swap: they are for the other text's class already. They "
                "count for changes alone."
            )
        return notes

    def _swapped(self, rows: np.ndarray, donors: np.ndarray, control: bool) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the texts with some of their donors', side by side, and which texts were changed."""
        sequences = self.subject.data.sequences
        ids, _ = sequences.padded(rows)
        changed = np.zeros(len(rows), bool)
        for place, (row, donor) in enumerate(zip(rows.tolist(), donors.tolist(), strict=True)):
            if donor == NO_DONOR:
                continue
            to, of = (self._control(row, one) if control else self._marked(one) for one in (row, donor))
            count = min(len(to), len(of))
            ids[place, np.sort(to[:count])] = sequences[donor][np.sort(of[:count])]
            changed[place] = count > 0
        return ids, changed

    def _marked(self, row: int) -> np.ndarray:
        offsets = self.subject.data.sequences.offsets
        return np.flatnonzero(self.marks[offsets[row] : offsets[row + 1]])

    def _control(self, row: int, of: int) -> np.ndarray:
        """As many places of the text `of` as its rationale has, outside of that, drawn for the text `row`."""
        offsets = self.subject.data.sequences.offsets
        marks = self.marks[offsets[of] : offsets[of + 1]]
        purpose = "control places" if of == row else "control tokens"
        drawn = keyed_uniform(self.seed, purpose, np.array([row]), len(marks))[0]
        order = np.argsort(np.where(marks > 0, 2.0, drawn), kind="stable")
        rationale = int((marks > 0).sum())
        return order[: min(rationale, len(marks) - rationale)]


def donors_of(subject: Subject, marks: np.ndarray, seed: int) -> np.ndarray:
    """For each row of the data one of its split with as many marked tokens and another label, or NO_DONOR."""
    data = subject.data
    counts = np.add.reduceat(marks.astype(np.int64), data.sequences.offsets[:-1])
    drawn = keyed_uniform(seed, "donor", np.arange(len(counts)), 1)[:, 0]
    donors = np.full(len(counts), NO_DONOR)
    for split in np.unique(data.split[subject.rows]):
        there = np.flatnonzero((data.split == split) & (counts > 0))
        for count in np.unique(counts[there]):
            alike = there[counts[there] == count]
            alike = alike[np.argsort(data.labels[alike], kind="stable")]
            labels = data.labels[alike]
            first, last = np.searchsorted(labels, labels), np.searchsorted(labels, labels, "right")
            others = len(alike) - (last - first)
            # a place among those of other labels: those of the own one are jumped over
            place = (drawn[alike] * others).astype(np.int64)
            place += np.where(place >= first, last - first, 0)
            donors[alike[others > 0]] = alike[place[others > 0]]
    return donors


def _run(
    model: AttentionModel, data: TokenizedCorpus, rows: np.ndarray, ids: np.ndarray, device: torch.device | str
) -> torch.Tensor:
    """Logits of the whole model for these texts with other tokens."""
    batch = make_batch(data, rows)
    batch = replace(batch, ids=torch.from_numpy(ids.astype(np.int64))).to(device)
    encoded = model.encode(batch)
    return model.decode(encoded, model.attend(encoded))
