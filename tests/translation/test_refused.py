"""What a translation run refuses in Python and on the command line, before anything is translated."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from translation_subjects import trained

import attentest
from attentest.errors import InputError
from attentest.measures.estimate import Estimate
from attentest.measures.intervals import ratio
from attentest.translation.run import TranslationRun
from attentest.translation.settings import OtherWeights
from attentest.trials.of_translation.alignment import _share
from attentest.trials.of_translation.free import about_intervals, spelled
from attentest.trials.of_translation.subject import translation_subject
from attentest.trials.of_translation.uniform import TranslationUniform
from attentest.trials.uniform import Uniform

Command = Callable[..., Any]
Asked = Callable[[TranslationRun], object]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> TranslationRun:
    return TranslationRun(trained(tmp_path_factory.mktemp("refused") / "run"))


def nothing(*_: object, **__: object) -> None:
    raise AssertionError("translated before the input was refused")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda run: run.compare("a b", weights="uniform"), "leave out `weights`"),
        (lambda run: run.compare("a b", given=[]), "leave out `given`"),
        (lambda run: run.compare(3), "Expected a text or a list of them, not 3"),
        (lambda run: run.heatmaps("x"), "n .*whole number.*'x'|n must be|n is"),
        (lambda run: run.heatmaps(0), "n is 0; it must be at least 1"),
        (lambda run: run.attend(["a b"], ids=["1", "2"]), "1 texts and 2 ids"),
        (lambda run: run.force("a", "b", sentences=0), "sentences"),
        (lambda run: run.translate("a", sentences=2.5), "sentences"),
        (lambda run: run.translate("a", device=3), "device"),
        (lambda run: run.translate("a", weights="uniform", site=3), "site must be the name of a site"),
        (lambda run: run.translate("a", weights="given", given="x"), "expected a list with the weights of each text"),
        (lambda run: run.translate("a", weights="given", given=[3]), "text 1 are 3; expected them by site"),
        (lambda run: run.translate("a", weights="given", given=[{}, {}]), "1 texts and given weights of 2"),
        (lambda run: run.translate("a", weights="given", given=[{"nosuch": [[[1.0]]]}]), "Unknown site 'nosuch'"),
        (lambda run: run.translate("a", numbers=[-1]), "whole numbers of at least 0"),
        (lambda run: attentest.trial(Uniform, run), "is a translation run; its trials are"),
        (lambda run: attentest.trial(Uniform(), run), "is a translation run; its trials are"),
        (lambda run: attentest.trial("uniform", run, texts="all"), "texts"),
        (lambda run: attentest.compare(run, run, out=run.path / "never"), "comparisons are of models of texts"),
        (
            lambda run: attentest.compare(run.path, run.path, out=run.path / "never"),
            "Score each with",
        ),
        (
            lambda run: attentest.audit(run, out=run.path / "never", thresholds={"faithful.sufficiency": 0.1}),
            "Translation models have no test faithful.sufficiency; their tests are",
        ),
    ],
)
def test_a_sentence_says_what_was_expected(
    run: TranslationRun, asked: Asked, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attentest.translation.run.greedy", nothing)
    with pytest.raises(InputError, match=said):
        asked(run)
    assert not (run.path / "never").exists()


def test_weights_that_are_no_shares_are_refused_from_arrays_too(run: TranslationRun) -> None:
    (one,) = run.translate("a b", with_weights=True)
    given: dict[str, Any] = {site: np.array(weights) for site, weights in one.weights.items()}
    (same,) = run.translate("a b", weights="given", given=[given])
    assert same.target_tokens == one.target_tokens
    site = next(iter(given))
    for wrong in (given[site] * 2, np.full_like(given[site], math.nan), given[site][0]):
        with pytest.raises(InputError, match=r"are not shares that sum to 1|expected heads × queries × keys"):
            run.translate("a b", weights="given", given=[{**given, site: wrong}])


def test_a_trial_may_be_given_as_its_class(run: TranslationRun) -> None:
    by_class, by_name = (attentest.trial(name, run, texts=30) for name in (TranslationUniform, "uniform"))
    assert by_class.summary == by_name.summary


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("translate", "{}", "--text", "a", "--compare", "--out", "x.txt"), "must end in .html"),
        (("translate", "{}", "--text", "a", "--compare", "--weights", "uniform"), "leave out --weights"),
        (("show", "{}", "--weights", "given"), "attentest translate --weights given"),
        (("compare", "{}", "{}", "--out", "never"), "comparisons are of models of texts with labels"),
        (("audit", "{}", "--out", "never", "--fail-on", "not-faithful"), "never comes true: translation models"),
    ],
)
def test_on_the_command_line(
    run: TranslationRun, arguments: tuple[str, ...], said: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attentest.translation.run.greedy", nothing)
    found = command(*(one.format(run.path) for one in arguments))
    assert found.code == 2
    assert said in " ".join(found.err.split())


def test_fixed_random_weights_are_the_same_in_translations_and_trials(tmp_path: Path) -> None:
    run = TranslationRun(trained(tmp_path / "run", fixed="random"))
    stored = dict(zip(run.translations["id"].to_pylist(), run.translations["translation"].to_pylist(), strict=True))
    again = run.translate(run.translations["source"].to_pylist())
    assert [one.text for one in again] == list(stored.values())
    subject = translation_subject(run)
    assert spelled(subject, subject.translated(run.steps_of(OtherWeights()))) == list(stored.values())


def test_shares_stay_between_their_bounds() -> None:
    whole = np.arange(1.0, 41.0)
    part = whole.copy()
    part[-1] = 0
    assert ratio(part, whole).high > 1
    found = _share(part, whole)
    assert 0 <= found.low <= found.value <= found.high == 1


def test_what_has_no_number_says_so() -> None:
    assert str(Estimate(math.nan, math.nan, math.nan, 0)) == "not defined"
    assert str(Estimate(0.5, math.nan, math.nan, 1)) == "0.500 (no interval)"
    assert str(Estimate(0.5, 0.25, 0.75, 9)) == "0.500 [0.250, 0.750]"


def test_few_sentences_are_told() -> None:
    assert "no interval" in about_intervals(24)[0]
    assert "92.5 %" in about_intervals(25)[0]
    assert about_intervals(50) == []
