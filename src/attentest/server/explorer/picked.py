"""Which row of weights is looked at, where a text has several: one for each head, or for each head and token."""

from __future__ import annotations

import torch
from torch import Tensor

from attentest.errors import InputError
from attentest.server.explorer.asked import Reference
from attentest.server.explorer.opened import Looked

OTHER_VIEW = "These weights are worked out of several layers or from gradients, so they cannot be changed themselves."
HEADS = "These are the weights of several heads together; choose one head to change its weights."
QUERIES = "In this layer every token has a row of weights of its own; choose a token and a head to change its row."
ONE_ROW = "There is one row of weights here, not one for each token; leave out `query`."


def has_queries(looked: Looked) -> bool:
    """Whether every token has a row."""
    return len(looked.reading.inner) == 2


def not_draggable(asked: Reference, looked: Looked) -> str | None:
    """Why other weights cannot be put in the place of those that are shown."""
    if asked.view not in (None, "row"):
        return OTHER_VIEW
    inner = looked.reading.inner
    if has_queries(looked) and asked.query is None and inner[1] > 1:
        return QUERIES
    return HEADS if inner and inner[0] > 1 else None


def row_at(asked: Reference, looked: Looked) -> tuple[int, ...]:
    """The place of the one row among all, if `not_draggable` says nothing."""
    if asked.query is None:
        return (0,) * len(looked.reading.inner)
    return 0, _query_place(asked.query, looked)


def shown_weights(asked: Reference, looked: Looked) -> Tensor:
    """The row, or what several rows say together."""
    reading = looked.reading
    if not_draggable(asked, looked) is None:
        return reading.weights[(0, *row_at(asked, looked))]
    if asked.query is None or asked.view not in (None, "row"):
        return reading.attention[0]
    assert reading.row_shares is not None
    place = _query_place(asked.query, looked)
    shares = reading.row_shares[0, :, place]
    shares = torch.where(shares.sum() > 0, shares, torch.ones_like(shares))
    return (reading.weights[0, :, place] * (shares / shares.sum()).unsqueeze(-1)).sum(0)


def check_query(asked: Reference, looked: Looked) -> None:
    if asked.query is None:
        return
    if not has_queries(looked):
        raise InputError(ONE_ROW)
    if asked.query >= len(looked.items.tokens):
        raise InputError(f"query is {asked.query}; the text has {len(looked.items.tokens)} tokens, counted from 0.")


def _query_place(query: int, looked: Looked) -> int:
    """Among all that the network reads: special tokens, too, have rows."""
    from attentest.models.pretrained.seen_from import LayerEncoded

    encoded = looked.reading.encoded
    assert isinstance(encoded, LayerEncoded)
    assert encoded.places is not None
    return int(encoded.places[0, query])
