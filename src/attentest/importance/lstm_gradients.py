"""Gradients back through a BiLSTM whose states are known: one walk a direction, and no gradients of its parameters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.classifier import Classifier
from attentest.models.encoders import BiLSTM, take, turned_places

Gates = Float[Tensor, "tokens batch gates"]
States = Float[Tensor, "tokens batch hidden"]

# texts walked together: enough for full matrix products, few enough for their gates to stay in the cache
TEXTS = 32


@dataclass(frozen=True)
class Slopes:
    """Of each step of an LSTM's run, in the order it read the tokens."""

    gates: Float[Tensor, "tokens batch 4 hidden"]  # ∂cell/∂ gates i, f, g and ∂state/∂ gate o, before the nonlinearity
    cell: States  # ∂state/∂cell
    keep: States  # ∂cell/∂ the cell before it


def plain_bilstm(model: object) -> BiLSTM | None:
    """The encoder of a plain classifier; a model of another class may do more than its encoder tells."""
    return model.encoder if type(model) is Classifier and type(model.encoder) is BiLSTM else None


def back_through_bilstm(
    encoder: BiLSTM,
    inputs: tuple[Float[Tensor, "words gates"], Float[Tensor, "words gates"]],
    words: Int[Tensor, "batch tokens"],
    mask: Bool[Tensor, "batch tokens"],
    hidden: Float[Tensor, "batch tokens both"],
    by_hidden: Float[Tensor, "batch tokens both"],
) -> Float[Tensor, "batch tokens dimension"]:
    """∂f/∂x from ∂f/∂h, which is 0 on padding; `inputs` are the `input_gates` of either direction for all `words`."""
    turned = turned_places(mask)
    (ahead, back), (by_ahead, by_back) = hidden.chunk(2, -1), by_hidden.chunk(2, -1)
    first = _by_inputs(encoder.forwards, inputs[0], words, ahead, by_ahead)
    second = _by_inputs(encoder.backwards, inputs[1], *(take(x, turned) for x in (words, back, by_back)))
    return first + take(second, turned)


def _by_inputs(
    lstm: nn.LSTM,
    inputs: Float[Tensor, "words gates"],
    words: Int[Tensor, "batch tokens"],
    states: Float[Tensor, "batch tokens hidden"],
    by_state: Float[Tensor, "batch tokens hidden"],
) -> Float[Tensor, "batch tokens dimension"]:
    gates = inputs.index_select(0, words.T.flatten()).view(*words.T.shape, -1)
    slopes = gate_slopes(lstm, gates, states.transpose(0, 1).contiguous())
    by_gates = _walk_back(lstm, slopes, by_state.transpose(0, 1).contiguous())
    return (by_gates @ lstm.all_weights[0][0]).transpose(0, 1)


def _walk_back(lstm: nn.LSTM, slopes: Slopes, by_state: States) -> Gates:
    """From the last token read to the first, in the place of the gates' slopes."""
    gates, from_state = slopes.gates, lstm.all_weights[0][1]
    state, cell = torch.zeros_like(by_state[0]), torch.zeros_like(by_state[0])
    for t in range(len(gates) - 1, -1, -1):
        state.add_(by_state[t])
        cell.addcmul_(state, slopes.cell[t])
        gates[t, :, :3].mul_(cell.unsqueeze(1))
        gates[t, :, 3].mul_(state)
        state = gates[t].flatten(1) @ from_state
        cell.mul_(slopes.keep[t])
    return gates.flatten(2)


def input_gates(lstm: nn.LSTM, embedded: Float[Tensor, "*tokens dimension"]) -> Float[Tensor, "*tokens gates"]:
    """What the inputs and the biases add to the gates i, f, g, o before their nonlinearity."""
    from_input, _, *biases = lstm.all_weights[0]
    return nn.functional.linear(embedded, from_input, biases[0] + biases[1])


def gate_slopes(lstm: nn.LSTM, gates: Gates, states: States) -> Slopes:
    """From the input gates and the states, both in the order read; the gates' memory is used for what is found.

    The states are known, so all gates come from one matrix product, and only the cells need a loop.
    """
    tokens, texts, size = states.shape
    gates[1:].flatten(0, 1).addmm_(states[:-1].flatten(0, 1), lstm.all_weights[0][1].T)
    gates = gates.view(tokens, texts, 4, size)
    gates[:, :, 2].mul_(2)  # tanh(x) = 2σ(2x) − 1, so that one sigmoid, faster than tanh on a CPU, serves all gates
    enter, keep, half, leave = gates.sigmoid_().unbind(2)
    slopes = (1 - gates).mul_(gates)
    candidate = (2 * half).sub_(1)
    cells = enter * candidate
    for t in range(1, tokens):
        cells[t].addcmul_(keep[t], cells[t - 1])
    slopes[:, :, 0].mul_(candidate)
    slopes[0, :, 1] = 0  # no cell came before
    slopes[1:, :, 1].mul_(cells[:-1])
    slopes[:, :, 2].mul_(enter).mul_(4)
    cells = cells.mul_(2).sigmoid_().mul_(2).sub_(1)
    slopes[:, :, 3].mul_(cells)
    return Slopes(slopes, cells.mul_(cells).neg_().add_(1).mul_(leave), keep)
