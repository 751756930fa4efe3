"""Function words, content words and punctuation marks of translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attentest.errors import InputError
from attentest.files import expect_file
from attentest.translation.run import TranslationRun
from attentest.translation.tokens import SPACE, SPECIAL, Subwords, Tokens, WordTokens
from attentest.trials.of_translation.closed_classes import NAMES, language_of, listed

AUTO = "auto"
FUNCTION, CONTENT, MARKS = GROUPS = ("function words", "content words", "punctuation marks")


@dataclass(frozen=True)
class FunctionWords:
    words: frozenset[str]
    source: str  # where they are from
    any_case: bool = False  # whether they are meant however they are written

    def group(self, word: str) -> str:
        if is_mark(word):
            return MARKS
        return FUNCTION if (word.lower() if self.any_case else word) in self.words else CONTENT


def is_mark(word: str) -> bool:
    return not any(letter.isalnum() for letter in word)


def function_words(run: TranslationRun, language: str, most: int, file: str) -> FunctionWords:
    """Those of a file or of a language; `auto` is the language of the test references, if there is a list of it, and
    else the most frequent words. A word model's vocabulary has these in the order of the training split; subwords do
    not tell, and the references stand in for it."""
    if file:
        return FunctionWords(frozenset(_listed(Path(file), run.record.text.lower)), "a file")
    tokens = run.target_tokens
    references = _words(tokens, run.translations["reference"].to_pylist(), run.record.text.lower)
    known = language_of(references) if language == AUTO else language
    if known is not None and known in NAMES:
        return FunctionWords(listed(known), f"the list of {NAMES[known]} ones", any_case=True)
    if isinstance(tokens, WordTokens):
        often = [word for word in tokens.known[len(SPECIAL) :] if not is_mark(word)]
        return FunctionWords(frozenset(often[:most]), f"the {most} most frequent words of the training split")
    counts = Counter(references)
    often = sorted(counts, key=lambda word: (-counts[word], word))
    return FunctionWords(frozenset(often[:most]), f"the {most} most frequent words of the test references")


def word_spans(tokens: Tokens, ids: Sequence[int]) -> list[tuple[str, int, int]]:
    """The words that tokens spell, each with its first token and the one after its last."""
    names = tokens.names(ids)
    if not isinstance(tokens, Subwords):
        return [(name, place, place + 1) for place, name in enumerate(names)]
    bare = [name.replace(SPACE, "") for name in names]
    marks = [bool(name) and is_mark(name) for name in bare]
    starts = [
        place
        for place, name in enumerate(names)
        if not place or name.startswith(SPACE) or marks[place] or marks[place - 1]
    ]
    ends = [*starts[1:], len(names)]
    spelled = [("".join(bare[a:b]), a, b) for a, b in zip(starts, ends, strict=True)] if names else []
    return [one for one in spelled if one[0]]


def _words(tokens: Tokens, texts: Iterable[str], lower: bool) -> list[str]:
    found = [word for text in texts for word in tokens.words(text.lower() if lower else text)]
    return [word for word in found if not is_mark(word)]


def _listed(path: Path, lower: bool) -> list[str]:
    expect_file(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as text; give a file with one word a line, in UTF-8.") from error
    found = [line.strip().lower() if lower else line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"{path} has no words; give a file with one word a line.")
    return found
