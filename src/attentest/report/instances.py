"""Texts under several weights, from their table to what a page shows of them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.report.contents import Instance, Variant
from attentest.report.heatmaps.heatmap import window
from attentest.training.folder import read_table, write_whole
from attentest.trials.instances import SCHEMA

LONGEST = 120  # tokens shown of a text


def read_instances(path: Path) -> list[Instance]:
    table = read_table(path)
    if not set(SCHEMA.names) <= set(table.column_names):
        raise InputError(f"{path} was not written by this version of attentest.")
    rows = table.to_pylist()
    return [_instance(list(variants)) for _, variants in groupby(rows, key=lambda row: row["id"])]


def _instance(rows: Sequence[dict[str, Any]]) -> Instance:
    first = rows[0]
    start, end = window(first["weight"], LONGEST)
    begins, ends, text = first["start"][start:end], first["end"][start:end], first["text"]
    before = [first["end"][start - 1] if start else 0, *ends[:-1]]
    return Instance(
        id=first["id"],
        label=first["label"],
        tokens=[text[a:b] for a, b in zip(begins, ends, strict=True)],
        gaps=[text[a:b] for a, b in zip(before, begins, strict=True)],
        before=start,
        after=len(first["start"]) - end,
        marks=[bool(mark) for mark in first["rationale"][start:end]] if first["rationale"] else None,
        variants=[
            Variant(
                name=row["variant"],
                weights=row["weight"][start:end],
                predicted=row["predicted"],
                probability=row["probability"],
                tvd=row["tvd"],
                jsd=row["jsd"],
            )
            for row in rows
        ],
        second=first["second"],
    )


def write_csv(path: Path, target: Path) -> None:
    """The table as CSV, a line for each token of each variant."""
    names = ("id", "label", "variant", "predicted", "probability", "tvd", "jsd")

    def write(draft: Path) -> None:
        with draft.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*names, "place", "token", "weight"])
            for row in read_table(path).to_pylist():
                head = [row[name] for name in names]
                places = zip(row["start"], row["end"], row["weight"], strict=True)
                writer.writerows([*head, n, row["text"][a:b], weight] for n, (a, b, weight) in enumerate(places))

    write_whole(target, write)
