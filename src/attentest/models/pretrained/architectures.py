"""Which architectures let their attention weights be replaced, and how."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.pretrained.library import transformers

EXACT = 1e-5  # how far logits may lie apart and be the same, relative to the largest
STEPS = 4  # or so many steps of their number type, where that is coarser
Route = Literal["interface", "dropout"]
UNREACHABLE = {  # model types whose weights are in nobody's hands, or that have none
    "falcon": "Falcon",
    "flaubert": "FlauBERT",
    "fnet": "FNet",
    "fsmt": "FSMT",
    "longformer": "Longformer",
    "nystromformer": "Nystromformer",
}


def route_of(network: nn.Module) -> Route:
    """How the weights are reached: by the library's attention interface, or at the dropout that follows the softmax."""
    parts = pretrained_parts(network)
    for part in parts:
        kind = part.config.model_type
        if kind in UNREACHABLE:
            raise unreachable(UNREACHABLE[kind])
        if kind == "big_bird" and part.config.attention_type != "original_full":
            raise unreachable("BigBird with block-sparse attention")
    return "interface" if all(part._can_set_attn_implementation() for part in parts) else "dropout"


def pretrained_parts(network: nn.Module) -> list[Any]:
    """The library's own models in a network, which may be a user's module around one."""
    parts = [module for module in network.modules() if isinstance(module, transformers.PreTrainedModel)]
    if not parts:
        raise InputError(f"{type(network).__name__} has no Hugging Face encoder in it; see docs/your-model.md.")
    # the library reads the source of a model's file to see what it can do, which says nothing of a user's file
    own = [part for part in parts if type(part).__module__.startswith("transformers.")]
    return own or parts


def unreachable(architecture: str) -> InputError:
    return InputError(
        f"The attention weights of {architecture} cannot be replaced, so it cannot be audited; "
        "use another architecture (BERT, RoBERTa, DeBERTa, ModernBERT, Llama and many more can be)."
    )


def logits_of(output: Any) -> Tensor:
    """The logits in what a network gives: a tensor, a tuple that starts with them, or the library's output."""
    if isinstance(output, Tensor):
        return output
    logits: Tensor = output[0] if isinstance(output, tuple) else output.logits
    return logits


def close(logits: Tensor, expected: Tensor) -> bool:
    """Whether two ways to the same logits agree."""
    apart = (logits - expected).abs().max()
    return bool(apart <= tolerance(expected.dtype) * max(1.0, float(expected.abs().max())))


def tolerance(dtype: torch.dtype) -> float:
    """How far logits may lie apart and be the same, relative to the largest."""
    return max(EXACT, STEPS * torch.finfo(dtype).eps)
