"""Tokens of a model and words of somebody else, who cut the same sentence in another way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float


def letters(text: str) -> str:
    """What two ways to cut a sentence have in common: no blanks, and no difference of case."""
    return "".join(text.split()).casefold()


def shares_of_words(
    text: str, spans: Sequence[tuple[int, int]], words: Sequence[str]
) -> Float[np.ndarray, "tokens words"] | None:
    """How much of each token, whose place in the text its span says, is part of each word: rows that sum to 1.

    None where the words do not spell the text letter by letter, or where there is nothing to share.
    """
    bare = ["".join(word.split()) for word in words]  # a no-break space may be a word to others, and has no letters
    written, spelled = "".join(text.split()), "".join(bare)
    if not written or not spans or len(written) != len(spelled):
        return None
    if any(a != b and a.casefold() != b.casefold() for a, b in zip(written, spelled, strict=True)):
        return None
    word_of = np.repeat(np.arange(len(words)), [len(word) for word in bare])
    seen = np.cumsum([0, *(not character.isspace() for character in text)])  # letters before each place
    begins = seen[[start for start, _ in spans]]
    begins[0] = 0
    # a token reaches to the next one: marks that were composed with the letter before them have no place of their own
    ends = np.append(begins[1:], len(written))
    found = np.zeros((len(spans), len(words)))
    np.add.at(found, (np.repeat(np.arange(len(spans)), ends - begins), word_of), 1)
    empty = ends == begins  # the sign for a blank that is a token by itself belongs to what follows it
    found[empty, word_of[np.minimum(begins[empty], len(written) - 1)]] = 1
    found /= found.sum(1, keepdims=True)
    return found
