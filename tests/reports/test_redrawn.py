"""The charts of a page are made anew from tables, whatever was done to these."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_engine import Here

import attentest
from attentest.audits import Audit
from attentest.engine import Store
from attentest.files import hash_of, read_table, write_table
from attentest.reports.contents import Section
from attentest.reports.instances import read_instances, write_csv
from attentest.reports.redrawn import redrawn
from attentest.reports.write import write_report
from attentest.studies.expand import expand
from attentest.studies.published import PublishedRow
from attentest.studies.run_study import run_planned
from attentest.studies.schema import Study
from attentest.trials.charts.files import _converted, as_text, save_charts, slug, svg_of
from attentest.trials.instances import SCHEMA
from attentest.trials.stored import StoredFinding, read_finding

ALL = [
    *("uniform", "permutation", "adversary", "correlation", "removal", "flips", "importance-sets"),
    *(
        "overlap",
        "conicity",
        "erasure",
        "exchange",
        "dispersion",
        "information",
        "rationale",
        "swaps",
        "controls",
        "uniform",
        "seeds",
        "guides",
        "adversary",
        "frozen",
        "sparsity",
        "fix",
    ),
    *("informed-adversary", "gumbel"),
]
DRAWN_FROM_SUMMARY = {
    "swaps trial",
    "controls experiment",
    "uniform experiment",
    "guides experiment",
    "frozen experiment",
}


def folders(audit: Audit) -> list[Path]:
    return sorted((audit.folder / "findings").iterdir())


def outcome(work: Callable[[], Any]) -> str:
    """What a user is told; nothing if all went well."""
    try:
        work()
    except attentest.InputError as error:
        return str(error)
    return ""


def with_table(finding: StoredFinding, table: pa.Table) -> StoredFinding:
    """As if it lay in the folder."""
    made = StoredFinding(finding.folder, finding.record)
    made.__dict__["table"] = table
    return made


def test_they_are_those_that_the_findings_were_saved_with(audited: Audit) -> None:
    found = [read_finding(folder) for folder in folders(audited)]
    assert [finding.record.trial for finding in found] == ALL
    for finding in found:
        listed = json.loads((finding.folder / "finding.json").read_text(encoding="utf-8"))["charts"]
        charts = redrawn(finding)
        assert [(chart["title"], chart["description"]) for chart in listed] == [
            (title, chart["description"]) for title, chart in charts.items()
        ]
        for chart in listed:
            assert (finding.folder / chart["spec"]).read_text(encoding="utf-8") == as_text(charts[chart["title"]])
            assert (finding.folder / chart["svg"]).read_text(encoding="utf-8") == svg_of(charts[chart["title"]])


@pytest.mark.slow
def test_figures_over_several_models_are_made_anew_too(tmp_path: Path) -> None:
    models = ({"encoder": "average"}, {"encoder": "none", "projection": "sparsemax"})
    training = {"epochs": 1, "dimension": 8, "hidden": 4}
    trials: dict[str, Any] = {"uniform": {}, "information": {"runs": 2, "clusters": 3}, "correlation": {}}
    study = Study("two", corpora=("planted",), columns={"rows": 80}, models=models, training=training,
                  trials=trials, texts=8)  # fmt: skip
    assert run_planned(expand(study), tmp_path / "study", Here, Store(tmp_path / "store")).failed == {}
    report, _ = write_report(tmp_path / "study")
    assert len(report.figures) == 4
    for figure in report.figures:
        kept = tmp_path / "study" / "figures" / f"{slug(figure.title)}.json"
        assert kept.read_text(encoding="utf-8") == as_text(figure.spec)
    for file in (tmp_path / "study" / "figures").iterdir():
        file.unlink()
    again, _ = write_report(tmp_path / "study")
    assert [(figure.title, figure.spec, figure.svg) for figure in again.figures] == [
        (figure.title, figure.spec, figure.svg) for figure in report.figures
    ]
    assert all(figure.files == {} for figure in again.figures)


def test_a_trial_that_this_version_does_not_know_has_numbers_and_no_charts(audited: Audit, tmp_path: Path) -> None:
    folder = shutil.copytree(folders(audited)[4], tmp_path / "old")
    content = json.loads((folder / "finding.json").read_text(encoding="utf-8"))
    (folder / "finding.json").write_text(json.dumps(content | {"trial": "horoscope"}), encoding="utf-8")
    report, page = write_report(folder)
    (section,) = report.blocks[0].sections
    assert section.figures == []
    assert section.notes[-1].startswith("This version of attentest does not know it")
    assert set(section.files) == {"CSV", "Parquet"}
    text = page.read_text(encoding="utf-8")
    assert "mean ΔJS" in text
    assert "<svg" not in text.split('class="finding"')[1]


@pytest.mark.parametrize("place", [n for n, name in enumerate(ALL) if name in ("information", "gumbel")] + [2])
def test_a_table_of_an_earlier_version_gives_no_charts(audited: Audit, tmp_path: Path, place: int) -> None:
    folder = shutil.copytree(folders(audited)[place], tmp_path / "old")
    table = read_table(folder / "table.parquet")
    file, content = folder / "finding.json", json.loads((folder / "finding.json").read_text(encoding="utf-8"))

    def section_with(metadata: dict[bytes, bytes]) -> Section:
        write_table(folder / "table.parquet", table.replace_schema_metadata(metadata))
        file.write_text(json.dumps(content | {"table": hash_of(folder / "table.parquet")}), encoding="utf-8")
        return write_report(folder)[0].blocks[0].sections[0]

    kept = {key: value for key, value in table.schema.metadata.items() if key != b"for_charts"}
    section = section_with(kept)
    assert section.figures == []
    assert section.notes[-1].startswith("An earlier version of attentest made it")
    assert section.summary
    with pytest.raises(attentest.InputError, match=r"table\.parquet is damaged"):
        section_with({**kept, b"for_charts": b"{}"})


def damaged_columns(table: pa.Table, name: str) -> Iterator[tuple[str, pa.Table]]:
    place, rows = table.column_names.index(name), len(table)

    def put(values: Any) -> pa.Table:
        return table.set_column(place, name, values if isinstance(values, pa.Array) else pa.array(values))

    yield "dropped", table.drop_columns([name])
    yield "twice", table.append_column(name, table[name])
    yield "null", put(pa.nulls(rows))
    yield "typed nulls", put(pa.nulls(rows, table.schema.field(name).type))
    yield "words", put(["<script>"] * rows)
    yield "huge words", put([f"{i}" + "x" * 100_000 for i in range(rows)])
    yield "yes", put([True] * rows)
    yield "whole", put([-3] * rows)
    yield "lists", put([[1.0, 2.0]] * rows)
    yield "bytes", put([b"\xff\xfe"] * rows)
    for value in (np.nan, np.inf, -np.inf, -1.0, 1e11, 1e300, 0.0):
        yield f"{value}", put(np.full(rows, value))
    mixed = np.resize([np.nan, 0.1, -np.inf, 3.0], rows)
    yield "mixed", put(mixed)


def damaged_tables(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    for name in table.column_names:
        for what, damaged in damaged_columns(table, name):
            yield f"{name} {what}", damaged
    yield "empty", table.slice(0, 0)
    yield "one", table.slice(0, 1)
    yield "no columns", pa.table({})
    kept = table.schema.metadata or {}
    for content in (b"", b"[", b"null", b"3", b"{}", b'{"a": 3}', b"[" * 100_000, b"\xff", b'["a", "a"]', b"[3]",
                    b'{"bound": ["x"]}', b'{"bound": [1e300]}', b'{"bound": []}'):  # fmt: skip
        for key in (b"classes", b"for_charts"):
            yield f"{key!r} {content[:9]!r}", table.replace_schema_metadata({**kept, key: content})
    yield "no metadata", table.replace_schema_metadata(None)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(n, id=f"{n + 1}-{name}", marks=[pytest.mark.slow] * (name == "correlation"))
        for n, name in enumerate(ALL)
    ],
)
def test_a_damaged_table_gives_charts_or_a_message_that_names_it(audited: Audit, place: int) -> None:
    finding = read_finding(folders(audited)[place])
    told = 0
    for what, damaged in damaged_tables(finding.table):
        message = outcome(partial(redrawn, with_table(finding, damaged)))
        told += bool(message)
        assert not message or str(finding.folder / "table.parquet") in message, what
    assert told or f"{finding.record.trial} {finding.record.kind}" in DRAWN_FROM_SUMMARY


def test_what_a_summary_lacks_is_told(audited: Audit) -> None:
    for folder in folders(audited):
        finding = read_finding(folder)
        for name in [*finding.summary, *([""] if finding.summary else [])]:
            kept = {key: value for key, value in finding.record.summary.items() if name and key != name}
            record = type(finding.record)(**{**vars(finding.record), "summary": kept})
            message = outcome(partial(redrawn, StoredFinding(folder, record)))
            assert not message or (str(folder / "table.parquet") in message and "finding.json" in message)


@pytest.mark.slow
def test_a_million_classes_are_drawn(audited: Audit) -> None:
    finding = read_finding(folders(audited)[2])
    rows, names = 1_000_000, [f"class {i}" for i in range(1_000_000)]
    table = finding.table.take(np.resize(np.arange(len(finding.table)), rows))
    table = table.set_column(table.column_names.index("predicted"), "predicted", pa.array(names))
    many = table.replace_schema_metadata({**table.schema.metadata, b"classes": json.dumps(names)})
    assert all(len(as_text(chart)) < 60_000 for chart in redrawn(with_table(finding, many)).values())


def test_charts_that_are_too_large_are_refused(audited: Audit) -> None:
    finding = next(f for f in map(read_finding, folders(audited)) if f.record.trial == "sparsity")
    table = finding.table.take(np.resize(np.arange(len(finding.table)), 100_000))
    with pytest.raises(attentest.InputError, match=r"table\.parquet is damaged: .* too large"):
        redrawn(with_table(finding, table))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_numbers_a_table_has(audited: Audit, data: st.DataObject) -> None:
    finding = read_finding(data.draw(st.sampled_from(folders(audited))))
    table, rows = finding.table, len(finding.table)
    entries: dict[str, st.SearchStrategy[Any]] = {
        "numbers": st.floats() | st.none(),
        "whole": st.integers(-(2**63), 2**63 - 1) | st.none(),
        "words": st.text() | st.none(),
    }
    for name in data.draw(st.lists(st.sampled_from(table.column_names), max_size=4, unique=True)):
        values = data.draw(st.lists(entries[data.draw(st.sampled_from(sorted(entries)))], min_size=1, max_size=9))
        column = pa.array((values * rows)[:rows])
        table = table.set_column(table.column_names.index(name), name, column)
    message = outcome(lambda: redrawn(with_table(finding, table)))
    assert not message or str(finding.folder / "table.parquet") in message


def no_utf8(table: pa.Table) -> pa.Table:
    words = pa.array([b"\xff\xfe"] * len(table)).view(pa.binary())
    broken = pa.Array.from_buffers(pa.string(), len(table), words.buffers())
    return table.set_column(table.column_names.index("variant"), "variant", broken)


HEAT_MAPS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "no UTF-8": no_utf8,
    "lists of other lengths": lambda table: changed(table, "weight", [[0.5]] * len(table)),
    "no tokens": lambda table: table.set_column(9, "start", pa.array([[]] * len(table), pa.list_(pa.int32()))),
    "places beyond the text": lambda table: changed(
        table, "end", [[10**9] * len(row) for row in table["end"].to_pylist()]
    ),
    "places that go back": lambda table: changed(table, "start", [row[::-1] for row in table["start"].to_pylist()]),
    "a weight that is null": lambda table: changed(
        table, "weight", [[None, *row[1:]] for row in table["weight"].to_pylist()]
    ),
    "other tokens in a variant": lambda table: changed(
        table, "start", [[n % 2, *row[1:]] for n, row in enumerate(table["start"].to_pylist())]
    ),
}


def changed(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table.schema.field(name).type))


@pytest.mark.parametrize("what", HEAT_MAPS)
def test_damaged_heat_maps_are_told(audited: Audit, tmp_path: Path, what: str) -> None:
    (stored,) = (audited.folder / "heat-maps").glob("*.parquet")
    file = tmp_path / "instances.parquet"
    write_table(file, HEAT_MAPS[what](read_table(stored)))
    with pytest.raises(attentest.InputError, match=r"instances\.parquet"):
        read_instances(file)
    if what != "other tokens in a variant":  # of which each row is whole
        with pytest.raises(attentest.InputError, match=r"instances\.parquet"):
            write_csv(file, tmp_path / "out.csv")


@pytest.mark.parametrize("name", SCHEMA.names)
def test_heat_maps_with_a_damaged_column_are_shown_or_told(audited: Audit, tmp_path: Path, name: str) -> None:
    (stored,) = (audited.folder / "heat-maps").glob("*.parquet")
    table = read_table(stored)
    told = 0
    for what, damaged in damaged_columns(table, name):
        write_table(tmp_path / "instances.parquet", damaged)
        message = outcome(lambda: read_instances(tmp_path / "instances.parquet"))
        told += bool(message)
        assert not message or "instances.parquet" in message, what
    assert told > 3


def test_published_figures_of_another_form_are_told(audited: Audit, tmp_path: Path) -> None:
    folder = shutil.copytree(audited.folder, tmp_path / "audit")
    (folder / "published.json").unlink()  # it would say that files were changed
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    (folder / "summary.json").write_text(json.dumps(summary | {"findings": []}), encoding="utf-8")
    row = PublishedRow("p", "t", "c", "m", "v", "x", 1.0, None, 0.5, 0.4, 0.6, -0.5, 0.1, False, True)
    whole = pa.Table.from_pylist([vars(row)])
    write_table(folder / "beside_published.parquet", whole)
    assert len(write_report(folder)[0].published) == 1
    for name in ("table", "published", "ours", "public", "tolerance"):
        for damaged in (whole.drop_columns([name]), changed_type(whole, name)):
            write_table(folder / "beside_published.parquet", damaged)
            with pytest.raises(attentest.InputError, match=r"beside_published\.parquet"):
                write_report(folder)


def changed_type(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array([[1]] * len(table)))


def test_the_same_chart_has_the_same_bytes_whatever_was_drawn_before(audited: Audit, tmp_path: Path) -> None:
    charts = {
        f"{finding.record.kind} {finding.record.trial} {title}": chart
        for finding in map(read_finding, folders(audited))
        for title, chart in redrawn(finding).items()
    }
    for order in (list(charts), list(charts)[::-1]):
        _converted.cache_clear()
        save_charts(tmp_path / order[0], {title: charts[title] for title in order})
    first, second = sorted(tmp_path.iterdir())
    names = sorted(file.name for file in first.iterdir())
    assert sum(name.endswith(".svg") for name in names) > 25
    assert [name for name in names if (first / name).read_bytes() != (second / name).read_bytes()] == []
