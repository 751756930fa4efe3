"""Every field of every JSON file that is read back, wrong in every way: a message that names the file, or no harm.

The fields are those of the dataclasses that the files are read as, so that a new field is damaged from its first day.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_origin

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import table_files
from fields import WHOLE, WRONG, Place, filled, places, put, twice, without
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import attentest
from attentest.audits import Audit
from attentest.corpora import stored as corpora
from attentest.engine.manifest import Manifest
from attentest.engine.store import DamagedError, Registered, Store
from attentest.publish import Published, check_whole
from attentest.reports.gather import Judged, kept_thresholds
from attentest.studies import cells
from attentest.studies.folder import PlanRecord, StatusRecord, status
from attentest.studies.results import Summary, read_summary
from attentest.training.claim import clear_for
from attentest.training.record import ResultRecord, RunRecord
from attentest.trials.stored import FindingRecord, read_finding


class Case(NamedTuple):
    """A file in a folder, what it is read as, and what reads it."""

    file: str
    kind: Any
    read: Callable[[Path], object]


def opened(folder: Path) -> None:
    run = attentest.open_run(folder)
    assert run.name
    assert repr(run)


def measured(folder: Path) -> None:
    run = attentest.open_run(folder)
    assert run.metrics is not None
    run._repr_html_()


def finding(folder: Path) -> None:
    found = read_finding(next(folder.glob("findings/*-removal")))
    assert found.summary is not None


def entry(folder: Path) -> None:
    store = Store(folder)
    for place in (store.root / "entries").iterdir():
        store.fetch(place.name)


def trained_over(folder: Path) -> None:
    """What a training asks of a folder that it is to replace."""
    identity: dict[str, Any] = {"format": 1, "corpus": {}, "text": {}, "model": {}, "training": {}}
    clear_for(folder, identity, overwrite=True, write=False)


RUN = (
    Case("run.json", RunRecord, opened),
    Case("run.json", RunRecord, trained_over),
    Case("result.json", ResultRecord, measured),
    Case("vocabulary.json", list[str], lambda folder: attentest.open_run(folder).vocabulary),
)
AUDIT = (
    Case("summary.json", Summary, read_summary),
    Case("verdict.json", Judged, kept_thresholds),
    Case("findings/*-removal/finding.json", FindingRecord, finding),
    Case("plan.json", PlanRecord, status),
    Case("status.json", StatusRecord, status),
    Case("published.json", Published, check_whole),
)
STORE = (
    Case("entries/*/entry.json", Manifest, entry),
    Case("studies/*.json", Registered, lambda folder: Store(folder).collect(dry_run=True)),
)
CELLS = Case("cells.json", list[cells._StoredCell], cells.read_cells)
CORPUS = Case("corpus.parquet", corpora._About, lambda folder: attentest.load(folder / "corpus.parquet"))
KINDS = 800  # at least; what the tests below count together


@pytest.fixture
def run_folder(run: attentest.Run, tmp_path: Path) -> Path:
    return shutil.copytree(run.path, tmp_path / "copy")


@pytest.fixture
def audit_folder(audited: Audit, tmp_path: Path) -> Path:
    return shutil.copytree(audited.folder, tmp_path / "copy")


@pytest.fixture
def store_folder(tmp_path: Path) -> Path:
    store = Store(tmp_path / "store")
    with store.claim("key") as work:
        (work / "sum").write_text("1", encoding="utf-8")
        store.commit("key", {})
    store.register(tmp_path, ["key"])
    return store.root


@pytest.fixture
def cells_folder(tmp_path: Path) -> Path:
    row = {"variant": "a", "measure": "b", "value": 1.0, "low": None, "high": 2.0, "model": ""}
    (tmp_path / "cells.json").write_text(json.dumps([row]), encoding="utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def nothing_is_written_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that a damaged plan names may be a path that leads from here."""
    (tmp_path / "a" / "deep" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "deep" / "folder")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def message(read: Callable[[], object]) -> str | None:
    """What is told, or None if nothing was wrong with it; anything but a message fails the test."""
    try:
        read()
    except (attentest.InputError, DamagedError) as error:
        return str(error)
    return None


# values of the right type that are not what was there: an empty vocabulary, a class that no text has, another store …
PLAUSIBLE = (
    "does not belong",
    "not of one run",
    "there is no such",
    "The store",
    "no model",
    "sum is ",
    "published.json",
)


class Bench(NamedTuple):
    """A case in a folder of its own."""

    case: Case
    folder: Path
    file: Path
    usual: bytes
    content: Any

    @classmethod
    def of(cls, case: Case, folder: Path) -> Bench:
        (file,) = folder.glob(case.file)
        usual = file.read_bytes()
        return cls(case, folder, file, usual, filled(json.loads(usual), case.kind))

    def told(self, content: bytes | str) -> str | None:
        self.file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        said = message(lambda: self.case.read(self.folder))
        if said is not None:
            assert self.file.name in said or any(part in said for part in PLAUSIBLE), said[:500]
            assert len(said) < 3000
        return said


def damaged(bench: Bench) -> Iterator[tuple[str, str, bool]]:
    """Every field twice and wrong; and whether that must be refused."""
    for place in places(bench.case.kind):
        yield f"{place} twice", twice(bench.content, place), False
        for name, text in WRONG.items():
            yield f"{place} is {name}", put(bench.content, place, text), name in NEVER


NEVER = ("NaN", "Infinity", "-Infinity", "beyond all numbers", "5000 digits", "deep lists")  # in any field of ours


def check_all(case: Case, folder: Path) -> int:
    bench = Bench.of(case, folder)
    count = refused = 0
    for what, text, must in damaged(bench):
        said = bench.told(text)
        assert said is not None or not must or _is_free(case, what), what
        refused += said is not None
        count += 1
    for place in places(case.kind):
        said = bench.told(without(bench.content, place))
        assert said is None or place[-1] is None or f"`{place[-1]}`" in said, said
        count += 1
    for what, content in WHOLE.items():
        assert bench.told(content) is not None or _is_free(case, what), what
    for share in range(10):
        assert bench.told(bench.usual[: len(bench.usual) * share // 10]), f"cut to {share} tenths"
    text = bench.usual.decode()
    for encoding in ("utf-16", "utf-16-be", "utf-32", "utf-8-sig"):
        assert bench.told(text.encode(encoding)), encoding
    assert refused > count / 3
    bench.file.write_bytes(bench.usual)
    assert message(lambda: case.read(folder)) is None
    return count + len(WHOLE) + 14


def _is_free(case: Case, what: str) -> bool:
    """Deep JSON is refused where it is no JSON to Python, or not of the type; some fields may hold anything."""
    if what == "the whole is a list":
        return get_origin(case.kind) is list
    return "deep" in what and any(name in what for name in ("signature", "settings"))


@pytest.mark.parametrize("case", RUN, ids=lambda case: f"{case.file}-{case.read.__name__}")
def test_of_a_run(case: Case, run_folder: Path) -> None:
    assert check_all(case, run_folder) > 20


@pytest.mark.parametrize("case", AUDIT, ids=lambda case: case.file)
def test_of_an_audit(case: Case, audit_folder: Path) -> None:
    assert check_all(case, audit_folder) > 50


@pytest.mark.parametrize("case", STORE, ids=lambda case: case.file)
def test_of_a_store(case: Case, store_folder: Path) -> None:
    assert check_all(case, store_folder) > 50


def test_of_cells(cells_folder: Path) -> None:
    assert check_all(CELLS, cells_folder) > 100


def test_the_fields_are_many() -> None:
    """All together, each in as many ways as there are."""
    fields = [place for case in (*RUN, *AUDIT, *STORE, CELLS, CORPUS) for place in places(case.kind)]
    assert len(fields) > 150
    assert len(fields) * len(WRONG) > KINDS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=8,
)


def any_damage(kind: Any) -> st.SearchStrategy[tuple[Place, str]]:
    return st.tuples(st.sampled_from(places(kind)), JSON.map(json.dumps) | st.sampled_from(sorted(WRONG.values())))


FIXTURES = {
    **{case.file: ("run_folder", case) for case in RUN if case.read is not trained_over},
    **{case.file: ("audit_folder", case) for case in AUDIT},
    **{case.file: ("store_folder", case) for case in STORE},
    "cells.json": ("cells_folder", CELLS),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_with_anything_in_two_fields(name: str, request: pytest.FixtureRequest) -> None:
    fixture, case = FIXTURES[name]
    bench = Bench.of(case, request.getfixturevalue(fixture))
    fields = places(case.kind)

    @settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(any_damage(case.kind), st.sampled_from(fields), st.booleans())
    def check(damage: tuple[Place, str], other: Place, cut: bool) -> None:
        place, text = damage
        content = put(bench.content, place, text)
        bench.told(content[: len(content) // 2] if cut and len(content) < 10_000 else content)
        if other != place[: len(other)] and place != other[: len(place)]:
            bench.told(without(json.loads(put(bench.content, place, '"word"')), other))

    check()


def test_of_a_saved_corpus(tmp_path: Path) -> None:
    file = tmp_path / "corpus.parquet"
    attentest.load("planted", rows=20).save(file)
    table = pq.read_table(file)
    usual = filled(json.loads(table.schema.metadata[corpora._KEY]), corpora._About)

    def told(text: bytes) -> str | None:
        pq.write_table(table.replace_schema_metadata({corpora._KEY: text}), file)
        said = message(lambda: CORPUS.read(tmp_path))
        assert said is None or file.name in said, said
        return said

    for place in places(CORPUS.kind):
        told(without(usual, place).encode())
        for name, text in WRONG.items():
            said = told(put(usual, place, text).encode("utf-8", "surrogatepass"))
            assert said or name not in ("null", "NaN", "half") or place[0] in ("recipe", "origin"), (
                place,
                name,
            )
    for what, content in WHOLE.items():
        assert told(content), what


def test_tables_of_a_saved_corpus(tmp_path: Path) -> None:
    """A damaged one is told with its name; the metadata stay as they are."""
    file = tmp_path / "corpus.parquet"
    attentest.load("planted", rows=30).save(file)
    usual, about = file.read_bytes(), pq.read_schema(file).metadata
    count = 0
    for what, damage in (*table_files.FILES.items(), *table_files.of_columns(file)):
        file.write_bytes(usual)
        damage(file)
        if pq_is_whole(file):
            pq.write_table(pq.read_table(file).replace_schema_metadata(about), file)
        said = message(lambda: attentest.load(file).fingerprint())
        assert said is None or file.name in said, said
        harmless = ("a row less", "a row twice", "zeros in its footer", "id holds text", "text holds text")
        assert said or what in harmless or "rationale" in what, what
        count += 1
    assert count > 80


def pq_is_whole(file: Path) -> bool:
    try:
        pq.read_table(file)
    except (OSError, pa.ArrowException):
        return False
    return True
