"""A corpus: texts with labels, as one Arrow table whose columns always mean the same thing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.display.show import show, to_pandas
from attentest.display.tables import html_table, text_table
from attentest.errors import InputError
from attentest.files import make_folder

if TYPE_CHECKING:
    from rich.console import RenderableType

Kind = Literal["single", "pair", "generation"]
Answers = Literal["closed", "entities"]
SPLITS = ("train", "dev", "test")
FEWEST_ROWS = 10
MOST_ROWS = 10_000_000  # of a corpus that is generated
SHOWN = 20  # classes in the table that `show` gives


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
        splits: np.ndarray = self.table["split"].to_numpy(zero_copy_only=False)
        return splits

    @property
    def labels(self) -> np.ndarray:
        labels: np.ndarray = self.table["label"].to_numpy()
        return labels

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
            raise InputError(f"A sample of {rows} rows is too small; take at least {FEWEST_ROWS}.")
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

    def named_table(self) -> pa.Table:
        """The table with the names of the classes for their numbers."""
        if self.kind == "generation":
            return self.table
        names = pa.DictionaryArray.from_arrays(pa.array(self.labels, pa.int32()), pa.array(self.classes, pa.string()))
        return self.table.set_column(self.table.column_names.index("label"), "label", names)

    def to_pandas(self) -> Any:
        """One row for each text; labels are the names of the classes, as a categorical."""
        return to_pandas(self.named_table())

    def show(self) -> None:
        """Display the rows of each split and class, and the notes, in a notebook; print them elsewhere."""
        show(self)

    def save(self, path: str | Path) -> Path:
        """Write one .parquet file, which `attentest.load` reads back as the same corpus."""
        from attentest.corpora.stored import save_corpus  # which knows this class

        path = Path(path)
        if path.suffix.lower() != ".parquet":
            raise InputError(f"A corpus is saved as .parquet, not as '{path.name}'.")
        make_folder(path.parent)
        save_corpus(self, path)
        return path

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {sum(n.values()):,}" for name, n in self.counts().items())
        return f"Corpus({self.name!r}, {self.kind}, {len(self.classes)} classes, {sizes})"

    def __rich__(self) -> RenderableType:
        return text_table(*self._counts_table(), caption="\n".join((self.name, *self.notes)))

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return html_table(*self._counts_table(), caption=self.name) + notes

    def _counts_table(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """A row for each class; where they are many, for the first of them and one for the rest."""
        counts = list(self.counts().values())
        names = list(counts[0])
        rows: list[tuple[Any, ...]] = [(name, *(split[name] for split in counts)) for name in names[:SHOWN]]
        if len(names) > SHOWN:
            rest = [sum(split[name] for name in names[SHOWN:]) for split in counts]
            rows.append((f"{len(names) - SHOWN:,} more classes", *rest))
        return ["class", *SPLITS], rows


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
