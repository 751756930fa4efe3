"""A plan of steps, a store for what they give, and the runners that turn one into the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names

__all__ = ["Outcome", "Plan", "Step", "Store", "run_plan"]

if TYPE_CHECKING:
    from attentest.engine.plan import Plan, Step
    from attentest.engine.scheduler import Outcome, run_plan
    from attentest.engine.store import Store

# a worker is to watch its parent before it imports all this
__getattr__, __dir__ = lazy_names(
    __name__, {"plan": ["Plan", "Step"], "scheduler": ["Outcome", "run_plan"], "store": ["Store"]}
)
