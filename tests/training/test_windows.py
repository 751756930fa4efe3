"""Long texts that a pretrained encoder reads in windows: what a run stores, says and puts on trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from program import Program
from tiny_encoders import BAD, GOOD, OTHERS, save_classifier, save_encoder

import attentest
from attentest.models.pretrained.view import View
from attentest.studies.audit import plan_audit
from attentest.studies.examined import Finished
from attentest.text.settings import TextSettings
from attentest.training.predict import predict
from attentest.training.take import take_pretrained
from attentest.training.windows import by_text
from attentest.trials.instances import instances
from attentest.trials.subject import subject_of

EXACT = 1e-5  # sums in float32, taken in another order
WINDOW = 30  # pieces: the tiny networks have 32 positions, two of which are special tokens
STRIDE = 6


def rows(count: int = 60, pairs: bool = False) -> dict[str, list[Any]]:
    """Every third text is longer than a window; the word that decides stands somewhere in it."""
    draw = np.random.default_rng(0)
    found: dict[str, list[Any]] = {name: [] for name in ("text", "label", "rationale", *(["second"] if pairs else []))}
    for i in range(count):
        words = draw.choice(OTHERS, 40 + i if i % 3 == 0 else 8).tolist()
        words.insert(int(draw.integers(len(words))), (GOOD if i % 2 else BAD)[i % 3])
        found["text"].append(" ".join(words))
        found["label"].append("good" if i % 2 else "bad")
        found["rationale"].append([int(word in (*GOOD, *BAD)) for word in words])
        if pairs:
            found["second"].append("a story of it" if i % 3 else "that actor was good with it and the plot")
    return found


def corpus(pairs: bool = False) -> attentest.Corpus:
    made = rows(pairs=pairs)
    return attentest.load(made, name="long", rationale="rationale", second="second" if pairs else None)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("windows")


@pytest.fixture(scope="module")
def run(folders: Path) -> attentest.Run:
    """For reading only."""
    base = save_encoder(folders / "base")
    return attentest.finetune(corpus(), base, folders / "run", epochs=1, lr=1e-3, long="windows", stride=STRIDE)


@pytest.fixture(scope="module")
def pairs(folders: Path) -> attentest.Run:
    """For reading only."""
    text = TextSettings(long="windows", stride=STRIDE)
    return attentest.open_run(
        take_pretrained(corpus(pairs=True), save_classifier(folders / "c"), folders / "p", text=text).path
    )


def by_hand(run: attentest.Run, text: str, second: str | None = None) -> list[list[float]]:
    """The network on each window's ids, one at a time."""
    model: Any = run.model
    ids, other = (run.vocabulary.ids(run.tokenizer.tokens(one)).tolist() for one in (text, second or ""))
    size = WINDOW - (len(other) + 1 if second else 0)
    step = size - STRIDE
    starts = sorted(
        {min(k * step, max(0, len(ids) - size)) for k in range(len(ids)) if not k or k * step + STRIDE < len(ids)}
    )
    found = []
    for start in starts:
        whole = [2, *ids[start : start + size], 3, *([*other, 3] if second else [])]
        inputs = {"input_ids": torch.tensor([whole]), "attention_mask": torch.ones(1, len(whole), dtype=torch.long)}
        if model.layout.typed:
            in_second = len(other) + 1 if second else 0
            inputs["token_type_ids"] = torch.tensor([[0] * (len(whole) - in_second) + [1] * in_second])
        with torch.no_grad():
            found.append(model.network(**inputs).logits.softmax(-1)[0].tolist())
    return found


def test_a_text_is_judged_by_the_mean_of_its_windows(run: attentest.Run) -> None:
    several = 0
    for row in run.predictions.to_pylist():
        windows = by_hand(run, row["text"])
        several += len(windows) > 1
        assert row["probability"] == pytest.approx(np.mean(windows, 0).tolist(), abs=EXACT)
    assert several >= 3
    assert run.predictions["id"].to_pylist() == sorted(set(run.predictions["id"].to_pylist()), key=int)


def test_windows_of_pairs_have_the_second_text_in_each(pairs: attentest.Run) -> None:
    counts = set()
    for row in pairs.predictions.to_pylist():
        windows = by_hand(pairs, row["text"], row["second"])
        counts.add(len(windows))
        assert row["probability"] == pytest.approx(np.mean(windows, 0).tolist(), abs=EXACT)
    assert len(counts) > 2


def test_scores_are_those_of_texts_and_that_of_windows_is_told(run: attentest.Run) -> None:
    table = run.predictions.to_pylist()
    assert run.metrics["accuracy"] == np.mean([row["label"] == row["predicted"] for row in table])
    windows = [(by_hand(run, row["text"]), row["label"]) for row in table]
    right = [run.classes[int(np.argmax(one))] == label for found, label in windows for one in found]
    assert run.metrics["window accuracy"] == pytest.approx(np.mean(right))
    assert run.dev["window accuracy"] >= 0
    assert any("windows of 30 word pieces, of which neighbours share 6" in note for note in run.notes)


def test_weights_are_of_the_whole_text_and_sum_to_1(run: attentest.Run) -> None:
    texts = run.predictions["text"].to_pylist()
    for text, row in zip(texts, run.attention.to_pylist(), strict=True):
        assert row["token"] == run.tokenizer.tokens(text)
        assert [text[a:b] for a, b in zip(row["start"], row["end"], strict=True)] == row["token"]
        assert sum(row["weight"]) == pytest.approx(1, abs=1e-5)
        assert min(row["weight"]) > 0
        marked = [token for token, mark in zip(row["token"], row["rationale"], strict=True) if mark]
        assert set(marked) <= {*GOOD, *BAD}
        assert marked


@pytest.mark.parametrize("kind", ["run", "pairs"])
def test_a_stored_run_reads_and_predicts_the_same(kind: str, request: pytest.FixtureRequest) -> None:
    given: attentest.Run = request.getfixturevalue(kind)
    opened = attentest.open_run(given.path)
    assert (opened.text_settings.long, opened.text_settings.stride) == ("windows", STRIDE)
    data = opened.test_data()
    assert data.has_windows
    found = by_text(data, predict(opened.model, data, np.arange(len(data.rows))))
    assert found.probabilities == pytest.approx(np.array(given.predictions["probability"].to_pylist()), abs=EXACT)
    assert [len(own) for own in found.weights] == [len(own) for own in given.attention["weight"].to_pylist()]
    for own, stored in zip(found.weights, given.attention["weight"].to_pylist(), strict=True):
        assert own == pytest.approx(np.array(stored), abs=EXACT)


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("kind", ["run", "pairs"])
def test_marks_of_the_reason_stay_with_their_words(kind: str, special: bool, request: pytest.FixtureRequest) -> None:
    given: attentest.Run = request.getfixturevalue(kind)
    data = given.seen(View(special=True)).test_data() if special else given.test_data()
    assert data.rationale is not None
    marked = [data.vocabulary.tokens[i] for i in data.sequences.ids[data.rationale > 0]]
    assert set(marked) <= {*GOOD, *BAD}
    assert len(marked) >= len(np.unique(data.rows))


def test_trials_examine_one_window_of_each_text(run: attentest.Run) -> None:
    finding = run.trial("uniform")
    ids = finding.table["id"].to_pylist()
    texts = run.predictions["id"].to_pylist()
    assert [name.partition("#")[0] for name in ids] == texts
    assert sum("#" in name for name in ids) >= 3
    assert finding.summary["accuracy"].n == len(texts)
    assert run.trial("permutation", permutations=2).table["id"].to_pylist() == ids
    few = run.trial("uniform", texts=5).table["id"].to_pylist()
    assert len(few) == 5
    assert set(few) <= set(ids)


def test_a_window_with_the_reason_is_chosen_where_reasons_are_asked_about(run: attentest.Run) -> None:
    subject = subject_of(run, only_marked=True)
    assert len(subject.rows) == run.predictions.num_rows
    marks = subject.data.rationale
    assert marks is not None
    offsets = subject.data.sequences.offsets
    assert all(marks[offsets[row] : offsets[row + 1]].any() for row in subject.rows)


def test_heat_maps_of_a_page_are_of_the_windows_on_trial(run: attentest.Run) -> None:
    subject = subject_of(run)
    found = instances(subject).to_pylist()
    assert list(dict.fromkeys(row["id"] for row in found)) == subject.ids(subject.rows)
    for row in found:
        words = [row["text"][a:b] for a, b in zip(row["start"], row["end"], strict=True)]
        assert len(words) <= WINDOW
        assert words == row["text"].split()[row["text"][: row["start"][0]].count(" ") :][: len(words)]


def text_of(length: int) -> str:
    return " ".join(OTHERS[i % len(OTHERS)] for i in range(length))


def test_your_own_long_text_is_shown_in_all_windows(run: attentest.Run) -> None:
    text = text_of(70)
    windows = by_hand(run, text)
    assert len(windows) == 3  # 0 to 30, 24 to 54, 40 to 70
    whole, *each = run.attend(text, windows=True)
    assert [one.id for one in each] == ["1#1", "1#2", "1#3"]
    assert whole.probabilities == pytest.approx(np.mean(windows, 0).tolist(), abs=EXACT)
    assert [one.probabilities for one in each] == [pytest.approx(window, abs=EXACT) for window in windows]
    assert whole.words == text.split()
    assert [one.words for one in each] == [text.split()[a:b] for a, b in ((0, 30), (24, 54), (40, 70))]
    assert sum(whole.weights) == pytest.approx(1, abs=1e-5)
    assert whole.weights[0] == pytest.approx(each[0].weights[0] / 3, abs=1e-6)
    assert whole.weights[25] == pytest.approx((each[0].weights[25] + each[1].weights[1]) / 3, abs=1e-6)
    assert (whole.shown, each[1].shown) == ("weight, mean of 3 windows", "weight, window 2 of 3")
    assert [one.id for one in run.attend([text, "the film"])] == ["1", "2"]
    many = run.probabilities([text, "the film", text_of(31)])
    assert many[0] == pytest.approx(np.mean(windows, 0), abs=EXACT)
    assert many[1] == pytest.approx(by_hand(run, "the film")[0], abs=EXACT)
    assert many[2] == pytest.approx(np.mean(by_hand(run, text_of(31)), 0), abs=EXACT)


def test_test_texts_are_shown_whole_also_from_another_layer(run: attentest.Run) -> None:
    long = [row["id"] for row in run.predictions.to_pylist() if len(row["text"].split()) > WINDOW][:1]
    (usual,) = run.heatmaps(ids=long)
    assert usual.words == usual.text.split()
    assert usual.shown.endswith("windows")
    (lower,) = run.seen(View(site="encoder.0")).heatmaps(ids=long)
    assert lower.words == usual.words
    assert lower.probabilities == pytest.approx(usual.probabilities, abs=EXACT)


def test_a_text_that_is_cut_is_told_where_it_is_shown(folders: Path, command: Program) -> None:
    cut = take_pretrained(corpus(), save_classifier(folders / "cutter"), folders / "cut")
    assert any(note.startswith("Cut 20 of 60 texts to 30 word pieces") for note in cut.notes)
    answer = command("show", cut.path, "--text", text_of(41), "--text", "the film")
    assert "weight, 30 of 41 tokens read" in answer.out
    assert answer.out.count("tokens read") == 1
    long = next(row["id"] for row in cut.predictions.to_pylist() if len(row["text"].split()) > WINDOW)
    assert "tokens read" in command("show", cut.path, "--id", long).out
    told = command("trial", "uniform", cut.path)
    assert told.code == 0
    assert "texts to 30 word pieces" in " ".join((told.out + told.err).split())


def test_the_commands_take_windows(run: attentest.Run, command: Program) -> None:
    answer = command("show", run.path, "--text", text_of(70))
    assert answer.code == 0
    assert [f"1#{n}" in answer.out for n in (1, 2, 3, 4)] == [True, True, True, False]
    told = command("trial", "uniform", run.path, "--texts", "6")
    assert told.code == 0
    assert "one window of each text" in " ".join((told.out + told.err).split())


def write(path: Path) -> Path:
    made = rows()
    lines = [f"{text},{label}" for text, label in zip(made["text"], made["label"], strict=True)]
    path.write_text("\n".join(["body,stars", *lines]), encoding="utf-8")
    return path


REFUSED: Mapping[str, tuple[list[str], str]] = {
    "too long": (["--long", "windows", "--stride", "30"], "stride is 30; it must be below 30"),
    "negative": (["--long", "windows", "--stride", "-1"], "stride is -1"),
    "without windows": (["--stride", "3"], "--long windows"),
}


@pytest.mark.parametrize("given", REFUSED)
@pytest.mark.parametrize("what", ["finetune", "audit"])
def test_strides_that_mean_nothing_are_refused(given: str, what: str, folders: Path, command: Program) -> None:
    options, said = REFUSED[given]
    model = save_classifier(folders / "refusing") if what == "audit" else save_encoder(folders / "bare")
    source = write(folders / "long.csv")
    out = folders / f"{what} {given}"
    way = ["--model" if what == "audit" else "--base", model]
    answer = command(what, source, "--text", "body", "--label", "stars", *way, "--out", out, *options)
    assert answer.code == 2, answer
    assert said in " ".join(answer.err.split())
    assert not (out / "run.json").exists()


def test_models_of_our_own_have_no_windows(folders: Path, command: Program) -> None:
    source = write(folders / "ours.csv")
    answer = command(
        *("train", source, "--text", "body", "--label", "stars", "--long", "windows", "--out", folders / "ours")
    )
    assert answer.code == 2
    assert "pretrained encoders" in answer.err
    assert not (folders / "ours").exists()


def test_an_audit_of_a_finished_model_reads_as_it_was_told(folders: Path) -> None:
    source, model = write(folders / "told.csv"), save_classifier(folders / "told")
    given = {"long": "windows", "stride": STRIDE, "max_tokens": 20}
    planned = plan_audit(
        str(source), columns={"text": "body", "label": "stars"}, model=Finished(source=str(model)), training=given
    )
    (taken,) = [step for step in planned.plan if step.name.startswith("take ")]
    assert taken.settings["text"] == given
    other = plan_audit(str(source), columns={"text": "body", "label": "stars"}, model=Finished(source=str(model)))
    (usual,) = [step for step in other.plan if step.name.startswith("take ")]
    assert usual.key != taken.key
    base = save_encoder(folders / "to tune")
    audited = plan_audit(
        str(source),
        columns={"text": "body", "label": "stars"},
        training={"pretrained": str(base), "long": "windows", "stride": STRIDE},
    )
    (baseline,) = [step for step in audited.plan if step.name.startswith("baseline ")]
    assert (baseline.settings["text"]["long"], baseline.settings["text"]["stride"]) == ("cut", 0)
    assert baseline.settings["text"]["max_tokens"] == 10_000_000
