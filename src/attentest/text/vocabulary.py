"""Tokens and their ids."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

PAD, UNKNOWN = 0, 1
SPECIAL = ("<pad>", "<unk>")


class Vocabulary:
    """An id for each token: 0 is padding, 1 is any token not known, the others by falling frequency."""

    unknown = UNKNOWN

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = [*SPECIAL, *tokens]
        # the special two are not looked up: a text that spells out "<pad>" must not become padding
        self._ids = {token: i for i, token in enumerate(self.tokens) if i >= len(SPECIAL)}

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def ids(self, tokens: Iterable[str]) -> np.ndarray:
        return np.fromiter((self._ids.get(token, UNKNOWN) for token in tokens), np.int32)
