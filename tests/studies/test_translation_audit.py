"""Audits and studies of translation models: plan, verdicts, page, and what is refused."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import attentest
from attentest.errors import InputError
from attentest.files import read_table
from attentest.measures.bleu_bootstrap import bleu_bootstrap
from attentest.measures.intervals import Estimate
from attentest.reports.write import SCHEMA
from attentest.studies import find_study
from attentest.studies.experiments.translation_fixed import TranslationFixed
from attentest.studies.verdict import DEFINITIONS, judge_translation
from attentest.studies.verdict.judge import DOES_NOT_APPLY, NO, UNTESTED, YES
from attentest.translation.scores import bleu_counts
from attentest.trials.of_translation.sentences import FILE, read_sentences
from attentest.trials.of_translation.uniform import TranslationUniform

Command = Callable[..., Any]
HOSTILE = "<script>alert(1)</script>"
WORDS = {"a": "ein", "two": "zwei", "dogs": "hunde", "cats": "katzen", "run": "rennen", HOSTILE: HOSTILE}
SIZES: dict[str, Any] = {"dimension": 12, "hidden": 12, "batch_tokens": 300, "lr": 0.01, "epochs": 2}


def pairs(rows: int = 150) -> dict[str, list[str]]:
    draw = np.random.default_rng(0)
    chosen = [list(draw.choice(list(WORDS), draw.integers(3, 7))) for _ in range(rows)]
    return {"en": [" ".join(words) for words in chosen], "de": [" ".join(WORDS[w] for w in words) for words in chosen]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = attentest.load(pairs(), text="en", target="de", name="toy")
    folder = tmp_path_factory.mktemp("runs") / "mt"
    attentest.train_translation(corpus, folder, model="transformer", heads=2, layers=1, wide=16, **SIZES)
    return folder


@pytest.fixture(scope="module")
def audited(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> attentest.audits.Audit:
    folder = tmp_path_factory.mktemp("audits")
    return attentest.audit(trained, folder / "audit", texts=30, store=folder / "store", workers=1)


def test_an_audit_has_every_trial_that_applies_and_says_of_the_others_that_they_do_not(
    audited: attentest.audits.Audit,
) -> None:
    assert not audited.failed
    assert audited.answer("used") in (YES, NO, "unclear")
    assert audited.answer("needed") == UNTESTED
    assert {audited.answer(name) for name in DEFINITIONS if name not in ("used", "needed")} == {DOES_NOT_APPLY}
    (block,) = audited.report.blocks
    names = [section.name for section in block.sections]
    assert names == [
        *("translation-uniform", "translation-permutation", "translation-removal"),
        *("translation-layers", "translation-words"),
    ]
    assert all(section.figures for section in block.sections)
    content = json.loads((audited.folder / "verdict.json").read_text(encoding="utf-8"))
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(content)


def test_the_page_shows_sentences_and_escapes_them(audited: attentest.audits.Audit) -> None:
    page = audited.page.read_text(encoding="utf-8")
    assert "Sentences and their weights" in page
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    (block,) = audited.report.blocks
    assert len(block.sentences) == 8
    for sentence in block.sentences:
        assert list(sentence.translations) == ["own", "uniform", "random", "permuted", "dropped"]
        for rows in sentence.weights.values():
            assert np.sum(rows, -1) == pytest.approx(1, abs=1e-3 * len(sentence.source_tokens))  # four digits of each


def test_the_model_lies_beside_its_findings_and_the_page_is_made_again(
    audited: attentest.audits.Audit, trained: Path, command: Command
) -> None:
    kept = attentest.open_translation(audited.folder / "model")
    assert kept.metrics == attentest.open_translation(trained).metrics
    before = audited.page.read_bytes()
    assert command("report", audited.folder).code == 0
    assert audited.page.read_bytes() == before


def test_sentences_that_do_not_fit_their_weights_are_refused(audited: attentest.audits.Audit, tmp_path: Path) -> None:
    (block,) = audited.report.blocks
    assert block.about is not None
    assert block.about.instances is not None
    content = json.loads((audited.folder / block.about.instances).read_text(encoding="utf-8"))
    content["sentences"][0]["target_tokens"].append("more")
    (tmp_path / FILE).write_text(json.dumps(content), encoding="utf-8")
    (sentence, *_) = read_sentences(tmp_path / FILE).sentences
    with pytest.raises(InputError, match="damaged"):
        sentence.grid()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rows", "500"], "rows"),
        (["--no-controls"], "controls"),
        (["--model", "somewhere"], "model"),
        (["--epochs", "3"], "epochs"),
        (["--budget", "huge"], "budget"),
        (["--texts", "0"], "texts"),
    ],
)
def test_options_of_other_models_are_refused(
    trained: Path, arguments: list[str], said: str, tmp_path: Path, command: Command
) -> None:
    answer = command("audit", trained, "--out", tmp_path / "a", "--store", tmp_path / "s", *arguments)
    assert answer.code == 2
    assert said in answer.err


def test_a_corpus_of_translations_is_to_be_trained_on_first(tmp_path: Path) -> None:
    corpus = attentest.load(pairs(), text="en", target="de", name="toy")
    with pytest.raises(InputError, match="train a model on it"):
        attentest.audit(corpus, tmp_path / "audit", store=tmp_path / "store")


def test_verdicts_by_hand() -> None:
    uniform = (TranslationUniform.kind, TranslationUniform.name)
    fixed = (TranslationFixed.kind, TranslationFixed.name)

    def answers(steps: float, lost: float) -> dict[str, str]:
        summaries = {
            uniform: {TranslationUniform.keys["steps"]: Estimate(steps, steps - 0.01, steps + 0.01, 100)},
            fixed: {TranslationFixed.keys["change"]: Estimate(-lost, -lost - 0.5, -lost + 0.5, 100)},
        }
        return {verdict.definition.name: verdict.answer for verdict in judge_translation(summaries)}

    assert (answers(0.3, 10)["used"], answers(0.3, 10)["needed"]) == (YES, YES)
    assert (answers(0.02, 0.2)["used"], answers(0.02, 0.2)["needed"]) == (NO, NO)
    assert (answers(0.055, 1.2)["used"], answers(0.055, 1.2)["needed"]) == ("unclear", "unclear")


STUDY = """
name: both
paper: vashishth2019
corpora: [{source}]
columns: {{text: en, target: de, name: multi30k_en_de}}
models:
  - {{encoder: average}}
  - {{model: bahdanau}}
training_on:
  {source}: {{dimension: 12, hidden: 12, batch_tokens: 300, lr: 0.01, epochs: 1}}
trials: [uniform, translation-uniform]
experiments: [uniform, translation-fixed]
texts: 30
"""


def test_a_study_sets_translations_beside_the_published_ones(tmp_path: Path, command: Command) -> None:
    source = tmp_path / "toy.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("en", "de"), *zip(*pairs().values(), strict=True)])
    written = tmp_path / "both.yaml"
    written.write_text(STUDY.format(source=source), encoding="utf-8")
    found = attentest.study(str(written), tmp_path / "study", store=tmp_path / "store", workers=1)
    assert not found.outcome.failed
    rows = read_table(tmp_path / "study" / "beside_published.parquet").to_pylist()
    ours = {(row["variant"], row["measure"]): row for row in rows if row["ours"] is not None}
    assert set(ours) == {
        ("base", "bleu"),
        *((f"{kind}, inferred", "delta bleu") for kind in ("uniform", "random", "permuted")),
        *((f"{kind}, trained and inferred", "delta bleu") for kind in ("uniform", "random")),
    }
    assert {row["model"] for row in ours.values()} == {"rnn-translation+additive"}
    assert command("report", tmp_path / "study").code == 0


def test_the_papers_directions_for_translation_are_all_tested_and_no_others_are_told(tmp_path: Path) -> None:
    source = tmp_path / "toy.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("en", "de"), *zip(*pairs().values(), strict=True)])
    paper = find_study("vashishth2019")
    study = replace(
        paper,
        corpora=(str(source),),
        columns={"text": "en", "target": "de", "name": "multi30k_en_de"},
        models=({"model": "bahdanau"}, {"model": "luong", "score": "dot"}, {"model": "transformer", "heads": 2}),
        training={**SIZES, "layers": 1, "wide": 16, "epochs": 1},
        training_on={},
        trials={**paper.trials, "translation-layers": {"kinds": ("permuted",)}},
        budgets={},
        texts=30,
    )
    attentest.study(study, tmp_path / "study", store=tmp_path / "store", workers=1)
    rows = read_table(tmp_path / "study" / "directions.parquet").to_pylist()
    claimed = [direction.says for direction in paper.directions if direction.task == "generation"]
    assert [row["says"] for row in rows] == claimed
    assert len(claimed) == 14
    told = {row["says"] for row in rows if row["replicated"] != "not tested"}
    # a model that has hardly learned has no step with a weight of 0.75
    assert [says for says in claimed if says not in told and "0.75" not in says] == []
    theirs = {row["says"]: row["theirs"] for row in rows if row["source"] == "Table 3"}
    assert theirs[claimed[0]] == pytest.approx(29.4 - 10)  # Table 3: uniform weights at inference cost 29.4
    assert not any(math.isnan(number) for number in theirs.values())


def test_the_experiment_takes_the_paired_difference(tmp_path: Path) -> None:
    corpus = attentest.load(pairs(), text="en", target="de", name="toy")
    runs = {
        "base": attentest.train_translation(corpus, tmp_path / "base", **SIZES),
        "uniform": attentest.train_translation(corpus, tmp_path / "uniform", fixed="uniform", **SIZES),
    }
    result = TranslationFixed(weights=("uniform",)).conclude(runs, {})
    counts = {
        label: bleu_counts(
            run.translations["translation"].to_pylist(), run.translations["reference"].to_pylist(), lower=True
        )
        for label, run in runs.items()
    }
    wanted = bleu_bootstrap(counts["base"], {"uniform": counts["uniform"]})
    assert result.conclusion.summary["BLEU, uniform − base"] == wanted.differences["uniform"]
    assert result.conclusion.summary["BLEU, base"].value == pytest.approx(runs["base"].metrics["bleu"])
    assert result.conclusion.summary["BLEU, uniform"].value == pytest.approx(runs["uniform"].metrics["bleu"])


def test_a_study_without_translation_models_says_what_to_name(tmp_path: Path) -> None:
    source = tmp_path / "toy.csv"
    source.write_text("en,de\n" + "a dog,ein hund\n" * 60, encoding="utf-8")
    written = tmp_path / "mine.yaml"
    written.write_text(f"corpora: [{source}]\ncolumns: {{text: en, target: de}}\ntrials: [uniform]\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"models: \[\{model: bahdanau\}\]"):
        attentest.study(str(written), tmp_path / "study", store=tmp_path / "store")
    written.write_text(
        f"corpora: [{source}]\ncolumns: {{text: en, target: de}}\nmodels: [{{model: luong}}]\ntrials: [uniform]\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match=r"trials: \[translation-uniform\]"):
        attentest.study(str(written), tmp_path / "study", store=tmp_path / "store")
