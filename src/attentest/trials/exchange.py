"""T24: does the decision go along when the most attended tokens are exchanged with those of another text?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int

from attentest.chance import keyed_uniform
from attentest.errors import InputError
from attentest.importance.erasure import whole_probabilities
from attentest.measures.intervals import Estimate, mean, ratio
from attentest.memory import out_of_memory
from attentest.models.evaluation import evaluating
from attentest.models.protocol import added_tokens
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.text.batches import TOKENS_AT_ONCE, inference_batches
from attentest.text.exchanged import exchanged
from attentest.text.prepare import TokenizedCorpus
from attentest.trials.base import Chart, Columns, Conclusion, Examiner, Trial, column
from attentest.trials.charts import bars, interval, lines
from attentest.trials.erasure import CEILING, NULL, USUAL, at_share, curves
from attentest.trials.overlap import first_tokens
from attentest.trials.rankings import random_ranks, ranks_by
from attentest.trials.reading import Reading
from attentest.trials.scores import ATTENTION, ScoreSettings, check_names, require_usable, usable, works_of_scores
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Work, Works

NOBODY = -1  # in place of a partner, or of a place in a text
PAIR = "pair"  # the column with the number of a text's pair
GAINED, FOLLOWED = "probability gained", "decisions that follow"


@dataclass(frozen=True)
class Exchange(Trial):
    """How far a decision goes over to that of another text when the first tokens of a ranking are replaced with the
    first tokens of that text by the same ranking.

    Texts that are decided differently are drawn as pairs, each text in one of them, and exchange tokens both ways. As
    many tokens are taken as put in, so the texts keep their length. Attention is measured next to a random order, to
    leave-one-out and to `measures`, names of `attentest.trials.scores.SCORES`.
    """

    name: ClassVar[str] = "exchange"
    number: ClassVar[str] = "T24"
    cost: ClassVar[float] = 20
    keys: ClassVar[Mapping[str, str]] = {
        "gained": f"{GAINED}, {ATTENTION}",
        "null": f"{GAINED}, {NULL}",
        "ceiling": f"{GAINED}, {CEILING}",
        "position": "position",
    }
    question: ClassVar[str] = "Does the decision follow the most attended tokens when two texts exchange them?"
    source: ClassVar[str] = "not from a paper: counterfactual swaps of what attention points at"
    headline: ClassVar[str] = "position"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "A position of 1 means that the decision follows the most attended tokens as far as those that leave-one-out "
        "finds, 0 that it follows them no further than random tokens. Unlike erasure it also asks what is decided when "
        "all other tokens stay: attention on words that merely go along with the decision does not carry it over. "
        "Texts keep their length, but a mixture of two texts is no text that anybody wrote."
    )
    needs: ClassVar[str] = "attention weights; embed and encode_embedded for gradients with respect to inputs"

    fractions: tuple[float, ...] = setting(
        (0.05, 0.1, 0.2), "Shares of a text's tokens that are exchanged.", above=0, most=0.99
    )
    measures: tuple[str, ...] = setting(
        (), "Importance measures next to leave-one-out and random, separated by commas; none: gradient-input."
    )
    draws: int = setting(3, "Random orders drawn for each text.", least=1, most=1000)
    tolerance: float = setting(
        1e-6,
        "Tolerance of leave-one-out on a BiLSTM: smaller changes of states are ignored, closer scores are tied.",
        least=0,
        most=1,
    )
    seed: int = setting(
        0, "Random seed for the pairs of texts, the random orders and the order of ties.", least=0, most=LARGEST_SEED
    )

    def __post_init__(self) -> None:
        check_names(self.measures)
        check_values(self)
        if not self.fractions:
            raise InputError("fractions is empty; give at least one share of the tokens.")

    def works(self, load: Load) -> Works:
        names = self._measures(load.subject)
        copies = (len(names) + self.draws) * len(self.fractions)
        settings = ScoreSettings(tolerance=self.tolerance, seed=self.seed)
        return {f"{self}": Work(load.copies(copies, load.lengths))} | works_of_scores(load, names, settings)

    def examiner(self, subject: Subject) -> Examiner:
        require_usable(subject.model, self.measures, subject.chosen_site)
        return _Exchanging(self, subject, self._measures(subject))

    def _measures(self, subject: Subject) -> tuple[str, ...]:
        names = self.measures or usable(subject.model, USUAL)
        return tuple(dict.fromkeys((ATTENTION, CEILING, *(name for name in names if name != NULL))))

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        found: dict[str, Chart] = {
            "probability gained by share of tokens": lines(
                curves(summary, GAINED),
                "share of the tokens (%)",
                "probability gained",
                "Probability that the other text's class gains when the first tokens of a ranking are exchanged, by "
                "their share of the tokens, means over pairs with 95 % intervals.",
            )
        }
        rows = [
            row
            for label, estimate in summary.items()
            if label.startswith(f"{FOLLOWED}, ")
            for row in interval(label.removeprefix(f"{FOLLOWED}, "), estimate)
        ]
        if rows:
            found["decisions that follow"] = bars(
                rows,
                "share of decisions (0–1)",
                "How many decisions become the other text's when the first tokens of a ranking are exchanged, means "
                "over pairs and shares of tokens with 95 % intervals.",
                "ranking",
            )
        return found


@dataclass
class _Exchanging:
    """Keeps the first tokens of every text by every ranking: which they are is only known as texts are read, and a
    text's partner may be read after it."""

    trial: Exchange
    subject: Subject
    measures: tuple[str, ...]
    first: dict[str, Int[np.ndarray, "texts most"]] = field(default_factory=dict)  # places, the first ones first
    decided: Int[np.ndarray, "texts"] = field(init=False)
    before: list[Float[np.ndarray, "classes"]] = field(init=False)
    at_once: int = TOKENS_AT_ONCE  # tokens of mixed texts that are read at a time

    def __post_init__(self) -> None:
        texts = len(self.subject.rows)
        most = int(first_tokens(max(self.trial.fractions), self.subject.lengths).max(initial=1))
        self.first = {name: np.full((texts, most), NOBODY) for name in (*self.measures, *self._drawn)}
        self.decided = np.full(texts, NOBODY)
        self.before = [np.empty(0)] * texts

    @property
    def _drawn(self) -> list[str]:
        return [f"{NULL} {number}" for number in range(self.trial.draws)]

    def examine(self, reading: Reading) -> Columns:
        settings = ScoreSettings(tolerance=self.trial.tolerance, seed=self.trial.seed)
        texts = self._places(reading.rows)
        ranks = {name: ranks_by(reading, name, settings) for name in self.measures}
        ranks |= {name: random_ranks(reading, self.trial.seed, number) for number, name in enumerate(self._drawn)}
        for name, ranking in ranks.items():
            order = ranking.masked_fill(~reading.mask, ranking.shape[1]).argsort(1).cpu().numpy()
            kept = self.first[name]
            kept[texts, : order.shape[1]] = order[:, : kept.shape[1]]
        self.decided[texts] = reading.predicted.cpu().numpy()
        self.at_once = reading.tokens_at_once
        for text, probabilities in zip(texts, reading.probabilities.cpu().numpy(), strict=True):
            self.before[text] = probabilities
        return {}

    def examine_again(self, rows: np.ndarray) -> Columns:
        texts = self._places(rows)
        partners = partners_of(self.decided, self.subject.rows, self.trial.seed)[texts]
        number = np.minimum(rows, self.subject.rows[partners])
        columns: dict[str, np.ndarray] = {PAIR: np.where(partners == NOBODY, np.nan, number)}
        for name in (*self.measures, NULL):
            gained, followed = [], []
            for fraction in self.trial.fractions:
                orders = self._drawn if name == NULL else [name]
                found = np.mean([self._after(order, texts, partners, fraction) for order in orders], axis=0)
                columns[at_share(GAINED, name, fraction)] = found[0]
                gained.append(found[0])
                followed.append(found[1])
            columns[f"{GAINED}, {name}"] = np.mean(gained, 0)
            columns[f"{FOLLOWED}, {name}"] = np.mean(followed, 0)
        return columns

    def conclude(self, table: pa.Table) -> Conclusion:
        pair = column(table, PAIR)
        names = (*self.measures, NULL)
        gained = {name: over_pairs(pair, column(table, f"{GAINED}, {name}")) for name in names}
        own, most = (gained[name] - gained[NULL] for name in (ATTENTION, CEILING))
        summary = {"position": ratio(own, most)}
        summary |= {f"{GAINED}, {name}": mean(values, (-1, 1)) for name, values in gained.items()}
        for name in names:
            entry = f"{FOLLOWED}, {name}"
            summary[entry] = mean(over_pairs(pair, column(table, entry)), (0, 1))
        for entry in [at_share(GAINED, name, fraction) for name in names for fraction in self.trial.fractions]:
            summary[entry] = mean(over_pairs(pair, column(table, entry)), (-1, 1))
        paired = int((~np.isnan(pair)).sum())
        summary = {entry: replace(figure, n=paired) for entry, figure in summary.items()}
        alone = len(pair) - paired
        left_out = f"{alone:,} texts are left out: no text that is decided differently is left for them."
        return Conclusion(_answer(summary), summary, [left_out] if alone else [])

    def _places(self, rows: np.ndarray) -> Int[np.ndarray, "texts"]:
        """Of these rows of the data among those of the subject."""
        order = np.argsort(self.subject.rows, kind="stable")
        found: np.ndarray = order[np.searchsorted(self.subject.rows, rows, sorter=order)]
        return found

    def _after(
        self, name: str, texts: Int[np.ndarray, "texts"], partners: Int[np.ndarray, "texts"], fraction: float
    ) -> Float[np.ndarray, "2 texts"]:
        """What the partner's class gains in probability, and whether it is decided; NaN where there is no partner."""
        found = np.full((2, len(texts)), np.nan)
        there = np.flatnonzero(partners != NOBODY)
        if not len(there):
            return found
        texts, partners = texts[there], partners[there]
        counts = first_tokens(fraction, self.subject.lengths)
        count = np.minimum(counts[texts], counts[partners])[:, None]
        places, taken = (_in_order_of_text(self.first[name][some], count) for some in (texts, partners))
        rows = self.subject.rows
        sentences = self.subject.items == "sentences"
        mixed = exchanged(self.subject.data, rows[texts], rows[partners], places, taken, whole_sentences=sentences)
        after = self._read(mixed)
        target = self.decided[partners]
        before = np.array([self.before[text][to] for text, to in zip(texts, target, strict=True)])
        found[0, there] = after[np.arange(len(texts)), target] - before
        found[1, there] = after.argmax(1) == target
        return found

    def _read(self, mixed: TokenizedCorpus) -> Float[np.ndarray, "copies classes"]:
        """Probabilities of the whole model; where memory does not suffice, half as many tokens at a time."""
        model, device = self.subject.model, self.subject.device
        added = added_tokens(model)
        fewest = int(mixed.sequences.lengths.max()) + added
        found = np.empty((len(mixed.rows), len(self.subject.classes)))
        while True:
            try:
                with evaluating(model), torch.inference_mode():
                    for batch in inference_batches(mixed, np.arange(len(found)), self.at_once, added):
                        found[batch.rows] = whole_probabilities(model, batch.to(device)).cpu().numpy()
                return found
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error) or self.at_once <= fewest:
                    raise
                self.at_once = max(fewest, self.at_once // 2)


def partners_of(
    decided: Int[np.ndarray, "texts"], rows: Int[np.ndarray, "texts"], seed: int
) -> Int[np.ndarray, "texts"]:
    """For each text one that is decided differently, whose partner it is in turn; as many pairs as there can be.

    Each text is in one pair alone, so that pairs are independent of one another.
    """
    drawn = keyed_uniform(seed, "exchange", rows, 1)[:, 0]
    order = np.lexsort((drawn, decided))  # by decision, in a random order within each
    kinds, sizes = np.unique(decided, return_counts=True)
    most = sizes.argmax()
    others = len(decided) - sizes[most]
    if sizes[most] > others:  # some of the most frequent decision have nobody to exchange with
        frequent = decided[order] == kinds[most]
        order = order[~frequent | (np.cumsum(frequent) <= others)]
    half = len(order) // 2  # no decision has more texts than that: half of them on, it is another one
    partners = np.full(len(decided), NOBODY)
    first, second = order[:half], order[half : 2 * half]
    partners[first], partners[second] = second, first
    return partners


def over_pairs(pair: Float[np.ndarray, "texts"], values: Float[np.ndarray, "texts"]) -> Float[np.ndarray, "pairs"]:
    """The mean of each pair; of one whose other text is not there, that of the one."""
    there = ~np.isnan(pair)
    _, number = np.unique(pair[there], return_inverse=True)
    means: np.ndarray = np.bincount(number, values[there]) / np.bincount(number)
    return means


def _in_order_of_text(first: Int[np.ndarray, "texts most"], count: Int[np.ndarray, "texts 1"]) -> np.ndarray:
    """The first `count` places of a ranking as they stand in the text, then NOBODY."""
    inside = np.arange(first.shape[1]) < count
    later = np.iinfo(first.dtype).max
    ordered = np.sort(np.where(inside, first, later), 1)
    return np.where(ordered == later, NOBODY, ordered)


def _answer(summary: Mapping[str, Estimate]) -> str:
    return (
        f"When two texts that are decided differently exchange their most attended tokens, the other text's class "
        f"gains {summary[f'{GAINED}, {ATTENTION}']} in probability ({summary[f'{GAINED}, {NULL}'].value:.3f} with "
        f"random tokens, {summary[f'{GAINED}, {CEILING}'].value:.3f} with those that leave-one-out ranks first): a "
        f"position of {summary['position']} between these two."
    )
