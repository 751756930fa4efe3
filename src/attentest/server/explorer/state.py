"""A text under the model's own weights, as the page gets it."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.models.hierarchical import SENTENCE
from attentest.server.explorer.asked import Reference
from attentest.server.explorer.numbers import sent
from attentest.server.explorer.opened import Looked, Opened
from attentest.server.explorer.picked import check_query, has_queries, not_draggable, shown_weights
from attentest.server.explorer.sinks import sinks_among
from attentest.server.explorer.weighing import adversary_method
from attentest.text.items import NO_TEXT
from attentest.trials.reading import Reading

MOST_NUMBERS = 250_000  # of token_logits that are sent: 3 MB; more classes or tokens are decoded over the wire


def state_of(opened: Opened, number: int, asked: Reference) -> dict[str, Any]:
    looked = opened.look(asked)
    check_query(asked, looked)
    items, run = looked.items, opened.run
    reading = looked.reading if looked.glance is None else None
    within = None if reading is None else reading.within
    stored = run.predictions.slice(looked.row, 1).to_pylist()[0] if looked.row is not None else {}
    gaps, tail = _gaps(looked)
    why = not_draggable(asked, looked)
    texts = items.texts
    site = asked.site or opened.sites[-1]
    second = np.flatnonzero(texts == 1)
    return {
        "run": number,
        "row": looked.row,
        "id": stored.get("id"),
        "text": looked.texts[0],
        "second": looked.texts[1],
        "label": stored.get("label"),
        "cut": looked.cut,
        "window": asked.window,
        "windows": looked.windows,
        "site": site,
        "head": asked.head,
        "query": asked.query,
        "queries": has_queries(looked),
        "view": asked.view,
        "tokens": list(items.tokens),
        "gaps": gaps,
        "tail": tail,
        "special": (texts == NO_TEXT).astype(int).tolist() if asked.special else None,
        "sink": sinks_among(opened, looked),
        "unknown": None if site == SENTENCE else [int(token not in run.vocabulary) for token in items.tokens],
        "second_from": int(second[0]) if len(second) else None,
        "rationale": looked.rationale,
        "within": None if within is None else within[0].tolist(),
        "classes": run.classes,
        "weights": sent(shown_weights(asked, looked)),
        "probabilities": sent(looked.probabilities),
        "affine": _affine(reading) if why is None and reading is not None else None,
        "shares": None if reading is None or within is None else sent(reading.attention[0]),
        "draggable": why is None,
        "why": why,
        "adversary": adversary_method(looked) if why is None else None,
    }


def _affine(reading: Reading) -> dict[str, Any] | None:
    """What the page needs to compute predictions itself."""
    logits, bias = reading.token_logits, reading.bias
    if logits is None or bias is None or logits.numel() > MOST_NUMBERS:
        return None
    return {"token_logits": sent(logits[0]), "bias": sent(bias)}


def _gaps(looked: Looked) -> tuple[list[str], str]:
    """What stands between the tokens, so that gaps and places of tokens give the texts again."""
    at, last, gaps = 0, 0, []
    for (start, end), number in zip(looked.items.spans, looked.items.texts.tolist(), strict=True):
        if number == NO_TEXT:
            gaps.append("")
            continue
        text = looked.texts[number] or ""
        at = 0 if number != last else at
        last = number
        gaps.append(text[at:start])
        at = max(at, end)
    return gaps, (looked.texts[last] or "")[at:]
