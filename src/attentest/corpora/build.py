"""Raw columns of any source become a corpus: unusable rows dropped and counted, labels encoded, splits filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora.columns import to_column
from attentest.corpora.corpus import FEWEST_ROWS, Corpus, Kind
from attentest.corpora.labels import encode_labels
from attentest.corpora.remarks import remarks
from attentest.errors import InputError

_NOT_GIVEN = {split: f"No {split} split was given" for split in ("test", "dev")}
_VISIBLE = r"[^\p{Z}\p{Cc}\p{Cf}]"  # more than blanks, NULs and marks without width


def build_corpus(
    name: str,
    columns: Mapping[str, Any],
    *,
    kind: Kind = "single",
    classes: Sequence[str] | None = None,
    positive: str | None = None,
    recipe: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Corpus:
    """Clean raw columns into a corpus: drop what cannot be used (and say so), encode labels, fill in splits.

    `columns` needs `text`, `label` (unless kind is generation) and `second` (unless kind is single); `id`,
    `split` and `rationale` are optional. Labels may be of any type; `classes`, when given, names the values
    0, 1, 2… of an integer label column.
    """
    table = pa.table({key: to_column(name, key, values) for key, values in columns.items()})
    table, repeated = _tell_apart(table)
    table, dropped = _drop_unusable(table, kind)
    said = [*notes, *repeated, *dropped]
    if table.num_rows < FEWEST_ROWS:
        raise InputError(
            f"{name} has {table.num_rows} usable rows; at least {FEWEST_ROWS} are needed to train, choose an "
            f"epoch and test.{_because(dropped)}"
        )
    names: tuple[str, ...] = ()
    if kind != "generation":
        labels, names = encode_labels(table["label"], name, classes=classes, positive=positive)
        table = table.set_column(table.column_names.index("label"), "label", labels)
    if "rationale" in table.column_names:
        _check_rationales(table, name)
    table, assumed = _fill_splits(table, name, labelled=kind != "generation")
    order = [c for c in ("id", "split", "text", "second", "label", "rationale") if c in table.column_names]
    notes = (*said, *assumed, *remarks(table))
    return Corpus(name, kind, table.select(order), names, notes, dict(recipe or {}))


def _tell_apart(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """A row is found again by its id: one that has none gets its number, the second 'a' becomes 'a#2'."""
    numbers = pa.array(np.arange(table.num_rows)).cast(pa.large_string())
    if "id" not in table.column_names:
        return table.append_column("id", numbers), []
    ids = pc.coalesce(pc.if_else(pc.equal(table["id"], ""), None, table["id"]), numbers)
    repeated = len(ids) - pc.count_distinct(ids).as_py()
    notes = [f"{repeated:,} rows repeat the id of another; #2, #3… is added to their ids."] if repeated else []
    if repeated:
        taken = set(ids.to_pylist())
        seen: Counter[str] = Counter()
        unique = []
        for given in ids.to_pylist():
            seen[given] += 1
            while seen[given] > 1 and f"{given}#{seen[given]}" in taken:
                seen[given] += 1
            unique.append(given if seen[given] == 1 else f"{given}#{seen[given]}")
        ids = pa.array(unique, pa.large_string())
    return table.set_column(table.column_names.index("id"), "id", ids), notes


def _drop_unusable(table: pa.Table, kind: Kind) -> tuple[pa.Table, list[str]]:
    notes = []
    for column in ("text", "second"):
        if column in table.column_names:
            filled = pc.fill_null(pc.match_substring_regex(table[column], _VISIBLE), False)
            table, note = _keep(table, filled, f"with an empty {column}")
            notes += note
    if kind != "generation":
        missing = pc.is_in(pc.utf8_lower(table["label"]), pa.array([None, "", "nan"], pa.large_string()))
        present = pc.invert(missing)
        table, note = _keep(table, present, "without a label")
        notes += note
    return table, notes


def _keep(table: pa.Table, keep: Any, what: str) -> tuple[pa.Table, list[str]]:
    gone = table.num_rows - (pc.sum(keep).as_py() or 0)
    if not gone:
        return table, []
    return table.filter(keep), [f"Dropped {gone:,} of {table.num_rows:,} rows {what}."]


def _because(dropped: Sequence[str]) -> str:
    return f" ({' '.join(dropped)})" if dropped else ""


def _check_rationales(table: pa.Table, name: str) -> None:
    words = pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(table["text"])))
    marks = pc.cast(pc.list_value_length(table["rationale"]), words.type)
    wrong = np.flatnonzero(~pc.fill_null(pc.equal(words, marks), True).to_numpy())
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{name}: the rationale of row '{table['id'][row]}' has {marks[row]} marks for {words[row]} words; "
            "it needs one 0/1 for each whitespace-separated word of the text."
        )


SPLIT_NAMES = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "development"), "dev"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}


def _fill_splits(table: pa.Table, name: str, *, labelled: bool) -> tuple[pa.Table, list[str]]:
    """Use the splits there are; carve dev out of train, and test too if there is none, the same way always."""
    if "split" in table.column_names:
        given = [str(s or "").strip() for s in table["split"].to_pylist()]
        unknown = sorted({s for s in given if s.lower() not in SPLIT_NAMES})
        if unknown:
            raise InputError(
                f"{name}: unknown split '{unknown[0]}'; the split column may hold train, dev and test "
                "(or val, valid, validation for dev)."
            )
        split = np.array([SPLIT_NAMES[s.lower()] for s in given], dtype=object)
        table = table.drop_columns("split")
    else:
        split = np.full(table.num_rows, "train", dtype=object)
    notes = []
    if not (split == "train").any():
        notes.append(f"{name} has no training rows: models can be tested on it, not trained.")
        return table.append_column("split", pa.array(split, pa.string())), notes
    strata = table["label"].to_numpy() if labelled else np.zeros(table.num_rows, np.int32)
    for wanted, share in (("test", 0.2), ("dev", 0.15)):
        if not (split == wanted).any():
            chosen = _carve(np.flatnonzero(split == "train"), strata, share)
            if not len(chosen):
                raise InputError(
                    f"{name}: every class has fewer than three training rows, too few to set some aside for {wanted}."
                )
            split[chosen] = wanted
            notes.append(f"{_NOT_GIVEN[wanted]}: {len(chosen):,} training rows were set aside for it.")
    return table.append_column("split", pa.array(split, pa.string())), notes


def for_test(corpus: Corpus) -> Corpus:
    """The corpus as a model that is trained already can be tested on it: on all rows if no test split was given."""
    if not any(note.startswith(_NOT_GIVEN["test"]) for note in corpus.notes):
        return corpus
    place = corpus.table.column_names.index("split")
    table = corpus.table.set_column(place, "split", pa.repeat("test", len(corpus)))
    notes = [note for note in corpus.notes if not note.startswith(tuple(_NOT_GIVEN.values()))]
    said = f"No test split was given, and nothing is trained: all {len(corpus):,} rows are tested on."
    return replace(corpus, table=table, notes=(*notes, said))


def _carve(rows: np.ndarray, strata: np.ndarray, share: float) -> np.ndarray:
    """A fixed random share of `rows` from every stratum, at least one row where it can spare one."""
    generator = np.random.default_rng(0)
    chosen = []
    for stratum in np.unique(strata[rows]):
        members = generator.permutation(rows[strata[rows] == stratum])
        count = max(round(share * len(members)), 1) if len(members) > 2 else 0
        chosen.append(members[:count])
    return np.sort(np.concatenate(chosen))
