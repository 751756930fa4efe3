"""An experiment may train on the corpus with planted words; then its trials examine the texts that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from test_engine import Here

import attentest
from attentest.engine import Store
from attentest.engine.plan import Step
from attentest.engine.scheduler import run_plan
from attentest.studies.expand import StudyPlan, expand
from attentest.studies.experiments.base import BASE, Result, Training, TrialOf
from attentest.studies.experiments.untrained import Untrained
from attentest.studies.schema import Study
from attentest.training.run import Run
from attentest.trials.base import Conclusion
from attentest.trials.stored import StoredFinding, finding_in
from attentest.trials.subject import subject_of

SMALL: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4}
CONTROL = "control"


@pytest.fixture
def experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiment uniform made into one of a control; its conclusion has the control's runs and findings."""

    def conclude(self: Untrained, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        texts = {label: run.test_data() for label, run in runs.items()}
        marked = {label: 0 if data.rationale is None else int(data.rationale.sum()) for label, data in texts.items()}
        row = {"base marked": marked[BASE], "control marked": marked[CONTROL]}
        examined = {name: int(finding.table.num_rows) for name, finding in findings.items()}
        return Result(pa.Table.from_pylist([row | examined]), Conclusion("Made up.", {}), [])

    trials = [
        TrialOf(CONTROL, "uniform"),
        TrialOf(CONTROL, "permutation", {"permutations": 2}, texts=4),
        TrialOf(BASE, "uniform"),
    ]
    monkeypatch.setattr(Untrained, "trainings", lambda self: [Training(CONTROL, {"seed": 1}, planted=True)])
    monkeypatch.setattr(Untrained, "trials", lambda self: trials)
    monkeypatch.setattr(Untrained, "conclude", conclude)
    monkeypatch.setattr(Untrained, "charts", classmethod(lambda cls, table, summary: {}))


@pytest.fixture
def planned(experiment: None, tmp_path: Path) -> StudyPlan:
    words = {"good": "fine warm lovely film", "bad": "dull cold awful film"}
    rows = [f"{label},a {words[label]} number {n}" for n in range(100) for label in words]
    file = tmp_path / "films.csv"
    file.write_text("label,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return expand(Study("made up", corpora=(str(file),), training=SMALL, texts=6, experiments={"uniform": {}}))


def steps(plan: StudyPlan) -> dict[str, Step]:
    return {step.name: step for step in plan.plan}


def test_a_training_on_planted_words_stands_on_the_planted_corpus(planned: StudyPlan) -> None:
    found = steps(planned)
    (planting,) = [step for name, step in found.items() if name.startswith("plant words in ")]
    (control,) = [step for name, step in found.items() if name.startswith("train ") and CONTROL in name]
    (base,) = [step for name, step in found.items() if name.startswith("train ") and CONTROL not in name]
    assert control.inputs["corpus"] == planting.key
    assert base.inputs["corpus"] == planting.inputs["corpus"]
    assert planting.settings == {"share": 0.6, "seed": 0, "rows": 2000}


def test_trials_of_it_examine_marked_texts_and_as_many_as_they_are_told(planned: StudyPlan) -> None:
    found = {name: step.settings for name, step in steps(planned).items() if step.work.endswith("trial:run")}
    of = {name.partition(" of ")[0] + (" control" if CONTROL in name else ""): s for name, s in found.items()}
    assert {name: (s["texts"], s.get("only_marked", False)) for name, s in of.items()} == {
        "uniform control": (6, True),
        "permutation control": (4, True),
        "uniform": (6, False),
    }
    together = {step.name: step.together for step in planned.plan if step.work.endswith("trial:run")}
    assert len(set(together.values())) == 3


def test_the_whole_of_it(planned: StudyPlan, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (wanted,) = [step for ref, step in planned.results.items() if ref.kind == "experiment"]
    outcome = run_plan(planned.plan, store, Here(store), targets=[wanted])
    assert outcome.failed == {}
    (row,) = finding_in(store.path(wanted.key)).table.to_pylist()
    assert row["base marked"] == 0
    assert row["control marked"] > 0
    assert {name: row[name] for name in row if " marked" not in name} == {
        "control uniform": 6,
        "control permutation": 4,
        "base uniform": 6,
    }


def test_only_texts_with_a_rationale_are_a_subjects(run: attentest.Run, tmp_path: Path) -> None:
    corpus = attentest.load("planted", rows=200)
    table = corpus.table
    marks = [mark if n % 3 == 0 else None for n, mark in enumerate(table["rationale"].to_pylist())]
    place = table.column_names.index("rationale")
    partly = replace(corpus, table=table.set_column(place, "rationale", pa.array(marks, table["rationale"].type)))
    trained = attentest.train(partly, **SMALL)
    data = trained.test_data()
    assert data.rationale is not None
    offsets = data.sequences.offsets
    expected = [n for n in range(len(data.rows)) if data.rationale[offsets[n] : offsets[n + 1]].any()]
    assert 0 < len(expected) < len(data.rows)
    assert subject_of(trained, only_marked=True).rows.tolist() == expected
    few = subject_of(trained, only_marked=True, texts=3).rows.tolist()
    assert len(few) == 3
    assert set(few) <= set(expected)
