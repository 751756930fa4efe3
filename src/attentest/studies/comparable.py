"""What a model of ours must be before its figures may be compared with a paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attentest.measures.intervals import Estimate

Place = tuple[str, str, str]  # model, variant, measure
Lookup = Callable[[Place], Estimate | None]


@dataclass(frozen=True)
class Requirement:
    """Figures of `variant` count where `measure` of the same model and variant is at least so large."""

    paper: str
    variant: str
    measure: str
    at_least: float
    says: str


JSD, FAR = "jsd", 0.4  # the mean from which Wiegreffe & Pinter 2019 call an adversary one
REQUIREMENTS = tuple(
    Requirement("meister2021", variant, JSD, FAR, f"the {variant} adversary is not far from the base")
    for variant in ("frozen", "unfrozen")
)


def not_comparable(paper: str, model: str, variant: str, ours: Lookup) -> str:
    """Why figures of this variant do not count; empty where they do."""
    for needed in REQUIREMENTS:
        if (needed.paper, needed.variant) == (paper, variant):
            figure = ours((model, variant, needed.measure))
            if figure is not None:
                return too_near(needed.says, needed.measure, figure, needed.at_least)
    return ""


def too_near(says: str, measure: str, figure: Estimate, at_least: float) -> str:
    if figure.value >= at_least:
        return ""
    return f"{says}: mean {measure.upper()} {figure.value:.2f}, at least {at_least:g} is needed"
