"""Attention weights of a Hugging Face network, replaced while it runs, without any change to its code.

Where the architecture asks the library for its attention function, one of ours is registered, which calls the model's
own and then replaces the weights; elsewhere a hook replaces what the dropout after the softmax gives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.errors import unknown_name
from attentest.models.pretrained.architectures import pretrained_parts, route_of, unreachable
from attentest.models.pretrained.library import transformers

NAME = "attentest"
ACROSS = ("encoder_attn", "EncDecAttention", "crossattention")  # modules of a decoder that attend to the encoder

Weights = Float[Tensor, "batch heads queries keys"]
Allowed = Bool[Tensor, "batch heads queries keys"]
Values = Float[Tensor, "batch heads keys size"]
Change = Callable[[str, Weights, Allowed], Weights | None]
"""From site, weights and where weight may be: new weights, or None to leave them. Rows of padding may allow nothing."""


@dataclass(frozen=True)
class Contexts:
    """What attention gives, in place of weights to make it of."""

    states: Float[Tensor, "batch queries heads size"]


Visit = Callable[[str, Weights, Allowed, Values | None], Weights | Contexts | None]


@dataclass(frozen=True)
class Sites:
    """The places where a network makes attention weights, in the order in which it reaches them."""

    names: tuple[str, ...]
    heads: Mapping[str, int]


@dataclass(frozen=True)
class Seen:
    """A site in one run of the network; values are None where the architecture keeps them to itself."""

    weights: Weights
    allowed: Allowed
    values: Values | None


class Stop(Exception):  # noqa: N818 (no error)
    """Raised by a change to end the network's run."""


@contextmanager
def stopping() -> Iterator[Stop]:
    """An exception for a change to raise once it has what it wants; ends the block, and no other passes unseen."""
    stop = Stop()
    try:
        yield stop
    except Stop as raised:
        if raised is not stop:
            raise
        stop.__traceback__ = None  # its frames have the states of the run, and this exception: nobody would free them


@contextmanager
def replaced(network: nn.Module, change: Change, sites: Collection[str] | None = None) -> Iterator[None]:
    """Within, every call of the network uses the weights that `change` gives at these sites [all].

    At other sites the network keeps its default implementation. Gradients reach the weights that are given.
    """
    with visited(network, lambda site, weights, allowed, _: change(site, weights, allowed), sites):
        yield


def find_sites(network: nn.Module, inputs: Mapping[str, Tensor]) -> Sites:
    """The sites that a run reaches; a network whose weights cannot be reached is refused."""
    heads: dict[str, int] = {}

    def record(site: str, weights: Weights, _allowed: Allowed) -> None:
        heads[site] = weights.shape[1]

    with torch.no_grad(), replaced(network, record):
        network(**inputs)
    if not heads:  # some architectures take the name of an attention function and ignore it
        raise unreachable(pretrained_parts(network)[0].config.model_type)
    return Sites(tuple(heads), heads)


def look(
    network: nn.Module, inputs: Mapping[str, Tensor], sites: Collection[str], change: Change | None = None
) -> dict[str, Seen]:
    """Weights and values at these sites, of a network whose weights are changed [as it is]; it runs no further than
    the last of them."""
    seen: dict[str, Seen] = {}
    with stopping() as stop:

        def record(site: str, weights: Weights, allowed: Allowed, values: Values | None) -> Weights | None:
            given = None if change is None else change(site, weights, allowed)
            if site in sites:
                seen[site] = Seen(weights if given is None else given, allowed, values)
                if len(seen) == len(sites):
                    raise stop
            return given

        with visited(network, record, sites if change is None else None):
            network(**inputs)
    return seen


@contextmanager
def visited(
    network: nn.Module,
    visit: Visit,
    sites: Collection[str] | None = None,
    queries: Int[Tensor, "batch"] | None = None,
) -> Iterator[None]:
    """As `replaced`, for a function that also gets the values, and may give contexts (not by the route of dropout).

    With `queries`, one place in each text, the sites compute the weights of these queries alone, and the function has
    to end the run (`stopping`): the network cannot go on with one state a text.
    """
    if _current.get() is not None:
        raise RuntimeError("Attention weights are being replaced already; one change at a time.")
    route = route_of(network)
    run = _Run(network, visit, sites, queries)
    with ExitStack() as undo:
        undo.callback(_current.reset, _current.set(run))
        undo.callback(network.register_forward_pre_hook(lambda *_: run.numbers.clear()).remove)
        if route == "interface":
            undo.enter_context(_implementation(network, run))
        else:
            for module, dropout in _dropouts(network, run):
                undo.callback(dropout.register_forward_hook(_replacing(run, module)).remove)
        yield
        for site in sites or ():
            if run.reached and site not in run.reached:  # or nothing would have changed, unnoticed
                raise unknown_name("site", site, run.reached)


class _Run:
    def __init__(self, network: nn.Module, visit: Visit, sites: Collection[str] | None, queries: Tensor | None) -> None:
        self.visit = visit
        self.sites = sites
        self.queries = queries
        parts = pretrained_parts(network)
        inwards = (named for part in reversed(parts) for named in part.named_modules())  # the outermost names last
        self.names = {id(module): name for name, module in inwards}
        self.numbers: dict[str, int] = {}  # of the site reached last, by kind
        self.reached: set[str] = set()
        self.pairs = any(part.config.is_encoder_decoder for part in parts)
        self.implementations: dict[int, str | None] = {}  # by config, as they were before

    def site(self, module: nn.Module) -> str:
        """Kind and layer. A module that is called once for each layer (ALBERT) is at the next one every time."""
        path = self.names[id(module)].split(".")
        kind = "encoder"
        if self.pairs and "decoder" in path:
            kind = "across" if any(name in path for name in ACROSS) else "decoder"
        layer = next((int(name) for name in path if name.isdigit()), 0)
        self.numbers[kind] = max(layer, self.numbers.get(kind, -1) + 1)
        site = f"{kind}.{self.numbers[kind]}"
        self.reached.add(site)
        return site

    def changes(self, site: str) -> bool:
        return self.sites is None or site in self.sites


_current: ContextVar[_Run | None] = ContextVar("run", default=None)


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor | None]:
    """What the library calls for each attention module while weights are replaced."""
    run = _current.get()
    attend = _defined_near(module, "eager_attention_forward")
    if run is None or id(module) not in run.names:  # another network that shares the config
        return attend(module, query, key, value, attention_mask, **options)  # type: ignore[no-any-return]
    site = run.site(module)
    if not run.changes(site):
        if run.implementations[id(module.config)] == "sdpa":
            attend = _defined_near(module, "ALL_ATTENTION_FUNCTIONS").get_interface("sdpa", attend)
        return attend(module, query, key, value, attention_mask, **options)  # type: ignore[no-any-return]
    if run.queries is not None:
        query = _row(query, run.queries)
        attention_mask = None if attention_mask is None else _row(attention_mask, run.queries)
    out, weights = attend(module, query, key, value, attention_mask, **options)
    value = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)  # heads may share their values
    new = run.visit(site, weights, _allowed(weights, attention_mask), value)
    if new is None:
        return out, weights
    if isinstance(new, Contexts):
        return new.states, weights
    return (new.to(value.dtype) @ value).transpose(1, 2).contiguous(), new


transformers.AttentionInterface.register(NAME, _attention)
# without this there is no mask: padding and order are lost, silently
transformers.AttentionMaskInterface.register(NAME, transformers.masking_utils.eager_mask)


def _row(of_queries: Tensor, queries: Int[Tensor, "batch"]) -> Tensor:
    """What the third axis has for one query of each text; a mask may be the same for all texts."""
    every = of_queries.expand(len(queries), *of_queries.shape[1:])
    return every[torch.arange(len(queries), device=queries.device), :, queries].unsqueeze(2)


def _allowed(weights: Weights, mask: Tensor | None) -> Allowed:
    if mask is None:
        return torch.ones_like(weights, dtype=torch.bool)
    open_ = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    return open_[..., : weights.shape[-1]].expand_as(weights)


def _defined_near(module: nn.Module, name: str) -> Any:
    """A name from the file of the module's class: its eager attention knows its soft caps, sinks and biases."""
    for kind in type(module).__mro__:
        if found := getattr(sys.modules[kind.__module__], name, None):
            return found
    raise unreachable(type(module).__name__)


@contextmanager
def _implementation(network: nn.Module, run: _Run) -> Iterator[None]:
    """Our attention function in every config: layers may have another object than the model that they are in."""
    found = (getattr(module, "config", None) for module in network.modules())
    configs = {id(config): config for config in found if isinstance(config, transformers.PreTrainedConfig)}
    run.implementations = {key: config._attn_implementation_internal for key, config in configs.items()}
    try:
        for config in configs.values():
            config._attn_implementation_internal = NAME
        yield
    finally:
        for key, config in configs.items():
            config._attn_implementation_internal = run.implementations[key]


def _dropouts(network: nn.Module, run: _Run) -> Iterator[tuple[nn.Module, nn.Dropout]]:
    for module in network.modules():
        if "Attention" in type(module).__name__ and id(module) in run.names:  # not in a user's head
            yield from ((module, child) for child in module.children() if isinstance(child, nn.Dropout))


def _replacing(run: _Run, module: nn.Module) -> Callable[..., Any]:
    def hook(_dropout: nn.Module, inputs: tuple[Tensor, ...], weights: Tensor) -> Any:
        if weights.dim() != 4:  # the same module, or one next to it, also drops states
            return None
        site = run.site(module)
        return run.visit(site, weights, inputs[0] > 0, None) if run.changes(site) else None

    return hook
