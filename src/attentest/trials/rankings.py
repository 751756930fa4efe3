"""Tokens in the order of their scores, where none is ahead of another for its place in the text."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.chance import keyed_uniform
from attentest.trials.reading import Reading
from attentest.trials.scores import ScoreSettings, ranked

Ranks = Int[Tensor, "batch tokens"]


def ranks_by(reading: Reading, name: str, settings: ScoreSettings) -> Ranks:
    """The rank of each token by an importance measure, 0 for the most important.

    Those with the same score are put in a random order, one of its own for each measure.
    """
    return _ranks(ranked(reading, name, settings), reading.mask, reading.rows, settings.seed, f"ties of {name}")


def random_ranks(reading: Reading, seed: int, draw: int) -> Ranks:
    """One of several random orders of each text's tokens."""
    alike = torch.zeros_like(reading.attention)
    return _ranks(alike, reading.mask, reading.rows, seed, f"random ranking {draw}")


def _ranks(
    scores: Float[Tensor, "batch tokens"],
    mask: Bool[Tensor, "batch tokens"],
    rows: Int[np.ndarray, "batch"],
    seed: int,
    purpose: str,
) -> Ranks:
    drawn = torch.from_numpy(keyed_uniform(seed, purpose, rows, mask.shape[1])).to(scores.device)
    shuffled = drawn.argsort(1)
    placed = scores.masked_fill(~mask, -torch.inf).gather(1, shuffled).argsort(dim=1, descending=True, stable=True)
    return shuffled.gather(1, placed).argsort(1)
