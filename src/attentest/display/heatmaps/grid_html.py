"""Maps of translations as HTML: a table for each layer and head, chosen by radio buttons, without any script."""

from __future__ import annotations

from collections.abc import Iterable

from attentest.display.heatmaps.colour import FAINTEST, percent, strength
from attentest.display.heatmaps.grid import Grid
from attentest.display.heatmaps.html import LEGEND_LINE, STYLE, safe

_READ = "Rows: target tokens. Columns: source tokens. Cells: weight in %, with more digits where the mouse points."
_STYLE = """
.attentest form{margin:0 0 1.5em;padding:.8em 1em;border:1px solid #8886;border-radius:6px}
.attentest fieldset{border:0;padding:0;margin:.4em 0;display:flex;flex-wrap:wrap;gap:.1em 1em;font-size:.85em}
.attentest fieldset legend{float:left;padding:0;margin-right:1em}
.attentest .view{overflow-x:auto}
.attentest .view table{border-collapse:separate;border-spacing:2px;font-size:.85em;line-height:1.3}
.attentest .view caption{text-align:left;font-weight:bold;white-space:nowrap}
.attentest .view th{font-weight:normal;white-space:nowrap}
.attentest .view thead th{vertical-align:bottom}
.attentest .view thead span{writing-mode:vertical-rl;transform:rotate(180deg);max-height:11em;overflow:hidden}
.attentest .view tbody th{text-align:right;padding-right:.4em;max-width:14em;overflow:hidden;text-overflow:ellipsis}
.attentest .view tbody td{min-width:2em;height:1.7em;padding:0;text-align:center;border-radius:3px;font-size:.85em;
background:rgba(230,97,1,var(--w,0));outline:1px solid #8882}
@media (prefers-color-scheme:dark){.attentest .view tbody td{background:rgba(230,97,1,calc(.7*var(--w,0)))}}
"""


def fragment(grids: Iterable[Grid]) -> str:
    """For a notebook cell or a page."""
    listed = list(grids)
    several = max((len(grid.views) for grid in listed), default=0)
    style = f"{STYLE}{_STYLE}{_choice(several)}"
    body = "".join(map(_form, listed))
    return f'<div class="attentest"><style>{style}</style>{LEGEND_LINE}<p class="about">{_READ}</p>{body}</div>'


def _choice(views: int) -> str:
    """Only the chosen one of several tables is seen; all of them where a browser cannot tell which is chosen."""
    if views < 2:
        return ""
    chosen = ",".join(
        f'.attentest form:has(input[value="{view}"]:checked) .view[data-view="{view}"]' for view in range(views)
    )
    return (
        f"@supports selector(:has(*)){{.attentest .several .view{{display:none}}{chosen}{{display:block!important}}}}"
    )


def _form(grid: Grid) -> str:
    """A form keeps its buttons apart from those of other maps; as a dialogue it is never sent anywhere."""
    names = list(grid.views)
    about = f'<p class="about">{safe(grid.title)}</p>' if grid.title else ""
    texts = f'<p dir="auto">{safe(grid.source)}</p><p dir="auto">→ {safe(grid.translation)}</p>'
    tables = "".join(_table(grid, number, name) for number, name in enumerate(names))
    left = f'<p class="about">{safe(grid.left_out)}</p>' if grid.left_out else ""
    several = ' class="several"' if len(names) > 1 else ""
    return f'<form method="dialog"{several}>{about}{texts}{_buttons(grid)}{tables}{left}</form>'


def _buttons(grid: Grid) -> str:
    """The heads of a layer in one line."""
    if len(grid.views) < 2:
        return ""
    lines: dict[str, list[str]] = {}
    for number, name in enumerate(grid.views):
        site, _, rest = name.partition(" ")
        checked = " checked" if name == grid.shown else ""
        button = f'<label><input type="radio" name="view" value="{number}"{checked}> {safe(rest or site)}</label>'
        lines.setdefault(site, []).append(button)
    return "".join(
        f"<fieldset><legend>{safe(site.rstrip(','))}</legend>{''.join(buttons)}</fieldset>"
        for site, buttons in lines.items()
    )


def _table(grid: Grid, number: int, name: str) -> str:
    rows, columns = grid.drawn
    head = "".join(f'<th scope="col"><span dir="auto">{safe(column)}</span></th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row" dir="auto">{safe(row)}</th>{"".join(map(_cell, values[: len(columns)]))}</tr>'
        for row, values in zip(rows, grid.views[name].tolist(), strict=False)  # only so many rows are drawn
    )
    return (
        f'<div class="view" data-view="{number}"><table><caption>{safe(name)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(weight: float) -> str:
    deep = strength(weight)
    shade = f' style="--w:{deep:.2f}"' if deep >= FAINTEST else ""
    return f'<td{shade} title="{weight:.4f}">{percent(weight)}</td>'
