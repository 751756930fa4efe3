"""Free decoding: translations, and what BLEU counts in them, as columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from attentest.errors import InputError
from attentest.measures.bleu_bootstrap import COUNTED, ENOUGH, BleuFigures, bleu_bootstrap
from attentest.measures.intervals import Estimate
from attentest.measures.resampling import FEWEST
from attentest.translation.scores import bleu_counts
from attentest.translation.search import Hypothesis
from attentest.trials.base import words
from attentest.trials.of_translation.subject import TranslationSubject

BLEU, DIFFERENCE = "BLEU", "difference"  # of the summary, the first also for each change
COUNTS = "BLEU counts"  # column; also once for each change


def spelled(subject: TranslationSubject, found: Sequence[Hypothesis]) -> list[str]:
    return [subject.run.target_tokens.text(one.tokens) for one in found]


def counts_of(subject: TranslationSubject, translations: Sequence[str]) -> list[str]:
    """One text for each pair: ten numbers in a row, so that a table has one column for each system."""
    counts = bleu_counts(translations, subject.references, lower=subject.run.record.text.lower)
    return [" ".join(map(str, row)) for row in counts.tolist()]


def bleu_figures(table: pa.Table, changes: Iterable[str], seed: int) -> BleuFigures:
    """Of the pairs that were translated, by what the columns call each change."""
    own = words(table, COUNTS)
    there = own != ""
    others = {name: _read(words(table, f"{COUNTS}, {name}")[there]) for name in changes}
    return bleu_bootstrap(_read(own[there]), others, seed)


def named_figures(figures: BleuFigures, columns: Mapping[str, str]) -> dict[str, Estimate]:
    """As a summary has them, from what it calls each change to what the table calls it."""
    found = {BLEU: figures.base}
    for name, column in columns.items():
        found[f"{BLEU}, {name}"] = figures.scores[column]
        found[f"{DIFFERENCE}, {name}"] = figures.differences[column]
    return found


def about_intervals(sentences: int) -> list[str]:
    """What to say of BLEU's intervals where there are few sentences."""
    if sentences < FEWEST:
        return [f"BLEU has no interval: it needs at least {FEWEST} sentences, and there are {sentences:,}."]
    if sentences < ENOUGH:
        return [
            f"With {sentences} sentences, the 95 % intervals of BLEU are somewhat too narrow: in simulations they "
            f"included the true BLEU in 92.5 % of the cases at {FEWEST} sentences and in 94.5 % at {ENOUGH}."
        ]
    return []


def _read(texts: np.ndarray) -> Int[np.ndarray, "sentences counted"]:
    try:
        return np.array([[int(number) for number in text.split()] for text in texts], np.int64).reshape(-1, COUNTED)
    except ValueError as error:
        raise InputError(f"a column '{COUNTS}' does not have {COUNTED} numbers for each pair.") from error
