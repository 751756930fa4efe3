"""CNN question answering, as unpacked: questions/{training,validation,test}/*.question, one question a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import Corpus
from attentest.corpora.layouts.reading import need, read_text
from attentest.errors import InputError

FOLDERS = {"train": "training", "dev": "validation", "test": "test"}
PLACEHOLDER = "@placeholder"
_ENTITY = re.compile(r"@entity(\d+)")


class Question(NamedTuple):
    context: str
    text: str
    answer: str


def load(path: Path) -> Corpus:
    """Articles with names written as @entity1, a sentence that lacks one of them, and the one it lacks.

    A file that is not a whole question is skipped, and so is one whose answer its article does not name: only
    what the article names can be answered. The layout is also that of the Daily Mail questions.
    """
    need(path, "CNN", [f"questions/{folder}" for folder in FOLDERS.values()])
    columns: dict[str, list[Any]] = {"id": [], "split": [], "text": [], "second": [], "label": []}
    broken, unnamed = [], 0
    for split, name in FOLDERS.items():
        before = len(columns["id"])
        folder = path / "questions" / name
        for file in sorted(folder.glob("*.question")):
            question = _read_question(file)
            if question is None:
                broken.append(f"{name}/{file.name}")
            elif question.answer not in question.context.split():
                unnamed += 1
            else:
                columns["id"].append(f"{split}/{file.stem}")
                columns["split"].append(split)
                columns["text"].append(question.context)
                columns["second"].append(question.text)
                columns["label"].append(question.answer)
        if len(columns["id"]) == before:
            raise InputError(
                f"CNN: {folder} has no questions; expected files like x.question with address, article, question "
                f"with {PLACEHOLDER}, answer and the names of the entities, a blank line after each."
            )
    classes = sorted(set(columns["label"]), key=_number)
    index = {entity: i for i, entity in enumerate(classes)}
    columns["label"] = [index[answer] for answer in columns["label"]]
    return build_corpus(
        "cnn",
        columns,
        kind="pair",
        classes=classes,
        recipe={
            "tokenizer": "whitespace",
            "lower": False,
            "digits": "keep",
            "min_frequency": 8,
            "max_tokens": 2000,
            "answers": "entities",
        },
        notes=_say(broken, unnamed),
    )


def _read_question(file: Path) -> Question | None:
    """The question in a file, or None where it is cut short or is something else."""
    try:
        blocks = read_text(file, "CNN").replace("\r\n", "\n").strip().split("\n\n")
    except InputError:
        return None
    if len(blocks) != 5:
        return None
    _, context, text, answer, names = (block.strip() for block in blocks)
    whole = context and PLACEHOLDER in text and _ENTITY.fullmatch(answer) and _ENTITY.match(names)
    return Question(context, text, answer) if whole else None


def _number(entity: str) -> int:
    return int(entity.removeprefix("@entity"))


def _say(broken: list[str], unnamed: int) -> list[str]:
    notes = []
    if broken:
        notes.append(f"Skipped {len(broken):,} files that are not whole questions, such as {broken[0]}.")
    if unnamed:
        notes.append(f"Skipped {unnamed:,} questions whose answer is not in their article.")
    return notes
