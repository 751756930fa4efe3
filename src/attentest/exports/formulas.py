"""Text in cells of CSV files that a spreadsheet would take for a formula: a quote before it, which can be taken off.

A text that begins with quotes and such a sign gets one more, so that taking one off always gives what there was.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")


def guarded(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
