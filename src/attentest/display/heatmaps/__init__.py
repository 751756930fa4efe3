"""Heat maps of attention over texts and translations: in the terminal, as HTML, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names

if TYPE_CHECKING:
    from attentest.display.heatmaps.grid import Grid, Grids
    from attentest.display.heatmaps.heatmap import Heatmap, Heatmaps

__all__ = ["Grid", "Grids", "Heatmap", "Heatmaps"]

# `text` is for the command line, which starts fast
__getattr__, __dir__ = lazy_names(__name__, {"grid": ["Grid", "Grids"], "heatmap": ["Heatmap", "Heatmaps"]})
