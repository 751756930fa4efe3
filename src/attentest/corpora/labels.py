"""Labels of any type become class indices with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.errors import InputError


def encode_labels(
    labels: pa.ChunkedArray,
    corpus: str,
    *,
    classes: Sequence[str] | None = None,
    positive: str | None = None,
) -> tuple[pa.Array, tuple[str, ...]]:
    """Class index of every row, and the names of the classes in order.

    Numbers sort as numbers, everything else as text. With two classes the second is the positive one;
    `positive` names another. `classes` names the values 0, 1, 2… of an integer column.
    """
    if pa.types.is_nested(labels.type) or pa.types.is_binary(labels.type):
        raise InputError(f"{corpus}: a label column of type {labels.type} cannot name classes.")
    codes, names = _encode(labels)
    if classes is not None and all(name.isdigit() and int(name) < len(classes) for name in names):
        codes, names = np.array([int(name) for name in names])[codes], [str(c) for c in classes]
    present = np.bincount(codes, minlength=len(names))
    if (present > 0).sum() < 2:
        only = names[int(present.argmax())]
        raise InputError(f"{corpus} has one class only ('{only}'); a classifier needs at least two.")
    if len(names) > max(20, len(codes) // 2):
        raise InputError(
            f"{corpus}: the label column has {len(names):,} different values in {len(codes):,} rows, so it does "
            "not look like classes; name another column with --label."
        )
    if positive is not None:
        if positive not in names or len(names) != 2:
            raise InputError(
                f"{corpus}: '{positive}' cannot be the positive class; the classes are {', '.join(names)}."
            )
        if names[0] == positive:
            codes, names = 1 - codes, names[::-1]
    return pa.array(codes.astype(np.int32)), tuple(names)


def _encode(labels: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    text = (
        labels.cast(pa.string())
        if not pa.types.is_dictionary(labels.type)
        else labels.cast(labels.type.value_type).cast(pa.string())
    )
    encoded = pc.dictionary_encode(pc.utf8_trim_whitespace(text)).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    values = encoded.dictionary.to_pylist()
    keys: list[Any] = [_number(v) for v in values]
    if any(k is None for k in keys):
        keys, names = values, values
    else:
        whole = all(float(k).is_integer() for k in keys)
        names = [str(int(k)) if whole else str(k) for k in keys]
    order = sorted(set(keys))
    rank = {key: i for i, key in enumerate(order)}
    name_of = dict(zip(keys, names, strict=True))
    codes = np.array([rank[k] for k in keys])[encoded.indices.to_numpy(zero_copy_only=False)]
    return codes, [name_of[k] for k in order]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
