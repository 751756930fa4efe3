"""Settings under which every trial takes seconds."""

from __future__ import annotations

from typing import Any

QUICK: dict[str, dict[str, Any]] = {
    "adversary": {"steps": 20},
    "information": {"runs": 2, "clusters": 5},
    "dispersion": {"influence_texts": 5},
}
