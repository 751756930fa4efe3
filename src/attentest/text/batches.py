"""Batches of texts of about the same length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.errors import InputError
from attentest.text.prepare import TokenizedCorpus
from attentest.text.sequences import Sequences


@dataclass(frozen=True)
class Batch:
    """Texts side by side; `mask` is true on real tokens, which come first. What follows the mask may be absent."""

    ids: Int[Tensor, "batch tokens"]
    mask: Bool[Tensor, "batch tokens"]
    rows: Int[np.ndarray, "batch"]
    labels: Int[Tensor, "batch"] | None = None
    preset: Float[Tensor, "batch tokens"] | None = None
    second_ids: Int[Tensor, "batch second"] | None = None  # of the other text of each pair
    second_mask: Bool[Tensor, "batch second"] | None = None
    sentences: Int[Tensor, "batch tokens"] | None = None  # the number of each token's sentence
    places: Int[Tensor, "batch tokens"] | None = None  # of each token in the whole text, where some are set aside …
    aside: Int[Tensor, "batch aside 3"] | None = None  # … and these: place (-1: padding), id and sentence

    def __post_init__(self) -> None:
        _check_mask("mask", self.mask, self.ids)
        if self.second_mask is not None:
            _check_mask("second_mask", self.second_mask, self.second_ids)

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, places: Int[Tensor, "chosen"]) -> Batch:
        """These texts of the batch only, without the padding that none of them needs."""
        texts = self.take(places)
        tokens = int(texts.mask.sum(1).max())
        preset = None if texts.preset is None else texts.preset[:, :tokens]
        sentences = None if texts.sentences is None else texts.sentences[:, :tokens]
        in_text = None if texts.places is None else texts.places[:, :tokens]
        ids, mask = texts.ids[:, :tokens], texts.mask[:, :tokens]
        texts = texts._changed(ids=ids, mask=mask, preset=preset, sentences=sentences, places=in_text)
        if texts.second_ids is None or texts.second_mask is None:
            return texts
        tokens = int(texts.second_mask.sum(1).max())
        return texts._changed(second_ids=texts.second_ids[:, :tokens], second_mask=texts.second_mask[:, :tokens])

    def take(self, places: Int[Tensor, "chosen"]) -> Batch:
        """These texts of the batch, each as often as it is named, with all the padding."""
        return self._with_tensors(lambda values: values[places], rows=self.rows[places.cpu().numpy()])

    def to(self, device: torch.device | str) -> Batch:
        return self._with_tensors(lambda values: values.to(device))

    def _with_tensors(self, change: Callable[[Tensor], Tensor], **others: Any) -> Batch:
        tensors: dict[str, Any] = {
            name: change(value) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        return self._changed(**tensors, **others)

    def _changed(self, **values: Any) -> Batch:
        """With other values of the same texts; their masks were looked at when the batch was made."""
        return _unchecked(**(vars(self) | values))


def _unchecked(**values: Any) -> Batch:
    """A batch whose masks are right by construction, at no cost."""
    batch = object.__new__(Batch)
    vars(batch).update(values)
    return batch


def _check_mask(name: str, mask: Tensor, ids: Tensor | None) -> None:
    if ids is None or mask.shape != ids.shape or mask.dtype != torch.bool:
        shape = "no ids" if ids is None else f"ids of shape {tuple(ids.shape)}"
        raise InputError(
            f"The {name} of the batch is a {str(mask.dtype).removeprefix('torch.')} tensor of shape "
            f"{tuple(mask.shape)}, with {shape}; expected a bool for each of the ids: True on tokens, False on padding."
        )
    holes = mask[:, 1:] > mask[:, :-1]
    if holes.any():
        text, place = (int(index) for index in holes.nonzero()[0])
        raise InputError(
            f"The {name} of the batch has a hole: in text {text} it is False at {place} and True at {place + 1}; "
            "expected all tokens of a text first and padding after them. Leave such tokens out of the ids, or give "
            "them the weight 0 in attend."
        )


def make_batch(data: TokenizedCorpus, rows: np.ndarray) -> Batch:
    preset = None if data.preset is None else torch.from_numpy(data.sequences.padded(rows, data.preset)[0])
    labels = torch.from_numpy(data.labels[rows].astype(np.int64))
    asked, asked_mask = (None, None) if data.second is None else _padded(data.second, rows)
    sentences = None if data.sentences is None else _laid_out(data.sequences, rows, data.sentences)
    aside = data.aside
    ids, mask = _padded(data.sequences, rows)
    return _unchecked(
        ids=ids,
        mask=mask,
        rows=rows,
        labels=labels,
        preset=preset,
        second_ids=asked,
        second_mask=asked_mask,
        sentences=sentences,
        places=None if aside is None else _laid_out(data.sequences, rows, aside.places),
        aside=None if aside is None else torch.from_numpy(aside.padded(rows)),
    )


def batch_of_sequences(
    sequences: Sequence[np.ndarray],
    second: Sequence[np.ndarray] | None = None,
    sentences: Sequence[np.ndarray] | None = None,
) -> Batch:
    """A batch of texts, or pairs of texts, that belong to no corpus; `sentences` number those of the tokens."""
    rows = np.arange(len(sequences))
    others = (None, None) if second is None else _padded(_joined(second), rows)
    together = _joined(sequences)
    numbers = None if sentences is None else _laid_out(together, rows, np.concatenate(sentences))
    return Batch(*_padded(together, rows), rows, second_ids=others[0], second_mask=others[1], sentences=numbers)


def _joined(sequences: Sequence[np.ndarray]) -> Sequences:
    return Sequences(np.concatenate(sequences), np.concatenate(([0], np.cumsum([len(s) for s in sequences]))))


def _laid_out(sequences: Sequences, rows: np.ndarray, numbers: np.ndarray) -> Tensor:
    return torch.from_numpy(sequences.padded(rows, numbers)[0].astype(np.int64))


def _padded(sequences: Sequences, rows: np.ndarray) -> tuple[Tensor, Tensor]:
    ids, mask = sequences.padded(rows)
    return torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(mask)


def training_order(lengths: np.ndarray, batch_size: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Places in `lengths`, in batches: sorted by length with ±10 % of noise (as Jain & Wallace), batches shuffled."""
    noisy = lengths * generator.uniform(0.9, 1.1, len(lengths))
    order = np.argsort(noisy, kind="stable")
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def training_batches(
    data: TokenizedCorpus, rows: np.ndarray, batch_size: int, generator: np.random.Generator
) -> Iterator[Batch]:
    for places in training_order(data.sequences.lengths[rows], batch_size, generator):
        yield make_batch(data, rows[places])


TOKENS_AT_ONCE = 16_384  # padding counted


def inference_batches(
    data: TokenizedCorpus, rows: np.ndarray, max_padded: int = TOKENS_AT_ONCE, added: int = 0
) -> Iterator[Batch]:
    """All of `rows`, shortest first, at most `max_padded` tokens (padding counted) a batch; a model may have `added`
    tokens to each text."""
    lengths = data.sequences.lengths[rows] + added
    order = np.argsort(lengths, kind="stable")
    if data.second is not None:
        lengths = lengths + data.second.lengths[rows]
    start = 0
    while start < len(order):
        # all are as long as the longest: with n texts it has n times as many tokens
        longest = np.maximum.accumulate(lengths[order[start : start + max_padded]])
        fitting = np.arange(1, len(longest) + 1) * longest <= max_padded
        size = max(1, int(fitting.sum()))
        yield make_batch(data, rows[order[start : start + size]])
        start += size
