"""What the tables of a benchmark need before their columns can be read: each function takes and gives all splits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora import rationales
from attentest.corpora.line_breaks import break_lines

Tables = dict[str, pa.Table]


def with_column(table: pa.Table, column: str, values: Any) -> pa.Table:
    there = table.column_names
    return (
        table.set_column(there.index(column), column, values)
        if column in there
        else table.append_column(column, values)
    )


def line_breaks(tables: Tables) -> Tables:
    return {split: with_column(t, "text", break_lines(t["text"])) for split, t in tables.items()}


def supporting_facts(tables: Tables) -> Tables:
    def marks(table: pa.Table) -> pa.Array:
        pairs = zip(table["context"].to_pylist(), table["supporting"].to_pylist(), strict=True)
        return pa.array([rationales.of_sentences(c, s) for c, s in pairs], pa.list_(pa.int8()))

    return {split: with_column(t, "rationale", marks(t)) for split, t in tables.items()}


def adverse_effects(tables: Tables) -> Tables:
    table = tables[""]
    pairs = zip(table["text"].to_pylist(), table["effects"].to_pylist(), strict=True)
    marks = pa.array([rationales.of_phrases(t, e or ()) for t, e in pairs], pa.list_(pa.int8()))
    return {"": with_column(table, "rationale", marks)}


def title_first(tables: Tables) -> Tables:
    """AG News: the training file has the title in its text, so the test text gets it too."""
    test = tables["test"]
    joined = pc.binary_join_element_wise(test["title"], test["text"], pa.scalar(" ", test["text"].type))
    return tables | {"test": with_column(test, "text", joined)}


def world_business(tables: Tables) -> Tables:
    kept = {}
    for split, table in title_first(tables).items():
        table = table.filter(pc.is_in(table["label"], pa.array([0, 2], table["label"].type)))
        kept[split] = with_column(table, "label", pc.divide(table["label"], 2))
    return kept


def jw_kept(tables: Tables) -> Tables:
    return {split: table.filter(table["jw_kept"]) for split, table in tables.items()}


def jw_imdb(tables: Tables) -> Tables:
    """A fifth of train is dev and a fifth of test is test, as in Jain & Wallace; their own drawing is not known."""
    generator = np.random.default_rng(1378)
    cleaned = line_breaks(tables)
    train = cleaned["train"].take(generator.permutation(cleaned["train"].num_rows))
    dev = train.num_rows // 5
    test = cleaned["test"].take(generator.permutation(cleaned["test"].num_rows)[: cleaned["test"].num_rows // 5])
    return {"train": train.slice(dev), "dev": train.slice(0, dev), "test": test}


def one_row_a_review(tables: Tables) -> Tables:
    """Yelp human attention: the annotators of a review are merged, so that no review is in two splits."""
    reviews: dict[tuple[str, int], list[list[int]]] = {}
    for row in tables[""].select(["text", "label", "rationale"]).to_pylist():
        reviews.setdefault((row["text"], row["label"]), []).append(row["rationale"])
    return {
        "": pa.table(
            {
                "text": [text for text, _ in reviews],
                "label": [label for _, label in reviews],
                "rationale": pa.array(
                    [rationales.of_majority(marks) for marks in reviews.values()], pa.list_(pa.int8())
                ),
            }
        )
    }


def stacked(tables: Tables) -> Tables:
    return {"test": pa.concat_tables(tables.values())}
