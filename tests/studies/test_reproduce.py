"""`make reproduce`: what is left, what is kept when it is interrupted, and when figures become stale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import reproduce
from benchmarks.reproduce import Work, chosen, run_work
from test_engine import Here
from toy_reproduction import f1, written

import attentest
from attentest.engine import Store
from attentest.engine.plan import Step
from attentest.files import read_json
from attentest.studies.directions import Direction, Side
from attentest.studies.reproduction import plan
from attentest.studies.reproduction.harvest import count_stale, left_of, mark_stale, needed_by
from attentest.studies.reproduction.rows import OurRow, read_rows, read_units, write_rows
from attentest.studies.reproduction.units import Group, plan_group
from attentest.studies.schema import Study

PAPER = "wiegreffe2019"
TOY = Study(
    PAPER,
    paper=PAPER,
    corpora=("planted",),
    columns={"rows": 100},
    models=({"encoder": "average"},),
    training={"epochs": 1, "dimension": 8, "hidden": 4},
    directions=(Direction("it has learned", "here", Side("base", "f1"), Side(number=0.0)),),
)


class Interrupted(Here):
    """Steps in this process, and Ctrl-C before the one that trains the second seed."""

    def start(self, steps: Sequence[Step]) -> None:
        if any("seed 1" in step.name for step in steps):
            raise KeyboardInterrupt
        super().start(steps)


def planned(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Group:
    monkeypatch.setattr(plan, "paper_study", lambda paper: replace(TOY, **changes))
    return plan_group(PAPER, "planted", seeds=2)


def work(group: Group, folder: Path) -> Work:
    return Work(group, left_of(group, folder), 0, {})


def marked(group: Group, folder: Path) -> int:
    """How many rows are stale, which is the same before that is written down and after."""
    before = count_stale(group, folder)
    mark_stale(group, folder)
    assert count_stale(group, folder) == before
    assert sum(bool(row.stale) for row in read_rows(folder, PAPER)) == before
    return before


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the figures of both units."""
    folder, store = tmp_path / "tables", Store(tmp_path / "store")
    folder.mkdir()
    group = planned(monkeypatch)
    assert [unit.seed for unit in left_of(group, folder)] == [0, 1]
    with pytest.raises(KeyboardInterrupt):
        run_work(work(group, folder), store, Interrupted, folder)
    assert [row.seed for row in read_rows(folder, PAPER)] == [0]
    assert [unit.seed for unit in left_of(group, folder)] == [1]
    assert run_work(work(group, folder), store, Here, folder) == {}
    return folder


def test_an_interrupted_run_keeps_what_is_finished_and_resumes(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read_rows(finished, PAPER)
    assert [(row.seed, row.measure, row.variant, row.stale) for row in rows] == [
        (0, "f1", "base", ""),
        (1, "f1", "base", ""),
    ]
    assert all(row.n > 0 and 0 <= row.value <= 1 and row.budget == "standard" for row in rows)
    assert rows[0].key != rows[1].key
    units = read_units(finished)
    assert {unit.seed: unit.cells for unit in units.values()} == {0: 1, 1: 1}
    group = planned(monkeypatch)  # as in a fresh clone, which has no store
    for unit in group.units:
        needed = needed_by(group.plan, unit.results.values())
        took = [read_json(tmp_path / "store" / "entries" / step.key / "entry.json")["seconds"] for step in needed]
        assert len(took) == 2  # the corpus and the training
        assert units[unit.place].seconds == pytest.approx(sum(took), rel=1e-4, abs=1e-3)
    assert left_of(group, finished) == []
    assert marked(group, finished) == 0


def test_what_has_changed_is_said_and_run_again(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: dict[str, dict[str, Any]] = {
        "settings": {"training": {**TOY.training, "epochs": 2}},
        "corpus": {"columns": {"rows": 120}},
    }
    for why, change in changes.items():
        group = planned(monkeypatch, **change)
        assert marked(group, finished) == 2
        assert {row.stale for row in read_rows(finished, PAPER)} == {why}
        assert len(left_of(group, finished)) == 2
    group = planned(monkeypatch)
    assert marked(group, finished) == 0  # as it was
    other = [replace(row, key="made by other code") for row in read_rows(finished, PAPER)]
    write_rows(finished, PAPER, other)
    assert marked(group, finished) == 2
    assert {row.stale for row in read_rows(finished, PAPER)} == {"code"}


def test_rows_of_seeds_that_are_not_planned_are_stale_with_the_others(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, rows = planned(monkeypatch), read_rows(finished, PAPER)
    more = [replace(rows[0], seed=seed, key=f"of seed {seed}") for seed in (3, 4)]

    def stale(rows: Sequence[OurRow]) -> dict[int, str]:
        write_rows(finished, PAPER, rows)
        mark_stale(group, finished)
        return {row.seed: row.stale for row in read_rows(finished, PAPER)}

    assert stale([*rows, *more]) == {0: "", 1: "", 3: "", 4: ""}
    by_other_code = [replace(row, key="made by other code") for row in rows]
    assert stale([*by_other_code, *more]) == {0: "code", 1: "code", 3: "code", 4: "code"}
    assert stale([*rows, *(replace(row, stale="code") for row in more)]) == {0: "", 1: "", 3: "code", 4: "code"}
    assert stale([*rows, replace(more[0], settings="other")])[3] == "settings"


def test_settings_that_change_no_step_make_nothing_stale(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_rows(finished, PAPER)
    of_another_seed = replace(before[0], seed=3, key="of seed 3")
    write_rows(finished, PAPER, [*before, of_another_seed])
    group = planned(monkeypatch, experiments_on={"planted": {"uniform": False}})
    settings = {unit.settings for unit in group.units}
    assert settings.isdisjoint(row.settings for row in before)
    assert left_of(group, finished) == []
    assert marked(group, finished) == 0
    assert {row.settings for row in read_rows(finished, PAPER)} == settings
    assert {unit.settings for unit in read_units(finished).values()} == settings
    assert marked(planned(monkeypatch, training={**TOY.training, "epochs": 2}), finished) == 3


def test_what_is_left_is_told_without_writing_anything(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = planned(monkeypatch, training={**TOY.training, "epochs": 2})
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    assert count_stale(group, finished) == 2
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before


def test_rows_of_a_model_that_is_gone_are_removed(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = [replace(row, unit="another") for row in read_rows(finished, PAPER)]
    write_rows(finished, PAPER, [*gone, *read_rows(finished, PAPER), f1(0, 0.8)])
    assert marked(planned(monkeypatch), finished) == 0
    assert [(row.corpus, row.unit == "another") for row in read_rows(finished, PAPER)] == [
        ("planted", False),
        ("planted", False),
        ("sst_jw", False),
    ]
    assert len(read_units(finished)) == 2


def test_rows_of_others_stay(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    elsewhere: list[OurRow] = [f1(0, 0.8)]
    write_rows(finished, PAPER, [*read_rows(finished, PAPER), *elsewhere])
    group = planned(monkeypatch, training={**TOY.training, "epochs": 2})
    run_work(work(group, finished), Store(tmp_path / "store"), Here, finished)
    rows = read_rows(finished, PAPER)
    assert [row.corpus for row in rows] == ["planted", "planted", "sst_jw"]
    assert {row.settings for row in rows if row.corpus == "planted"} == {unit.settings for unit in group.units}


def test_papers_and_corpora_are_chosen_by_name() -> None:
    serrano = [("serrano2019", corpus) for corpus in plan.paper_study("serrano2019").corpora]
    assert list(chosen(["wen2022/sst", "serrano2019"])) == [*serrano, ("wen2022", "sst_jw")]
    assert list(chosen(["wen2022/sst,wen2022/babi1"])) == [("wen2022", "sst_jw"), ("wen2022", "babi1")]
    assert {paper for paper, _ in chosen([])} == set(attentest.studies.PAPERS)


@pytest.mark.parametrize(
    ("only", "sentence"),
    [("wen2023", "'wen2022'"), ("wen2022/stt", "corpus of wen2022 'stt'"), (",", "',' names no paper")],
)
def test_a_wrong_name_is_a_message(
    only: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "tables", [])
    assert reproduce.main([only, "--left", "--store", str(tmp_path / "store"), "--folder", str(folder)]) == 2
    assert sentence in capsys.readouterr().err


def test_a_corpus_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, places = written(tmp_path / "tables", []), ["--store", str(tmp_path / "store"), "--data-dir", str(tmp_path)]
    page = tmp_path / "page.md"
    assert reproduce.main(["serrano2019", *places, "--folder", str(folder), "--page", str(page)]) == 2
    said = capsys.readouterr()
    assert "serrano2019/imdb_jw: cannot be run: 'imdb_jw' needs" in said.err
    assert "all: about 0 min left on one core" in said.out
    assert "without 3 that cannot be run" in said.out
    assert page.read_text(encoding="utf-8").startswith("# Reproduction")


def test_the_command_runs_what_is_left_and_writes_the_page(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (finished / "reasons.yaml").write_text("{}", encoding="utf-8")
    planned(monkeypatch)
    monkeypatch.setattr(reproduce, "chosen", lambda only: [(PAPER, "planted")])
    places = ["--store", str(tmp_path / "store"), "--folder", str(finished), "--seeds", "2", "--workers", "1"]
    assert reproduce.main(places) == 0
    assert f"{PAPER}/planted: 0 of 2 units left, about 0 min" in capsys.readouterr().out
    changed = [replace(row, value=0.0, key="old") for row in read_rows(finished, PAPER)]
    write_rows(finished, PAPER, changed)
    (finished / "units.csv").unlink()
    monkeypatch.setattr(reproduce, "LocalPool", lambda store, workers: Here(store))
    assert reproduce.main(places) == 0
    assert "2 of 2 units left, about 0 min, 2 rows stale" in capsys.readouterr().out
    assert all(row.value > 0 and row.key != "old" and not row.stale for row in read_rows(finished, PAPER))


def test_a_damaged_table_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(tmp_path / "tables", [f1(0, 0.8)])
    (folder / "wiegreffe2019.csv").write_text("a,b\n", encoding="utf-8")
    places = ["--store", str(tmp_path / "store"), "--data-dir", str(tmp_path), "--page", str(tmp_path / "page.md")]
    assert reproduce.main([PAPER, *places, "--folder", str(folder)]) == 2
    assert "wiegreffe2019.csv is damaged: its first line must be" in capsys.readouterr().err
    assert not (tmp_path / "page.md").exists()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--seeds", "0"], "seeds is 0; it must be from 1 to 1,000."),
        (["--seeds", "-1"], "seeds is -1; it must be from 1 to 1,000."),
        (["--workers", "0"], "workers is 0; it must be from 1 to 1,000."),
        (["--seeds", "1000000000"], "seeds is 1000000000; it must be from 1 to 1,000."),
        (["--folder", "nowhere"], "nowhere is no folder"),
        (["--page", "nowhere/page.md"], "nowhere is no folder"),
    ],
)
def test_numbers_and_places_that_cannot_be(
    given: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "tables", [f1(0, 0.8)])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert reproduce.main([PAPER, "--store", str(tmp_path / "store"), "--folder", str(folder), *given]) == 2
    assert sentence in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("name", "damage", "sentence"),
    [
        ("reasons.yaml", b"outside: 3", "must be a list of reasons"),
        ("reasons.yaml", b"outside: []\noutside: []", "'outside' stands in it twice"),
        ("introduction.md", b"\xff", "cannot be read as text"),
    ],
)
def test_what_the_page_is_made_from_is_read_before_anything_is_run(
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    damage: bytes,
    sentence: str,
) -> None:
    planned(monkeypatch, training={**TOY.training, "epochs": 2})
    monkeypatch.setattr(reproduce, "chosen", lambda only: [(PAPER, "planted")])
    places = ["--store", str(tmp_path / "store"), "--folder", str(finished), "--page", str(tmp_path / "page.md")]
    (finished / "reasons.yaml").write_text("{}", encoding="utf-8")
    (finished / name).write_bytes(damage)

    def never(store: Store, workers: int | None) -> Here:
        raise AssertionError

    monkeypatch.setattr(reproduce, "LocalPool", never)
    assert reproduce.main([*places, "--seeds", "2"]) == 2
    assert sentence in capsys.readouterr().err


def test_a_list_that_is_damaged_meanwhile_stops_no_training(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    planned(monkeypatch, training={**TOY.training, "epochs": 2})
    monkeypatch.setattr(reproduce, "chosen", lambda only: [(PAPER, "planted")])
    (finished / "reasons.yaml").write_text("{}", encoding="utf-8")

    def damaging(store: Store, workers: int | None) -> Here:
        (finished / "reasons.yaml").write_text("outside: 3", encoding="utf-8")
        return Here(store)

    monkeypatch.setattr(reproduce, "LocalPool", damaging)
    places = ["--store", str(tmp_path / "store"), "--folder", str(finished), "--page", str(tmp_path / "page.md")]
    assert reproduce.main([*places, "--seeds", "2"]) == 1
    assert "failed: the page: " in capsys.readouterr().err
    assert not any(row.stale for row in read_rows(finished, PAPER))
