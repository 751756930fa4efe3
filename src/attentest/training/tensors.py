"""Tensors as safetensors files; nothing is ever unpickled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from attentest.errors import InputError
from attentest.files import expect_file, write_bytes


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(ready, metadata=dict(metadata or {}))
    write_bytes(path, content)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file; nothing is ever unpickled."""
    try:
        expect_file(path)
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there; {path.parent} is not finished.") from error
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} is truncated, damaged or not a safetensors file ({error}).") from error
