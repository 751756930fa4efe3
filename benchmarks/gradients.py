"""Gradients by inputs and influence on hidden states of BiLSTM + additive, against twins like the papers' code."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.importance.gradients import input_gradients
from attentest.importance.influence import influence
from attentest.models import Classifier
from attentest.text.batches import inference_batches, make_batch
from attentest.trials.reading import Reading
from benchmarks.row import Row, fair_clock
from benchmarks.scene import Scene, in_turns, row, scene, with_threads
from benchmarks.training import BATCH, Twin

Scores = dict[int, np.ndarray]  # one array a text


def by_inputs(name: str) -> list[Row]:
    at = scene(name)
    ours, twin = partial(our_inputs, at.read(at.few)), partial(twin_inputs, at.twin, at, at.few)
    said = (
        f"‖∂f/∂x‖ of every token, in batches of {BATCH} for the twin; {_apart(ours(), twin())} (the twin's 1 − f has "
        "few digits where f is near 1)"
    )
    target = 1.3 if name == "sst" else 3.0
    return [row("input-gradients", at, said, *in_turns(ours, twin), target, few_of_ours=True)]


def on_states(name: str) -> list[Row]:
    """Every pair of tokens is work enough for a sample on either side."""
    at = scene(name)
    some = at.few[:: max(1, len(at.few) // (64 if name == "sst" else 8))]
    ours, twin = partial(our_influence, at, some), partial(twin_influence, at.twin, at, some)
    said = (
        f"∂‖h_p‖/∂x_i of all p and i; {_apart(ours(), twin())}; both on {len(some)} texts, mean "
        f"{at.tokens(some) / len(some):.0f} tokens, not scaled"
    )
    mine, with_denormals = in_turns(ours, twin, partial(twin_influence, at.twin, at, some[:2]))
    torch.set_flush_denormal(True)
    flushed = with_threads(with_denormals.threads, twin, fair_clock(mine.threads, with_denormals.threads))
    torch.set_flush_denormal(False)
    target = 5.0 if name == "sst" else 8.0
    said += f"; twin with denormal numbers flushed to 0: ratio {flushed / mine.seconds:.1f}; threads "
    said += f"{mine.threads}, twin {with_denormals.threads}"
    ratio = with_denormals.seconds / mine.seconds
    return [Row(f"influence-{name}", said, mine.seconds, with_denormals.seconds, ratio, target)]


def our_inputs(kept: list[Reading]) -> Scores:
    """From texts that are encoded already, as in a trial."""
    found: Scores = {}
    for reading in kept:
        model = cast(Classifier, reading.model)
        _put(found, reading.rows, input_gradients(model, reading.batch, encoded=reading.encoded).l2, reading.mask)
    return found


def twin_inputs(twin: Twin, at: Scene, rows: np.ndarray) -> Scores:
    """The sigmoid output, summed over the batch, back to the output of the embedding."""
    found: Scores = {}
    embedded: list[Tensor] = []
    hook = twin.embedding.register_forward_hook(lambda _module, _given, output: embedded.append(output))
    order = rows[np.argsort(at.data.sequences.lengths[rows], kind="stable")]
    for start in range(0, len(order), BATCH):
        batch = make_batch(at.data, order[start : start + BATCH])
        output = twin.logits(batch.ids, batch.mask).sigmoid().sum()
        (gradient,) = torch.autograd.grad(output, embedded.pop())
        _put(found, batch.rows, gradient.norm(dim=-1), batch.mask)
    hook.remove()
    return found


def our_influence(at: Scene, rows: np.ndarray) -> Scores:
    found: Scores = {}
    for batch in inference_batches(at.data, rows):
        for name, matrix, length in zip(
            batch.rows, influence(at.model, batch), batch.mask.sum(1).tolist(), strict=True
        ):
            found[int(name)] = matrix[:length, :length].numpy()
    return found


def twin_influence(twin: Twin, at: Scene, rows: np.ndarray) -> Scores:
    """One text at a time, one hidden state at a time."""
    found: Scores = {}
    for name in rows:
        batch = make_batch(at.data, np.array([name]))
        embedded = twin.embedding(batch.ids)
        packed = pack_padded_sequence(embedded, batch.mask.sum(1), batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(twin.lstm(packed)[0], batch_first=True)
        gradients = [torch.autograd.grad(h.norm(), embedded, retain_graph=True)[0][0] for h in hidden[0]]
        found[int(name)] = torch.stack([gradient.norm(dim=-1) for gradient in gradients]).numpy()
    return found


def _put(found: Scores, rows: np.ndarray, scores: Tensor, mask: Tensor) -> None:
    for name, score, length in zip(rows, scores.numpy(), mask.sum(1).tolist(), strict=True):
        found[int(name)] = score[:length]


def _apart(ours: Scores, twin: Scores) -> str:
    apart = max(np.abs(ours[name] - twin[name]).max() / twin[name].max() for name in twin)
    return f"largest difference {apart:.0e} of a text's largest"
