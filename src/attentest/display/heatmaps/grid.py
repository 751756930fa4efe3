"""The weights of a translation: a row for each target token, a column for each source token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from attentest.display.heatmaps.pictures import Pictures
from attentest.display.show import to_pandas

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST = 60  # tokens that are drawn of each side


@dataclass(frozen=True)
class Grid:
    """Weights from several views (a layer's mean over heads, a head); one of them is shown first, or alone."""

    id: str
    source: str
    translation: str
    columns: Sequence[str]  # tokens of the source
    rows: Sequence[str]  # and of the translation
    views: Mapping[str, Float[np.ndarray, "rows columns"]]
    shown: str
    about: str = ""  # what is special about the weights

    @property
    def weights(self) -> Float[np.ndarray, "rows columns"]:
        return self.views[self.shown]

    @property
    def title(self) -> str:
        return " · ".join(part for part in (self.id, self.about) if part)

    @property
    def drawn(self) -> tuple[Sequence[str], Sequence[str]]:
        """The rows and columns that there is room for."""
        return self.rows[:MOST], self.columns[:MOST]

    @property
    def left_out(self) -> str:
        """A sentence about those that are not drawn; nothing if all are."""
        more = [max(0, len(side) - MOST) for side in (self.columns, self.rows)]
        return f"Not drawn: the last {more[0]} source and {more[1]} target tokens." if any(more) else ""

    def as_dict(self) -> dict[str, Any]:
        """For machines: tokens, and the weights that are shown."""
        return {
            "id": self.id,
            "source": self.source,
            "translation": self.translation,
            "source_tokens": list(self.columns),
            "target_tokens": list(self.rows),
            "shown": self.shown,
            "about": self.about,
            "weights": self.weights.tolist(),
        }


class Grids(Pictures[Grid]):
    """Maps of translations that render in a notebook, print in a terminal, and save as HTML or SVG."""

    def html(self) -> str:
        from attentest.display.heatmaps.grid_html import fragment
        from attentest.display.heatmaps.html import as_page

        return as_page(fragment(self))

    def svg(self) -> str:
        from attentest.display.heatmaps.grid_svg import picture

        return picture(self)

    def __rich__(self) -> RenderableType:
        from attentest.display.heatmaps.grid_terminal import render

        return render(self)

    def _repr_html_(self) -> str:
        from attentest.display.heatmaps.grid_html import fragment

        return fragment(self)

    def __repr__(self) -> str:
        return f"Heat maps of {len(self)} translations"

    def to_pandas(self) -> Any:
        """One row for each weight that is shown: text, target token, source token, weight."""
        import pyarrow as pa

        rows = [
            {"id": grid.id, "target": target, "source": source, "weight": float(grid.weights[row, place])}
            for grid in self
            for row, target in enumerate(grid.rows)
            for place, source in enumerate(grid.columns)
        ]
        return to_pandas(pa.Table.from_pylist(rows))
