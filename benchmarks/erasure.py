"""Leave-one-out of a trained BiLSTM + additive against a twin that runs it again for each position.

The twin records a graph for gradients, as Jain & Wallace's code does; what it takes without one is said beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from attentest.importance.erasure import removed_probabilities
from attentest.text.batches import Batch, inference_batches, make_batch
from benchmarks.row import Row, fair_clock
from benchmarks.scene import Scene, in_turns, row, scene, with_threads
from benchmarks.training import BATCH, Twin

Removed = list[tuple[Batch, Tensor]]  # batches, and the probability of the second class without each token


def leave_one_out(name: str) -> list[Row]:
    at = scene(name)
    model = at.twin
    ours, twin = in_turns(
        lambda: list(fast(at, at.few)),
        lambda: list(again(model, at, at.few)),
        lambda: list(again(model, at, at.few[:BATCH], most=3)),
    )
    wanted: Removed = []
    with torch.no_grad():
        clock = fair_clock(ours.threads, twin.threads)
        without_graph = with_threads(twin.threads, partial(_extend, wanted, again(model, at, at.few)), clock)
    said = (
        f"every token removed; probabilities differ by at most {deviation(list(fast(at, at.few)), wanted):.0e}; twin "
        f"without a graph for gradients: ratio {without_graph / ours.seconds:.1f}"
    )
    return [row("leave-one-out", at, said, ours, twin, 5 if name == "sst" else 15, few_of_ours=True)]


def fast(at: Scene, rows: np.ndarray) -> Iterator[tuple[Batch, Tensor]]:
    for batch in inference_batches(at.data, rows):
        yield batch, removed_probabilities(at.model, batch)[..., 1]


def again(model: Twin, at: Scene, rows: np.ndarray, most: int | None = None) -> Iterator[tuple[Batch, Tensor]]:
    """The same, with the whole model on the padded batch for each position."""
    order = rows[np.argsort(at.data.sequences.lengths[rows], kind="stable")]
    for start in range(0, len(order), BATCH):
        batch = make_batch(at.data, order[start : start + BATCH])
        found = torch.zeros(batch.mask.shape)
        for position in range(batch.mask.shape[1])[:most]:
            ids, mask = (torch.cat((x[:, :position], x[:, position + 1 :]), 1) for x in (batch.ids, batch.mask))
            found[:, position] = model.logits(ids, mask).sigmoid().detach()
        yield batch, found * batch.mask


def deviation(found: Removed, wanted: Removed) -> float:
    """The largest difference of a probability."""
    tables = [
        {int(r): p[m] for b, ps in side for r, p, m in zip(b.rows, ps, b.mask, strict=True)} for side in (found, wanted)
    ]
    return max(float((tables[0][name] - tables[1][name]).abs().max()) for name in tables[1])


def _extend(found: Removed, more: Iterator[tuple[Batch, Tensor]]) -> None:
    found.extend(more)
