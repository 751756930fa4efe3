"""A model that somebody else fine-tuned is audited as it is; one of our own is compared with others of its kind."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from program import Program
from test_engine import Here
from tiny_encoders import corpus, rows, save_classifier, save_encoder

import attentest
from attentest.audits import Audit, plan, run_audit
from attentest.engine import Store
from attentest.studies.audit import BUDGETS, Budget, plan_audit
from attentest.studies.examined import Finished
from attentest.studies.results import read_summary
from attentest.training.take import take_pretrained

SMALL = Budget(
    "as small as it can be",
    rows=None,
    tokens=None,
    texts=12,
    training={},
    trials={"adversary": {"k": 2}, "permutation": {"permutations": 3}, "information": {"runs": 2, "clusters": 5}},
    experiments={
        "uniform": {"weights": ["uniform"]},
        "seeds": {"seeds": 1},
        "adversary": {"lambdas": [0.01], "epochs": 1, "seeds": 1, "far": 0.0, "from_base": True},
        "frozen": {"epochs": 1},
        "controls": {"texts": 20, "epochs": 1},
    },
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(BUDGETS, "small", SMALL)
    return "small"


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For reading only."""
    return save_classifier(tmp_path_factory.mktemp("models") / "theirs")


def write_reviews(path: Path, count: int = 60, split: bool = False) -> Path:
    texts = rows(count)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "stars", *(["part"] if split else [])])
        for i, (text, label) in enumerate(zip(texts["text"], texts["label"], strict=True)):
            writer.writerow([text, label, *([("train", "dev", "test")[i % 3]] if split else [])])
    return path


COLUMNS: dict[str, Any] = {"text": "body", "label": "stars"}


def audited(source: Path, model: Finished, tmp_path: Path, budget: str, **columns: Any) -> Audit:
    planned = plan_audit(str(source), budget, columns={**COLUMNS, **columns}, model=model)
    return run_audit(planned, tmp_path / "audit", Here, Store(tmp_path / "store"))


@pytest.mark.slow
def test_a_finished_model_is_audited_on_every_row(classifier: Path, small: str, tmp_path: Path) -> None:
    made = audited(write_reviews(tmp_path / "reviews.csv"), Finished(source=str(classifier)), tmp_path, small)
    assert made.failed == {}
    summary = read_summary(made.folder)
    for name in SMALL.experiments:
        assert any(f"experiment {name} was left out: one finished model was given" in note for note in summary.notes)
    page = (made.folder / "report.html").read_text(encoding="utf-8")
    assert "one finished model was given" in page
    assert "all 60 rows are tested on" in page
    run = attentest.open_run(made.folder)
    assert run.predictions.num_rows == 60
    assert len(run.attend("the film was good")) == 1


@pytest.mark.slow
def test_a_finished_model_reads_long_texts_in_windows(classifier: Path, small: str, tmp_path: Path) -> None:
    texts = rows(60)
    long = [" ".join([text] * (1 + i % 4)) for i, text in enumerate(texts["text"])]
    source = tmp_path / "reviews.csv"
    lines = [f"{text},{label}" for text, label in zip(long, texts["label"], strict=True)]
    source.write_text("\n".join(["body,stars", *lines]), encoding="utf-8")
    made = audited(source, Finished(source=str(classifier), text={"long": "windows", "max_tokens": 9}), tmp_path, small)
    assert made.failed == {}
    summary = read_summary(made.folder)
    (about,) = [about for name, about in summary.blocks.items() if "special" not in name]
    assert about.texts == 60
    assert about.metrics["window accuracy"] is not None
    page = (made.folder / "report.html").read_text(encoding="utf-8")
    assert "windows of 9 word pieces" in page
    assert "one window of each text" in page
    assert "window accuracy" in page
    run = attentest.open_run(made.folder)
    assert run.predictions.num_rows == 60
    assert run.test_data().has_windows


def test_what_a_finished_model_says_is_what_it_says_elsewhere(classifier: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    run = take_pretrained(corpus(40), classifier, tmp_path / "run")
    network = transformers.AutoModelForSequenceClassification.from_pretrained(classifier).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(classifier)
    for row in run.predictions.to_pylist():
        with torch.no_grad():
            logits = network(**tokenizer(row["text"], return_tensors="pt", return_token_type_ids=False)).logits
        assert row["probability"] == pytest.approx(logits.softmax(-1)[0].tolist(), abs=1e-5)


def test_labels_are_mapped_and_taken_in_any_order(tmp_path: Path) -> None:
    named = take_pretrained(corpus(40), save_classifier(tmp_path / "a", labels=("bad", "good")), tmp_path / "1")
    turned = take_pretrained(corpus(40), save_classifier(tmp_path / "b", labels=("Good", "Bad")), tmp_path / "2")
    given = take_pretrained(
        corpus(40), save_classifier(tmp_path / "c", labels=("x", "y")), tmp_path / "3", labels={"x": "good", "y": "bad"}
    )
    said = [run.predictions["probability"].to_pylist() for run in (named, turned, given)]
    assert said[1] == said[2]
    assert [row[::-1] for row in said[0]] == said[1]


def test_a_split_of_its_own_is_respected(classifier: Path, tmp_path: Path, small: str) -> None:
    reviews = write_reviews(tmp_path / "reviews.csv", split=True)
    planned = plan_audit(
        str(reviews), small, columns={**COLUMNS, "split": "part"}, model=Finished(source=str(classifier))
    )
    names = [step.name for step in planned.plan]
    assert any(name.startswith("baseline of") for name in names)
    loaded = attentest.load(reviews, split="part", **COLUMNS)
    assert take_pretrained(loaded, classifier, tmp_path / "run").predictions.num_rows == 20


def test_nothing_is_trained_beside_a_finished_model(classifier: Path, tmp_path: Path, small: str) -> None:
    reviews = write_reviews(tmp_path / "reviews.csv")
    planned = plan_audit(str(reviews), small, columns=COLUMNS, model=Finished(source=str(classifier)))
    assert not [step.name for step in planned.plan if step.name.startswith(("train", "baseline", "experiment"))]


def test_keys_see_what_a_model_is_and_not_where_it_lies(classifier: Path, tmp_path: Path, small: str) -> None:
    reviews = write_reviews(tmp_path / "reviews.csv")

    def keys(folder: Path) -> list[str]:
        finished = plan_audit(str(reviews), small, columns=COLUMNS, model=Finished(source=str(folder)))
        trained = plan_audit(str(reviews), small, columns=COLUMNS, training={"pretrained": str(folder)})
        steps = [*finished.plan, *trained.plan]
        return [step.key for step in steps if step.name.startswith(("take clf", "train "))]

    here = Path(shutil.copytree(classifier, tmp_path / "one" / "clf"))
    there = Path(shutil.copytree(classifier, tmp_path / "two" / "clf"))
    other = save_classifier(tmp_path / "three" / "clf", seed=1)
    assert keys(here) == keys(there) != []
    assert not set(keys(here)) & set(keys(other))


def test_experiments_that_an_encoder_cannot_stand_are_left_out_with_the_reason(
    tmp_path: Path, classifier: Path, small: str
) -> None:
    planned = plan_audit(
        str(write_reviews(tmp_path / "r.csv")), small, columns=COLUMNS, training={"pretrained": str(classifier)}
    )
    assert set(planned.study.experiments) == {"uniform", "seeds", "adversary"}
    assert any("frozen was left out: it trains parts" in note for note in planned.notes)


@pytest.mark.slow
def test_a_fine_tuned_model_is_compared_with_others_of_its_kind(tmp_path: Path, small: str) -> None:
    """T1 (trained with uniform weights), T2 (seeds) and T4 (adversaries)."""
    base = save_encoder(tmp_path / "base")
    reviews = write_reviews(tmp_path / "reviews.csv", 80)
    loaded = attentest.load(reviews, **COLUMNS)
    run = attentest.finetune(loaded, base, tmp_path / "run", epochs=2, lr=5e-3)
    planned = plan_audit(str(reviews), small, columns=COLUMNS, model=run)
    made = run_audit(planned, tmp_path / "audit", Here, Store(tmp_path / "store"))
    assert made.failed == {}
    done = {finding.name for finding in read_summary(made.folder).findings if finding.kind == "experiment"}
    assert done == {"uniform", "seeds", "adversary"}


def test_a_run_whose_encoder_is_gone_says_so(tmp_path: Path, small: str) -> None:
    base = save_encoder(tmp_path / "base")
    reviews = write_reviews(tmp_path / "reviews.csv")
    run = attentest.finetune(attentest.load(reviews, **COLUMNS), base, tmp_path / "run", epochs=1)
    save_encoder(base, seed=1)
    with pytest.raises(attentest.InputError, match=r"not the encoder that .* started from any more"):
        plan_audit(str(reviews), small, columns=COLUMNS, model=run)
    taken = take_pretrained(attentest.load(reviews, **COLUMNS), save_classifier(tmp_path / "c"), tmp_path / "taken")
    with pytest.raises(attentest.InputError, match="was not trained here"):
        plan_audit(str(reviews), small, columns=COLUMNS, model=taken)


def damaged(tmp_path: Path, how: str) -> Path:
    folder = save_classifier(tmp_path / how)
    if how == "pickle":
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    elif how == "tokenizer":
        for file in folder.glob("tokenizer*"):
            file.unlink()
    elif how == "cut":
        weights = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    elif how == "head":
        return save_encoder(tmp_path / "headless")
    elif how == "labels":
        return save_classifier(tmp_path / "stars", labels=("one", "two"))
    elif how == "classes":
        return save_classifier(tmp_path / "many", labels=("bad", "good", "odd"))
    return folder


SAID = {
    "pickle": "safetensors",
    "tokenizer": "tokenizer",
    "cut": "cannot be read",
    "head": "finetune",
    "labels": "labels",
    "classes": "classes",
}


@pytest.mark.parametrize("how", SAID)
def test_models_that_cannot_be_audited_are_refused(how: str, command: Program, tmp_path: Path) -> None:
    reviews = write_reviews(tmp_path / "reviews.csv")
    given = ["audit", reviews, "--text", "body", "--label", "stars", "--model", damaged(tmp_path, how)]
    answer = command(*given, "--out", tmp_path / "audit", "--store", tmp_path / "store")
    assert answer.code == 2, answer
    assert "Traceback" not in answer.err
    assert SAID[how] in answer.err
    assert not (tmp_path / "audit").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--labels", "bad"], "NAME=VALUE"),
        (["--labels", "bad=awful"], "awful"),
        (["--labels", "worse=bad"], "worse"),
        (["-s", "lr=0.1"], "trained already"),
        (["--epochs", "2"], "trained already"),
    ],
)
def test_options_that_do_not_fit_a_finished_model(
    more: list[str], said: str, classifier: Path, command: Program, tmp_path: Path
) -> None:
    reviews = write_reviews(tmp_path / "reviews.csv")
    given = ["audit", reviews, "--text", "body", "--label", "stars", "--model", classifier, "--out", tmp_path / "audit"]
    answer = command(*given, *more)
    assert answer.code == 2, answer
    assert said in answer.err.replace("\n", " ")


def test_a_name_that_cannot_be_fetched_names_the_way_with_a_folder(
    command: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    reviews = write_reviews(tmp_path / "reviews.csv")
    columns = ["--text", "body", "--label", "stars", "--out", tmp_path / "out"]
    for arguments in (["audit", reviews, "--model", "org/model"], ["finetune", reviews, "--base", "org/model"]):
        answer = command(*arguments, *columns)
        assert answer.code == 2, answer
        assert "give the path of its folder" in answer.err.replace("\n", " ")


def test_labels_are_for_a_finished_model(command: Program, tmp_path: Path) -> None:
    answer = command(
        "audit", write_reviews(tmp_path / "r.csv"), "--text", "body", "--label", "stars", "--labels", "a=b"
    )
    assert answer.code == 2
    assert "--labels" in answer.err


def test_a_folder_that_is_no_model(command: Program, tmp_path: Path) -> None:
    reviews = write_reviews(tmp_path / "reviews.csv")
    (tmp_path / "nothing").mkdir()
    answer = command("audit", reviews, "--text", "body", "--label", "stars", "--model", tmp_path / "nothing")
    assert answer.code == 2
    assert "no run.json" in answer.err
    assert "no config.json" in answer.err


def test_a_dry_run_says_what_would_be_done(classifier: Path, command: Program, tmp_path: Path) -> None:
    reviews = write_reviews(tmp_path / "reviews.csv")
    given = ["audit", reviews, "--text", "body", "--label", "stars", "--model", classifier, "--dry-run"]
    answer = command(*given, "--store", tmp_path / "store")
    assert answer.code == 0, answer
    assert "take theirs" in answer.out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--base", "{here}/nowhere/at/all"], "no such folder"),
        (["--base", "{base}", "--freeze-layers", "9"], "2 layers"),
        (["--base", "{base}", "--warmup", "2"], "warmup"),
        (["--base", "{base}", "--lr", "nan"], "lr"),
        (["--base", "{base}", "--projection", "sparsemax"], "softmax or uniform"),
        (["--base", "{here}/reviews.csv"], "is a file"),
        (["--base", "{here}"], "config.json"),
    ],
)
def test_fine_tuning_refuses_what_cannot_be(more: list[str], said: str, command: Program, tmp_path: Path) -> None:
    base = save_encoder(tmp_path / "base")
    reviews = write_reviews(tmp_path / "reviews.csv")
    given = [part.format(here=tmp_path, base=base) for part in more]
    columns = ["--text", "body", "--label", "stars", "--out", tmp_path / "run"]
    answer = command("finetune", reviews, *columns, *given)
    assert answer.code == 2, answer
    assert "Traceback" not in answer.err
    assert said in answer.err.replace("\n", " ")


def test_finetune_is_a_command_and_shows_its_run(command: Program, tmp_path: Path) -> None:
    base = save_encoder(tmp_path / "base")
    columns = ["--text", "body", "--label", "stars", "--out", tmp_path / "run"]
    reviews = write_reviews(tmp_path / "reviews.csv")
    answer = command("finetune", reviews, *columns, "--base", base, "--epochs", 1, "--freeze-layers", 1)
    assert answer.code == 0, answer
    assert "accuracy" in answer.out
    shown = command("show", tmp_path / "run", "--text", "the film was lovely")
    assert shown.code == 0
    assert "lovely" in shown.out


def test_plan_takes_a_hugging_face_folder(classifier: Path, tmp_path: Path) -> None:
    planned = plan(write_reviews(tmp_path / "reviews.csv"), text="body", label="stars", model=classifier)
    assert planned.study.title == "Audit of theirs on reviews"
