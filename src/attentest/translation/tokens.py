"""Sentences to numbers and back: words, or subwords that are learned from the training sentences."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attentest.errors import InputError, last_line
from attentest.files import expect_file, read_as, write_bytes, write_json
from attentest.text.items import Span
from attentest.text.settings import TextSettings
from attentest.text.tokenizer import Tokenizer
from attentest.translation.settings import TranslationText

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

PAD, UNKNOWN, START, END = range(4)
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
SPACE = "▁"  # how subwords write the blank before a word
_HIDDEN = tuple(f" {name}" for name in SPECIAL)  # with a blank, which no subword has: no text spells one of these
_NO_BLANK_BEFORE = re.compile(r"[.,!?;:%)\]}…»”]+|n['’]t|['’](?:s|re|ve|d|ll|m)", re.IGNORECASE)
_NO_BLANK_AFTER = "([{«„“#$€£"
_JOINING = "-/–'’"


class Tokens(Protocol):
    """Of one language of a translation model."""

    def __len__(self) -> int: ...

    def words(self, text: str) -> list[str]:
        """Words and punctuation marks, known or not: what BLEU compares."""

    def ids(self, text: str) -> list[int]: ...

    def spans(self, text: str) -> list[Span]:
        """Where each of the tokens begins and ends in the text."""

    def names(self, ids: Iterable[int]) -> list[str]:
        """What stands for each number in tables and pictures."""

    def text(self, ids: Iterable[int]) -> str:
        """The sentence that these tokens spell."""

    def write(self, path: Path) -> None: ...


class WordTokens:
    def __init__(self, words: Sequence[str], settings: TranslationText) -> None:
        self.known = [*SPECIAL, *words]
        self._tokenizer = Tokenizer(TextSettings(tokenizer=settings.tokenizer, lower=settings.lower))
        # the special ones are not looked up: a text that spells out "</s>" does not end there
        self._ids = {word: i for i, word in enumerate(self.known) if i >= len(SPECIAL)}

    def __len__(self) -> int:
        return len(self.known)

    def words(self, text: str) -> list[str]:
        return self._tokenizer.tokens(text)

    def ids(self, text: str) -> list[int]:
        return [self._ids.get(word, UNKNOWN) for word in self.words(text)]

    def spans(self, text: str) -> list[Span]:
        return self._tokenizer.spans(text)

    def names(self, ids: Iterable[int]) -> list[str]:
        return [self.known[i] for i in ids]

    def text(self, ids: Iterable[int]) -> str:
        words = self.names(ids)
        return " ".join(words) if self._tokenizer.settings.tokenizer == "whitespace" else spelled(words)

    def write(self, path: Path) -> None:
        write_json(path, self.known)


class Subwords:
    """Byte pair encoding of the library `tokenizers`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __len__(self) -> int:
        return int(self._backend.get_vocab_size())

    def words(self, text: str) -> list[str]:
        return Tokenizer(TextSettings(lower=False)).tokens(text)

    def ids(self, text: str) -> list[int]:
        found: list[int] = self._backend.encode(text).ids
        return found

    def spans(self, text: str) -> list[Span]:
        found: list[Span] = self._backend.encode(text).offsets
        return found

    def names(self, ids: Iterable[int]) -> list[str]:
        return [SPECIAL[i] if i < len(SPECIAL) else str(self._backend.id_to_token(i)) for i in ids]

    def text(self, ids: Iterable[int]) -> str:
        return "".join(self.names(ids)).replace(SPACE, " ").strip()

    def write(self, path: Path) -> None:
        write_bytes(path, self._backend.to_str(pretty=True).encode())


def learn_tokens(texts: Sequence[str], settings: TranslationText) -> Tokens:
    """The tokens of a language, from its training sentences."""
    if settings.tokenizer == "subword":
        return _learn_subwords(texts, settings)
    empty = WordTokens((), settings)
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(empty.words(text))
    often = [(word, n) for word, n in counts.items() if n >= settings.min_frequency]
    often.sort(key=lambda entry: (-entry[1], entry[0]))
    room = max(0, settings.vocabulary - len(SPECIAL))
    return WordTokens([word for word, _ in often[:room]], settings)


def read_tokens(path: Path, settings: TranslationText) -> Tokens:
    """As they were written into the folder of a run."""
    if settings.tokenizer == "subword":
        return _read_subwords(path)
    words = read_as(path, list[str])
    if tuple(words[: len(SPECIAL)]) != SPECIAL or len(set(words)) < len(words):
        raise InputError(f"{path} is not a vocabulary of attentest.")
    return WordTokens(words[len(SPECIAL) :], settings)


def nothing_known(tokens: Tokens, ids: Iterable[int]) -> bool:
    """Whether no token of a sentence is known, the blanks between subwords aside."""
    return set(tokens.names(ids)) <= {SPECIAL[UNKNOWN], SPACE}


def spelled(words: Sequence[str]) -> str:
    """Words and punctuation marks as a sentence: blanks where writers of European languages put them."""
    text, joined, quotes = "", True, 0
    for word in words:
        if word == '"':
            quotes += 1
        closing = word == '"' and quotes % 2 == 0
        before = joined or closing or word in _JOINING or _NO_BLANK_BEFORE.fullmatch(word) is not None
        text += word if before else f" {word}"
        joined = word in _JOINING or word in _NO_BLANK_AFTER or (word == '"' and not closing)
    return text


def _library() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise InputError(
            "Subwords need the library tokenizers, which is not installed: pip install 'attentest[translation]'."
        ) from error
    return tokenizers


def _learn_subwords(texts: Sequence[str], settings: TranslationText) -> Subwords:
    library = _library()
    backend = _backend(library, settings, library.models.BPE(unk_token=_HIDDEN[UNKNOWN]))
    trainer = library.trainers.BpeTrainer(
        vocab_size=settings.vocabulary,
        min_frequency=settings.min_frequency,
        special_tokens=list(_HIDDEN),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    # as words of the vocabulary alone: the library would also look for "added" ones in the text itself
    learned = json.loads(backend.to_str()) | {"added_tokens": []}
    return Subwords(library.Tokenizer.from_str(json.dumps(learned)))


def _backend(library: Any, settings: TranslationText, model: Any) -> Any:
    backend = library.Tokenizer(model)
    normal = [library.normalizers.NFC(), *([library.normalizers.Lowercase()] if settings.lower else [])]
    backend.normalizer = library.normalizers.Sequence(normal)
    backend.pre_tokenizer = library.pre_tokenizers.Sequence(
        [
            library.pre_tokenizers.WhitespaceSplit(),
            library.pre_tokenizers.Metaspace(),
            library.pre_tokenizers.Punctuation(),
        ]
    )
    return backend


def _read_subwords(path: Path) -> Subwords:
    library = _library()
    expect_file(path)
    try:
        backend = library.Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there; {path.parent} is not finished.") from error
    except Exception as error:  # the library raises its own kinds, among them plain Exception
        raise InputError(f"{path} is damaged or not a tokenizer ({last_line(str(error))}).") from error
    added = json.loads(backend.to_str())["added_tokens"]
    if added or any(backend.token_to_id(name) != i for i, name in enumerate(_HIDDEN)):
        raise InputError(f"{path} is not a tokenizer of attentest.")
    return Subwords(backend)
