"""Influence of every token on every hidden state (ME eq. 5), for T12: does h_i stand for x_i?"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.importance.gradients import EmbeddingModel, constant, differentiable, leaf
from attentest.models.encoders import BiLSTM
from attentest.text.batches import Batch

Influence = Float[Tensor, "batch tokens tokens"]
Mask = Bool[Tensor, "batch tokens"]
States = Float[Tensor, "batch tokens hidden"]

# states × texts taken through a BiLSTM together: enough for full matrix products, few enough for the cache
PAIRS = 1024


def influence(model: EmbeddingModel, batch: Batch) -> Influence:
    """Entry [p, i] is ‖∂‖h_p‖₂/∂x^e_i‖₂ (ME eq. 5 before it is normalised over i); 0 on padding."""
    encoder = getattr(model, "encoder", None)
    if not isinstance(encoder, BiLSTM):
        return influence_by_autograd(model, batch)
    with torch.no_grad():
        embedded = model.embed(batch.ids)
        found = embedded.new_zeros((*batch.mask.shape, batch.mask.shape[1]))
        for places in _groups(batch.mask.sum(1)):
            longest = int(batch.mask[places[0]].sum())
            found[places, :longest, :longest] = _through_bilstm(
                encoder, embedded[places, :longest], batch.mask[places, :longest]
            )
    return found


def influence_by_autograd(model: EmbeddingModel, batch: Batch) -> Influence:
    """The same for any model: one pass back from each hidden state, all texts of the batch together."""
    with differentiable():
        embedded, mask = leaf(model.embed(batch.ids)), constant(batch.mask)
        sizes = torch.linalg.vector_norm(model.encode_embedded(embedded, mask, constant(batch.preset)).hidden, 2, -1)
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
    step = torch.arange(mask.shape[1], device=mask.device)
    turned = torch.where(mask, lengths.unsqueeze(1) - 1 - step, step)
    hidden = encoder(embedded, mask)
    size = torch.linalg.vector_norm(hidden, 2, -1, keepdim=True)
    ahead, back = hidden.chunk(2, -1)
    # a state of zeros moves nothing, as in autograd
    unit_ahead, unit_back = (hidden / size.where(size > 0, 1)).chunk(2, -1)
    # what an LSTM reads last its walk meets first: the forward one in turned order, the other in the order of the text
    before, own_ahead = _walk(
        encoder.forwards, _gate_slopes(encoder.forwards, embedded, ahead), unit_ahead, turned, lengths
    )
    reading = _gate_slopes(encoder.backwards, _take(embedded, turned), _take(back, turned))
    after, own_back = _walk(encoder.backwards, reading, _take(unit_back, turned), turned, lengths)
    texts = torch.arange(len(mask), device=mask.device)[:, None, None]
    found = before[texts, turned[:, :, None], turned[:, None, :]] + after
    by_ahead = _take(own_ahead, turned) @ encoder.forwards.all_weights[0][0]
    by_back = own_back @ encoder.backwards.all_weights[0][0]
    found.diagonal(dim1=1, dim2=2).copy_(torch.linalg.vector_norm(by_ahead + by_back, 2, -1))
    return found * (mask.unsqueeze(1) & mask.unsqueeze(2))


def _gate_slopes(lstm: nn.LSTM, read: States, states: States) -> Float[Tensor, "batch tokens 6 hidden"]:
    """∂cell/∂ gates i, f, g before their nonlinearity, ∂state/∂ gate o, ∂state/∂cell and ∂cell/∂ the cell before it.

    The states are known, so all gates come from one matrix product, and only the cells need a loop.
    """
    earlier = nn.functional.pad(states, (0, 0, 1, -1))
    from_input, from_state, *biases = lstm.all_weights[0]
    gates = read @ from_input.T + earlier @ from_state.T + sum(biases)
    i, f, g, o = gates.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new = i * g
    cells = [torch.zeros_like(new[:, 0])]
    for t in range(new.shape[1]):
        cells.append(torch.addcmul(new[:, t], f[:, t], cells[-1]))
    cell, earlier_cell = torch.stack(cells[1:], 1).tanh(), torch.stack(cells[:-1], 1)
    return torch.stack(
        (g * i * (1 - i), earlier_cell * f * (1 - f), i * (1 - g * g), cell * o * (1 - o), o * (1 - cell * cell), f), 2
    )


def _walk(
    lstm: nn.LSTM,
    slopes: Float[Tensor, "batch tokens 6 hidden"],
    units: States,
    turned: Int[Tensor, "batch tokens"],
    lengths: Int[Tensor, batch],
) -> tuple[Influence, Float[Tensor, "batch tokens gates"]]:
    """From the last token read to the first, with the adjoints of all states passed so far side by side.

    Gives, in the order walked, the norm of every state's gradient by each token read before its own, and the
    adjoint of the gates at its own. All texts start at their own end, so step s has s + 1 states of each text that
    is longer than s, and nothing is done on padding.
    """
    slopes = _take(slopes, turned).transpose(0, 1).contiguous()
    units = _take(units, turned).transpose(0, 1).contiguous()
    steps, texts, _, size = slopes.shape
    from_input, from_state = lstm.all_weights[0][:2]
    norms = units.new_zeros((steps, steps, texts))
    own = units.new_zeros((steps, texts, 4 * size))
    state = cell = units.new_zeros((0, texts, size))
    first = 0  # states walked before this one are felt no more
    for s, longer in enumerate((lengths.unsqueeze(1) > torch.arange(steps, device=lengths.device)).sum(0).tolist()):
        if s % 8 == 0:
            faded = _faded(state, cell)
            state, cell, first = state[faded:], cell[faded:], first + faded
        slope = slopes[s, :longer]
        state = torch.cat((state[:, :longer], units[s : s + 1, :longer]))
        cell = torch.cat((cell[:, :longer], torch.zeros_like(state[:1])))
        cell.addcmul_(state, slope[:, 4])
        gates = state.new_empty((len(state), longer, 4, size))
        torch.mul(cell.unsqueeze(2), slope[:, :3], out=gates[:, :, :3])
        torch.mul(state, slope[:, 3], out=gates[:, :, 3])
        pairs = gates.view(-1, 4 * size)
        own[s, :longer] = pairs[-longer:]
        reached = torch.linalg.vector_norm(pairs[:-longer] @ from_input, 2, -1)
        norms[s, first:s, :longer] = reached.view(-1, longer)
        state = (pairs @ from_state).view(state.shape)
        cell = cell.mul_(slope[:, 5])
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


def _take(values: Float[Tensor, "batch tokens *rest"], places: Int[Tensor, "batch tokens"]) -> Tensor:
    return values[torch.arange(len(values), device=values.device)[:, None], places]
