"""Texts under several weights, from their table to what a page shows of them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from attentest.display.heatmaps.heatmap import joined, window
from attentest.errors import InputError
from attentest.files import read_foreign_table, write_whole
from attentest.reports.contents import Instance, Role, Variant
from attentest.trials.instances import ADVERSARIAL, ORIGINAL, PERMUTED, SCHEMA, TRAINED

LONGEST = 120  # tokens shown of a text
_OPTIONAL = ("second", "label", "rationale", "in_second")
ROLES: dict[str, Role] = {
    ORIGINAL: "original",
    PERMUTED: "permuted",
    ADVERSARIAL: "adversarial",
    TRAINED: "trained adversary",
}


def read_instances(path: Path) -> list[Instance]:
    texts = [list(variants) for _, variants in groupby(_rows(path), key=lambda row: row["id"])]
    if any(row["start"] != variants[0]["start"] for variants in texts for row in variants):
        raise InputError(f"{path} is damaged: the variants of a text have different tokens.")
    return [_instance(variants) for variants in texts]


def _rows(path: Path) -> list[dict[str, Any]]:
    """As they must be, whoever wrote the file."""
    table = read_foreign_table(path)
    if "in_second" not in table.column_names:  # earlier versions had weights on one text of a pair
        table = table.append_column("in_second", pa.nulls(table.num_rows, pa.int32()))
    if not set(SCHEMA.names) <= set(table.column_names):
        raise InputError(f"{path} was not written by this version of attentest.")
    try:
        rows: list[dict[str, Any]] = table.select(SCHEMA.names).cast(SCHEMA).to_pylist()
    except (pa.ArrowException, KeyError, ValueError) as error:  # of other types, a name twice, no UTF-8
        raise InputError(f"{path} is damaged: its columns are not those of heat maps.") from error
    if not all(map(_is_whole, rows)):
        raise InputError(f"{path} is damaged: a text lacks what its heat map needs.")
    return [_joined(row) if row["in_second"] else row for row in rows]


def _joined(row: dict[str, Any]) -> dict[str, Any]:
    """A pair with weights on both texts, as one text."""
    places = list(zip(row["start"], row["end"], strict=True))
    text, places = joined(row["text"], row["second"], places, row["in_second"])
    return row | {
        "text": text,
        "second": None,
        "start": [start for start, _ in places],
        "end": [end for _, end in places],
    }


def _is_whole(row: dict[str, Any]) -> bool:
    if any(row[name] is None for name in SCHEMA.names if name not in _OPTIONAL):
        return False
    lists = [row["start"], row["end"], row["weight"], *([row["rationale"]] if row["rationale"] else [])]
    if any(len(one) != len(row["start"]) or None in one for one in lists) or not row["start"]:
        return False
    places = list(zip(row["start"], row["end"], strict=True))
    in_second = row["in_second"] or 0
    if not 0 <= in_second < len(places) or (in_second and row["second"] is None):
        return False
    first, rest = places[: len(places) - in_second], places[len(places) - in_second :]
    return _lie_in(row["text"], first) and (not rest or _lie_in(row["second"], rest))


def _lie_in(text: str, places: Sequence[tuple[int, int]]) -> bool:
    """Whether these are places in the text, one after the other."""
    ends = [end for place in places for end in place]
    return ends == sorted(ends) and ends[0] >= 0 and ends[-1] <= len(text)


def _instance(rows: Sequence[dict[str, Any]]) -> Instance:
    first = rows[0]
    starts, ends, text = first["start"], first["end"], first["text"]
    places = _places([row["weight"] for row in rows])
    return Instance(
        id=first["id"],
        label=first["label"],
        tokens=[text[starts[i] : ends[i]] for i in places],
        gaps=[text[ends[i - 1] if i else 0 : starts[i]] for i in places],
        cuts=_cuts(places, len(starts)),
        marks=[bool(first["rationale"][i]) for i in places] if first["rationale"] else None,
        variants=[
            Variant(
                name=row["variant"],
                role=role,
                weights=[row["weight"][i] for i in places],
                predicted=row["predicted"],
                probability=row["probability"],
                tvd=row["tvd"],
                jsd=row["jsd"],
            )
            for row, role in zip(rows, _roles([row["variant"] for row in rows]), strict=True)
        ],
        second=first["second"],
    )


def _places(weights: Sequence[Sequence[float]]) -> list[int]:
    """The tokens to show under all variants: as long a stretch with the most weight of each as fits."""

    def stretches(tokens: int) -> list[int]:
        return sorted({place for variant in weights for place in range(*window(variant, tokens))})

    tried = (stretches(LONGEST // parts) for parts in range(1, len(weights) + 1))
    return next(places for places in tried if len(places) <= LONGEST)


def _cuts(places: Sequence[int], tokens: int) -> dict[int, int]:
    steps = enumerate(pairwise([-1, *places, tokens]))
    return {n: here - last - 1 for n, (last, here) in steps if here - last > 1}


def _roles(names: Sequence[str]) -> list[Role]:
    """Of two models that are compared either may bear any name, such as “adversarial”."""
    if not {ORIGINAL, PERMUTED, ADVERSARIAL} <= set(names):
        return ["model"] * len(names)
    return [ROLES.get(name, "model") for name in names]


def write_csv(path: Path, target: Path) -> None:
    """The table as CSV, a line for each token of each variant."""
    names = ("id", "label", "variant", "predicted", "probability", "tvd", "jsd")

    def write(draft: Path) -> None:
        with draft.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*names, "place", "token", "weight"])
            for row in _rows(path):
                head = [row[name] for name in names]
                places = zip(row["start"], row["end"], row["weight"], strict=True)
                writer.writerows([*head, n, row["text"][a:b], weight] for n, (a, b, weight) in enumerate(places))

    write_whole(target, write)
