"""A network run from one of its layers on, with the states below kept from one run of the whole.

Stand-ins for the lower layers hand back what was kept, while the network's own forward makes masks, rotary angles and
position biases, and runs norms, pooling and head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attentest.models.pretrained.architectures import close, logits_of, pretrained_parts
from attentest.models.pretrained.replaced import Sites


def stacks(network: nn.Module) -> list[nn.ModuleList]:
    """The outermost lists of layers with attention: one in an encoder, two in an encoder with a decoder."""
    found: dict[str, nn.ModuleList] = {}
    for name, module in pretrained_parts(network)[0].named_modules():
        inner = any(name.startswith(f"{outer}.") for outer in found)
        if isinstance(module, nn.ModuleList) and not inner and all(_attends(layer) for layer in module):
            found[name] = module
    return list(found.values())


def _attends(layer: nn.Module) -> bool:
    return any("Attention" in type(module).__name__ for module in layer.modules())


@contextmanager
def keeping(stack: nn.ModuleList) -> Iterator[list[Any]]:
    """Within, a run of the network fills the list with each layer's whole output (T5's has its position biases)."""
    kept: list[Any] = [None] * len(stack)

    def keep(layer: int) -> Any:
        def hook(_layer: nn.Module, _inputs: Any, output: Any) -> None:
            kept[layer] = output

        return hook

    with ExitStack() as undo:
        for number, layer in enumerate(stack):
            undo.callback(layer.register_forward_hook(keep(number)).remove)
        yield kept


@contextmanager
def from_layer(
    stack: nn.ModuleList, first: int, kept: list[Any], texts: Int[Tensor, "rows"] | None = None
) -> Iterator[None]:
    """Within, the layers below the first do not run: they give what was kept.

    `texts` are, for each row of the new batch, the number of its text in the batch that was kept [the same batch].
    """
    own = list(stack[:first])
    output = kept[first - 1]  # of no layer, if the first is 0
    if texts is not None:
        output = chosen(output, texts)
    try:
        for number, layer in enumerate(own):
            stack._modules[str(number)] = StandIn(layer, output)
        yield
    finally:
        for number, layer in enumerate(own):
            stack._modules[str(number)] = layer


class StandIn(nn.Module):
    """Gives what was kept; all else is the layer's own (networks ask layers for the kind of their attention)."""

    def __init__(self, layer: nn.Module, output: Any) -> None:
        super().__init__()
        self.__dict__["layer"] = layer  # not a submodule, whose weights would appear twice
        self.output = output

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["layer"], name)

    def forward(self, *_inputs: Any, **_options: Any) -> Any:
        return self.output


def chosen(output: Any, texts: Int[Tensor, "rows"]) -> Any:
    """A layer's output for these texts of its batch; parts that are the same for all texts stay."""
    batch = states_of(output).shape[0]

    def choose(part: Any) -> Any:
        return part.index_select(0, texts) if isinstance(part, Tensor) and part.shape[0] == batch else part

    return type(output)(map(choose, output)) if isinstance(output, tuple) else choose(output)


def states_of(output: Any) -> Tensor:
    """The hidden states in what a layer gives."""
    states: Tensor = output[0] if isinstance(output, tuple) else output
    return states


def reusable(network: nn.Module, inputs: Mapping[str, Tensor], sites: Sites) -> nn.ModuleList | None:
    """The network's stack of layers, if running it from any of them is exact on these texts; else None.

    ALBERT has one layer for all, Funnel pools between layers, XLNet has its batch on the second axis.
    """
    found = stacks(network)
    if len(found) != 1 or len(found[0]) != len(sites.names):
        return None
    (stack,) = found
    if len({*inputs["input_ids"].shape}) == 1:  # as many texts as tokens: no telling the axes apart
        inputs = {name: torch.cat((values, values[:1])) for name, values in inputs.items()}
    with torch.no_grad(), keeping(stack) as kept:
        whole = logits_of(network(**inputs))
    if any(output is None or states_of(output).shape[:2] != inputs["input_ids"].shape for output in kept):
        return None
    twice = torch.arange(len(whole), device=whole.device).repeat_interleave(2)
    repeated = {name: values.index_select(0, twice) for name, values in inputs.items()}
    for first in range(1, len(stack)):
        with torch.no_grad(), from_layer(stack, first, kept, twice):
            logits = logits_of(network(**repeated))
        if not close(logits, whole.index_select(0, twice)):
            return None
    return stack
