"""Small tables for notebooks and terminals; what stands in a cell is shown as it is, never taken for markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from attentest.display.heatmaps.text import one_line, visible

if TYPE_CHECKING:
    from rich.console import RenderableType


def html_table(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    head = "".join(f"<th>{escape(str(h))}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{_cell(v)}</td>" for v in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text_table(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> RenderableType:
    """The same for a terminal, the caption below it."""
    from rich.console import Group
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(*(Column(Text(one_line(name))) for name in header), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(one_line(_written(value))) for value in row))
    return Group(table, Text(visible(caption))) if caption else table


def _cell(value: Any) -> str:
    return escape(_written(value))


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
