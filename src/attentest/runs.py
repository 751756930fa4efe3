"""A run as its owner holds it: everything that can be asked of a trained model, trials and audit among it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Unpack

import numpy as np

from attentest import training
from attentest.audits import Audit, audit
from attentest.display.heatmaps import Heatmaps
from attentest.models.pretrained.precision import AUTO
from attentest.studies.run_study import USUAL, RunningGiven
from attentest.text.installed_vectors import located
from attentest.training import run_texts
from attentest.training.keywords import takes
from attentest.translation.folder import refuse_translation_run
from attentest.trials import Finding
from attentest.trials import trial as put_on_trial
from attentest.trials.base import Trial
from attentest.trials.of_translation.asked import ask, asked_of_translation

Given = ParamSpec("Given")


class Run(training.Run):
    """A trained model in its folder, with what made it and what it said about the test split."""

    def heatmaps(self, n: int = 5, *, ids: Sequence[str] | None = None, wrong: bool = False, seed: int = 0) -> Heatmaps:
        """Attention on texts of the test split: those with these ids, or a random sample (of the wrong ones)."""
        return run_texts.heatmaps(self, n, ids=ids, wrong=wrong, seed=seed)

    def show(self, n: int = 5, **choice: Any) -> None:
        """Heat maps of test texts (as `heatmaps` chooses them): displayed in a notebook, printed elsewhere."""
        self.heatmaps(n, **choice).show()

    def attend(
        self, texts: Sequence[str] | str, second: Sequence[str] | str | None = None, *, windows: bool = False
    ) -> Heatmaps:
        """Predictions and attention for your own texts; a model of pairs also needs the `second` text of each.

        A text that is read in windows has one map, of the means over them; with `windows` those of each window follow.
        """
        return run_texts.attend(self, texts, second, windows=windows)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Of the classes, for your own single texts, many at once; one without a token counts as an unknown word."""
        return run_texts.probabilities(self, texts)

    def trial(
        self,
        name: str | Trial | type[Trial],
        *,
        texts: int | None = None,
        site: str | None = None,
        device: str = "auto",
        dtype: str = AUTO,
        memory: int | str | None = None,
        **settings: Any,
    ) -> Finding:
        """Put its attention on one trial, by name with its `settings` or a Trial of your own."""
        where: dict[str, Any] = {"device": device, "dtype": dtype, "memory": memory}
        return put_on_trial(name, self, texts=texts, site=site, **where, **settings)

    @takes(RunningGiven, USUAL)
    def audit(
        self,
        out: str | Path = "audit",
        *,
        budget: str = "quick",
        texts: int | None = None,
        device: str = "auto",
        dtype: str = AUTO,
        memory: int | str | None = None,
        thresholds: Mapping[str, float] | None = None,
        **given: Unpack[RunningGiven],
    ) -> Audit:
        """Audit this model as it is; attentest.audit(corpus, model=run) also trains others to compare it with."""
        return audit(
            self,
            out,
            budget=budget,
            texts=texts,
            device=device,
            dtype=dtype,
            memory=memory,
            thresholds=thresholds,
            **given,
        )


def _mine(make: Callable[Given, training.Run]) -> Callable[Given, Run]:
    """The same function, whose run has these methods, and which knows vectors in installed packages by their names."""

    @wraps(make)
    def made(*args: Given.args, **kwargs: Given.kwargs) -> Run:
        vectors = kwargs.get("vectors")
        if isinstance(vectors, str):
            kwargs["vectors"] = located(vectors)
        found = make(*args, **kwargs)
        return Run(found.path, found.keep)

    return made


train = _mine(training.train)
finetune = _mine(training.finetune)


@wraps(training.open_run)
def open_run(path: str | Path) -> Run:
    if isinstance(path, str | Path):
        refuse_translation_run(Path(path))
    return Run(path)


@wraps(put_on_trial)
def trial(name: Any, subject: Any, **given: Any) -> Finding:
    """A translation run has trials of its own: "layers" is its `translation-layers`."""
    for what, run in ((name, subject), (subject, name)):  # they may change places
        if asked_of_translation(run):
            own = {key: given.pop(key) for key in ("texts", "device", "watch") if key in given}
            refused: dict[str, Any] = {key: given.pop(key) for key in ("site", "memory") if key in given}
            dtype = given.pop("dtype", AUTO)
            refused |= {"dtype": None if dtype == AUTO else dtype}
            return ask(what, run, **own, refused=refused, settings=given)
    return put_on_trial(name, subject, **given)
