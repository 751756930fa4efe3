"""How strongly a weight is coloured: by its own size, so that all maps can be compared."""

from __future__ import annotations

import math

LEGEND = (0.01, 0.05, 0.25, 1.0)  # weights that a legend shows
FAINTEST = 0.05  # less is not seen, and left uncoloured


def strength(weight: float) -> float:
    """From 0 to 1 for a weight from 0 to 1; the root keeps apart the small weights of long texts."""
    return math.sqrt(min(max(weight, 0.0), 1.0)) if math.isfinite(weight) else 0.0


def percent(weight: float) -> str:
    """The weight in a cell of a map, for eyes that do not tell its colour; nothing where it rounds to 0."""
    return f"{100 * weight:.0f}" if weight >= 0.005 else ""
