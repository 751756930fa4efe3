"""Cut text between characters as readers see them: an accent, a flag or a family of emoji is never cut in two."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

ELLIPSIS = "…"
JOINERS = "\u200c\u200d"  # zero-width: what stands around the second is one character
MOST_MARKS = 30  # on one character: no language has more (Stream-Safe Text Format, UAX #15)
_WIDE_EMOJI = "\ufe0f"  # asks for the picture of a character that is also a letter or a sign
_VIRAMA = 9  # the combining class of signs that bind a consonant to the next


def clusters(text: str) -> Iterator[str]:
    """The characters as readers see them (grapheme clusters of UAX #29, as far as the standard library knows them)."""
    start = 0
    for place in range(1, len(text)):
        if place - start > MOST_MARKS or not _belongs(text, start, place):
            yield text[start:place]
            start = place
    if text:
        yield text[start:]


def width(text: str) -> int:
    """In columns: a letter takes one, an ideograph or an emoji two."""
    return sum(_columns(cluster) for cluster in clusters(text))


def cut(text: str, columns: int) -> str:
    """The text if it is no wider than that, else its beginning and an ellipsis that together are no wider."""
    end, used, fits = 0, 0, 0
    for cluster in clusters(text):
        used += _columns(cluster)
        if used > columns:
            return text[:fits] + ELLIPSIS
        end += len(cluster)
        if used < columns:  # with room for the ellipsis
            fits = end
    return text


def beginning(text: str, most: int) -> str:
    """The text if it has no more characters than that, else as many whole ones as fit, and an ellipsis after them."""
    if len(text) <= most:
        return text
    end = 0
    for cluster in clusters(text):
        if end + len(cluster) > most:
            break
        end += len(cluster)
    return text[:end] + ELLIPSIS


def is_mark(character: str) -> bool:
    """Whether it changes the character before it and has no place of its own."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or character in JOINERS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # tones of skin
        or is_tag(character)
        or "\u1160" <= character <= "\u11ff"  # vowels and ends of a Korean syllable
    )


def is_tag(character: str) -> bool:
    """The letters that say whose flag a black flag is."""
    return "\U000e0020" <= character <= "\U000e007f"


def _belongs(text: str, start: int, place: int) -> bool:
    """Whether the character at `place` is part of the one that begins at `start`."""
    character, before = text[place], text[place - 1]
    if is_mark(character):
        return True
    if before == JOINERS[1] or unicodedata.combining(before) == _VIRAMA:
        return not character.isspace()
    if _is_flag_letter(character):
        return place == start + 1 and _is_flag_letter(before)
    return "\ud800" <= before <= "\udbff" and "\udc00" <= character <= "\udfff"  # halves of one, from a broken decoder


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _columns(cluster: str) -> int:
    wide = unicodedata.east_asian_width(cluster[0]) in ("W", "F") or _WIDE_EMOJI in cluster
    return 2 if wide or _is_flag_letter(cluster[0]) else 1
