"""bAbI tasks 1 to 3, as unpacked: qa1_single-supporting-fact_train.txt and so on, stories of numbered lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attentest.corpora import rationales
from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import Corpus
from attentest.corpora.layouts.reading import need, read_lines, shorten
from attentest.corpora.recipes import BABI_RECIPE
from attentest.errors import InputError

ENDINGS = {"train": "train.txt", "dev": "valid.txt", "test": "test.txt"}
EXPECTED = "'3 Where is Mary?', the answer and the numbers of the supporting lines, separated by tabs"
_LINE = re.compile(r"(\d+) (.+)")


class Question(NamedTuple):
    line: int
    story: str  # the statements before it, one a line
    text: str
    answer: str
    support: tuple[int, ...]  # which of them


def load(path: Path, task: int = 1) -> Corpus:
    """Questions, each with all statements of its story so far; the rationale marks the supporting ones.

    Only some releases have files for validation; without one, training questions are set aside.
    """
    if task not in (1, 2, 3):
        raise InputError(f"bAbI task {task} cannot be read; choose 1, 2 or 3.")
    columns: dict[str, list[Any]] = {key: [] for key in ("id", "split", "text", "second", "label", "rationale")}
    for split, file in _files(path, task).items():
        for question in _questions(file):
            columns["id"].append(f"{split}/{question.line}")
            columns["split"].append(split)
            columns["text"].append(question.story)
            columns["second"].append(question.text)
            columns["label"].append(question.answer)
            columns["rationale"].append(rationales.of_sentences(question.story, question.support))
    return build_corpus(f"babi{task}", columns, kind="pair", recipe=BABI_RECIPE)


def _files(path: Path, task: int) -> dict[str, Path]:
    patterns = {split: f"qa{task}_*{ending}" for split, ending in ENDINGS.items()}
    need(path, "bAbI", [patterns["train"], patterns["test"]])
    files: dict[str, Path] = {}
    for split, pattern in patterns.items():
        found = sorted(path.glob(pattern))
        if len(found) > 1:
            raise InputError(f"bAbI: {path} has {found[0].name} and {found[1].name}; expected one {pattern}.")
        if found:
            files[split] = found[0]
    return files


def _questions(file: Path) -> Iterator[Question]:
    """The questions of a file; a story begins where the numbers of its lines begin again."""
    statements: dict[int, str] = {}  # by the number of their line
    last, asked = 0, 0
    for line, content in read_lines(file, "bAbI"):
        where = f"{file}, line {line}"
        numbered = _LINE.fullmatch(content.strip())
        if not numbered:
            raise InputError(f"bAbI: {where} is '{shorten(content)}'; expected a number and a sentence.")
        number, sentence = int(numbered[1]), numbered[2]
        if number <= last:
            statements = {}
        last = number
        if "\t" in sentence:
            asked += 1
            yield _question(sentence, statements, line, where)
        else:
            statements[number] = sentence.strip()
    if not asked:
        raise InputError(f"bAbI: {file} has no questions; expected lines like {EXPECTED}.")


def _question(sentence: str, statements: dict[int, str], line: int, where: str) -> Question:
    text, *rest = (field.strip() for field in sentence.split("\t"))
    if len(rest) != 2 or not all(number.isdecimal() for number in rest[1].split()):
        raise InputError(f"bAbI: {where} is '{shorten(sentence)}'; expected a question like {EXPECTED}.")
    place = {number: i for i, number in enumerate(statements)}
    support = [int(number) for number in rest[1].split()]
    unknown = [number for number in support if number not in place]
    if unknown:
        raise InputError(f"bAbI: {where} is supported by line {unknown[0]}, which is no statement before it.")
    return Question(line, "\n".join(statements.values()), text, rest[0], tuple(place[n] for n in support))
