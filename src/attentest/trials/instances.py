"""Single texts under the model's own weights, shuffled ones, and the furthest that give the same prediction: heat maps
as in Jain & Wallace 2019, Fig. 1, and Wiegreffe & Pinter 2019, Fig. 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.interventions import permuted, sums_within
from attentest.text.items import Items, merged, merged_marks
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.base import works_of
from attentest.trials.rationale import marks_of
from attentest.trials.reading import Reading, readings
from attentest.trials.subject import Subject
from attentest.trials.work import tokens_at_once

ORIGINAL, PERMUTED, ADVERSARIAL, TRAINED = "original", "permuted", "adversarial", "trained adversary"
HEAT_MAPS = "heat-maps"  # the folder that they lie in
SHOWN = 48  # texts, a random sample

SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "text": pa.string(),
        "second": pa.string(),
        "label": pa.string(),
        "variant": pa.string(),
        "predicted": pa.string(),
        "probability": pa.float64(),
        "tvd": pa.float64(),
        "jsd": pa.float64(),
        "start": pa.list_(pa.int32()),
        "end": pa.list_(pa.int32()),
        "weight": pa.list_(pa.float32()),
        "rationale": pa.list_(pa.int8()),
        "in_second": pa.int32(),
    }
)


@torch.no_grad()
def instances(subject: Subject, texts: int = SHOWN, seed: int = 0, *, search: bool = True) -> pa.Table:
    """A row for each variant of each text of a sample, with the places of its words (or sentences, if these are
    weighed); the last `in_second` of them are in the second text of a pair. Without `search` there is no adversary."""
    chosen = np.sort(np.random.default_rng(seed).permutation(subject.rows)[:texts])
    adversary = InstanceAdversary(seed=seed).examiner(subject) if search else None
    marks, sequences = marks_of(subject)
    rows: list[dict[str, Any]] = []
    some = replace(subject, rows=chosen)
    at_once = tokens_at_once(some, works_of([adversary] if adversary else [], some))
    for reading in readings(subject.model, subject.data, chosen, subject.device, at_once, subject.site):
        found = _variants(reading, adversary, seed)
        for place, row in enumerate(reading.rows):
            items = _items(subject, int(row))
            reason = marks[sequences.offsets[row] : sequences.offsets[row + 1]]
            about = _about(subject, int(row)) | shown_words(items, reason.tolist() if reason.any() else None)
            for name, (weights, shown) in found.items():
                seen = _seen(subject, reading, weights, shown, place, len(items.words))
                weight = merged(seen["weight"], items.words).tolist()
                rows.append({**about, "variant": name, **seen, "weight": weight})
    order = {id: place for place, id in enumerate(subject.ids(chosen))}
    return pa.Table.from_pylist(sorted(rows, key=lambda row: order[row["id"]]), SCHEMA)


Weights = Float[Tensor, "batch tokens"]


def _variants(reading: Reading, adversary: InstanceAdversary | None, seed: int) -> dict[str, tuple[Tensor, Weights]]:
    """Weights as the model takes them, and as shares of the whole text's attention, by name."""
    shuffled = permuted(reading.weights, reading.mask, reading.rows, seed, reading.within)
    found = {ORIGINAL: reading.weights, PERMUTED: shuffled}
    found |= {ADVERSARIAL: adversary.furthest(reading).weights} if adversary else {}
    if reading.row_shares is not None:
        counted = reading.row_shares.unsqueeze(-1)
        shown = {name: reading.over_rows(weights * counted) for name, weights in found.items()}
        return {name: (weights, shown[name]) for name, weights in found.items()} | {
            ORIGINAL: (reading.weights, reading.attention)
        }
    # words within sentences: as much as their sentence has under the model's own weights
    factor = sums_within(reading.shares, reading.within) if reading.shares is not None else None
    return {name: (weights, weights if factor is None else weights * factor) for name, weights in found.items()}


def _seen(
    subject: Subject, reading: Reading, weights: Tensor, shown: Weights, place: int, length: int
) -> dict[str, Any]:
    one = torch.tensor([place], device=weights.device)
    variant = weights[place : place + 1].unsqueeze(1)
    output = reading.decode(variant, one)[0, 0].softmax(-1)
    best = int(output.argmax())
    return {
        "predicted": subject.classes[best],
        "probability": float(output[best]),
        "tvd": float(reading.moved(variant, one)[0, 0]),
        "jsd": float(reading.apart(weights.unsqueeze(1), reading.weights.unsqueeze(1))[place, 0]),
        "weight": shown[place, :length].tolist(),
    }


def _about(subject: Subject, row: int) -> dict[str, Any]:
    data = subject.data
    stored = data.corpus.table.slice(int(data.rows[row]), 1).to_pylist()[0]
    return {
        "id": data.ids(np.array([row]))[0],
        "text": stored["text"],
        "second": stored.get("second"),
        "label": subject.classes[int(data.labels[row])],
    }


def shown_words(items: Items, rationale: Sequence[int] | None) -> dict[str, Any]:
    """The columns of a row that say where its words are."""
    spans = items.word_spans
    return {
        "start": [start for start, _ in spans],
        "end": [end for _, end in spans],
        "rationale": rationale and [int(marked) for marked in merged_marks(rationale, items.words)],
        "in_second": items.words_in_second,
    }


def _items(subject: Subject, row: int) -> Items:
    data = subject.data
    (items,) = data.items(np.array([row]))
    if subject.items == "tokens":
        return items
    assert data.sentences is not None
    begin, end = data.sequences.offsets[row : row + 2]
    spans = spans_of_sentences(items.spans, data.sentences[begin:end])
    numbers = np.arange(len(spans))
    return Items([data.text(row)[a:b] for a, b in spans], spans, np.zeros_like(numbers), numbers)


def spans_of_sentences(spans: Sequence[tuple[int, int]], numbers: np.ndarray) -> list[tuple[int, int]]:
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    last = np.append(first[1:], len(numbers)) - 1
    return [(spans[a][0], spans[b][1]) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
