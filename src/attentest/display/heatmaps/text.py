"""Text made safe and visible: what would steer a terminal or turn a line round is shown as a symbol."""

from __future__ import annotations

import re

# control characters, and the marks that override the direction of writing; newlines and tabs are left alone
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    return _STEERING.sub(_symbol, text)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "\N{REPLACEMENT CHARACTER}"
