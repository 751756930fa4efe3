"""The commands as a user gives them: what they print, write and answer to bad input."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from program import Program

import attentest
from attentest.cli import options, training
from attentest.cli.app import ORDER
from attentest.cli.commands import app
from attentest.cli.corpus_options import CorpusOptions
from attentest.settings import settings_of
from attentest.training.settings import known_settings

TINY = ["--epochs", "1", "--dimension", "8", "--hidden", "4"]


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    rows = [f'"a {word} film, number {i}",{stars}' for i in range(20) for word, stars in (("good", 5), ("bad", 1))]
    file = tmp_path / "reviews.csv"
    file.write_text("\n".join(["body,stars", *rows, '"   ",5', '"no label",']) + "\n")
    return file


def test_train_names_the_column_of_a_second_text(command: Program, reviews: Path, tmp_path: Path) -> None:
    columns = ["--text", "body", "--label", "stars", "--second", "bodies"]
    answer = command("train", reviews, *columns, "--out", tmp_path / "run", *TINY)
    assert answer.code == 2
    assert "no column 'bodies'; its columns are body, stars. Did you mean 'body'? Name the second column" in answer.err


def test_train_and_show_a_csv(command: Program, reviews: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    answer = command("train", reviews, "--text", "body", "--label", "stars", "--out", out, *TINY)
    assert answer.code == 0, answer.err
    assert "test  accuracy" in answer.out
    assert "Dropped 1 of 42 rows with an empty text." in answer.err
    assert "Dropped 1 of 41 rows without a label." in answer.err
    assert attentest.open_run(out).classes == ["1", "5"]

    shown = command("show", out, "--n", 2)
    assert shown.code == 0
    assert shown.out.count("heaviest:") == 2

    page, picture = tmp_path / "deep" / "page.html", tmp_path / "p.svg"
    written = command("show", out, "--html", page, "--svg", picture)
    assert written.code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert picture.read_text(encoding="utf-8").startswith("<svg")

    mine = command("show", out, "--text", "a good one", "--json")
    assert json.loads(mine.out)[0]["tokens"] == ["a", "good", "one"]


def test_a_separator_can_be_named(command: Program, tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    rows = [f"a {word} film {i}^{stars}" for i in range(20) for word, stars in (("good", 5), ("bad", 1))]
    odd.write_text("\n".join(["body^stars", *rows]))
    columns = ["--text", "body", "--label", "stars", "--separator", "^"]
    answer = command("train", odd, *columns, "--out", tmp_path / "run", *TINY)
    assert answer.code == 0, answer.err
    assert attentest.open_run(tmp_path / "run").classes == ["1", "5"]


def test_train_again_says_it_is_finished(command: Program, reviews: Path, tmp_path: Path) -> None:
    arguments = ("train", reviews, "--text", "body", "--label", "stars", "--out", tmp_path / "run", *TINY)
    first, second = command(*arguments), command(*arguments)
    assert second.code == 0
    assert "already has this run" in second.err
    assert first.out == second.out


def test_json_is_one_object(command: Program, tmp_path: Path) -> None:
    answer = command("train", "planted", "--rows", "100", "--out", tmp_path / "r", "--json", *TINY)
    assert answer.err == ""
    found = json.loads(answer.out)
    assert set(found["test"]) == {"accuracy", "f1", "auc"}
    assert found["classes"] == ["class 0", "class 1"]


def test_corpus_options_and_every_model_option(
    command: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", counted.append)
    answer = command(
        "train", "planted", "-o", "difficulty=0.5", "--rows", "60", "--encoder", "transformer",
        "--self-projection", "sparsemax", "--alignment", "deep:1", "--projection", "sparsegen:0.5",
        "--lr", "1e-4", "--attention-lr", "1e-3", "--no-class-weights", "--select-by", "f1", "--freeze-vectors",
        "--keep-case", "--digits", "qqq", "--min-frequency", "2", "--max-tokens", "9", "--long", "cut",
        "--seed", "3", "--threads", "1", "--device", "cpu", "--out", tmp_path / "r", *TINY,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    settings = attentest.open_run(tmp_path / "r").settings
    assert settings["model"] == {
        "encoder": "transformer", "alignment": "deep:1", "projection": "sparsegen:0.5", "hidden": 4,
        "dropout": 0.0, "self_projection": "sparsemax", "structure": "flat", "pairing": "independent",
        "decoder": "context", "pretrained": None,
    }  # fmt: skip
    assert settings["training"]["attention_lr"] == 1e-3
    assert settings["text"]["max_tokens"] == 9
    assert "Cut" in answer.err
    assert counted == [1]


def test_preset_from_another_run(command: Program, tmp_path: Path) -> None:
    common = ("train", "planted", "--rows", "60", *TINY)
    assert command(*common, "--out", tmp_path / "a").code == 0
    guided = ("--encoder", "average", "--projection", "preset", "--preset", tmp_path / "a")
    answer = command(*common, *guided, "--out", tmp_path / "b")
    assert answer.code == 0, answer.err


def test_lists(command: Program) -> None:
    from attentest.corpora import FORMATS, corpus_names
    from attentest.models import ALIGNMENTS, ENCODERS, PROJECTIONS, STRUCTURES

    corpora, models = command("corpora").out, command("models").out
    assert all(name in corpora for name in (*corpus_names(), *FORMATS))
    assert all(name in models for name in (*STRUCTURES, *ENCODERS, *ALIGNMENTS, *PROJECTIONS))
    assert set(json.loads(command("corpora", "--json").out)) == {"corpora", "formats"}


def test_trials_are_listed_and_held(command: Program, own_run: attentest.Run) -> None:
    from attentest.studies.experiments import EXPERIMENTS
    from attentest.trials import TRIALS
    from attentest.trials.of_translation import OF_TRANSLATION

    listed = json.loads(command("trials", "--json").out)
    assert set(listed) == {"trials", "experiments"}
    assert set(listed["trials"]) == {*TRIALS, *OF_TRANSLATION}
    assert set(listed["experiments"]) == set(EXPERIMENTS)
    assert listed["experiments"]["seeds"]["settings"] == {"seeds": 8, "examine": []}
    said = command("trials").out
    names = [*(f"\ntrial: {name}\n" for name in TRIALS), *(f"\nexperiment: {name}\n" for name in EXPERIMENTS)]
    assert all(name in said for name in names)
    found = json.loads(command("trial", "permutation", own_run.path, "-o", "permutations=5", "--json").out)
    assert set(found) >= {"trial", "answer", "summary", "signature", "files"}
    assert found["signature"]["settings"]["permutations"] == 5
    assert all(Path(file).exists() for file in found["files"].values())
    flips = command("trial", "flips", own_run.path, "--texts", "10")
    assert flips.code == 0
    assert "McNemar" in flips.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "nothere.csv"], "there is no such file"),
        (["train", "movie-review"], "did you mean 'movie-reviews'"),
        (["train", "planted", "--encoder", "bilstn"], "did you mean 'bilstm'"),
        (["train", "planted", "-o", "difficulty"], "NAME=VALUE"),
        (["train", "planted", "-o", "rows=60"], "--rows 60"),
        (["train", "planted", "--text", "body"], "has fixed columns"),
        (["train", "planted", "-o", "difficult=1"], "did you mean 'difficulty'"),
        (["train", "planted", "-o", "difficulty=hard"], "expected float"),
        (["train", ".", "--format", "imdb"], "did you mean 'aclimdb'"),
        (["train", "planted", "--threads", "0"], "between 1 and 1024"),
        (["show", "nothere"], "no such run folder"),
        (["trial", "permutation", "nothere"], "no such run folder"),
        (["trial", "permutations", "nothere"], "did you mean 'permutation'"),
        (["trial", "permutation", "nothere", "-o", "permutations"], "NAME=VALUE"),
        (["trial", "all", "nothere", "-o", "seed=1"], "options of one trial"),
        (["train", "planted", "--preset", "nothere"], "no such run folder"),
        (["train"], "Missing argument"),
        (["train", "planted", "--epochs", "many"], "Invalid value"),
        (["fly"], "No such command"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_code_2(
    command: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = command(*arguments)
    assert answer.code == 2
    assert sentence in answer.err
    assert "Traceback" not in answer.err
    assert not list(tmp_path.iterdir())


def test_bad_files(command: Program, tmp_path: Path) -> None:
    def refused(name: str, content: bytes, sentence: str) -> None:
        (tmp_path / name).write_bytes(content)
        answer = command("train", tmp_path / name, "--out", tmp_path / "run", *TINY)
        assert answer.code == 2
        assert sentence in answer.err, answer.err
        assert not (tmp_path / "run").exists()

    refused("a.csv", b"body,stars\nx,1\n", "its columns are body, stars")
    refused("b.csv", b"text,label\n" + b"x,1\n" * 20, "one class only")
    refused("c.csv", b"text,label\nx,1\ny,0\nz,1\n", "3 usable rows")
    refused("d.csv", b"text,label\n" + b"x,\n" * 20, "0 usable rows")
    refused("e.csv", b"text,label\nx,1\ncaf\xe9,0\n", "line 3: not valid utf-8")
    refused("f.jsonl", b'{"text": "x", "label": 1}\n{"text": \n', "line 2: not valid JSON")
    refused("g.parquet", b"PAR1 not really", "cannot be read")
    refused("h.docx", b"", "cannot read '.docx' files")


def test_a_text_of_100_000_tokens_is_cut_and_said(command: Program, tmp_path: Path) -> None:
    rows = ["text,label", f"{'word ' * 100_000},1", *(f"text {i},{i % 2}" for i in range(30))]
    (tmp_path / "long.csv").write_text("\n".join(rows))
    answer = command("train", tmp_path / "long.csv", "--out", tmp_path / "run", *TINY)
    assert answer.code == 0, answer.err
    assert "Cut 1 texts to their first 1,000 tokens (the longest has 100,000)" in answer.err


def test_unwritable_folder(command: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = command("train", "planted", "--rows", "60", "--out", tmp_path / "file" / "run", *TINY)
    assert answer.code == 2
    assert "cannot be made" in answer.err
    assert command("train", "planted", "--rows", "60", "--out", tmp_path / "r", *TINY).code == 0
    answer = command("show", tmp_path / "r", "--html", tmp_path / "file" / "page.html")
    assert answer.code == 2
    assert "cannot be written" in answer.err


def test_the_command_line_gives_the_library_only_what_the_user_gave(command: Program, tmp_path: Path) -> None:
    """So defaults are those of the library, and a corpus's recipe comes between."""
    assert command("train", "planted", "--rows", "60", "--out", tmp_path / "r", *TINY).code == 0
    corpus = attentest.load("planted", rows=60)
    run = attentest.train(corpus, tmp_path / "twin", epochs=1, dimension=8, hidden=4)
    groups = ("corpus", "text", "model", "training")
    assert [attentest.open_run(tmp_path / "r").settings[name] for name in groups] == [
        run.settings[name] for name in groups
    ]


def test_every_setting_and_every_parameter_of_load_is_an_option_of_train() -> None:
    options = inspect.signature(training.train).parameters
    assert set(known_settings()) <= set(options)
    parameters = [p for p in inspect.signature(attentest.load).parameters.values() if p.kind is p.KEYWORD_ONLY]
    defaults = {one.name: one.default for one in settings_of(CorpusOptions)}
    assert set(defaults) <= set(options)
    del defaults["option"]  # takes the rest
    assert {p.name: p.default for p in parameters} == defaults


def test_a_training_that_stands_on_another(command: Program, tmp_path: Path) -> None:
    base, other = str(tmp_path / "base"), str(tmp_path / "other")
    run = ["train", "planted", "-o", "difficulty=0.5", "--rows", "200", *TINY]
    assert command(*run, "--out", base).code == 0
    more = ["--objective", "adversary", "--base", base, "--strength", "0.1", "--start", base, "--take", "encoder"]
    found = command(*run, *more, "--freeze", "encoder", "--out", other)
    assert found.code == 0, found.err
    settings = json.loads((tmp_path / "other" / "run.json").read_text(encoding="utf-8"))
    assert settings["training"]["freeze"] == ["encoder"]
    assert settings["base"] == settings["start"]
    assert settings["base"] is not None


def test_help_names_every_command_without_importing_torch() -> None:
    code = (
        "import sys; sys.argv = ['attentest', '--help']; from attentest import cli\n"
        "try: cli.main()\nexcept SystemExit: print('torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().endswith("False")
    assert all(name in out for name in ORDER)


def test_a_closed_pipe_is_no_error(run: attentest.Run) -> None:
    program = [sys.executable, "-m", "attentest.cli", "show", str(run.path), "-n", "60"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert b"Traceback" not in said


def test_show_two_models_on_one_sentence_and_on_test_texts(command: Program, reviews: Path, tmp_path: Path) -> None:
    columns = ["--text", "body", "--label", "stars"]
    for name in ("a", "b"):
        assert command("train", reviews, *columns, "--out", tmp_path / name, *TINY, "--seed", len(name)).code == 0
    both = (tmp_path / "a", tmp_path / "b")
    found = json.loads(command("show", *both, "--text", "a good unheard one", "--json").out)
    assert [(one["model"], one["text"]) for one in found] == [("a", "a good unheard one"), ("b", "a good unheard one")]
    assert found[0]["unknown"] == [False, False, True, True]
    assert "unknown: unheard, one" in command("show", tmp_path / "a", "--text", "a good unheard one").out
    shown = json.loads(command("show", *both, "-n", 2, "--json").out)
    assert [one["model"] for one in shown] == ["a", "b", "a", "b"]
    assert shown[0]["text"] == shown[1]["text"] != shown[2]["text"]
    assert command("train", "planted", "--rows", "60", "--out", tmp_path / "c", *TINY).code == 0
    other = command("show", tmp_path / "a", tmp_path / "c")
    assert other.code == 2
    assert "No test text has the id" in other.err or "was tested on different texts" in other.err


@pytest.mark.parametrize("module", ["attentest", "attentest.cli"])
def test_the_program_is_a_module_too(module: str) -> None:
    said = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"attentest {attentest.__version__}\n"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("attentest audit x --budget ", ["quick", "standard", "paper"]),
        ("attentest study jain2019 --budget s", ["standard"]),
        ("attentest study x --engine ", ["local", "ray"]),
        ("attentest trial x y --device c", ["cpu", "cuda"]),
        ("attentest train x --encoder cnn", ["cnn", "cnn-wide"]),
        ("attentest train x --select-by ", ["auc", "f1", "accuracy", "loss", "dev-loss"]),
        ("attentest train x --freeze e", ["embedding", "encoder"]),
        ("attentest train x --format acl", ["aclimdb"]),
        ("attentest audit x -s batch", ["batch_size="]),
        ("attentest audit x --fail-on not-f", ["not-faithful"]),
        ("attentest trial perm", ["permutation"]),
        ("attentest study wie", ["wiegreffe2019"]),
        ("attentest sta", ["status"]),
    ],
)
def test_completion_offers_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, offered: list[str]
) -> None:
    """As a shell asks for it, at the end of a line."""
    monkeypatch.setenv("_ATTENTEST_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    with pytest.raises(SystemExit):
        app(prog_name="attentest")
    assert capsys.readouterr().out.split() == offered


def test_flags_are_shown_as_flags_and_values_with_their_choices(command: Program) -> None:
    shown = command("audit", "--help").out
    assert "<bool>" not in shown
    assert re.search(r"--dry-run +Print the steps", shown)
    assert re.search(r"--budget +quick\|standard\|paper +Budget", shown)
    assert re.search(r"--engine +local\|ray +Engine: local processes, or a Ray cluster \[local\]\.", shown)


def test_names_that_the_help_knows_without_importing_are_those_of_the_library() -> None:
    from attentest.studies import schema

    assert schema.BUDGETS == options.BUDGETS


@pytest.mark.parametrize(("number", "said"), [(0, "0 steps"), (1, "1 step"), (2, "2 steps"), (1234, "1,234 steps")])
def test_counts_are_in_the_right_number(number: int, said: str) -> None:
    assert options.counted(number, "step") == said
    assert options.counted(1, "entry", "entries") == "1 entry"


def test_version(command: Program) -> None:
    assert command("--version").out.strip() == f"attentest {attentest.__version__}"


def test_a_narrow_terminal_encoding_is_no_error() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    program = [sys.executable, "-m", "attentest.cli", "models"]
    out = subprocess.run(program, capture_output=True, env=environment, check=True).stdout
    assert b"u?h / ?H" in out or b"\xb7h / ?H" in out
