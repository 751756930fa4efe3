"""Text made safe and visible: what would steer a terminal or turn a line round is shown as a symbol."""

from __future__ import annotations

import re

_BREAKS = "\t\n\u2028\u2029"
# control characters, and the marks that override the direction of writing
_MARKS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff"
_STEERING = re.compile(f"[{_MARKS}]")
_STEERING_OR_BREAKING = re.compile(f"[{_MARKS}{_BREAKS}]")


def visible(text: str) -> str:
    """Newlines and tabs are left alone."""
    return _STEERING.sub(_symbol, text)


def one_line(text: str) -> str:
    """For one line of a terminal: no newlines or tabs either."""
    return _STEERING_OR_BREAKING.sub(_symbol, text)


def escaped(written: str) -> str:
    """JSON with what steers a terminal as \\u escapes, which read back as the same text."""
    return _STEERING_OR_BREAKING.sub(lambda match: f"\\u{ord(match.group()):04x}", written)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "\N{REPLACEMENT CHARACTER}"
