"""What makes a step new: what code does and which texts it reads, and nothing that only people read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import attentest
from attentest.engine import code_version as versions
from attentest.engine.code_version import imported_by
from attentest.studies.audit import plan_audit
from attentest.studies.expand import StudyPlan

TRAINING, TRIAL, CORPUS = (f"attentest.studies.steps.{name}:run" for name in ("training", "trial", "corpus"))


def forget() -> None:
    for cached in (versions.code_version, versions._digest, versions._imports):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def versions_are_read_again() -> Iterator[None]:
    forget()
    yield
    forget()


def planned() -> StudyPlan:
    return plan_audit("planted", columns={"rows": 100})


def keys(plan: StudyPlan, work: str) -> dict[str, str]:
    found = {step.name: step.key for step in plan.plan if step.work == work}
    assert found
    return found


def after_edit(module: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> StudyPlan:
    """The plan if that module's source were another."""
    usual = versions._source

    def edited(name: str) -> bytes:
        source = usual(name)
        if name != module:
            return source
        assert before.encode() in source, f"{before!r} is not in {module}"
        return source.replace(before.encode(), after.encode(), 1)

    with monkeypatch.context() as patched:
        patched.setattr(versions, "_source", edited)
        forget()
        return planned()


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("attentest.training.optimizer", '"""', '"""Edited. '),  # a docstring
        ("attentest.training.fit", "from __future__", "# a remark\nfrom __future__"),
        ("attentest.models.settings", "Hidden size (per direction).", "Size of the states."),  # a help text
        ("attentest.models.encoders", 'Part("', 'Part("Edited. '),  # what a list says of an encoder
        ("attentest.display.tables", "<table>", '<table class="edited">'),
        ("attentest.corpora.benchmarks", '"imdb"', '"imdb_edited"'),  # another corpus's entry
        ("attentest.corpora.planted", "difficulty", "difficulties"),  # how it was made: the texts are what counts
        ("attentest.errors", "did you mean", "is it"),
        ("attentest.studies.audit", '"""', '"""Edited. '),
    ],
)
def test_what_only_people_read_redoes_no_training(
    module: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = planned()
    edited = after_edit(module, before, after, monkeypatch)
    for work in (CORPUS, TRAINING, TRIAL):
        assert keys(edited, work) == keys(usual, work)


def test_an_edit_to_the_optimiser_redoes_all_trainings_and_no_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = planned()
    edited = after_edit(
        "attentest.training.optimizer", "\nimport torch\n", "\nimport torch\n\nedited = 1\n", monkeypatch
    )
    assert keys(edited, CORPUS) == keys(usual, CORPUS)
    before, after = keys(usual, TRAINING), keys(edited, TRAINING)
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


def test_an_edit_to_a_trial_redoes_that_trial_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = planned()
    edited = after_edit("attentest.trials.permutation", "_ENOUGH = 12", "_ENOUGH = 13", monkeypatch)
    assert keys(edited, TRAINING) == keys(usual, TRAINING)
    before, after = keys(usual, TRIAL), keys(edited, TRIAL)
    changed = {name.partition(" of ")[0] for name in before if before[name] != after[name]}
    assert changed == {"permutation", "conicity"}  # which shows it next to its own figure


def test_a_training_imports_nothing_that_shows_plans_or_loads() -> None:
    rooms = {module.split(".")[1] for module in imported_by(TRAINING.partition(":")[0])}
    assert not rooms & {"display", "trials", "reports", "audits", "cli"}
    corpora = {module for module in imported_by(TRAINING.partition(":")[0]) if ".corpora" in module}
    assert corpora <= {"attentest.corpora.corpus", "attentest.corpora.stored", "attentest.corpora.line_breaks"}


def test_labels_are_cut_in_findings_and_count(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = planned()
    edited = after_edit("attentest.display.cut", "from __future__", "edited = 1\nfrom __future__", monkeypatch)
    before, after = keys(usual, TRIAL), keys(edited, TRIAL)
    assert not set(before.values()) & set(after.values())


def test_what_was_said_of_a_corpus_is_part_of_its_key() -> None:
    rows: dict[str, list[Any]] = {"text": [f"a {word} film" for word in ("good", "bad") * 20], "label": [1, 0] * 20}
    more = {"text": [*rows["text"], "no label"], "label": [*rows["label"], None]}
    clean, dropped = (attentest.load(given, name="films") for given in (rows, more))
    assert clean.fingerprint() == dropped.fingerprint()
    assert clean.notes != dropped.notes
    assert keys(plan_audit(clean), CORPUS) != keys(plan_audit(dropped), CORPUS)
