"""The program with all its commands."""

from __future__ import annotations

from attentest.cli import (  # they register themselves
    annotating,
    calibration,
    exports,
    lists,
    people,
    reports,
    serve,
    studies,
    training,
    translation,
    trials,
)
from attentest.cli.app import app

__all__ = [
    "annotating",
    "app",
    "calibration",
    "exports",
    "lists",
    "people",
    "reports",
    "serve",
    "studies",
    "training",
    "translation",
    "trials",
]
