"""A run whose tables, weights or files are damaged or made up: a message that names the file, in any command."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import table_files
import tensor_files
from other_kinds import IN_PLACE_OF_A_FILE, IN_PLACE_OF_A_FOLDER, Damage, put_in_place
from program import Program

import attentest
from attentest.audits import Audit
from attentest.studies.cells import scores
from attentest.training.folder import FILES, OF_ENCODER
from attentest.trials import subject_of

SIZE: dict[str, Any] = {"epochs": 1, "dimension": 4, "hidden": 2}
TABLES = ("predictions.parquet", "attention.parquet", "history.parquet")
# a table that is whole may still be another's, or lack what it need not have
HARMLESS = ("rationale missing", "rationale renamed", "rationale one null", "zeros in its footer")


@pytest.fixture(autouse=True)
def nothing_waits_for_ever() -> Iterator[None]:
    """To open a pipe that nobody writes to would."""

    def ended(number: int, frame: object) -> None:
        raise TimeoutError("something waits for ever")

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One of each form that tables can have."""
    folder, corpus = tmp_path_factory.mktemp("runs"), attentest.load("planted", rows=60)
    return {
        "flat": attentest.train(corpus, folder / "flat", **SIZE).path,
        "hierarchical": attentest.train(corpus, folder / "han", structure="hierarchical", **SIZE).path,
        "random": attentest.train(corpus, folder / "random", projection="random", **SIZE).path,
    }


def use(folder: Path) -> None:
    """Everything that reads a run's tables."""
    run = attentest.open_run(folder)
    assert run.metrics
    assert run.history.num_rows
    run.to_pandas()
    assert run.heatmaps(2)._repr_html_()
    assert run.shares
    scores(run)
    run.test_data()


def message(read: Callable[[], object]) -> str | None:
    """What is told, or None if nothing was wrong; anything but a message fails the test."""
    try:
        read()
    except attentest.InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("form", ["flat", "hierarchical", "random"])
def test_a_damaged_table(form: str, name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    mine = shutil.copytree(runs[form], tmp_path / "run")
    usual = (mine / name).read_bytes()
    count = 0
    for what, damage in (*table_files.FILES.items(), *table_files.of_columns(mine / name)):
        (mine / name).write_bytes(usual)
        damage(mine / name)
        said = message(lambda: use(mine))
        if name != "history.parquet":  # which is for people
            assert said or what in HARMLESS, what
        assert said is None or name in said or f"The tables in {mine}" in said, f"{what}: {said}"
        count += 1
    assert count > 60
    (mine / name).write_bytes(usual)
    assert message(lambda: use(mine)) is None


def test_tables_of_two_runs(runs: dict[str, Path], tmp_path: Path) -> None:
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    other = attentest.train(attentest.load("planted", rows=60, seed=5), tmp_path / "other", **SIZE)
    shutil.copy2(other.path / "attention.parquet", mine)
    said = message(lambda: use(mine))
    assert said
    assert "attention.parquet" in said


READ = [name for name in FILES if name not in ("checkpoint.safetensors", "metrics.parquet", *OF_ENCODER)]
MODEL = {**tensor_files.FILES, **tensor_files.CONTENTS}


@pytest.mark.parametrize("damage", MODEL.values(), ids=MODEL)
def test_damaged_weights(damage: Damage, runs: dict[str, Path], tmp_path: Path) -> None:
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    damage(mine / "model.safetensors")
    said = message(lambda: subject_of(attentest.open_run(mine)))
    assert said
    assert "model.safetensors" in said


SIZES = (2, 3, 10**4, 10**6, 10**9, 10**12, 10**18, 10**30)


@pytest.mark.parametrize("hidden", SIZES)
@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "transformer", "average"])
def test_sizes_that_a_record_makes_up_take_no_memory(
    hidden: int, encoder: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    record = json.loads((mine / "run.json").read_text(encoding="utf-8"))
    if (hidden, encoder) == (record["model"]["hidden"], record["model"]["encoder"]):
        return
    record["model"] |= {"hidden": hidden, "encoder": encoder}
    (mine / "run.json").write_text(json.dumps(record), encoding="utf-8")
    said = message(lambda: attentest.open_run(mine).model)
    assert said
    assert "model.safetensors" in said or "run.json" in said


@pytest.mark.parametrize(
    ("group", "name", "value"),
    [
        *(("text", "max_tokens", value) for value in (1, 2, 10**9, 10**30)),
        *(("text", "min_tokens", value) for value in (0, 5, 10**9)),
        *(("text", "dimension", value) for value in (1, 10**9)),
        *(
            ("model", "projection", value)
            for value in ("preset", "random", "sparsemax", "entmax:1.5", "sparsegen:-inf")
        ),
        *(("model", "structure", value) for value in ("hierarchical",)),
        *(("model", "alignment", value) for value in ("dot", "nosuch", "additive:3")),
        *(("model", "decoder", value) for value in ("context+query",)),
        *(("corpus", "kind", value) for value in ("pair", "generation")),
        *(("corpus", "answers", value) for value in ("entities", "closed")),
        *(("corpus", "classes", value) for value in ([], ["a"], ["a", "a"], ["class 0"], ["class 1", "class 0", "c"])),
    ],
)
def test_a_record_of_another_model(group: str, name: str, value: Any, runs: dict[str, Path], tmp_path: Path) -> None:
    """Values that are possible, but not what this run was trained with."""
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    record = json.loads((mine / "run.json").read_text(encoding="utf-8"))
    record[group] |= {name: value}
    (mine / "run.json").write_text(json.dumps(record), encoding="utf-8")

    def read() -> None:
        use(mine)
        attentest.open_run(mine).trial("uniform", texts=5)

    said = message(read)
    assert said is None or any(file in said for file in FILES) or str(mine) in said or "token" in said, said


# through the program


def refused(answer: Any, name: str, code: int = 2) -> None:
    assert answer.code == code, answer
    assert "Traceback" not in answer.err
    assert name in answer.err.replace("\n", "")


@pytest.mark.parametrize("name", READ)
def test_commands_on_a_damaged_run(name: str, runs: dict[str, Path], command: Program, tmp_path: Path) -> None:
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    usual = (mine / name).read_bytes()
    readers = {
        "trial": ["trial", "uniform", mine],
        "show": ["show", mine],
        "report": ["report", mine, "--out", tmp_path / "page.html"],
    }
    if name in ("vocabulary.json", "history.parquet"):
        del readers["show"]  # which does not read them, or only for words it does not know
    if name in ("result.json", "history.parquet", "model.safetensors"):
        readers = {"report": readers["report"]} if name != "history.parquet" else {}
    for content in (usual[: len(usual) // 2], b""):
        (mine / name).write_bytes(content)
        for arguments in readers.values():
            refused(command(*arguments), name)


@pytest.mark.parametrize("damage", IN_PLACE_OF_A_FILE)
@pytest.mark.parametrize("name", READ)
def test_something_else_where_a_file_of_a_run_is(
    name: str, damage: Damage, runs: dict[str, Path], command: Program, tmp_path: Path
) -> None:
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    put_in_place(damage, mine / name)
    for arguments in (["trial", "uniform", mine], ["show", mine], ["report", mine, "--out", tmp_path / "page.html"]):
        answer = command(*arguments)
        assert answer.code in (0, 2), answer
        assert "Traceback" not in answer.err
        if answer.code:
            assert any(part in answer.err.replace("\n", "") for part in (name, "not finished", "run.json")), answer.err


PARTS = ("summary.json", "plan.json", "verdict.json", "published.json", "ours.parquet", "findings", "figures", "model")


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_something_else_in_the_folder_of_an_audit(name: str, audited: Audit, command: Program, tmp_path: Path) -> None:
    mine = tmp_path / "audit"
    for damage in {*IN_PLACE_OF_A_FILE, *IN_PLACE_OF_A_FOLDER}:
        shutil.rmtree(mine, ignore_errors=True)
        shutil.copytree(audited.folder, mine)
        put_in_place(damage, mine / name)
        for arguments in (["report", mine], ["status", mine], ["show", mine]):
            answer = command(*arguments)
            assert answer.code in (0, 1, 2), (damage, arguments, answer)
            assert "Traceback" not in answer.err, (damage, arguments, answer.err)
            if answer.code == 2:
                assert str(mine) in answer.err.replace("\n", ""), (damage, arguments, answer.err)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_run_that_may_not_be_read(runs: dict[str, Path], tmp_path: Path) -> None:
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    mine.chmod(0)
    try:
        assert message(lambda: use(mine))
    finally:
        mine.chmod(0o700)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.json", "vocabulary.json", "predictions.parquet", "attention.parquet"])
def test_an_audit_and_a_comparison_of_a_damaged_run(
    name: str, runs: dict[str, Path], command: Program, tmp_path: Path
) -> None:
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    (mine / name).write_bytes((mine / name).read_bytes()[:100])
    common = ["--store", tmp_path / "store", "--workers", "1", "--out", tmp_path / "out"]
    for arguments in (["audit", mine, *common], ["compare", mine, runs["flat"], *common]):
        answer = command(*arguments)
        assert answer.code in (1, 2), answer
        assert "Traceback" not in answer.err
        assert name in answer.err.replace("\n", "") + answer.out.replace("\n", ""), answer
        shutil.rmtree(tmp_path / "out", ignore_errors=True)


@pytest.mark.slow
def test_an_audit_of_a_run_whose_weights_are_damaged(runs: dict[str, Path], command: Program, tmp_path: Path) -> None:
    mine = shutil.copytree(runs["flat"], tmp_path / "run")
    tensor_files.CONTENTS["NaN"](mine / "model.safetensors")
    answer = command("audit", mine, "--store", tmp_path / "store", "--workers", "1", "--out", tmp_path / "out")
    assert answer.code in (1, 2), answer
    assert "Traceback" not in answer.err
    assert "model.safetensors" in answer.err.replace("\n", ""), answer
