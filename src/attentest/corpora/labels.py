"""Labels of any type become class indices with names."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora.columns import to_column
from attentest.errors import InputError

MANY = 20  # classes; more of them need several rows each


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
    codes, names = _encode(to_column(corpus, "label", labels))
    if classes is not None and all(name.isdigit() and int(name) < len(classes) for name in names):
        codes, names = np.array([int(name) for name in names])[codes], [str(c) for c in classes]
    else:
        _check_number(len(codes), names, corpus)
    present = np.bincount(codes, minlength=len(names))
    if (present > 0).sum() < 2:
        only = names[int(present.argmax())]
        raise InputError(f"{corpus} has one class only ('{only}'); a classifier needs at least two.")
    if positive is not None:
        chosen = next((form for form in _forms(str(positive)) if form in names), None)
        if chosen is None or len(names) != 2:
            raise InputError(
                f"{corpus}: '{positive}' cannot be the positive class; the classes are {', '.join(names)}."
            )
        if names[0] == chosen:
            codes, names = 1 - codes, names[::-1]
    return pa.array(codes.astype(np.int32)), tuple(names)


def _check_number(rows: int, names: Sequence[str], corpus: str) -> None:
    """A text or a measurement is not a class: it has nearly as many values as there are rows."""
    fractions = any(isinstance(_number(name), float) for name in names)
    if len(names) > (MANY if fractions else max(MANY, rows // 3)):
        raise InputError(
            f"{corpus}: the label column has {len(names):,} different values in {rows:,} rows, so it does "
            "not look like classes; name another column with `label`."
        )


def _encode(labels: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    encoded = pc.dictionary_encode(labels).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    keys, names = _name(encoded.dictionary.to_pylist())
    order = sorted(set(keys))
    rank = {key: i for i, key in enumerate(order)}
    name_of = dict(zip(keys, names, strict=True))
    codes = np.array([rank[k] for k in keys])[encoded.indices.to_numpy(zero_copy_only=False)]
    return codes, [name_of[k] for k in order]


def _name(values: list[str]) -> tuple[list, list[str]]:
    """What each value sorts by, and its name: 1 and 1.0 are the same class, and so are True and true."""
    numbers = [_number(value) for value in values]
    if None in numbers:
        lowered = [value.lower() for value in values]
        names = lowered if set(lowered) <= {"true", "false"} else values
        return names, names
    whole = all(isinstance(n, int) for n in numbers)
    return numbers, [str(n if whole else float(n)) for n in numbers if n is not None]


def _forms(name: str) -> tuple[str, ...]:
    """How a class that the user calls `name` may be called here."""
    return name, name.lower(), str(_number(name))


def _number(text: str) -> int | float | None:
    """A whole number as int, which is exact however large."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    if not value.is_integer():
        return value
    return int(text) if text.strip().lstrip("+-").isdecimal() else int(value)
