"""Text is cut between characters as readers see them, and never within one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.display.cut import ELLIPSIS, MOST_MARKS, beginning, clusters, cut, width

FAMILY = "👩‍👩‍👧‍👦"
KISS = "👩🏽‍❤️‍💋‍👨🏿"  # ten code points
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
WHOLE = {
    "letter": "a",
    "accent apart": "e\u0301",
    "several accents": "o\u0302\u0323",
    "Hebrew with points": "שָּׁ",
    "Devanagari conjunct": "क्षि",
    "Korean in letters": "\u1112\u1161\u11ab",
    "keycap": "1\ufe0f\u20e3",
    "heart as a picture": "❤\ufe0f",
    "tone of skin": "👋🏿",
    "flag": "🇩🇪",
    "flag by tags": SCOTLAND,
    "family": FAMILY,
    "kiss": KISS,
    "broken surrogates": "\ud83e\udd9c",
    "ideograph": "語",
}


@pytest.mark.parametrize("character", WHOLE.values(), ids=WHOLE)
def test_a_character_stays_whole(character: str) -> None:
    assert list(clusters(character * 3)) == [character] * 3
    assert list(clusters(f"x{character}y")) == ["x", character, "y"]
    for columns in range(1, 12):
        kept = cut(character * 10, columns)
        assert set(clusters(kept.removesuffix(ELLIPSIS))) <= {character}
        assert width(kept) <= columns
    for most in range(30):
        assert beginning(character * 10, most).removesuffix(ELLIPSIS) == character * min(10, most // len(character))


def test_widths_by_hand() -> None:
    assert [width(text) for text in ("", "abc", "e\u0301", "語a", "🇩🇪🇫🇷", FAMILY, "❤", "❤\ufe0f")] == [
        0,
        3,
        1,
        3,
        4,
        2,
        1,
        2,
    ]


def test_cuts_by_hand() -> None:
    assert cut("abcde", 5) == "abcde"
    assert cut("abcdef", 5) == "abcd…"
    assert cut("語語語", 6) == "語語語"
    assert cut("語語語語", 6) == "語語…"
    assert cut("語語語語", 7) == "語語語…"
    assert cut("🇩🇪🇫🇷🇮🇹", 5) == "🇩🇪🇫🇷…"
    assert cut("שלום עולם", 5) == "שלום…"
    assert beginning("abcde", 5) == "abcde"
    assert beginning("abcdef", 5) == "abcde…"
    assert beginning("ab🇩🇪", 3) == "ab…"


def test_odd_flags_and_joins_end_somewhere() -> None:
    assert list(clusters("🇩🇪🇫")) == ["🇩🇪", "🇫"]
    assert list(clusters("a\u200d b")) == ["a\u200d", " ", "b"]
    assert max(map(len, clusters("e" + "\u0301" * 1000))) == MOST_MARKS + 1
    assert len(cut("e" + "\u0301" * 10_000, 40)) < 40 * (MOST_MARKS + 2)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*WHOLE.values(), *"a \u200d\u0301🇦\ud83e"])).map("".join), st.integers(0, 20))
def test_nothing_is_lost_and_no_cut_is_too_long(text: str, most: int) -> None:
    assert "".join(clusters(text)) == text
    for kept, size in ((cut(text, most), width), (beginning(text, most), len)):
        assert kept == text or size(kept.removesuffix(ELLIPSIS)) <= most
        assert text.startswith(kept.removesuffix(ELLIPSIS))
        assert (kept == text) == (size(text) <= most)
