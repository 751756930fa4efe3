"""Which row of weights is looked at, where a text has several: one for each head, or for each head and token."""

from __future__ import annotations

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
    return looked.glance is not None


def not_draggable(asked: Reference, looked: Looked) -> str | None:
    """Why other weights cannot be put in the place of those that are shown."""
    if asked.view not in (None, "row"):
        return OTHER_VIEW
    if looked.glance is not None:
        if asked.query is None:
            return QUERIES
        return HEADS if len(looked.glance.weights) > 1 else None
    return HEADS if looked.reading.inner and looked.reading.inner[0] > 1 else None


def row_at(asked: Reference, looked: Looked) -> tuple[int, ...]:
    """The place of the one row among all, if `not_draggable` says nothing."""
    if looked.glance is None:
        return (0,) * len(looked.reading.inner)
    assert asked.query is not None
    return 0, int(looked.glance.places[asked.query])


def shown_weights(asked: Reference, looked: Looked) -> Tensor:
    """The row, or what several rows say together."""
    if looked.glance is not None:
        return looked.glance.shown(asked.query)
    if not_draggable(asked, looked) is None:
        return looked.reading.weights[(0, *row_at(asked, looked))]
    return looked.reading.attention[0]


def check_query(asked: Reference, looked: Looked) -> None:
    if asked.query is None:
        return
    if not has_queries(looked):
        raise InputError(ONE_ROW)
    if asked.query >= len(looked.items.tokens):
        raise InputError(f"query is {asked.query}; the text has {len(looked.items.tokens)} tokens, counted from 0.")
