"""Links between the words of sentences and of their translations, from files in the common forms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attentest.columns import expect_columns, is_text
from attentest.corpora.parallel import read_lines
from attentest.errors import InputError, brief
from attentest.files import expect_file, read_foreign_table

Link = tuple[int, int]  # places of a source and of a target word, from 0
_BLANKS = re.compile(r"[ \t\r\n]+")
_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
COLUMNS = ("source", "target", "alignment")


@dataclass(frozen=True)
class LinkedPair:
    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]  # the sure ones among them, as in Och & Ney 2003


def read_links(
    path: Path, source_words: Path | None = None, target_words: Path | None = None, first: int = 0
) -> list[LinkedPair]:
    """Pairs with their links: a Parquet file with the sentences in it, or a text file with a line for each line of the
    two files of tokens. `i-j` is a sure link, `ipj` a possible one; words count from `first`."""
    if path.suffix == ".parquet":
        if source_words is not None or target_words is not None:
            raise InputError(f"{path} has its own sentences; leave out source_words and target_words.")
        table = read_foreign_table(path)
        expect_columns(table, dict.fromkeys(COLUMNS, is_text), path)
        columns = [table[name].to_pylist() for name in COLUMNS]
        return _pairs(columns[0], columns[1], columns[2], f"{path}, row", first)
    expect_file(path)
    if source_words is None or target_words is None:
        raise InputError(
            f"{path} has links alone; give the tokenised sentences whose words they count, one in each line, as the "
            "files source_words and target_words."
        )
    sides = [read_lines(file, "utf-8") for file in (source_words, target_words, path)]
    for file, lines in zip((source_words, target_words), sides[:2], strict=True):
        if len(lines) != len(sides[2]):
            shorter, last = min((path, len(sides[2])), (file, len(lines)), key=lambda one: one[1])
            raise InputError(
                f"{path} has {len(sides[2]):,} lines and {file} has {len(lines):,}; line n of one belongs to line n "
                f"of the other. {shorter.name} has no line {last + 1:,}."
            )
    return _pairs(sides[0], sides[1], sides[2], f"{path}, line", first)


def _pairs(
    sources: Sequence[str], targets: Sequence[str], links: Sequence[str], where: str, first: int
) -> list[LinkedPair]:
    return [
        _pair(_words(source), _words(target), written.split(), f"{where} {number}", first)
        for number, (source, target, written) in enumerate(zip(sources, targets, links, strict=True), 1)
    ]


def _words(sentence: str) -> tuple[str, ...]:
    """Cut at blanks alone: aligners count a no-break space that stands by itself as a word."""
    return tuple(word for word in _BLANKS.split(sentence) if word)


def _pair(
    source: tuple[str, ...], target: tuple[str, ...], written: Sequence[str], where: str, first: int
) -> LinkedPair:
    sure, possible = set(), set()
    for link in written:
        parts = _LINK.fullmatch(link)
        if parts is None:
            raise InputError(f"{where}: {brief(link)} is no link; expected i-j (sure) or ipj (possible).")
        found = int(parts[1]) - first, int(parts[3]) - first
        for place, words, side in zip(found, (source, target), ("source", "target"), strict=True):
            if not 0 <= place < len(words):
                raise InputError(
                    f"{where}: the link {brief(link)} is out of range: the {side} has {len(words)} words, numbered "
                    f"from {first} (the setting first)."
                )
        possible.add(found)
        if parts[2] == "-":
            sure.add(found)
    return LinkedPair(source, target, frozenset(sure), frozenset(possible))
