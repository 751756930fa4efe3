"""Long texts as windows: stretches of word pieces, each of which is read as a text of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from attentest.errors import InputError

Long = Literal["cut", "drop", "windows"]
Lengths = Int[np.ndarray, "parts texts"]  # word pieces of each text, or of the two texts of each pair
Bounds = Int[np.ndarray, "windows parts 2"]  # the first piece that is read of each part, and the one after the last


def stretches(
    lengths: Lengths, most: int, long: Long = "cut", stride: int = 0
) -> tuple[Int[np.ndarray, "windows"], Bounds]:
    """What is read of texts where only `most` pieces fit: the number of the text, and where in it.

    Windows begin `most - stride` pieces after one another, and the last one ends with its text, so that all of them are
    equally long. Of a pair the longer text is read in windows, and the shorter one is part of each of them.
    """
    other = _of_shorter(lengths, most)
    room = most - other
    longest = lengths.max(0)
    size = np.minimum(longest, room)
    step = np.maximum(1, room - stride)
    count = np.maximum(1, -(-(longest - stride) // step)) if long == "windows" else np.ones_like(longest)
    text = np.repeat(np.arange(len(longest)), count)
    number = np.arange(len(text)) - np.repeat(np.cumsum(count) - count, count)
    start = np.minimum(number * step[text], (longest - size)[text])
    bounds = np.zeros((len(text), len(lengths), 2), np.int64)
    bounds[:, :, 1] = other[text, None]
    longer = _longer(lengths)[text]
    bounds[np.arange(len(text)), longer] = np.stack((start, start + size[text]), 1)
    return text, bounds


def check_stride(stride: int, most: int, pair: bool) -> None:
    """Refuse one with which windows do not move on: of a pair at least half of a window is of the longer text."""
    least = most - most // 2 if pair else most
    if stride >= least:
        half = ", half of a window, as pairs have both texts in each" if pair else ", the word pieces of a window"
        raise InputError(f"stride is {stride}; it must be below {least}{half} (`max_tokens`, or what the model reads).")


def cut_shorter(lengths: Lengths, most: int) -> int:
    """How many pairs have a shorter text that is cut, although the longer one is read in windows."""
    return int((lengths.min(0) > most // 2).sum()) if len(lengths) == 2 else 0


def _of_shorter(lengths: Lengths, most: int) -> Int[np.ndarray, "texts"]:
    """How much is read of the shorter text of each pair; of single texts, which have none, nothing."""
    found: np.ndarray = np.minimum(lengths.min(0), most // 2) * (len(lengths) - 1)
    return found


def _longer(lengths: Lengths) -> Int[np.ndarray, "texts"]:
    found: np.ndarray = len(lengths) - 1 - lengths[::-1].argmax(0)  # of texts of one length the second
    return found


def whole_of(bounds: Bounds) -> Int[np.ndarray, "parts 2"]:
    """All that is read in the windows of one text."""
    return np.stack((bounds[:, :, 0].min(0), bounds[:, :, 1].max(0)), 1)


def places_in(whole: Int[np.ndarray, "parts 2"], window: Int[np.ndarray, "parts 2"]) -> Int[np.ndarray, "pieces"]:
    """Where the pieces of a window are among all that are read of its text."""
    before = np.cumsum(whole[:, 1]) - whole[:, 1]
    return np.concatenate([np.arange(*part) + first for part, first in zip(window, before, strict=True)])


def mean_weights(bounds: Bounds, weights: Sequence[Float[np.ndarray, "pieces"]]) -> Float[np.ndarray, "all"]:
    """Of the pieces of a text, over its windows: each window counts the same, and a piece has what all give it."""
    whole = whole_of(bounds)
    found = np.zeros(int(whole[:, 1].sum()))
    for window, own in zip(bounds, weights, strict=True):
        found[places_in(whole, window)] += own
    return (found / len(bounds)).astype(np.float32)
