"""The papers' studies: settings as the papers state them, what differs, and cells that published tables name."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from test_engine import Here

import attentest
from attentest.engine import Store
from attentest.measures.intervals import Estimate
from attentest.models import make_model
from attentest.studies import PAPERS, find_study
from attentest.studies.cells import read_cells, write_cells
from attentest.studies.expand import is_translator, model_settings, with_budget
from attentest.studies.experiments import make_experiment
from attentest.studies.experiments.base import BASE
from attentest.studies.experiments.informed import compare_information
from attentest.studies.published import SAMPLES, published, same_corpus
from attentest.studies.results import read_summary
from attentest.studies.run_study import plan_study, run_study
from attentest.studies.schema import BUDGETS, Study, read_study
from attentest.text import tokenize_corpus
from attentest.text.batches import make_batch
from attentest.text.installed_vectors import INSTALLED
from attentest.text.vectors import initial_vectors
from attentest.training.fit import labels_of
from attentest.training.settings import sort_settings
from attentest.trials.cells import Cell, cell, with_jsd

PAIRS = ("snli", "babi1", "babi2", "babi3-generated")
TRANSLATED = ("multi30k",)
TINY: dict[str, Any] = {
    "corpora": ["planted"],
    "columns": {"rows": 100},
    "training": {"epochs": 1, "dimension": 4, "hidden": 2},
}


def written(folder: Path, content: dict[str, Any]) -> Study:
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return read_study(file)


def names_of(study: Study) -> dict[str, set[str]]:
    """The models of single texts and of pairs, as published tables name them."""
    models = [model for model in study.models if not is_translator(model)]
    asked = [model for model in models if "decoder" in model or "pairing" in model]
    single = [model for model in models if model not in asked]
    return {
        "single": {model_settings(model).name for model in single},
        "pair": {model_settings(model).name for model in asked or single},
    }


def kind_of(corpus: str) -> str:
    return "pair" if corpus in PAIRS else "generation" if corpus in TRANSLATED else "single"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_cell_of_a_corpus_has_a_model_in_the_study(paper: str) -> None:
    study = find_study(paper)
    names = names_of(study)
    names["single"] |= {"average+additive"} if "guides" in study.experiments else set()
    for corpus in study.corpora:
        cells = [(c.model, c.variant, c.measure) for c in published(paper) if same_corpus(c.corpus, corpus)]
        assert cells or corpus in ("imdb_jw",), corpus
        kind = kind_of(SAMPLES.get(corpus, corpus).removesuffix("_en_de"))
        for model, variant, measure in cells:
            if model and not model.startswith("all") and kind != "generation":
                assert model in names[kind], (corpus, model, variant, measure)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_model_that_a_study_names_is_one_of_its_own(paper: str) -> None:
    study = find_study(paper)
    names = set.union(*names_of(study).values())
    told = {side.model for one in study.directions if one.task != "generation" for side in (one.more, one.less)}
    assert told - {""} <= names | {"average+additive"}
    for budget in BUDGETS:
        for settings in with_budget(study, budget).experiments.values():
            assert set(settings.get("models", ())) <= names


@pytest.mark.parametrize("paper", PAPERS)
def test_variants_that_directions_name_are_published_or_ours(paper: str) -> None:
    """A direction's cells are those of a published table, of §5 of Wen et al., or of a gain that ours alone prints."""
    rows = published(paper)
    there = {(row.variant, row.measure) for row in rows}
    ours = {("adversary, far", "f1 gain over base"), ("heaviest removed, against random removed", "delta js")}
    for one in find_study(paper).directions:
        for side in (one.more, one.less):
            plain = side.measure.partition(" gain over ")[0]
            if side.number is None and not side.variant.startswith(("largest weight", "permuted, ")):
                assert (side.variant, plain) in there or (side.variant, side.measure) in ours, side


def test_learning_rates_are_those_of_meister_et_al() -> None:
    """App. B, Table 4; a budget that cannot afford them says so."""
    printed = {
        row.model.partition("+")[0]: row.value
        for row in published("meister2021")
        if (row.table, row.measure) == ("Table 4", "learning rate")
    }
    assert printed == {"bilstm": 1e-4, "transformer": 1e-5}
    study = find_study("meister2021")
    assert {name: given["lr"] for name, given in with_budget(study, "paper").training_of.items()} == printed
    for budget in ("quick", "standard"):
        chosen = with_budget(study, budget)
        assert {name: given["lr"] for name, given in chosen.training_of.items()} != printed
        assert "instead of 1e-4 (BiLSTM) and 1e-5 (Transformer)" in chosen.deviations["learning rate"]
        assert set(study.deviations) < set(chosen.deviations)


def test_lambdas_of_wiegreffe_and_pinter_are_those_of_each_corpus() -> None:
    """App. B, Table 5, and 80 epochs on SST, 40 elsewhere; AG News and 20 Newsgroups stay in Table 2."""
    chosen = with_budget(find_study("wiegreffe2019"), "paper")
    for corpus, epochs in (("sst_jw", 80), ("imdb_jw", 40)):
        printed = {
            float(row.variant.partition("lambda=")[2])
            for row in published("wiegreffe2019")
            if (row.table, row.corpus) == ("Table 5", corpus)
        }
        settings = {**chosen.experiments["adversary"], **chosen.experiments_on[corpus]["adversary"]}
        assert set(settings["lambdas"]) == printed
        assert settings["epochs"] == epochs
        assert settings["dev_epochs"]
    for corpus in ("ag_news_jw", "20news_sports_jw"):
        tables = {row.table for row in published("wiegreffe2019") if row.corpus == corpus}
        assert tables == {"Table 1", "Table 2"}
        assert chosen.experiments_on[corpus] == {"seeds": False, "guides": False, "adversary": False}
    for budget in BUDGETS:
        changed = with_budget(find_study("wiegreffe2019"), budget)
        assert 8e-4 in changed.experiments_on["imdb_jw"]["adversary"]["lambdas"] or budget == "quick"
        assert changed.experiments_on["ag_news_jw"]["adversary"] is False


def test_wen_et_al_have_nine_models_of_each_kind_and_their_lambdas() -> None:
    """§2.1 and §2.2, eq. 1 and 5; Table 3."""
    study = find_study("wen2022")
    for kind, dot in (("single", "dot"), ("pair", "scaled-dot")):
        wanted = {f"{e}+{a}" for e in ("bilstm", "cnn-wide", "mlp") for a in ("additive", "deep", dot)}
        assert names_of(study)[kind] == wanted
    printed = {
        row.corpus: float(row.variant.partition("lambda=")[2])
        for row in published("wen2022")
        if row.table == "Table 3" and row.public
    }
    chosen = with_budget(study, "paper")
    on = chosen.experiments_on
    assert {
        name: given["informed-adversary"]["strength"] for name, given in on.items() if given["informed-adversary"]
    } == printed
    for name in ("fix", "informed-adversary", "gumbel"):
        assert (chosen.experiments[name]["runs"], chosen.experiments[name]["repeats"]) == (10, 10)


def test_babi_starts_from_vectors_as_torch_draws_them() -> None:
    for paper in ("jain2019", "vashishth2019", "wen2022"):
        for budget in BUDGETS:
            chosen = with_budget(find_study(paper), budget)
            for corpus in ("babi1", "babi2", "babi3-generated"):
                wanted = {"vector_scale": 1.0, "hidden": 32, "batch_size": 50, "dimension": 50}
                assert wanted.items() <= chosen.training_on[corpus].items()
                paper_rate = chosen.training_on[corpus]["lr"] == 0.001
                assert paper_rate == (budget == "paper")
                assert paper_rate or "0.003 instead of 0.001" in " ".join(chosen.deviations["epochs"].split())


def test_what_is_other_for_an_encoder_or_a_corpus(tmp_path: Path) -> None:
    content = TINY | {
        "models": [{}, {"encoder": "cnn"}, {"encoder": "cnn", "alignment": "dot", "lr": 0.5}],
        "training_on": {"planted": {"lr": 0.02, "epochs": 3}},
        "training_of": {"cnn": {"lr": 0.03}},
        "experiments": {"uniform": {"models": ["cnn+additive"]}, "gumbel": {"runs": 5}, "seeds": {"seeds": 1}},
        "experiments_on": {"planted": {"seeds": False, "gumbel": {"runs": 4, "temperature": 0.5}}},
        "deviations": {"a": "b"},
        "budgets": {"quick": {"training_of": {"cnn": {"epochs": 2}}, "experiments": {"gumbel": {"runs": 2}}}},
    }
    study = written(tmp_path, content)
    steps = {step.name: step for step in plan_study(study, "quick").plan}
    settings = {name: step.settings for name, step in steps.items() if name.startswith("train ")}
    base, cnn, own = (
        settings[f"train planted {name}"] for name in ("bilstm+additive", "cnn+additive", "cnn+dot lr=0.5")
    )
    assert [(given["lr"], given["epochs"]) for given in (base, cnn, own)] == [(0.02, 3), (0.03, 2), (0.5, 2)]
    assert [name for name in steps if name.startswith("experiment uniform")] == [
        "experiment uniform of planted cnn+additive"
    ]
    assert not any("seed" in name for name in steps)
    gumbel = steps["experiment gumbel of planted bilstm+additive"].settings["settings"]
    assert gumbel == {"runs": 2, "temperature": 0.5}  # a budget holds on every corpus


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"training_of": {"bilstmm": {"lr": 0.1}}}, "did you mean 'bilstm'"),
        ({"training_of": {"bilstm": {"lrr": 0.1}}}, "'lrr' is not known"),
        ({"experiments_on": {"other": {"seeds": False}}}, "'other' is not known"),
        ({"experiments_on": {"planted": {"fix": False}}}, "'fix' is not known"),
        ({"experiments_on": {"planted": {"seeds": True}}}, "settings, or false where it is not run"),
        ({"experiments_on": {"planted": {"seeds": {"seeds": "two"}}}}, "expected int"),
        ({"experiments_on": {"planted": [1]}}, "experiments with settings"),
        ({"deviations": ["a"]}, "names with values"),
        ({"rows_on": [100]}, "names with values"),
        ({"rows_on": {"other": 100}}, "'other' is not known"),
        ({"rows_on": {"planted": 1.5}}, "a whole number"),
        ({"rows_on": {"planted": None}}, "a whole number"),
        ({"texts_on": {"other": 100}}, "'other' is not known"),
        ({"texts_on": {"planted": 0}}, "a whole number of at least 1"),
        ({"budgets": {"quick": {"rows_on": {"other": 100}}}}, "'other' is not known"),
        ({"experiments": {"seeds": {"models": "bilstm"}}}, "a list of names"),
        ({"trials": {"permutation": {"site": "all"}}}, "another than all"),
        ({"budgets": {"quick": {"training_of": {"x": {}}}}}, "'x' is not known"),
        ({"budgets": {"quick": {"deviations": "none"}}}, "names with values"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(attentest.InputError, match=message) as error:
        written(tmp_path, TINY | {"experiments": {"seeds": {}}} | wrong)
    assert ", line " in str(error.value)


def test_deviations_are_told_in_the_summary_and_on_the_page(tmp_path: Path) -> None:
    what = {"learning rate": "0.001 instead of 1e-5."}
    content = TINY | {"deviations": {"rows": "Few."}, "budgets": {"quick": {"deviations": what}}}
    study, out = written(tmp_path, content), tmp_path / "out"
    assert run_study(study, out, Here, budget="quick", store=Store(tmp_path / "store")).failed == {}
    assert read_summary(out).deviations == {"rows": "Few.", **what}
    said = (out / "summary.md").read_text(encoding="utf-8")
    assert "- differs from the paper: learning rate: 0.001 instead of 1e-5." in said
    attentest.report(out, tmp_path / "page.html")
    assert "0.001 instead of 1e-5." in (tmp_path / "page.html").read_text(encoding="utf-8")
    content = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    del content["deviations"]  # as an earlier version wrote it
    (out / "summary.json").write_text(json.dumps(content), encoding="utf-8")
    assert read_summary(out).deviations == {}


def test_attention_is_fixed_at_a_constant_and_at_random() -> None:
    """Wen et al. 2022 §5.1: values are forced to a constant; equal scores make equal weights."""
    kinds = {t.label: t.settings.get("projection") for t in make_experiment("fix", {"repeats": 2}).trainings()}
    assert kinds["fix attention"] == kinds["fix attention, seed 1"] == "uniform"
    assert kinds["fix attention, random"] == kinds["fix attention, random, seed 1"] == "random"


def test_seeds_are_compared_two_by_two() -> None:
    """Wen et al. 2022 §5: .9, .8 and .6 differ by .1, .3 and .2."""
    labels = [BASE, "seed 1", "seed 2"]
    taus = dict(zip(labels, (0.9, 0.8, 0.6), strict=True))
    found: Any = {f"{label} information": _Said(tau) for label, tau in taus.items()}
    cells = {(c.variant, c.measure): c.value for c in compare_information({}, labels, found).cells}
    assert cells[("3 seeds", "mean absolute difference of weighted tau")] == pytest.approx(0.2)
    assert cells[("3 seeds", "largest absolute difference of weighted tau")] == pytest.approx(0.3)
    once = compare_information({}, [BASE, BASE], found).cells
    assert not any("seeds" in c.variant for c in once)


class _Said:
    def __init__(self, tau: float) -> None:
        self.summary = {"weighted τ": Estimate(tau, tau - 0.01, tau + 0.01, 10)}


def test_cells_keep_how_far_an_adversary_is(tmp_path: Path) -> None:
    one = cell("frozen", "accuracy", Estimate(0.7, 0.6, 0.8, 9))
    near = with_jsd([one], Estimate(0.29, 0.2, 0.3, 9))
    spread = cell("all", "tau", Estimate(0.3, math.nan, math.nan, 9), deviation=0.21)
    write_cells(tmp_path, [*near, spread])
    kept = read_cells(tmp_path)
    assert kept[0] == Cell("frozen", "accuracy", 0.7, 0.6, 0.8, "", 0.29, n=9)
    assert (kept[1].deviation, kept[1].jsd) == (0.21, None)


def test_the_question_gets_a_gradient_where_vectors_are_spread() -> None:
    """Why bAbI stays on a plateau with vectors that lie close together (docs/corpora.md)."""
    corpus = attentest.load("babi1-generated", rows=300)
    found = {}
    for scale in (0.1, 1.0):
        given = {"vector_scale": scale, "dimension": 50, "hidden": 32, "alignment": "additive", "decoder": "context"}
        settings = sort_settings(corpus, given)
        data = tokenize_corpus(corpus, settings.text)
        vectors, _ = initial_vectors(data.vocabulary, settings.text, 0)
        torch.manual_seed(0)
        model = make_model(settings.model, torch.from_numpy(vectors), len(corpus.classes), kind="pair")
        batch = make_batch(data, data.of_split("train"))
        logits, weights = model(batch)
        labels_of(data, settings.training, "cpu")(logits, weights["token"], batch).backward()
        asked = [p.grad for name, p in model.named_parameters() if name.startswith("second_encoder")]
        found[scale] = sum(float((grad**2).sum()) for grad in asked if grad is not None) ** 0.5
    assert found[1.0] > 20 * found[0.1] > 0


def test_snli_starts_from_300_dimensions_where_there_is_time() -> None:
    for paper in ("jain2019", "vashishth2019", "wen2022"):
        chosen = {budget: with_budget(find_study(paper), budget).training_on["snli"]["vectors"] for budget in BUDGETS}
        assert chosen == {"quick": "glove-6b-50d", "standard": "glove-6b-50d", "paper": "glove-840b-300d"}
        assert "glove-840b-300d" in INSTALLED


def test_a_generated_corpus_may_be_named_as_the_published_one() -> None:
    planned = plan_study(find_study("jain2019"), "quick", ["babi3"])
    trained = [step for step in planned.plan if step.work.endswith("training:run")]
    assert {step.settings["vectors"] for step in trained} == {"random"}
    assert {step.settings["hidden"] for step in trained} == {32}
