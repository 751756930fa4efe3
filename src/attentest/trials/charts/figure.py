"""One figure in the hands of its reader: drawn by a notebook, saved as a picture or as its specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import make_folder, write_bytes
from attentest.trials.base import Chart
from attentest.trials.charts.files import as_text, png_of, svg_of

_MEDIA = "application/vnd.vegalite.v6+json"


@dataclass(frozen=True)
class Figure:
    spec: Chart  # Vega-Lite

    def save(self, path: str | Path) -> Path:
        """Write it as .svg, .png, or .json (the Vega-Lite specification)."""
        path = Path(path)
        kinds = {
            ".svg": lambda: svg_of(self.spec).encode(),
            ".png": lambda: png_of(self.spec),
            ".json": lambda: as_text(self.spec).encode(),
        }
        if path.suffix not in kinds:
            raise InputError(f"A figure is saved as .svg, .png or .json, not as '{path.name}'.")
        make_folder(path.parent)
        write_bytes(path, kinds[path.suffix]())
        return path

    def to_dict(self) -> dict[str, Any]:
        return dict(self.spec)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Mapping[str, Any]:
        """Notebooks draw the specification themselves, or show the picture."""
        return {_MEDIA: self.to_dict(), "image/svg+xml": svg_of(self.spec), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"Figure({str(self.spec.get('description', ''))!r})"
