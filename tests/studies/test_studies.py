"""Studies: what their YAML may say, what they expand to, and a whole one from nothing to its tables."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from test_engine import Here

import attentest
from attentest.engine import Store
from attentest.engine.perform import perform
from attentest.engine.scheduler import Watcher, run_plan
from attentest.measures.intervals import Estimate
from attentest.models import ModelSettings
from attentest.studies import PAPERS, audit, find_study
from attentest.studies.cells import f1_gain
from attentest.studies.directions import Direction, Side, examine, of_cells, of_published, printed_by
from attentest.studies.expand import _relative_cost, expand, with_budget
from attentest.studies.experiments import EXPERIMENTS, experiment_class, make_experiment
from attentest.studies.folder import status
from attentest.studies.published import compare, in_table, published
from attentest.studies.run_study import plan_study, run_study
from attentest.studies.schema import BUDGETS, Study, read_study
from attentest.trials.cells import Cell
from attentest.trials.of_translation import is_of_translation
from attentest.trials.of_translation.permutation import TranslationPermutation
from attentest.trials.permutation import Permutation

SMALL = {
    "name": "small",
    "corpora": ["planted"],
    "columns": {"rows": 200},
    "training": {"epochs": 2, "dimension": 12, "hidden": 8},
    "trials": [
        "uniform",
        "flips",
        {"correlation": {"measures": ["gradient", "leave-one-out"]}},
        {"dispersion": {"influence_texts": 3}},
        {"information": {"runs": 2, "clusters": 5}},
    ],
    "experiments": {
        "uniform": {},
        "seeds": {"seeds": 2},
        "guides": {"epochs": 2},
        "adversary": {"lambdas": [0.0, 0.01], "epochs": 2, "seeds": 2},
        "frozen": {"epochs": 2},
        "sparsity": {"lambdas": [0.0, 0.5]},
        "fix": {"runs": 2},
        "informed-adversary": {"strength": 0.01, "epochs": 2, "runs": 2},
        "gumbel": {"runs": 2},
    },
    "budgets": {"small": {"texts": 20, "experiments": {"seeds": {"seeds": 1}}}},
    "directions": [
        {"says": "x", "source": "y", "more": {"variant": v, "measure": m}, "less": 0}
        for v, m in (
            ("adversary, lambda=0", "jsd"),
            ("frozen", "delta accuracy"),
            ("fix attention", "delta weighted tau"),
            ("base", "weighted tau"),
        )
    ],
}


OF_PLANTED_WORDS = {"controls", "zoo"}  # tested in files of their own
# how many figures each finding has; uniform is a trial and an experiment
CHARTS = {
    *(("uniform", 2), ("flips", 1), ("correlation", 4), ("dispersion", 1), ("information", 2)),
    *(("seeds", 2), ("guides", 1), ("adversary", 2), ("frozen", 2), ("sparsity", 2), ("fix", 1)),
    *(("informed-adversary", 1), ("gumbel", 1)),
}
# the differences that a verdict asks for
PAIRED = {
    ("finding", "flips"): ["flips, heaviest − random"],
    ("experiment", "uniform"): ["F1, uniform − base", "F1, random − base"],
    ("experiment", "seeds"): ["mean JSD of pairs", "mean JSD of permuted maps", "agreement above permuted maps"],
    ("experiment", "adversary"): ["F1, far − base", "JSD, far", "JSD, furthest"],
    ("experiment", "guides"): [f"F1, base LSTM − {name}" for name in ("uniform", "trained MLP", "adversary")],
    ("experiment", "fix"): ["Δ weighted τ, fix representation", "Δ weighted τ, fix attention"],
    ("experiment", "informed-adversary"): ["Δ weighted τ, adversary"],
    ("experiment", "gumbel"): ["Δ weighted τ, gumbel"],
}


def written(folder: Path, content: object) -> Path:
    file = folder / "mine.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return file


def test_a_whole_study(tmp_path: Path) -> None:
    study, store, out = read_study(written(tmp_path, SMALL)), Store(tmp_path / "store"), tmp_path / "study"
    of_texts = {name for name in EXPERIMENTS if not is_of_translation(name)} - OF_PLANTED_WORDS
    assert set(study.experiments) == of_texts
    outcome = run_study(study, out, Here, budget="small", store=store)
    assert outcome.failed == {}
    assert outcome.skipped == []
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert {row["name"] for row in summary["findings"]} == of_texts | set(study.trials)
    for row in summary["findings"]:
        finding = json.loads((out / row["folder"] / "finding.json").read_text(encoding="utf-8"))
        assert finding["answer"].endswith(".")
        for chart in finding["charts"]:
            assert (out / row["folder"] / chart["svg"]).read_text(encoding="utf-8").startswith("<svg")
            assert (out / row["folder"] / chart["png"]).read_bytes().startswith(b"\x89PNG")
            assert "NaN" not in (out / row["folder"] / chart["spec"]).read_text(encoding="utf-8")
        assert (row["name"], len(finding["charts"])) in CHARTS
        missing = set(PAIRED.get((row["kind"], row["name"]), ())) - set(finding["summary"])
        assert not missing - {"F1, far − base", "JSD, far"}, row["name"]  # none gets far in two epochs
    assert summary["figures"] == []  # there is one model
    with (out / "ours.csv").open(encoding="utf-8") as file:
        cells = {(row["variant"], row["measure"]): float(row["value"]) for row in csv.DictReader(file)}
    assert 0 <= cells[("guide: base LSTM", "f1")] <= 1
    assert 0 <= cells[("adversary, lambda=0.01", "jsd")] <= 0.6932
    assert cells[("adversary, lambda=0", "tvd")] >= 0
    assert ("fix attention", "delta weighted tau") in cells
    assert ("frozen", "delta accuracy") in cells
    assert ("sparsegen, lambda varied", "correlation of lambda with entropy of gradient") in cells
    assert "Budget: standard." in (out / "summary.md").read_text(encoding="utf-8")
    claimed = [d for paper in PAPERS for d in find_study(paper).directions if d.is_about("sst_jw", "single")]
    sides = [side for d in claimed for side in (d.more, d.less)]
    named = {(side.variant, side.measure) for side in sides if side.number is None}
    not_here = {("adversary, far", "f1 gain over base")}  # none gets far in two epochs
    not_here |= {(f"class {c}", "tau attention – gradient-input-fixed") for c in (0, 1)}  # another measure
    heavy = {(f"largest weight in [.75, 1], class {c}", "median tvd") for c in (0, 1)}  # nor is a weight as large
    assert named - not_here - heavy <= set(cells)
    assert heavy <= named
    said = ("found", "the contrary", "cannot be told")
    assert [row["replicated"] in said for row in summary["directions"]] == [True] * 4
    again = run_study(study, out, Here, budget="small", store=store)
    assert again.done == 0
    now = status(out)
    assert now.done == now.steps
    assert not now.alive
    with pytest.raises(attentest.InputError, match="holds the study small"):
        run_study(read_study(written(tmp_path, SMALL | {"name": "other"})), out, Here, budget="small", store=store)


def test_a_changed_corpus_is_said_and_done_again(tmp_path: Path) -> None:
    rows = [f"a {word} film {i},{label}" for i in range(30) for word, label in (("good", 1), ("bad", 0))]
    file = tmp_path / "reviews.csv"
    file.write_text("\n".join(["text,label", *rows]))
    content = {"corpora": [str(file)], "training": SMALL["training"], "trials": ["uniform"]}
    study, store = read_study(written(tmp_path, content)), Store(tmp_path / "store")
    assert run_study(study, tmp_path / "out", Here, store=store).done == 5
    file.write_text("\n".join(["text,label", *rows, "a fine film,1"]))
    said: list[str] = []

    class Notes(Watcher):
        def note(self, sentence: str) -> None:
            said.append(sentence)

    assert run_study(study, tmp_path / "out", Here, store=store, watchers=[Notes()]).done == 5
    assert said == [f"{file} has changed since the last run; the steps that depend on it are run again."]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("corpora: [planted]\ntrails: [uniform]\n", "line 2: 'trails' is not known; did you mean 'trials'"),
        ("corpora: [planted]\ntrials:\n  - uniform\n  - permutaton\n", "line 4: 'permutaton' .* 'permutation'"),
        ("corpora: [planted]\nexperiments:\n  sedes: {}\n", "line 3: 'sedes' is not known .* 'seeds'"),
        ("corpora: [planted]\nexperiments:\n  seeds: {seed: 3}\n", "line 3: .*did you mean 'seeds'"),
        ("corpora: [planted]\ntrials:\n  permutation:\n    permutations: 0\n", "line 3: .*at least 1"),
        ("corpora: [planted]\ntraining:\n  epoch: 3\n", "line 3: 'epoch' is not known in training; .* 'epochs'"),
        ("corpora: [planted]\nmodels:\n  - {encodr: cnn}\n", "line 3: 'encodr' .*'encoder'"),
        ("corpora: [planted]\nbudgets:\n  tiny: {}\n", "line 3: 'tiny' is not known"),
        ("corpora: [planted]\nbudgets:\n  small: {trials: {uniform: {}}}\n", "line 3: 'uniform' is not known"),
        ("corpora: [planted]\ntrials: [3]\n", "line 2: trials must be a list of names"),
        ("corpora: [planted]\ntrials:\n  permutation: 5\n", "line 2: trials must be a list of names"),
        ("corpora: [planted]\nexperiments:\n  sparsity: {lambdas: [a, b]}\n", "line 3: .*expected float"),
        ("corpora: [planted]\nexperiments:\n  guides: {strength: -1.0}\n", "line 3: strength is -1.0"),
        ("corpora: [planted]\ntraining: {epochs: '8'}\n", "line 2: .*expected int"),
        ("corpora: [planted]\ntexts: many\n", "line 2: texts must be a whole number"),
        ("corpora: [planted]\nseeds: [a]\n", "line 2: seeds must be a list of whole numbers"),
        ("corpora: [1]\n", "line 1: corpora must be a list of names"),
        ("corpora: [planted]\nmodels: []\n", "line 2: models must be a list of settings"),
        ("corpora: [planted]\npaper: foo\n", "line 2: paper must be one of jain2019"),
        ("corpora: [planted]\ntolerances: {Table 2: abc}\n", "line 2: Table 2 must be a number"),
        ("corpora: [planted]\nbudgets:\n  small: {seeds: 3}\n", "line 3: seeds must be a list"),
        ("corpora: [planted]\nbudgets:\n  small: {training: {epoch: 3}}\n", "line 3: 'epoch' is not known"),
        ("trials: [uniform]\n", "corpora are missing"),
        ("corpora: planted\n", "line 1: corpora must be a list"),
        ("- a\n", "is not a study"),
        ("a: [\n", "is not YAML"),
    ],
)
def test_bad_yaml_is_told_with_its_line(tmp_path: Path, content: str, sentence: str) -> None:
    with pytest.raises(attentest.InputError, match=sentence):
        read_study(written(tmp_path, content))


def test_numbers_as_people_write_them(tmp_path: Path) -> None:
    content = "corpora: [planted]\nexperiments:\n  adversary: {lambdas: [0, 1e-4, 5.25e-4, 1]}\n"
    assert read_study(written(tmp_path, content)).experiments["adversary"]["lambdas"] == [0, 1e-4, 5.25e-4, 1]


def test_a_budget_may_name_trials_in_a_list(tmp_path: Path) -> None:
    content = "corpora: [planted]\ntrials: [permutation]\nbudgets:\n  small:\n    trials:\n"
    study = read_study(written(tmp_path, content + "      - permutation: {permutations: 7}\n"))
    assert with_budget(study, "small").trials == {"permutation": {"permutations": 7}}


def test_models_and_seeds_stay_apart(tmp_path: Path) -> None:
    content = SMALL | {"trials": ["uniform"], "experiments": {"seeds": {"seeds": 1}}, "seeds": [0, 1], "budgets": {}}
    content |= {"models": [{"hidden": 4}, {"hidden": 8}, {"hidden": 8, "projection": "sparsemax"}]}
    study, out = read_study(written(tmp_path, content)), tmp_path / "out"
    names = [step.name for step in expand(study).plan]
    assert len(names) == len(set(names))
    outcome = run_study(study, out, Here, store=Store(tmp_path / "store"))
    assert outcome.failed == {}
    with (out / "ours.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["measure"] == "jsd"]
    assert {(row["projection"], row["seed"]) for row in rows} == {
        (p, s) for p in ("softmax", "sparsemax") for s in "01"
    }
    assert all(float(row["value"]) > 0 for row in rows)  # no model was compared with itself
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert len(summary["findings"]) == 12
    (figure,) = summary["figures"]
    assert figure["title"] == "accuracy by weights at inference, all models"
    rows = json.loads((out / figure["spec"]).read_text(encoding="utf-8"))["data"]["values"]
    assert len(rows) == 6 * 4  # models and seeds, by weights
    assert {row["model"] for row in rows if row["corpus"] == "planted"} == {
        f"bilstm+additive {more}{seed}"
        for more in ("hidden=4", "hidden=8", "hidden=8 sparsemax")
        for seed in ("", " seed 1")
    }
    assert (out / figure["svg"]).read_text(encoding="utf-8").startswith("<svg")
    assert (out / figure["png"]).read_bytes().startswith(b"\x89PNG")


def test_what_there_is_is_summarised_when_a_step_fails(tmp_path: Path) -> None:
    content = SMALL | {"trials": ["uniform"], "experiments": {}, "budgets": {}}
    content |= {"models": [{"lr": 1e-3}, {"lr": 1e30}]}
    outcome = run_study(read_study(written(tmp_path, content)), tmp_path / "out", Here, store=Store(tmp_path / "store"))
    assert len(outcome.failed) == 1
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert len(summary["findings"]) == 1
    assert len(summary["missing"]) == 3


def test_unknown_studies() -> None:
    with pytest.raises(attentest.InputError, match="did you mean 'jain2019'"):
        find_study("jain2020")
    with pytest.raises(attentest.InputError, match="no such file"):
        find_study("nothing.yaml")
    with pytest.raises(attentest.InputError, match="quick, standard, paper"):
        with_budget(find_study("jain2019"), "huge")


def test_budgets_have_the_names_of_those_of_audits_and_the_earlier_one(tmp_path: Path) -> None:
    assert tuple(audit.BUDGETS) == BUDGETS
    content = {"corpora": ["planted"], "columns": {"rows": 60}, "budgets": {"small": {"texts": 7}}}
    study = read_study(written(tmp_path, content))
    assert list(study.budgets) == ["standard"]
    for name in ("small", "standard"):
        planned = plan_study(study, name)
        assert (planned.budget, planned.study.texts) == ("standard", 7)
    assert plan_study(study, "paper").study.texts is None
    with pytest.raises(attentest.InputError, match="budget quick changes; choose from: standard, paper, or add it"):
        plan_study(study, "quick")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_a_study_and_figures(paper: str) -> None:
    study = find_study(paper)
    assert study.paper == paper
    tables = {row.table for row in published(paper)}
    assert len(tables) >= 2
    assert set(study.tolerances) <= {*tables, *(f"{row.table}, {row.measure}" for row in published(paper))}
    for budget in BUDGETS:
        assert with_budget(study, budget).corpora


def test_every_published_cell_is_whole() -> None:
    for paper in PAPERS:
        rows = published(paper)
        keys = [(r.table, r.corpus, r.model, r.variant, r.measure) for r in rows]
        assert len(set(keys)) == len(keys)
        assert all(r.paper == paper and r.corpus and r.measure and r.trial for r in rows)


def test_ours_beside_theirs() -> None:
    # WP Table 2: SST, base, F1 .831; Table 5: λ = 5e-4 on SST has JSD .100
    ours = {
        ("sst_jw", "bilstm+additive"): {
            0: [
                Cell("base", "f1", 0.82, 0.80, 0.84),
                Cell("adversary, lambda=0.0005", "jsd", 0.5, 0.4, 0.6),
            ]
        }
    }
    compared = compare("wiegreffe2019", ours, {"Table 2": 0.03, "Table 5": 0.1})
    found = {(c.theirs.table, c.theirs.variant): c for c in compared if c.ours is not None}
    assert found[("Table 2", "base")].within is True
    assert found[("Table 2", "base")].difference == pytest.approx(0.82 - 0.831)
    assert found[("Table 5", "adversary, lambda=5e-4")].within is False
    assert found[("Table 5", "adversary, lambda=5e-4")].theirs.value == 0.1
    assert len(found) == 2


def test_steps_shared_by_experiments_are_planned_once(tmp_path: Path) -> None:
    content = SMALL | {"experiments": {"seeds": {"seeds": 2}, "adversary": SMALL["experiments"]["adversary"]}}  # type: ignore[index]
    names = [step.name for step in expand(read_study(written(tmp_path, content))).plan]
    assert len(names) == len(set(names))
    assert sum("seed 1" in name for name in names) == 1


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_says_what_it_asks(name: str) -> None:
    kind = experiment_class(name)
    assert kind.question.endswith("?")
    assert kind.source
    labels = {"base"}
    for training in make_experiment(name, {}).trainings():
        assert {training.preset, training.start, training.base} - {None} <= labels, training.label
        labels.add(training.label)
    for on in make_experiment(name, {}).trials():
        assert on.label in labels


def test_rows_are_limited_by_budget_or_by_hand(tmp_path: Path) -> None:
    content = {"corpora": ["planted"], "columns": {"rows": 200}, "budgets": {"small": {"rows": 100}}}
    study = read_study(written(tmp_path, content))
    names = {rows: plan_study(study, "small", rows=rows) for rows in (None, 60, 1000)}
    limits = {rows: next(iter(found.plan)).settings.get("rows") for rows, found in names.items()}
    assert limits == {None: 100, 60: 60, 1000: None}  # a limit above what there is changes nothing
    assert len({tuple(found.fingerprints.items()) for found in names.values()}) == 1  # the corpus is the same


def test_rows_may_be_limited_otherwise_for_one_corpus(tmp_path: Path) -> None:
    content = {
        "corpora": ["planted", "babi1-generated"],
        "columns": {"rows": 200},
        "models": [{"decoder": "context"}, {}],
        "rows_on": {"planted": 90},
        "budgets": {"small": {"rows": 100, "rows_on": {"babi1-generated": 80}}},
    }
    study = read_study(written(tmp_path, content))

    def limits(budget: str, rows: int | None = None) -> dict[str, int | None]:
        steps = [step for step in plan_study(study, budget, rows=rows).plan if step.name.startswith("prepare ")]
        return {step.name.removeprefix("prepare "): step.settings.get("rows") for step in steps}

    assert limits("small") == {"planted": 90, "babi1-generated": 80}
    assert limits("paper") == {"planted": 90, "babi1-generated": None}
    assert limits("small", 60) == {"planted": 60, "babi1-generated": 60}  # by hand is for all


def test_texts_may_be_limited_otherwise_for_one_corpus(tmp_path: Path) -> None:
    content = {
        "corpora": ["planted", "babi1-generated"],
        "columns": {"rows": 200},
        "models": [{"decoder": "context"}, {}],
        "trials": ["permutation"],
        "texts": 30,
        "texts_on": {"planted": 20},
        "budgets": {"small": {"texts": 10, "texts_on": {"babi1-generated": 5}}},
    }
    study = read_study(written(tmp_path, content))

    def limits(budget: str) -> list[int]:
        steps = plan_study(study, budget).plan
        return [step.settings["texts"] for step in steps if step.name.startswith("permutation of ")]

    assert limits("paper") == [20, 30]
    assert limits("small") == [20, 5]


def test_a_corpus_may_be_named_without_its_preparation() -> None:
    study = Study("mine", corpora=("planted_jw",))
    with pytest.raises(attentest.InputError, match="'planted_jw'"):
        plan_study(study, "paper", ["planted"])


DIRECTION = """corpora: [planted]
directions:
  - says: a is more than b
    source: here
    more: {variant: a, measure: f1}
    less: {model: other, variant: b, measure: f1}
"""


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (("source: here", "sources: here"), "line 4: 'sources' is not known in directions.0; .*'source'"),
        (("    source: here\n", ""), "line 3: a direction has .*; source is missing"),
        (("{variant: a, measure: f1}", "{variant: a}"), "line 5: more must be a number, or a variant and a measure"),
        (
            ("    source: here\n", "    source: here\n    corpora: [mars]\n"),
            "'mars' is not known in directions.0.corpora",
        ),
        (("    source: here\n", "    source: here\n    corpora: 3\n"), "corpora must be a list of names"),
        (("    source: here\n", "    source: here\n    task: pairs\n"), "task must be one of single, pair, generation"),
        (("model: other", "modle: other"), "line 6: 'modle' is not known .*'model'"),
        (("  - says: a is more than b\n", "  - \n"), "directions"),
    ],
)
def test_bad_directions_are_told_with_their_line(tmp_path: Path, wrong: tuple[str, str], sentence: str) -> None:
    read_study(written(tmp_path, DIRECTION))
    with pytest.raises(attentest.InputError, match=sentence):
        read_study(written(tmp_path, DIRECTION.replace(*wrong)))


def test_what_a_difference_says() -> None:
    def cells(*values: tuple[float, float, float]) -> dict[tuple[str, str, str], Cell]:
        return {("m", str(n), "f1"): Cell(str(n), "f1", *value) for n, value in enumerate(values)}

    direction = Direction("0 is more than 1", "here", Side("0", "f1"), Side("1", "f1"))
    apart = cells((0.8, 0.77, 0.83), (0.7, 0.66, 0.74))
    [replication] = examine([direction], "c", "m", of_cells(apart), printed_by("", "c"))
    # by hand: 0.1 ± hypot(0.03, 0.04)
    assert [replication.ours, replication.low, replication.high] == pytest.approx([0.1, 0.05, 0.15])
    assert replication.replicated == "found"
    assert replication.theirs is not None
    assert math.isnan(replication.theirs)
    close = cells((0.8, 0.75, 0.85), (0.79, 0.74, 0.84))
    swapped = Direction("1 is more than 0", "here", Side("1", "f1"), Side("0", "f1"))
    assert direction.is_about("sst", "single")
    elsewhere = replace(direction, task="single", corpora=("imdb",))
    told = [elsewhere.is_about(*about) for about in (("imdb", "single"), ("imdb", "pair"), ("sst", "single"))]
    assert told == [True, False, False]
    against_number = Direction("0 is above 0.9", "here", Side("0", "f1"), Side(number=0.9))
    missing = Direction("0 is more than 2", "here", Side("0", "f1"), Side("2", "f1"))
    found = {
        name: examine([d], "c", "m", of_cells(cells_), printed_by("", "c"))[0].replicated
        for name, d, cells_ in (
            ("close", direction, close),
            ("swapped", swapped, apart),
            ("number", against_number, apart),
            ("missing", missing, apart),
        )
    }
    assert found == {
        "close": "cannot be told",
        "swapped": "the contrary",
        "number": "the contrary",
        "missing": "not tested",
    }


def test_cells_of_shuffled_weights_have_the_bins_that_occur() -> None:
    def figure(value: float) -> Estimate:
        return Estimate(value, value - 0.1, value + 0.1, 5)

    summary = {"mean of median TVD": figure(0.4), "[0, .25) no": figure(0.3), "[.75, 1] yes": figure(0.8)}
    found = {c.variant: c.value for c in Permutation.cells(summary, "softmax", ["no", "yes"])}
    assert found == {
        "permuted": 0.4,
        "largest weight in [0, .25), class 0": 0.3,
        "largest weight in [.75, 1], class 1": 0.8,
    }
    summary = {"mean of median TVD": figure(0.4), "steps changed": figure(0.5), "[.75, 1]": figure(0.8)}
    found = {c.variant: c.value for c in TranslationPermutation.cells(summary, "softmax", [])}
    assert found == {"permuted": 0.4, "largest weight in [.75, 1]": 0.8}


def test_a_direction_is_told_only_where_it_is_claimed(tmp_path: Path) -> None:
    def direction(says: str, task: str | None) -> dict[str, Any]:
        about = {"says": says, "source": "here", "more": {"variant": "base", "measure": "f1"}, "less": -1}
        return about if task is None else about | {"task": task}

    content = {
        "corpora": ["planted"],
        "columns": {"rows": 100},
        "models": [{"encoder": "average"}],
        "training": {"epochs": 1, "dimension": 8, "hidden": 4},
        "directions": [direction(str(task), task) for task in ("generation", "single", None, "pair")],
    }
    study = read_study(written(tmp_path, content))
    run_study(study, tmp_path / "out", Here, store=Store(tmp_path / "store"))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert [(row["says"], row["replicated"]) for row in summary["directions"]] == [
        ("single", "found"),
        ("None", "found"),
    ]


def test_published_gains_are_differences_of_what_is_printed() -> None:
    lookup = of_published(in_table("wiegreffe2019", "sst_jw", "Table 3"))
    found = lookup(("average+additive", "guide: base LSTM", "f1 gain over guide: trained MLP"))
    assert found is not None
    assert found.value == pytest.approx(0.824 - 0.817)
    assert lookup(("average+additive", "guide: base LSTM", "f1 gain over nothing")) is None


def test_gains_are_set_against_each_other_text_by_text() -> None:
    class Tested:
        classes = ("no", "yes")
        record = SimpleNamespace(model=ModelSettings(encoder="bilstm", alignment="additive"))

        def __init__(self, right: np.ndarray) -> None:
            label = np.arange(len(right)) % 2
            said = np.where(right, label, 1 - label)
            columns = {"label": [self.classes[i] for i in label], "probability": np.eye(2)[said].tolist()}
            self.predictions = pa.table(columns)

    one = np.random.default_rng(0).random(400) < 0.8
    other = one.copy()
    other[np.flatnonzero(one)[:8]] = False  # eight texts less
    better: Any = Tested(one)
    worse: Any = Tested(other)
    gain = f1_gain(better, worse, "one", "other")
    assert gain.measure == "f1 gain over other"
    assert 0 < gain.low < gain.value < gain.high < 0.05  # far narrower than the intervals of the two F1
    itself = f1_gain(better, better, "one", "itself")
    assert itself.value == 0
    assert -0.03 < itself.low < 0 < itself.high < 0.03  # the next text may be decided otherwise


PAIRS = {
    "corpora": ["babi1-generated", "planted"],
    "columns": {"rows": 120},
    "models": [{"alignment": "dot"}, {"decoder": "context"}, {"decoder": "context+query"}, {"pairing": "conditional"}],
    "training": {"epochs": 1, "dimension": 8, "hidden": 4},
    "training_on": {"babi1-generated": {"hidden": 6}},
    "trials": ["uniform", "rationale"],
    "experiments": ["uniform"],
    "budgets": {"small": {"training_on": {"babi1-generated": {"dimension": 7}}}},
}


def test_models_of_pairs_are_for_pairs(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, PAIRS))
    names = [step.name for step in plan_study(study, "paper").plan if step.name.startswith("train ")]
    base = [name.removeprefix("train ") for name in names if "," not in name]
    assert base == [
        "babi1-generated bilstm+additive",
        "babi1-generated bilstm+additive+query",
        "babi1-generated conditional+additive",
        "planted bilstm+dot",
    ]


def test_settings_of_one_corpus(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, PAIRS))
    for budget, dimension in (("paper", 8), ("small", 7)):
        found = {
            step.name: (step.settings["hidden"], step.settings["dimension"])
            for step in plan_study(study, budget).plan
            if step.name in ("train babi1-generated bilstm+additive", "train planted bilstm+dot")
        }
        assert found == {
            "train babi1-generated bilstm+additive": (6, dimension),
            "train planted bilstm+dot": (4, 8),
        }
    with pytest.raises(attentest.InputError, match="line 4: 'epoch' is not known in training_on"):
        read_study(written(tmp_path, "corpora: [planted]\ntraining_on:\n  planted:\n    epoch: 3\n"))


def test_a_study_of_pairs(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, PAIRS | {"corpora": ["babi1-generated"], "paper": "vashishth2019"}))
    outcome = run_study(study, tmp_path / "out", Here, store=Store(tmp_path / "store"))
    assert outcome.failed == {}
    with (tmp_path / "out" / "ours.csv").open(encoding="utf-8") as file:
        cells = {(row["model"], row["variant"], row["measure"]) for row in csv.DictReader(file)}
    for model in ("bilstm+additive", "bilstm+additive+query", "conditional+additive"):
        assert (model, "uniform, trained and inferred", "delta accuracy %") in cells
        assert (model, "permuted, inferred", "delta accuracy %") in cells
        assert (model, "attention", "heaviest in rationale %") in cells


def test_a_study_of_documents(tmp_path: Path) -> None:
    """Words and sentences of a HAN on trial, even where each text has one sentence, and its random weights."""
    content = {
        "corpora": ["planted"],
        "columns": {"rows": 120},
        "models": [{"structure": "hierarchical"}, {"structure": "hierarchical", "encoder": "none"}],
        "training": {"epochs": 1, "dimension": 8, "hidden": 4},
        "trials": {"flips": {"site": "word"}, "importance-sets": {}},
        "experiments": ["uniform"],
    }
    study = read_study(written(tmp_path, content))
    names = [step.name for step in plan_study(study, "paper").plan]
    assert "train planted han, uniform" in names
    assert "train planted han, random" in names
    outcome = run_study(study, tmp_path / "out", Here, store=Store(tmp_path / "store"))
    assert outcome.failed == {}
    with (tmp_path / "out" / "ours.csv").open(encoding="utf-8") as file:
        cells = {(row["model"], row["variant"], row["measure"]) for row in csv.DictReader(file)}
    assert ("han", "heaviest removed: flip, random removed: flip", "share %") in cells
    for weights in ("uniform", "random"):
        assert ("han", f"{weights}, trained and inferred", "accuracy") in cells


def test_models_that_no_corpus_can_have_are_refused_before_anything_runs(tmp_path: Path) -> None:
    only_pairs = read_study(written(tmp_path, {"corpora": ["planted"], "models": [{"decoder": "context+query"}]}))
    with pytest.raises(attentest.InputError, match="are for pairs"):
        plan_study(only_pairs, "paper")
    documents = read_study(
        written(tmp_path, {"corpora": ["babi1-generated"], "models": [{"structure": "hierarchical"}]})
    )
    with pytest.raises(attentest.InputError, match="needs single texts"):
        plan_study(documents, "paper")


def test_a_site_of_a_trial(tmp_path: Path) -> None:
    content = {
        "corpora": ["planted"],
        "columns": {"rows": 100},
        "models": [{"structure": "hierarchical"}],
        "training": {"epochs": 1, "dimension": 8, "hidden": 4},
        "trials": [{"flips": {"site": "word"}}, "removal"],
    }
    out = tmp_path / "out"
    outcome = run_study(read_study(written(tmp_path, content)), out, Here, store=Store(tmp_path / "store"))
    assert outcome.failed == {}
    sites = {
        row["name"]: json.loads((out / row["folder"] / "finding.json").read_text(encoding="utf-8"))["signature"]["site"]
        for row in json.loads((out / "summary.json").read_text(encoding="utf-8"))["findings"]
    }
    assert sites == {"flips": "word", "removal": "sentence"}
    with pytest.raises(attentest.InputError, match="must be one of token, word, sentence"):
        read_study(written(tmp_path, content | {"trials": [{"flips": {"site": "wort"}}]}))
    flat = read_study(written(tmp_path, content | {"models": [{"encoder": "cnn"}]}))
    with pytest.raises(attentest.InputError, match="has no site 'word'; it has token"):
        plan_study(flat, "paper")


def test_budgets_may_change_training_on_any_corpus(tmp_path: Path) -> None:
    content = {"corpora": ["planted"], "budgets": {"small": {"training_on": {"planted": {"epochs": 2}}}}}
    study = read_study(written(tmp_path, content))
    trained = [step for step in plan_study(study, "small").plan if step.name.startswith("train")]
    assert [step.settings["epochs"] for step in trained] == [2]
    with pytest.raises(attentest.InputError, match="line 3: 'plantd' is not known in training_on; did you mean"):
        read_study(written(tmp_path, "corpora: [planted]\ntraining_on:\n  plantd: {epochs: 2}\n"))


def test_a_direction_is_about_the_studys_first_model_even_where_that_failed(tmp_path: Path) -> None:
    content = {
        "corpora": ["planted"],
        "columns": {"rows": 100},
        "models": [{"encoder": "cnn"}, {"encoder": "average"}],
        "training": {"epochs": 1, "dimension": 8, "hidden": 4},
        "directions": [
            {"says": "a | b", "source": "here", "more": {"variant": "base", "measure": "f1"}, "less": -1},
        ],
    }
    study, store = read_study(written(tmp_path, content)), Store(tmp_path / "store")
    expanded = plan_study(study, "paper")
    run_plan(expanded.plan, store, Here(store))
    first = next(step for step in expanded.plan if step.name == "train planted cnn+additive")
    partial = expanded.summarise(lambda key: key != first.key)
    perform(partial, store)
    summary = json.loads((store.fetch(partial.key) / "summary.json").read_text(encoding="utf-8"))
    assert [row["replicated"] for row in summary["directions"]] == ["not tested"]
    assert "a \\| b" in (store.fetch(partial.key) / "summary.md").read_text(encoding="utf-8")


def test_a_study_of_your_own_has_every_figure_and_means_over_seeds(tmp_path: Path) -> None:
    content = {
        "corpora": ["planted"],
        "rows": 100,
        "seeds": [0, 1, 2],
        "texts": 10,
        "training": SMALL["training"],
        "trials": ["permutation", "removal"],
    }
    out = tmp_path / "out"
    assert run_study(read_study(written(tmp_path, content)), out, Here, store=Store(tmp_path / "store")).failed == {}
    rows = pq.read_table(out / "ours.parquet").to_pylist()
    measured = {(row["seed"], row["variant"], row["measure"]): row["value"] for row in rows}
    assert {seed for seed, *_ in measured} == {0, 1, 2}
    assert (0, "permutation", "mean of median TVD") in measured
    means = {(row["variant"], row["measure"]): row for row in pq.read_table(out / "means.parquet").to_pylist()}
    mean = means[("removal", "mean ΔJS")]
    own = [measured[(seed, "removal", "mean ΔJS")] for seed in (0, 1, 2)]
    assert mean["seeds"] == 3
    assert mean["mean"] == pytest.approx(sum(own) / 3, rel=1e-12)
    assert (mean["low"], mean["high"]) == (min(own), max(own))
    assert "Budget" not in (out / "summary.md").read_text(encoding="utf-8")  # it has none


def test_the_estimate_of_a_training_goes_by_its_sizes() -> None:
    """By hand: 2 · h · (h + d) + h · h multiplications, relative to those of h = 128 and d = 50."""
    assert _relative_cost({"vectors": "glove-6b-50d"}) == pytest.approx(1)
    small = (2 * 32 * (32 + 50) + 32 * 32) / (2 * 128 * (128 + 50) + 128 * 128)
    assert _relative_cost({"hidden": 32, "dimension": 50}) == pytest.approx(0.15 + 0.85 * small)
    assert _relative_cost({}) > 1.5  # random vectors have 300 dimensions
