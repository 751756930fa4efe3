"""How numbers, names and texts from corpora are written on a page."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from attentest.display.cut import beginning
from attentest.display.heatmaps.text import visible
from attentest.measures.intervals import Estimate

TOKEN, NAME, PROSE = 60, 80, 2000  # the most characters shown of a token, a class name and a sentence
NOTHING = "–"
DEEPEST = 9  # levels of settings that are taken apart
_NO_NAME = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates that stand for no byte of a file's name


def shown(text: object, most: int = PROSE) -> str:
    """Text with nothing in it that steers, and no longer than `most` characters."""
    return beginning(visible(str(text)[: most + 1]), most)


def prose(text: object) -> str:
    """A sentence whose percent signs stay with their numbers."""
    return shown(text).replace(" %", "\N{NO-BREAK SPACE}%")


def name(text: object) -> str:
    return shown(text, NAME)


def number(value: Any) -> str:
    """Three digits; nothing for what is not defined."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return shown(value)
    if isinstance(value, float) and math.isinf(value):
        return "−∞" if value < 0 else "∞"
    return _digits(value).replace("e-0", "e-").replace("-", "−")


def _digits(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.1f}"
    if abs(value) >= 10:
        return f"{value:.2f}"
    # a difference of rounding errors is none
    return f"{value:.1e}" if 1e-12 < abs(value) < 0.0005 else f"{value + 0.0:.3f}"


def interval(low: float | None, high: float | None) -> str:
    ends = (number(low), number(high))
    return NOTHING if ends == (NOTHING, NOTHING) else "[{}, {}]".format(*ends)


def estimate(figure: Estimate | None) -> str:
    return NOTHING if figure is None else f"{number(figure.value)} {interval(figure.low, figure.high)}"


def exact(value: Any) -> str:
    """For machines: all digits, and nothing for what is not defined."""
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


def path(relative: str) -> str:
    """A link to a file beside the page: everything but slashes is encoded, so that no scheme can hide in it."""
    # of a name that is no text, the bytes; what is neither is replaced
    name = _NO_NAME.sub("?", relative.replace("\\", "/"))
    return quote(name.encode("utf-8", "surrogateescape"), safe="/")


def flat(settings: Mapping[str, Any], prefix: str = "", deepest: int = DEEPEST) -> list[tuple[str, str]]:
    """Nested settings as dotted keys and values."""
    pairs = []
    for key, value in settings.items():
        if isinstance(value, Mapping) and deepest:
            pairs += flat(value, f"{prefix}{key}.", deepest - 1)
        else:
            pairs.append((shown(f"{prefix}{key}", NAME), shown(_words(value), 300)))
    return pairs


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:  # of somebody else's making
        return "…"


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "part"


class Anchors:
    """Ids that are safe in a link, and never the same twice."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        base, n = slug(wanted), 1
        anchor = base
        while anchor in self._taken:
            n += 1
            anchor = f"{base}-{n}"
        self._taken.add(anchor)
        return anchor
