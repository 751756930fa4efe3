"""Many token sequences in two flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class Sequences:
    """Sequence i is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: Int[np.ndarray, "tokens"]
    offsets: Int[np.ndarray, sequences + 1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Int[np.ndarray, "length"]:
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Int[np.ndarray, "sequences"]:
        return np.diff(self.offsets)

    def padded(self, rows: Int[np.ndarray, "batch"], values: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The sequences of `rows` side by side, filled up with 0, and the mask of what is real.

        `values`, when given, are other numbers of the same layout (weights, say) to lay out instead of the ids.
        """
        flat = self.ids if values is None else values
        starts, lengths = self.offsets[rows], self.lengths[rows]
        step = np.arange(lengths.max(initial=0))
        mask = step < lengths[:, None]
        where = np.where(mask, starts[:, None] + step, 0)
        return np.where(mask, flat[where], flat.dtype.type(0)), mask

    def take(self, rows: Int[np.ndarray, "taken"]) -> Sequences:
        """These rows, in any order and each as often as it is named."""
        lengths = self.lengths[rows]
        return Sequences(self.ids[runs(self.offsets[rows], lengths)], np.concatenate(([0], np.cumsum(lengths))))

    def select(self, rows: Int[np.ndarray, "kept"], longest: int) -> Sequences:
        """These rows only (in rising order), each cut to `longest` tokens."""
        if len(rows) == len(self) and not (self.lengths > longest).any():
            return self
        row_kept = np.zeros(len(self), bool)
        row_kept[rows] = True
        token_kept = np.repeat(row_kept, self.lengths)
        for row in np.flatnonzero(self.lengths > longest):
            token_kept[self.offsets[row] + longest : self.offsets[row + 1]] = False
        lengths = np.minimum(self.lengths[rows], longest)
        return Sequences(self.ids[token_kept], np.concatenate(([0], np.cumsum(lengths))))


def runs(starts: Int[np.ndarray, "runs"], lengths: Int[np.ndarray, "runs"]) -> Int[np.ndarray, "numbers"]:
    """start, start + 1, … for each of the lengths, one run after the other."""
    ends = np.cumsum(lengths)
    numbers: np.ndarray = np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)
    return numbers


def unpad(padded: Float[np.ndarray, "batch length"], mask: np.ndarray) -> list[np.ndarray]:
    """Each row's real values, as arrays of their own length."""
    return np.split(padded[mask], np.cumsum(mask.sum(1)))[:-1]
