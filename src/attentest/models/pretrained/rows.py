"""The row of weights of the token whose last state decides, in the last layer: alone, and in many variants.

All else being position-wise, nothing but this token need run there: the network's own forward runs on texts of length
1, with the token's state below the last layer kept from one run of the layers below, and attention gives weights times
values kept from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.pretrained.architectures import close, logits_of, route_of
from attentest.models.pretrained.layers import from_layer, keeping, states_of
from attentest.models.pretrained.replaced import (
    Allowed,
    Contexts,
    Sites,
    Values,
    Weights,
    replaced,
    stopping,
    visited,
)

Decision = Literal["first", "last"]


@dataclass(frozen=True)
class Row:
    """The deciding token of each text at the last layer."""

    values: Float[Tensor, "batch heads keys size"]  # of all tokens
    below: Float[Tensor, "batch 1 width"]
    inputs: Mapping[str, Int[Tensor, "batch 1"]]


@dataclass(frozen=True)
class ReadRow(Row):
    """And its own weights."""

    weights: Float[Tensor, "batch heads keys"]
    allowed: Bool[Tensor, "batch heads keys"]


def decision_token(network: nn.Module, inputs: Mapping[str, Tensor], sites: Sites) -> Decision | None:
    """The token whose row of the last site alone moves the logits: each text's first, its last, or no single one."""
    moves, mask = _moving_rows(network, inputs, sites), inputs["attention_mask"]
    if moves.shape != mask.shape:
        return None
    for decision in ("first", "last"):
        if _are_alone(moves, deciding_places(decision, mask)):
            return decision
    return None


def skips_padding(network: nn.Module, inputs: Mapping[str, Tensor], sites: Sites) -> bool:
    """Whether a head that reads the last token looks for it by its id, so that it reads an earlier one of a text that
    ends in the id of padding; inputs without padding do not tell."""
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    padding = ids[mask == 0]
    if not len(padding):
        return False
    last = deciding_places("last", mask).unsqueeze(1)
    ended = {**inputs, "input_ids": ids.scatter(1, last, int(padding[0]))}
    return _are_alone(_moving_rows(network, ended, sites), deciding_places("last", mask.scatter(1, last, 0)))


def _moving_rows(network: nn.Module, inputs: Mapping[str, Tensor], sites: Sites) -> Bool[Tensor, "batch queries"]:
    """Whose weights at the last site move the logits."""
    leaves: list[Tensor] = []

    def make_leaf(_site: str, weights: Tensor, _allowed: Tensor) -> Tensor:
        leaves.append(weights.detach().requires_grad_())
        return leaves[0]

    with torch.enable_grad():  # whatever the caller does
        with replaced(network, make_leaf, [sites.names[-1]]):
            logits = logits_of(network(**inputs))
        classes = torch.arange(1.0, logits.shape[1] + 1, device=logits.device)  # none of them may cancel another
        (slopes,) = torch.autograd.grad((logits * classes).sum(), leaves)
    return (slopes != 0).any(dim=3).any(dim=1)


def _are_alone(moves: Bool[Tensor, "batch queries"], places: Int[Tensor, "batch"]) -> bool:
    every = torch.arange(moves.shape[1], device=moves.device)
    return torch.equal(moves, every == places.unsqueeze(1))


def deciding_places(decision: Decision, mask: Int[Tensor, "batch tokens"]) -> Int[Tensor, "batch"]:
    """Where the deciding token of each text stands, whatever the side of the padding."""
    if decision == "first":
        return mask.argmax(dim=1)
    return mask.shape[1] - 1 - mask.flip(1).argmax(dim=1)


def read_row(
    network: nn.Module, stack: nn.ModuleList, inputs: Mapping[str, Tensor], places: Int[Tensor, "batch"]
) -> ReadRow:
    """The deciding tokens' row and state, of a run that ends at the attention of the last layer."""
    found: dict[str, Tensor] = {}
    texts = torch.arange(len(places), device=places.device)

    def record(_site: str, weights: Weights, allowed: Allowed, values: Values | None) -> None:
        assert values is not None  # the route of dropout has no rows; see `runs_on_rows`
        found.update(weights=weights[:, :, 0], allowed=allowed[:, :, 0], values=values)
        raise stop

    last = [f"encoder.{len(stack) - 1}"]
    with stopping() as stop, keeping(stack) as kept, visited(network, record, last, queries=places):
        network(**inputs)
    below = states_of(kept[len(stack) - 2])[texts, places, None]
    short = {name: values[texts, places, None] for name, values in inputs.items()}
    return ReadRow(**found, below=below, inputs=short)


def run_row(
    network: nn.Module, stack: nn.ModuleList, inputs: Mapping[str, Tensor], places: Int[Tensor, "batch"]
) -> tuple[Float[Tensor, "batch classes"], ReadRow]:
    """The network's logits, with nothing but the deciding tokens in its last layer, and their row there."""
    row = read_row(network, stack, inputs, places)
    return decide(network, stack, row, row.weights.unsqueeze(1)).squeeze(1), row


def decide(
    network: nn.Module,
    stack: nn.ModuleList,
    row: Row,
    weights: Float[Tensor, "chosen variants heads first"],
    texts: Int[Tensor, "chosen"] | None = None,
) -> Float[Tensor, "chosen variants classes"]:
    """Logits under other rows of weights, for all texts or those chosen; of the first keys, if the rest have none."""
    chosen, variants, _, first = weights.shape
    texts = torch.arange(len(row.below), device=weights.device) if texts is None else texts
    values = row.values[..., :first, :].index_select(0, texts)
    states = torch.einsum("cvhk,chkd->cvhd", weights.to(values.dtype), values).flatten(0, 1)[:, None]
    rows = texts.repeat_interleave(variants)
    inputs = {name: given.index_select(0, rows) for name, given in row.inputs.items()}
    last = len(stack) - 1
    kept: list[Any] = [None] * (last - 1) + [row.below.index_select(0, rows)]

    def give(_site: str, _weights: Weights, _allowed: Allowed, _values: Values | None) -> Contexts:
        return Contexts(states)

    with from_layer(stack, last, kept), visited(network, give, [f"encoder.{last}"]):
        logits = logits_of(network(**inputs))
    return logits.reshape(chosen, variants, -1)


def runs_on_rows(network: nn.Module, stack: nn.ModuleList, inputs: Mapping[str, Tensor], decision: Decision) -> bool:
    """Whether rows give what the whole network gives: with its own weights, and with uniform ones."""
    if route_of(network) != "interface" or len(stack) < 2:
        return False
    places = deciding_places(decision, inputs["attention_mask"])
    with torch.no_grad():
        own = logits_of(network(**inputs))
        row = read_row(network, stack, inputs, places)
        even = (row.allowed / row.allowed.sum(-1, keepdim=True)).to(row.weights.dtype)

        def change(_site: str, weights: Weights, _allowed: Allowed) -> Weights:
            weights[torch.arange(len(places)), :, places] = even
            return weights

        with replaced(network, change, [f"encoder.{len(stack) - 1}"]):
            whole = logits_of(network(**inputs))
        found = decide(network, stack, row, torch.stack((row.weights, even), dim=1))
    return close(found, torch.stack((own, whole), dim=1))
