"""What a look at the texts tells about a corpus: texts in two splits, texts with two labels, words that are not cut.

Remarks change no row and no fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_HARMFUL = 0.01  # of a split's texts, when they are in train, too
_SAMPLE = 500  # texts that tell the script
_START = 2_000  # characters of each of them
_SHARE = 0.1  # of the letters, from which on it is worth a remark
# scripts written without spaces, and how long a stretch without one is on average when words were separated before
_CHINESE_JAPANESE = r"\p{Han}\p{Hiragana}\p{Katakana}ー", 3
_SOUTHEAST_ASIAN = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}", 10


def remarks(table: pa.Table) -> list[str]:
    """Notes about a table whose splits and labels are final."""
    texts = _numbered(table)
    what = "pair" if "second" in table.column_names else "text"
    found = [*_in_two_splits(texts, table["split"], what)]
    if "label" in table.column_names:
        found += _with_two_labels(texts, table["label"].to_numpy(), what)
    return [*found, *_not_cut(table["text"])]


def _numbered(table: pa.Table) -> np.ndarray:
    """The same number, counted from 0, for the same text (or pair of texts), white space around it aside."""
    numbers = _codes(table["text"])
    if "second" in table.column_names:
        second = _codes(table["second"])
        numbers = np.unique(numbers * (second.max(initial=0) + 1) + second, return_inverse=True)[1]
    return numbers


def _codes(texts: pa.ChunkedArray) -> np.ndarray:
    encoded = pc.dictionary_encode(pc.utf8_trim_whitespace(texts)).unify_dictionaries()
    codes: np.ndarray = encoded.combine_chunks().indices.to_numpy().astype(np.int64)
    return codes


def _in_two_splits(texts: np.ndarray, split: pa.ChunkedArray, what: str) -> Iterator[str]:
    in_train = np.zeros(texts.max(initial=-1) + 1, bool)
    in_train[texts[pc.equal(split, "train").to_numpy()]] = True
    for name in ("dev", "test"):
        rows = texts[pc.equal(split, name).to_numpy()]
        shared = int(in_train[rows].sum())
        if shared:
            are = "is" if shared == 1 else "are"
            effect = f", so scores on {name} may be too high" if shared >= _HARMFUL * len(rows) else ""
            yield f"{shared:,} of {len(rows):,} {name} {what}s {are} also in train (white space aside){effect}."


def _with_two_labels(texts: np.ndarray, labels: np.ndarray, what: str) -> Iterator[str]:
    one = np.zeros(texts.max(initial=-1) + 1, labels.dtype)
    one[texts] = labels  # any of a text's labels: another one is a second
    several = np.zeros(len(one), bool)
    several[texts[labels != one[texts]]] = True
    count, rows = int(several.sum()), int(several[texts].sum())
    if count:
        have = f"{what} has" if count == 1 else f"{what}s have"
        yield f"{count:,} {have} more than one label, in {rows:,} rows."


def _not_cut(texts: pa.ChunkedArray) -> Iterator[str]:
    places = np.unique(np.linspace(0, len(texts) - 1, min(_SAMPLE, len(texts))).astype(np.int64))
    sample = pc.utf8_slice_codeunits(texts.take(places), 0, _START)

    def count(pattern: str) -> int:
        return int(pc.sum(pc.count_substring_regex(sample, pattern)).as_py() or 0)

    uncut = 0
    for script, words_apart in (_CHINESE_JAPANESE, _SOUTHEAST_ASIAN):
        characters = count(f"[{script}]")
        if characters > words_apart * count(f"[{script}]+"):
            uncut += characters
    letters = count(r"[\p{L}\p{M}]") if uncut else 0
    if letters and uncut >= _SHARE * letters:
        yield (
            f"About {min(uncut / letters, 1):.0%} of the letters are in scripts written without spaces (Chinese, "
            "Japanese, Thai and the like), which the tokenizers do not split into words: whole clauses become tokens. "
            "Separate the words by spaces first (with a word segmenter), and train with "
            '`tokenizer="whitespace"`.'
        )
