"""When a figure of ours may not be compared with a paper's: where it stands on an adversary that is none.

One rule, for published cells and for directions: theirs is far from its base, and ours is not. The distance itself is
always compared, as it is what is reproduced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attentest.measures.intervals import Estimate
from attentest.studies.cells import GAIN

Place = tuple[str, str, str]  # model, variant, measure
Lookup = Callable[[Place], Estimate | None]

JSD, FAR = "jsd", 0.4  # the mean from which Wiegreffe & Pinter 2019 call an adversary one


@dataclass(frozen=True)
class Borrowed:
    """Figures of `variant` stand on an adversary that is another cell, in another table."""

    paper: str
    variant: str
    distance: Place
    table: str


BORROWED = (  # λ is that of the study's experiment `guides` …
    Borrowed("wiegreffe2019", "guide: adversary", ("bilstm+additive", "adversary, lambda=0.001", JSD), "Table 5"),
    *(  # … and of `informed-adversary`, which has one λ a corpus
        Borrowed("wen2022", "adversary", ("bilstm+additive", f"adversary, lambda={strength:g}", JSD), "Table 3")
        for strength in (5.0e-4, 5.25e-4, 8.0e-4)
    ),
)


def distances(paper: str, table: str, place: Place) -> list[tuple[str, Place]]:
    """The distances from the base that a figure may depend on, each with the table that prints it: of its own variant,
    or, for a gain, of both. A distance depends on none."""
    model, variant, measure = place
    if measure == JSD:
        return []
    _, gain, other = measure.partition(GAIN)
    found = []
    for name in (variant, other) if gain else (variant,):
        elsewhere = [(one.table, one.distance) for one in BORROWED if (one.paper, one.variant) == (paper, name)]
        found += elsewhere or [(table, (model, name, JSD))]
    return found


def too_near(variant: str, ours: Estimate | None, theirs: float | None) -> str:
    """Why figures of this adversary do not count; empty where they do."""
    if ours is None or theirs is None or not ours.value < FAR <= theirs:
        return ""
    name = variant.removeprefix("adversary, ")
    return (
        f"the adversary ({name}) is not far from the base, where theirs is: mean JSD {ours.value:.2f}, at least "
        f"{FAR:g} is needed"
    )
