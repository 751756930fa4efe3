"""audit, report and compare, as a user gives them; the corpus is as hostile as a file can be."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pytest
from page_tree import Tree

import attentest
from attentest.cli import main
from attentest.studies import comparison
from attentest.studies.verdict import DEFINITIONS

SCRIPT = "<script>alert(1)</script>"
CLASSES = ("<b>\"'&", SCRIPT)
ODD = [
    SCRIPT,
    "</script><img src=x onerror=alert(2)>",
    "שלום עולם",
    "\u202egnihton",
    "👩‍👩‍👧 🎬",
    "a\x00b",
    "{{ 7 * 7 }}",
    "]]>",
]
NAME = "used.decisions"  # judged whatever the weights are, also where they are near uniform
SMALL = ["-s", "epochs=1", "-s", "dimension=8", "-s", "hidden=4", "--texts", "24", "--workers", "1"]


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """The program in this process."""

    def call(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["attentest", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return Said(code or 0, *capsys.readouterr())

    return call


def hostile_rows(number: int = 100) -> list[dict[str, str]]:
    """Texts that a page must not take for its own; one of the test texts has 20,000 tokens."""
    rows = []
    for i in range(number):
        label = CLASSES[i % 2]
        words = [ODD[i % len(ODD)], "good" if i % 2 else "bad", f"word{i}", ODD[(i * 5 + 3) % len(ODD)]]
        text = " ".join(words if i != 7 else words * 5_000)
        fold = "test" if i % 4 == 3 else "dev" if i % 7 == 1 else "train"
        rows.append({"key": f"../../a/{i}<b>", "body": text, "stars": label, "fold": fold})
    return rows


class Place(NamedTuple):
    corpus: Path
    store: Path
    out: Path

    @property
    def audit(self) -> list[str]:
        columns = ["--text", "body", "--label", "stars", "--id", "key", "--split", "fold"]
        return ["audit", str(self.corpus), *columns, *SMALL, "--store", str(self.store), "--out", str(self.out)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("hostile")
    corpus = folder / "reviews <b>#1 100%.csv"
    with corpus.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["key", "body", "stars", "fold"])
        writer.writeheader()
        writer.writerows(hostile_rows())
    return Place(corpus, folder / "store", folder / "audit")


@pytest.fixture
def audited(place: Place, call: Callable[..., Said]) -> dict[str, Any]:
    """What --json says; after the first time it comes from the store."""
    said = call(*place.audit, "--json")
    assert said.code == 0, said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def test_an_audit_says_every_answer_as_json(audited: dict[str, Any], place: Place) -> None:
    assert list(audited["answers"]) == list(DEFINITIONS)
    assert set(audited["answers"].values()) <= {"yes", "no", "unclear", "not tested"}
    assert audited["answers"]["plausible"] == "not tested"  # the corpus knows no reasons
    assert audited["failed"] == {}
    assert audited["page"] == str(place.out / "report.html")
    (verdicts,) = audited["verdicts"].values()
    assert {v["definition"]: v["answer"] for v in verdicts} == audited["answers"]


@pytest.mark.usefixtures("audited")
def test_a_hostile_corpus_gets_a_harmless_page(place: Place) -> None:
    page = place.out / "report.html"
    assert page.stat().st_size < 10e6
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text.lower()
    assert "<img src=x" not in text.lower()
    tree = Tree.of(text)
    assert not {name for _, attributes in tree.elements for name in attributes if name.startswith("on")}
    assert "\x00" not in text
    shown = {attributes["data-number"] for tag, attributes in tree.elements if tag == "article"}
    assert len(shown) == 25  # every test text, the long one too
    assert "Cut 1 texts to their first 1,000 tokens" in tree.text


@pytest.mark.usefixtures("audited")
def test_links_of_a_hostile_corpus_lead_to_its_files(place: Place) -> None:
    tree = Tree.of((place.out / "report.html").read_text(encoding="utf-8"))
    links = {link for link in [*tree.values("href"), *tree.values("src")] if not link.startswith(("#", "data:"))}
    assert len(links) > 20
    assert [link for link in links if not (place.out / unquote(link)).is_file()] == []
    inside = place.out.resolve()
    assert all((place.out / unquote(link)).resolve().is_relative_to(inside) for link in links)


@pytest.mark.usefixtures("audited")
def test_again_it_comes_from_the_store_and_is_printed_for_people(place: Place, call: Callable[..., Said]) -> None:
    said = call(*place.audit)
    assert said.code == 0
    assert said.out.startswith("0 steps run, ")
    for name in DEFINITIONS:
        assert f"\n{name} " in said.out
    assert said.out.rstrip().endswith("report.html")


@pytest.mark.usefixtures("audited")
def test_fail_on_a_verdict_that_comes_true(place: Place, call: Callable[..., Said]) -> None:
    said = call(*place.audit, "--fail-on", "untested-plausible", "--fail-on", "not-plausible")
    assert said.code == 1
    assert "failed on: untested-plausible\n" in said.out
    assert call(*place.audit, "--fail-on", "not-plausible", "--json").code == 0
    as_json = call(*place.audit, "--fail-on", "untested-plausible", "--json")
    assert (as_json.code, list(json.loads(as_json.out)["answers"])) == (1, list(DEFINITIONS))


@pytest.mark.usefixtures("audited")
def test_a_threshold_turns_a_verdict(place: Place, call: Callable[..., Said]) -> None:
    strict, mild = (json.loads(call(*place.audit, "--threshold", f"{NAME}={value}", "--json").out) for value in (2, -2))
    for said, answer in ((strict, "no"), (mild, "yes")):
        (verdicts,) = said["verdicts"].values()
        assert next(r["answer"] for v in verdicts for r in v["rulings"] if r["name"] == NAME) == answer


@pytest.mark.usefixtures("audited")
def test_report_of_the_audit(place: Place, call: Callable[..., Said], tmp_path: Path) -> None:
    said = call("report", place.out, "--out", tmp_path / "page.html", "--json")
    assert said.code == 0
    assert json.loads(said.out)["page"] == str(tmp_path / "page.html")
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "page_files"}
    contents = re.findall(r'<li><a href="#[^"]*">([^<]*)</a></li>', (tmp_path / "page.html").read_text("utf-8"))
    assert {"uniform", "experiment: uniform", "adversary", "experiment: adversary"} <= set(contents)
    printed = call("report", place.out, "--fail-on", "untested-plausible")
    assert printed.code == 1
    assert "plausible" in printed.out
    assert call("report", place.out, "--fail-on", "not-plausible").code == 0


@pytest.mark.usefixtures("audited")
def test_options_of_an_audit_are_settings_of_train_and_a_device_makes_no_new_steps(
    place: Place, call: Callable[..., Said]
) -> None:
    def steps(*more: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(call(*place.audit, "--dry-run", "--json", *more).out)["steps"]
        return found

    assert all(step["done"] for step in steps("--device", "cpu"))
    assert all(step["done"] for step in steps("--seed", "0"))
    for other in (["--seed", "77"], ["--max-tokens", "9"], ["--encoder", "cnn"]):
        base = next(step for step in steps(*other) if step["name"].startswith("train"))
        assert not base["done"]
    twice = call(*place.audit, "--seed", "1", "-s", "seed=2")
    assert twice.code == 2
    assert "'seed' was given twice, as --seed and with -s" in twice.err
    refused = call(*place.audit, "--device", "abacus", "--seed", "3")
    assert refused.code == 2
    assert "The device 'abacus' is not known; choose auto, cpu or cuda." in refused.err


def test_a_dry_run_prints_the_plan_and_does_nothing(place: Place, call: Callable[..., Said], tmp_path: Path) -> None:
    given = [*place.audit[:-3], str(tmp_path / "store"), "--out", str(tmp_path / "out"), "--dry-run"]
    lines = call(*given).out.splitlines()
    assert lines[-1].startswith(f"{len(lines) - 1} steps, about ")
    assert any(line.endswith("summarise") for line in lines)
    planned = json.loads(call(*given, "--json").out)
    assert len(planned["steps"]) == len(lines) - 1
    assert not any(step["done"] for step in planned["steps"])
    assert not (tmp_path / "out").exists()


def test_audit_of_a_run(run: attentest.Run, tmp_path: Path, call: Callable[..., Said]) -> None:
    said = call("audit", run.path, "--dry-run", "--store", tmp_path / "store")
    assert said.code == 0
    assert "train" not in said.out
    beside = call("audit", "planted", "-o", "rows=300", "--model", run.path, "--dry-run", "--store", tmp_path / "store")
    assert beside.code == 0
    assert "train planted" in beside.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("audit", "planted", "--budget", "quik"), "did you mean 'quick'"),
        (("audit", "planted", "--threshold", "faithful.gradiant=0.5"), "did you mean 'faithful.gradient'"),
        (("audit", "planted", "--threshold", "faithful.gradient"), "is not of the form NAME=VALUE"),
        (("audit", "planted", "--threshold", "faithful.gradient=high"), "expected a number"),
        (("audit", "planted", "--threshold", "faithful.gradient=NaN"), "expected a number"),
        (("audit", "planted", "--fail-on", "not-faithfull"), "did you mean 'not-faithful'"),
        (("audit", "planted", "-s", "encodr=cnn"), "did you mean 'encoder'"),
        (("audit", "planted", "-s", "encoder"), "is not of the form NAME=VALUE"),
        (("audit", "planted", "-o", "text=body"), "--text body"),
        (("audit", "planted", "--engine", "slurm"), "choose local or ray"),
        (("audit", "planted", "--texts", "0"), "texts is 0"),
        (("audit", "planted", "--model", "./nothing"), "there is no such run folder"),
        (("audit", "nothing.csv"), "nothing.csv"),
        (("audit", "plantd"), "did you mean 'planted'"),
        (("audit", "x" * 300), "x" * 40),
        (("audit", "corpus.csv"), "text"),
        (("audit", "corpus.csv", "--text", "bdy", "--label", "stars"), "bdy"),
        (("report", "nothing"), "there is no such folder"),
        (("report", "x" * 300), "there is no such folder"),
        (("report", "."), "is not the folder of an audit"),
        (("report", ".", "--threshold", "needed=1"), "Unknown threshold 'needed'"),
        (("report", ".", "--fail-on", "faithful"), "not-faithful"),
        (("compare", "nothing", "nothing"), "there is no such run folder"),
        (("compare", ".", "."), "run.json"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_2(
    arguments: tuple[str, ...],
    sentence: str,
    call: Callable[..., Said],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.csv").write_text("body,stars\nfine,1\n")
    said = call(*arguments)
    assert said.code == 2
    assert said.err.startswith("attentest: ")
    assert sentence in said.err
    assert said.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.csv"]  # nothing was begun


def test_compare(
    run: attentest.Run,
    sibling: attentest.Run,
    tmp_path: Path,
    call: Callable[..., Said],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "trials_of", lambda budget, rationales, layers: {"uniform": {}, "flips": {}})
    given = ["compare", run.path, sibling.path, "--texts", 5, "--workers", 1]
    given += ["--store", tmp_path / "store", "--out", tmp_path / "compare"]
    said = call(*given, "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert list(found["verdicts"])[1:] == ["small", "sibling"]
    assert found["failed"] == {}
    assert {row["trial"] for row in found["differences"]} == {"uniform", "flips"}
    printed = call(*given)
    assert printed.code == 0
    assert printed.out.startswith("0 steps run")
    assert "The two models make the same decision in a share of " in printed.out
    same = call("compare", run.path, run.path)
    assert (same.code, "was given twice" in same.err) == (2, True)


def test_stopped_by_hand_it_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "attentest.cli", "audit", "planted", "-o", "rows=2000", "--workers", "1"]
    command += ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "audit")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    status = tmp_path / "audit" / "status.json"
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not (
        status.exists() and json.loads(status.read_text(encoding="utf-8"))["running"]
    ):
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that run in it
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted. Run the same command again to resume; finished steps are kept." in " ".join(said.split())
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_hundred_thousand_rows(tmp_path: Path, call: Callable[..., Said]) -> None:
    draw = np.random.default_rng(0)
    corpus = tmp_path / "many.csv"
    words = draw.integers(0, 5_000, (100_000, 8))
    labels = draw.integers(0, 2, 100_000)
    lines = (f"w{' w'.join(map(str, row))} {'good' if y else 'bad'},{y}" for row, y in zip(words, labels, strict=True))
    corpus.write_text("text,label\n" + "\n".join(lines))
    small = ["-s", "epochs=1", "-s", "dimension=16", "-s", "hidden=8", "--workers", "1"]
    said = call("audit", corpus, *small, "--store", tmp_path / "store", "--out", tmp_path / "audit", "--json")
    assert said.code == 0, said.err
    assert len(json.loads(said.out)["answers"]) == len(DEFINITIONS)
    assert (tmp_path / "audit" / "report.html").stat().st_size < 10e6
    assert (
        "Sampled 12,000 of 100,000 rows"
        in Tree.of((tmp_path / "audit" / "report.html").read_text(encoding="utf-8")).text
    )
