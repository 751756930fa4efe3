"""Figures of texts that trials have stored in a run, or in the audit that it lies in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attentest.errors import InputError
from attentest.files import inside
from attentest.server.explorer.opened import Opened
from attentest.server.explorer.weighing import epsilon_of
from attentest.training.folder import AUDITED
from attentest.trials.stored import FILE, StoredFinding, read_finding

COLUMNS = {"adversary": "max_jsd", "correlation": "tau attention – leave-one-out"}  # by trial
FIGURES = {"adversary": "adversary", "correlation": "disagreement"}


def stored_figures(opened: Opened) -> dict[str, dict[str, float]]:
    """By name of the figure: what is known of the texts with these ids."""
    found: dict[str, dict[str, float]] = {name: {} for name in FIGURES.values()}
    for folder in _folders(opened.run.path):
        try:
            finding = read_finding(folder)
            if _is_of(opened, finding):
                table, trial = finding.table, finding.record.trial
                values = table[COLUMNS[trial]].to_numpy(zero_copy_only=False).astype(float)
                values = values if trial == "adversary" else 1 - values
                found[FIGURES[trial]] |= dict(zip(map(str, table["id"].to_pylist()), values.tolist(), strict=True))
        except (InputError, KeyError, ValueError):
            continue  # damaged, or of another version: worked out again
    return found


def _folders(run: Path) -> Iterator[Path]:
    places = [inside(run, "trials")]
    if run.name == AUDITED and (run.parent / "summary.json").is_file():
        places.append(inside(run.parent, "findings"))
    for place in places:
        if place.is_dir():
            yield from (file.parent for file in sorted(place.glob(f"*/{FILE}")))


def _is_of(opened: Opened, finding: StoredFinding) -> bool:
    """Whether the finding is of this model, looked at as usual, with the same constraint."""
    record, run = finding.record, opened.run
    signature = record.signature
    if record.trial not in COLUMNS or "view" in signature or "dtype" in signature:
        return False
    same = all(signature.get(part) == run.settings.get(part) for part in ("model", "training", "text"))
    same = same and signature.get("corpus_hash") == run.record.corpus.fingerprint
    same = same and signature.get("site") == opened.sites[-1]
    asked = signature.get("settings", {})
    bound = asked.get("accepted") or asked.get("epsilon")
    return same and (record.trial != "adversary" or bool(np.isclose(bound or 0, epsilon_of(opened))))
