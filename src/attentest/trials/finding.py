"""A finding: what a trial gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from attentest.measures.intervals import Estimate
from attentest.report.tables import html_table
from attentest.training.folder import write_json, write_table, write_whole


@dataclass(frozen=True)
class Finding:
    """A tidy table, a summary with intervals, a figure, a sentence, and what produced them."""

    trial: str
    question: str
    answer: str
    table: pa.Table
    summary: Mapping[str, Estimate]
    signature: Mapping[str, Any]
    chart: Mapping[str, Any] | None = None  # a Vega-Lite specification
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def figure(self) -> Any:
        """The figure as an Altair chart."""
        import altair

        return altair.Chart.from_dict(dict(self.chart)) if self.chart is not None else None

    def svg(self) -> str:
        import vl_convert

        text: str = vl_convert.vegalite_to_svg(dict(self.chart or {}))
        return text

    def as_dict(self) -> dict[str, Any]:
        return {
            "trial": self.trial,
            "question": self.question,
            "answer": self.answer,
            "summary": {name: estimate.as_dict() for name, estimate in self.summary.items()},
            "notes": list(self.notes),
            "signature": dict(self.signature),
            "files": dict(self.files),
        }

    def save(self, folder: Path) -> Finding:
        """Write table, figure and settings; the finding with the paths of its files."""
        folder.mkdir(parents=True, exist_ok=True)
        files = {"table": folder / "table.parquet", "finding": folder / "finding.json"}
        write_table(files["table"], self.table)
        if self.chart is not None:
            files |= {"figure": folder / "figure.svg", "chart": folder / "figure.json"}
            picture = self.svg()
            write_whole(files["figure"], lambda draft: _write(draft, picture))
            write_json(files["chart"], dict(self.chart))
        saved = Finding(**{**vars(self), "files": {name: str(path) for name, path in files.items()}})
        # names alone: a folder may be moved
        write_json(files["finding"], saved.as_dict() | {"files": {name: path.name for name, path in files.items()}})
        return saved

    def __repr__(self) -> str:
        return f"Finding({self.trial}: {self.answer})"

    def _repr_html_(self) -> str:
        rows = [(name, e.value, f"[{e.low:.3f}, {e.high:.3f}]", e.n) for name, e in self.summary.items()]
        picture = self.svg() if self.chart is not None else ""
        return html_table(["", "value", "95 % interval", "n"], rows, caption=self.answer) + picture


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
