"""An audit of a pretrained encoder: every verdict without and with special tokens, and without sinks; two encoders
side by side."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator
from page_tree import Tree
from program import Program
from rich.console import Console
from test_engine import Here
from tiny_encoders import corpus, save_classifier, save_encoder

import attentest
from attentest.audits import Audit, run_audit
from attentest.engine import Store
from attentest.files import write_json
from attentest.progress import Listener
from attentest.reports.contents import Report
from attentest.reports.gather import NO_SINKS
from attentest.reports.write import SCHEMA, write_report
from attentest.studies import audit as planning
from attentest.studies import comparison
from attentest.studies.audit import NOT_CALIBRATED, plan_audit, trials_of
from attentest.studies.comparison import plan_comparison
from attentest.studies.expand import StudyPlan
from attentest.studies.forecast import forecast
from attentest.studies.results import WITH_SPECIAL, WITHOUT_SINKS, read_summary
from attentest.studies.run_study import run_planned
from attentest.studies.steps import trial as trial_step
from attentest.training.take import take_pretrained
from attentest.trials import make_trial
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.base import works_of
from attentest.trials.instances import SHOWN
from attentest.trials.sinks import texts_for_sinks
from attentest.trials.subject import some_of

USUAL = "tiny theirs"
SPECIAL, APART = f"{USUAL}{WITH_SPECIAL}", f"{USUAL}{WITHOUT_SINKS}"
VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
OF_LAYERS = {"layers", "unidentified"}
FEW = {"uniform", "erasure", "rationale", *OF_LAYERS}


def held(expanded: StudyPlan, block: str) -> list[str]:
    return [ref.name for ref in expanded.results if ref.kind == "trial" and ref.block == block]


def few_trials(*given: Any) -> dict[str, dict[str, Any]]:
    """Where the others add nothing but time."""
    return {name: settings for name, settings in trials_of(*given).items() if name in FEW}


def fewer_trials(*given: Any) -> dict[str, dict[str, Any]]:
    return {name: settings for name, settings in few_trials(*given).items() if name not in OF_LAYERS}


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


def test_trials_are_planned_thrice_but_for_those_of_all_layers(encoder_run: attentest.Run) -> None:
    plan = plan_audit(encoder_run)
    assert {ref.block for ref in plan.results} == {USUAL, SPECIAL, APART}
    assert set(held(plan, USUAL)) - set(held(plan, SPECIAL)) == OF_LAYERS
    assert held(plan, APART) == held(plan, SPECIAL)
    assert "rationale" in held(plan, SPECIAL)
    keys = [step.key for ref, step in plan.results.items() if ref.kind == "trial"]
    assert len(set(keys)) == len(keys)


def test_sinks_are_looked_for_in_the_number_type_and_memory_of_the_trials(encoder_run: attentest.Run) -> None:
    usual, coarse = (
        next(step for ref, step in plan.results.items() if ref.kind == "sinks")
        for plan in (plan_audit(encoder_run), plan_audit(encoder_run, dtype="bfloat16", memory=10**9))
    )
    assert usual.settings == {"device": "auto"}
    assert coarse.settings == {"device": "auto", "dtype": "bfloat16", "memory": 10**9}


def test_layers_are_asked_of_encoders_only(run: attentest.Run) -> None:
    planned = plan_audit(run)
    assert not OF_LAYERS & set(planned.study.trials)
    assert NOT_CALIBRATED not in planned.notes
    assert len({ref.block for ref in planned.results}) == 1
    assert {ref.kind for ref in planned.results} == {"run", "trial", "instances"}  # nobody looks for sinks


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


def test_where_sinks_cannot_be_told_this_is_said_and_nothing_stands_twice(audit: Audit) -> None:
    said = json.loads((audit.folder / "verdict.json").read_text(encoding="utf-8"))["models"]
    assert said[USUAL]["sinks"] == {"texts": 6, "enough": False, "sinks": []}
    assert said[SPECIAL]["sinks"] is None
    told = "not known: of 6 test texts no class is predicted for 20 or more, so there are no verdicts without sinks"
    assert dict(audit.report.blocks[0].facts)["sinks"] == told
    page = Tree.of((audit.folder / "report.html").read_text(encoding="utf-8")).text
    assert told in page
    assert APART not in page
    assert not any(WITHOUT_SINKS in finding.folder for finding in read_summary(audit.folder).findings)


@pytest.fixture(scope="module")
def drained(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Of an encoder that has a sink; for reading only."""
    from tiny_encoders import corpus_with, save_with_sink

    place = tmp_path_factory.mktemp("sink")
    taken = take_pretrained(corpus_with("the"), save_with_sink(place / "theirs"), place / "run")
    return audited(attentest.open_run(taken.path), place)


def audited(run: attentest.Run, place: Path) -> Audit:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(planning, "trials_of", fewer_trials)
        planned = plan_audit(run, texts=30)
    made = run_audit(planned, place / "audit", Here, Store(place / "store"))
    assert made.failed == {}
    return made


def test_every_verdict_is_also_given_without_sinks(drained: Audit) -> None:
    said = json.loads((drained.folder / "verdict.json").read_text(encoding="utf-8"))
    VALIDATOR.validate(said)
    models = said["models"]
    assert list(models) == [USUAL, SPECIAL, APART]
    assert [one["counts"] for one in models.values()] == [
        "own tokens",
        "special tokens too",
        "own tokens without sinks",
    ]
    search = models[USUAL]["sinks"]
    assert (search["texts"], [sink["name"] for sink in search["sinks"]]) == (40, ["the"])
    assert models[SPECIAL]["sinks"] is models[APART]["sinks"] is None
    usual, apart = (
        {r["name"]: r["figure"] for v in models[name]["verdicts"] for r in v["rulings"] if r["figure"]}
        for name in (USUAL, APART)
    )
    assert usual.keys() == apart.keys()
    assert (usual["used.decisions"]["n"], apart["used.decisions"]["n"]) == (120, 80)  # the others are looked for sinks
    weight = "plausible.weight"  # on the rationale, of which the sink is no part
    assert apart[weight]["value"] > usual[weight]["value"]
    assert usual[weight]["n"] == apart[weight]["n"] == 30


def test_the_sinks_are_named_on_the_page_and_in_the_terminal(drained: Audit) -> None:
    told = "“the” (0.97 of the weight, 6.2 times its share); found on 40 test texts, which the verdicts without sinks"
    assert told in dict(drained.report.blocks[0].facts)["sinks"]
    assert "sinks" not in dict(drained.report.blocks[2].facts)
    tree = Tree.of((drained.folder / "report.html").read_text(encoding="utf-8")).text
    assert told in tree
    assert APART in tree
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(drained)
    shown = " ".join(console.export_text().split())
    assert f"Sinks: {told}" in shown
    assert shown.index(USUAL) < shown.index("Sinks:") < shown.index(SPECIAL) < shown.index(APART)
    assert "models" not in drained.report.lead


def test_findings_without_sinks_are_those_of_the_view(drained: Audit, command: Program) -> None:
    apart = drained.report.blocks[2]
    assert {section.name for section in apart.sections} == FEW - OF_LAYERS
    assert all(section.signature["view"] == "without-sinks" for section in apart.sections)
    rows = pq.read_table(drained.folder / "ours.parquet").to_pylist()
    assert {row["model"] for row in rows} == {"theirs", f"theirs{WITH_SPECIAL}", f"theirs{WITHOUT_SINKS}"}
    answer = command("export", drained.folder, "--to", "csv")
    assert answer.code == 0, answer
    assert {row["model"] for row in csv.DictReader(io.StringIO(answer.out))} == {USUAL, SPECIAL, APART}


def test_a_model_without_sinks_says_so_instead_of_repeating_itself(tmp_path: Path) -> None:
    from tiny_encoders import corpus_with

    taken = take_pretrained(corpus_with("the"), save_classifier(tmp_path / "theirs"), tmp_path / "run")
    made = audited(attentest.open_run(taken.path), tmp_path)
    said = json.loads((made.folder / "verdict.json").read_text(encoding="utf-8"))["models"]
    assert list(said) == [USUAL, SPECIAL]
    assert said[USUAL]["sinks"] == {"texts": 40, "enough": True, "sinks": []}
    told = "none on 40 test texts: nothing that stands in most of them has 3 times its share of the weight or more"
    assert told in dict(made.report.blocks[0].facts)["sinks"]
    assert any(told in note for note in made.report.notes)


def test_texts_without_rationales_are_told_however_tokens_are_counted(tmp_path: Path) -> None:
    theirs = save_classifier(tmp_path / "theirs")
    made = audited(attentest.open_run(take_pretrained(corpus(), theirs, tmp_path / "run").path), tmp_path)
    told = [block.verdicts[-1] for block in made.report.blocks]
    assert [verdict.confidence for verdict in told] == ["Not tested: the corpus has no rationales."] * len(told)
    assert len(told) > 1


def test_an_audit_of_a_version_without_sinks_says_what_it_lacks(drained: Audit, tmp_path: Path) -> None:
    mine = Path(shutil.copytree(drained.folder, tmp_path / "old"))
    (mine / "published.json").unlink()  # the list of files as they were
    summary = json.loads((mine / "summary.json").read_text(encoding="utf-8"))
    del summary["blocks"][APART]
    for block in summary["blocks"].values():
        del block["sinks"]
    summary["findings"] = [ref for ref in summary["findings"] if ref["block"] != APART]
    write_json(mine / "summary.json", summary)
    report, _ = write_report(mine)
    assert report.notes.count(NO_SINKS) == 1
    assert NO_SINKS not in drained.report.notes
    VALIDATOR.validate(json.loads((mine / "verdict.json").read_text(encoding="utf-8")))


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
    assert answer.out.count(" min on one core") == 1
    assert "peak memory about" in answer.out
    plan = json.loads(command(*given, "--json").out)
    found = plan["encoder"]
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
    looked = replace(subject, rows=some_of(subject.rows, len(texts_for_sinks(subject.data))))
    told += sum(work.forward for work in works_of([], looked).values())
    assert found["forward"] == pytest.approx(told)
    assert 0 < found["seconds"] <= plan["seconds"] + 0.05 * len(plan["steps"])  # of each step, one digit is told
    bounded = json.loads(command(*given, "--json", "--memory", "200KB").out)["encoder"]
    assert bounded["memory"] <= 200_000 < found["memory"]
    assert bounded["model"] == found["model"] == sum(p.numel() * 4 for p in encoder_run.model.parameters())


@pytest.mark.parametrize("whose", ["a run", "to be trained"])
def test_a_dry_run_counts_the_models_that_are_compared(whose: str, tmp_path: Path) -> None:
    """Trials of the base and of the models that are trained like it, and their trainings, by a run timed here."""
    texts, base = corpus(), save_encoder(tmp_path / "base")
    if whose == "a run":
        trained = attentest.finetune(texts, base, tmp_path / "run", epochs=1)
        planned = plan_audit(texts, model=trained, texts=6)
    else:
        planned = plan_audit(texts, texts=6, training={"pretrained": str(base), "epochs": 1})
    found = forecast(planned)
    assert found is not None
    trainings = [step for step in planned.plan if step.work.endswith("training:run")]
    assert len(trainings) > 3
    assert {step.key for step in trainings} <= set(found.steps)
    asked = [step for step in planned.plan if "run" in step.inputs]
    assert {step.key for step in asked} <= set(found.steps)
    assert len({step.inputs["run"] for step in asked}) > 1
    by_base = [step for step in asked if step.inputs["run"] == asked[0].inputs["run"]]
    left = forecast(planned, lambda key: key not in {step.key for step in by_base})
    assert left is not None
    assert 0 < left.forward < found.forward
    assert forecast(planned, lambda key: True) is None


def test_other_audits_say_nothing_of_an_encoder(command: Program, run: attentest.Run, tmp_path: Path) -> None:
    answer = command("audit", run.path, "--dry-run", "--json", "--store", tmp_path / "store")
    assert "encoder" not in json.loads(answer.out)
