"""Where sentences end in a raw text, by rules, and the sentence that each token stands in."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from attentest.corpora.line_breaks import PATTERN as HTML_BREAK
from attentest.text.items import TextTokenizer
from attentest.text.prepare import TokenizedCorpus

_CLOSING = "\"'”’»›)\\]}」』）】》〉"
_QUOTES = frozenset("\"'”’»")
_MARK = re.compile(
    rf"""
      (?P<break>[\n\r\u2028\u2029]+ | {HTML_BREAK})
    | (?P<full>[。！？｡؟۔।॥።។‼⁇⁈⁉]+) (?P<shut>[{_CLOSING}]*)
    | (?P<mark>[.!?…]+(?:[ ][.!?…]+)*) (?P<closed>(?:''|[{_CLOSING}])*(?:[ ](?:''|[)\]}}”»])(?=\s|$))*)
    """,
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"(\w[\w.]*)(\s*)$")
_ENUMERATION = re.compile(r"\W*\d+")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# a name follows
_TITLES = _words(
    "mr mrs ms messrs mme mlle dr drs prof rev fr hon st ste gen col maj capt cpt lt sgt cpl adm cmdr sen rep gov "
    "pres supt det insp mt ft"
)
# a number follows
_BEFORE_NUMBERS = _words(
    "no nos nr fig figs vol vols p pp ch sec art eq eqs ca c jan feb mar apr jun jul aug sep sept oct nov dec"
)
# the sentence goes on
_INSIDE = _words("e.g eg i.e ie vs v cf al approx viz resp dept est ed eds incl")
# the sentence ends if a capital follows
_LAST_WORDS = _words("etc inc ltd co corp bros jr sr esq a.m p.m ph.d m.d b.a m.a d.c u.s.a")
_BEFORE = 40  # characters looked at before a mark: no abbreviation is longer


def sentence_starts(text: str) -> list[int]:
    """The places where a sentence begins, but for the first, which begins at 0."""
    return list(_starts(text))


def sentence_numbers(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """For each token, by its place in the text, the number of its sentence; those without a token do not count."""
    starts = sentence_starts(text)
    found: list[int] = []
    number, last = -1, -1
    for start, _ in spans:
        at = bisect_right(starts, start)
        number += at != last
        last = at
        found.append(number)
    return found


def with_sentences(data: TokenizedCorpus) -> TokenizedCorpus:
    """The same corpus with the number of each token's sentence."""
    found = np.zeros(len(data.sequences.ids), np.int32)
    texts = data.corpus.table["text"].take(data.rows)
    for text, start, end in zip(texts, data.sequences.offsets[:-1], data.sequences.offsets[1:], strict=True):
        found[start:end] = sentences_of(text.as_py(), data.tokenizer)[: end - start]
    return replace(data, sentences=found)


def sentences_of(text: str, tokenizer: TextTokenizer) -> np.ndarray:
    """The number of the sentence of each of the text's tokens."""
    return np.array(sentence_numbers(text, tokenizer.spans(text)), np.int32)


def _starts(text: str) -> Iterator[int]:
    begun = 0
    for match in _MARK.finditer(text):
        if match["mark"] is None or _ends(text, match, begun):
            begun = match.end()
            yield begun


def _ends(text: str, match: re.Match[str], begun: int) -> bool:
    """Whether these marks, with what closes after them, end the sentence that has begun at `begun`."""
    rest = text[match.end() : match.end() + _BEFORE]
    following = rest.lstrip()[:1]
    mark = match["mark"].replace(" ", "")
    if not following:
        return True
    if not rest[:1].isspace():
        return _glued(text, match, following)
    if following.islower() and (mark.startswith(("..", "…")) or match["closed"][:1] in _QUOTES):
        return False  # "What?" he asked, and thoughts that trail off … and go on
    return mark != "." or not _abbreviated(text[max(begun, match.start() - _BEFORE) : match.start()], rest.lstrip())


def _glued(text: str, match: re.Match[str], following: str) -> bool:
    """Whether "good.But" was meant to be two sentences: it was, unless it is a number, a name or an address."""
    before = text[max(0, match.start() - 2) : match.start()]
    return following.isupper() and len(before) == 2 and before.isalpha() and before.islower()


def _abbreviated(before: str, following: str) -> bool:
    """Whether a full stop after `before` belongs to an abbreviation, an initial or the number of a list's item."""
    found = _WORD_BEFORE.search(before)
    if found is None:
        return False
    word, detached = found[1].lower(), bool(found[2])
    if word in _TITLES:
        return True
    if detached:  # the text was tokenised, and abbreviations kept their full stops
        return False
    if word in _BEFORE_NUMBERS and following[:1].isdigit():
        return True
    if word in _LAST_WORDS:
        return not following[:1].isupper()
    initial = len(word) == 1 and word.isalpha() and found[1] != "I" and found[1].isupper()
    dotted = len(word) > 2 and all(len(part) == 1 and part.isalpha() for part in word.split("."))
    return word in _INSIDE or initial or dotted or bool(_ENUMERATION.fullmatch(before))
