"""attentest train and translate, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_translators import toy_pairs

Command = Callable[..., Any]
SIZE = ("--hidden", 16, "--dimension", 8, "--epochs", 1, "--batch-tokens", 200, "--select-by", "loss")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pairs = toy_pairs(40)
    for place, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("".join(f"{pair[place]}\n" for pair in pairs), encoding="utf-8")
    return tmp_path / "a.en", tmp_path / "a.de"


def test_train_and_translate(command: Command, files: tuple[Path, Path], tmp_path: Path) -> None:
    source, target = files
    run = tmp_path / "mt"
    answer = command("train", source, "--target", target, "--model", "luong", "--out", run, *SIZE)
    assert answer.code == 0, answer.err
    assert "bleu" in answer.out
    assert "tok:13a" in answer.out
    said = command("translate", run, "--text", "two dogs run", "--text", "a cat", "--weights", "uniform", "--beam", 2)
    assert said.code == 0, said.err
    assert len(said.out.splitlines()) == 2

    lines = tmp_path / "in.txt"
    lines.write_text("two dogs run\n\na cat\n", encoding="utf-8")
    out = tmp_path / "out.txt"
    assert command("translate", run, "--file", lines, "--out", out).code == 0
    written = out.read_text(encoding="utf-8").splitlines()
    assert len(written) == 3
    assert written[1] == ""

    kept = tmp_path / "weights.json"
    found = command("translate", run, "--text", "two dogs run", "--weights", "random", "--json")
    kept.write_text(found.out, encoding="utf-8")
    again = command("translate", run, "--text", "two dogs run", "--weights", "given", "--given", kept, "--json")
    (first,), (second,) = (json.loads(one.out)["translations"] for one in (found, again))
    assert first["translation"] == second["translation"]
    assert second["score"] == pytest.approx(first["score"], abs=1e-5)  # float32 through JSON

    scored = command("translate", run, "--test", "--json")
    assert set(json.loads(scored.out)["scores"]) == {"bleu", "chrf"}
    lines.write_text("two dogs run\n\n犬 猫\n", encoding="utf-16")
    told = json.loads(command("translate", run, "--file", lines, "--encoding", "utf-16", "--json").out)
    assert [one["line"] for one in told["translations"]] == [1, 3]
    assert any("1 of 3 lines are empty" in note for note in told["notes"])
    assert any("no token that the model knows" in note for note in told["notes"])

    for arguments, message in (
        (("translate", run), "in one way: --text, --file or --test"),
        (("translate", run, "--text", "a", "--weights", "unifrom"), "did you mean 'uniform'"),
        (("translate", run, "--text", "a", "--site", "cross"), "--site and --head say where"),
        (("translate", run, "--text", " "), "All texts are empty"),
        (("translate", run, "--file", lines), "--encoding utf-16"),
        (("translate", run, "--file", source, "--out", source), "is an input; choose another file as --out"),
        (("translate", run, "--file", tmp_path), "is a folder; expected a file of lines"),
        (("train", source, "--target", target, "--score", "dot"), "--score is for the model luong, and this one is"),
        (("translate", run, "--file", lines, "--reference", out, "--beam", 0), "beam is 0"),
        (("translate", run, "--text", "a", "--given", kept), "--given goes with --weights given"),
        (("translate", tmp_path, "--text", "a"), "not the folder of a translation run"),
        (("show", run, "--text", "a dog", "--wrong"), "--wrong is for models of texts with labels"),
        (("trial", "conicity", run), "does not apply to a translation run"),
        (("audit", run, "--rows", 40), "for the translation run"),
        (("report", run), "is a translation run"),
        (("train", source, "--target", target, "--encoder", "cnn"), "--encoder is for models of texts with labels"),
        (("train", "planted", "--rows", 40, "--model", "luong"), "--model is for translation models"),
        (("train", source, "--target", lines), "40 lines and"),
    ):
        refused = command(*arguments)
        assert refused.code == 2, arguments
        assert message in refused.err, refused.err
