"""Discharge summaries of MIMIC-III, labelled by the admission's diagnoses.

The papers name the tasks (diabetes or not; chronic or acute anemia) without listing the codes. The ICD-9
rules here are our reading of those descriptions, and so may differ from the papers' own labels.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import Corpus
from attentest.errors import InputError

DIABETES = ("250",)
CHRONIC_ANEMIA = ("280", "281", "2852")
ACUTE_ANEMIA = ("2851",)
DEIDENTIFIED = re.compile(r"\[\*\*.*?\*\*\]", re.DOTALL)


def load_diabetes(path: Path) -> Corpus:
    """Admissions with a diagnosis of diabetes (ICD-9 250.xx) are positive, all others negative."""

    def label(codes: Sequence[str]) -> int | None:
        return int(any(code.startswith(DIABETES) for code in codes))

    return _load(path, "diabetes", label, ("no diabetes", "diabetes"), {"min_tokens": 7})


def load_anemia(path: Path) -> Corpus:
    """Chronic anemia (ICD-9 280, 281, 285.2x) is positive, acute (285.1) negative; the rest is dropped."""

    def label(codes: Sequence[str]) -> int | None:
        chronic = any(code.startswith(CHRONIC_ANEMIA) for code in codes)
        acute = any(code.startswith(ACUTE_ANEMIA) for code in codes)
        return int(chronic) if chronic != acute else None

    return _load(path, "anemia", label, ("acute", "chronic"), {})


def _load(
    path: Path,
    name: str,
    label: Callable[[Sequence[str]], int | None],
    classes: tuple[str, str],
    recipe: dict[str, int],
) -> Corpus:
    diagnoses_file, notes_file = _find(path, "DIAGNOSES_ICD.csv"), _find(path, "NOTEEVENTS.csv")
    codes: dict[str, list[str]] = {}
    for admission, code in _records(diagnoses_file, ("HADM_ID", "ICD9_CODE")):
        codes.setdefault(admission, []).append(code.strip())
    labels = {admission: label(diagnosed) for admission, diagnosed in codes.items()}
    summaries: dict[str, list[str]] = {}
    unlabelled, undiagnosed = set(), set()
    for admission, category, error, text in _records(notes_file, ("HADM_ID", "CATEGORY", "ISERROR", "TEXT")):
        if category.strip() != "Discharge summary" or error.strip() == "1" or not admission:
            continue
        if admission not in labels:
            undiagnosed.add(admission)
        elif labels[admission] is None:
            unlabelled.add(admission)
        else:
            summaries.setdefault(admission, []).append(DEIDENTIFIED.sub("deidentified", text))
    notes = []
    if undiagnosed:
        notes.append(f"Dropped {len(undiagnosed):,} admissions that have no row in {diagnoses_file.name}.")
    if unlabelled:
        notes.append(f"Dropped {len(unlabelled):,} admissions with both kinds of {name} or neither.")
    return build_corpus(
        name,
        {
            "id": list(summaries),
            "text": ["\n".join(texts) for texts in summaries.values()],
            "label": [labels[admission] for admission in summaries],
        },
        classes=classes,
        recipe={
            "lower": True,
            "digits": "qqq",
            "min_frequency": 5,
            **recipe,
            "max_tokens": 3999,
            "long": "drop",
        },
        notes=notes,
    )


def _find(path: Path, name: str) -> Path:
    for file in (path / name, path / f"{name}.gz"):
        if file.is_file():
            return file
    what = f"has no {name} or {name}.gz" if path.is_dir() else "is not a folder"
    raise InputError(
        f"MIMIC-III: {path} {what}; expected a folder with NOTEEVENTS.csv and DIAGNOSES_ICD.csv (or .csv.gz)."
    )


def _open(file: Path) -> TextIO:
    if file.suffix == ".gz":
        return io.TextIOWrapper(gzip.GzipFile(file), encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _records(file: Path, wanted: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The wanted columns of every record, one record in memory at a time: NOTEEVENTS.csv is 4 GB."""
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    number = 0
    try:
        with _open(file) as stream:
            reader = csv.reader(stream, strict=True)
            header = [column.strip().upper() for column in next(reader, [])]
            missing = [column for column in wanted if column not in header]
            if missing:
                raise InputError(
                    f"MIMIC-III: {file} has no column {missing[0]}; expected a header with {', '.join(wanted)}."
                )
            places = [header.index(column) for column in wanted]
            for record in reader:
                number = reader.line_num
                if len(record) != len(header):
                    raise InputError(
                        f"MIMIC-III: {file}, line {number} has {len(record)} columns; expected "
                        f"{len(header)} as in its header."
                    )
                yield tuple(record[place] for place in places)
    except UnicodeDecodeError as error:
        raise InputError(f"MIMIC-III: {file} is not UTF-8 somewhere after line {number}.") from error
    except (csv.Error, EOFError, zlib.error, OSError) as error:
        raise InputError(
            f"MIMIC-III: {file} cannot be read after line {number} ({error}); expected comma-separated "
            "columns with quoted text: download it again."
        ) from error
    finally:
        csv.field_size_limit(limit)
