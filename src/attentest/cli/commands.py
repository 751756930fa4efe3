"""The program with all its commands."""

from __future__ import annotations

from attentest.cli import exports, lists, reports, studies, training, trials  # they register themselves
from attentest.cli.app import app

__all__ = ["app", "exports", "lists", "reports", "studies", "training", "trials"]
