"""A classifier with attention as a scikit-learn estimator: fit on texts and labels, then look at its attention."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from attentest.audits import Audit
from attentest.corpora import build_corpus
from attentest.corpora.corpus import FEWEST_ROWS
from attentest.display.heatmaps import Heatmaps
from attentest.errors import InputError, unknown_name
from attentest.files import make_folder, write_bytes
from attentest.runs import Run, train
from attentest.training.folder import FILES
from attentest.training.keywords import DEFAULTS, SettingsGiven, takes

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d
except ImportError as error:
    raise InputError(
        "AttentionClassifier needs scikit-learn, which is not installed: pip install 'attentest[sklearn]'"
    ) from error


class AttentionClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Train a model with attention on texts; its parameters are the settings of `attentest.train`.

    `fit` sets about a fifth of the texts aside: one part chooses the epoch, the other is what trials and audits
    examine. `run_` is the trained run, `classes_` the labels.
    """

    @takes(SettingsGiven, DEFAULTS)
    def __init__(self, *, device: str = "auto", **settings: Unpack[SettingsGiven]) -> None:
        for name in settings:
            if name not in DEFAULTS:
                raise unknown_name("parameter of AttentionClassifier", name, ["device", *DEFAULTS])
        self.device = device
        for name, usual in DEFAULTS.items():
            setattr(self, name, settings.get(name, usual))

    def fit(self, X: Any, y: Any) -> AttentionClassifier:
        texts = self._texts(X, fitting=True)
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        labels = column_or_1d(y, warn=True)
        check_consistent_length(texts, labels)
        check_classification_targets(labels)
        if len(texts) < FEWEST_ROWS:
            raise InputError(f"n_samples={len(texts)}; {type(self).__name__} needs at least {FEWEST_ROWS} texts.")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        names = [str(name) for name in self.classes_.tolist()]
        corpus = build_corpus("texts", {"text": texts, "label": codes.tolist()}, classes=names)
        self.run_ = train(corpus, device=self.device, **{name: getattr(self, name) for name in DEFAULTS})
        return self

    def predict(self, X: Any) -> np.ndarray:
        found = self.predict_proba(X).argmax(1)
        classes: np.ndarray = self.classes_[found]
        return classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """One row for each text, one column for each class, in the order of `classes_`."""
        return self._run.probabilities(self._texts(X))

    def attention(self, X: Any) -> Heatmaps:
        """The weight of every token of these texts, as heat maps."""
        return self._run.attend(self._texts(X))

    def audit(self, out: str | Path = "audit", **options: Any) -> Audit:
        """Audit the trained model, with the options of `Run.audit`."""
        return self._run.audit(out, **options)

    @property
    def _run(self) -> Run:
        check_is_fitted(self, "run_")
        return self.run_

    def _texts(self, X: Any, fitting: bool = False) -> list[str]:
        """A list, an array or a column of strings; a table with one column of them is taken as that column."""
        found = np.asarray(X, dtype=object)
        if fitting and hasattr(self, "n_features_in_"):
            delattr(self, "n_features_in_")
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
            if fitting:
                self.n_features_in_ = 1
        if found.ndim != 1:
            raise InputError(
                f"{type(self).__name__} expects one text for each row, and got {found.ndim} dimensions "
                f"of shape {found.shape}; name the column of the texts."
            )
        for text in found:
            if not isinstance(text, str):
                raise InputError(
                    f"{type(self).__name__} expects texts, and got {text!r}, of type {type(text).__name__}."
                )
        return [str(text) for text in found]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.string, tags.input_tags.two_d_array = True, True, False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """With the run's files, whose temporary folder another process would not have."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "run_" in state:
            there = {name: self.run_.path / name for name in FILES}
            state["run_"] = {name: file.read_bytes() for name, file in there.items() if file.is_file()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.get("run_")
        if files is not None:
            folder = tempfile.TemporaryDirectory(prefix="attentest-")
            for name in FILES:
                if name in files:
                    make_folder((Path(folder.name) / name).parent)
                    write_bytes(Path(folder.name) / name, files[name])
            state = {**state, "run_": Run(folder.name, folder)}
        super().__setstate__(state)
