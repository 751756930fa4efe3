"""Maps of translations in the terminal: percentages on a background colour, in blocks as wide as the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from attentest.display.cut import cut, width
from attentest.display.heatmaps.colour import percent, strength
from attentest.display.heatmaps.grid import Grid
from attentest.display.heatmaps.terminal import scale, style
from attentest.display.heatmaps.text import one_line

_NARROWEST, _WIDEST, _LABEL = 3, 9, 16  # columns of the terminal: for 100, for a source token, for a target token


def render(grids: Iterable[Grid]) -> RenderableType:
    return Group(*(part for grid in grids for part in _one(grid)), scale(), Text("cells: weight in %", "dim"))


def _one(grid: Grid) -> Iterator[RenderableType]:
    head = Text()
    head.append(f"{one_line(grid.title)}  ", "dim")
    head.append(one_line(grid.shown), "bold")
    yield head
    yield Text(one_line(grid.source))
    yield Text(f"→ {one_line(grid.translation)}", "italic")
    yield _Table(grid)
    if grid.left_out:
        yield Text(grid.left_out, "dim")
    yield Text()


@dataclass(frozen=True)
class _Table:
    grid: Grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        rows, columns = ([one_line(token) for token in side] for side in self.grid.drawn)
        label = min(_LABEL, max((width(row) for row in rows), default=0))
        cell = min(_WIDEST, max([_NARROWEST, *(width(column) for column in columns)]))
        at_once = max(1, (options.max_width - label) // (cell + 1))
        for start in range(0, len(columns), at_once):
            yield from self._block(rows, columns[start : start + at_once], start, label, cell)

    def _block(
        self, rows: Sequence[str], columns: Sequence[str], start: int, label: int, cell: int
    ) -> Iterator[RenderableType]:
        header = Text(" " * label, no_wrap=True)
        for column in columns:
            header.append(f" {_fitted(column, cell)}", "dim")
        yield header
        for number, row in enumerate(rows):
            line = Text(_fitted(row, label), no_wrap=True)
            for weight in self.grid.weights[number, start : start + len(columns)].tolist():
                line.append(" ")
                line.append((percent(weight) or "·").rjust(cell), style(strength(weight), unknown=False))
            yield line


def _fitted(token: str, columns: int) -> str:
    """Cut or filled up to this width, to the left of it."""
    shown = cut(token, columns)
    return " " * (columns - width(shown)) + shown
