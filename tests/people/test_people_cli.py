"""The commands of a study with people, and what it says in an audit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

from program import Program

import attentest
from attentest.audits import audit
from attentest.errors import InputError
from attentest.people.answers import Answers, Given
from attentest.people.design import create_study
from attentest.people.report import report_of
from attentest.people.study import PeopleStudy, open_study
from attentest.reports.result import report


def answer(study: PeopleStudy, names: Sequence[str] = ("ann", "bo"), relevant: str = "original") -> None:
    """Everybody finds the words of that condition relevant, and no others."""
    answers = Answers(study.answers_url)
    answers.enroll(names)
    for name in names:
        for item in study.items:
            said = bool(item.expected) if item.condition == "known" else item.condition == relevant
            answers.save(name, Given(item.id, said, None, None, None, 2000), item.id)
    answers.close()


def ruling(folder: Path) -> dict[str, Any]:
    (model,) = json.loads((folder / "verdict.json").read_text())["models"].values()
    found: list[dict[str, Any]] = [
        r for v in model["verdicts"] for r in v["rulings"] if r["name"] == "plausible.people"
    ]
    return found[0]


def test_from_a_run_to_a_report(run: attentest.Run, tmp_path: Path, command: Program) -> None:
    folder = tmp_path / "people"
    made = command(
        "annotate", "create", run.path, "--detect", "0.6", "--out", folder, "--comment", "--least-known", "1"
    ).out
    assert "A difference of 0.6 takes 12 texts in each condition" in made
    study = open_study(folder)
    assert (study.record.samples, study.record.detect) == (12, 0.6)
    assert (study.record.asked.comment, study.record.exclusion.least_known) == (True, 1)
    answer(study)
    said = command("annotate", "report", folder, "--html", tmp_path / "page.html").out
    assert "100% of the texts with the model's own weights and in 0%" in said
    assert "Krippendorff's α" in said
    assert "<h1>Do people find" in (tmp_path / "page.html").read_text()
    found = json.loads(command("annotate", "report", folder, "--json").out)
    assert found["kept"]["agreement"]["Cohen's κ"]["estimate"]["value"] == 1
    assert found["kept"]["difference"]["value"] == 1
    assert "answers in" in command("annotate", "export", folder, "--out", tmp_path / "a.csv").out
    assert "0 new answers" in command("annotate", "import", folder, tmp_path / "a.csv").out  # all of them are there
    item = study.items[0].id
    (tmp_path / "b.csv").write_text(f"annotator,item,relevant\nann,{item},yes\ncy,{item},no\n")
    assert "2 new answers" in command("annotate", "import", folder, tmp_path / "b.csv").out  # ann's has another time
    assert "0 new answers" in command("annotate", "import", folder, tmp_path / "b.csv").out


@pytest.mark.parametrize(
    "words",
    [
        ("create", "nowhere", "--out", "new"),
        ("create", "RUN", "--n", "100000", "--out", "new"),
        ("create", "RUN", "--out", "used"),
        ("create", "RUN", "--n", "3", "--least-known", "2", "--out", "new"),
        ("create", "RUN", "--n", "3", "--least-time", "-1", "--out", "new"),
        ("report", "nowhere"),
        ("report", "used"),
        ("report", "STUDY"),
        ("report", "STUDY", "--database", "oracle://x"),
        ("export", "STUDY", "--out", "a.csv"),
        ("export", "STUDY", "--out", "a.docx"),
        ("import", "STUDY", "nowhere.csv"),
        ("import", "STUDY", "used/own.csv"),
    ],
)
def test_bad_input_is_a_message(words: Sequence[str], run: attentest.Run, tmp_path: Path, command: Program) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "own.csv").write_text("a,b\n1,2\n")
    places = {"RUN": str(run.path)}
    if "STUDY" in words:
        places["STUDY"] = str(create_study(run, tmp_path / "study", n=3, known=0).folder)
    given = [places.get(word, str(tmp_path / word) if "." in word or word in PLACES else word) for word in words]
    said = command("annotate", *given)
    assert said.code == 2
    assert said.err.startswith("attentest: ")
    assert not (tmp_path / "new").exists()


PLACES = ("nowhere", "new", "used")


@pytest.fixture(scope="module")
def study(sibling: attentest.Run, tmp_path_factory: pytest.TempPathFactory) -> PeopleStudy:
    made = create_study(sibling, tmp_path_factory.mktemp("people") / "study", n=22)
    answer(made)
    return made


def test_the_audit_takes_what_people_said(study: PeopleStudy, sibling: attentest.Run, tmp_path: Path) -> None:
    found = audit(sibling, tmp_path / "audit", texts=25, people=report_of(study).finding, store=tmp_path / "store")
    one = ruling(tmp_path / "audit")
    assert one["figure"]["value"] == 1
    assert one["figure"]["n"] == 22
    assert one["null"]["value"] == 0
    assert one["answer"] == "yes"
    assert any(section.name == "people" for section in found.report.blocks[0].sections)
    assert "People call the three heaviest words relevant" in found.page.read_text()
    again = report(tmp_path / "audit")  # the page is made again from the folder alone
    assert "People call the three heaviest words relevant" in again.page.read_text()
    assert ruling(tmp_path / "audit") == one


def test_the_audit_of_another_model_refuses_it(study: PeopleStudy, run: attentest.Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another model"):
        audit(run, tmp_path / "audit", texts=20, people=report_of(study).finding, store=tmp_path / "store")
    assert not (tmp_path / "audit" / "verdict.json").exists()


def test_answers_to_the_audit_from_another_database(
    study: PeopleStudy, sibling: attentest.Run, tmp_path: Path, command: Program
) -> None:
    place = ("--out", tmp_path / "audit", "--store", tmp_path / "store", "--texts", "20")
    alone = command("audit", sibling.path, "--people-database", study.answers_url, *place)
    assert (alone.code, "also give its folder with --people" in alone.err) == (2, True)
    bare = shutil.copytree(study.folder, tmp_path / "bare", ignore=shutil.ignore_patterns("answers*"))
    typo = command("audit", sibling.path, "--people", bare, "--people-database", f"sqlite:///{tmp_path}/typo", *place)
    assert (typo.code, "typo does not exist" in typo.err) == (2, True)
    assert not (tmp_path / "typo").exists()
    given = ("--people", bare, "--people-database", study.answers_url)
    assert command("audit", sibling.path, *given, *place).code == 0
    assert ruling(tmp_path / "audit")["figure"]["value"] == 1


def test_audit_by_command(study: PeopleStudy, sibling: attentest.Run, tmp_path: Path, command: Program) -> None:
    place = ("--out", tmp_path / "audit", "--store", tmp_path / "store", "--texts", "20")
    assert command("audit", sibling.path, "--people", study.folder, *place).code == 0
    assert ruling(tmp_path / "audit")["figure"]["value"] == 1
    refused = command("audit", sibling.path, "--people", tmp_path / "nowhere", *place)
    assert refused.code == 2
    assert "no such folder" in refused.err
