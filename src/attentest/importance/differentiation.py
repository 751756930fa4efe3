"""Gradients by autograd, whatever mode the caller is in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from attentest.models.protocol import Encoded
from attentest.models.sentence_layout import SentenceLayout
from attentest.text.batches import Batch

Holder = TypeVar("Holder", Batch, Encoded, SentenceLayout)


@contextmanager
def differentiable() -> Iterator[None]:
    """Gradients on, whatever the caller is in, and cuDNN off: its RNNs refuse a backward pass in eval mode."""
    with torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        yield


def leaf(values: Tensor) -> Tensor:
    """The same values, to differentiate by."""
    return constant(values).detach().requires_grad_()


def constant(values: Tensor) -> Tensor:
    """A tensor that autograd can keep: one made in inference mode has to be copied."""
    return values.clone() if values.is_inference() else values


def constants(given: Holder) -> Holder:
    """The same for every tensor of a batch, or of what a model made of one."""
    held: dict[str, Any] = {name: constant(value) for name, value in vars(given).items() if isinstance(value, Tensor)}
    held |= {name: constants(value) for name, value in vars(given).items() if isinstance(value, SentenceLayout)}
    return replace(given, **held)
