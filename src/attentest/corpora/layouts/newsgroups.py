"""20 Newsgroups, as unpacked from 20news-bydate: one folder a group, one message a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import Corpus
from attentest.corpora.layouts.reading import need, read_text
from attentest.errors import InputError, unknown_name

FOLDERS = {"train": "20news-bydate-train", "test": "20news-bydate-test"}
SPORTS = ("rec.sport.baseball", "rec.sport.hockey")
SIGNATURE_LINES = 4  # a last block of more lines than this is taken to be part of the message
RULED_LINES = 10  # under a line of dashes a signature may be longer
_QUOTED = re.compile(r"\s*[>|]|\s*In article\s*<|.*\b(?:writes|wrote)\s*:\s*$", re.IGNORECASE)
_RULE = re.compile(r"\s*[-_=*~]{2,}\s*")


def load(path: Path, groups: Sequence[str] | str = SPORTS) -> Corpus:
    """Messages of two or more groups, without headers, quotes and signatures; the group is the label.

    The split by date is the dataset's own; Jain & Wallace 2019 pooled the messages and drew theirs at random.
    """
    wanted = [g.strip() for g in groups.split(",")] if isinstance(groups, str) else list(groups)
    if len(set(wanted)) < 2:
        raise InputError(f"20 Newsgroups: {len(set(wanted))} group given; name at least two to tell apart.")
    need(path, "20 Newsgroups", list(FOLDERS.values()))
    columns: dict[str, list[Any]] = {"id": [], "split": [], "text": [], "label": []}
    for split, folder in FOLDERS.items():
        for label, group in enumerate(wanted):
            for file in _messages(path / folder, group):
                columns["id"].append(f"{split}/{group}/{file.name}")
                columns["split"].append(split)
                columns["text"].append(strip_message(read_text(file, "20 Newsgroups", fallback="latin-1")))
                columns["label"].append(label)
    return build_corpus(
        "20news",
        columns,
        classes=wanted,
        recipe={
            "lower": True,
            "digits": "qqq",
            "min_frequency": 2,
            "min_tokens": 7,
            "max_tokens": 499,
            "long": "drop",
        },
    )


def strip_message(message: str) -> str:
    """What the author wrote: no header, no quoted lines with their attribution, no signature."""
    _, _, body = message.replace("\r\n", "\n").partition("\n\n")
    lines = [line.rstrip() for line in body.split("\n") if not _QUOTED.match(line)]
    return "\n".join(_without_signature(lines)).strip()


def _without_signature(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    rules = [i for i, line in enumerate(lines) if _RULE.fullmatch(line)]
    if rules and len(lines) - rules[-1] - 1 <= RULED_LINES:
        # a signature may be framed by rules: go up to the first of those close to the end
        start = min(i for i in rules if len(lines) - i - 1 <= RULED_LINES)
    else:
        start = max((i for i, line in enumerate(lines) if not line), default=0)
        if len(lines) - start - 1 > SIGNATURE_LINES:
            return lines
    # a message that would be all signature is kept whole
    return lines[:start] if any(lines[:start]) else lines


def _messages(folder: Path, group: str) -> list[Path]:
    known = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    if not known:
        raise InputError(f"20 Newsgroups: {folder} is empty; expected one folder for each group, like {SPORTS[0]}.")
    if group not in known:
        raise unknown_name("newsgroup", group, known)
    return sorted(file for file in (folder / group).iterdir() if file.is_file())
