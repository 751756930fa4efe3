"""A small run of every kind of model that attentest trains, made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from dotted import dotted_corpus

import attentest

TINY: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4}


def pair_corpus() -> attentest.Corpus:
    rows = [(colour, asked, n) for n in range(10) for colour in ("red", "blue") for asked in ("red", "blue")]
    return attentest.load(
        {
            "text": [f"a {colour} door and a tall wall {n}" for colour, _, n in rows],
            "second": [f"is the door {asked}?" for _, asked, _ in rows],
            "label": ["yes" if colour == asked else "no" for colour, asked, _ in rows],
        },
        name="doors",
        second="second",
    )


def three_classes() -> attentest.Corpus:
    rows = [(word, n) for n in range(20) for word in ("good", "bad", "plain")]
    texts = [f"a {word} film number {n}, and it was {word} to the end" for word, n in rows]
    return attentest.load({"text": texts, "label": [word for word, _ in rows]}, name="three")


def planted() -> attentest.Corpus:
    return attentest.load("planted", rows=120)


CORPORA: dict[str, Callable[[], attentest.Corpus]] = {
    "planted": planted,
    "three": three_classes,
    "pairs": pair_corpus,
    "dotted": lambda: dotted_corpus(120),
}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {  # corpus, and what differs from the usual model
    **{encoder: ("planted", {"encoder": encoder}) for encoder in ("bilstm", "cnn", "average", "none", "transformer")},
    "sparse": ("planted", {"projection": "sparsemax", "alignment": "scaled-dot"}),
    "even": ("planted", {"encoder": "average", "projection": "uniform"}),
    "mean": ("planted", {"encoder": "average", "decoder": "context+mean"}),
    "several classes": ("three", {"encoder": "average"}),
    "pair": ("pairs", {"decoder": "context"}),
    "pair with query": ("pairs", {"decoder": "context+query"}),
    "hierarchical": ("dotted", {"structure": "hierarchical"}),
}
AFFINE = [kind for kind in KINDS if kind not in ("pair with query", "hierarchical")]


@cache
def run_of(kind: str) -> attentest.Run:
    corpus, changes = KINDS[kind]
    return attentest.train(CORPORA[corpus](), **{**TINY, **changes})
