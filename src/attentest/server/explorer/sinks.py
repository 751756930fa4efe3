"""Which tokens draw weight whatever the text says, as an audit finds them: of models with self-attention alone."""

from __future__ import annotations

import numpy as np

from attentest.models.pretrained.sinks import Sinks
from attentest.server.explorer.opened import Looked, Opened
from attentest.text.items import NO_TEXT
from attentest.text.sequences import Sequences


def sinks_among(opened: Opened, looked: Looked) -> list[int] | None:
    """1 for each token that is one; None where there are none, or they have not been looked for yet."""
    if opened.sinks is None or not opened.sinks.sinks:
        return None
    own = np.flatnonzero(looked.items.texts != NO_TEXT)  # special tokens are told apart from sinks
    ids = opened.run.vocabulary.ids(looked.items.tokens)[own]
    marks = np.zeros(len(looked.items.tokens), int)
    marks[own] = Sinks.of(opened.sinks.found).among(Sequences(ids, np.array([0, len(ids)])))
    found: list[int] = marks.tolist()
    return found
