"""The audit: what it plans for a corpus, a run or both, what it refuses, and a whole one down to its page."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from page_tree import Tree
from quick import ON_RUNS
from test_engine import Here

import attentest
from attentest.audits import Audit, run_audit
from attentest.engine import Step, Store
from attentest.engine.scheduler import Event
from attentest.models.protocol import Encoded, Weights
from attentest.studies import audit as module
from attentest.studies.audit import BUDGETS, plan_audit
from attentest.studies.expand import StudyPlan
from attentest.studies.verdict import DEFINITIONS
from attentest.text.batches import Batch
from attentest.trials import Subject, subject_of
from attentest.trials.instances import ADVERSARIAL, ORIGINAL, PERMUTED, TRAINED

SIZE: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4}
ROWS = {"rows": 120}


def held(expanded: StudyPlan, kind: str) -> list[str]:
    return [ref.name for ref in expanded.results if ref.kind == kind]


def trained(expanded: StudyPlan) -> list[dict[str, Any]]:
    return [dict(step.settings) for step in expanded.plan if step.name.startswith("train ")]


def links(page: Path) -> list[Path]:
    """The files beside the page that it links to."""
    tree = Tree.of(page.read_text(encoding="utf-8"))
    wanted = {link for link in [*tree.values("href"), *tree.values("src")] if not link.startswith(("#", "data:"))}
    assert not any(":" in link for link in wanted), "everything lies beside the page"
    return [page.parent / unquote(link) for link in wanted]


@pytest.mark.parametrize("budget", BUDGETS)
def test_plan_of_each_budget(budget: str) -> None:
    chosen = BUDGETS[budget]
    expanded = plan_audit("planted", budget, columns=ROWS)
    assert held(expanded, "trial") == ON_RUNS
    assert held(expanded, "experiment") == list(chosen.experiments)
    assert expanded.notes == []
    assert (expanded.study.rows, expanded.study.texts) == (chosen.rows, chosen.texts)
    base = next(settings for settings in trained(expanded))
    assert {name: base[name] for name in chosen.training} == chosen.training
    assert base["select_by"] == "f1"  # what is judged
    assert len(held(expanded, "instances")) == 1


def test_budgets_grow() -> None:
    quick, standard, paper = (len(list(plan_audit("planted", name, columns=ROWS).plan)) for name in BUDGETS)
    assert quick < standard < paper
    assert set(BUDGETS["quick"].experiments) < set(BUDGETS["standard"].experiments) < set(BUDGETS["paper"].experiments)


def test_settings_rows_and_texts_are_the_users() -> None:
    expanded = plan_audit("planted", columns={"rows": 200}, rows=100, texts=7, training={"hidden": 6, "seed": 5})
    first = ("prep", "train", "flips", "correlation")
    prepare, base, cheap, trial = (next(s for s in expanded.plan if s.name.startswith(w)) for w in first)
    assert prepare.settings["rows"] == 100
    assert (base.settings["hidden"], base.settings["seed"], base.settings["epochs"]) == (6, 5, 12)
    assert (trial.settings["texts"], cheap.settings["texts"]) == (7, 5 * 7)  # more where they cost next to nothing
    assert {s["seed"] for s in trained(expanded)} == {5, 6, 7, 8, 9}  # others than the base's


def test_plan_of_pairs() -> None:
    expanded = plan_audit("babi1-generated", "standard", columns=ROWS)
    assert held(expanded, "experiment") == [name for name in BUDGETS["standard"].experiments if name != "controls"]
    assert "rationale" in held(expanded, "trial")
    query = plan_audit("babi1-generated", columns=ROWS, training={"decoder": "context+query"})
    assert all(settings["decoder"] == "context+query" for settings in trained(query))


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_a_hierarchical_model_cannot_stand_is_left_out_with_a_note(budget: str) -> None:
    expanded = plan_audit("planted", budget, columns=ROWS, training={"structure": "hierarchical"})
    kept = held(expanded, "experiment")
    out = set(BUDGETS[budget].experiments) - set(kept)
    impossible = {"controls", "guides", "adversary", "informed-adversary"}
    assert impossible & set(BUDGETS[budget].experiments) <= out
    assert {"uniform", "seeds"} <= set(kept)
    for name in out:
        assert any(note.startswith(f"The experiment {name} was left out: ") for note in expanded.notes)
    assert len(expanded.notes) == len(out)
    assert held(expanded, "trial") == ON_RUNS


def test_a_corpus_without_rationales_stands_no_trial_of_them(tmp_path: Path) -> None:
    file = tmp_path / "plain.csv"
    file.write_text("text,label\n" + "".join(f"film {i} is {'good' if i % 2 else 'bad'},{i % 2}\n" for i in range(40)))
    assert held(plan_audit(str(file)), "trial") == [name for name in ON_RUNS if name not in ("rationale", "swaps")]


def test_a_run_alone_stands_the_trials(run: attentest.Run) -> None:
    expanded = plan_audit(str(run.path), texts=9)
    assert held(expanded, "trial") == ON_RUNS
    assert held(expanded, "experiment") == []
    assert trained(expanded) == []
    assert "no comparison models" in expanded.notes[0]
    for name, texts in (("correlation", 9), ("flips", 5 * 9)):
        assert {s.settings["texts"] for s in expanded.plan if s.name.startswith(name)} == {texts}


def test_a_run_with_its_corpus_has_others_trained_like_it(run: attentest.Run) -> None:
    expanded = plan_audit("planted", columns={"rows": 300}, model=run)
    assert held(expanded, "experiment") == list(BUDGETS["quick"].experiments)
    assert sum(step.name.startswith("take ") for step in expanded.plan) == 1
    seeds = [step for step in expanded.plan if ", seed " in step.name and step.name.startswith("train ")]
    seeds = [step for step in seeds if "uniform" not in step.name]
    own = {name: value for part in ("text", "training") for name, value in run.settings[part].items()}
    assert [step.settings["seed"] for step in seeds] == [4, 5, 6, 7]  # the run has 3
    for step in seeds:
        assert {name: step.settings[name] for name in own} | {"seed": 3} == own
        assert step.settings["hidden"] == 8


def test_all_are_trained_on_the_rows_of_a_run_that_is_taken(
    run: attentest.Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A budget of fewer rows than the run was trained on would test the others on other texts."""
    monkeypatch.setitem(BUDGETS, "quick", replace(BUDGETS["quick"], rows=100))
    expanded = plan_audit("planted", columns={"rows": 300}, model=run)
    assert "rows" not in next(iter(expanded.plan)).settings
    sampled = attentest.train(attentest.load("planted", rows=300).sample(100), tmp_path / "run", **SIZE)
    with pytest.raises(attentest.InputError, match="was not trained on planted as it is read here"):
        plan_audit("planted", columns={"rows": 300}, model=sampled)
    again = plan_audit("planted", columns={"rows": 300}, model=sampled, rows=100)
    assert next(iter(again.plan)).settings["rows"] == 100


def test_runs_that_cannot_be_taken(run: attentest.Run, tmp_path: Path) -> None:
    columns = {"rows": 300}
    with pytest.raises(attentest.InputError, match=r"was not trained on planted as it is read here .*`rows`"):
        plan_audit("planted", columns={"rows": 200}, model=run)
    with pytest.raises(attentest.InputError, match="already has its settings; hidden, lr cannot be set"):
        plan_audit("planted", columns=columns, model=run, training={"hidden": 4, "lr": 0.1})
    given = attentest.train(attentest.load("planted", rows=300), tmp_path / "given", projection="random", **SIZE)
    with pytest.raises(attentest.InputError, match="uses fixed attention weights"):
        plan_audit("planted", columns=columns, model=given)
    objective: dict[str, Any] = {"objective": "adversary", "strength": 0.01, "base": run}
    size: dict[str, Any] = {"dimension": 16, "hidden": 8, "epochs": 1}
    adversary = attentest.train(attentest.load("planted", rows=300), tmp_path / "adversary", **objective, **size)
    with pytest.raises(attentest.InputError, match=r"was trained to imitate another run.*; give the run alone"):
        plan_audit("planted", columns=columns, model=adversary)
    assert held(plan_audit(str(adversary.path)), "trial") == ON_RUNS
    (given.path / "result.json").unlink()
    for source, model in (("planted", given), (str(given.path), None)):
        with pytest.raises(attentest.InputError, match="is not finished; finish its training first"):
            plan_audit(source, columns=columns if model else None, model=model)
    for more in ({"model": run}, {"columns": columns}, {"training": {"hidden": 4}}, {"rows": 50}):
        with pytest.raises(attentest.InputError, match="is a run: it is audited as it is"):
            plan_audit(str(run.path), **more)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"budget": "quik"}, "Unknown budget 'quik'; did you mean 'quick'"),
        ({"texts": 0}, "texts is 0; it must be at least 1"),
        ({"rows": 3}, "rows is 3; it must be at least"),
        ({"training": {"encodr": "cnn"}}, "did you mean 'encoder'"),
        ({"training": {"encoder": "cnnn"}}, "did you mean 'cnn'"),
        ({"training": {"epochs": "3"}}, "The setting epochs is '3'; expected int"),
        ({"training": {"decoder": "context+query"}}, "for pairs"),
        ({"training": {"projection": "random"}}, "has no learned weights to audit"),
        ({"training": {"objective": "adversary"}}, "cannot be used in an audit"),
        ({"source": "plantd"}, "did you mean 'planted'"),
        ({"source": "nothing.csv"}, "nothing.csv"),
        ({"columns": {"difficulty": 7}}, "difficulty"),
    ],
)
def test_bad_input_is_a_sentence_before_anything_runs(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(attentest.InputError, match=sentence):
        plan_audit(given.pop("source", "planted"), given.pop("budget", "quick"), **{"columns": ROWS, **given})


def test_every_link_of_the_page_leads_to_a_file(audited: Audit) -> None:
    found = links(audited.page)
    assert len(found) > 50
    assert [link for link in found if not link.is_file()] == []
    kinds = {link.suffix for link in found}
    assert {".csv", ".parquet", ".svg", ".png"} <= kinds


def test_what_an_audit_leaves_in_its_folder(audited: Audit) -> None:
    folder = audited.folder
    for name in ("ours.csv", "ours.parquet", "summary.json", "summary.md", "verdict.json", "report.html"):
        assert (folder / name).stat().st_size > 0
    with (folder / "ours.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == pq.read_table(folder / "ours.parquet").num_rows > 50
    kept = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    assert kept["thresholds"] == {}
    ((block, model),) = kept["models"].items()
    assert block == audited.report.blocks[0].name
    assert {v["definition"]: v["answer"] for v in model["verdicts"]} == audited.as_dict()["answers"]
    assert audited.page.stat().st_size < 10e6
    assert audited.failed == {}


def test_answers_by_name(audited: Audit) -> None:
    assert [audited.answer(name) for name in DEFINITIONS] == list(audited.as_dict()["answers"].values())
    with pytest.raises(attentest.InputError, match="did you mean 'faithful'"):
        audited.answer("faithfull")
    assert audited.report.lead in repr(audited)
    assert audited._repr_html_().count("<tr>") == 1 + len(DEFINITIONS)


def test_heat_maps_of_an_audit_have_the_trained_adversary(audited: Audit) -> None:
    (file,) = (audited.folder / "heat-maps").glob("*.parquet")
    rows = pq.read_table(file).to_pylist()
    assert [row["variant"] for row in rows[:4]] == [ORIGINAL, PERMUTED, ADVERSARIAL, TRAINED]
    assert len(rows) % 4 == 0
    shown = audited.report.blocks[0].instances
    assert [text.id for text in shown] == [row["id"] for row in rows[::4]]
    with file.with_suffix(".csv").open(encoding="utf-8") as lines:
        listed = list(csv.DictReader(lines))
    assert len(listed) == sum(len(row["weight"]) for row in rows)
    assert listed[0]["token"] == rows[0]["text"][rows[0]["start"][0] : rows[0]["end"][0]]


def test_a_model_that_cannot_be_trained_is_told(tmp_path: Path) -> None:
    expanded = plan_audit("planted", columns=ROWS, texts=5, training={**SIZE, "lr": 1e30})
    with pytest.raises(attentest.InputError, match=r"no model to audit: Training diverged .* lower `lr`"):
        run_audit(expanded, tmp_path / "audit", Here, Store(tmp_path / "store"))


class Unlucky(Here):
    """One experiment fails."""

    def start(self, steps: Sequence[Step]) -> None:
        if steps[0].name.startswith("experiment seeds"):
            self.events.append(Event(steps[0].key, "failed", "no luck"))
        else:
            super().start(steps)


def test_what_failed_is_said_and_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(BUDGETS["quick"], experiments={"seeds": {"seeds": 1}})
    monkeypatch.setitem(BUDGETS, "quick", few)
    monkeypatch.setattr(module, "trials_of", lambda budget, rationales, layers: {"uniform": {}})
    expanded = plan_audit("planted", columns=ROWS, texts=5, training=SIZE)
    found = run_audit(expanded, tmp_path / "audit", Unlucky, Store(tmp_path / "store"))
    assert list(found.failed.values()) == ["no luck"]
    assert found.answer("stable") == "not tested"
    assert found.answer("used") != "not tested"
    assert "Missing, because a step failed: experiment seeds" in Tree.of(found.page.read_text(encoding="utf-8")).text


def test_an_audit_with_workers_from_nothing_and_again_from_the_store(tmp_path: Path) -> None:
    """A corpus of one's own with the longest name that a file may have, as a user calls it."""
    file = tmp_path / os.fsdecode(f"{'é' * 120}.csv".encode())
    words = ("good", "bad")
    file.write_text("body,stars\n" + "".join(f"film {i} is {words[i % 2]},{i % 2}\n" for i in range(40)))
    columns = {"text": "body", "label": "stars"}
    given: dict[str, Any] = {**columns, "texts": 6, "workers": 1, "store": tmp_path / "store", **SIZE}
    found = attentest.audit(file, tmp_path / "audit", thresholds={"faithful.gradient": 0.3}, **given)
    assert found.failed == {}
    assert list(found.as_dict()["answers"]) == list(DEFINITIONS)
    assert found.answer("plausible") == "not tested"
    assert [link for link in links(found.page) if not link.is_file()] == []
    made = {path.name: path.stat().st_mtime for path in (tmp_path / "store" / "entries").iterdir()}
    again = attentest.audit(file, tmp_path / "audit", **given)
    assert again.as_dict()["answers"].keys() == found.as_dict()["answers"].keys()
    assert {path.name: path.stat().st_mtime for path in (tmp_path / "store" / "entries").iterdir()} == made
    kept = json.loads((tmp_path / "audit" / "verdict.json").read_text(encoding="utf-8"))
    assert kept["thresholds"] == {}  # an audit says what it was told, and this time that was nothing


class Counting:
    """A model of one's own with the three methods alone: it attends to long words and counts their letters."""

    sites = ("token",)

    def __init__(self, lengths: torch.Tensor) -> None:
        self.lengths = lengths

    def encode(self, batch: Batch) -> Encoded:
        return Encoded(self.lengths[batch.ids].unsqueeze(-1), batch.mask)

    def attend(self, encoded: Encoded) -> Weights:
        scores = encoded.hidden.squeeze(-1).masked_fill(~encoded.mask, -torch.inf)
        return {"token": scores.softmax(-1)}

    def decode(self, encoded: Encoded, weights: Weights) -> torch.Tensor:
        mean = (weights["token"] * encoded.hidden.squeeze(-1)).sum(1)
        return torch.stack((torch.zeros_like(mean), mean - 6), 1)


@pytest.fixture
def own(run: attentest.Run) -> Subject:
    data = subject_of(run).data
    lengths = torch.tensor([float(len(word)) for word in run.vocabulary.tokens])
    return Subject(Counting(lengths), data, np.arange(6))


def test_a_model_of_ones_own_gets_a_page(own: Subject, tmp_path: Path) -> None:
    found = attentest.audit(own, tmp_path / "audit", thresholds={"exclusive.texts": 0.9})
    (block,) = found.report.blocks
    assert [section.name for section in block.sections] == ON_RUNS
    assert len(block.instances) == 6
    assert found.answer("used") != "not tested"
    rulings = {r.criterion.name: r for v in found.verdicts for r in v.rulings}
    assert rulings["needed.trained"].why == "the experiment uniform was not run"
    assert rulings["exclusive.texts"].threshold == 0.9
    assert rulings["faithful.gradient"].why == "the model has no gradients with respect to its inputs"
    assert rulings["faithful.leave-one-out"].figure is not None
    assert [link for link in links(found.page) if not link.is_file()] == []


def test_a_subject_is_audited_as_it_is(own: Subject, tmp_path: Path) -> None:
    for more in ({"texts": 3}, {"rows": 50}, {"text": "a"}, {"epochs": 3}, {"device": "cpu"}):
        with pytest.raises(attentest.InputError, match=f"With a Subject, .*takes no `{next(iter(more))}`"):
            attentest.audit(own, tmp_path / "audit", **more)
    with pytest.raises(attentest.InputError, match="did you mean 'standard'"):
        attentest.audit(own, tmp_path / "audit", budget="standart")
    assert not (tmp_path / "audit").exists()


def test_a_subjects_audit_writes_over_nothing_else(own: Subject, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "summary.txt").write_text("mine")
    with pytest.raises(attentest.InputError, match="files that are not an audit"):
        attentest.audit(own, tmp_path / "notes")
    audits = [attentest.audit(own, tmp_path / "audit") for _ in range(2)]
    assert audits[0].as_dict() == audits[1].as_dict()
    summary = json.loads((tmp_path / "audit" / "summary.json").read_text(encoding="utf-8"))
    (tmp_path / "audit" / "summary.json").write_text(json.dumps(summary | {"study": "audit of another"}))
    with pytest.raises(attentest.InputError, match="holds the audit of another"):
        attentest.audit(own, tmp_path / "audit")


def test_rows_are_a_limit_and_long_texts_still_count(tmp_path: Path) -> None:
    """Asking for fewer rows than the budget's is never slower than not asking."""
    words = " ".join(f"w{i % 97}" for i in range(1200))
    file = tmp_path / "long.csv"
    lines = [f"{words} {i},{i % 2}" for i in range(1500)]
    file.write_text("\n".join(["text,label", *lines]), encoding="utf-8")

    def rows(**asked: Any) -> int | None:
        return plan_audit(str(file), training={**SIZE}, **asked).study.rows

    usual = rows()
    assert usual == 500  # as few as are sensible
    assert rows(rows=1400) == usual
    assert rows(rows=200) == 200
