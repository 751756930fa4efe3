"""AttentionClassifier in scikit-learn's hands."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import attentest
from attentest import AttentionClassifier

SIZE: dict[str, Any] = {
    **{"epochs": 12, "batch_size": 8, "lr": 0.05, "select_by": "loss"},
    **{"dimension": 8, "hidden": 4, "encoder": "average"},
}
NOUNS = ("film", "book", "song", "play", "show")
TEXTS = [f"a {word} {noun} number {i}" for i in range(8) for noun in NOUNS for word in ("good", "bad")]
LABELS = ["positive", "negative"] * 40


@pytest.fixture(scope="module")
def fitted() -> AttentionClassifier:
    return AttentionClassifier(**SIZE).fit(TEXTS, LABELS)


def test_fit_predict_and_score(fitted: AttentionClassifier) -> None:
    assert is_classifier(fitted)
    assert fitted.classes_.tolist() == ["negative", "positive"]
    assert fitted.predict(["a good play", "a bad play"]).tolist() == ["positive", "negative"]
    probabilities = fitted.predict_proba(["a good play", "", "bad bad"])
    assert probabilities.shape == (3, 2)
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-6)
    assert fitted.score(TEXTS, LABELS) == 1.0
    assert fitted.run_.settings["model"]["hidden"] == 4
    assert isinstance(fitted.run_, attentest.Run)


@pytest.mark.parametrize("labels", [[3, 7], [True, False], [0.0, 1.0], ["a", "b"]])
def test_labels_of_any_type_come_back(labels: list[Any]) -> None:
    y = np.array(labels * 40)
    found = AttentionClassifier(**SIZE).fit(np.array(TEXTS), y)
    assert found.classes_.dtype == y.dtype
    assert found.predict(TEXTS[:2]).tolist() == y[:2].tolist()


def test_three_classes() -> None:
    texts = [f"{word} number {i}" for i in range(30) for word in ("red", "green", "blue")]
    found = AttentionClassifier(**SIZE).fit(texts, [2, 5, 9] * 30)
    assert found.predict(["blue", "red", "green"]).tolist() == [9, 2, 5]


def test_parameters_are_the_settings_of_train() -> None:
    model = AttentionClassifier(**SIZE)
    assert model.get_params()["hidden"] == 4
    assert model.set_params(hidden=6, encoder="cnn").get_params()["hidden"] == 6
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert "hidden=6" in repr(model)
    with pytest.raises(ValueError, match="Invalid parameter 'hiden'"):
        model.set_params(hiden=3)
    with pytest.raises(attentest.InputError, match="did you mean 'hidden'"):
        AttentionClassifier(hiden=3)  # type: ignore[call-arg]
    with pytest.raises(attentest.InputError, match="did you mean 'cnn'"):
        AttentionClassifier(encoder="cnnn").fit(TEXTS, LABELS)


def test_the_same_seed_gives_the_same_model(fitted: AttentionClassifier) -> None:
    again = clone(fitted).fit(TEXTS, LABELS)
    assert (again.predict_proba(TEXTS) == fitted.predict_proba(TEXTS)).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_cross_validation_here_and_in_other_processes(workers: int) -> None:
    scores = cross_val_score(AttentionClassifier(**SIZE), TEXTS, LABELS, cv=2, n_jobs=workers)
    assert (scores > 0.9).all()


def test_fitted_models_come_back_from_other_processes() -> None:
    found = cross_validate(AttentionClassifier(**SIZE), TEXTS, LABELS, cv=2, n_jobs=2, return_estimator=True)
    for model in found["estimator"]:
        assert model.predict(["a good play"]).tolist() == ["positive"]
        assert model.run_.finished


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_a_run_of_its_own(copied: Any) -> None:
    model = AttentionClassifier(**SIZE).fit(TEXTS, LABELS)
    before = model.predict_proba(TEXTS[:4])
    other = copied(model)
    gone = model.run_.path
    del model
    assert other.run_.path != gone
    assert (other.predict_proba(TEXTS[:4]) == before).all()
    assert other.run_.trial("flips", texts=5).number is not None


def test_in_a_grid_search_in_a_pipeline() -> None:
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    model = Pipeline([("lower", lower), ("attend", AttentionClassifier(**SIZE))])
    search = GridSearchCV(model, {"attend__hidden": [2, 4]}, cv=2).fit([text.upper() for text in TEXTS], LABELS)
    assert search.best_params_["attend__hidden"] in (2, 4)
    assert search.predict(["A GOOD PLAY"]).tolist() == ["positive"]


def test_columns_of_a_frame(fitted: AttentionClassifier) -> None:
    frame = pd.DataFrame({"body": TEXTS, "stars": LABELS})
    whole = clone(fitted).fit(frame[["body"]], frame["stars"])
    assert whole.n_features_in_ == 1
    assert not hasattr(whole.fit(frame["body"], frame["stars"]), "n_features_in_")  # a column has no features
    assert (whole.predict_proba(frame[["body"]]) == fitted.predict_proba(TEXTS)).all()
    chosen = ColumnTransformer([("texts", "passthrough", ["body"])])
    assert Pipeline([("choose", chosen), ("attend", clone(fitted))]).fit(frame, frame["stars"]).score(
        frame, frame["stars"]
    ) == pytest.approx(1.0)


def test_attention_and_audit(fitted: AttentionClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_engine import Here

    from attentest.engine import choose

    (heatmap,) = fitted.attention(["a good play"])
    assert [heatmap.text[slice(*span)] for span in heatmap.spans] == ["a", "good", "play"]
    assert sum(heatmap.weights) == pytest.approx(1, abs=1e-6)
    monkeypatch.setattr(choose, "LocalPool", lambda store, workers: Here(store))
    found = fitted.audit(tmp_path / "audit", texts=8, store=tmp_path / "store")
    assert found.failed == {}
    assert attentest.open_run(found.folder).classes == ["negative", "positive"]


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (TEXTS[:3], ["a", "b", "a"], "n_samples=3; .*at least 10"),
        (TEXTS, LABELS[:5], "inconsistent numbers of samples"),
        (TEXTS, ["a"] * 80, "one class only"),
        (np.arange(80), LABELS, "expects texts, and got 0, of type int"),
        ([None, *TEXTS[1:]], LABELS, "expects texts, and got None, of type NoneType"),
        (np.array([TEXTS, TEXTS]).T, LABELS, "one text for each row, and got 2 dimensions"),
        (TEXTS, np.linspace(0, 1, 80), "Unknown label type"),
        (TEXTS, None, "requires y to be passed"),
    ],
)
def test_what_cannot_be_fitted(texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AttentionClassifier(**SIZE).fit(texts, labels)


def test_before_fit_there_is_nothing_to_predict_with() -> None:
    for ask in ("predict", "predict_proba", "attention"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(AttentionClassifier(), ask)(["a text"])
    with pytest.raises(NotFittedError):
        AttentionClassifier().audit()


def test_without_scikit_learn_a_message_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None\n"
        "import attentest; attentest.train\n"
        "try: attentest.AttentionClassifier\n"
        "except attentest.InputError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'attentest[sklearn]'" in said.stdout


class OfNumbers(AttentionClassifier):
    """The classifier as scikit-learn's checks can ask it, whose tables have numbers: a row is read as a text."""

    def _texts(self, X: Any, fitting: bool = False) -> list[str]:  # noqa: N803
        table = validate_data(self, X, reset=fitting)
        return [" ".join(f"c{place}v{value:.1f}" for place, value in enumerate(row)) for row in table]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        return tags


@parametrize_with_checks([OfNumbers(**SIZE)])  # type: ignore[untyped-decorator]
def test_what_scikit_learn_asks_of_every_classifier(estimator: Any, check: Any) -> None:
    check(estimator)
