"""Calibration: thresholds, error rates and confusions by hand, and a small zoo from its plan to its page."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import Program
from test_engine import Here
from verdict_cases import KEYS, of, rates_of

import attentest
from attentest import calibrations
from attentest.calibrations import MODELS, PAGE, RESULTS, summarise
from attentest.engine import Store
from attentest.files import read_as
from attentest.measures.intervals import Estimate
from attentest.studies.calibration import plan as plans
from attentest.studies.calibration.models import KnownModel, read_models, truth_of
from attentest.studies.calibration.page import counted, left_out, markdown, roc_charts, table_of_models
from attentest.studies.calibration.plan import ARCHITECTURES, BUDGETS, ZooBudget, plan_zoo, set_on
from attentest.studies.calibration.rates import (
    BEST_ALARM,
    area,
    best_threshold,
    calibrate,
    cases_of,
    confusions,
    rates_at,
    sizes_of,
)
from attentest.studies.experiments.known_truth import DECEPTIVE, HONEST, KINDS, NULL, PLAIN
from attentest.studies.experiments.zoo import Zoo
from attentest.studies.results import EXPERIMENT
from attentest.studies.run_study import run_planned
from attentest.studies.verdict import CRITERIA, DEFINITIONS, Calibration
from attentest.studies.verdict.calibration import FILE, Confusion

SUFFICIENCY = "faithful.sufficiency"
FIRST, SECOND = "average, additive", "bilstm, additive"


def model(
    truth: str,
    figure: float | Mapping[int, Estimate],
    *,
    width: float = 0.02,
    architecture: str = SECOND,
    corpus: str = "planted",
    name: str = SUFFICIENCY,
    **more: Any,
) -> KnownModel:
    """One that got this figure, from 100 texts if nothing else is said."""
    figures = figure if isinstance(figure, Mapping) else {100: of(figure - width, figure + width, n=100)}
    asked = CRITERIA[name].asks
    summaries = {n: {(asked.kind, asked.name): {asked.keys[KEYS[name]]: found}} for n, found in figures.items()}
    kinds = {HONEST: "guided", NULL: "random", DECEPTIVE: "bypass", PLAIN: PLAIN}
    about: dict[str, Any] = {
        "kind": kinds[truth],
        "seed": 0,
        "proven": truth != PLAIN,
        "failure": "",
        "follows": 0.95,
        "accuracy": 0.9,
    }
    given = about | more
    return KnownModel(corpus, architecture, f"{given['kind']} of {corpus}", truth=truth, summaries=summaries, **given)


def of_two_architectures(honest: list[float], others: list[float], **more: Any) -> list[KnownModel]:
    return [
        model(truth, figure, architecture=architecture, **more)
        for architecture in (FIRST, SECOND)
        for truth, figures in ((HONEST, honest), (NULL, others))
        for figure in figures
    ]


# thresholds


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        ([0.6, 0.8], [0.1, 0.2], 0.4),  # half way between the nearest
        ([0.2, 0.6, 0.8], [0.1, 0.4], 0.5),  # 0.15 would have all hits, and half of the others
        ([0.1, 0.2], [0.8, 0.9], 0.900001),  # the wrong way round: above all, so that none is called true
        ([0.5, 0.5], [0.5, 0.5], 0.500001),
    ],
)
def test_the_threshold_has_most_hits_among_those_with_few_false_alarms(
    positive: list[float], negative: list[float], expected: float
) -> None:
    assert best_threshold(np.array(positive), np.array(negative)) == pytest.approx(expected)


def test_one_false_alarm_in_twenty_is_allowed_where_it_gains_hits() -> None:
    others = np.array([0.1] * 19 + [0.7])
    honest = np.array([0.5] * 9 + [0.9])
    found = best_threshold(honest, others)
    assert found == pytest.approx(0.3)
    assert (others >= found).mean() == BEST_ALARM
    assert best_threshold(honest, np.array([0.1] * 18 + [0.7] * 2)) == pytest.approx(0.8)  # two are too many


def test_thresholds_where_less_is_better_are_turned_round() -> None:
    """No test that a calibration lets decide has this side now, but the arithmetic is for any."""
    criterion = replace(CRITERIA["exclusive.texts"], name="faithful.made-up", role="calibrated")
    models = [model(HONEST, f, name="exclusive.texts") for f in (0.1, 0.2)]
    models += [model(NULL, f, name="exclusive.texts") for f in (0.7, 0.8)]
    cases = cases_of(criterion, models)
    assert area(criterion, cases).value == 1.0
    found = rates_at(criterion, 0.5, cases, 100)
    assert (found.hit, found.false_alarm, found.miss, found.unclear) == (1, 0, 0, 0)


# rates


def test_rates_by_hand() -> None:
    """Threshold 0.5, intervals ± 0.02: three of four honest ones are hit, one is unclear; of the others one is."""
    criterion = CRITERIA[SUFFICIENCY]
    models = [model(HONEST, f) for f in (0.6, 0.7, 0.8, 0.51)] + [model(NULL, f) for f in (0.1, 0.2, 0.3, 0.9)]
    found = rates_at(criterion, 0.5, cases_of(criterion, models), 100)
    assert (found.hit, found.false_alarm, found.miss, found.unclear) == (0.75, 0.25, 0.0, 0.125)
    assert (found.texts, found.models) == (100, 8)
    worse = rates_at(criterion, 0.75, cases_of(criterion, models), 100)
    assert (worse.hit, worse.miss) == (0.25, 0.75)
    assert math.isnan(rates_at(criterion, 0.5, cases_of(criterion, models[:4]), 100).false_alarm)


def test_rates_at_a_number_of_texts_count_models_of_every_corpus() -> None:
    """Of real text fewer are marked: its 80 texts count where others have 100."""
    wide, narrow = of(0.3, 0.9), of(0.6, 0.7)
    models = [
        model(HONEST, {20: wide, 100: narrow}),
        model(HONEST, {20: wide, 80: wide}, corpus="real"),
        model(NULL, {20: wide, 100: of(0.0, 0.1)}),
    ]
    cases = cases_of(CRITERIA[SUFFICIENCY], models)
    assert sizes_of(cases) == [20, 100]
    few, all_texts = (rates_at(CRITERIA[SUFFICIENCY], 0.5, cases, n) for n in (20, 100))
    assert (few.unclear, few.models) == (1.0, 3)
    assert (all_texts.hit, all_texts.models) == (0.5, 3)
    assert all_texts.unclear == pytest.approx(1 / 3)


def test_figures_that_are_not_defined_are_unclear_and_those_of_other_trials_no_cases() -> None:
    nan = Estimate(math.nan, math.nan, math.nan, 0)
    undefined, other = model(HONEST, {100: nan}), model(HONEST, 0.5, name="informative.information")
    cases = cases_of(CRITERIA[SUFFICIENCY], [undefined, other])
    assert [case.figures for case in cases] == [{100: None}]
    assert math.isnan(cases[0].score)
    assert rates_at(CRITERIA[SUFFICIENCY], 0.5, cases, 100).unclear == 1


def test_the_interval_of_the_area_resamples_architectures_and_corpora() -> None:
    """One of four clusters is the wrong way round: draws have it never, once or more often."""
    clusters = [(a, c) for a in (FIRST, SECOND) for c in ("planted", "real")]
    models = []
    for number, (architecture, corpus) in enumerate(clusters):
        low, high = (0.8, 0.1) if number == 0 else (0.1, 0.8)
        for n in range(10):
            models.append(model(HONEST, high + n / 1000, architecture=architecture, corpus=corpus))
            models.append(model(NULL, low + n / 1000, architecture=architecture, corpus=corpus))
    found = area(CRITERIA[SUFFICIENCY], cases_of(CRITERIA[SUFFICIENCY], models))
    assert models[0].cluster == f"{FIRST} on planted"
    assert found.n == 80
    assert found.low < 0.4 < found.value < found.high == 1.0  # 80 models that were independent would have a third of it


# which tests decide


def test_a_good_test_decides_with_a_threshold_of_the_first_half_and_rates_of_the_other() -> None:
    models = of_two_architectures([0.7, 0.8, 0.9], [0.1, 0.2, 0.3])
    models = [m if m.architecture == FIRST else moved(m, -0.15) for m in models]
    found = calibrate(models, [FIRST], {"budget": "made up"}).tests[SUFFICIENCY]
    assert found.threshold == 0.5  # of the first architecture; on the other it would be 0.35
    assert (found.decides, found.why, found.first_auroc) == (True, "", 1.0)
    assert found.rates[-1].models == 6
    assert found.rates[-1].hit == 1.0  # 0.55, 0.65, 0.75
    assert found.one_answer == 0.5


def moved(known: KnownModel, by: float) -> KnownModel:
    ((place, entries),) = known.summaries[100].items()
    ((entry, figure),) = entries.items()
    shifted = of(figure.low + by, figure.high + by, n=figure.n)
    return replace(known, summaries={100: {place: {entry: shifted}}})


@pytest.mark.parametrize(
    ("honest", "others", "shift", "why"),
    [
        ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], 0.0, "AUROC 0.50 is below 0.85"),
        ([0.7, 0.8, 0.9], [0.1, 0.2, 0.3], 0.4, "67% false alarms"),  # all are higher on the other architecture
    ],
)
def test_a_test_does_not_decide_that_is_often_wrong_elsewhere(
    honest: list[float], others: list[float], shift: float, why: str
) -> None:
    models = of_two_architectures(honest, others)
    models = [m if m.architecture == FIRST else moved(m, shift) for m in models]
    found = calibrate(models, [FIRST], {}).tests[SUFFICIENCY]
    assert not found.decides
    assert why in found.why


def test_a_test_with_one_answer_is_flagged() -> None:
    """Wide intervals: everything is unclear."""
    found = calibrate(of_two_architectures([0.7, 0.8], [0.1, 0.2], width=2.0), [FIRST], {}).tests[SUFFICIENCY]
    assert found.one_answer == 1.0
    assert (found.decides, found.why) == (False, "it gives 100% of all models the same answer")


def test_a_test_without_both_truths_on_both_halves_is_not_calibrated() -> None:
    models = of_two_architectures([0.7], [0.1])
    assert set(calibrate(models, [FIRST], {}).tests) == {SUFFICIENCY}
    assert calibrate(models[:3], [FIRST], {}).tests == {}
    evidence = of_two_architectures([0.7], [0.1], name="plausible.weight")  # it never decides
    assert calibrate(evidence, [FIRST], {}).tests == {}


# truth


def test_what_each_definition_calls_true() -> None:
    honest, null, plain = model(HONEST, 1), model(NULL, 0), model(PLAIN, 1)
    assert [truth_of(m, "faithful") for m in (honest, null, plain)] == [True, False, None]
    assert truth_of(replace(honest, proven=False), "faithful") is None
    assert truth_of(replace(honest, seed=None), "faithful") is None  # all seeds together have no attention
    for definition in ("used", "needed", "exclusive", "stable", "plausible"):
        assert truth_of(honest, definition) is None
    assert truth_of(honest, "informative") is None  # states of an encoder with context know other words
    assert truth_of(replace(honest, architecture="average, dot"), "informative") is True
    together = replace(honest, seed=None)
    assert truth_of(together, "stable") is True
    assert truth_of(replace(together, kind="random"), "stable") is False
    assert truth_of(replace(together, kind="sparsemax"), "stable") is None


def test_confusions_count_what_the_verdict_says() -> None:
    models = [model(HONEST, f) for f in (0.6, 0.7, 0.5)] + [model(NULL, f) for f in (0.1, 0.9)]
    models += [model(PLAIN, 0.9), model(NULL, 0.9, proven=False)]
    rates = Calibration({SUFFICIENCY: rates_of(threshold=0.5)})
    found = confusions(models, rates)
    assert set(found) == {"faithful"}
    assert found["faithful"].counts == {"yes": {"yes": 2, "unclear": 1}, "no": {"no": 1, "yes": 1}}
    assert found["faithful"].by_kind == {models[0].kind: {"yes": 2, "unclear": 1}, models[3].kind: {"no": 1, "yes": 1}}
    assert found["faithful"].texts == 100


def test_shares_of_a_confusion() -> None:
    found = Confusion(400, {"yes": {"yes": 17, "no": 1, "unclear": 2}, "no": {"yes": 2, "no": 20, "not tested": 8}})
    assert found.share_right().value == 37 / 40
    assert found.share_unclear() == pytest.approx(10 / 50)
    nothing = Confusion(400, {"yes": {"unclear": 3}, "no": {}})
    assert math.isnan(nothing.share_right().value)
    assert nothing.share_unclear() == 1.0
    assert math.isnan(Confusion(0, {}).share_unclear())


# the page


def test_the_page_tells_rates_confusions_and_what_is_left_out() -> None:
    models = of_two_architectures([0.7, 0.8], [0.1, 0.2])
    models.append(model(DECEPTIVE, 0.9, proven=False, failure="only 40% of its decisions follow", follows=0.4))
    signature = {"budget": "made up", "models": 9, "proven": counted(models), "left_out": left_out(models)}
    lists = {"corpora": ["planted"], "architectures": [FIRST, SECOND], "set_on": [FIRST], "held_out": [SECOND]}
    found = calibrate(models, [FIRST], {**signature, **lists})
    pictures = roc_charts(models, [FIRST])
    assert list(pictures) == ["roc faithful"]
    page = markdown(found, {"roc faithful": "roc-faithful.svg"})
    assert f"| `{SUFFICIENCY}` | tokens | at least 0.45 | 1.000 [" in page
    assert ", 1.000] | 100% | 0% | 0% | 50% | yes |" in page
    assert "| faithful | 100 | 2 | 0 | 0 | 0 | 2 | 0 | 1.000 [0.398, 1.000] | 0% |" in page
    assert f"| faithful | {models[0].kind} | honest | 2 | 0 | 0 |" in page
    assert "8 models are proven" in " ".join(page.split())
    assert "| bypass | 1 |" in page
    assert "![roc faithful](roc-faithful.svg)" in page
    for name in ("used", "needed", "exclusive"):
        assert f"- **{name}**: {DEFINITIONS[name].truth}" in page
    rows = list(csv.DictReader(table_of_models(models).splitlines()))
    assert len(rows) == len(models)
    assert rows[-1]["left out because"] == "only 40% of its decisions follow"
    assert (rows[-1]["proven"], rows[-1]["follows the swap"], rows[0]["proven"]) == ("no", "0.400", "yes")


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = calibrate(of_two_architectures([0.7, 0.8], [0.1, 0.2]), [FIRST], {"budget": "made up"})
    (tmp_path / FILE).write_text(json.dumps(asdict(found)), encoding="utf-8")
    assert read_as(tmp_path / FILE, Calibration) == found


# the plan


def films(folder: Path, rows: int = 200) -> Path:
    file = folder / "films.csv"
    words = ("a fine and warm film", "a dull and cold film")
    lines = [f"{n % 2},it is {words[n % 2]} and has the number {n} in its title" for n in range(rows)]
    file.write_text("label,text\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_half_of_the_architectures_set_thresholds() -> None:
    for budget, chosen in BUDGETS.items():
        assert len(set_on(budget)) == math.ceil(chosen.architectures / 2)
    assert len(ARCHITECTURES) >= 6
    assert "average" in str(set_on("quick"))


def test_a_standard_calibration_has_200_models_at_least() -> None:
    chosen = BUDGETS["standard"]
    of_each = [*chosen.seeds.values(), 1]  # generated texts, and real text
    trained = [Zoo(kinds=tuple(chosen.kinds), seeds=seeds).trainings() for seeds in of_each]
    known = [t for some in trained for t in some if t.label.partition(",")[0] in KINDS]
    assert chosen.architectures * len(known) >= 200
    assert max(of_each) >= 3
    assert {KINDS[name].truth for name in chosen.kinds} == {HONEST, NULL, DECEPTIVE}


TINY_ZOO = ZooBudget(
    "as small as it can be",
    rows=120,
    texts=24,
    seeds={0.0: 3},
    architectures=1,
    kinds=("guided", "random"),
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, "tiny", TINY_ZOO)
    monkeypatch.setattr(plans, "TRAINING", {"epochs": 1, "hidden": 4, "dimension": 8})


@pytest.mark.slow
def test_a_small_zoo_from_its_plan_to_its_page(tiny: None, tmp_path: Path) -> None:
    expanded = plan_zoo("tiny", str(films(tmp_path, 120)))
    store = Store(tmp_path / "store")
    outcome = run_planned(expanded, tmp_path / "out" / RESULTS, Here, store)
    assert outcome.failed == {}
    again = run_planned(expanded, tmp_path / "out" / RESULTS, Here, store)
    assert (again.done, again.failed) == (0, {})
    models = read_models(tmp_path / "out" / RESULTS)
    assert {m.corpus for m in models} == {"planted 0", "films, planted"}
    single = [m for m in models if m.seed is not None]
    assert len(single) == 3 * 3 + 3  # generated text with three seeds, real text with one
    assert {m.kind for m in single} == {"guided", "random", PLAIN}
    together = [m for m in models if m.seed is None]
    assert {(m.corpus, m.kind) for m in together} == {("planted 0", "guided"), ("planted 0", "random")}
    assert all((EXPERIMENT, "seeds") in m.summaries[m.most_texts] for m in together)
    for one in single:
        assert one.most_texts in one.summaries
        assert one.follows is not None
        assert one.proven == (one.failure == "" and one.truth != PLAIN)
    summarise(tmp_path / "out", "tiny")
    for name in (FILE, MODELS, PAGE):
        assert (tmp_path / "out" / name).is_file()
    assert read_as(tmp_path / "out" / FILE, Calibration).signature["models"] == len(single)


def test_a_dry_run_tells_the_steps(tiny: None, command: Program, tmp_path: Path) -> None:
    found = command("calibrate", "--budget", "tiny", "--corpus", str(films(tmp_path)), "--dry-run")
    assert found.code == 0
    assert "train" in found.out
    assert not (tmp_path / "calibration").exists()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--budget", "quik"], "Unknown budget 'quik'"),
        (["--corpus", "nothing.csv"], "nothing.csv"),
        (["--engine", "loca"], "loca"),
        (["--workers", "0"], "workers"),
    ],
)
def test_bad_input_is_a_sentence(command: Program, given: list[str], sentence: str, tmp_path: Path) -> None:
    corpus = ["--corpus", str(films(tmp_path))] if "--corpus" not in given else []
    found = command("calibrate", "--out", str(tmp_path / "out"), *corpus, *given)
    assert found.code == 2
    assert found.err.startswith("attentest: ")
    assert sentence in found.err
    assert not (tmp_path / "out").exists()


def test_the_library_has_it_too(tmp_path: Path) -> None:
    with pytest.raises(attentest.InputError, match="Unknown budget 'quik'"):
        calibrations.calibrate(tmp_path / "out", budget="quik")
    with pytest.raises(attentest.InputError, match="'workrs'"):
        calibrations.calibrate(tmp_path / "out", workrs=3)  # type: ignore[call-arg]
