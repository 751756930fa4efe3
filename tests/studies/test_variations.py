"""Variations: a unit with something changed, what it makes of a cell outside its tolerance, and what is refused."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import reproduce
from benchmarks.reproduce import Work, chosen, chosen_variations, run_work
from test_engine import Here
from test_reproduce import PAPER, TOY
from toy_reproduction import f1, row, written

import attentest
from attentest.engine import Store
from attentest.studies.reproduction import plan, variations
from attentest.studies.reproduction.harvest import _in_place
from attentest.studies.reproduction.markdown import markdown
from attentest.studies.reproduction.rows import OurRow, read_rows
from attentest.studies.reproduction.state import CellState, read_reproduction
from attentest.studies.reproduction.variations import (
    FILE,
    VariedRow,
    count_varied_stale,
    left_of_variation,
    mark_varied,
    plan_variation,
    read_variations,
    read_varied,
    remove_varied,
    write_varied,
)
from attentest.trials.cells import Cell

LARGER = """- name: larger
  says: 300 dimensions instead of 50.
  paper: wiegreffe2019
  corpus: sst_jw
  units: [bilstm+additive]
  change: {training: {hidden: 8}}
"""
REASON = """outside:
  - {paper: wiegreffe2019, table: Table 2, corpus: sst_jw, variant: base, why: Vectors are smaller., variation: larger}
"""


def varied(value: float, seed: int = 0, **other: Any) -> VariedRow:
    change = variations.Variation("larger", "", PAPER, "sst_jw", ("",), {"training": {"hidden": 8}}).key
    about = {**asdict(f1(seed, value)), "variation": "larger", "changed": change}
    return VariedRow(**{**about, **other})


def folder_with(tmp_path: Path, usual: float, *changed: float) -> Path:
    folder = written(tmp_path / "t", [f1(0, usual)], reasons=REASON)
    (folder / FILE).write_text(LARGER, encoding="utf-8")
    write_varied(folder, [varied(value, seed) for seed, value in enumerate(changed)])
    return folder


def the_cell(folder: Path) -> CellState:
    cells = (cell for cell in read_reproduction(folder).cells if cell.theirs.paper == "wiegreffe2019")
    return next(
        c for c in cells if (c.theirs.table, c.theirs.corpus, c.theirs.variant) == ("Table 2", "sst_jw", "base")
    )


@pytest.mark.parametrize(
    ("value", "share", "within"), [(0.82, 1 - 0.011 / 0.131, True), (0.77, 1 - 0.061 / 0.131, False)]
)
def test_what_goes_of_a_difference(tmp_path: Path, value: float, share: float, within: bool) -> None:
    """Published is .831, ours .7, with a tolerance of .03: by hand."""
    tested = the_cell(folder_with(tmp_path, 0.7, value)).tested
    assert tested is not None
    assert tested.within is within
    assert tested.share == pytest.approx(share)


def test_the_page_shows_the_varied_figures(tmp_path: Path) -> None:
    page = markdown(folder_with(tmp_path, 0.7, 0.81, 0.83))
    assert (
        "### wiegreffe2019, sst_jw: Vectors are smaller (tested: explains 1 of 1)\n\n"
        "Variation `larger`: 300 dimensions instead of 50. Of the 1 " in page
    )
    assert "cells that it has, 1 enter their tolerance and 0 leave it." in page
    line = "| Table 2 | sst_jw | bilstm+additive | base | f1 | 0.831 | 0.7000 | 0.8200 ± 0.0141 | 2 | 92 % | within |"
    assert line in page
    assert (
        "1 were computed again with something changed (a *variation*): 1 are then within their tolerance and at" in page
    )
    refuted = markdown(folder_with(tmp_path, 0.7, 0.77))
    assert "(a *variation*): 0 are then within" in refuted
    assert "Vectors are smaller (tested: explains none of 1)" in refuted


def test_a_difference_that_grows_is_shown_as_such(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, 0.7, 0.6)
    assert "| 0.6000 | 1 | -76 % | outside |" in markdown(folder)
    assert the_cell(folder).told == "Supposed: Vectors are smaller. Tested by larger: 0.6, the difference is larger."
    assert the_cell(folder_with(tmp_path, 0.7, 0.82)).told == (
        "Vectors are smaller. Shown by larger: 0.82, 92 % of the difference gone."
    )


@pytest.mark.parametrize(
    ("usual", "changed", "explains"), [(0.7, 0.82, True), (0.795, 0.805, False), (0.7, 0.79, False)]
)
def test_what_explains_a_cell(tmp_path: Path, usual: float, changed: float, explains: bool) -> None:
    """Published is .831 with a tolerance of .03: .805 is within it, but brings ours only 28 % of the way."""
    tested = the_cell(folder_with(tmp_path, usual, changed)).tested
    assert tested is not None
    assert tested.explains is explains


def test_a_variation_that_was_not_run_shows_nothing(tmp_path: Path) -> None:
    page = markdown(folder_with(tmp_path, 0.7))
    assert "### wiegreffe2019, sst_jw: Vectors are smaller (supposed, not tested yet)\n" in page
    assert "| not run yet |" in page
    assert "0 were computed again" in page


def test_varied_figures_never_count_as_ours(tmp_path: Path) -> None:
    cell = the_cell(folder_with(tmp_path, 0.7, 0.83))
    assert cell.compared.ours is not None
    assert cell.compared.ours.values == (0.7,)
    assert cell.status == "outside"


def test_rows_that_other_code_made_are_not_shown(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, 0.7, 0.82)
    write_varied(folder, [replace(one, stale="code") for one in read_varied(folder)])
    tested = the_cell(folder).tested
    assert tested is not None
    assert tested.varied is None


def test_rows_that_are_no_longer_asked_for_are_not_shown(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, 0.7, 0.82)
    others = ({"changed": "before"}, {"unit": "average+additive"}, {"seed": 3}, {"variation": "gone"})
    write_varied(folder, [varied(0.82), *(varied(0.1, **other) for other in others)])
    tested = the_cell(folder).tested
    assert tested is not None
    assert tested.varied is not None
    assert tested.varied.ours is not None
    assert tested.varied.ours.values == (0.82,)


def test_all_variations_are_listed_with_what_they_move(tmp_path: Path) -> None:
    assert "| larger | wiegreffe2019/sst_jw | 300 dimensions instead of 50. | 1 | 1 | 0 | 1 |" in markdown(
        folder_with(tmp_path, 0.7, 0.82)
    )
    moved_out = markdown(folder_with(tmp_path, 0.82, 0.7))
    assert "| larger | wiegreffe2019/sst_jw | 300 dimensions instead of 50. | 1 | 0 | 1 | 1 |" in moved_out
    assert "not run yet |" in markdown(folder_with(tmp_path, 0.7))


def test_a_varied_adversary_that_stays_near_shows_nothing(tmp_path: Path) -> None:
    """Meister et al. print an accuracy of .82 for the unfrozen adversary on SST; ours is far from that."""
    usual = [
        row("meister2021", "sst_jw", "unfrozen", measure, value) for measure, value in (("accuracy", 0.4), ("jsd", 0.6))
    ]
    folder = written(tmp_path / "t", usual, paper="meister2021", reasons=REASON.replace("wiegreffe", "meister")
        .replace("2019", "2021").replace("Table 2", "Table 5").replace("base", "unfrozen"))  # fmt: skip
    (folder / FILE).write_text(LARGER.replace("wiegreffe2019", "meister2021"), encoding="utf-8")
    change = varied(0).changed
    for jsd, counted in ((0.6, True), (0.1, False)):
        rows = [replace(one, value=v) for one, v in zip(usual, (0.79, jsd), strict=True)]
        write_varied(folder, [VariedRow(**asdict(one), variation="larger", changed=change) for one in rows])
        cells = [c for paper in read_reproduction(folder).papers for c in paper.cells if c.theirs.variant == "unfrozen"]
        cell = next(c for c in cells if c.theirs.measure == "accuracy" and c.tested is not None)
        assert cell.tested is not None
        assert cell.tested.counts is counted
        assert cell.tested.within is counted
    assert "not comparable: the adversary (unfrozen) is not far from the base" in markdown(folder)


@pytest.mark.parametrize("change", [("wiegreffe2019, table", "jain2019, table"), ("corpus: sst_jw", "corpus: imdb_jw")])
def test_a_reason_names_a_variation_of_its_own_paper_and_corpus(tmp_path: Path, change: tuple[str, str]) -> None:
    folder = folder_with(tmp_path, 0.7)
    reasons = REASON.replace(*change).replace(", variant: base", "")
    (folder / "reasons.yaml").write_text(reasons, encoding="utf-8")
    with pytest.raises(attentest.InputError, match="is of wiegreffe2019 on sst_jw"):
        read_reproduction(folder)


def test_a_corpus_has_the_name_that_its_study_gives_it(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(LARGER.replace("sst_jw", "sst"), encoding="utf-8")
    assert read_variations(tmp_path)["larger"].corpus == "sst_jw"


def test_a_reason_must_name_a_variation_that_is_there(tmp_path: Path) -> None:
    folder = written(tmp_path / "t", [f1(0, 0.7)], reasons=REASON)
    with pytest.raises(attentest.InputError, match=r"variation in reasons\.yaml"):
        read_reproduction(folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("3", "must be a list of variations"),
        ("- 3", "must have names with values"),
        ("[", "is not YAML"),
        (LARGER.replace("says", "say"), "'say'"),
        (LARGER.replace("{training: {hidden: 8}}", "8"), "`change` of a variation must be of the type dict"),
        (LARGER.replace("[bilstm+additive]", "[]"), "lacks `units`"),
        (LARGER.replace("  change: {training: {hidden: 8}}\n", ""), "'larger' changes nothing"),
        (LARGER.replace("wiegreffe2019", "wiegrefe2019"), "wiegreffe2019"),
        (LARGER.replace("sst_jw", "mars"), "corpus of wiegreffe2019"),
        (LARGER.replace("hidden", "hiden"), "the change of 'larger' cannot be made: .*'hiden'"),
        (LARGER.replace("{training: {hidden: 8}}", "{training: 5}"), "the change of 'larger' cannot be made"),
        (LARGER.replace("hidden: 8", "hidden: eight"), "the change of 'larger' cannot be made"),
        (LARGER.replace("{training: {hidden: 8}}", "{rows: many}"), "the change of 'larger' cannot be made"),
        (LARGER.replace("{training: {hidden: 8}}", "{trainings: {}}"), "'trainings' is not known"),
        (LARGER.replace("{training: {hidden: 8}}", "{training_on: {sst: {hidden: 8}}}"), "'sst' is not known"),
        (LARGER.replace("name: larger", "name: a b"), "must have no blanks, commas or slashes"),
        (LARGER.replace("[bilstm+additive]", "[null]"), "must have texts"),
        (LARGER + "  instead: {base: 3}\n", "must have texts"),
        (LARGER + "  instead: {base: a, other: a}\n", "names a variant twice"),
        (LARGER + "  seeds: 0\n", "must be from 1 to 1,000"),
        (LARGER + "  instead: {bsae: a}\n", "published variant of wiegreffe2019 'bsae'.*'base'"),
        (LARGER.replace("{training: {hidden: 8}}", "{seeds: [7]}"), "the change of 'larger' cannot have `seeds`"),
        (LARGER.replace("{training: {hidden: 8}}", "{deviations: {a: b}}"), "cannot have `deviations`"),
        (LARGER.replace("{training: {hidden: 8}}", "{training: {}}"), "'larger' changes nothing"),
        (LARGER + LARGER, "two variations are called 'larger'"),
    ],
)
def test_bad_variations_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(attentest.InputError, match=sentence):
        read_variations(tmp_path)


def test_variations_are_chosen_by_name() -> None:
    known = {name: variations.Variation(name, "", PAPER, "sst_jw", ("a",)) for name in ("one", "two")}
    names = {only: [one.name for one in chosen_variations([only], known)] for only in ("variations", "variations/two")}
    assert names == {"variations": ["one", "two"], "variations/two": ["two"]}
    assert len(chosen_variations([], known)) == 2
    assert chosen_variations(["wen2022"], known) == []
    assert list(chosen(["variations/two"])) == []
    with pytest.raises(attentest.InputError, match="variation"):
        chosen_variations(["variations/three"], known)


def test_a_variation_is_run_and_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "paper_study", lambda paper: TOY)
    monkeypatch.setattr(variations, "paper_study", lambda paper: TOY)
    folder, store = tmp_path / "tables", Store(tmp_path / "store")
    folder.mkdir()
    change: dict[str, Any] = {"training": {"hidden": 6}}
    variation = variations.Variation(
        "wider", "6 instead of 4.", PAPER, "planted", ("average+additive",), change, seeds=2
    )
    group = plan_variation(variation)
    assert {step.settings["hidden"] for step in group.plan if "hidden" in step.settings} == {6}
    assert [unit.seed for unit in left_of_variation(variation, group, folder)] == [0, 1]
    work = Work(group, list(group.units), 0, {}, variation=variation)
    assert work.name == f"variations/wider, {PAPER}/planted"
    assert run_work(work, store, Here, folder) == {}
    assert [(row.variation, row.seed, row.measure) for row in read_varied(folder)] == [
        ("wider", 0, "f1"),
        ("wider", 1, "f1"),
    ]
    assert read_rows(folder, PAPER) == []
    assert left_of_variation(variation, group, folder) == []
    mark_varied(variation, group, folder)
    assert count_varied_stale(variation, group, folder) == 0
    write_varied(folder, [replace(row, key="made by other code") for row in read_varied(folder)])
    assert count_varied_stale(variation, group, folder) == 2
    mark_varied(variation, group, folder)
    assert {row.stale for row in read_varied(folder)} == {"code"}
    other = replace(variation, change={"training": {"hidden": 7}})
    assert len(left_of_variation(other, plan_variation(other), folder)) == 2
    with pytest.raises(attentest.InputError, match="unit of"):
        plan_variation(replace(variation, units=("lstm",)))
    with pytest.raises(attentest.InputError, match="'wider' changes nothing for average"):
        plan_variation(replace(variation, change={"training": {"hidden": 4}}))


def test_a_variant_of_ours_takes_the_place_of_a_published_one() -> None:
    cells = [Cell(name, "f1", value, 0, 1) for name, value in (("fixed", 0.1), ("fixed, random", 0.2), ("base", 0.3))]
    found = [(cell.variant, cell.value) for cell in _in_place(cells, {"fixed": "fixed, random"})]
    assert found == [("fixed", 0.2), ("base", 0.3)]
    assert list(_in_place(cells, {})) == cells


def test_rows_of_a_variation_have_the_signature_of_all_others() -> None:
    assert asdict(varied(0.8)).keys() == {*asdict(f1(0, 0.8)), "variation", "changed"}
    assert issubclass(VariedRow, OurRow)


def test_rows_that_nobody_asks_for_are_removed_and_no_others(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, 0.7, 0.82, 0.81)
    asked = read_varied(folder)
    write_varied(folder, [*asked, varied(0.1, variation="gone"), varied(0.1, 2, changed="before")])
    assert len(read_varied(folder)) == 4
    remove_varied(read_variations(folder), folder)
    assert read_varied(folder) == asked


def test_the_docs_have_variations_that_can_be_planned() -> None:
    """Papers, corpora and changes are checked when they are read; units are those of the paper's tables."""
    assert read_reproduction(reproduce.FOLDER).papers
    for one in read_variations(reproduce.FOLDER).values():
        assert set(one.units) <= {row.unit for row in read_rows(reproduce.FOLDER, one.paper)}
