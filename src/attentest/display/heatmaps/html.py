"""Heat maps as HTML: self-contained, escaped, readable in light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from attentest.display.heatmaps.colour import FAINTEST, LEGEND, strength
from attentest.display.heatmaps.heatmap import Heatmap
from attentest.display.heatmaps.text import visible

STYLE = """
.attentest{font:16px/1.8 system-ui,sans-serif;color:#1a1a1a;max-width:60em}
.attentest article{margin:0 0 1.5em;padding:.8em 1em;border:1px solid #8886;border-radius:6px}
.attentest p{margin:.3em 0;white-space:pre-wrap;overflow-wrap:anywhere}
.attentest .about{font-size:.85em;opacity:.85}
.attentest mark{color:inherit;border-radius:3px;padding:.1em 0;background:rgba(230,97,1,var(--w))}
.attentest .second{border-left:3px solid #8886;padding-left:.6em;font-style:italic}
.attentest mark.r{text-decoration:underline 2px}
.attentest .u{text-decoration:underline dotted}
.attentest .wrong{font-weight:bold}
@media (prefers-color-scheme:dark){.attentest{color:#eee}.attentest mark{background:rgba(230,97,1,calc(.7*var(--w)))}}
"""
_PAGE_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2em auto;padding:0 1em;max-width:62em;background:#fff}"
    "@media (prefers-color-scheme:dark){body{background:#16181c;color:#eee}}"
)

_SCALE = " ".join(f'<mark style="--w:{strength(weight):.2f}">&nbsp;{weight:g}&nbsp;</mark>' for weight in LEGEND)
LEGEND_LINE = f'<p class="about">Weight: {_SCALE}, on the same scale in every map.</p>'


def fragment(heatmaps: Iterable[Heatmap]) -> str:
    """For a notebook cell."""
    return f'<div class="attentest"><style>{STYLE}</style>{LEGEND_LINE}{"".join(map(_article, heatmaps))}</div>'


def page(heatmaps: Iterable[Heatmap]) -> str:
    return as_page(fragment(heatmaps))


def as_page(body: str, heading: str = "Attention") -> str:
    """A self-contained page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>attentest: {heading.lower()}</title><style>{_PAGE_STYLE}</style></head>"
        f"<body><main><h1>{heading}</h1>{body}</main></body></html>\n"
    )


def _article(heatmap: Heatmap) -> str:
    predicted = f"{safe(heatmap.predicted)} {heatmap.confidence:.2f}"
    about = [f"<span>{safe(heatmap.title)}</span>", f"predicted <b>{predicted}</b>"]
    if heatmap.label is not None:
        wrong = "" if heatmap.label == heatmap.predicted else ' class="wrong"'
        about.append(f"<span{wrong}>label {safe(heatmap.label)}</span>")
    heaviest = ", ".join(f"{safe(word)} {weight:.2f}" for word, weight in heatmap.heaviest())
    alone = heatmap.second_alone
    second = "" if alone is None else f'<p dir="auto" class="second">{safe(alone)}</p>'
    unknown = "; dotted: not in the vocabulary" if heatmap.unknown_words else ""
    return (
        f'<article><p class="about">{" · ".join(about)}</p><p dir="auto">{_marked(heatmap)}</p>{second}'
        f'<p class="about">{safe(heatmap.legend)}: {heaviest}{unknown}</p></article>'
    )


def _marked(heatmap: Heatmap) -> str:
    text, parts, at = heatmap.shown_text, [], 0
    for i, ((start, end), deep) in enumerate(zip(heatmap.places, heatmap.strengths, strict=True)):
        parts.append(safe(text[at:start]))
        token = safe(text[start:end])
        if heatmap.is_unknown(i):
            token = f'<span class="u" title="not in the vocabulary">{token}</span>'
        reason = heatmap.rationale is not None and heatmap.rationale[i]
        if deep >= FAINTEST or reason:
            kind = ' class="r"' if reason else ""
            token = f'<mark{kind} style="--w:{deep:.2f}" title="{heatmap.weights[i]:.4f}">{token}</mark>'
        parts.append(token)
        at = end
    parts.append(safe(text[at:]))
    return "".join(parts)


def safe(text: str) -> str:
    return escape(visible(text))
