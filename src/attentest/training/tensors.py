"""Tensors as safetensors files, with a checksum; nothing is ever unpickled."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from attentest.errors import InputError
from attentest.files import expect_file, write_bytes

_CHECKSUM = "sha256"


@dataclass(frozen=True)
class StoredTensors:
    """What a file holds."""

    path: Path
    tensors: dict[str, Tensor]
    metadata: dict[str, str]

    def expect_like(self, named: Mapping[str, Tensor]) -> None:
        """Refuse other names, shapes and types than these."""
        for name in sorted(self.tensors.keys() ^ named.keys()):
            has = "has a tensor too many" if name in self.tensors else "lacks a tensor"
            raise InputError(f"{self.path} does not belong to this run: it {has}, {name[:80]}.")
        for name, like in named.items():
            own = self.tensors[name]
            if (own.shape, own.dtype) != (like.shape, like.dtype):
                found, expected = (f"{t.dtype} {tuple(t.shape)}" for t in (own, like))
                raise InputError(f"{self.path} does not belong to this run: {name} is {found}, expected {expected}.")

    def expect_unchanged(self) -> None:
        """Refuse numbers that are not those that were written, or are none."""
        for name, tensor in self.tensors.items():
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                raise InputError(f"{self.path} is damaged: {name[:80]} holds NaN or infinite numbers.")
        # a file of an earlier version has no checksum
        written = self.metadata.get(_CHECKSUM)
        if written is not None and written != _checksum(self.tensors, self.metadata):
            raise InputError(f"{self.path} is damaged: its numbers are not those that were written.")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    ready: dict[str, Tensor] = {}
    places: set[int] = set()
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        # two names of one tensor, as tied embeddings have, are two tensors in the file
        ready[name] = own.clone() if own.data_ptr() in places else own
        places.add(own.data_ptr())
    about = dict(metadata or {})
    write_bytes(path, save(ready, metadata=about | {_CHECKSUM: _checksum(ready, about)}))


def read_tensors(path: Path) -> StoredTensors:
    try:
        expect_file(path)
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return StoredTensors(path, tensors, dict(file.metadata() or {}))
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there; {path.parent} is not finished.") from error
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} is truncated, damaged or not a safetensors file ({error}).") from error


def _checksum(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    found = hashlib.sha256()
    for name, value in sorted(metadata.items()):
        if name != _CHECKSUM:
            found.update(f"{name}={value}\n".encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()[:16]
