"""BLEU and chrF as sacrebleu computes them, with the signatures that say how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from attentest.errors import InputError


@dataclass(frozen=True)
class Score:
    value: float
    signature: str


def check_library() -> Any:
    try:
        import sacrebleu.metrics
    except ImportError as error:
        raise InputError(
            "Translations are scored by sacrebleu, which is not installed: pip install 'attentest[translation]'."
        ) from error
    return sacrebleu.metrics


def bleu(translations: Sequence[str], references: Sequence[str], *, lower: bool, tokenize: str = "13a") -> Score:
    """`tokenize` is sacrebleu's tokenizer; `none` for sentences whose tokens are separated by blanks already."""
    return _score(_bleu(lower, tokenize), translations, references)


def bleu_counts(
    translations: Sequence[str], references: Sequence[str], *, lower: bool, tokenize: str = "13a"
) -> Int[np.ndarray, "sentences counted"]:
    """What BLEU adds up over sentences: words, words of the reference, n-grams of 1 to 4 words that match, n-grams."""
    # the library gives them to its own tests of significance only
    found = _bleu(lower, tokenize)._extract_corpus_statistics(list(translations), [list(references)])
    return np.array(found, np.int64)


def _bleu(lower: bool, tokenize: str) -> Any:
    return check_library().BLEU(lowercase=lower, tokenize=tokenize, force=True)


def chrf(translations: Sequence[str], references: Sequence[str], *, lower: bool) -> Score:
    return _score(check_library().CHRF(lowercase=lower), translations, references)


def scores_of(
    translations: Sequence[str],
    references: Sequence[str],
    translated_words: Sequence[Sequence[str]],
    reference_words: Sequence[Sequence[str]],
    *,
    lower: bool,
) -> dict[str, Score]:
    """BLEU and chrF of the sentences, and BLEU of their words as attentest cuts them, as papers often report it."""
    joined = [[" ".join(words) for words in side] for side in (translated_words, reference_words)]
    return {
        "bleu": bleu(translations, references, lower=lower),
        "chrf": chrf(translations, references, lower=lower),
        "bleu_words": bleu(joined[0], joined[1], lower=lower, tokenize="none"),
    }


def _score(metric: Any, translations: Sequence[str], references: Sequence[str]) -> Score:
    found = metric.corpus_score(list(translations), [list(references)])
    return Score(float(found.score), str(metric.get_signature()))
