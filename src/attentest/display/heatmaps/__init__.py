"""Heat maps of attention over texts: in the terminal, as HTML, as SVG."""

from attentest.display.heatmaps.heatmap import Heatmap, Heatmaps

__all__ = ["Heatmap", "Heatmaps"]
