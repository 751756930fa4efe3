"""The tables of a reproduction: what they say, what is stale, what is damaged, and the page that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from docs.generate import HERE
from toy_reproduction import f1, row, written

import attentest
from attentest.studies.directions import UNTESTED
from attentest.studies.reproduction.csv_tables import read_records
from attentest.studies.reproduction.derived import TABLE_1
from attentest.studies.reproduction.markdown import markdown, write_page
from attentest.studies.reproduction.rows import OurRow, read_rows, read_units, write_rows
from attentest.studies.reproduction.state import CellState, read_reproduction

FOLDER, PAGE = HERE / "reproduction", HERE / "reproduction.md"
THREE = (0.826, 0.829, 0.832)


def base_f1(folder: Path) -> CellState:
    cells = (cell for cell in read_reproduction(folder).cells if cell.theirs.paper == "wiegreffe2019")
    return next(
        c for c in cells if (c.theirs.table, c.theirs.corpus, c.theirs.variant) == ("Table 2", "sst_jw", "base")
    )


def test_the_page_in_the_docs_is_made_from_the_tables_there() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(FOLDER), "run `make docs`"


def test_every_reason_in_the_docs_is_about_a_published_cell() -> None:
    """A wrong name would be refused."""
    assert read_reproduction(FOLDER).papers


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = [f1(1, 0.82), f1(0, 0.81, low=None, high=None), row("wiegreffe2019", "sst_jw", "a, “b” | c", "m\nn", -1e-9)]
    folder = written(tmp_path / "t", [], reasons="{}")
    write_rows(folder, "wiegreffe2019", rows)
    found = read_rows(folder, "wiegreffe2019")
    told = {(r.seed, r.variant, r.measure, r.value, r.low is None) for r in found}
    assert told == {(r.seed, r.variant, r.measure, r.value, r.low is None) for r in rows}
    before = (folder / "wiegreffe2019.csv").read_bytes()
    write_rows(folder, "wiegreffe2019", reversed(found))
    assert (folder / "wiegreffe2019.csv").read_bytes() == before


def test_the_page_is_the_same_however_often_and_in_which_order_it_is_made(tmp_path: Path) -> None:
    rows = [f1(seed, value) for seed, value in enumerate(THREE)]
    pages = []
    for place, some in (("a", rows), ("b", rows[::-1])):
        folder = written(tmp_path / place, some)
        for _ in range(2):
            write_page(folder, tmp_path / f"{place}.md")
            pages.append((tmp_path / f"{place}.md").read_text(encoding="utf-8"))
    assert len(set(pages)) == 1


def test_what_the_page_says_of_a_cell(tmp_path: Path) -> None:
    page = markdown(written(tmp_path / "t", [f1(seed, value) for seed, value in enumerate(THREE)]))
    line = next(
        line for line in page.splitlines() if line.startswith("| Table 2 | sst_jw | bilstm+additive | base | f1")
    )
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[5:7] == ["0.831", "0.8290 ± 0.0030"]
    assert cells[8:11] == ["", "3", "-0.0020"]
    assert cells[11].endswith("(spread over our seeds)")
    assert cells[12] == "within"
    assert "| wiegreffe2019 | sst_jw | 58 | 58 | 1 | 1 | 0 | 0 | 57 | 0 | 3 |" in page


def test_one_training_is_said_to_be_one(tmp_path: Path) -> None:
    found = base_f1(written(tmp_path / "t", [f1(0, 0.82)]))
    assert found.compared.ours is not None
    assert found.compared.ours.seeds == 1
    page = markdown(tmp_path / "t")
    assert "| 0.8200 | [0.8000, 0.8400] |  | 1 | -0.0110 | 0.0300 (our convention) | within |" in page


def test_rows_of_other_settings_are_stale_and_never_mixed_with_new_ones(tmp_path: Path) -> None:
    old = [f1(seed, 0.5, settings="other") for seed in range(3)]
    found = base_f1(written(tmp_path / "old", old))
    assert found.stale == "settings"
    assert found.compared.ours is not None
    assert found.compared.ours.seeds == 3
    assert "† (settings)" in markdown(tmp_path / "old")
    mixed = base_f1(written(tmp_path / "mixed", [*old[1:], f1(0, 0.82)]))
    assert mixed.stale == ""
    assert mixed.compared.ours is not None
    assert mixed.compared.ours.values == (0.82,)


def test_rows_of_other_code_are_shown_as_stale(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", [f1(0, 0.82, stale="code")])
    assert base_f1(folder).stale == "code"
    assert "within † (code)" in markdown(folder)
    assert "1 cells are stale (†) and count as not run" in markdown(folder)
    assert "| wiegreffe2019 | sst_jw | 58 | 58 | 0 | 0 | 0 | 0 | 58 | 0 | 1 |" in markdown(folder)


def test_a_stale_strength_is_known_however_it_is_written(tmp_path: Path) -> None:
    stale = row("wiegreffe2019", "sst_jw", "adversary, lambda=0.0005", "jsd", 0.1, stale="code")
    cells = read_reproduction(written(tmp_path / "t", [stale])).cells
    assert [c.theirs.variant for c in cells if c.stale] == ["adversary, lambda=5e-4"]


OUTSIDE = """outside:
  - paper: wiegreffe2019
    table: Table 2
    corpus: sst*
    variant: base
    why: The vectors are smaller.
    experiment: "`attentest train`"
"""


def test_a_cell_outside_has_its_reason_or_is_unexplained(tmp_path: Path) -> None:
    rows = [f1(0, 0.7)]
    bare = markdown(written(tmp_path / "bare", rows))
    assert "### Without a reason (1)\n\n- wiegreffe2019, Table 2, sst_jw, bilstm+additive, base, f1: -0.131" in bare
    told = markdown(written(tmp_path / "told", rows, reasons=OUTSIDE))
    assert "### wiegreffe2019, sst_jw: The vectors are smaller\n\nShown by: `attentest train`\n\n- " in told
    assert "Without a reason" not in told
    near = markdown(written(tmp_path / "near", [f1(0, 0.83)], reasons=OUTSIDE))
    assert "None so far." in near


def test_reasons_of_missing_data_and_of_what_is_not_comparable(tmp_path: Path) -> None:
    reasons = 'no data:\n  - {corpus: cnn, why: no texts}\nnot comparable:\n  - {table: Table 2, why: "other, data"}\n'
    folder = written(tmp_path / "t", [f1(0, 0.83)], reasons=reasons)
    assert (base_f1(folder).status, base_f1(folder).reason) == ("not comparable", "other, data")
    assert not base_f1(folder).allowed
    assert "| wiegreffe2019 | sst_jw | 58 | 57 | 0 | 0 | 0 | 1 | 57 | 0 | 1 |" in markdown(folder)
    by_corpus = {c.theirs.corpus: (c.status, c.reason) for c in read_reproduction(folder).cells}
    assert by_corpus["cnn"] == ("no data", "no texts")
    assert by_corpus["diabetes"] == ("no data", "the corpus is not public")
    assert by_corpus["snli"][0] == "not run yet"
    folder = written(tmp_path / "t", [], reasons="not run yet:\n  - {corpus: snli, why: it takes days}\n")
    assert {c.reason for c in read_reproduction(folder).cells if c.theirs.corpus == "snli"} == {"it takes days"}
    assert "snli (12): it takes days" in markdown(folder)


@pytest.mark.parametrize(
    ("reasons", "sentence"),
    [
        ("outside:\n  - {corpus: sst_wj, why: a, experiment: b}\n", "for corpus sst_wj is about no published cell"),
        ("outside:\n  - {corpus: sst_jw, why: a}\n", "under 'outside' lacks `experiment`, or `variation`"),
        ("no data:\n  - {corpus: sst_jw}\n", "under 'no data' lacks `why`"),
        ("no data:\n  - {why: a}\n", "must name at least one of paper, table"),
        ("nodata: []\n", "kind of reason in reasons.yaml .*'no data'"),
        ("no data: 3\n", "'no data' must be a list"),
        ("no data: [3]\n", "must have names with texts"),
        ("no data:\n  - {corpsu: sst_jw, why: a}\n", "'corpus'"),
        ("- a\n", "must have lists of reasons"),
        ("{", "is not YAML"),
    ],
)
def test_bad_reasons_are_refused(tmp_path: Path, reasons: str, sentence: str) -> None:
    with pytest.raises(attentest.InputError, match=sentence):
        read_reproduction(written(tmp_path / "t", [], reasons=reasons))


def _without_head(text: str) -> str:
    return text.partition("\n")[2]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (_without_head, "its first line must be corpus,unit,seed,"),
        (lambda text: "", "its first line must be"),
        (lambda text: text.replace("0.82,", "zero,"), "line 2: `value` is 'zero', which is not a number"),
        (lambda text: text.replace("0.82,", "nan,"), "line 2: `value` is 'nan'"),
        (lambda text: text.replace("0.82,", "1e999,"), "line 2: `value` is '1e999'"),
        (lambda text: text.replace(",100,", ",1.5,"), "line 2: `n` is '1.5'"),
        (lambda text: text.replace(",100,", f",{'9' * 400},"), "line 2: `n` is '9{40}', which is not a number"),
        (lambda text: text.rstrip("\n") + ",more\n", "line 2: it has 18 cells, and 17 are expected"),
        (lambda text: text[: text.index("standard")] + "\n", "line 2: it has"),
    ],
)
def test_a_damaged_table_is_a_message(tmp_path: Path, damage: Callable[[str], str], sentence: str) -> None:
    folder = written(tmp_path / "t", [f1(0, 0.82)])
    table = folder / "wiegreffe2019.csv"
    table.write_text(damage(table.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(attentest.InputError, match=sentence):
        markdown(folder)


def test_a_table_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_records(tmp_path / "none.csv", OurRow) == []


def test_bytes_that_are_no_text_are_a_message(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", [f1(0, 0.82)])
    (folder / "units.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(attentest.InputError, match=r"units\.csv is damaged"):
        read_units(folder)


def test_another_folder_is_none(tmp_path: Path) -> None:
    with pytest.raises(attentest.InputError, match="is not the folder of a reproduction"):
        markdown(tmp_path)


def test_directions_are_over_seeds_with_what_would_decide(tmp_path: Path) -> None:
    """Meister et al.: an unfrozen adversary loses less than .02 in accuracy."""

    def rows(jsd: float, *changes: float) -> list[OurRow]:
        cells = [("delta accuracy", changes), ("jsd", [jsd] * len(changes))]
        return [
            row("meister2021", "sst_jw", "unfrozen", name, value, seed=seed, half=0.01)
            for name, values in cells
            for seed, value in enumerate(values)
        ]

    said = {}
    for name, some in {
        "clear": rows(0.6, 0.0, 0.001, -0.001),
        "open": rows(0.6, -0.03, 0.0, -0.02),
        "near": rows(0.2, 0.0, 0.001, -0.001),
    }.items():
        folder = written(tmp_path / name, some, "meister2021")
        paper = next(p for p in read_reproduction(folder).papers if p.paper == "meister2021")
        said[name] = next(d for d in paper.directions if d.corpus == "sst_jw" and d.says.startswith("an unfrozen"))
    assert said["clear"].theirs == pytest.approx(0.02)
    assert {name: found.replicated for name, found in said.items()} == {
        "clear": "found",
        "open": "cannot be told",
        "near": "not comparable",
    }
    assert "trainings" in said["open"].decides
    assert "at least 0.4 is needed" in said["near"].decides


def test_means_over_a_table_are_made_as_the_paper_makes_them(tmp_path: Path) -> None:
    """Vashishth et al. §4.1: over four corpora and two models of Table 1."""
    variant, rows = "uniform, inferred", []
    for number, (corpus, model) in enumerate(TABLE_1):
        about = {"model": model, "unit": model, "seed": 0}
        rows.append(row("vashishth2019", corpus, "base", "accuracy %", 80.0, **about))  # type: ignore[arg-type]
        rows.append(row("vashishth2019", corpus, variant, "delta accuracy %", -number, **about))  # type: ignore[arg-type]

    def found(some: list[OurRow]) -> dict[tuple[str, str], float | None]:
        cells = read_reproduction(written(tmp_path / "t", some, "vashishth2019")).cells
        return {
            (c.theirs.variant, c.theirs.measure): c.compared.ours.estimate.value
            for c in cells
            if c.theirs.corpus == "all single sequence" and c.compared.ours is not None
        }

    assert found(rows) == {(variant, "accuracy decrease %"): pytest.approx(3.5)}  # (0 + 1 + … + 7) / 8
    assert found(rows[2:]) == {}


@pytest.mark.parametrize(("stale", "tested"), [("", 1), ("code", 0)])
def test_stale_figures_count_for_no_finding(tmp_path: Path, stale: str, tested: int) -> None:
    one = row("wiegreffe2019", "sst_jw", "guide: trained MLP", "f1 gain over guide: uniform", 0.1, stale=stale)
    one = replace(one, unit="bilstm+additive", model="average+additive")
    papers = read_reproduction(written(tmp_path / "t", [one])).papers
    assert sum(found.replicated != UNTESTED for paper in papers for found in paper.directions) == tested
