"""A corpus: texts with labels, as one Arrow table whose columns always mean the same thing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora.columns import to_column
from attentest.corpora.labels import encode_labels
from attentest.errors import InputError

Kind = Literal["single", "pair", "generation"]
Answers = Literal["closed", "entities"]
SPLITS = ("train", "dev", "test")
FEWEST_ROWS = 10
_VISIBLE = r"[^\p{Z}\p{Cc}\p{Cf}]"  # more than blanks, NULs and marks without width


@dataclass(frozen=True)
class Corpus:
    """Rows of text with labels.

    The table's columns: `id` (string), `split` (train, dev or test), `text`, `second` (the other text of a
    pair: the question, the hypothesis, the translation), `label` (index into `classes`; absent when kind is
    generation) and, where known, `rationale`: one 0/1 for each whitespace-separated word of `text`.
    """

    name: str
    kind: Kind
    table: pa.Table
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was dropped or assumed, as sentences
    recipe: Mapping[str, Any] = field(default_factory=dict)  # text settings the papers use for it, and `answers`
    origin: Mapping[str, Any] = field(default_factory=dict)  # what `load` was asked for

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def has_rationale(self) -> bool:
        return "rationale" in self.table.column_names

    @property
    def answers(self) -> Answers | None:
        """What may answer a row's question, in a corpus of questions about texts.

        `closed`: any of the classes. `entities`: the classes that are words of the row's text, and no other.
        """
        return self.recipe.get("answers")

    @property
    def split(self) -> np.ndarray:
        """The split of each row, as an array of strings."""
        return self.table["split"].to_numpy(zero_copy_only=False)

    @property
    def labels(self) -> np.ndarray:
        return self.table["label"].to_numpy()

    def counts(self) -> dict[str, dict[str, int]]:
        """Rows of each class in each split."""
        split = self.split
        if self.kind == "generation":
            return {name: {"all": int((split == name).sum())} for name in SPLITS}
        return {
            name: dict(
                zip(
                    self.classes,
                    np.bincount(self.labels[split == name], minlength=len(self.classes)).tolist(),
                    strict=True,
                )
            )
            for name in SPLITS
        }

    def sample(self, rows: int, seed: int = 0) -> Corpus:
        """At most `rows` rows, chosen evenly from every split and class."""
        if rows >= len(self):
            return self
        if rows < FEWEST_ROWS:
            raise InputError(f"A sample of {rows} rows is too small; ask for at least {FEWEST_ROWS}.")
        strata = _strata(self)
        order = np.random.default_rng(seed).permutation(len(self))
        # the i-th of n rows in a stratum gets the key i/n: taking the smallest keys takes each evenly
        key = np.empty(len(self))
        for stratum in np.unique(strata):
            members = order[strata[order] == stratum]
            key[members] = np.arange(len(members)) / len(members)
        kept = np.sort(np.argsort(key, kind="stable")[:rows])
        note = f"Sampled {rows:,} of {len(self):,} rows (seed {seed})."
        return replace(self, table=self.table.take(kept), notes=(*self.notes, note))

    def with_positive(self, name: str) -> Corpus:
        """The same corpus with `name` as the positive one of its two classes, the one F1 speaks of."""
        if len(self.classes) != 2 or name not in self.classes:
            known = ", ".join(self.classes)
            raise InputError(f"{self.name}: '{name}' cannot be the positive class; the classes are {known}.")
        if self.classes[1] == name:
            return self
        labels = pa.array(1 - self.labels)
        table = self.table.set_column(self.table.column_names.index("label"), "label", labels)
        return replace(self, table=table, classes=self.classes[::-1])

    def fingerprint(self) -> str:
        """A hash of every value in the table: the corpus part of a signature."""
        digest = hashlib.sha256(repr((self.kind, self.classes)).encode())
        for column in self.table.column_names:
            digest.update(column.encode())
            _hash_values(digest, self.table[column].combine_chunks())
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {sum(n.values()):,}" for name, n in self.counts().items())
        return f"Corpus({self.name!r}, {self.kind}, {len(self.classes)} classes, {sizes})"

    def _repr_html_(self) -> str:
        from attentest.display.tables import html_table

        rows = [(name, *counts.values()) for name, counts in self.counts().items()]
        return html_table(["split", *(self.classes or ("rows",))], rows, caption=self.name)


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
    return Corpus(name, kind, table.select(order), names, (*said, *assumed), dict(recipe or {}))


def _tell_apart(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """A row is found again by its id: one that has none gets its number, the second 'a' becomes 'a#2'."""
    numbers = pa.array(np.arange(table.num_rows)).cast(pa.large_string())
    if "id" not in table.column_names:
        return table.append_column("id", numbers), []
    ids = pc.coalesce(pc.if_else(pc.equal(table["id"], ""), None, table["id"]), numbers)
    repeated = len(ids) - pc.count_distinct(ids).as_py()
    notes = [f"{repeated:,} rows repeat the id of another; they are told apart as #2, #3…"] if repeated else []
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
            notes.append(f"No {wanted} split was given: {len(chosen):,} training rows were set aside for it.")
    return table.append_column("split", pa.array(split, pa.string())), notes


def _carve(rows: np.ndarray, strata: np.ndarray, share: float) -> np.ndarray:
    """A fixed random share of `rows` from every stratum, at least one row where it can spare one."""
    generator = np.random.default_rng(0)
    chosen = []
    for stratum in np.unique(strata[rows]):
        members = generator.permutation(rows[strata[rows] == stratum])
        count = max(round(share * len(members)), 1) if len(members) > 2 else 0
        chosen.append(members[:count])
    return np.sort(np.concatenate(chosen))


def _strata(corpus: Corpus) -> np.ndarray:
    code = np.array([SPLITS.index(s) for s in corpus.split])
    return code if corpus.kind == "generation" else code + len(SPLITS) * corpus.labels


def _hash_values(digest: Any, column: pa.Array) -> None:
    if pa.types.is_list(column.type):
        digest.update(pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False).tobytes())
        _hash_values(digest, column.flatten())
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        digest.update(pc.binary_length(column).to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
        for piece in range(0, len(column), 50_000):
            digest.update("".join(column[piece : piece + 50_000].to_pylist()).encode())
    else:
        digest.update(column.to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
