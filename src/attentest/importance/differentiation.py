"""Gradients by autograd, whatever mode the caller is in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor

MaybeTensor = TypeVar("MaybeTensor", Tensor, Tensor | None)


@contextmanager
def differentiable() -> Iterator[None]:
    """Gradients on, whatever the caller is in, and cuDNN off: its RNNs refuse a backward pass in eval mode."""
    with torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        yield


def leaf(values: Tensor) -> Tensor:
    """The same values, to differentiate by."""
    return constant(values).detach().requires_grad_()


def constant(values: MaybeTensor) -> MaybeTensor:
    """A tensor that autograd can keep: one made in inference mode has to be copied."""
    return values.clone() if values is not None and values.is_inference() else values
