"""The page of any folder that attentest wrote: what is on it, where its links lead, and what is said of broken ones."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pyarrow as pa
import pytest
from dotted import dotted_corpus
from page_tree import Tree
from test_engine import Here

import attentest
from attentest.audits import Audit
from attentest.engine import Store
from attentest.files import read_table, remove, write_table
from attentest.measures.intervals import Estimate
from attentest.reports.write import write_report
from attentest.studies.expand import expand
from attentest.studies.run_study import run_planned
from attentest.studies.schema import Study
from attentest.trials import hold, make_trial, subject_of
from attentest.trials.charts.files import _converted
from attentest.trials.instances import SHOWN, instances

HARD = os.fsdecode("a b#1 100%20 é?&".encode())  # a folder's name with all that a link must hide


def broken_links(page: Path) -> list[Path]:
    tree = Tree.of(page.read_text(encoding="utf-8"))
    beside = {link for link in [*tree.values("href"), *tree.values("src")] if not link.startswith(("#", "data:"))}
    assert beside
    return [file for link in beside if not (file := page.parent / os.fsdecode(unquote_to_bytes(link))).is_file()]


@pytest.fixture(scope="session")
def with_trials(run: attentest.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder with two trials held; for reading only."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    shutil.copytree(run.path, folder)
    subject = subject_of(attentest.open_run(folder), texts=8)
    hold([make_trial("removal"), make_trial("permutation", permutations=3)], subject)
    return folder


@pytest.fixture
def mine(with_trials: Path, tmp_path: Path) -> Path:
    """A copy of it to write into, in a folder with a hard name."""
    return shutil.copytree(with_trials, tmp_path / HARD / "run")


@pytest.fixture
def audit(audited: Audit, tmp_path: Path) -> Path:
    return shutil.copytree(audited.folder, tmp_path / HARD / "audit")


def test_of_an_audit_it_is_the_same_again(audited: Audit, audit: Path) -> None:
    report, page = write_report(audit)
    assert page == audit / "report.html"
    assert report.lead == audited.report.lead
    assert [s.anchor for s in report.blocks[0].sections] == [s.anchor for s in audited.report.blocks[0].sections]
    assert report.blocks[0].instances == audited.report.blocks[0].instances
    assert broken_links(page) == []


def test_of_a_study_of_two_models(tmp_path: Path) -> None:
    models = ({"encoder": "average"}, {"encoder": "none"})
    training = {"epochs": 1, "dimension": 8, "hidden": 4}
    study = Study("two", corpora=("planted",), columns={"rows": 80}, models=models, training=training,
                  trials={"uniform": {}}, texts=5)  # fmt: skip
    out = tmp_path / HARD / "study"
    assert run_planned(expand(study), out, Here, Store(tmp_path / "store")).failed == {}
    report, page = write_report(out)
    assert (report.kind, len(report.blocks)) == ("study", 2)
    assert report.lead.startswith("Two models examined")
    assert len(report.figures) == 1  # both models in one
    assert broken_links(page) == []
    kept = json.loads((out / "verdict.json").read_text(encoding="utf-8"))
    assert list(kept["models"]) == [block.name for block in report.blocks]


def test_of_a_run_on_trial(mine: Path) -> None:
    report, page = write_report(mine)
    (block,) = report.blocks
    assert [section.name for section in block.sections] == ["permutation", "removal"]  # as trials are listed
    rulings = {r.criterion.name: r for verdict in block.verdicts for r in verdict.rulings}
    assert rulings["faithful.removal"].answer != "not tested"
    assert rulings["stable.seeds"].answer == "not tested"
    assert block.first is not None
    assert block.first.scores[0].about == f"accuracy on all {len(attentest.open_run(mine).predictions)} test texts"
    assert "There are no controls, which the audit of a corpus trains" in report.notes[-1]
    assert len(block.instances) == SHOWN
    assert broken_links(page) == []
    made = read_table(mine / "heat-maps" / "instances.parquet")
    assert made.equals(instances(subject_of(attentest.open_run(mine))))


@pytest.fixture
def no_ink(monkeypatch: pytest.MonkeyPatch) -> None:
    """No chart can be drawn."""
    import vl_convert

    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("no ink")

    _converted.cache_clear()
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", refuse)


@pytest.mark.usefixtures("no_ink")
def test_a_study_without_pictures_is_whole(tmp_path: Path) -> None:
    models = ({"encoder": "average"}, {"encoder": "none"})
    training = {"epochs": 1, "dimension": 8, "hidden": 4}
    study = Study("two", corpora=("planted",), columns={"rows": 80}, models=models, training=training,
                  trials={"uniform": {}}, texts=5)  # fmt: skip
    outcome = run_planned(expand(study), tmp_path / "study", Here, Store(tmp_path / "store"))
    assert outcome.failed == {}
    report, page = write_report(tmp_path / "study")
    (figure,) = report.figures
    assert set(figure.files) == {"CSV"}
    assert f"{figure.title}: The chart cannot be drawn as SVG: no ink." in "\n".join(report.notes)
    assert "<td" in page.read_text(encoding="utf-8").split('id="overview-figure-1"')[1].split("</figure>")[0]
    assert broken_links(page) == []


def test_a_finding_that_was_half_saved_over_another_is_told(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    subject = subject_of(attentest.open_run(mine), texts=5)
    with monkeypatch.context() as patched:
        patched.setattr("attentest.trials.finding.save_charts", killed)
        with pytest.raises(KeyboardInterrupt):
            hold([make_trial("removal")], subject)
    with pytest.raises(attentest.InputError, match=r"removal/table\.parquet does not belong to the finding\.json"):
        write_report(mine)
    draft = mine / "trials/removal/.table.csv.99999999.attentest"  # beyond the numbers of processes
    draft.touch()
    hold([make_trial("removal")], subject)
    assert not draft.exists()
    assert {section.name for section in write_report(mine)[0].blocks[0].sections} == {"removal", "permutation"}


def test_a_finding_without_the_hash_of_its_table_is_of_an_earlier_version(mine: Path) -> None:
    file = mine / "trials/removal/finding.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    del content["table"]
    file.write_text(json.dumps(content), encoding="utf-8")
    assert write_report(mine)[0].blocks[0].sections[0].figures


@pytest.mark.usefixtures("no_ink")
def test_charts_that_could_not_be_drawn_are_tables(mine: Path) -> None:
    hold([make_trial("permutation", permutations=3)], subject_of(attentest.open_run(mine), texts=8))
    report, page = write_report(mine)
    before, undrawn = ({s.name: s for s in report.blocks[0].sections}[name] for name in ("removal", "permutation"))
    assert all(figure.svg == "" and set(figure.files) == set() for figure in before.figures)  # though it has pictures
    assert all(figure.svg == "" and set(figure.files) == {"CSV"} for figure in undrawn.figures)
    assert "The chart cannot be drawn as SVG: no ink. Its data is given as a table instead." in undrawn.notes[-1]
    text = page.read_text(encoding="utf-8")
    assert '<div class="picture"><svg' not in text
    assert text.count("This chart could not be drawn; ") == len(before.figures) + len(undrawn.figures) > 1
    assert "no ink" in text
    assert broken_links(page) == []


def test_heat_maps_of_a_run_are_made_once_and_anew_after_another_training(mine: Path) -> None:
    write_report(mine)
    table = mine / "heat-maps" / "instances.parquet"
    made = table.stat().st_mtime_ns
    write_report(mine)
    assert table.stat().st_mtime_ns == made
    later = table.stat().st_mtime + 10
    os.utime(mine / "result.json", (later, later))
    write_report(mine)
    assert table.stat().st_mtime_ns != made


def test_of_a_run_without_trials(run: attentest.Run, tmp_path: Path) -> None:
    folder = shutil.copytree(run.path, tmp_path / "bare", ignore=shutil.ignore_patterns("trials"))
    report, page = write_report(folder)
    assert report.blocks[0].verdicts == []
    assert report.blocks[0].sections == []
    assert len(report.blocks[0].instances) == SHOWN
    assert "attentest trial all" in report.notes[-1]
    assert not (folder / "verdict.json").exists()
    assert broken_links(page) == []


def test_only_the_usual_site_of_a_hierarchical_model_is_judged(tmp_path: Path) -> None:
    """Both findings are shown, and that of the words does not stand in for that of the sentences."""
    run = attentest.train(
        dotted_corpus(120), tmp_path / "han", structure="hierarchical", epochs=2, dimension=8, hidden=4
    )
    subject = subject_of(run, texts=20)
    found = {site: hold([make_trial("permutation")], replace(subject, site=site))[0] for site in ("sentence", "word")}
    figures = [finding.summary["mean of median TVD"] for finding in found.values()]
    assert figures[0] != figures[1]
    (block,) = write_report(run.path)[0].blocks
    assert len(block.sections) == 2
    (judged,) = [r.figure for v in block.verdicts for r in v.rulings if r.figure is not None]
    assert judged == figures[0]


def test_of_a_trial(mine: Path) -> None:
    report, page = write_report(mine / "trials" / "removal")
    (section,) = report.blocks[0].sections
    assert (report.kind, report.title, report.lead) == ("trial", "Trial removal", section.answer)
    assert report.blocks[0].verdicts == []
    assert not (mine / "trials" / "removal" / "verdict.json").exists()
    assert broken_links(page) == []


@pytest.mark.parametrize("place", ["pages/100% #1/page.html", "page.html", "audit/findings/page.html"])
def test_a_page_elsewhere_links_to_the_folder(audit: Path, place: str) -> None:
    kept = (audit / "verdict.json").read_text(encoding="utf-8")
    report, page = write_report(audit, audit.parent / place, {"faithful.gradient": 0.01})
    assert page == audit.parent / place
    assert broken_links(page) == []
    assert any(f.startswith("..") or "audit/" in f for f in report.files.values())
    assert (audit / "verdict.json").read_text(
        encoding="utf-8"
    ) == kept  # a page elsewhere is no new verdict of this folder


def test_relative_folders_link_as_well(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mine.parent)
    for folder, page in (("run", None), ("run/../run", "page.html"), (".", None)):
        if folder == ".":
            monkeypatch.chdir(mine)
        _, made = write_report(Path(folder), None if page is None else Path(page))
        assert broken_links(made) == []


def test_thresholds_are_kept_until_others_are_given(mine: Path) -> None:
    def ruling(thresholds: dict[str, float] | None) -> Any:
        report, _ = write_report(mine, thresholds=thresholds)
        rulings = [r for v in report.blocks[0].verdicts for r in v.rulings]
        return next(r for r in rulings if r.criterion.name == "used.permutation")

    usual = ruling(None)
    assert usual.threshold == 0.1
    changed = ruling({"used.permutation": 0.9})
    assert changed.threshold == 0.9
    assert json.loads((mine / "verdict.json").read_text(encoding="utf-8"))["thresholds"] == {"used.permutation": 0.9}
    assert ruling(None) == changed
    assert ruling({}) == usual
    assert json.loads((mine / "verdict.json").read_text(encoding="utf-8"))["thresholds"] == {}


def text(content: str) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        file.write_text(content)

    return write


def parquet(table: pa.Table) -> Callable[[Path], None]:
    return lambda file: write_table(file, table)


def half(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


GARBAGE = {"empty": text(""), "a list": text("[1]"), "null": text("null"), "{}": text("{}"), "half": half}
OTHER = parquet(pa.table({"a": [1]}))


@pytest.mark.parametrize("damage", GARBAGE)
@pytest.mark.parametrize("name", ["summary.json", "verdict.json", "findings/*-removal/finding.json"])
def test_damaged_files_of_an_audit_are_told(audit: Path, name: str, damage: str) -> None:
    (file,) = audit.glob(name)
    GARBAGE[damage](file)
    with pytest.raises(attentest.InputError, match=r"is damaged"):
        write_report(audit)


def without(content: Any, *path: str | int) -> None:
    for key in path[:-1]:
        content = content[key]
    del content[path[-1]]


SUMMARY = ("study", "title", "kind", "budget", "rows", "notes", "missing", "directions", "findings", "blocks")


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        *(("summary.json", (key,)) for key in SUMMARY),
        *(("summary.json", ("findings", 0, key)) for key in ("block", "kind", "name", "folder")),
        *(("findings/*-removal/finding.json", (key,)) for key in ("kind", "trial", "summary", "signature", "notes")),
        *(("findings/*-removal/finding.json", ("summary", "mean ΔJS", key)) for key in ("value", "n")),
    ],
)
def test_entries_that_are_missing_are_told(audit: Path, name: str, lost: tuple[Any, ...]) -> None:
    (file,) = audit.glob(name)
    content = json.loads(file.read_text(encoding="utf-8"))
    without(content, *lost)
    file.write_text(json.dumps(content))
    with pytest.raises(attentest.InputError, match=r"another version of attentest: .*`"):
        write_report(audit)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("findings/*-removal/table.parquet", Path.unlink),
        ("findings/*-removal/table.parquet", half),
        ("findings/*-removal/table.parquet", OTHER),
        ("findings/*-removal/finding.json", Path.unlink),
        ("heat-maps/*.parquet", Path.unlink),
        ("heat-maps/*.parquet", half),
        ("heat-maps/*.parquet", OTHER),
    ],
)
def test_files_that_are_missing_or_foreign_are_told(audit: Path, name: str, damage: Callable[..., Any]) -> None:
    damage(sorted(audit.glob(name))[0])
    with pytest.raises(attentest.InputError):
        write_report(audit)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("run.json", text("{}")),
        ("result.json", Path.unlink),
        ("result.json", text("[]")),
        ("predictions.parquet", OTHER),
        ("attention.parquet", half),
        ("attention.parquet", lambda file: write_table(file, read_table(file).slice(1))),
        ("model.safetensors", half),
        ("vocabulary.json", text("[]")),
        ("trials/removal/finding.json", text("{}")),
        ("heat-maps", text("a file")),
    ],
)
def test_damaged_runs_are_told(mine: Path, name: str, damage: Callable[..., Any]) -> None:
    damage(mine / name)
    with pytest.raises(attentest.InputError):
        write_report(mine)


def test_foreign_folders_are_told(tmp_path: Path) -> None:
    with pytest.raises(attentest.InputError, match="there is no such folder"):
        write_report(tmp_path / "nothing")
    with pytest.raises(attentest.InputError, match="is not the folder of an audit, a study, a run or a trial"):
        write_report(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(attentest.InputError, match="there is no such folder"):
        write_report(tmp_path / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]  # nothing was left behind


def test_places_that_a_page_cannot_have_are_told(mine: Path) -> None:
    (mine.parent / "file").write_text("")
    for place in (mine.parent / "file" / "page.html", mine.parent):
        with pytest.raises(attentest.InputError, match=r"cannot be (made|written)"):
            write_report(mine, place)


def test_trials_of_a_run_that_lay_in_the_folder_before_are_left_out(mine: Path) -> None:
    place = mine / "trials" / "removal" / "finding.json"
    finding = json.loads(place.read_text(encoding="utf-8"))
    finding["signature"]["model"]["encoder"] = "cnn"
    place.write_text(json.dumps(finding))
    report, _ = write_report(mine)
    assert [section.name for section in report.blocks[0].sections] == ["permutation"]
    assert report.notes[-1] == "Left out, because they are of an earlier run in this folder: removal."
    rulings = {r.criterion.name: r for v in report.blocks[0].verdicts for r in v.rulings}
    assert rulings["faithful.removal"].why == "the trial removal was not run"


def test_the_verdict_beside_a_page_is_that_pages(mine: Path, tmp_path: Path) -> None:
    chosen = {"used.permutation": 0.7}
    write_report(mine, mine / "report.html", chosen)
    assert json.loads((mine / "verdict.json").read_text(encoding="utf-8"))["thresholds"] == chosen
    write_report(mine, tmp_path / "elsewhere.html", {"used.permutation": 0.8})
    assert json.loads((mine / "verdict.json").read_text(encoding="utf-8"))["thresholds"] == chosen


def test_a_page_elsewhere_writes_nothing_into_the_folder(mine: Path, audit: Path, tmp_path: Path) -> None:
    for folder in (mine, audit):
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        _, page = write_report(folder, tmp_path / "pages" / folder.name / "page.html")
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
        assert broken_links(page) == []
        assert {path.name for path in page.parent.iterdir()} == {"page.html", "page_files"}


def test_an_audit_that_was_stopped_is_told_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(attentest.InputError, match="is not finished"):
        write_report(tmp_path)


def test_an_experiment_that_failed_is_not_said_to_be_left_out(audit: Path) -> None:
    summary = json.loads((audit / "summary.json").read_text(encoding="utf-8"))
    block = next(iter(summary["blocks"]))
    summary["findings"] = [row for row in summary["findings"] if row["name"] != "guides"]
    summary["failed"] = [{"block": block, "kind": "experiment", "name": "guides"}]
    (audit / "summary.json").write_text(json.dumps(summary))
    (audit / "published.json").unlink()  # it would say that the summary was changed
    report, _ = write_report(audit)
    rulings = {r.criterion.name: r for v in report.blocks[0].verdicts for r in v.rulings}
    assert rulings["informative.guide"].why == "the experiment guides failed"


def test_a_page_elsewhere_leaves_files_of_the_user_alone(mine: Path, tmp_path: Path) -> None:
    place = tmp_path / "pages"
    (place / "notes_files").mkdir(parents=True)
    (place / "notes_files" / "thesis.md").write_text("precious")
    (place / ".notes_files.99999999.attentest").mkdir()
    write_report(mine, place / "notes.html")
    names = {path.name for path in (place / "notes_files").iterdir()}
    assert names == {"thesis.md", "instances.csv", "instances.parquet"}
    assert {path.name for path in place.iterdir()} == {"notes.html", "notes_files"}


@pytest.mark.parametrize("name", ["verdict.json", "heat-maps", "report.html"])
def test_what_a_page_of_a_run_is_made_with_is_made_again(name: str, mine: Path) -> None:
    write_report(mine)
    remove(mine / name)
    write_report(mine)
    assert (mine / name).exists()


@pytest.mark.parametrize("name", ["verdict.json", "report.html"])
def test_verdict_and_page_of_an_audit_are_made_again(name: str, audit: Path) -> None:
    (audit / name).write_text('{"thresholds": {}}')
    write_report(audit)
    assert len((audit / name).read_text(encoding="utf-8")) > 100


def test_a_model_of_an_audit_whose_switch_was_cut_short_is_settled_first(audit: Path) -> None:
    model = audit / "model"
    (audit / ".next" / "model").mkdir(parents=True)
    (model / "run.json").replace(audit / ".next" / "model" / "run.json")
    shutil.copy(audit / "published.json", audit / ".next")
    (audit / ".next" / "replaced.json").write_text('["model/run.json"]')
    assert attentest.open_run(model).finished
    assert not (audit / ".next").exists()


def add_controls(audit: Path, rows: list[dict[str, Any]]) -> Path:
    """As if the experiment controls had been run; the path of its table."""
    folder = audit / "findings" / "controls"
    shutil.copytree(next(audit.glob("findings/*-removal")), folder)
    write_table(folder / "table.parquet", pa.Table.from_pylist(rows))
    (audit / "published.json").unlink()  # the list of files as they were
    for file, change in ((folder / "finding.json", as_controls), (audit / "summary.json", with_controls)):
        content = json.loads(file.read_text(encoding="utf-8"))
        change(content)
        file.write_text(json.dumps(content), encoding="utf-8")
    return folder / "table.parquet"


def as_controls(finding: dict[str, Any]) -> None:
    finding |= {"kind": "experiment", "trial": "controls", "table": ""}
    about = ("accuracy", "decisions that follow the planted words", "weight on the planted words above chance")
    figure = next(iter(finding["summary"].values()))
    finding["summary"] = {f"{what}, {label}": figure for what in about for label in ("positive", "null", "deceptive")}


def with_controls(summary: dict[str, Any]) -> None:
    summary["findings"] = [ref for ref in summary["findings"] if ref["name"] != "controls"]
    first = summary["findings"][0]
    summary["findings"].append({**first, "kind": "experiment", "name": "controls", "folder": "findings/controls"})


def control(label: str, **figure: Any) -> dict[str, Any]:
    entry = {"label": label, "kind": "trial", "name": "permutation", "entry": "mean of median TVD"}
    return {**entry, "value": 0.4, "low": 0.3, "high": 0.5, "n": 60, **figure}


def test_what_controls_got_stands_next_to_the_figure(audit: Path) -> None:
    rows = [control("positive"), control("<b>null</b>", value=0.01, low=None, high=None), control("x", value=None)]
    add_controls(audit, rows)
    report, page = write_report(audit)
    rulings = [r for v in report.blocks[0].verdicts for r in v.rulings if r.criterion.name == "used.permutation"]
    assert list(rulings[0].controls) == ["positive", "<b>null</b>"]  # a figure that is not defined is none
    assert rulings[0].controls["positive"] == Estimate(0.4, 0.3, 0.5, 60)
    written = page.read_text(encoding="utf-8")
    assert "<bdi>positive</bdi> control 0.400 [0.300, 0.500]" in written
    assert "<bdi>&lt;b&gt;null&lt;/b&gt;</bdi> control 0.010" in written
    assert "ontrols were left out" not in written


@pytest.mark.parametrize(
    "rows",
    [
        [{"a": 1}],
        [control("positive", n=None)],
        [control("positive", n=-1)],
        [control("positive", n=1e300)],
        [control("positive", value="much")],
        [control(None)],  # type: ignore[arg-type]
    ],
)
def test_damaged_controls_are_told(audit: Path, rows: list[dict[str, Any]]) -> None:
    table = add_controls(audit, rows)
    with pytest.raises(attentest.InputError, match=re.escape(f"{table} is damaged")):
        write_report(audit)


def drop(audit: Path, names: Collection[str]) -> None:
    """As an audit of an earlier version is: without these findings."""
    (audit / "published.json").unlink()  # the list of files as they were
    file = audit / "summary.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    content["findings"] = [ref for ref in content["findings"] if ref["name"] not in names]
    file.write_text(json.dumps(content), encoding="utf-8")


def test_an_audit_of_an_earlier_version_is_judged_again_and_says_what_it_lacks(audit: Path) -> None:
    drop(audit, ("erasure", "controls"))
    report, page = write_report(audit)
    (note,) = [note for note in report.notes if note.startswith("An earlier version of attentest made this audit")]
    assert "without the trials erasure" in note
    assert "run the same audit again" in note
    rulings = {r.criterion.name: r for v in report.blocks[0].verdicts for r in v.rulings}
    assert rulings["faithful.comprehensiveness"].why == "the trial erasure was not run"
    (left_out,) = [note for note in report.notes if "ontrols" in note]
    assert left_out.startswith("Controls were left out (by choice, or in an audit of an earlier version)")
    assert page.read_text(encoding="utf-8").count("Controls were left out") == 1


@pytest.mark.parametrize(
    ("labels", "means"),
    [
        (("positive", "null"), "The tests were checked with the other controls only."),
        (("null", "deceptive"), "The tests were checked with no controls: nothing shows how well they work here."),
    ],
)
def test_a_control_that_failed_its_proof_is_told_at_the_top(audit: Path, labels: Sequence[str], means: str) -> None:
    table = add_controls(audit, [control(label) for label in labels])
    file = table.with_name("finding.json")
    finding = json.loads(file.read_text(encoding="utf-8"))
    why = "The other control is left out: its decisions do not follow the planted words."
    file.write_text(json.dumps({**finding, "notes": [why, "Something else."]}), encoding="utf-8")
    report, _ = write_report(audit)
    assert f"{why} {means}" in report.notes
    first = report.blocks[0].first
    assert first is not None
    assert first.because[-1] == f"{why} {means}"


def test_controls_that_hold_need_no_note(audit: Path) -> None:
    add_controls(audit, [control("positive"), control("null")])
    assert not [note for note in write_report(audit)[0].notes if "left out:" in note]


def test_thresholds_of_an_earlier_version_that_do_not_count_are_named(audit: Path) -> None:
    old = {"needed.inference": 0.2, "exclusive.model": 0.05, "exclusive.texts": 0.4}
    (audit / "verdict.json").write_text(json.dumps({"thresholds": old}), encoding="utf-8")
    other, _ = write_report(audit, audit.parent / "other.html", {"used.decisions": 0.2})
    report, _ = write_report(audit)
    (note,) = [note for note in report.notes if note.startswith("Thresholds that were set for an earlier version")]
    assert note.endswith("now: needed.inference, exclusive.model.")
    rulings = {r.criterion.name: r for v in report.blocks[0].verdicts for r in v.rulings}
    assert (rulings["exclusive.texts"].threshold, rulings["exclusive.model"].threshold) == (0.4, 0.0)
    assert not [note for note in other.notes if "earlier version do not count" in note]  # they were replaced
