"""Leave-one-out of a BiLSTM classifier that runs again only what the removal of a token changes.

Without token i only the forward states after it and the backward states before it change. Each removal starts from
the state next to its token and moves away from it, all removals together a step at a time, until the text ends or
nothing that matters changes any more. Of a changed state only what it adds to its token's score and logits is kept;
what the token's other direction adds is as it was, since no token has both of its states changed.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attentest.importance.lstm_replay import (
    CHECKED_EVERY,
    ROWS,
    WORTH_DROPPING,
    Direction,
    Reading,
    Rows,
    States,
    advance,
    make_directions,
    make_readings,
    still_going,
)
from attentest.importance.lstm_sums import removals
from attentest.models.classifier import Classifier
from attentest.parallel import over_cores
from attentest.text.batches import Batch

LONG = 64  # tokens: in shorter texts the walk back costs more than the steps it saves


def removed_from_bilstm(model: Classifier, batch: Batch, tolerance: float) -> Float[Tensor, "batch tokens classes"]:
    """The probabilities without each token, of texts in order of length that have at least two; 0 on padding."""
    lengths = batch.mask.sum(1)
    # a text's states start from zero at either end: the empty place before it and the one before the next text
    at = (batch.mask.cumsum(1) + ((lengths + 1).cumsum(0) - lengths - 1).unsqueeze(1)) * batch.mask
    directions = make_directions(model, batch, at)
    readings = make_readings(model, *directions)
    everywhere = torch.arange(len(directions[0].hidden), device=at.device)
    intact_scores, intact_logits = readings[0](directions[0].hidden, everywhere)
    found = intact_logits.new_zeros(*at.shape, len(model.bias()))
    texts, places = batch.mask.nonzero(as_tuple=True)
    sums = None
    if model.projection.name == "softmax" and tolerance > 0 and at.shape[1] >= LONG:
        sums = removals(model, batch, at, directions, readings, intact_scores, intact_logits, tolerance)

    def from_states(text: Rows, place: Rows) -> Tensor:
        scores, logits = intact_scores[at[text]], intact_logits[at[text]]
        ahead = lengths[text] - 1 - place
        for direction, reading, left in zip(directions, readings, (ahead, place), strict=True):
            _run_again(direction, reading, at[text, place], place, left, scores, logits, tolerance)
        kept = batch.mask[text].scatter(1, place.unsqueeze(1), False)
        preset = None if batch.preset is None else renormalised(batch.preset[text], kept)
        weights = model.projection(scores, kept, preset=preset).to(logits.dtype)
        return (weights.unsqueeze(1) @ logits).squeeze(1)

    def without(piece: tuple[Rows, Rows]) -> None:
        text, place = piece
        if sums is None:
            context = from_states(text, place)
        else:
            context, enough = sums.context(text, place, at[text, place], lengths)
            if not enough.all():
                context[~enough] = from_states(text[~enough], place[~enough])
        # a single logit stands against 0, as in the model itself
        context = nn.functional.pad(context, (found.shape[-1] - context.shape[-1], 0))
        found[text, place] = (context + model.bias()).softmax(-1)

    over_cores(without, zip(texts.split(ROWS), places.split(ROWS), strict=True))
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
    going, step = still_going(left), 0
    while (step := step + 1) < len(going):
        count = going[step]  # the first ones, for they are sorted
        left, hidden, cell, gates = left[:count], hidden[:count], cell[:count], gates[:count]
        at, to = at[:count] + direction.step, to[:count] + direction.step
        torch.index_select(direction.inputs, 0, direction.words.index_select(0, at), out=gates)
        advance(gates, hidden, cell, direction.recurrent)
        scores[to], logits[to] = reading(hidden, at)
        if step % CHECKED_EVERY == 0:
            same = _within(tolerance, hidden, direction.hidden, at) & _within(tolerance, cell, direction.cell, at)
            apart = (~same).nonzero().squeeze(1)
            if len(apart) <= (1 - WORTH_DROPPING) * count:
                left, at, to, hidden, cell = (values.index_select(0, apart) for values in (left, at, to, hidden, cell))
                going = still_going(left)


def _within(tolerance: float, states: States, intact: Float[Tensor, "places hidden"], at: Rows) -> Bool[Tensor, "rows"]:
    return intact.index_select(0, at).sub_(states).abs_().amax(1) <= tolerance
