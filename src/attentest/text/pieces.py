"""Word pieces of a pretrained model: its tokenizer, its vocabulary, and the special tokens that go around texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attentest.errors import InputError, last_line
from attentest.text.items import NO_TEXT, Items, Span, joined
from attentest.text.vocabulary import Vocabulary
from attentest.text.windows import stretches

if TYPE_CHECKING:
    from tokenizers import Encoding
    from tokenizers import Tokenizer as Backend

_PROBE = "a"  # any text with a piece shows what is put around texts


@dataclass(frozen=True)
class Frame:
    """The special tokens before, between and after the texts; `types` has the token type of each part in turn: one for
    each special token, and one for each text."""

    prefix: tuple[int, ...]
    middle: tuple[int, ...]
    suffix: tuple[int, ...]
    types: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many special tokens there are."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)

    @property
    def ids(self) -> tuple[int, ...]:
        return self.prefix + self.middle + self.suffix

    def parts(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Ids and types of prefix, middle and suffix."""
        text, second = len(self.prefix), len(self.prefix) + 1 + len(self.middle)
        types = self.types[:text], self.types[text + 1 : second], self.types[len(self.types) - len(self.suffix) :]
        return list(zip((self.prefix, self.middle, self.suffix), types, strict=True))

    @property
    def text_types(self) -> tuple[int, int]:
        """Token types of the text and of the second text; of a frame for single texts twice the same."""
        text, second = len(self.prefix), len(self.prefix) + 1 + len(self.middle)
        has_second = len(self.types) == self.size + 2
        return self.types[text], self.types[second if has_second else text]


class PieceVocabulary(Vocabulary):
    """Word pieces by the ids of the pretrained model."""

    def __init__(self, ids: dict[str, int], unknown: int) -> None:
        self.tokens = [""] * (max(ids.values(), default=-1) + 1)
        for token, number in ids.items():
            self.tokens[number] = token
        self._ids = ids
        self.unknown = unknown

    def __contains__(self, token: str) -> bool:
        return self._ids.get(token, self.unknown) != self.unknown

    def ids(self, tokens: Iterable[str]) -> np.ndarray:
        return np.fromiter((self._ids.get(token, self.unknown) for token in tokens), np.int32)


@dataclass(frozen=True)
class PieceTokenizer:
    """A tokenizer of the library `tokenizers`; with `special` its special tokens count as items of a text."""

    in_pieces: ClassVar[bool] = True

    definition: str  # as in a tokenizer.json
    special: bool = False

    @classmethod
    def read(cls, path: Path) -> PieceTokenizer:
        """From a tokenizer.json."""
        try:
            tokenizer = cls(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {last_line(str(error))}.") from error
        try:
            tokenizer.backend  # noqa: B018  (made here, so that a damaged file is told with its name)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        return tokenizer

    @cached_property
    def backend(self) -> Backend:
        backend = _library().Tokenizer
        try:
            made: Backend = backend.from_str(self.definition)
        except Exception as error:  # the library raises plain Exception
            reason = last_line(str(error)).rstrip(".")
            raise InputError(f"This is no tokenizer of the library `tokenizers` ({reason}).") from error
        # files keep what their maker last asked for; texts are cut and padded by attentest
        made.no_truncation()
        made.no_padding()
        return made

    @cached_property
    def vocabulary(self) -> PieceVocabulary:
        ids = self.backend.get_vocab(with_added_tokens=True)
        model = json.loads(self.backend.to_str())["model"]
        special = [number for number, token in self.backend.get_added_tokens_decoder().items() if token.special]
        # byte-level pieces have none for unknown words: a special token, which no text has, stands for them
        stand_in = special[0] if special else len(ids) - 1
        named = model.get("unk_id")  # of unigrams, which say the number
        return PieceVocabulary(ids, ids.get(model.get("unk_token"), stand_in if named is None else named))

    def tokens(self, text: str) -> list[str]:
        return list(self._encoded(text).tokens)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Pieces of many texts, without special tokens; the fast way, which finds no places."""
        return [found.ids for found in self.backend.encode_batch_fast(list(texts), add_special_tokens=False)]

    def spans(self, text: str) -> list[Span]:
        """Places without the blanks around a piece; pieces of one character have the same place."""
        return [_trimmed(text, *span) for span in self._encoded(text).offsets]

    def words(self, text: str) -> list[int]:
        """The number of each piece's word: pieces that the tokenizer took from one word, with no blank between."""
        return _words(text, self._encoded(text))

    def items(self, text: str, second: str | None, length: int) -> Items:
        """The `length` items of a text, or of a pair that is read as one."""
        own = length - (self.frame(pair=second is not None).size if self.special else 0)
        lengths = [len(self._encoded(one).ids) for one in (text, second) if one is not None]
        return self.stretch(text, second, [(0, kept) for kept in cut_lengths(lengths, own)])

    def stretch(self, text: str, second: str | None, bounds: Iterable[Sequence[int]]) -> Items:
        """The items from the first bound to the second of each text."""
        texts = [text] if second is None else [text, second]
        frame = self.frame(pair=second is not None)
        parts = [
            _items(number, one, self._encoded(one), *map(int, own))
            for number, (one, own) in enumerate(zip(texts, bounds, strict=True))
        ]
        if self.special:
            parts = [self._special(frame.prefix), parts[0], self._special(frame.middle), *parts[1:]]
            parts.append(self._special(frame.suffix))
        return joined(parts)

    def _special(self, ids: Sequence[int]) -> Items:
        none = np.full(len(ids), NO_TEXT)
        return Items([self.vocabulary.tokens[number] for number in ids], [(0, 0)] * len(ids), none, none)

    def frame(self, *, pair: bool) -> Frame:
        """What the tokenizer puts around a text or the two of a pair, found by looking at one."""
        encoding = self.backend.encode(_PROBE, _PROBE if pair else None)
        texts = [NO_TEXT if text is None else text for text in encoding.sequence_ids]
        if [t for t in dict.fromkeys(texts) if t != NO_TEXT] != ([0, 1] if pair else [0]):
            raise InputError("The tokenizer does not keep its texts one after the other, so it cannot be used.")
        first, last = texts.index(0), len(texts) - 1 - texts[::-1].index(0)
        begin, end = (texts.index(1), len(texts) - 1 - texts[::-1].index(1)) if pair else (last + 1, last)
        ids, types = encoding.ids, encoding.type_ids
        between = types[last + 1 : begin] + types[begin : begin + 1] if pair else []
        return Frame(
            prefix=tuple(ids[:first]),
            middle=tuple(ids[last + 1 : begin]) if pair else (),
            suffix=tuple(ids[end + 1 :]),
            types=(*types[: first + 1], *between, *types[end + 1 :]),
        )

    def _encoded(self, text: str) -> Encoding:
        return self.backend.encode(text, add_special_tokens=False)


def cut_lengths(lengths: Sequence[int], most: int) -> list[int]:
    """How much is read of one or two texts where only `most` pieces fit: the longer one is cut first."""
    _, bounds = stretches(np.array(lengths)[:, None], most)
    ends: list[int] = bounds[0, :, 1].tolist()
    return ends


def _library() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise InputError("Hugging Face tokenizers are not installed: pip install 'attentest[hf]'.") from error
    return tokenizers


def _trimmed(text: str, start: int, end: int) -> Span:
    """Without blanks at its ends; of nothing but blanks, the empty place at its end."""
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return start, max(start, start + len(text[start:end].rstrip()))


def _words(text: str, encoded: Encoding) -> list[int]:
    spans, taken_from = [_trimmed(text, *span) for span in encoded.offsets], encoded.word_ids
    words: list[int] = []
    last: int | None = None  # piece that is not blank
    for here, (start, end) in enumerate(spans):
        words.append(words[-1] if words else 0)
        if start == end:
            continue
        if last is not None and start >= spans[last][1]:  # parts of one character are never two words
            between = text[spans[last][1] : start]
            # some tokenizers take a whole text for one word, so blanks count, too
            words[here] += taken_from[here] != taken_from[last] or between != between.strip()
        last = here
    for here in reversed(range(len(words) - 1)):  # a blank that was taken from the word after it
        if spans[here][0] == spans[here][1] and taken_from[here] == taken_from[here + 1]:
            words[here] = words[here + 1]
    return words


def _items(number: int, text: str, encoded: Encoding, begin: int, end: int) -> Items:
    spans = [_trimmed(text, *span) for span in encoded.offsets[begin:end]]
    words = np.array(_words(text, encoded)[begin:end], np.int64)
    return Items(encoded.tokens[begin:end], spans, np.full(len(spans), number), words - words[:1].sum())
