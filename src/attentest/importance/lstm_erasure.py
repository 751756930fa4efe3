"""Leave-one-out of a BiLSTM classifier that runs again only what the removal of a token changes.

Without token i only the forward states after it and the backward states before it change. Each removal starts from
the state next to its token and moves away from it, all removals together a step at a time, until the text ends or
the state is again what it was. Of a changed state only what it adds to its token's score and logits is kept; what
the token's other direction adds is as it was, since no token has both of its states changed.
"""

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
CHECKED_EVERY = 4  # steps between two looks at which states are again what they were
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


def removed_from_bilstm(model: Classifier, batch: Batch, tolerance: float) -> Float[Tensor, "batch tokens classes"]:
    """The probabilities without each token, of texts in order of length that have at least two; 0 on padding."""
    lengths = batch.mask.sum(1)
    # a text's states start from zero at either end: the empty place before it and the one before the next text
    at = (batch.mask.cumsum(1) + ((lengths + 1).cumsum(0) - lengths - 1).unsqueeze(1)) * batch.mask
    directions = _directions(model, batch, at)
    readings = _readings(model, *directions)
    everywhere = torch.arange(len(directions[0].hidden), device=at.device)
    intact_scores, intact_logits = readings[0](directions[0].hidden, everywhere)
    found = intact_logits.new_zeros(*at.shape, len(model.bias()))
    texts, places = batch.mask.nonzero(as_tuple=True)
    for text, place in zip(texts.split(ROWS), places.split(ROWS), strict=True):
        scores, logits = intact_scores[at[text]], intact_logits[at[text]]
        ahead = lengths[text] - 1 - place
        for direction, reading, left in zip(directions, readings, (ahead, place), strict=True):
            _run_again(direction, reading, at[text, place], place, left, scores, logits, tolerance)
        kept = batch.mask[text].scatter(1, place.unsqueeze(1), False)
        preset = None if batch.preset is None else renormalised(batch.preset[text], kept)
        weights = model.projection(scores, kept, preset=preset).to(logits.dtype)
        context = (weights.unsqueeze(1) @ logits).squeeze(1)
        # a single logit stands against 0, as in the model itself
        context = nn.functional.pad(context, (found.shape[-1] - context.shape[-1], 0))
        found[text, place] = (context + model.bias()).softmax(-1)
    return found


def renormalised(
    weights: Float[Tensor, "rows tokens"], kept: Bool[Tensor, "rows tokens"]
) -> Float[Tensor, "rows tokens"]:
    """Given weights on what is kept of a text; the same on every token where none of the weight is left."""
    left = weights * kept
    total = left.sum(-1, keepdim=True)
    return torch.where(total > 0, left / total, kept / kept.sum(-1, keepdim=True)).to(weights.dtype)


def _run_again(
    direction: Direction,
    reading: Reading,
    at: Rows,
    place: Rows,
    left: Rows,  # how many tokens follow in this direction
    scores: Float[Tensor, "rows width"],
    logits: Float[Tensor, "rows width classes"],
    tolerance: float,
) -> None:
    """Overwrite the scores and logits that change when a token is gone, the one `at` a place of all texts' and at
    `place` in its own."""
    width = scores.shape[1]
    scores, logits = scores.view(-1), logits.view(-1, logits.shape[-1])
    left, order = left.sort(descending=True)
    at, to = at[order], order * width + place[order]
    before = at - direction.step
    hidden, cell = direction.hidden.index_select(0, before), direction.cell.index_select(0, before)
    gates = direction.inputs.new_empty(len(at), direction.inputs.shape[1])
    going, step = _still_going(left), 0
    while (step := step + 1) < len(going):
        count = going[step]  # the first ones, for they are sorted
        left, hidden, cell, gates = left[:count], hidden[:count], cell[:count], gates[:count]
        at, to = at[:count] + direction.step, to[:count] + direction.step
        torch.index_select(direction.inputs, 0, direction.words.index_select(0, at), out=gates)
        _advance(gates, hidden, cell, direction.recurrent)
        scores[to], logits[to] = reading(hidden, at)
        if step % CHECKED_EVERY == 0:
            same = _within(tolerance, hidden, direction.hidden, at) & _within(tolerance, cell, direction.cell, at)
            apart = (~same).nonzero().squeeze(1)
            if len(apart) <= (1 - WORTH_DROPPING) * count:
                left, at, to, hidden, cell = (values.index_select(0, apart) for values in (left, at, to, hidden, cell))
                going = _still_going(left)


def _still_going(left: Rows) -> list[int]:
    """How many have at least 0, 1, 2 … tokens ahead."""
    return [] if len(left) == 0 else left.bincount().flip(0).cumsum(0).flip(0).tolist()


def _within(tolerance: float, states: States, intact: Float[Tensor, "places hidden"], at: Rows) -> Bool[Tensor, rows]:
    return intact.index_select(0, at).sub_(states).abs_().amax(1) <= tolerance


def _advance(
    gates: Float[Tensor, "rows gates"], hidden: States, cell: States, recurrent: Float[Tensor, "hidden gates"]
) -> None:
    """One step of an LSTM, in place, from what the inputs add to its gates: new memory costs as much as the sums."""
    enter, keep, candidate, leave = gates.addmm_(hidden, recurrent).sigmoid_().chunk(4, 1)
    cell.mul_(keep).addcmul_(enter, candidate, value=2).sub_(enter)  # tanh(x) = 2σ(2x) − 1
    torch.tanh(cell, out=hidden).mul_(leave)


def _directions(model: Classifier, batch: Batch, at: Int[Tensor, "batch tokens"]) -> list[Direction]:
    encoder: BiLSTM = model.encoder  # type: ignore[assignment]
    # a word that comes often is projected once
    ids, word = batch.ids.unique(return_inverse=True)
    embedded = model.embed(ids.unsqueeze(0))[0]
    words = word.new_zeros(int(at.max()) + 2)
    words[at] = word
    lstms = (encoder.forwards, 1), (encoder.backwards, -1)
    return [_run(lstm, embedded, words, batch.mask, at, step) for lstm, step in lstms]


def _run(
    lstm: nn.LSTM,
    embedded: Float[Tensor, "words dimension"],
    words: Int[Tensor, places],
    mask: Bool[Tensor, "batch tokens"],
    at: Int[Tensor, "batch tokens"],
    step: int,
) -> Direction:
    """The states of every token, 0 at empty places; the candidate's gate is doubled for `_advance`."""
    scale = embedded.new_tensor([1, 1, 2, 1]).repeat_interleave(lstm.hidden_size)
    of_inputs, of_states, *biases = lstm.all_weights[0]
    recurrent = (of_states.T * scale).contiguous()
    inputs = nn.functional.linear(embedded, of_inputs * scale.unsqueeze(1), (biases[0] + biases[1]) * scale)
    direction = Direction(step, recurrent, inputs, words, *embedded.new_zeros(2, len(words), lstm.hidden_size))
    hidden, cell = direction.hidden, direction.cell
    going = _still_going(mask.sum(1))
    for place in range(mask.shape[1])[::step]:
        now = at[len(mask) - going[place + 1] :, place]  # the last ones are the longest
        gates = inputs.index_select(0, words[now])
        states = hidden.index_select(0, now - step), cell.index_select(0, now - step)
        _advance(gates, *states, recurrent)
        hidden[now], cell[now] = states
    return direction


def _readings(model: Classifier, ahead: Direction, back: Direction) -> tuple[Reading, Reading]:
    first, bias, finish = _first_layer(model)
    inner_ahead, inner_back = (half.contiguous() for half in first.T.chunk(2))
    logits_ahead, logits_back = (half.contiguous() for half in model.decoder.weight.T.chunk(2))
    return (
        Reading(inner_ahead, logits_ahead, back.hidden @ inner_back + bias, back.hidden @ logits_back, finish),
        Reading(inner_back, logits_back, ahead.hidden @ inner_ahead + bias, ahead.hidden @ logits_ahead, finish),
    )


def _first_layer(model: Classifier) -> tuple[Float[Tensor, "inner size"], Tensor | float, Finish]:
    """The affine map an alignment starts with, whose two halves can be added up, and what follows it."""
    alignment, size = model.alignment, model.decoder.in_features
    like = model.decoder.weight
    if not model.projection.needs_scores:
        return like.new_zeros(0, size), 0.0, lambda inner: inner.sum(-1)
    if isinstance(alignment, Additive):
        return alignment.inner.weight, alignment.inner.bias, lambda z: z.tanh_() @ alignment.outer.weight[0]
    if isinstance(alignment, Deep):
        first, rest = alignment.inner[0], alignment.inner[1:]
        return first.weight, first.bias, lambda z: alignment.outer(rest(z)).squeeze(-1)  # type: ignore[return-value]
    if isinstance(alignment, Dot):
        return alignment.outer.weight / alignment.divisor, 0.0, lambda z: z.squeeze(-1)
    return torch.eye(size, dtype=like.dtype, device=like.device), 0.0, lambda hidden: alignment(hidden.unsqueeze(0))[0]
