"""A text under the model's own weights, as the page gets it."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.server.explorer.asked import Reference
from attentest.server.explorer.numbers import sent
from attentest.server.explorer.opened import Looked, Opened
from attentest.text.items import NO_TEXT

SEVERAL = "There are several rows of weights here, one for each head or query; choose the last site and one head."
OTHER_VIEW = "What is shown is worked out of the weights of several layers, so it cannot be changed itself."


def state_of(opened: Opened, number: int, asked: Reference) -> dict[str, Any]:
    looked = opened.look(asked)
    reading, items, run = looked.reading, looked.items, opened.run
    stored = run.predictions.slice(looked.row, 1).to_pylist()[0] if looked.row is not None else {}
    gaps, tail = _gaps(looked)
    why = not_draggable(asked, looked)
    weights = sent(one_row(looked) if why is None else reading.attention[0])
    shares = None if reading.shares is None or why is not None else sent(reading.shares[0])
    texts = items.texts
    affine = why is None and reading.token_logits is not None and reading.bias is not None
    second = np.flatnonzero(texts == 1)
    return {
        "run": number,
        "row": looked.row,
        "id": stored.get("id"),
        "text": looked.texts[0],
        "second": looked.texts[1],
        "label": stored.get("label"),
        "cut": looked.cut,
        "site": asked.site or opened.sites[-1],
        "head": asked.head,
        "view": asked.view,
        "tokens": list(items.tokens),
        "gaps": gaps,
        "tail": tail,
        "special": (texts == NO_TEXT).astype(int).tolist() if asked.special else None,
        "sink": None,
        "unknown": [int(token not in run.vocabulary) for token in items.tokens]
        if len(opened.sites) == 1 or run.is_pretrained or asked.site == opened.sites[0]
        else None,
        "second_from": int(second[0]) if len(second) else None,
        "rationale": looked.rationale,
        "within": None if reading.within is None else reading.within[0].tolist(),
        "classes": run.classes,
        "weights": weights,
        "probabilities": sent(reading.probabilities[0]),
        "affine": {"token_logits": sent(reading.token_logits[0]), "bias": sent(reading.bias)}
        if affine and reading.token_logits is not None and reading.bias is not None
        else None,
        "shares": shares,
        "draggable": why is None,
        "why": why,
    }


def not_draggable(asked: Reference, looked: Looked) -> str | None:
    """Why other weights cannot be put in the place of those that are shown."""
    if asked.view not in (None, "row"):
        return OTHER_VIEW
    return SEVERAL if looked.reading.inner.numel() > 1 else None


def one_row(looked: Looked) -> Any:
    return looked.reading.weights[0].flatten(0, -2)[0] if looked.reading.inner else looked.reading.weights[0]


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
