"""Options that say from where a pretrained encoder is looked at, as a user gives them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from program import Answer, Program

import attentest
from attentest.models.pretrained.view import View
from attentest.trials import TRIALS


@pytest.fixture
def own_encoder(encoder_run: attentest.Run, tmp_path: Path) -> Path:
    """A copy to write into."""
    return Path(shutil.copytree(encoder_run.path, tmp_path / "encoder"))


def refused(answer: Answer, said: str) -> None:
    """One line, and no more."""
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("attentest: ")
    assert answer.err.count("\n") == 1
    assert said in answer.err


def test_show_by_rollout_is_what_the_library_shows(command: Program, encoder_run: attentest.Run) -> None:
    answer = command("show", encoder_run.path, "-n", 3, "--weights", "rollout", "--json")
    assert answer.code == 0, answer
    expected = encoder_run.seen(View(weights="rollout")).heatmaps(3)
    assert json.loads(answer.out) == json.loads(json.dumps([one.as_dict() for one in expected]))
    usual = json.loads(command("show", encoder_run.path, "-n", 3, "--json").out)
    assert [one["tokens"] for one in usual] == [one["tokens"] for one in json.loads(answer.out)]
    assert [one["weights"] for one in usual] != [one["weights"] for one in json.loads(answer.out)]


def test_show_a_text_of_your_own_by_one_head_of_a_layer(command: Program, encoder_run: attentest.Run) -> None:
    given = ["show", encoder_run.path, "--text", "the film was goodly"]
    answer = command(*given, "--site", "encoder.0", "--head", 1)
    assert answer.code == 0, answer
    assert "goodly" in answer.out
    assert command(*given, "--site", "encoder.0", "--head", 1, "--weights", "rollout").code == 0
    heads = [command(*given, "--site", "encoder.0", "--head", head, "--json").out for head in (0, 1)]
    assert heads[0] != heads[1]


@pytest.mark.parametrize("name", ["row", "layers", "rollout", "norms", "gradient"])
def test_every_kind_of_weights_is_ranked_by_a_trial(command: Program, name: str, own_encoder: Path) -> None:
    answer = command("trial", "erasure", own_encoder, "--texts", 4, "--weights", name)
    assert answer.code == 0, answer
    assert (own_encoder / "trials" / f"erasure-{name}" / "finding.json").is_file()
    assert not (own_encoder / "trials" / "erasure").exists()


def test_all_trials_of_a_view_are_those_that_it_changes(
    command: Program, own_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = {name: place for name, place in TRIALS.items() if name in ("uniform", "layers", "unidentified")}
    monkeypatch.setattr("attentest.trials.TRIALS", some)
    answer = command("trial", "all", own_encoder, "--texts", 4, "--special")
    assert answer.code == 0, answer
    assert [one.name for one in (own_encoder / "trials").iterdir()] == ["uniform-special"]
    assert command("trial", "all", own_encoder, "--texts", 4).code == 0
    assert {one.name for one in (own_encoder / "trials").iterdir()} == {"uniform-special", *some}


@pytest.mark.parametrize("option", [["--head", 0], ["--weights", "rollout"], ["--special"]])
def test_a_model_that_is_no_encoder_refuses_the_options(
    command: Program, run: attentest.Run, option: list[object]
) -> None:
    refused(command("trial", "uniform", run.path, *option), "is no pretrained encoder")
    if option != ["--special"]:
        refused(command("show", run.path, *option), "is no pretrained encoder")
        refused(command("show", run.path, "--site", "encoder.0"), "is no pretrained encoder")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--head", 2], "head is 2; the heads of this model are 0 to 1"),
        (["--head", -1], "head is -1"),
        (["--site", "encoder.2"], "encoder.2"),
        (["--site", "token"], "token"),
        (["--weights", "rolout"], "'rollout'"),
        (["--weights", ""], "kind of weights"),
    ],
)
def test_what_is_not_there_is_refused(
    command: Program, option: list[object], said: str, encoder_run: attentest.Run
) -> None:
    refused(command("show", encoder_run.path, *option), said)
    refused(command("trial", "uniform", encoder_run.path, *option), said)


def test_trials_of_all_layers_refuse_a_view(command: Program, encoder_run: attentest.Run) -> None:
    refused(command("trial", "layers", encoder_run.path, "--head", 0), "leave out --head, --weights and --special")


def test_little_memory_suffices_for_one_text_at_a_time(command: Program, own_encoder: Path) -> None:
    given = ["trial", "uniform", own_encoder, "--texts", 6, "--json"]
    usual, little = command(*given), command(*given, "--memory", "1KB")
    assert (usual.code, little.code) == (0, 0), little
    figures = [json.loads(answer.out)["summary"] for answer in (usual, little)]
    assert figures[0].keys() == figures[1].keys()
    for name, figure in figures[0].items():
        assert figures[1][name]["value"] == pytest.approx(figure["value"], abs=1e-4, nan_ok=True), name


@pytest.mark.parametrize("size", ["nonsense", "0", "-1GB", ""])
def test_memory_that_is_no_size_is_refused(command: Program, size: str, encoder_run: attentest.Run) -> None:
    answer = command("trial", "uniform", encoder_run.path, f"--memory={size}")
    refused(answer, "is not a size; write it as 500MB or 2GB")
