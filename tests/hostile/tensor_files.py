"""Safetensors files that are not what they say."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

Damage = Callable[[Path], object]
Change = Callable[[dict[str, Tensor], dict[str, str]], None]


def changed(change: Change, keep_checksum: bool = False) -> Damage:
    """The same file with other tensors or other metadata; without its checksum it could be of an earlier version."""

    def damage(path: Path) -> None:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            metadata = dict(file.metadata())
        if not keep_checksum:
            del metadata["sha256"]
        change(tensors, metadata)
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, metadata)

    return damage


def _header(path: Path, content: bytes, length: int | None = None) -> None:
    path.write_bytes(struct.pack("<Q", len(content) if length is None else length) + content)


def _claims(shape: list[int], offsets: list[int]) -> Damage:
    tensor = {"dtype": "F32", "shape": shape, "data_offsets": offsets}
    return lambda path: _header(path, json.dumps({"embedding.weight": tensor}).encode())


def flipped(share: float) -> Damage:
    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[min(int(share * len(content)), len(content) - 1)] ^= 0x41
        path.write_bytes(content)

    return damage


def cut(share: float) -> Damage:
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


FILES: dict[str, Damage] = {
    "empty": cut(0),
    "cut in its header": cut(0.01),
    "cut in the middle": cut(0.5),
    "cut at the end": cut(0.999),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"more"),
    "text": lambda path: path.write_text("text", encoding="utf-8"),
    "a header of 2^60 bytes": lambda path: _header(path, b"{}", 2**60),
    "a header of 2^64 bytes": lambda path: _header(path, b"{}", 2**64 - 1),
    "no header": lambda path: _header(path, b"{}"),
    "a deep header": lambda path: _header(path, b"[" * 100_000),
    "a header that is a list": lambda path: _header(path, b"[]"),
    "a header that is no UTF-8": lambda path: _header(path, b"\xff\xfe"),
    "an embedding of 10^9 rows": _claims([10**9, 16], [0, 64 * 10**9]),
    "an embedding of 10^30 numbers": _claims([10**15, 10**15], [0, 4]),
    "a size below 0": _claims([-1, 4], [0, 4]),
    "offsets that turn back": _claims([1], [4, 0]),
    "a pickle": lambda path: torch.save({"a": torch.ones(1)}, path),
}


def _first(tensors: dict[str, Tensor]) -> str:
    return next(name for name in sorted(tensors) if name.endswith("embedding.weight"))


def _set(make: Callable[[Tensor], Tensor]) -> Change:
    def change(tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        tensors[_first(tensors)] = make(tensors[_first(tensors)])

    return change


CONTENTS: dict[str, Damage] = {
    "integers": changed(_set(lambda t: t.to(torch.int32))),
    "float16": changed(_set(lambda t: t.half())),
    "bfloat16": changed(_set(lambda t: t.bfloat16())),
    "float64": changed(_set(lambda t: t.double())),
    "truth values": changed(_set(lambda t: t > 0)),
    "NaN": changed(_set(lambda t: t * torch.nan)),
    "infinite": changed(_set(lambda t: t + torch.inf)),
    "one NaN": changed(_set(lambda t: t.index_fill(0, torch.tensor(1), torch.nan))),
    "a row less": changed(_set(lambda t: t[1:])),
    "a row more": changed(_set(lambda t: torch.cat((t, t[:1])))),
    "a column less": changed(_set(lambda t: t[:, 1:])),
    "no rows": changed(_set(lambda t: t[:0])),
    "no columns": changed(_set(lambda t: t[:, :0])),
    "a single number": changed(_set(lambda t: t[0, 0])),
    "a dimension more": changed(_set(lambda t: t[None])),
    "turned": changed(_set(lambda t: t.T.clone())),
    "a tensor too many": changed(lambda tensors, _: tensors.update(more=torch.ones(2))),
    "a tensor with an odd name": changed(lambda tensors, _: tensors.update({"\x1b[2J/\n" * 50: torch.ones(2)})),
    "a tensor missing": changed(lambda tensors, _: tensors.__delitem__(_first(tensors))),
    "another tensor missing": changed(lambda tensors, _: tensors.__delitem__(min(tensors))),
    "no tensors": changed(lambda tensors, _: tensors.clear()),
    "other numbers": changed(_set(lambda t: t + 1), keep_checksum=True),
    "a flipped bit in the middle": flipped(0.5),
    "a flipped bit at the end": flipped(0.9999),
}
