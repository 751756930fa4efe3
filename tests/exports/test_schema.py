"""verdict.json is what its schema says, and the schema refuses what is not."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from judged import block, report

import attentest
from attentest.audits import Audit
from attentest.files import write_json
from attentest.measures.intervals import Estimate
from attentest.reports.gather import kept_thresholds
from attentest.reports.write import SCHEMA, SCHEMA_ID, VERSION, verdict_file, write_report
from attentest.studies.results import WITHOUT_SINKS
from attentest.studies.verdict import CRITERIA, DEFINITIONS
from attentest.studies.verdict.judge import DOES_NOT_APPLY, FAILURES
from attentest.trials.sinks import FoundSink, SinkSearch

DESCRIBED: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(DESCRIBED)
NAN = math.nan


def written(folder: Path, name: str = "verdict.json") -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A file with all that there may be: controls, rates, references, and a figure without an interval."""
    folder = tmp_path_factory.mktemp("made")
    bare = block("bare", null=Estimate(0.5, NAN, NAN, 1))
    # as if sinks were looked for, and not in the model that has none of them
    search = SinkSearch(
        40, True, [FoundSink(".", 7, None, 0.9, 0.4, 4.0), FoundSink("first token", None, "first", *[1.0] * 3)]
    )
    apart = block(f"bare{WITHOUT_SINKS}")
    assert apart.about is not None
    apart = replace(apart, about=replace(apart.about, sinks=search))
    write_json(folder / "verdict.json", verdict_file(report(block(), bare, apart), {"faithful.top": 0.4}))
    return written(folder)


def properties(schema: Any, place: str = "$") -> Iterator[tuple[str, Any]]:
    """Every field that the schema names."""
    if isinstance(schema, dict):
        for name, inner in schema.get("properties", {}).items():
            if "const" not in inner or "description" in inner:  # what `contains` asks of a field describes none
                yield f"{place}.{name}", inner
        for name, inner in schema.items():
            yield from properties(inner, f"{place}.{name}")


def test_the_schema_is_one_and_describes_every_field() -> None:
    Draft202012Validator.check_schema(DESCRIBED)
    assert DESCRIBED["$id"] == SCHEMA_ID
    assert SCHEMA_ID.endswith(f":{VERSION}")
    found = dict(properties(DESCRIBED))
    assert len(found) > 40
    for place, field in found.items():
        target = DESCRIBED["$defs"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field
        assert len(target["description"]) > 10, place


def test_the_schema_knows_the_words_of_the_judge() -> None:
    definitions = DESCRIBED["$defs"]
    fields = definitions["ruling"]["properties"]
    for name in ("level", "role", "side", "kind"):
        assert {getattr(criterion, name) for criterion in CRITERIA.values()} <= set(fields[name]["enum"]), name
    assert definitions["definition"]["enum"] == list(DEFINITIONS)
    answers = {"yes", *(answer for _, answer in FAILURES.values()), DOES_NOT_APPLY}
    assert answers == set(definitions["answer"]["enum"])
    tests = Draft202012Validator(definitions["test"])
    assert all(tests.is_valid(name) for name in CRITERIA)


def test_of_an_audit_it_is_valid(audited: Audit) -> None:
    content = written(audited.folder)
    VALIDATOR.validate(content)
    assert content["$schema"] == SCHEMA_ID
    assert (content["version"], content["attentest"]) == (VERSION, attentest.__version__)
    (model,) = content["models"].values()
    assert {v["definition"]: v["answer"] for v in model["verdicts"]} == audited.as_dict()["answers"]
    assert set(model["metrics"]) >= {"accuracy", "f1"}


def test_of_everything_that_a_verdict_may_have_it_is_valid(made: Any) -> None:
    VALIDATOR.validate(made)
    assert made["controls"] is True
    assert made["thresholds"] == {"faithful.top": 0.4}
    first, second, third = made["models"].values()
    assert [one["counts"] for one in (first, third)] == ["own tokens", "own tokens without sinks"]
    assert (first["sinks"], third["sinks"]["sinks"][0]["times"]) == (None, 4.0)
    (decided, *_) = first["verdicts"][0]["rulings"]
    assert decided["decides"] is True
    assert set(decided["controls"]) == {"positive", "null"}
    assert decided["rates"]["false_alarm"] == 0.04
    assert first["metrics"]["auc"] is None  # was NaN
    assert first["baseline"] == {"accuracy": 0.85}
    assert second["verdicts"][0]["rulings"][0]["null"] == {"value": 0.5, "low": None, "high": None, "n": 1}


def changed(place: tuple[str | int, ...], value: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for step in place[:-1]:
            content = content[step]
        content[place[-1]] = value

    return change


RULING = ("models", "bare", "verdicts", 0, "rulings", 0)


@pytest.mark.parametrize(
    "damage",
    [
        changed(("version",), 1),
        changed(("version",), 2),
        changed(("version",), "3"),
        changed(("$schema",), "urn:attentest:verdict:1"),
        changed(("models",), {}),
        changed(("thresholds",), {"faithful.top": "0.4"}),
        changed(("thresholds",), {"honest.top": 0.4}),
        changed(("controls",), "yes"),
        changed(("models", "bare", "verdicts"), []),
        changed(("models", "bare", "counts"), "all"),
        changed(("models", "bare", "sinks"), {"texts": 40, "enough": True}),
        changed(("models", "bare, without sinks", "sinks", "sinks", 0, "place"), "middle"),
        changed(("models", "bare, without sinks", "sinks", "texts"), -1),
        changed(("models", "bare", "baseline"), {"accuracy": "high"}),
        changed(("models", "bare", "verdicts", 0, "answer"), "maybe"),
        changed(("models", "bare", "verdicts", 0, "definition"), "honest"),
        changed((*RULING, "level"), "words"),
        changed((*RULING, "role"), "decides"),
        changed((*RULING, "side"), "below"),
        changed((*RULING, "threshold"), None),
        changed((*RULING, "figure", "n"), 1.5),
        changed((*RULING, "figure", "n"), -1),
        changed((*RULING, "rates", "hit"), 1.1),
        changed((*RULING, "controls", "positive"), None),
        changed((*RULING, "decides"), "yes"),
        changed(("models", "bare", "verdicts", 0, "rulings", 1, "decides"), True),  # two decide
        changed((*RULING, "more"), 1),
    ],
)  # fmt: skip
def test_a_wrong_one_is_refused(made: Any, damage: Callable[[Any], None]) -> None:
    content = deepcopy(made)
    VALIDATOR.validate(content)
    damage(content)
    assert not VALIDATOR.is_valid(content)


# whose entries may have any name
OPEN = ("models", "thresholds", "calibration", "left_out", "controls", "metrics", "baseline")


def places(content: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every field that the schema knows by its name."""
    if isinstance(content, dict):
        for name, inner in content.items():
            if not place or place[-1] not in OPEN:
                yield (*place, name)
            yield from places(inner, (*place, name))
    elif isinstance(content, list):
        for number, inner in enumerate(content):
            yield from places(inner, (*place, number))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_without_any_one_of_its_fields_it_is_refused(made: Any, data: st.DataObject) -> None:
    content = deepcopy(made)
    place = data.draw(st.sampled_from(sorted(places(made), key=str)))
    holder = content
    for step in place[:-1]:
        holder = holder[step]
    del holder[place[-1]]
    assert not VALIDATOR.is_valid(content), place


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_list_in_the_place_of_any_field_is_refused(made: Any, data: st.DataObject) -> None:
    content = deepcopy(made)
    place = data.draw(st.sampled_from(sorted(places(made), key=str)))
    changed(place, [[]])(content)  # an empty one may be right where a list is
    assert not VALIDATOR.is_valid(content), place


def test_thresholds_of_an_old_folder_count_where_the_test_is_the_same(audited: Audit, tmp_path: Path) -> None:
    """The first form had no version; one of its tests is gone, and one has another figure under its name."""
    mine = shutil.copytree(audited.folder, tmp_path / "audit")
    old = {"faithful.gradient": 0.3, "faithful.permutation": 0.2, "stable.seeds": 0.1}
    write_json(mine / "verdict.json", {"thresholds": old, "models": {}})
    assert kept_thresholds(mine) == {"faithful.gradient": 0.3}
    rulings = [r for v in write_report(mine)[0].blocks[0].verdicts for r in v.rulings]
    (gradient,) = (r for r in rulings if r.criterion.name == "faithful.gradient")
    assert (gradient.threshold, gradient.source) == (0.3, "set by you")
    VALIDATOR.validate(written(mine))
    assert kept_thresholds(mine) == {"faithful.gradient": 0.3}
