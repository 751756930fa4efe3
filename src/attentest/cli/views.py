"""Options that say from where a pretrained encoder is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from typer import Option

import attentest
from attentest.cli.options import RUNNING, offering
from attentest.models.pretrained.precision import AUTO, DTYPES
from attentest.models.pretrained.view import View
from attentest.translation.settings import KINDS


def _weights() -> Iterable[str]:
    from attentest.models.pretrained.explanations import EXPLANATIONS

    return EXPLANATIONS


Head = Annotated[int | None, Option(help="Head of a pretrained encoder that is looked at alone, from 0 [all].")]
Weights = Annotated[
    str | None,
    Option(
        help="Weights of a pretrained encoder shown as attention: row, layers, rollout, norms or gradient [row].",
        metavar="NAME",
        autocompletion=offering(_weights),
    ),
]

# of a command that also shows translation runs
ShownHead = Annotated[
    int | None, Option(help="Head of a pretrained encoder or of a translation run that is shown alone, from 0 [all].")
]
ShownWeights = Annotated[
    str | None,
    Option(
        help="Weights shown: row, layers, rollout, norms or gradient of an encoder [row]; uniform … of a translation.",
        metavar="NAME",
        autocompletion=offering(lambda: (*_weights(), *(kind for kind in KINDS if kind != "given"))),
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
