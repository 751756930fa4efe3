"""Large Movie Review Dataset (IMDb), as unpacked: aclImdb/{train,test}/{pos,neg}/ID_RATING.txt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import Corpus
from attentest.corpora.layouts.reading import need, read_text
from attentest.corpora.line_breaks import PATTERN
from attentest.errors import InputError

CLASSES = {"neg": 0, "pos": 1}
_BREAKS = re.compile(PATTERN)
_NAME = re.compile(r"\d+_\d+")


def load(path: Path) -> Corpus:
    """The 25,000 + 25,000 labelled reviews, with line breaks for `<br />`; `train/unsup` is not read.

    The test split is the dataset's own. Jain & Wallace 2019 drew theirs from it at random, so ours is larger.
    """
    need(path, "IMDb", [f"{split}/{side}" for split in ("train", "test") for side in CLASSES])
    columns: dict[str, list[Any]] = {"id": [], "split": [], "text": [], "label": []}
    for split in ("train", "test"):
        for side, label in CLASSES.items():
            for file in _reviews(path / split / side):
                columns["id"].append(f"{split}/{side}/{file.stem}")
                columns["split"].append(split)
                columns["text"].append(_BREAKS.sub("\n", read_text(file, "IMDb")))
                columns["label"].append(label)
    return build_corpus(
        "imdb",
        columns,
        classes=("negative", "positive"),
        recipe={
            "lower": True,
            "digits": "keep",
            "min_frequency": 10,
            "min_tokens": 7,
            "max_tokens": 399,
            "long": "drop",
        },
    )


def _reviews(folder: Path) -> Iterator[Path]:
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise InputError(f"IMDb: {folder} has no reviews; expected files named ID_RATING.txt, like 0_9.txt.")
    for file in files:
        if not _NAME.fullmatch(file.stem):
            raise InputError(f"IMDb: {file} is not named like a review; expected ID_RATING.txt, like 0_9.txt.")
        yield file
