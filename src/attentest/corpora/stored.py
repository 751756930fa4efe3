"""A corpus as one Parquet file: its table, with everything else about it in the file's metadata."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attentest.columns import IsKind, expect_columns, expect_marks, is_name, is_text
from attentest.corpora.corpus import SPLITS, Corpus, Kind
from attentest.errors import InputError
from attentest.files import arrow_file, checked, read_parquet, write_table

FILE = "corpus.parquet"  # in the folder of a step
_KEY = b"attentest.corpus"


@dataclass(frozen=True)
class _About:
    """What is known of a corpus besides its rows."""

    name: str
    kind: Kind
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    recipe: dict[str, Any]
    origin: dict[str, Any]


def save_corpus(corpus: Corpus, path: Path) -> None:
    """Write the file; its labels are the names of the classes, so that other programs can read it, too."""
    about = _About(
        corpus.name, corpus.kind, corpus.classes, corpus.notes, dict(corpus.recipe), plain_origin(corpus.origin)
    )
    write_table(path, corpus.named_table().replace_schema_metadata({_KEY: json.dumps(asdict(about))}))


def is_saved_corpus(path: Path) -> bool:
    """Whether `save_corpus` wrote this file; what cannot be read was not."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    try:
        with arrow_file(path) as file:
            return _KEY in (pq.read_schema(file).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def open_corpus(path: Path) -> Corpus:
    try:
        table = read_parquet(path)
        table.validate(full=True)  # whether text is UTF-8, for one
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file.") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is damaged or not a Parquet file.") from error
    metadata = table.schema.metadata or {}
    if _KEY not in metadata:
        raise InputError(f"{path} is not a corpus that attentest saved.")
    try:
        content = json.loads(metadata[_KEY])
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: its metadata is not what attentest writes ({error}).") from error
    about = checked(content, _About, path)
    if not all(_is_text(name) for name in (about.name, *about.classes)):
        raise InputError(f"{path} is damaged: a name in its metadata is no text.")
    return Corpus(
        about.name,
        about.kind,
        _with_codes(table.replace_schema_metadata(None), about, path),
        about.classes,
        about.notes,
        about.recipe,
        about.origin,
    )


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return True


def plain_origin(origin: Any) -> dict[str, Any]:
    """The same as JSON has it: paths and the like as text."""
    found: dict[str, Any] = json.loads(json.dumps(dict(origin), default=str))
    return found


def _with_codes(table: pa.Table, about: _About, path: Path) -> pa.Table:
    """The table with class numbers for the names that the file has; a file that was changed is refused."""
    wanted: dict[str, IsKind] = dict.fromkeys(("id", "split", "text"), is_text)
    wanted |= {"second": is_text} if about.kind != "single" else {}
    wanted |= {"label": is_name} if about.kind != "generation" else {}
    expect_columns(table, wanted, path)
    if "rationale" in table.column_names:
        words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(table["text"]))
        expect_marks(table, pc.list_value_length(words), path)
    _refuse_others(table["split"], SPLITS, "split", path)
    if "label" not in wanted:
        return table
    names = table["label"].cast(pa.string())
    _refuse_others(names, about.classes, "label", path)
    codes = pc.index_in(names, pa.array(about.classes, pa.string()))
    return table.set_column(table.column_names.index("label"), "label", codes)


def _refuse_others(values: pa.ChunkedArray, known: tuple[str, ...], column: str, path: Path) -> None:
    odd = pc.filter(values, pc.invert(pc.is_in(values, pa.array(known, values.type))))
    if len(odd):
        raise InputError(
            f"{path} is damaged: its column '{column}' holds '{odd[0]}'; expected one of {', '.join(known)}."
        )
