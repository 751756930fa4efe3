"""Heat maps as one SVG picture, for papers and READMEs."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from unicodedata import east_asian_width

from attentest.display.cut import beginning
from attentest.display.heatmaps.colour import FAINTEST, LEGEND, strength
from attentest.display.heatmaps.heatmap import Heatmap
from attentest.display.heatmaps.text import visible

LONGEST = 120  # tokens shown of a long text
WIDTH, MARGIN, LINE, SIZE = 880, 20, 26, 15
_CHARACTER = SIZE * 0.602  # advance of a monospaced letter
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def picture(heatmaps: Iterable[Heatmap]) -> str:
    body, y = legend(MARGIN + SIZE), MARGIN + SIZE + LINE + LINE // 2
    for heatmap in heatmaps:
        parts, y = _one(heatmap, y)
        body += parts
    height = y - LINE // 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="{FONT}" font-size="{SIZE}"><title>Attention over texts</title>'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>{"".join(body)}</svg>\n'
    )


def legend(y: int) -> list[str]:
    """Weights and their colours, the same in every map."""
    parts = [f'<text x="{MARGIN}" y="{y}" fill="#555555" font-size="13">weight</text>']
    for n, weight in enumerate(LEGEND):
        x = MARGIN + 70 * (n + 1)
        parts.append(
            f'<rect x="{x}" y="{y - SIZE}" width="60" height="{SIZE + 5}" rx="3" fill="#e66101" '
            f'fill-opacity="{strength(weight):.2f}"/>'
            f'<text x="{x + 30}" y="{y}" text-anchor="middle" fill="#111111" font-size="13">{weight:g}</text>'
        )
    return parts


def _one(heatmap: Heatmap, y: int) -> tuple[list[str], int]:
    about = f"{heatmap.predicted} {heatmap.confidence:.2f}"
    if heatmap.model is not None:
        about = f"{heatmap.model} · {about}"
    if heatmap.label is not None:
        about += f" · label {heatmap.label}"
    if heatmap.second_alone is not None:
        about += f" · » {_fitting(heatmap.second_alone)}"
    if heatmap.shown != "weight":
        about += f" · {heatmap.shown}"
    if heatmap.unknown_words:
        about += " · dotted: not in the vocabulary"
    parts = [f'<text x="{MARGIN}" y="{y}" fill="#555555" font-size="13">{safe(about)}</text>']
    y += LINE
    x: float = MARGIN
    start, end = heatmap.window(LONGEST)
    text, places, strengths = heatmap.shown_text, heatmap.places, heatmap.strengths
    at = places[start][0]
    for i in range(start, end):
        left, right = places[i]
        shown = _fitting(text[left:right])
        word = safe(shown)
        gap = _CHARACTER if text[at:left] else 0.0
        if heatmap.in_second and i == len(places) - heatmap.in_second:  # the second text is on a line of its own
            x, y = MARGIN, y + LINE if i > start else y
            parts.append(f'<text x="{x}" y="{y}" fill="#555555">»</text>')
            x += _CHARACTER
        width = _columns(shown) * _CHARACTER
        if x + gap + width > WIDTH - MARGIN and x > MARGIN:
            x, gap = MARGIN, 0.0
            y += LINE
        x += gap
        if strengths[i] >= FAINTEST:
            parts.append(
                f'<rect x="{x - 1:.1f}" y="{y - SIZE}" width="{width + 2:.1f}" height="{SIZE + 5}" rx="3" '
                f'fill="#e66101" fill-opacity="{strengths[i]:.2f}"><title>{heatmap.weights[i]:.4f}</title></rect>'
            )
        if heatmap.is_unknown(i):
            parts.append(
                f'<line x1="{x:.1f}" x2="{x + width:.1f}" y1="{y + 3}" y2="{y + 3}" stroke="#111111" '
                'stroke-dasharray="2 2"><title>not in the vocabulary</title></line>'
            )
        parts.append(f'<text x="{x:.1f}" y="{y}" textLength="{width:.1f}" fill="#111111">{word}</text>')
        x, at = x + width, right
    return parts, y + LINE + LINE // 2


def _fitting(word: str) -> str:
    """A word no longer than a line."""
    most = int((WIDTH - 2 * MARGIN) / _CHARACTER / 2)
    return beginning(word, most)


def _columns(text: str) -> int:
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in visible(text))


def safe(text: str) -> str:
    return escape(visible(text))
