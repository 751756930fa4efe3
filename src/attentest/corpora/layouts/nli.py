"""SNLI and MultiNLI, as unpacked: a .jsonl or a tab-separated .txt file for each split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora.build import build_corpus
from attentest.corpora.columns import MissingColumnError
from attentest.corpora.corpus import Corpus
from attentest.corpora.files import read_table
from attentest.corpora.layouts.reading import need, read_lines, shorten
from attentest.corpora.recipes import NLI, NLI_RECIPE
from attentest.errors import InputError

COLUMNS = {"id": "pairID", "text": "sentence1", "second": "sentence2", "label": "gold_label"}
UNDECIDED = "-"  # the gold label where no three of the five annotators agree


def load_snli(path: Path) -> Corpus:
    """Pairs of a premise and a hypothesis; those without a gold label are dropped."""
    return _load(path, "SNLI", {split: f"snli_1.0_{split}" for split in ("train", "dev", "test")})


def load_multinli(path: Path) -> Corpus:
    """As SNLI; the labels of the test sets are not public, so the mismatched dev set is for testing."""
    stems = {
        "train": "multinli_1.0_train",
        "dev": "multinli_1.0_dev_matched",
        "test": "multinli_1.0_dev_mismatched",
    }
    note = "MultiNLI has no public test labels: dev_matched is the dev split, dev_mismatched the test split."
    return _load(path, "MultiNLI", stems, [note])


def _load(path: Path, corpus: str, stems: Mapping[str, str], notes: Sequence[str] = ()) -> Corpus:
    files = {split: _file(path, stem) for split, stem in stems.items()}
    need(path, corpus, [file.name for file in files.values()])
    tables, undecided = [], 0
    for split, file in files.items():
        table = _read_tab_separated(file, corpus) if file.suffix == ".txt" else _read_records(file, corpus)
        decided = table.filter(pc.invert(pc.is_in(table["label"], pa.array([UNDECIDED], table["label"].type))))
        undecided += table.num_rows - decided.num_rows
        tables.append(
            pa.table(
                {
                    "id": pc.binary_join_element_wise(_text(split), decided["id"], _text("/")),
                    "split": pa.repeat(split, decided.num_rows),
                    "text": decided["text"],
                    "second": decided["second"],
                    "label": _encode(decided["label"], f"{corpus}: {file}"),
                }
            )
        )
    merged = pa.concat_tables(tables)
    dropped = (
        [f"Dropped {undecided:,} pairs with the gold label '{UNDECIDED}': their annotators disagree."]
        if undecided
        else []
    )
    return build_corpus(
        corpus.lower(),
        {column: merged[column] for column in merged.column_names},
        kind="pair",
        classes=NLI,
        recipe=NLI_RECIPE,
        notes=[*notes, *dropped],
    )


def _file(folder: Path, stem: str) -> Path:
    """The .jsonl file, unless only the .txt file is there."""
    records, lines = folder / f"{stem}.jsonl", folder / f"{stem}.txt"
    return lines if lines.exists() and not records.exists() else records


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())


def _read_records(file: Path, corpus: str) -> pa.Table:
    try:
        return read_table(file, COLUMNS)[0]
    except MissingColumnError as error:
        raise InputError(
            f"{corpus}: {file} does not have all of {', '.join(COLUMNS.values())}; expected them in every record."
        ) from error


def _read_tab_separated(file: Path, corpus: str) -> pa.Table:
    """The columns we want of a file whose first line names them; its quotation marks are part of the text."""
    lines = read_lines(file, corpus)
    header = lines[0][1].split("\t") if lines else []
    missing = [theirs for theirs in COLUMNS.values() if theirs not in header]
    if missing:
        raise InputError(
            f"{corpus}: the first line of {file} does not name {missing[0]}; expected tab-separated lines under "
            f"a header with {', '.join(COLUMNS.values())}."
        )
    if len(lines) == 1:
        raise InputError(f"{corpus}: {file} has no rows under its header.")
    places = {ours: header.index(theirs) for ours, theirs in COLUMNS.items()}
    columns: dict[str, list[str]] = {ours: [] for ours in COLUMNS}
    for number, line in lines[1:]:
        fields = line.split("\t")
        if len(fields) <= max(places.values()):
            raise InputError(
                f"{corpus}: {file}, line {number} has {len(fields)} columns; expected {len(header)} as in its header."
            )
        for ours, place in places.items():
            columns[ours].append(fields[place])
    return pa.table({ours: pa.array(values, pa.large_string()) for ours, values in columns.items()})


def _encode(labels: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
    odd = pc.filter(labels, pc.invert(pc.is_in(labels, pa.array([*NLI, None, ""], labels.type))))
    if len(odd):
        raise InputError(
            f"{where} has the gold label '{shorten(odd[0].as_py())}'; expected {', '.join(NLI)} or {UNDECIDED}."
        )
    return pc.index_in(labels, pa.array(NLI, labels.type))
