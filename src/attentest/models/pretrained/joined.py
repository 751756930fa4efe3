"""Whole texts of a batch whose items are only some of their tokens."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.text.aside import NONE
from attentest.text.batches import Batch


def joined(batch: Batch) -> tuple[Batch, Int[Tensor, "batch tokens"]]:
    """The texts with the tokens that were set aside, each at its place, and where the items are in them (0 on padding).

    The places say in which order: where items were removed from a text, the tokens aside are still there.
    """
    assert batch.places is not None
    assert batch.aside is not None
    mask = torch.cat((batch.mask, batch.aside[..., 0] != NONE), 1)
    places = torch.cat((batch.places, batch.aside[..., 0]), 1)
    order = places.masked_fill(~mask, torch.iinfo(places.dtype).max).argsort(dim=1, stable=True)
    items = order.argsort(dim=1)[:, : batch.mask.shape[1]].masked_fill(~batch.mask, 0)
    order = order[:, : int(mask.sum(1).max())]
    ids = torch.cat((batch.ids, batch.aside[..., 1]), 1).gather(1, order)
    numbers = batch.sentences
    sentences = None if numbers is None else torch.cat((numbers, batch.aside[..., 2]), 1).gather(1, order)
    mask = mask.gather(1, order)
    return replace(batch, ids=ids, mask=mask, sentences=sentences, preset=None, places=None, aside=None), items
