"""A corpus turned into token ids: tokenise, count, filter by length, number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from attentest.chance import keyed_uniform
from attentest.corpora.corpus import SPLITS, Corpus
from attentest.errors import InputError
from attentest.text.aside import Aside
from attentest.text.items import NO_TEXT, Items, TextTokenizer
from attentest.text.pieces import PieceTokenizer
from attentest.text.sequences import Sequences
from attentest.text.settings import TextSettings
from attentest.text.tokenizer import Tokenizer
from attentest.text.vocabulary import SPECIAL, Vocabulary
from attentest.text.windows import Bounds, whole_of

Report = Callable[[int, int], None]  # done, total
_CHUNK = 20_000
OF_PIECES = "Windows (long 'windows') are for pretrained encoders, whose length is limited; raise `max_tokens` instead."


@dataclass(frozen=True)
class TokenizedCorpus:
    """The usable rows of a corpus as ids; `rows` are their places in the corpus's table. A long text may be several
    rows, one after the other: a window each."""

    corpus: Corpus
    settings: TextSettings
    vocabulary: Vocabulary
    sequences: Sequences
    rows: np.ndarray
    labels: np.ndarray
    split: np.ndarray
    notes: tuple[str, ...]
    preset: np.ndarray | None = None  # a weight for each token, in the layout of `sequences`
    second: Sequences | None = None  # the other text of each pair
    sentences: np.ndarray | None = None  # the number of each token's sentence, in the layout of `sequences`
    rationale: np.ndarray | None = None  # 1 for each token of the reason, in the layout of `sequences`
    pieces: PieceTokenizer | None = None  # of a pretrained model; without it the settings say how texts are split
    bounds: Bounds | None = None  # the word pieces that each row has of its text, and of the second text of a pair
    aside: Aside | None = None  # tokens that are read and do not count as items, where there are such

    @property
    def tokenizer(self) -> TextTokenizer:
        return self.pieces or Tokenizer(self.settings)

    def own_tokens(self, row: int) -> np.ndarray:
        """True on the items that stand in a text, False on special tokens."""
        (items,) = self.items(np.array([row]))
        inside: np.ndarray = items.texts != NO_TEXT
        return inside

    @property
    def has_windows(self) -> bool:
        """Whether some text is more than one row."""
        return bool((np.diff(self.rows) == 0).any())

    def ids(self, rows: np.ndarray) -> list[str]:
        """Of these rows' texts; of a window with its number in the text, from 1."""
        names = [str(name) for name in self.corpus.table["id"].take(self.rows[rows]).to_pylist()]
        if not self.has_windows:
            return names
        windows = zip(names, rows.tolist(), map(self.windows_of, rows.tolist()), strict=True)
        return [name if len(all) == 1 else f"{name}#{row - all[0] + 1}" for name, row, all in windows]

    def windows_of(self, row: int) -> np.ndarray:
        """All rows of the text that this one is of."""
        return np.arange(*(np.searchsorted(self.rows, self.rows[row], side) for side in ("left", "right")))

    def one_of_each_text(self, rows: np.ndarray) -> np.ndarray:
        """One of the windows of each text among these rows, always the same: rows of one text are not independent."""
        order = np.lexsort((keyed_uniform(0, "window", rows, 1)[:, 0], self.rows[rows]))
        _, first = np.unique(self.rows[rows][order], return_index=True)
        found: np.ndarray = np.sort(rows[order][first])
        return found

    def of_split(self, name: str) -> np.ndarray:
        return np.flatnonzero(self.split == name)

    def text(self, row: int) -> str:
        return str(self.corpus.table["text"][int(self.rows[row])].as_py())

    def items(self, rows: np.ndarray) -> Iterator[Items]:
        """The tokens of each of these rows, with their places in the texts."""
        for text, row in zip(self._texts(rows), rows.tolist(), strict=True):
            if self.pieces is not None and self.bounds is not None:
                yield self.pieces.stretch(*text, self.bounds[row])
            else:
                yield self.tokenizer.items(*text, int(self.sequences.lengths[row]))

    def whole_items(self, rows: np.ndarray) -> Iterator[Items]:
        """The tokens that are read of these rows' texts, in whatever windows."""
        if self.pieces is None or self.bounds is None or not self.has_windows:
            yield from self.items(rows)
            return
        for text, row in zip(self._texts(rows), rows.tolist(), strict=True):
            yield self.pieces.stretch(*text, whole_of(self.bounds[self.windows_of(row)]))

    def _texts(self, rows: np.ndarray) -> list[tuple[str, str | None]]:
        names = [name for name in ("text", "second") if name in self.corpus.table.column_names]
        found = self.corpus.table.select(names).take(self.rows[rows]).to_pylist()
        return [(row["text"], row.get("second")) for row in found]

    def with_preset(self, weights: np.ndarray) -> TokenizedCorpus:
        if len(weights) != len(self.sequences.ids):
            raise InputError(
                f"Preset weights are for {len(weights):,} tokens, the corpus has {len(self.sequences.ids):,}."
            )
        totals = np.add.reduceat(weights, self.sequences.offsets[:-1])
        if not (weights >= 0).all() or np.abs(totals - 1).max() > 1e-4:
            raise InputError("Preset weights must be at least 0 and sum to 1 over each text.")
        return replace(self, preset=weights.astype(np.float32))


def tokenize_corpus(
    corpus: Corpus,
    settings: TextSettings,
    *,
    vocabulary: Vocabulary | None = None,
    report: Report = lambda done, total: None,
) -> TokenizedCorpus:
    """Token ids of every usable row; the vocabulary is counted on the training split unless one is given."""
    if settings.long == "windows":
        raise InputError(OF_PIECES)
    columns = ("text", "second") if corpus.kind == "pair" else ("text",)
    seen: dict[str, int] = {}  # every token numbered in the order it is first seen: texts are gone through only once
    read = Tokenizer(settings)
    texts = [
        _tokenize(corpus.table[name], read, seen, part_of(report, n, len(columns))) for n, name in enumerate(columns)
    ]
    first_seen = list(seen)
    rows, longest, notes = _filter_lengths(texts[0].lengths, settings)
    if len(texts) == 2:
        rows, more = _filter_second(rows, texts[1].lengths, longest)
        notes += more
    named: list[str] = []
    if corpus.answers == "entities":
        named = class_tokens(corpus.classes, settings)
        rows, more = _filter_answers(rows, texts[0], corpus.labels, np.array([seen.get(n, -1) for n in named]), longest)
        notes += more
    if not len(rows):
        raise InputError(f"{corpus.name}: no text has between {settings.min_tokens} and {longest} tokens.")
    texts = [sequences.select(rows, longest) for sequences in texts]
    split, labels = corpus.split[rows], corpus.labels[rows]
    if vocabulary is None:
        check_splits(corpus, split, labels)
        vocabulary = _count(first_seen, texts, split == "train", settings.min_frequency, set(named))
    number = vocabulary.ids(first_seen)
    sequences, *second = (Sequences(number[text.ids], text.offsets) for text in texts)
    return TokenizedCorpus(
        corpus,
        settings,
        vocabulary,
        sequences,
        rows,
        labels,
        split,
        tuple(notes),
        second=second[0] if second else None,
    )


def part_of(report: Report, number: int, parts: int) -> Report:
    """Progress of one of several equal parts."""
    return lambda done, total: report(number * total + done, parts * total)


def _tokenize(texts: pa.ChunkedArray, tokenizer: Tokenizer, seen: dict[str, int], report: Report) -> Sequences:
    ids: list[np.ndarray] = []
    lengths: list[np.ndarray] = []
    for start in range(0, len(texts), _CHUNK):
        counts, chunk = [], []
        for text in texts.slice(start, _CHUNK).to_pylist():
            tokens = tokenizer.tokens(text)
            counts.append(len(tokens))
            chunk += [seen.setdefault(token, len(seen)) for token in tokens]
        ids.append(np.array(chunk, np.int32))
        lengths.append(np.array(counts, np.int64))
        report(min(start + _CHUNK, len(texts)), len(texts))
    offsets = np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
    return Sequences(np.concatenate(ids), offsets)


def _filter_second(rows: np.ndarray, lengths: np.ndarray, longest: int) -> tuple[np.ndarray, list[str]]:
    """The other text of a pair only needs a token; a long one is cut, whatever is done with a long first text."""
    kept = rows[lengths[rows] > 0]
    notes = (
        [f"Dropped {len(rows) - len(kept):,} pairs without a token in the second text."]
        if len(kept) < len(rows)
        else []
    )
    cut = int((lengths[kept] > longest).sum())
    if cut:
        notes.append(f"Cut {cut:,} second texts to their first {longest:,} tokens.")
    return kept, notes


def _filter_lengths(lengths: np.ndarray, settings: TextSettings) -> tuple[np.ndarray, int, list[str]]:
    longest = settings.max_tokens
    short, long = lengths < settings.min_tokens, lengths > longest
    notes = []
    if short.any():
        notes.append(f"Dropped {short.sum():,} texts with fewer than {settings.min_tokens} tokens.")
    if long.any() and settings.long == "drop":
        notes.append(f"Dropped {long.sum():,} texts with more than {longest:,} tokens.")
    elif long.any():
        notes.append(
            f"Cut {long.sum():,} texts to their first {longest:,} tokens (the longest has {lengths.max():,}); "
            "`max_tokens` sets the limit."
        )
    dropped = short | long if settings.long == "drop" else short
    return np.flatnonzero(~dropped), longest, notes


def class_tokens(classes: Sequence[str], settings: TextSettings) -> list[str]:
    """The one token that each class is, where classes are words of the texts."""
    found = [tuple(Tokenizer(settings).tokens(name)) for name in classes]
    often = Counter(found)
    for name, tokens in zip(classes, found, strict=True):
        if len(tokens) != 1 or often[tokens] > 1:
            raise InputError(
                f"The answer '{name}' is not a single token under these text settings; answers that are words of the "
                "text need, for example, `tokenizer='whitespace'` and `digits='keep'`."
            )
    return [token for (token,) in found]


def _filter_answers(
    rows: np.ndarray, texts: Sequences, labels: np.ndarray, answers: np.ndarray, longest: int
) -> tuple[np.ndarray, list[str]]:
    """Questions whose answer is not in what is read of their text cannot be answered."""
    text = np.repeat(np.arange(len(texts)), texts.lengths)
    place = np.arange(len(texts.ids)) - np.repeat(texts.offsets[:-1], texts.lengths)
    there = np.zeros(len(texts), bool)
    there[text[(texts.ids == answers[labels][text]) & (place < longest)]] = True
    kept = rows[there[rows]]
    lost = len(rows) - len(kept)
    return kept, [f"Dropped {lost:,} questions whose answer is not in what is read of the text."] if lost else []


def check_splits(corpus: Corpus, split: np.ndarray, labels: np.ndarray) -> None:
    for name in SPLITS:
        if not (split == name).any():
            raise InputError(f"{corpus.name} has no usable rows in its {name} split.")
    present = np.bincount(labels[split == "train"], minlength=len(corpus.classes))
    if (present == 0).any() and corpus.answers != "entities":  # an entity of a test text may be in no training text
        absent = corpus.classes[int(present.argmin())]
        raise InputError(f"{corpus.name}: the class '{absent}' has no rows in the train split.")


def _count(
    tokens: list[str], texts: list[Sequences], train: np.ndarray, min_frequency: int, always: set[str]
) -> Vocabulary:
    counts = np.zeros(len(tokens), np.int64)
    for sequences in texts:
        in_train = np.repeat(train, sequences.lengths)
        counts += np.bincount(sequences.ids[in_train], minlength=len(tokens))
    # spelled out in a text these are unknown words
    reserved = np.array([token in SPECIAL for token in tokens])
    counts[reserved] = 0
    wanted = np.array([token in always for token in tokens])
    kept = np.flatnonzero((counts >= max(min_frequency, 1)) | wanted)
    by_frequency = kept[np.argsort(-counts[kept], kind="stable")]
    return Vocabulary(tokens[i] for i in by_frequency)


def unknown_share(tokenized: TokenizedCorpus, split: str) -> float:
    """The share of a split's tokens that the vocabulary does not have."""
    lengths = tokenized.sequences.lengths
    chosen = np.repeat(tokenized.split == split, lengths)
    return float((tokenized.sequences.ids[chosen] == tokenized.vocabulary.unknown).mean())
