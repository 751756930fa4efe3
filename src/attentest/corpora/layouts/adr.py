"""Tweets about adverse drug reactions, in the shared task's layout: tweet id, user id, label, text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import SPLITS, Corpus
from attentest.corpora.layouts.reading import read_lines, shorten
from attentest.errors import InputError

WITHDRAWN = "Not Available"  # what the download script writes for a deleted tweet
EXPECTED = "tab-separated lines with tweet id, user id, label 0 or 1, text"


def load(path: Path) -> Corpus:
    """Tweets that mention an adverse reaction, or do not; from one file, or a folder with train.tsv."""
    columns: dict[str, list[Any]] = {"id": [], "text": [], "label": []}
    splits: list[str] = []
    withdrawn = 0
    for split, file in _files(path).items():
        for number, line in read_lines(file, "ADR"):
            tweet, label, text = _read_line(line, f"{file}, line {number}")
            if text in ("", WITHDRAWN):
                withdrawn += 1
                continue
            columns["id"].append(tweet)
            columns["text"].append(text)
            columns["label"].append(label)
            splits.append(split)
    return build_corpus(
        "adr",
        columns if path.is_file() else {**columns, "split": splits},
        classes=("no reaction", "reaction"),
        recipe={
            "lower": False,
            "digits": "keep",
            "min_frequency": 2,
            "min_tokens": 6,
            "max_tokens": 99,
            "long": "drop",
        },
        notes=[f"Dropped {withdrawn:,} tweets whose text is no longer available."] if withdrawn else [],
    )


def _files(path: Path) -> dict[str, Path]:
    if path.is_file():
        return {"train": path}
    files = {split: path / f"{split}.tsv" for split in SPLITS if (path / f"{split}.tsv").is_file()}
    if "train" not in files:
        what = "has no train.tsv" if path.is_dir() else "does not exist"
        raise InputError(f"ADR: {path} {what}; expected a file, or a folder with train.tsv and test.tsv: {EXPECTED}.")
    return files


def _read_line(line: str, where: str) -> tuple[str, int, str]:
    fields = line.split("\t")
    if len(fields) != 4:
        raise InputError(f"ADR: {where} has {len(fields)} columns; expected {EXPECTED}.")
    tweet, _, label, text = (field.strip() for field in fields)
    if label not in ("0", "1"):
        raise InputError(f"ADR: {where} has label '{shorten(label)}'; expected {EXPECTED}.")
    return tweet, int(label), text
