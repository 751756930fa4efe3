"""The program with all its commands."""

from __future__ import annotations

from attentest.cli import calibration, exports, lists, reports, studies, training, trials  # they register themselves
from attentest.cli.app import app

__all__ = ["app", "calibration", "exports", "lists", "reports", "studies", "training", "trials"]
