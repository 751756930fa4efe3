"""Translations of a sentence with several kinds of weights, one under the other, to be read against the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attentest.display.heatmaps.html import as_page, safe
from attentest.display.heatmaps.text import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

Sentence = tuple[str, Mapping[str, str]]  # a source, and its translations by weights
SAME = "the same"
_STYLE = """
.attentest-translations table{border-collapse:collapse;margin:0 0 1.5em;font:16px/1.5 system-ui,sans-serif}
.attentest-translations caption{text-align:left;font-weight:bold}
.attentest-translations th,.attentest-translations td{padding:.2em .8em .2em 0;text-align:start;vertical-align:top;
border-top:1px solid #8884;overflow-wrap:anywhere;white-space:pre-wrap}
.attentest-translations th{font-weight:normal;opacity:.8}
.attentest-translations .same{opacity:.75}
"""


def fragment(sentences: Sequence[Sentence]) -> str:
    """For a page: a table for each sentence."""
    tables = "".join(_table(source, translations) for source, translations in sentences)
    return f'<div class="attentest-translations"><style>{_STYLE}</style>{tables}</div>'


def page(sentences: Sequence[Sentence]) -> str:
    return as_page(fragment(sentences), "Translations by weights")


def _table(source: str, translations: Mapping[str, str]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{safe(weights)}</th><td dir="auto"{_faded(place, translations, weights)}>'
        f"{safe(translations[weights])}</td></tr>"
        for place, weights in enumerate(translations)
    )
    return f'<table><caption dir="auto">{safe(source)}</caption><tbody>{rows}</tbody></table>'


def _faded(place: int, translations: Mapping[str, str], weights: str) -> str:
    same = place > 0 and translations[weights] == next(iter(translations.values()))
    return f' class="same" title="{SAME}"' if same else ""


def render(sentences: Sequence[Sentence]) -> RenderableType:
    """For a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    for source, translations in sentences:
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True)
        own = next(iter(translations.values()), "")
        for place, (weights, text) in enumerate(translations.items()):
            same = place > 0 and text == own
            table.add_row(Text(one_line(weights), "dim"), Text(f"({SAME})" if same else one_line(text)))
        parts += [Text(one_line(source), "bold"), table, Text()]
    return Group(*parts)
