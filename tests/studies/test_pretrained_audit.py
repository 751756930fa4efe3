"""An audit of a pretrained encoder: every verdict without and with special tokens; two encoders side by side."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from page_tree import Tree
from program import Program
from test_engine import Here

import attentest
from attentest.audits import Audit, run_audit
from attentest.engine import Store
from attentest.progress import Listener
from attentest.reports.contents import Report
from attentest.reports.write import write_report
from attentest.studies import audit as planning
from attentest.studies import comparison
from attentest.studies.audit import NOT_CALIBRATED, plan_audit, trials_of
from attentest.studies.comparison import plan_comparison
from attentest.studies.expand import StudyPlan
from attentest.studies.results import WITH_SPECIAL, read_summary
from attentest.studies.run_study import run_planned
from attentest.studies.steps import trial as trial_step
from attentest.training.take import take_pretrained
from attentest.trials import make_trial
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.base import works_of
from attentest.trials.instances import SHOWN
from attentest.trials.subject import some_of

USUAL, SPECIAL = "tiny theirs", f"tiny theirs{WITH_SPECIAL}"
OF_LAYERS = {"layers", "unidentified"}
FEW = {"uniform", "erasure", "rationale", *OF_LAYERS}


def held(expanded: StudyPlan, block: str) -> list[str]:
    return [ref.name for ref in expanded.results if ref.kind == "trial" and ref.block == block]


def few_trials(*given: Any) -> dict[str, dict[str, Any]]:
    """Where the others add nothing but time."""
    return {name: settings for name, settings in trials_of(*given).items() if name in FEW}


@pytest.fixture(scope="module")
def audit(encoder_run: attentest.Run, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """For reading only."""
    place = tmp_path_factory.mktemp("pretrained")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(planning, "trials_of", few_trials)
        planned = plan_audit(encoder_run, texts=6)
    made = run_audit(planned, place / "audit", Here, Store(place / "store"))
    assert made.failed == {}
    return made


def test_trials_are_planned_twice_but_for_those_of_all_layers(encoder_run: attentest.Run) -> None:
    plan = plan_audit(encoder_run)
    assert {ref.block for ref in plan.results} == {USUAL, SPECIAL}
    assert set(held(plan, USUAL)) - set(held(plan, SPECIAL)) == OF_LAYERS
    assert "rationale" in held(plan, SPECIAL)
    keys = [step.key for ref, step in plan.results.items() if ref.kind == "trial"]
    assert len(set(keys)) == len(keys)


def test_layers_are_asked_of_encoders_only(run: attentest.Run) -> None:
    planned = plan_audit(run)
    assert not OF_LAYERS & set(planned.study.trials)
    assert NOT_CALIBRATED not in planned.notes
    assert not any(ref.block.endswith(WITH_SPECIAL) for ref in planned.results)


def test_every_verdict_is_given_with_and_without_special_tokens(audit: Audit) -> None:
    said = json.loads((audit.folder / "verdict.json").read_text(encoding="utf-8"))["models"]
    assert list(said) == [USUAL, SPECIAL]
    without, counted = ([verdict["definition"] for verdict in one["verdicts"]] for one in said.values())
    assert without == counted
    assert len(without) > 5
    weights = [
        [ruling["figure"] for verdict in one["verdicts"] for ruling in verdict["rulings"]] for one in said.values()
    ]
    assert weights[0] != weights[1]


def test_sections_of_layers_stand_once(audit: Audit) -> None:
    usual, special = audit.report.blocks
    assert (usual.name, special.name) == (USUAL, SPECIAL)
    assert {section.name for section in usual.sections} == FEW
    assert {section.name for section in special.sections} == FEW - OF_LAYERS
    assert all(section.signature["view"] == "special" for section in special.sections)
    assert not any("view" in section.signature for section in usual.sections)


def test_the_page_speaks_of_one_model(audit: Audit) -> None:
    lead = audit.report.lead
    assert "models" not in lead
    for verdict in audit.report.blocks[0].verdicts:
        assert verdict.definition.name in lead
    assert audit.report.notes.count(NOT_CALIBRATED) == 1
    page = Tree.of((audit.folder / "report.html").read_text(encoding="utf-8")).text
    assert NOT_CALIBRATED in page
    assert SPECIAL in page
    weak = [note for note in audit.report.notes if "has not learned its task" in note]
    assert len(weak) == 1  # of one model, however its tokens are counted


def test_the_facts_are_those_of_the_encoder(audit: Audit) -> None:
    facts = dict(audit.report.blocks[0].facts)
    assert facts["model"] == "theirs"
    assert "training" not in facts  # nobody here knows how it was trained


def test_figures_of_both_ways_of_counting_are_told_apart(audit: Audit) -> None:
    rows = pq.read_table(audit.folder / "ours.parquet").to_pylist()
    named = {(row["model"], row["variant"], row["measure"]) for row in rows}
    assert len(named) == len(rows)
    assert {row["model"] for row in rows} == {"theirs", f"theirs{WITH_SPECIAL}"}


def test_findings_of_both_lie_in_folders_of_their_own(audit: Audit) -> None:
    findings = read_summary(audit.folder).findings
    assert len({finding.folder for finding in findings}) == len(findings) == 2 * len(FEW) - len(OF_LAYERS)
    assert all((audit.folder / finding.folder / "finding.json").is_file() for finding in findings)


def test_it_is_exported_as_a_table(audit: Audit, command: Program) -> None:
    answer = command("export", audit.folder, "--to", "csv")
    assert answer.code == 0, answer
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert {row["model"] for row in rows} == {USUAL, SPECIAL}
    tests = [[row["test"] for row in rows if row["model"] == name] for name in (USUAL, SPECIAL)]
    assert tests[0] == tests[1]


def test_the_audited_encoder_is_shown_from_the_folder(audit: Audit, command: Program) -> None:
    answer = command("show", audit.folder, "--head", 1, "--json")
    assert answer.code == 0, answer
    assert len(json.loads(answer.out)) == 5


@pytest.fixture(scope="module")
def compared(encoder_run: attentest.Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    from tiny_encoders import marked_corpus, save_classifier

    place = tmp_path_factory.mktemp("compared")
    other = take_pretrained(marked_corpus(), save_classifier(place / "others", seed=1), place / "other")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(comparison, "trials_of", few_trials)
        planned = plan_comparison(encoder_run, attentest.open_run(other.path), texts=6)
    outcome = run_planned(planned, place / "compare", Here, Store(place / "store"))
    assert outcome.failed == {}
    return write_report(place / "compare")


def test_two_encoders_are_compared_as_texts_usually_are_read(compared: tuple[Report, Path]) -> None:
    report, page = compared
    assert report.lead.startswith("Two models examined")
    names = ["run", f"run{WITH_SPECIAL}", "other", f"other{WITH_SPECIAL}"]
    assert [block.name for block in report.blocks[1:]] == names
    _, first, _, second, _ = report.blocks
    own, others = ({s.name: s.summary for s in block.sections} for block in (first, second))
    assert {row.trial for row in report.differences} == FEW - OF_LAYERS
    for row in report.differences:
        assert row.first is own[row.trial][row.figure]
        assert row.second is others[row.trial][row.figure]
    table = page.read_text(encoding="utf-8").partition('id="differences"')[2].partition("</thead>")[0]
    assert "<bdi>run</bdi>" in table
    assert "<bdi>other</bdi>" in table
    assert "special" not in table


def test_one_encoder_is_not_compared_with_itself(compared: tuple[Report, Path]) -> None:
    """Where the other one failed, only its two ways of counting are left."""
    from attentest.reports.gather import _differences

    assert _differences(compared[0].blocks[1:3]) == []


def test_memory_is_part_of_no_key_and_reaches_the_steps(encoder_run: attentest.Run) -> None:
    usual, bounded = plan_audit(encoder_run), plan_audit(encoder_run, memory=10**6)
    assert list(usual.plan.steps) == list(bounded.plan.steps)
    assert usual.summarise().key == bounded.summarise().key
    for plan, told in ((usual, None), (bounded, 10**6)):
        steps = [step for ref, step in plan.results.items() if ref.kind in ("trial", "instances")]
        assert {step.settings.get("memory") for step in steps} == {told}
    pair = [plan_comparison(encoder_run, _other(encoder_run), memory=memory) for memory in (None, 10**6)]
    assert list(pair[0].plan.steps) == list(pair[1].plan.steps)
    assert any(step.settings.get("memory") == 10**6 for step in pair[1].plan)


def _other(run: attentest.Run) -> attentest.Run:
    """The same run from another place."""
    other = attentest.open_run(run.path)
    other.keep = object()
    return other


def test_a_step_stays_within_its_memory(encoder_run: attentest.Run, tmp_path: Path) -> None:
    """The finding of a step with memory for one text at a time is that of the usual step."""
    figures = []
    for memory in (None, 1):
        plan = plan_audit(encoder_run, texts=6, memory=memory)
        step = next(step for step in plan.plan if step.name.startswith("uniform of"))
        out = tmp_path / str(memory)
        out.mkdir()
        trial_step.run(step.settings, {"run": encoder_run.path}, out, Listener())
        figures.append(pq.read_table(out / "uniform" / "table.parquet").to_pydict())
    assert figures[0].keys() == figures[1].keys()
    for name, values in figures[0].items():
        if isinstance(values[0], float):  # padded otherwise, so rounded otherwise
            assert figures[1][name] == pytest.approx(values, abs=1e-5, nan_ok=True), name
        else:
            assert figures[1][name] == values, name


def test_a_dry_run_says_what_the_encoder_runs(command: Program, encoder_run: attentest.Run, tmp_path: Path) -> None:
    given = ["audit", encoder_run.path, "--dry-run", "--texts", 6, "--store", tmp_path / "store"]
    answer = command(*given)
    assert answer.code == 0, answer.err
    assert "runs of it on a text" in answer.out
    assert "peak memory about" in answer.out
    found = json.loads(command(*given, "--json").out)["encoder"]
    planned = plan_audit(encoder_run, texts=6)
    subjects = {special: planned.examined[next(iter(planned.examined))](special) for special in (False, True)}
    told = 0.0
    for together in {step.together for step in planned.plan if step.together}:
        steps = [step for step in planned.plan if step.together == together]
        subject = subjects[bool(steps[0].settings.get("special"))]
        some = replace(subject, rows=some_of(subject.rows, steps[0].settings["texts"]))
        trials = [make_trial(step.settings["trial"], **step.settings["settings"]) for step in steps]
        told += sum(work.forward for work in works_of(trials, some).values())
    subject = subjects[False]
    shown = replace(subject, rows=some_of(subject.rows, SHOWN))
    told += sum(work.forward for work in works_of([InstanceAdversary()], shown).values())
    assert found["forward"] == pytest.approx(told)
    assert found["seconds"] > 0
    bounded = json.loads(command(*given, "--json", "--memory", "200KB").out)["encoder"]
    assert bounded["memory"] <= 200_000 < found["memory"]
    assert bounded["model"] == found["model"] == sum(p.numel() * 4 for p in encoder_run.model.parameters())


def test_other_audits_say_nothing_of_an_encoder(command: Program, run: attentest.Run, tmp_path: Path) -> None:
    answer = command("audit", run.path, "--dry-run", "--json", "--store", tmp_path / "store")
    assert "encoder" not in json.loads(answer.out)
