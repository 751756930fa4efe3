"""Heat maps in the terminal: a background colour a token, and the heaviest words spelt out."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from attentest.display.heatmaps.colour import FAINTEST, LEGEND, strength
from attentest.display.heatmaps.heatmap import Heatmap
from attentest.display.heatmaps.text import one_line

LONGEST = 120  # tokens shown of a long text
MOST_UNKNOWN = 5  # unknown words that are spelt out
_LIGHT, _DARK = (255, 243, 224), (230, 97, 1)  # orange: told from the text by everyone, on dark and light


def render(heatmaps: Iterable[Heatmap]) -> RenderableType:
    return Group(*(part for heatmap in heatmaps for part in _one(heatmap)), scale())


def scale() -> Text:
    """Weights and their colours, the same in every map."""
    line = Text("weight ", "dim")
    for weight in LEGEND:
        line.append(f" {weight:g} ", style(strength(weight), unknown=False))
        line.append(" ")
    return line


def _one(heatmap: Heatmap) -> list[RenderableType]:
    head = Text()
    head.append(f"{one_line(heatmap.title)}  ", "dim")
    head.append(f"{one_line(heatmap.predicted)} {heatmap.confidence:.2f}", "bold")
    if heatmap.label is not None:
        right = heatmap.label == heatmap.predicted
        head.append(f"  label {one_line(heatmap.label)}", "green" if right else "red")
    heaviest = ", ".join(f"{one_line(word)} {weight:.2f}" for word, weight in heatmap.heaviest())
    second = [] if heatmap.second_alone is None else [Text(f"» {_flat(heatmap.second_alone)}", "italic")]
    legend = f"{heatmap.legend}: {heaviest}"
    if heatmap.unknown_words:
        legend += f"; unknown: {_some(heatmap.unknown_words)}"
    return [head, _coloured(heatmap), *second, Text(legend, "dim"), Text()]


def _some(words: list[str]) -> str:
    more = len(words) - MOST_UNKNOWN
    shown = ", ".join(one_line(word) for word in words[:MOST_UNKNOWN])
    return f"{shown} and {more} more" if more > 0 else shown


def _coloured(heatmap: Heatmap) -> Text:
    start, end = heatmap.window(LONGEST)
    line = Text()
    if start:
        line.append(f"… {start} tokens … ", "dim")
    text, places, strengths = heatmap.shown_text, heatmap.places, heatmap.strengths
    at = places[start][0]
    for i in range(start, end):
        left, right = places[i]
        line.append(_flat(text[at:left]))
        line.append(_flat(text[left:right]), style(strengths[i], heatmap.is_unknown(i)))
        at = right
    if end < len(places):
        line.append(f" … {len(places) - end} tokens …", "dim")
    return line


def _flat(text: str) -> str:
    return one_line(text.replace("\n", " ").replace("\t", " "))


def style(deep: float, unknown: bool) -> str:
    line = "underline" if unknown else ""
    if deep < FAINTEST:
        return line
    red, green, blue = (round(a + deep * (b - a)) for a, b in zip(_LIGHT, _DARK, strict=True))
    return f"{line} black on rgb({red},{green},{blue})".lstrip()
