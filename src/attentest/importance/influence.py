"""Influence of every token on every hidden state (Meister et al. 2021 eq. 5), for T12: does h_i stand for x_i?"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.importance.differentiation import constants, differentiable, leaf
from attentest.importance.lstm_gradients import Slopes, gate_slopes, input_gates, plain_bilstm
from attentest.models.encoders import BiLSTM, take, turned_places
from attentest.models.protocol import EmbeddingModel
from attentest.parallel import over_cores
from attentest.text.batches import Batch

Influence = Float[Tensor, "batch tokens tokens"]
Mask = Bool[Tensor, "batch tokens"]
States = Float[Tensor, "batch tokens hidden"]

# states × texts taken through a BiLSTM together: enough for full matrix products, few enough for the cache
PAIRS = 1024


def influence(model: EmbeddingModel, batch: Batch) -> Influence:
    """Entry [p, i] is ‖∂‖h_p‖₂/∂x^e_i‖₂ (Meister et al. 2021 eq. 5 before it is normalised over i); 0 on padding."""
    encoder = plain_bilstm(model)
    if encoder is None:
        return influence_by_autograd(model, batch)
    with torch.no_grad():
        embedded = model.embed(batch.ids)
        found = embedded.new_zeros((*batch.mask.shape, batch.mask.shape[1]))

        def walk(places: Int[Tensor, group]) -> None:
            longest = int(batch.mask[places[0]].sum())
            found[places, :longest, :longest] = _through_bilstm(
                encoder, embedded[places, :longest], batch.mask[places, :longest]
            )

        over_cores(walk, _groups(batch.mask.sum(1)))
    return found


def influence_by_autograd(model: EmbeddingModel, batch: Batch) -> Influence:
    """The same for any model: one pass back from each hidden state, all texts of the batch together."""
    with differentiable():
        embedded, still = leaf(model.embed(batch.ids)), constants(batch)
        mask = still.mask
        sizes = torch.linalg.vector_norm(model.encode_embedded(embedded, still).hidden, 2, -1)
        sizes = sizes.masked_fill(~mask, 0)
        found = embedded.new_zeros((*mask.shape, mask.shape[1]))
        for p, size in enumerate(sizes.sum(0)):
            (gradient,) = torch.autograd.grad(size, embedded, retain_graph=True)
            found[:, p] = torch.linalg.vector_norm(gradient, 2, -1)
    return found.masked_fill(~(mask.unsqueeze(1) & mask.unsqueeze(2)), 0).detach()


def _groups(lengths: Int[Tensor, batch]) -> Iterator[Int[Tensor, group]]:
    """Places of texts, longest first, in groups of at most `PAIRS` states or of a single text."""
    order = lengths.argsort(descending=True, stable=True)
    start = 0
    while start < len(order):
        size = max(1, PAIRS // max(1, int(lengths[order[start]])))
        yield order[start : start + size]
        start += size


def _through_bilstm(encoder: BiLSTM, embedded: States, mask: Mask) -> Influence:
    """All states of texts sorted by length, longest first, in one walk back through each direction.

    Tokens before p reach h_p through the forward LSTM alone, tokens after it through the backward one, and token p
    through both, so there the two gradients are added before the norm is taken.
    """
    lengths = mask.sum(1)
    turned = turned_places(mask)
    hidden = encoder(embedded, mask)
    size = torch.linalg.vector_norm(hidden, 2, -1, keepdim=True)
    ahead, back = hidden.chunk(2, -1)
    # a state of zeros moves nothing, as in autograd
    unit_ahead, unit_back = (hidden / size.where(size > 0, 1)).chunk(2, -1)
    # what an LSTM reads last its walk meets first: the forward one in turned order, the other in the order of the text
    before, own_ahead = _walk(encoder.forwards, embedded, ahead, unit_ahead, turned, lengths)
    read, back, unit_back = (take(values, turned) for values in (embedded, back, unit_back))
    after, own_back = _walk(encoder.backwards, read, back, unit_back, turned, lengths)
    texts = torch.arange(len(mask), device=mask.device)[:, None, None]
    found = before[texts, turned[:, :, None], turned[:, None, :]] + after
    by_ahead = take(own_ahead, turned) @ encoder.forwards.all_weights[0][0]
    by_back = own_back @ encoder.backwards.all_weights[0][0]
    found.diagonal(dim1=1, dim2=2).copy_(torch.linalg.vector_norm(by_ahead + by_back, 2, -1))
    return found * (mask.unsqueeze(1) & mask.unsqueeze(2))


def _walk(
    lstm: nn.LSTM,
    embedded: Float[Tensor, "batch tokens dimension"],
    states: States,
    units: States,
    turned: Int[Tensor, "batch tokens"],
    lengths: Int[Tensor, batch],
) -> tuple[Influence, Float[Tensor, "batch tokens gates"]]:
    """From the last token read to the first, with the adjoints of all states passed so far side by side.

    Gives, in the order walked, the norm of every state's gradient by each token read before its own, and the
    adjoint of the gates at its own. All texts start at their own end, so step s has s + 1 states of each text that
    is longer than s, and nothing is done on padding.
    """
    gates = input_gates(lstm, embedded.transpose(0, 1).contiguous())
    slopes = gate_slopes(lstm, gates, states.transpose(0, 1).contiguous())
    places = turned.T, torch.arange(len(turned), device=turned.device)
    slopes = Slopes(slopes.gates[places], slopes.cell[places], slopes.keep[places])
    units = take(units, turned).transpose(0, 1).contiguous()
    steps, texts, size = units.shape
    from_input, from_state = lstm.all_weights[0][:2]
    norms = units.new_zeros((steps, steps, texts))
    own = units.new_zeros((steps, texts, 4 * size))
    state = cell = units.new_zeros((0, texts, size))
    first = 0  # states walked before this one are felt no more
    for s, longer in enumerate((lengths.unsqueeze(1) > torch.arange(steps, device=lengths.device)).sum(0).tolist()):
        if s % 8 == 0:
            faded = _faded(state, cell)
            state, cell, first = state[faded:], cell[faded:], first + faded
        slope = slopes.gates[s, :longer]
        state = torch.cat((state[:, :longer], units[s : s + 1, :longer]))
        cell = torch.cat((cell[:, :longer], torch.zeros_like(state[:1])))
        cell.addcmul_(state, slopes.cell[s, :longer])
        gates = state.new_empty((len(state), longer, 4, size))
        torch.mul(cell.unsqueeze(2), slope[:, :3], out=gates[:, :, :3])
        torch.mul(state, slope[:, 3], out=gates[:, :, 3])
        pairs = gates.view(-1, 4 * size)
        own[s, :longer] = pairs[-longer:]
        reached = torch.linalg.vector_norm(pairs[:-longer] @ from_input, 2, -1)
        norms[s, first:s, :longer] = reached.view(-1, longer)
        state = (pairs @ from_state).view(state.shape)
        cell = cell.mul_(slopes.keep[s, :longer])
    return norms.permute(2, 1, 0), own.transpose(0, 1)


def _faded(state: Float[Tensor, "states batch hidden"], cell: Float[Tensor, "states batch hidden"]) -> int:
    """How many of the first states have adjoints so small that their squares are lost in a norm (1e-16 in float32).

    Gradients fade with distance, and numbers below the normal range would be many times slower, too.
    """
    if not len(state):
        return 0
    largest = state.abs().amax((1, 2)).maximum(cell.abs().amax((1, 2)))
    felt = (largest >= 1e3 * torch.finfo(state.dtype).tiny ** 0.5).nonzero()
    return int(felt[0]) if len(felt) else len(state)
