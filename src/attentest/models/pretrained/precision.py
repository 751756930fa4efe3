"""Number types that pretrained encoders compute in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.errors import unknown_name

if TYPE_CHECKING:
    import torch

AUTO = "auto"  # single precision for a model that is loaded, and as it is stored for a run
DTYPES = (AUTO, "float32", "bfloat16")


def dtype_of(name: str) -> torch.dtype:
    import torch

    if name not in DTYPES:
        raise unknown_name("number type", name, DTYPES)
    return torch.bfloat16 if name == "bfloat16" else torch.float32
