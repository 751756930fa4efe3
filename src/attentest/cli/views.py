"""Options that say from where a pretrained encoder is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from typer import Option

import attentest
from attentest.cli.options import RUNNING, offering
from attentest.models.pretrained.precision import AUTO, DTYPES
from attentest.models.pretrained.view import View


def _weights() -> Iterable[str]:
    from attentest.models.pretrained.explanations import EXPLANATIONS

    return EXPLANATIONS


Head = Annotated[
    int | None, Option(help="Head of a pretrained encoder, or of a translation run, looked at alone, from 0 [all].")
]
Weights = Annotated[
    str | None,
    Option(
        help="Weights of a pretrained encoder shown as attention: row, layers, rollout, norms or gradient [row].",
        metavar="NAME",
        autocompletion=offering(_weights),
    ),
]


Dtype = Annotated[
    str,
    Option(
        help="Number type that a pretrained encoder computes in; auto is float32, or as a run is stored.",
        metavar="|".join(DTYPES),
        autocompletion=offering(DTYPES),
        rich_help_panel=RUNNING,
    ),
]


def seen_as(
    run: attentest.Run,
    site: str | None,
    head: int | None,
    weights: str | None,
    special: bool = False,
    dtype: str = AUTO,
) -> attentest.Run:
    """The run, looked at as the options say."""
    run, view = run.computed_in(dtype), View(site, head, weights, special)
    return run if view == View() else run.seen(view)
