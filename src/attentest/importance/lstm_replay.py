"""A BiLSTM's run over intact texts, kept so that parts of it can be run again with a token gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.alignments import Additive, Deep, Dot
from attentest.models.classifier import Classifier
from attentest.models.encoders import BiLSTM
from attentest.text.batches import Batch

ROWS = 768  # removals at a time: many enough for a fast matrix product, few enough for their gates to stay in cache
CHECKED_EVERY = 8  # steps between two looks at which removals can stop
WORTH_DROPPING = 1 / 16  # of the rows: dropping them copies the others

Rows = Int[Tensor, "rows"]
States = Float[Tensor, "rows hidden"]
Finish = Callable[[Float[Tensor, "rows inner"]], Float[Tensor, "rows"]]


@dataclass(frozen=True)
class Direction:
    """One LSTM's run over the intact texts: their places on one axis, with an empty one before, between and after."""

    step: int  # 1 forwards, −1 backwards
    recurrent: Float[Tensor, "hidden gates"]
    inputs: Float[Tensor, "words gates"]
    words: Int[Tensor, places]  # the row of `inputs` at each place
    hidden: Float[Tensor, "places hidden"]
    cell: Float[Tensor, "places hidden"]


@dataclass(frozen=True)
class Reading:
    """From one direction's states to their tokens' scores and logits, the other direction's being intact."""

    inner: Float[Tensor, "hidden inner"]  # this half of the alignment's first layer
    logits: Float[Tensor, "hidden classes"]
    other_inner: Float[Tensor, "places inner"]
    other_logits: Float[Tensor, "places classes"]
    finish: Finish  # from the alignment's first layer to its score

    def __call__(self, hidden: States, at: Rows) -> tuple[Float[Tensor, rows], Float[Tensor, "rows classes"]]:
        """The scores and logits of the tokens at these places if these are their states."""
        inner = self.other_inner.index_select(0, at).addmm_(hidden, self.inner)
        return self.finish(inner), self.other_logits.index_select(0, at).addmm_(hidden, self.logits)


def still_going(left: Rows) -> list[int]:
    """How many have at least 0, 1, 2 … tokens ahead."""
    return [] if len(left) == 0 else left.bincount().flip(0).cumsum(0).flip(0).tolist()


def advance(
    gates: Float[Tensor, "rows gates"], hidden: States, cell: States, recurrent: Float[Tensor, "hidden gates"]
) -> None:
    """One step of an LSTM, in place, from what the inputs add to its gates: new memory costs as much as the sums."""
    enter, keep, candidate, leave = gates.addmm_(hidden, recurrent).sigmoid_().chunk(4, 1)
    # tanh(x) = 2σ(2x) − 1, and sigmoid is several times faster than tanh on a CPU
    cell.mul_(keep).addcmul_(enter, candidate, value=2).sub_(enter)
    torch.mul(cell, 2, out=hidden).sigmoid_().mul_(2).sub_(1).mul_(leave)


def make_directions(model: Classifier, batch: Batch, at: Int[Tensor, "batch tokens"]) -> list[Direction]:
    # a word that comes often is projected once
    ids, word = batch.ids.unique(return_inverse=True)
    embedded = model.embed(ids.unsqueeze(0))[0]
    words = word.new_zeros(int(at.max()) + 2)
    words[at] = word
    both = zip(lstms(model), (1, -1), strict=True)
    return [_run(lstm, embedded, words, batch.mask, at, step) for lstm, step in both]


def _run(
    lstm: nn.LSTM,
    embedded: Float[Tensor, "words dimension"],
    words: Int[Tensor, places],
    mask: Bool[Tensor, "batch tokens"],
    at: Int[Tensor, "batch tokens"],
    step: int,
) -> Direction:
    """The states of every token, 0 at empty places; the candidate's gate is doubled for `advance`."""
    scale = embedded.new_tensor([1, 1, 2, 1]).repeat_interleave(lstm.hidden_size)
    of_inputs, of_states, *biases = lstm.all_weights[0]
    recurrent = (of_states.T * scale).contiguous()
    inputs = nn.functional.linear(embedded, of_inputs * scale.unsqueeze(1), (biases[0] + biases[1]) * scale)
    direction = Direction(step, recurrent, inputs, words, *embedded.new_zeros(2, len(words), lstm.hidden_size))
    hidden, cell = direction.hidden, direction.cell
    going = still_going(mask.sum(1))
    for place in range(mask.shape[1])[::step]:
        now = at[len(mask) - going[place + 1] :, place]  # the last ones are the longest
        gates = inputs.index_select(0, words[now])
        states = hidden.index_select(0, now - step), cell.index_select(0, now - step)
        advance(gates, *states, recurrent)
        hidden[now], cell[now] = states
    return direction


def lstms(model: Classifier) -> tuple[nn.LSTM, nn.LSTM]:
    encoder: BiLSTM = model.encoder  # type: ignore[assignment]
    return encoder.forwards, encoder.backwards


def make_readings(model: Classifier, ahead: Direction, back: Direction) -> list[Reading]:
    first, bias, finish = _first_layer(model)
    inner_ahead, inner_back = (half.contiguous() for half in first.T.chunk(2))
    logits_ahead, logits_back = (half.contiguous() for half in model.decoder.weight.T.chunk(2))
    return [
        Reading(inner_ahead, logits_ahead, back.hidden @ inner_back + bias, back.hidden @ logits_back, finish),
        Reading(inner_back, logits_back, ahead.hidden @ inner_ahead + bias, ahead.hidden @ logits_ahead, finish),
    ]


def _first_layer(model: Classifier) -> tuple[Float[Tensor, "inner size"], Tensor | float, Finish]:
    """The affine map an alignment starts with, whose two halves can be added up, and what follows it."""
    alignment, size = model.alignment, model.decoder.in_features
    like = model.decoder.weight
    if not model.projection.needs_scores:
        return like.new_zeros(0, size), 0.0, lambda inner: inner.sum(-1)
    if isinstance(alignment, Additive):
        outer = alignment.outer.weight[0]
        return alignment.inner.weight, alignment.inner.bias, lambda z: z.mul_(2).sigmoid_().mul_(2).sub_(1) @ outer
    if isinstance(alignment, Deep):
        first, rest = alignment.inner[0], alignment.inner[1:]
        return first.weight, first.bias, lambda z: alignment.outer(rest(z)).squeeze(-1)  # type: ignore[return-value]
    if isinstance(alignment, Dot):
        return alignment.outer.weight / alignment.divisor, 0.0, lambda z: z.squeeze(-1)
    return torch.eye(size, dtype=like.dtype, device=like.device), 0.0, lambda hidden: alignment(hidden.unsqueeze(0))[0]
