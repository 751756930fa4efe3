"""The interface as people type it, in a plain program and in a notebook."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from quick import ON_RUNS
from test_engine import Here, Notes

import attentest
from attentest import audits
from attentest.engine import choose
from attentest.measures.intervals import mean
from attentest.studies.audit import BUDGETS, Budget
from attentest.studies.verdict import DEFINITIONS
from attentest.trials import subject_of
from attentest.trials.base import Columns, Conclusion, SimpleTrial
from attentest.trials.finding import one_line
from attentest.trials.reading import Reading

SMALL = Budget(
    "trials alone", rows=None, tokens=None, texts=12, training={"epochs": 1}, trials={"information": {"runs": 2}}
)
SIZE: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4}
NAMES = ("to_pandas", "show", "save")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Audits that train one model, in this process, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTENTEST_STORE", str(tmp_path / "store"))
    monkeypatch.setitem(BUDGETS, "quick", SMALL)
    monkeypatch.setattr(choose, "LocalPool", lambda store, workers: Here(store))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An audit that tests only read."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(BUDGETS, "quick", SMALL)
        patched.setattr(choose, "LocalPool", lambda store, workers: Here(store))
        corpus = attentest.load("planted", rows=120)
        attentest.audit(corpus, folder / "audit", store=folder / "store", **SIZE)
        yield folder


@pytest.fixture(scope="session")
def run(run: attentest.Run, tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    """A copy, in whose folder findings do not disturb other tests."""
    return run.save(tmp_path_factory.mktemp("python") / "small")


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a notebook was told to display."""
    shown: list[Any] = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.display = shown.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_public_names_are_imported_when_they_are_used() -> None:
    for name in attentest.__all__:
        assert name in dir(attentest)
        assert callable(getattr(attentest, name))
    code = "import sys, attentest; print(*[n for n in ('torch', 'sklearn', 'pandas', 'rich') if n in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == ""


def test_a_finding_is_one_line_with_its_interval_and_signature(run: attentest.Run) -> None:
    finding = run.trial("permutation", texts=20, permutations=5)
    number = finding.summary["mean of median TVD"]
    fingerprint = run.settings["corpus"]["fingerprint"][:6]
    assert str(finding) == (
        f"permutation {number.value:.3f} [{number.low:.3f}, {number.high:.3f}] | corpus:planted@{fingerprint} "
        f"model:bilstm+additive+softmax seed:3 texts:20 permutations:5 trial_seed:0 attentest:{attentest.__version__}"
    )
    assert run.trial("uniform", texts=20).number == run.trial("uniform", texts=20).summary["difference, uniform"]
    assert one_line({"settings": {"measures": ("a b", "c")}}) == "measures:a_b+c"
    assert one_line({"corpus": "x", "model": {"encoder": "cnn", "structure": "hierarchical"}, "site": "word"}) == (
        "corpus:x model:cnn structure:hierarchical site:word"
    )


@pytest.mark.parametrize("name", [name for name in ON_RUNS if name != "information"])
def test_the_number_of_every_trial_is_in_its_summary(run: attentest.Run, name: str) -> None:
    finding = run.trial(name, texts=12)
    assert finding.number is not None
    assert str(finding).startswith(f"{name} {finding.number} | ")


def test_a_finding_as_frame_on_screen_and_on_disk(
    run: attentest.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], notebook: list[Any]
) -> None:
    finding = run.trial("adversary", texts=12)
    frame = finding.to_pandas()
    assert len(frame) == 12
    assert list(frame.columns) == finding.table.column_names
    finding.show()
    assert notebook == [finding]
    assert capsys.readouterr().out == ""
    saved = finding.save(str(tmp_path / "finding"))
    assert json.loads((tmp_path / "finding" / "finding.json").read_text(encoding="utf-8"))["answer"] == finding.answer
    assert Path(saved.files["csv"]).is_file()


def test_elsewhere_a_finding_is_printed_and_brackets_are_no_markup(
    run: attentest.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = run.trial("permutation", texts=12)
    finding.show()
    said = capsys.readouterr().out
    first = finding.summary["mean of median TVD"]
    assert f"[{first.low:.3f}, {first.high:.3f}]" in said
    assert "[0, .25) class" in said


@pytest.mark.parametrize("name", ["permutation", "removal"])
def test_a_figure_is_saved_as_picture_or_specification(run: attentest.Run, tmp_path: Path, name: str) -> None:
    figure = run.trial(name, texts=12).figure
    assert figure is not None
    assert figure.save(tmp_path / "a" / "x.svg").read_text(encoding="utf-8").startswith("<svg")
    assert figure.save(tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(figure.save(tmp_path / "x.json").read_text(encoding="utf-8")) == figure.to_dict()
    assert set(figure._repr_mimebundle_()) == {"application/vnd.vegalite.v6+json", "image/svg+xml", "text/plain"}
    with pytest.raises(attentest.InputError, match=r"as \.svg, \.png or \.json, not as 'x\.pdf'"):
        figure.save("x.pdf")


def test_without_pandas_a_message_says_what_to_install(run: attentest.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(attentest.InputError, match="pip install pandas"):
        run.to_pandas()


@dataclass(frozen=True)
class Longest(SimpleTrial):
    """A trial of one's own: is the heaviest token the first?"""

    name: ClassVar[str] = "first-token"
    question: ClassVar[str] = "Is the first token the heaviest?"
    source: ClassVar[str] = "here"
    how_to_read: ClassVar[str] = "Near 1: nearly always."

    place: int = 0

    def examine(self, reading: Reading) -> Columns:
        return {"first": (reading.attention.argmax(1) == self.place).cpu().numpy().astype(float)}

    def conclude(self, table: pa.Table) -> Conclusion:
        share = mean(table["first"].to_numpy())
        return Conclusion(f"In {share} of the texts it is.", {"share": share})


class NoDataclass(SimpleTrial):
    name: ClassVar[str] = "no-dataclass"
    question: ClassVar[str] = "?"
    examine = Longest.examine
    conclude = Longest.conclude


@dataclass(frozen=True)
class Nameless(SimpleTrial):
    needed: int

    examine = Longest.examine
    conclude = Longest.conclude


def test_a_trial_and_its_subject_in_every_form(run: attentest.Run) -> None:
    usual = attentest.trial("flips", run, texts=12)
    for first, second in (
        ("flips", str(run.path)),
        ("flips", run.path),
        (run, "flips"),
        (str(run.path), "flips"),
        ("flips", subject_of(run, texts=12)),
    ):
        texts: dict[str, Any] = {} if isinstance(second, attentest.Subject) else {"texts": 12}
        assert attentest.trial(first, second, **texts).table == usual.table


def test_a_trial_of_ones_own(run: attentest.Run) -> None:
    found = [
        attentest.trial(Longest(place=1), run, texts=12),
        attentest.trial(run, Longest(place=1), texts=12),
        attentest.trial(Longest, run, texts=12, place=1),
        run.trial(Longest(place=1), texts=12),
    ]
    assert len({str(finding) for finding in found}) == 1
    assert found[0].signature["settings"] == {"place": 1}
    assert (run.path / "trials" / "first-token" / "finding.json").is_file()
    shutil.rmtree(run.path / "trials" / "first-token")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("permutaton", "RUN"), "did you mean 'permutation'"),
        (("permutation", 3), "A trial needs a run, its folder or a Subject, not int"),
        ((3, "RUN"), "A trial is a name or a Trial, not int; choose from: uniform"),
        (("permutation", "nothing"), "nothing: there is no such run folder"),
        (("permutation", torch.nn.Linear(1, 1)), "not Linear. .*encode, attend and decode"),
        ((NoDataclass(), "RUN"), "NoDataclass is not a dataclass; .*add @dataclass"),
        ((Nameless(3), "RUN"), "Nameless has no name and no question"),
    ],
)
def test_what_cannot_be_put_on_trial(given: tuple[Any, Any], message: str, run: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match=message):
        attentest.trial(*(run if part == "RUN" else part for part in given))


def test_settings_of_an_instance_and_texts_of_a_subject_are_its_own(run: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match="already has its settings; place cannot be added"):
        run.trial(Longest(), place=1)
    with pytest.raises(attentest.InputError, match="did you mean 'place'"):
        run.trial(Longest, plce=1)
    with pytest.raises(attentest.InputError, match="`texts` only applies to runs"):
        attentest.trial("flips", subject_of(run), texts=3)


def test_a_run_as_frame_on_screen_and_on_disk(
    run: attentest.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = run.to_pandas()
    assert len(frame) == run.predictions.num_rows
    assert {"id", "label", "predicted", "probability", "token", "weight"} <= set(frame.columns)
    assert all(abs(sum(weights) - 1) < 1e-5 for weights in frame["weight"])
    assert run.show(2) is None  # type: ignore[func-returns-value]  # a notebook shows what is returned
    assert capsys.readouterr().out.count("heaviest:") == 2
    copy = run.save(tmp_path / "copy")
    assert copy.metrics == run.metrics
    assert copy.trial("flips", texts=12).table == run.trial("flips", texts=12).table
    with pytest.raises(attentest.InputError, match="holds files; save into a new folder"):
        run.save(tmp_path / "copy")


def test_a_temporary_run_is_kept_by_saving_it(corpus: attentest.Corpus, tmp_path: Path) -> None:
    kept = attentest.train(corpus, **SIZE).save(tmp_path / "kept")
    assert kept.finished
    assert not kept.is_temporary
    assert attentest.open_run(tmp_path / "kept").metrics == kept.metrics


def test_heat_maps_as_frame_and_file(run: attentest.Run, tmp_path: Path, notebook: list[Any]) -> None:
    heatmaps = run.heatmaps(2)
    frame = heatmaps.to_pandas()
    assert frame.groupby("id")["weight"].sum().tolist() == pytest.approx([1, 1], abs=1e-5)
    assert heatmaps.save(tmp_path / "a.html").read_text(encoding="utf-8").count("<mark") > 2
    assert heatmaps.save(tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(attentest.InputError, match=r"as \.html or \.svg"):
        heatmaps.save("a.png")
    run.show(2)
    assert len(notebook) == 1


@pytest.mark.parametrize("structure", ["flat", "hierarchical"])
def test_probabilities_of_many_texts_are_those_of_each(corpus: attentest.Corpus, structure: str) -> None:
    run = attentest.train(corpus, structure=structure, **SIZE)
    texts = [str(text) for text in corpus.table["text"].to_pylist()[:70]] + ["one. two three! four", "x"]
    together = run.probabilities(texts)
    alone = np.array([heatmap.probabilities for heatmap in run.attend(texts)])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert run.probabilities(["", "zzz"])[0] == pytest.approx(run.probabilities(["zzz"])[0], abs=1e-6)
    assert run.probabilities([]).shape == (0, 2)


def test_models_of_pairs_read_no_single_texts() -> None:
    run = attentest.train(attentest.load("babi1-generated", rows=60), **SIZE)
    with pytest.raises(attentest.InputError, match="cannot read these texts"):
        run.probabilities(["where is Mary?"])


def test_an_audit_of_a_corpus_in_memory_resumes(corpus: attentest.Corpus, tmp_path: Path) -> None:
    found = attentest.audit(corpus, **SIZE)
    assert found.folder == Path("audit")
    assert found.failed == {}
    assert (tmp_path / "audit" / "report.html").is_file()
    copy = replace(corpus, origin={})  # the same texts, read once more
    again = attentest.audit(copy, **SIZE)
    assert again.outcome.done == 0
    assert again.as_dict() == found.as_dict()


def test_another_corpus_or_other_settings_do_not_overwrite_an_audit(shared: Path, tmp_path: Path) -> None:
    folder, store = tmp_path / "audit", shared / "store"
    shutil.copytree(shared / "audit", folder)
    before = (folder / "summary.json").read_bytes()
    corpus = attentest.load("planted", rows=120)
    for other, given, message in (
        (corpus, {**SIZE, "hidden": 6}, r"with other settings \(hidden 4 instead of 6\)"),
        (corpus, {**SIZE, "texts": 5}, r"with other settings \(texts None instead of 5\)"),
        (corpus, {**SIZE, "budget": "standard"}, r"\(budget quick instead of standard\)"),
        (corpus, {**SIZE, "encoder": "cnn"}, r"\(encoder None instead of cnn\)"),
        (attentest.load("planted", rows=130), SIZE, "holds the audit of planted, made of planted@"),
        ("babi1-generated", SIZE, "holds the study audit of planted"),
    ):
        with pytest.raises(attentest.InputError, match=f"{message}.*`out`, or replace it with `overwrite=True`"):
            attentest.audit(other, folder, store=store, **given)
    assert (folder / "summary.json").read_bytes() == before
    attentest.audit(corpus, folder, store=store, thresholds={"used.accuracy": 0.5}, **SIZE)  # is judged again
    new = attentest.audit(corpus, folder, store=store, overwrite=True, **{**SIZE, "hidden": 6})
    assert attentest.open_run(new.folder).settings["model"]["hidden"] == 6


def test_files_that_are_not_an_audit_are_never_overwritten(corpus: attentest.Corpus, tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / "thesis.tex").write_text("years of work")
    with pytest.raises(attentest.InputError, match="holds files that are not a study; choose another folder"):
        attentest.audit(corpus, overwrite=True, **SIZE)


def test_an_audit_of_a_file_with_columns_as_for_load(tmp_path: Path) -> None:
    rows = [f"a {word} film {i},{stars}" for i in range(20) for word, stars in (("good", 5), ("bad", 1))]
    (tmp_path / "reviews.csv").write_text("\n".join(["body,stars", *rows]))
    given: dict[str, Any] = {"text": "body", "label": "stars", **SIZE}
    planned = audits.plan("reviews.csv", **given)
    assert next(step.name for step in planned.plan) == "prepare reviews"
    assert not (tmp_path / "audit").exists()
    found = attentest.audit("reviews.csv", "audits/a", **given)
    assert found.failed == {}
    assert attentest.open_run("audits/a").classes == ["1", "5"]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_texts_in_memory_are_audited_with_columns_as_for_load(make: Any) -> None:
    rows = [(f"a {word} film {i}", stars) for i in range(20) for word, stars in (("good", 5), ("bad", 1))]
    columns = {"body": [text for text, _ in rows], "stars": [stars for _, stars in rows]}
    found = attentest.audit(make(columns), text="body", label="stars", **SIZE)
    assert found.failed == {}
    assert attentest.open_run(found.folder).classes == ["1", "5"]
    again = attentest.audit(attentest.load(make(columns), text="body", label="stars"), **SIZE)
    assert again.outcome.done == 0
    with pytest.raises(attentest.InputError, match=r"no column 'boddy'.*with `text`"):
        attentest.audit(make(columns), text="boddy", label="stars")


def test_run_audit_and_audit_of_a_run_are_the_same(run: attentest.Run, tmp_path: Path) -> None:
    found = run.audit(texts=12)
    again = attentest.audit(run, texts=12)
    by_path = attentest.audit(run.path, texts=12)
    assert [again.outcome.done, by_path.outcome.done] == [0, 0]
    assert found.as_dict() == again.as_dict() == by_path.as_dict()


def test_a_run_without_a_folder_is_audited_again_from_the_store(corpus: attentest.Corpus) -> None:
    first = attentest.train(corpus, seed=1, **SIZE).audit()
    again = attentest.train(corpus, seed=1, **SIZE).audit()
    assert again.outcome.done == 0
    assert first.as_dict() == again.as_dict()
    with pytest.raises(attentest.InputError, match=r"holds the study audit of planted bilstm .* seed 1"):
        attentest.train(corpus, seed=2, **SIZE).audit()


def test_the_audited_model_is_reached_from_the_folder(shared: Path, tmp_path: Path) -> None:
    shutil.copytree(shared / "audit", tmp_path / "mailed")  # its store stays behind
    run = attentest.open_run(tmp_path / "mailed")
    assert run.finished
    assert run.settings["model"]["hidden"] == 4
    finding = attentest.trial("flips", tmp_path / "mailed", texts=12)
    assert finding.files["table"].startswith(str(tmp_path / "mailed"))
    assert len(run.attend("a text of my own")) == 1
    again = attentest.audit(tmp_path / "mailed", tmp_path / "again", texts=12)
    assert again.failed == {}


def test_the_store_shares_the_files_of_the_model_and_findings_stay(shared: Path) -> None:
    audit = shared / "audit"
    finding = attentest.trial("flips", audit, texts=5)
    corpus = attentest.load("planted", rows=120)
    again = attentest.audit(corpus, audit, store=shared / "store", **SIZE)
    assert again.outcome.done == 0
    assert Path(finding.files["table"]).is_file()
    model = audit / "model" / "model.safetensors"
    assert model.stat().st_nlink > 1  # no second copy on the same disk


def test_where_there_is_no_model_a_message_says_why(run: attentest.Run, shared: Path, tmp_path: Path) -> None:
    own = attentest.audit(subject_of(run, texts=6), tmp_path / "own")
    with pytest.raises(attentest.InputError, match=r"holds no model: .*your own model \(a Subject\) was audited"):
        attentest.open_run(own.folder)
    with pytest.raises(attentest.InputError, match="there is no such run folder"):
        attentest.open_run(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("source", "given", "message"),
    [
        (torch.nn.Linear(1, 1), {}, "got a model, Linear, without texts. .*a Subject: attentest.Subject"),
        ("CORPUS", {"text": "body"}, "already loaded; `text` only applies to files and frames"),
        ("CORPUS", {"encodr": "cnn"}, "Unknown option of an audit 'encodr'; did you mean 'encoder'"),
        ("planted", {"options": {"text": "body"}}, "'text' is a parameter, .*use `text='body'`"),
        ("planted", {"device": "tpu"}, "The device 'tpu' is not known"),
        ("planted", {"engine": "slurm"}, "choose local or ray"),
        ("planted", {"thresholds": {"needed": 1}}, "Unknown threshold 'needed'"),
    ],
)
def test_audits_that_cannot_be(
    source: Any, given: dict[str, Any], message: str, corpus: attentest.Corpus, tmp_path: Path
) -> None:
    with pytest.raises(attentest.InputError, match=message):
        attentest.audit(corpus if source == "CORPUS" else source, **given)
    assert list(tmp_path.iterdir()) == []


def test_none_is_the_same_as_not_given(corpus: attentest.Corpus) -> None:
    plain = audits.plan(corpus, **SIZE)
    nothing: Any = dict.fromkeys(("text", "encoder", "model", "options", "rows"))
    spelled = audits.plan(corpus, **nothing, **SIZE)
    assert list(plain.plan.steps) == list(spelled.plan.steps)


def test_where_steps_compute_does_not_change_their_keys(corpus: attentest.Corpus) -> None:
    steps = [audits.plan(corpus, device=device, **SIZE).plan for device in ("auto", "cpu")]
    assert list(steps[0].steps) == list(steps[1].steps)
    assert [s.settings["device"] for s in steps[1] if s.name.startswith(("train", "flips"))] == ["cpu", "cpu"]


def test_an_audit_as_frame_on_screen_and_on_disk(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = attentest.report(shared / "audit")
    frame = page.to_pandas()
    assert set(frame["definition"]) == set(DEFINITIONS)
    assert {"test", "value", "low", "high", "threshold", "answer", "verdict"} <= set(frame.columns)
    page.show()
    said = capsys.readouterr().out
    assert "attention is …" in said
    assert "faithful" in said
    assert page.save(tmp_path / "alone.html").read_text(encoding="utf-8").startswith("<!")
    copy = page.save(tmp_path / "copy")
    assert (copy / "report.html").is_file()
    assert (copy / "model" / "run.json").is_file()
    assert "<table>" in page._repr_html_()


def test_a_report_takes_thresholds_and_other_results(shared: Path, run: attentest.Run, tmp_path: Path) -> None:
    page = attentest.report(shared / "audit", tmp_path / "x.html", thresholds={"exclusive.texts": 0.0})
    assert page.page == tmp_path / "x.html"
    assert attentest.report(page, tmp_path / "y.html").folder == page.folder
    assert attentest.report(run, tmp_path / "z.html").report.kind == "run"
    with pytest.raises(attentest.InputError, match="Unknown threshold"):
        attentest.report(shared / "audit", thresholds={"no": 1})


def test_compare(
    run: attentest.Run, sibling: attentest.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = attentest.compare(run, sibling.path, texts=12)
    frame = found.to_pandas()
    assert {"trial", "figure", "first", "second", "difference", "low", "high"} == set(frame.columns)
    assert np.allclose(frame["second"] - frame["first"], frame["difference"], equal_nan=True)
    found.show()
    assert "second − first" in capsys.readouterr().out
    assert (found.save(tmp_path / "copy") / "report.html").is_file()
    with pytest.raises(attentest.InputError, match=r"with other settings \(texts 12 instead of 6\)"):
        attentest.compare(run, sibling, texts=6)
    assert repr(found) == "Comparison('compare/report.html': small vs. sibling)"


def test_runs_without_folders_are_compared_by_what_they_are(corpus: attentest.Corpus) -> None:
    a, b = (attentest.train(corpus, seed=seed, **SIZE) for seed in (0, 1))
    found = attentest.compare(a, b, texts=12)
    named = "planted bilstm + additive + softmax seed"
    assert found.report.title == f"{named} 0 vs. {named} 1"
    other = attentest.train(corpus, seed=0, **{**SIZE, "lr": 0.1})
    names = attentest.compare(a, other, "again", texts=12).report.title.split(" vs. ")
    assert len(set(names)) == 2
    with pytest.raises(attentest.InputError, match="was given twice"):
        attentest.compare(a, attentest.train(corpus, seed=0, **SIZE))


def test_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str], notebook: list[Any]) -> None:
    study = tmp_path / "mine.yaml"
    study.write_text(
        "corpora: [planted]\ncolumns: {rows: 100}\ntexts: 10\ntraining: {epochs: 1, dimension: 8, hidden: 4}\n"
        "trials: {flips: {}}\n"
    )
    watcher = Notes()
    found = attentest.study(str(study), watchers=[watcher])
    assert (found.folder, found.outcome.failed) == (Path("studies/mine"), {})
    frame = found.to_pandas()
    assert {"corpus", "model", "measure", "value"} <= set(frame.columns)
    found.show()
    assert notebook == [found]
    assert found._repr_markdown_().startswith("# mine")
    assert (found.save(tmp_path / "copy") / "summary.json").is_file()
    with pytest.raises(attentest.InputError, match=r"other settings \(rows None instead of 50\)"):
        attentest.study(str(study), rows=50)
    with pytest.raises(attentest.InputError, match="holds no model: it is a study or a comparison"):
        attentest.open_run(found.folder)
    with pytest.raises(attentest.InputError, match="did you mean 'wiegreffe2019'"):
        attentest.study("wiegrefe2019")


def test_every_result_has_the_three_methods() -> None:
    from attentest.display.heatmaps import Heatmaps
    from attentest.reports.result import Page
    from attentest.trials.charts.figure import Figure

    for kind in (
        attentest.Corpus,
        attentest.Run,
        attentest.Finding,
        attentest.Audit,
        attentest.Comparison,
        attentest.StudyResult,
    ):
        assert all(callable(getattr(kind, name)) for name in NAMES), kind
        assert all(getattr(kind, name).__doc__ for name in NAMES), kind
    for page in (Heatmaps, Page):
        assert all(callable(getattr(page, name)) for name in NAMES), page
    assert callable(Figure.save)


@pytest.mark.parametrize("given", [None, 3, ["a"]])
def test_what_has_no_folder_is_refused_with_a_message(given: Any, run: attentest.Run) -> None:
    for call in (attentest.report, attentest.open_run, lambda one: attentest.compare(run, one)):
        with pytest.raises(attentest.InputError, match=type(given).__name__):
            call(given)


def test_a_report_of_a_finding(run: attentest.Run) -> None:
    finding = run.trial("flips", texts=10)
    assert attentest.report(finding).report.title == "Trial flips"
    loose = replace(finding, files={})
    with pytest.raises(attentest.InputError, match="save it first"):
        attentest.report(loose)


def test_a_subject_is_audited_here_and_overwrites_when_told(run: attentest.Run, tmp_path: Path) -> None:
    subject = subject_of(run, texts=20)
    with pytest.raises(attentest.InputError, match="in this process"):
        attentest.audit(subject, tmp_path / "s", store=tmp_path / "store")
    attentest.audit(subject, tmp_path / "s")
    with pytest.raises(attentest.InputError, match="overwrite=True"):
        attentest.audit(subject, tmp_path / "s", budget="standard")
    attentest.audit(subject, tmp_path / "s", budget="standard", overwrite=True)
