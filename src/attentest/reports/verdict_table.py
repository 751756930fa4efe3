"""Verdicts as a table for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attentest.studies.verdict import Verdict
from attentest.studies.verdict.judge import UNTESTED

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

HEADER = ("attention is …", "answer", "figure [95 %]", "threshold", "what it stands on")
STYLES = {"yes": "green", "no": "red", "unclear": "yellow"}
WIDE = 110  # columns of a terminal that has room for the sentences in the table


def rows(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """Definition, answer, the figure that decides with its threshold, and what the answer stands on."""
    return [(v.definition.name, _answer(v), *_figure(v), v.confidence) for v in verdicts]


def _answer(verdict: Verdict) -> str:
    idle = not verdict.of_consequence and verdict.answer != UNTESTED
    return f"{verdict.answer} (of little consequence)" if idle else verdict.answer


def _figure(verdict: Verdict) -> tuple[str, str]:
    deciding = verdict.deciding
    if deciding is None or deciding.figure is None:
        return "–", "–"
    return str(deciding.figure), f"{deciding.criterion.side} {deciding.threshold:g}"


class VerdictTable:
    """As wide as the terminal; a narrow one has each sentence below its row."""

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        self._verdicts = verdicts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.max_width >= WIDE
        yield self._table(wide)
        if not wide:
            yield from self._sentences()

    def _table(self, wide: bool) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        head = HEADER if wide else HEADER[:-1]
        table = Table(*head, box=None, pad_edge=False)
        for verdict, row in zip(self._verdicts, rows(self._verdicts), strict=True):
            cells = [Text(cell) for cell in row[: len(head)]]
            cells[1].stylize(STYLES.get(verdict.answer, ""))
            table.add_row(*cells)
        return table

    def _sentences(self) -> RenderResult:
        from rich.padding import Padding
        from rich.text import Text

        told: dict[str, list[str]] = {}  # several may stand on the same
        for verdict in self._verdicts:
            told.setdefault(verdict.confidence, []).append(verdict.definition.name)
        yield Text()
        for sentence, names in told.items():
            yield Text(", ".join(names), "bold")
            yield Padding(Text(sentence), (0, 0, 0, 2))
