"""A finding: what a trial gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from attentest.display.show import show, to_pandas
from attentest.display.tables import html_table, text_table
from attentest.errors import InputError, unknown_name
from attentest.files import arrow_file, hash_of, make_folder, remove_drafts, write_json, write_table, write_whole
from attentest.measures.intervals import Estimate
from attentest.trials.base import Chart
from attentest.trials.charts.data import table_of
from attentest.trials.charts.figure import Figure
from attentest.trials.charts.files import listed, png_of, save_charts, svg_of
from attentest.trials.stored import CSV, FILE, TABLE

if TYPE_CHECKING:
    from rich.console import RenderableType


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
    kind: str = "trial"  # or experiment, or comparison
    undrawn: tuple[str, ...] = ()  # titles of the charts that could not be drawn when it was saved
    headline: str = ""  # the figure of the summary that stands for it; the first unless named

    @property
    def number(self) -> Estimate | None:
        """The one figure that stands for the finding, with its interval."""
        return self.summary.get(self.headline or next(iter(self.summary), ""))

    @property
    def figure(self) -> Figure | None:
        """The first figure."""
        return Figure(self._chart(None)) if self.charts else None

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
            "kind": self.kind,
            "trial": self.trial,
            "question": self.question,
            "answer": self.answer,
            "summary": {name: estimate.as_dict() for name, estimate in self.summary.items()},
            "notes": list(self.notes),
            "signature": dict(self.signature),
            "charts": listed(self.charts, self.undrawn),
            "files": dict(self.files),
        }

    def to_pandas(self) -> Any:
        """The table: one row for each text."""
        return to_pandas(self.table)

    def show(self) -> None:
        """Display answer, figures and charts in a notebook; print answer and figures elsewhere."""
        show(self)

    def save(self, folder: str | Path) -> Finding:
        """Write table, figures and settings; the finding with the paths of its files."""
        folder = Path(folder)
        make_folder(folder)
        try:
            remove_drafts(folder)
        except OSError as error:
            raise InputError(f"{folder} cannot be written: {error.strerror}.") from error
        names = {"table": TABLE, "csv": CSV, "finding": FILE}
        write_table(folder / names["table"], self.table)
        write_whole(folder / names["csv"], self._write_csv)
        undrawn = save_charts(folder, self.charts)
        saved = replace(self, notes=(*self.notes, *undrawn.values()), undrawn=tuple(undrawn))
        # names alone: a folder may be moved; and last, with the table's hash: a kill leaves no mixture that is believed
        content = saved.as_dict() | {"files": names, "table": hash_of(folder / names["table"])}
        write_json(folder / names["finding"], content)
        return replace(saved, files={kind: str(folder / name) for kind, name in names.items()})

    def _write_csv(self, path: Path) -> None:
        with arrow_file(path, "wb") as file:
            csv.write_csv(self.table, file)

    def __str__(self) -> str:
        """The number, its interval, and what produced it, in one line."""
        return f"{self.trial} {'no figure' if self.number is None else self.number} | {one_line(self.signature)}"

    def __repr__(self) -> str:
        return f"Finding({self.trial}: {self.answer})"

    def _rows(self) -> list[tuple[str, float, str, int]]:
        return [(name, e.value, f"[{e.low:.3f}, {e.high:.3f}]", e.n) for name, e in self.summary.items()]

    def __rich__(self) -> RenderableType:
        notes = "".join(f"\n{note}" for note in self.notes)
        return text_table(_HEADER, self._rows(), caption=f"{self.answer}{notes}")

    def _repr_html_(self) -> str:
        pictures = "".join(_picture(title, chart) for title, chart in self.charts.items())
        return html_table(_HEADER, self._rows(), caption=self.answer) + pictures


def _picture(title: str, chart: Chart) -> str:
    """As SVG or, if it cannot be drawn, its data as a table."""
    try:
        return svg_of(chart)
    except InputError as error:
        return html_table(*table_of(chart), caption=f"{title}: {error}")


_HEADER = ("", "value", "95 % interval", "n")


def one_line(signature: Mapping[str, Any]) -> str:
    """A signature as `name:value` pairs: what was measured, on what, and by which version."""
    parts: dict[str, Any] = {}
    if "corpus" in signature:
        fingerprint = str(signature.get("corpus_hash", ""))[:6]
        parts["corpus"] = f"{signature['corpus']}@{fingerprint}" if fingerprint else signature["corpus"]
    model = signature.get("model")
    if isinstance(model, Mapping):
        parts["model"] = "+".join(str(model[part]) for part in ("encoder", "alignment", "projection") if part in model)
        parts["structure"] = model.get("structure") if model.get("structure") != "flat" else None
    elif model is not None:
        parts["model"] = model
    parts["seed"] = signature.get("training", {}).get("seed")
    parts["site"] = signature.get("site") if signature.get("site") != "token" else None
    parts["texts"] = signature.get("texts")
    for name, value in signature.get("settings", {}).items():
        parts[f"trial_{name}" if name in parts else name] = value
    parts["attentest"] = signature.get("attentest")
    return " ".join(f"{name}:{_word(value)}" for name, value in parts.items() if value is not None)


def _word(value: Any) -> str:
    """Without blanks, so that the line can be cut at them."""
    joined = "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return "_".join(joined.split())
