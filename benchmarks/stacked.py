"""Several seeds of one model trained at once, in one stack, against the same trainings one after the other.

The stack runs the recurrences of all seeds in both directions as one batched product a step, multiplies each distinct
word of a batch with the input weights once, and has one optimiser for all dense parameters. It trains the same models:
its weights are compared with those of single trainings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from attentest.models import Classifier, ModelSettings
from attentest.models.encoders import BiLSTM, take, turned_places
from attentest.models.protocol import Encoded
from attentest.text import TokenizedCorpus
from attentest.text.batches import Batch, training_batches
from attentest.text.vocabulary import PAD
from attentest.training.fit import training_step
from attentest.training.objectives import Labels
from attentest.training.optimizer import PaperOptimizer, RowAdam
from benchmarks.row import Row, fair_clock, seconds
from benchmarks.training import BATCH, HIDDEN, Work, made_up

LR, DECAY = 1e-3, 1e-5
SEEDS = 4  # a worker's share of eight
STEPS_COMPARED = 20  # after which the weights of both are compared


def seeds(dimension: int, target: float | None) -> list[Row]:
    data = made_up(Work("training-seeds", rows=2400, mean=19, longest=50, epochs=1, target=0, tilt=4.0))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as a worker has
    singly, stacked = (_models(data, dimension) for _ in range(2))
    apart = _how_far_apart(data, singly, stacked)
    one_by_one = [PaperOptimizer(model, LR, LR, DECAY) for model in singly]
    stack = Stack(stacked)
    ours, theirs, batches, clock = [], [], [], fair_clock(1, 1)
    for epoch in range(5):
        batches.append(seconds(lambda: _only_batches(data, epoch), clock))  # noqa: B023
        ours.append(seconds(lambda: stack.epoch(data, epoch), clock))  # noqa: B023
        theirs.append(seconds(lambda: _epochs(singly, one_by_one, data, epoch), clock))  # noqa: B023
    torch.set_num_threads(threads)
    said = (
        f"an epoch of {len(data.of_split('train')):,} texts for {SEEDS} seeds on one core, d {dimension}; the weights "
        f"are at most {apart:.1e} apart after {STEPS_COMPARED} steps; making the batches, which could be done "
        f"meanwhile, takes {100 * median(batches) / median(theirs):.1f} % of the single trainings' time"
    )
    name = f"training-seeds-{dimension}"
    return [Row(name, said, median(ours), median(theirs), median(theirs) / median(ours), target)]


def _models(data: TokenizedCorpus, dimension: int) -> list[Classifier]:
    made = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        vectors = 0.1 * torch.randn(len(data.vocabulary), dimension)
        made.append(Classifier(ModelSettings(hidden=HIDDEN), vectors, 2).train())
    return made


def _epochs(
    models: Sequence[Classifier], optimizers: Sequence[PaperOptimizer], data: TokenizedCorpus, epoch: int,
    most: int | None = None,
) -> None:  # fmt: skip
    for seed, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
        for batch in islice(_batches(data, seed, epoch), most):
            training_step(model, optimizer, batch, Labels(torch.ones(2)))


def _only_batches(data: TokenizedCorpus, epoch: int) -> None:
    for seed in range(SEEDS):
        for _ in _batches(data, seed, epoch):
            pass


def _batches(data: TokenizedCorpus, seed: int, epoch: int) -> Any:
    return training_batches(data, data.of_split("train"), BATCH, np.random.default_rng([seed, epoch]))


def _how_far_apart(data: TokenizedCorpus, singly: Sequence[Classifier], stacked: Sequence[Classifier]) -> float:
    optimizers = [PaperOptimizer(model, LR, LR, DECAY) for model in singly]
    _epochs(singly, optimizers, data, 0, STEPS_COMPARED)
    Stack(stacked).epoch(data, 0, STEPS_COMPARED)
    pairs = [
        (mine.detach(), theirs.detach())
        for one, other in zip(singly, stacked, strict=True)
        for mine, theirs in zip(one.parameters(), other.parameters(), strict=True)
    ]
    return max(float((mine - theirs).abs().max()) for mine, theirs in pairs)


@dataclass(frozen=True)
class Words:
    """A batch's distinct words: their vectors, and where in the batch each stands, forwards and turned round."""

    ids: Tensor
    vectors: Tensor
    places: tuple[Tensor, Tensor]


class Stack:
    def __init__(self, models: Sequence[Classifier]) -> None:
        self.models = models
        self.rows = [RowAdam([model.embedding.weight], LR, DECAY) for model in models]
        named = [pair for model in models for pair in model.named_parameters()]
        attention = [p for name, p in named if name.startswith("alignment.")]
        rest = [p for name, p in named if not name.startswith(("alignment.", "embedding."))]
        groups = [{"params": rest, "weight_decay": DECAY}, {"params": attention, "weight_decay": 0.0}]
        self.dense = torch.optim.Adam(groups, lr=LR, amsgrad=True, fused=True)
        self.double = torch.ones(4 * HIDDEN)  # tanh(x) = 2σ(2x) − 1: the cell's own gate is doubled
        self.double[2 * HIDDEN : 3 * HIDDEN] = 2

    def epoch(self, data: TokenizedCorpus, epoch: int, most: int | None = None) -> None:
        orders = [_batches(data, seed, epoch) for seed in range(len(self.models))]
        for batches in islice(zip(*orders, strict=True), most):
            self.step(batches)

    def step(self, batches: Sequence[Batch]) -> None:
        self.dense.zero_grad()
        # the longest first: those still running at a step are the first ones
        order = sorted(range(len(batches)), key=lambda seed: -batches[seed].ids.shape[1])
        words = {seed: _words(self.models[seed], batches[seed]) for seed in order}
        states = self._states([(self.models[seed], batches[seed], words[seed]) for seed in order])
        loss = torch.zeros(())
        for place, seed in enumerate(order):
            batch, model = batches[seed], self.models[seed]
            length = batch.ids.shape[1]
            ahead, back = (states[:length, 2 * place + way, : len(batch)].transpose(0, 1) for way in (0, 1))
            hidden = torch.cat((ahead, take(back, turned_places(batch.mask))), -1)
            encoded = Encoded(hidden, batch.mask)
            logits = model.decode(encoded, model.attend(encoded))
            assert batch.labels is not None
            loss = loss + F.cross_entropy(logits, batch.labels, reduction="sum")
        loss.backward()
        self.dense.step()
        with torch.no_grad():
            for seed, found in words.items():
                rows = self.rows[seed]
                rows.steps += 1
                assert found.vectors.grad is not None
                real = found.ids != PAD  # padding stays 0
                rows._update_rows(rows.parameters[0], found.ids[real], found.vectors.grad[real], rows.moments[0])

    def _states(self, given: Sequence[tuple[Classifier, Batch, Words]]) -> Tensor:
        """Of every step, training and direction, for all texts: steps × 2 seeds × batch × hidden."""
        lengths = [batch.ids.shape[1] for _, batch, _ in given for _ in (0, 1)]
        most = max(len(batch) for _, batch, _ in given)
        products, recurrent = [], []
        for model, _, words in given:
            assert isinstance(model.encoder, BiLSTM)
            for rnn, places in zip((model.encoder.forwards, model.encoder.backwards), words.places, strict=True):
                own: dict[str, Tensor] = dict(rnn.named_parameters())
                bias = (own["bias_ih_l0"] + own["bias_hh_l0"]) * self.double
                of_words = F.linear(words.vectors, own["weight_ih_l0"] * self.double[:, None], bias)
                texts = F.embedding(places, of_words)
                missing = (0, 0, 0, most - texts.shape[1], 0, lengths[0] - texts.shape[0])
                products.append(F.pad(texts, missing))
                recurrent.append((own["weight_hh_l0"] * self.double[:, None]).T)
        running = [sum(length > step for length in lengths) for step in range(lengths[0])]
        return side_by_side(torch.stack(products, 1), torch.stack(recurrent), running)


def _words(model: Classifier, batch: Batch) -> Words:
    ids, places = batch.ids.unique(return_inverse=True)
    vectors = model.embedding.weight.detach()[ids].requires_grad_()
    turned = places.gather(1, turned_places(batch.mask))
    return Words(ids, vectors, (places.T.contiguous(), turned.T.contiguous()))


def side_by_side(products: Tensor, recurrent: Tensor, running: list[int]) -> Tensor:
    """The states of LSTMs of which `running` are left at each step."""
    states: Tensor = Recurrence.apply(products, recurrent, running)  # type: ignore[no-untyped-call]
    return states


class Recurrence(torch.autograd.Function):
    """LSTMs side by side, from the products of their inputs: steps × LSTMs × batch × 4 hidden, gates i, f, g, o."""

    @staticmethod
    def forward(ctx: Any, products: Tensor, recurrent: Tensor, running: list[int]) -> Tensor:
        steps, lstms, batch, width = products.shape
        size, gates = width // 4, products.clone()
        cells, squashed, states = (products.new_zeros(steps, lstms, batch, size) for _ in range(3))
        for step, n in enumerate(running):
            now = gates[step, :n]
            if step:
                now.baddbmm_(states[step - 1, :n], recurrent[:n])
            now.sigmoid_()
            i, f, g, o = now.split(size, -1)
            g.mul_(2).sub_(1)
            cell = torch.mul(i, g, out=cells[step, :n])
            if step:
                cell.addcmul_(f, cells[step - 1, :n])
            tanh = torch.mul(cell, 2, out=squashed[step, :n]).sigmoid_().mul_(2).sub_(1)
            torch.mul(o, tanh, out=states[step, :n])
        ctx.save_for_backward(gates, cells, squashed, states, recurrent)
        ctx.running = running
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        gates, cells, squashed, states, recurrent = ctx.saved_tensors
        steps, lstms, batch, width = gates.shape
        size, back, (grad,) = width // 4, recurrent.transpose(1, 2), grads
        found = torch.zeros_like(gates)
        by_state, by_cell = (gates.new_zeros(lstms, batch, size) for _ in range(2))
        for step in reversed(range(steps)):
            n = ctx.running[step]
            i, f, g, o = gates[step, :n].split(size, -1)
            to_i, to_f, to_g, to_o = found[step, :n].split(size, -1)
            tanh, state, cell = squashed[step, :n], by_state[:n], by_cell[:n]
            state += grad[step, :n]
            through = state * o
            cell += through - through * tanh * tanh
            torch.mul(state * tanh * o, 1 - o, out=to_o)
            torch.mul(cell * g * i, 1 - i, out=to_i)
            torch.mul(cell * i, (1 - g * g) / 2, out=to_g)  # of the doubled product
            if step:
                torch.mul(cell * cells[step - 1, :n] * f, 1 - f, out=to_f)
                cell *= f
                torch.bmm(found[step, :n], back[:n], out=state)
        before = F.pad(states[:-1], (0, 0, 0, 0, 0, 0, 1, 0)).transpose(0, 1).reshape(lstms, -1, size)
        weights = before.transpose(1, 2) @ found.transpose(0, 1).reshape(lstms, -1, width)
        return found, weights, None
