"""The weights in an ONNX file under the names that they have in PyTorch, read without further packages.

Only what two exporters write is known: plain numbers and 8-bit ones with one scale a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Array = np.ndarray
Fields = Iterator[tuple[int, int | bytes]]
_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}
_PRODUCTS = {"MatMul", "MatMulInteger"}


@dataclass(frozen=True)
class _Node:
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def read_weights(file: Path) -> dict[str, Array]:
    """A linear layer's matrix loses its name in the export; it is the weight whose bias is added to the product."""
    [graph] = [value for number, value in _fields(file.read_bytes()) if number == 7]
    tensors: dict[str, Array] = {}
    nodes: list[_Node] = []
    for number, value in _fields(_bytes(graph)):
        if number == 5:
            name, tensor = _tensor(_bytes(value))
            tensors[name] = tensor
        elif number == 1:
            nodes.append(_node(_bytes(value)))
    for name in [name for name in tensors if name.endswith("_quantized")]:
        plain = name.removesuffix("_quantized")
        shifted = tensors.pop(name).astype(np.float32) - tensors.pop(f"{plain}_zero_point").astype(np.float32)
        tensors[plain] = shifted * tensors.pop(f"{plain}_scale")
    for node in nodes:
        matrix = node.inputs[1].removesuffix("_quantized") if node.kind in _PRODUCTS else ""
        if matrix in tensors:
            bias = _added_bias(node, nodes, tensors)
            tensors[bias.removesuffix("bias") + "weight"] = np.ascontiguousarray(tensors.pop(matrix).T)
    return {name: tensor for name, tensor in tensors.items() if name.endswith((".weight", ".bias"))}


def _added_bias(product: _Node, nodes: list[_Node], tensors: dict[str, Array]) -> str:
    reached = set(product.outputs)
    for node in nodes[nodes.index(product) + 1 :]:
        if reached.isdisjoint(node.inputs):
            continue
        biases = [name for name in node.inputs if name.endswith(".bias") and name in tensors]
        if biases:
            return biases[0]
        reached.update(node.outputs)
    raise ValueError(f"no bias follows the product with {product.inputs[1]}")


def _node(message: bytes) -> _Node:
    strings: dict[int, list[str]] = {1: [], 2: [], 4: []}
    for number, value in _fields(message):
        if number in strings:
            strings[number].append(_bytes(value).decode())
    return _Node(strings[4][0], tuple(strings[1]), tuple(strings[2]))


def _tensor(message: bytes) -> tuple[str, Array]:
    shape: list[int] = []
    kind, name = 0, ""
    data: Array | None = None
    for number, value in _fields(message):
        if number == 1:
            shape += [value] if isinstance(value, int) else _varints(value)
        elif number == 2 and isinstance(value, int):
            kind = value
        elif number == 8:
            name = _bytes(value).decode()
        elif number == 9:
            data = np.frombuffer(_bytes(value), _TYPES[kind])
        elif number in (4, 10):
            data = np.frombuffer(_bytes(value), np.float32 if number == 4 else np.float64)
        elif number in (5, 7):
            whole = [value] if isinstance(value, int) else _varints(value)
            data = np.array([each - (each >> 63 << 64) for each in whole], np.int64).astype(_TYPES[kind])
    return name, np.zeros(shape, _TYPES[kind]) if data is None else data.reshape(shape)


def _fields(message: bytes) -> Fields:
    """Number and value of each field of a message: a whole number, or the bytes of a string or a message."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        if key & 7 == 0:
            number, place = _varint(message, place)
            yield key >> 3, number
            continue
        if key & 7 == 2:
            size, place = _varint(message, place)
        else:
            size = {1: 8, 5: 4}[key & 7]
        yield key >> 3, message[place : place + size]
        place += size


def _varints(message: bytes) -> list[int]:
    found, place = [], 0
    while place < len(message):
        number, place = _varint(message, place)
        found.append(number)
    return found


def _varint(message: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where text or a message is expected: this is no ONNX file")
    return value
