"""Heat maps of attention over texts: in the terminal, as HTML, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names

if TYPE_CHECKING:
    from attentest.display.heatmaps.heatmap import Heatmap, Heatmaps

__all__ = ["Heatmap", "Heatmaps"]

__getattr__, __dir__ = lazy_names(__name__, {"heatmap": __all__})  # `text` is for the command line, which starts fast
