"""Texts as a pretrained network takes them: special tokens around the pieces, padding on its own side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attentest.corpora.corpus import Kind
from attentest.models.pretrained.joined import joined
from attentest.text.batches import Batch
from attentest.text.pieces import Frame

Side = Literal["left", "right"]
_NOTHING = Frame((), (), (), (0,))


@dataclass(frozen=True)
class Inputs:
    """What the network takes, and where the batch's items are in it."""

    input_ids: Int[Tensor, "batch positions"]
    attention_mask: Int[Tensor, "batch positions"]
    token_type_ids: Int[Tensor, "batch positions"] | None
    places: Int[Tensor, "batch tokens"]  # of each item; 0 on the batch's padding
    special: Bool[Tensor, "batch positions"]  # special tokens

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the network's forward."""
        types = {} if self.token_type_ids is None else {"token_type_ids": self.token_type_ids}
        return {"input_ids": self.input_ids, "attention_mask": self.attention_mask, **types}


@dataclass(frozen=True)
class Layout:
    """How a network wants its texts; `special` says that batches hold the special tokens, so that none is added."""

    single: Frame
    pair: Frame
    pad: int
    longest: int  # pieces that the network can read, special tokens counted
    side: Side = "right"  # where padding goes
    mask: int | None = None  # stands for a piece that is hidden
    typed: bool = False  # whether the network takes token types
    pad_type: int = 0
    special: bool = False

    def frame(self, kind: Kind) -> Frame:
        return self.pair if kind == "pair" else self.single

    def room(self, kind: Kind) -> int:
        """How many pieces of its own a text, or a pair, may have."""
        return self.longest - self.frame(kind).size

    def lay_out(self, batch: Batch) -> Inputs:
        """A batch whose `sentences` are given is one of pairs: 0 on the text, 1 on the second text."""
        if batch.aside is not None:
            whole, items = joined(batch)
            inputs = self.lay_out(whole)
            return replace(inputs, places=inputs.places.gather(1, items).masked_fill(~batch.mask, 0))
        frame = _NOTHING if self.special else self.frame("single" if batch.sentences is None else "pair")
        numbers = torch.zeros_like(batch.ids) if batch.sentences is None else batch.sentences
        second = batch.mask & (numbers == 1) & (not self.special)
        prefix, middle, suffix = frame.parts()
        count, in_second = batch.mask.sum(1), second.sum(1)
        start, attended = self._placed(count + frame.size)
        order = torch.arange(batch.mask.shape[1], device=batch.ids.device)
        places = start.unsqueeze(1) + len(prefix[0]) + order + len(middle[0]) * second

        ids = batch.ids.new_full(attended.shape, self.pad)
        types = batch.ids.new_full(attended.shape, self.pad_type)
        rows, columns = batch.mask.nonzero(as_tuple=True)
        kinds = numbers if self.special else torch.tensor(frame.text_types, device=ids.device)[second.long()]
        ids[rows, places[rows, columns]] = batch.ids[rows, columns]
        types[rows, places[rows, columns]] = kinds[rows, columns]
        every = torch.arange(len(ids), device=ids.device)
        between = start + len(prefix[0]) + count - in_second
        last = between + len(middle[0]) + in_second
        for begin, special in ((start, prefix), (between, middle), (last, suffix)):
            for i, (number, kind) in enumerate(zip(*special, strict=True)):
                ids[every, begin + i], types[every, begin + i] = number, kind
        added = torch.tensor(self.single.ids + self.pair.ids, dtype=ids.dtype, device=ids.device)
        own = torch.zeros_like(attended)
        own[rows, places[rows, columns]] = not self.special
        return Inputs(
            input_ids=ids,
            attention_mask=attended.long(),
            token_type_ids=types if self.typed else None,
            places=places.masked_fill(~batch.mask, 0),
            special=attended & ~own & torch.isin(ids, added),
        )

    def only(self, left: Bool[Tensor, "batch positions"], arguments: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A forward's arguments with these positions alone, which move together."""
        _, attended = self._placed(left.sum(1))
        fill = {"input_ids": self.pad, "token_type_ids": self.pad_type}
        found = {}
        for name, values in arguments.items():
            found[name] = values.new_full(attended.shape, fill.get(name, 0))
            found[name][attended] = values[left]  # both in the order of texts and positions
        return found

    def _placed(self, lengths: Int[Tensor, "batch"]) -> tuple[Int[Tensor, "batch"], Bool[Tensor, "batch positions"]]:
        """Where each text begins, and what is no padding."""
        width = int(lengths.max())
        start = width - lengths if self.side == "left" else torch.zeros_like(lengths)
        order = torch.arange(width, device=lengths.device)
        return start, (order >= start.unsqueeze(1)) & (order < (start + lengths).unsqueeze(1))
