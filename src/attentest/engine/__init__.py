"""A plan of steps, a store for what they give, and the runners that turn one into the other."""

from attentest.engine.plan import Plan, Step
from attentest.engine.scheduler import Outcome, run_plan
from attentest.engine.store import Store

__all__ = ["Outcome", "Plan", "Step", "Store", "run_plan"]
