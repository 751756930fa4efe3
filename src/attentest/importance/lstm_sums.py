"""Leave-one-out of a BiLSTM whose weights are a softmax: the output is a quotient of two sums over tokens.

Without token i the sums Σ e^s and Σ e^s · logit change by what is run again, and by what is left after it, which is
known to first order from one walk back over the intact text. So a removal can stop when its states differ from the
intact ones by no more than the root of the tolerance: what is neglected is of the size of the square.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.importance.differentiation import differentiable, leaf
from attentest.importance.lstm_gradients import Slopes, gate_slopes, input_gates
from attentest.importance.lstm_replay import (
    CHECKED_EVERY,
    WORTH_DROPPING,
    Direction,
    Reading,
    Rows,
    States,
    advance,
    lstms,
    still_going,
)
from attentest.importance.sums import sums_without_each
from attentest.models.classifier import Classifier
from attentest.models.encoders import take, turned_places
from attentest.text.batches import Batch

Sums = Float[Tensor, "rows sums"]
LEAST_LEFT = 0.05  # of Σ e^s


@dataclass(frozen=True)
class Later:
    """What a small change of a state does to the sums over all tokens read after it: Σ e^s and Σ e^s · logits."""

    by_hidden: Float[Tensor, "places sums hidden"]
    by_cell: Float[Tensor, "places sums hidden"]

    def __call__(self, hidden: States, cell: States, at: Rows) -> Float[Tensor, "rows sums"]:
        by_hidden = self.by_hidden.index_select(0, at) @ hidden.unsqueeze(2)
        return by_hidden.add_(self.by_cell.index_select(0, at) @ cell.unsqueeze(2)).squeeze(2)


@dataclass(frozen=True)
class Removals:
    """What is needed to find the sums without a token."""

    directions: list[Direction]
    readings: list[Reading]
    later: list[Later]
    own: Float[Tensor, "places sums"]  # what each intact token adds to the sums
    others: Float[Tensor, "places sums"]  # what all other tokens of its text add
    shift: Float[Tensor, "batch"]  # of the scores, so that no exponential overflows
    tolerance: float

    def context(
        self, text: Rows, place: Rows, at: Rows, lengths: Rows
    ) -> tuple[Float[Tensor, "rows classes"], Bool[Tensor, "rows"]]:
        """The logits, without the bias, of texts that lack the token at a place of theirs, and whether to trust them.

        Where little is left of Σ e^s, what was neglected is not small beside it.
        """
        sums = self.others[at].clone()
        for direction, reading, later, left in zip(
            self.directions, self.readings, self.later, (lengths[text] - 1 - place, place), strict=True
        ):
            sums += self._changes(direction, reading, later, at, left, text)
        enough = (sums[:, 0] >= LEAST_LEFT * (self.own[at, 0] + self.others[at, 0])) & sums.isfinite().all(1)
        return sums[:, 1:] / sums[:, :1], enough

    def _changes(self, direction: Direction, reading: Reading, later: Later, at: Rows, left: Rows, text: Rows) -> Sums:
        """How the sums over the tokens that follow in this direction change."""
        found = self.own.new_zeros(len(at), self.own.shape[1])
        left, row = left.sort(descending=True)
        at, shift = at[row], self.shift[text[row]]
        before = at - direction.step
        hidden, cell = direction.hidden.index_select(0, before), direction.cell.index_select(0, before)
        gates = direction.inputs.new_empty(len(at), direction.inputs.shape[1])
        change = torch.zeros_like(found)
        going, step = still_going(left), 0
        while (step := step + 1) < len(going):
            count = going[step]  # the first ones, for they are sorted
            if count < len(at):
                found[row[count:]] = change[count:]
            left, hidden, cell, gates, row, shift, change = (
                values[:count] for values in (left, hidden, cell, gates, row, shift, change)
            )
            at = at[:count] + direction.step
            torch.index_select(direction.inputs, 0, direction.words.index_select(0, at), out=gates)
            advance(gates, hidden, cell, direction.recurrent)
            scores, logits = reading(hidden, at)
            share = scores.sub_(shift).exp_().unsqueeze(1)
            change -= self.own.index_select(0, at)
            change[:, :1] += share
            change[:, 1:] += logits.mul_(share)
            if step % CHECKED_EVERY == 0:
                of_hidden = hidden - direction.hidden.index_select(0, at)
                of_cell = cell - direction.cell.index_select(0, at)
                apart = of_hidden.abs().amax(1).maximum(of_cell.abs().amax(1)) > self.tolerance**0.5
                going_on, gone = apart.nonzero().squeeze(1), (~apart).nonzero().squeeze(1)
                if len(gone) >= WORTH_DROPPING * count:
                    found[row[gone]] = change[gone] + later(of_hidden[gone], of_cell[gone], at[gone])
                    left, at, hidden, cell, row, shift, change = (
                        values.index_select(0, going_on) for values in (left, at, hidden, cell, row, shift, change)
                    )
                    going = still_going(left)
        found[row] = change
        return found


def removals(
    model: Classifier,
    batch: Batch,
    at: Int[Tensor, "batch tokens"],
    directions: list[Direction],
    readings: list[Reading],
    scores: Float[Tensor, "places"],
    logits: Float[Tensor, "places classes"],
    tolerance: float,
) -> Removals:
    """`scores` and `logits` are those of the intact tokens."""
    shift = scores[at].masked_fill(~batch.mask, -torch.inf).amax(1)
    share = (scores[at] - shift.unsqueeze(1)).exp() * batch.mask
    sums = share.unsqueeze(2) * torch.cat((torch.ones_like(logits[:, :1]), logits), 1)[at]
    own, others = sums.new_zeros(2, len(scores), sums.shape[2])
    own[at[batch.mask]] = sums[batch.mask]
    others[at[batch.mask]] = sums_without_each(sums)[batch.mask]
    later = list(_later(model, batch, at, directions, logits, share))
    return Removals(directions, readings, later, own, others, shift, tolerance)


def _later(
    model: Classifier,
    batch: Batch,
    at: Int[Tensor, "batch tokens"],
    directions: list[Direction],
    logits: Float[Tensor, "places classes"],
    share: Float[Tensor, "batch tokens"],
) -> Iterator[Later]:
    """For each direction; `share` is e^score, and logits those of the intact tokens."""
    states = torch.cat([direction.hidden[at] for direction in directions], -1)
    with differentiable():
        given = leaf(states)
        (slope,) = torch.autograd.grad(model.alignment(given).sum(), given)
    # ∂/∂h of e^s and of e^s · logit, a token's own
    weight = model.decoder.weight.expand(*at.shape, -1, -1)
    own = torch.cat((slope.unsqueeze(2), logits[at].unsqueeze(3) * slope.unsqueeze(2) + weight), 2)
    own = own * share[:, :, None, None]
    turned = turned_places(batch.mask)
    embedded = model.embed(batch.ids)
    for direction, half, lstm in zip(directions, own.chunk(2, -1), lstms(model), strict=True):
        order = turned if direction.step < 0 else torch.arange(at.shape[1], device=at.device).expand_as(at)
        gates, states = (
            take(x, order).transpose(0, 1).contiguous() for x in (input_gates(lstm, embedded), direction.hidden[at])
        )
        slopes = gate_slopes(lstm, gates, states)
        yield _walk_back(lstm, slopes, take(half, order), take(at, order), len(direction.hidden))


def _walk_back(
    lstm: nn.LSTM,
    slopes: Slopes,
    own: Float[Tensor, "batch tokens sums hidden"],
    at: Int[Tensor, "batch tokens"],
    places: int,
) -> Later:
    """From the last token read to the first, keeping what reaches each state from the tokens after it."""
    texts, tokens, sums, size = own.shape
    found = Later(*own.new_zeros(2, places, sums, size))
    state, cell = own.new_zeros(2, texts, sums, size)
    from_state = lstm.all_weights[0][1]
    for t in range(tokens - 1, -1, -1):
        slope = slopes.gates[t].unsqueeze(1)
        found.by_hidden[at[:, t]], found.by_cell[at[:, t]] = state, cell
        state = state + own[:, t]
        cell = cell + state * slopes.cell[t].unsqueeze(1)
        gates = torch.cat(
            (cell.unsqueeze(3) * slope[:, :, :3].transpose(2, 3), (state * slope[:, :, 3]).unsqueeze(3)), 3
        )
        state = (gates.transpose(2, 3).reshape(-1, 4 * size) @ from_state).view(texts, sums, size)
        cell = cell * slopes.keep[t].unsqueeze(1)
    return found
