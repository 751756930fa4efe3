"""A run as its owner holds it: everything that can be asked of a trained model, trials and audit among it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Unpack

from attentest import training
from attentest.audits import Audit, audit
from attentest.studies.run_study import USUAL, RunningGiven
from attentest.training.keywords import takes
from attentest.trials import Finding
from attentest.trials import trial as put_on_trial
from attentest.trials.base import Trial

Given = ParamSpec("Given")


class Run(training.Run):
    """A trained model in its folder, with what made it and what it said about the test split."""

    def trial(
        self,
        name: str | Trial | type[Trial],
        *,
        texts: int | None = None,
        site: str | None = None,
        device: str = "auto",
        **settings: Any,
    ) -> Finding:
        """Put its attention on one trial, by name with its `settings` or a Trial of your own."""
        return put_on_trial(name, self, texts=texts, site=site, device=device, **settings)

    @takes(RunningGiven, USUAL)
    def audit(
        self,
        out: str | Path = "audit",
        *,
        budget: str = "quick",
        texts: int | None = None,
        device: str = "auto",
        thresholds: Mapping[str, float] | None = None,
        **given: Unpack[RunningGiven],
    ) -> Audit:
        """Audit this model as it is; attentest.audit(corpus, model=run) also trains others to compare it with."""
        return audit(self, out, budget=budget, texts=texts, device=device, thresholds=thresholds, **given)


def _mine(make: Callable[Given, training.Run]) -> Callable[Given, Run]:
    """The same function, whose run has these methods."""

    @wraps(make)
    def made(*args: Given.args, **kwargs: Given.kwargs) -> Run:
        found = make(*args, **kwargs)
        return Run(found.path, found.keep)

    return made


train = _mine(training.train)
open_run = _mine(training.open_run)
