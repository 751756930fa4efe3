"""Edits to translation redo no training of models of labels: their keys hash what they import."""

from __future__ import annotations

from attentest.engine.code_version import imported_by


def test_other_trainings_and_trials_import_no_translation() -> None:
    for step in ("training", "trial", "baseline", "experiment"):
        found = imported_by(f"attentest.studies.steps.{step}")
        assert not [module for module in found if ".translation" in module or module == "attentest.corpora.parallel"], (
            step
        )
