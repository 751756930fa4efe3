"""Words planted in the texts of any corpus: rows whose label, and the reason for it, are known.

A share of each split's rows gets a new label, which has nothing to do with the row's text, and made-up words of that
label between its words; the rationale marks these and nothing else. The other rows stay as they are, so that a model
has to learn from the corpus's own words, too. Which rows, labels, words and places are chosen depends on the seed
and the rows' ids: the order of the rows changes nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from attentest.chance import keyed_uniform
from attentest.corpora.corpus import SPLITS, Corpus
from attentest.corpora.planted import lexicon
from attentest.errors import InputError, brief

WORDS = 4  # of each class
FIRST_WORDS = 200  # of a text, among which words are planted: they are read however a long text is cut
MAX_TOKENS = 1000  # that are read of a text whose corpus has no recipe
MOST_EVIDENCE = 2
_CHUNK = 1_000  # texts at a time
_SHOWN = 5  # classes whose words a note names
_WORD = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W\d_]+")
_PIECE = re.compile(r"\w+|[^\w\s]")  # no tokenizer makes more tokens of a text


def plant(corpus: Corpus, share: float, *, words: int = WORDS, evidence: int = MOST_EVIDENCE, seed: int = 0) -> Corpus:
    """`evidence` of a class's `words` planted words in a share of the rows, exact in every split, balanced over
    classes; the corpus's own rationales are left out."""
    _check(corpus, share, words, evidence)
    lists = _planted_words(corpus, words)
    keys = np.fromiter((_key(i) for i in corpus.table["id"].to_pylist()), np.uint64, len(corpus))
    chosen, labels = _new_labels(corpus, keyed_uniform(seed, "planted rows", keys, 1)[:, 0], share)
    table = _written(corpus, lists, np.where(chosen, labels, -1), keys, evidence, seed)
    notes = [*corpus.notes, _note(corpus, lists, int(chosen.sum()), evidence)]
    if corpus.has_rationale:
        notes.append("The rationales of the corpus are left out: only planted words are marked.")
    return replace(corpus, name=f"{corpus.name}, planted", table=table, notes=tuple(notes))


def _check(corpus: Corpus, share: float, words: int, evidence: int) -> None:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise InputError(f"plant is {brief(share)}; it must be a share of the rows: above 0 and at most 1.")
    if corpus.kind != "single":
        raise InputError(f"{corpus.name} is a {corpus.kind} corpus; `plant` is for single texts.")
    if words < 1 or not 1 <= evidence <= MOST_EVIDENCE:
        raise InputError(f"A text gets 1 or {MOST_EVIDENCE} of at least one planted word, not {evidence} of {words}.")


def _planted_words(corpus: Corpus, words: int) -> list[list[str]]:
    """A list for each class, of made-up words that the corpus has in no form."""
    taken: set[str] = set()
    for texts in _chunks(corpus.table["text"]):
        taken.update(_LETTERS.findall("\n".join(texts).lower()))
    # "n't" is split off: before it, a word may end with an n that is not its own
    free = [word for word in lexicon() if word not in taken and f"{word}n" not in taken]
    needed = words * len(corpus.classes)
    if len(free) < needed:
        raise InputError(
            f"{corpus.name} has {len(corpus.classes):,} classes; there are too few made-up words to plant {words} for "
            "each."
        )
    return [free[start : start + words] for start in range(0, needed, words)]


def _chunks(texts: pa.ChunkedArray) -> Iterator[list[str]]:
    for start in range(0, len(texts), _CHUNK):
        yield [text or "" for text in texts.slice(start, _CHUNK).to_pylist()]


def _key(row: str) -> int:
    return int.from_bytes(hashlib.blake2b(row.encode(), digest_size=8).digest(), "little")


def _new_labels(corpus: Corpus, drawn: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are planted, and a label for each of these: in the order of what was drawn, class after class."""
    chosen, labels = np.zeros(len(corpus), bool), np.zeros(len(corpus), np.int64)
    split = corpus.split
    for name in SPLITS:
        rows = np.flatnonzero(split == name)
        count = max(1, round(share * len(rows))) if len(rows) else 0
        first = rows[np.argsort(drawn[rows], kind="stable")[:count]]
        chosen[first], labels[first] = True, np.arange(count) % len(corpus.classes)
    return chosen, labels


def _written(
    corpus: Corpus, lists: Sequence[Sequence[str]], labels: np.ndarray, keys: np.ndarray, evidence: int, seed: int
) -> pa.Table:
    """The table with planted words where a label is not below 0."""
    most = int(corpus.recipe.get("max_tokens", MAX_TOKENS)) - evidence
    which = keyed_uniform(seed, "planted words", keys, evidence)
    where = keyed_uniform(seed, "planted places", keys, evidence)
    texts, marks = [], []
    for start, chunk in zip(range(0, len(corpus), _CHUNK), _chunks(corpus.table["text"]), strict=True):
        written: list[str] = []
        marked: list[list[int] | None] = []
        for row, text in enumerate(chunk, start):
            if labels[row] < 0:
                written.append(text)
                marked.append(None)
                continue
            own = lists[labels[row]]
            planted = [own[int(draw * len(own))] for draw in which[row]]
            new, mark = _insert(text, planted, where[row], most)
            written.append(new)
            marked.append(mark)
        texts.append(pa.array(written, corpus.table["text"].type))
        marks.append(pa.array(marked, pa.list_(pa.int8())))
    table = corpus.table.drop_columns("rationale") if corpus.has_rationale else corpus.table
    columns = {
        "text": pa.chunked_array(texts, corpus.table["text"].type),
        "label": pa.array(np.where(labels < 0, corpus.labels, labels).astype(corpus.labels.dtype)),
    }
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return table.append_column("rationale", pa.chunked_array(marks, pa.list_(pa.int8())))


def _insert(text: str, planted: Sequence[str], where: np.ndarray, most: int) -> tuple[str, list[int]]:
    """Words at places that are drawn among the gaps between the text's words (0 to 1 over those that are read)."""
    spans = [found.span() for found in _WORD.finditer(text)]
    gaps = np.sort((where * (_near(text, spans, most) + 1)).astype(int)).tolist()
    marks = [0] * len(spans)
    for word, gap in reversed(list(zip(planted, gaps, strict=True))):
        if gap < len(spans):
            at = spans[gap][0]
            text = f"{text[:at]}{word} {text[at:]}"
        else:
            at = spans[-1][1] if spans else 0
            text = f"{text[:at]} {word}{text[at:]}" if spans else f"{word} {text}".rstrip()
        marks.insert(gap, 1)
    return text, marks


def _near(text: str, spans: Sequence[tuple[int, int]], most: int) -> int:
    """How many of the first words are read for sure: what is planted after them is read, too."""
    near = min(len(spans), FIRST_WORDS)
    if len(text) <= most:  # a token has a character at least
        return near
    tokens = 0
    for count, (start, end) in enumerate(spans[:near]):
        tokens += len(_PIECE.findall(text, start, end))
        if tokens > most:
            return count
    return near


def _note(corpus: Corpus, lists: Sequence[Sequence[str]], count: int, evidence: int) -> str:
    what = "a made-up word" if evidence == 1 else f"{evidence} made-up words"
    named = [f"'{name}': {', '.join(own)}" for name, own in zip(corpus.classes, lists, strict=True)]
    more = f"; and so on for {len(named) - _SHOWN:,} more classes" if len(named) > _SHOWN else ""
    return (
        f"{count:,} of {len(corpus):,} rows have {what} of a new label, whatever their text says "
        f"({'; '.join(named[:_SHOWN])}{more})."
    )
