"""Options that say from where a pretrained encoder is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from typer import Option

import attentest
from attentest.cli.options import offering
from attentest.models.pretrained.view import View


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


def seen_as(
    run: attentest.Run, site: str | None, head: int | None, weights: str | None, special: bool = False
) -> attentest.Run:
    """The run, looked at as the options say."""
    view = View(site, head, weights, special)
    return run if view == View() else run.seen(view)
