"""A finding: what a trial gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from attentest.display.tables import html_table
from attentest.errors import InputError, unknown_name
from attentest.files import arrow_file, write_json, write_table, write_whole
from attentest.measures.intervals import Estimate
from attentest.trials.base import Chart
from attentest.trials.charts.data import table_of
from attentest.trials.charts.files import listed, png_of, save_charts, svg_of


@dataclass(frozen=True)
class Finding:
    """A tidy table, a summary with intervals, figures, a sentence, and what produced them."""

    trial: str
    question: str
    answer: str
    table: pa.Table
    summary: Mapping[str, Estimate]
    signature: Mapping[str, Any]
    charts: Mapping[str, Chart] = field(default_factory=dict)  # by title: Vega-Lite specifications
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    undrawn: tuple[str, ...] = ()  # titles of the charts that could not be drawn when it was saved

    @property
    def figure(self) -> Any:
        """The first figure as an Altair chart."""
        import altair

        return altair.Chart.from_dict(dict(self._chart(None))) if self.charts else None

    def svg(self, name: str | None = None) -> str:
        """A figure by its title, or the first one."""
        return svg_of(self._chart(name))

    def png(self, name: str | None = None) -> bytes:
        return png_of(self._chart(name))

    def _chart(self, name: str | None) -> Chart:
        chosen = next(iter(self.charts), "") if name is None else name
        if chosen not in self.charts:
            raise unknown_name(f"figure of the finding {self.trial}", chosen, self.charts)
        return self.charts[chosen]

    def as_dict(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "question": self.question,
            "answer": self.answer,
            "summary": {name: estimate.as_dict() for name, estimate in self.summary.items()},
            "notes": list(self.notes),
            "signature": dict(self.signature),
            "charts": listed(self.charts, self.undrawn),
            "files": dict(self.files),
        }

    def save(self, folder: Path) -> Finding:
        """Write table, figures and settings; the finding with the paths of its files."""
        folder.mkdir(parents=True, exist_ok=True)
        names = {"table": "table.parquet", "csv": "table.csv", "finding": "finding.json"}
        write_table(folder / names["table"], self.table)
        write_whole(folder / names["csv"], self._write_csv)
        undrawn = save_charts(folder, self.charts)
        saved = replace(self, notes=(*self.notes, *undrawn.values()), undrawn=tuple(undrawn))
        # names alone: a folder may be moved
        write_json(folder / names["finding"], saved.as_dict() | {"files": names})
        return replace(saved, files={kind: str(folder / name) for kind, name in names.items()})

    def _write_csv(self, path: Path) -> None:
        with arrow_file(path, "wb") as file:
            csv.write_csv(self.table, file)

    def __repr__(self) -> str:
        return f"Finding({self.trial}: {self.answer})"

    def _repr_html_(self) -> str:
        rows = [(name, e.value, f"[{e.low:.3f}, {e.high:.3f}]", e.n) for name, e in self.summary.items()]
        pictures = "".join(_picture(title, chart) for title, chart in self.charts.items())
        return html_table(["", "value", "95 % interval", "n"], rows, caption=self.answer) + pictures


def _picture(title: str, chart: Chart) -> str:
    """As SVG or, if it cannot be drawn, its data as a table."""
    try:
        return svg_of(chart)
    except InputError as error:
        return html_table(*table_of(chart), caption=f"{title}: {error}")
