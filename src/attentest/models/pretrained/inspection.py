"""What a network is found to be when it is loaded; one that trials would misread is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.evaluation import evaluating
from attentest.models.pretrained.architectures import logits_of, pretrained_parts, route_of, tolerance
from attentest.models.pretrained.layers import reusable
from attentest.models.pretrained.layout import Layout
from attentest.models.pretrained.replaced import Sites, find_sites, replaced
from attentest.models.pretrained.rows import Decision, decision_token, runs_on_rows, skips_padding
from attentest.text.batches import batch_of_sequences

STILL = 1e-7  # a change of the logits that is none


@dataclass(frozen=True)
class About:
    sites: Sites
    stack: nn.ModuleList | None  # of layers whose states can be used again; None: the whole network runs each time
    decision: Decision | None  # the token that the head reads, where it is one
    skips_padding: bool  # whether that is the last one whose id is not that of padding
    row_alone: bool  # whether that token can be run alone, so that many rows of its weights cost little
    gap: float  # between the logits with eager attention and with the library's default


def inspect_network(network: nn.Module, arguments: Mapping[str, Tensor]) -> About:
    """Looked at on texts of different lengths: sites are found, and replaced weights do what they should.

    The logits of a padded batch are those of the untouched network while nothing is changed and when its own weights
    are given back, and uniform weights move them at every site.
    """
    check_architecture(network)
    name = type(network).__name__
    with evaluating(network), torch.no_grad():
        untouched = logits_of(network(**arguments))
        sites = find_sites(network, arguments)
        own: dict[str, Tensor] = {}
        with replaced(network, lambda site, weights, allowed: own.update({site: weights})):
            eager = logits_of(network(**arguments))
        with replaced(network, lambda site, weights, allowed: own[site]):
            given = logits_of(network(**arguments))
        scale = max(1.0, float(untouched.abs().max()))
        gap = float((eager - untouched).abs().max())
        for what, apart in (
            ("while its attention is looked at", gap),
            ("when its own weights are given back", float((given - eager).abs().max())),
        ):
            if not apart <= tolerance(untouched.dtype) * scale:
                raise InputError(f"{name} gives logits that differ by {apart:.2g} {what}, so it cannot be audited.")
        sites = _over_all_tokens(sites, own, arguments["input_ids"].shape[1])
        for site in sites.names:
            with replaced(network, lambda _, weights, allowed: uniform_over(allowed, weights.dtype), [site]):
                moved = logits_of(network(**arguments))
            if not float((moved - untouched).abs().max()) > STILL * scale:
                raise InputError(
                    f"Uniform weights at {site} change nothing of what {name} gives: the weights there are not in use, "
                    "so it cannot be audited."
                )
        stack, decision = reusable(network, arguments, sites), decision_token(network, arguments, sites)
        alone = stack is not None and decision is not None and runs_on_rows(network, stack, arguments, decision)
        skips = decision == "last" and skips_padding(network, arguments, sites)
    return About(sites, stack, decision, skips, alone, gap)


def check_architecture(network: nn.Module) -> None:
    """Refuse, before it runs, what is known to be out of reach."""
    if any(part.config.is_encoder_decoder for part in pretrained_parts(network)):
        raise InputError(
            f"{type(network).__name__} has an encoder and a decoder; classifiers with one stack of layers can be "
            "audited."
        )
    route_of(network)


def probe(network: nn.Module, layout: Layout) -> dict[str, Tensor]:
    """Texts to look at a network with."""
    return _laid_out(network, layout, _texts(network, layout))


def apart_by_padding(network: nn.Module, layout: Layout) -> float:
    """By how much the logits of texts of different lengths change when they are read alone, relative to the largest."""
    check_architecture(network)
    texts = _texts(network, layout)
    with evaluating(network), torch.no_grad():
        together = logits_of(network(**_laid_out(network, layout, texts)))
        alone = torch.cat([logits_of(network(**_laid_out(network, layout, [text]))) for text in texts])
    return float((together - alone).abs().max() / together.abs().max().clamp(min=1))


def _laid_out(network: nn.Module, layout: Layout, texts: Sequence[np.ndarray]) -> dict[str, Tensor]:
    device = pretrained_parts(network)[0].get_input_embeddings().weight.device
    return layout.lay_out(batch_of_sequences(texts).to(device)).arguments


def _texts(network: nn.Module, layout: Layout) -> list[np.ndarray]:
    """Of different lengths, of word pieces from all over the vocabulary."""
    pieces = pretrained_parts(network)[0].get_input_embeddings().weight
    taken = {layout.pad, layout.mask, *layout.single.ids, *layout.pair.ids}
    usual = np.array([piece for piece in range(len(pieces)) if piece not in taken])
    lengths = [min(length, layout.room("single")) for length in (3, 7, 5)]
    return np.split(usual[np.linspace(0, len(usual) - 1, sum(lengths)).astype(int)], np.cumsum(lengths)[:-1])


def _over_all_tokens(sites: Sites, own: Mapping[str, Tensor], positions: int) -> Sites:
    """Without layers that see the text pooled (Funnel): their weights are not those of tokens."""
    names = tuple(site for site in sites.names if own[site].shape[-2:] == (positions, positions))
    return Sites(names, {site: sites.heads[site] for site in names})


def uniform_over(allowed: Bool[Tensor, "*rows keys"], dtype: torch.dtype) -> Float[Tensor, "*rows keys"]:
    """The same for every key that is allowed; a row of padding that may look at none looks at all."""
    every = allowed.to(dtype)
    total = every.sum(-1, keepdim=True)
    return torch.where(total > 0, every / total.clamp(min=1), 1 / allowed.shape[-1])
