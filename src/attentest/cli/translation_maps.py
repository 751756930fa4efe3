"""attentest show for translation runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attentest
from attentest.errors import InputError

if TYPE_CHECKING:
    from attentest.display.heatmaps import Grids


def translation_maps(
    runs: Sequence[Path], texts: Sequence[str] | None, *, refused: Mapping[str, Any], n: int, seed: int, **how: Any
) -> Grids:
    """Source × target maps of the texts, or of test texts; `refused` are options that translation runs do not have."""
    from attentest.cli.terminal import TerminalListener
    from attentest.translation.interventions import GIVEN
    from attentest.trials.of_translation.asked import refuse_options

    if len(runs) > 1:
        raise InputError("A translation run is shown alone; give one run.")
    refuse_options(refused)
    if how["weights"] == GIVEN:
        raise InputError("Weights from a file are not shown; translate with them: attentest translate --weights given.")
    ids = how.pop("ids")
    run = attentest.open_translation(runs[0])
    with TerminalListener() as listener:
        if texts:
            return run.attend(texts, seed=seed, listener=listener, **how)
        return run.heatmaps(n, ids=ids, choice=seed, seed=seed, listener=listener, **how)
