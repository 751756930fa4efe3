"""What is told of a trained model beside what its trials found."""

from __future__ import annotations

from typing import Any

from attentest.training.run import Run


def about_run(run: Run) -> dict[str, Any]:
    return {
        "corpus": run.settings["corpus"]["name"],
        "classes": run.classes,
        "metrics": run.metrics,
        "test_rows": run.settings["corpus"].get("rows", {}).get("test", {}),
        "texts": run.predictions.num_rows,
        "notes": run.notes,
        "settings": {name: run.settings[name] for name in ("corpus", "model", "training", "text")},
    }
