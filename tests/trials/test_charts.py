"""Figures: what they draw is worked out right, they stay small, and no name of a class breaks them."""

from __future__ import annotations

import csv
import json
import math
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from attentest.display.cut import width
from attentest.errors import InputError
from attentest.measures.intervals import Estimate
from attentest.trials.adversary import JSD_BINS, InstanceAdversary
from attentest.trials.base import BIN_EDGES, BIN_NAMES, with_classes, with_numbers
from attentest.trials.charts import (
    PALETTE,
    bars,
    box,
    boxes,
    by_rank,
    class_groups,
    cross_table,
    distinct,
    histograms,
    interval,
    intervals,
    lines,
    scatter,
    tradeoff,
    violins_by_bin,
)
from attentest.trials.charts.bars import bars_side_by_side
from attentest.trials.charts.boxes import boxes_side_by_side
from attentest.trials.charts.files import _converted, as_text, png_of, save_charts, slug, svg_of
from attentest.trials.charts.frame import LONGEST_NAME, plain
from attentest.trials.charts.scatter import MOST_POINTS
from attentest.trials.charts.tradeoff import KINDS
from attentest.trials.charts.violins import POINTS, density
from attentest.trials.correlation import TAU_BINS
from attentest.trials.finding import Finding
from attentest.trials.permutation import Permutation
from attentest.trials.removal import Removal
from attentest.trials.uniform import Uniform

MOST_BYTES = 60_000
HOSTILE = ["<script>alert('x')</script>&\"'", "🦜" * 5000, "a\nb\t\x00c\u202e]]>", "${datum.x}"]


def texts(rows: int, classes: list[str], seed: int = 0) -> pa.Table:
    """A table as trials make them, with every column that their figures ask for."""
    generator = np.random.default_rng(seed)
    largest = generator.random(rows)
    values = generator.beta(1, 3, rows)
    values[:: max(7, rows // 5)] = np.nan
    columns = {
        "predicted": [classes[i] for i in generator.integers(0, len(classes), rows)],
        "bin": np.array(BIN_NAMES, dtype=object)[np.digitize(largest, BIN_EDGES)].tolist(),
        "max_jsd": values * 0.69,
        "tvd": values * 0.01,
        "candidates": np.full(rows, 5),
        "method": ["exact"] * rows,
        "median_tvd": np.nan_to_num(values),
        "changed": np.nan_to_num(values) > 0.5,
        "entropy": np.clip(np.nan_to_num(values), 0, 1),
        "delta_js": generator.normal(0, 0.1, rows),
        "delta_attention": largest,
        "js_heaviest": largest,
        "lost_heaviest": largest,
        "lost_same_weight": largest,
        "js_random": largest,
        "right": generator.random(rows) > 0.2,
    }
    for name in ("uniform", "random", "permuted"):
        columns |= {f"right_{name}": generator.random(rows) > 0.3, f"tvd_{name}": values}
        columns[f"changed_{name}"] = generator.random(rows) > 0.7
    return with_classes(pa.table(columns), classes)


def rows_of(chart: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = chart["data"]["values"]
    return rows


def test_densities_have_all_their_mass_in_the_range() -> None:
    generator = np.random.default_rng(0)
    for values in (generator.beta(0.5, 0.5, 5000), generator.random(3), np.zeros(10), np.ones(1), np.array([0.0, 1.0])):
        for largest in (1.0, 0.7):
            grid, found = density(values * largest, largest)
            assert len(grid) == POINTS
            assert (grid[0], grid[-1]) == (0, largest)
            assert (found >= 0).all()
            assert np.trapezoid(found, grid) == pytest.approx(1)
    # of even values the density is even, up to the ends: the kernel is reflected there
    assert density(np.linspace(0, 1, 100_001), 1.0)[1] == pytest.approx(np.ones(POINTS), abs=0.02)
    # a value by hand: one text, and a bandwidth of one step of the grid
    grid, found = density(np.array([0.5]), 1.0)
    assert found[40] == pytest.approx(80 / np.sqrt(2 * np.pi), rel=1e-2)


def test_a_density_does_not_depend_on_where_its_values_lie_in_memory() -> None:
    values = np.random.default_rng(1).beta(2, 5, 3000)
    found = set()
    for offset in range(0, 64, 8):
        room = np.empty(values.nbytes + 128, np.uint8)
        start = -room.ctypes.data % 64 + offset
        moved = room[start : start + values.nbytes].view(float)
        moved[:] = values
        found.add(density(moved, 1.0)[1].tobytes())
    assert len(found) == 1


def test_a_density_is_the_sum_of_its_kernels() -> None:
    """Exact to the last bits but one, where a product of matrices may round in any order."""
    values = np.random.default_rng(2).random(200)
    grid, found = density(values, 1.0)
    counts, edges = np.histogram(values, 2000, (0, 1))
    low, high = np.quantile(values, [0.25, 0.75])
    width = max(0.9 * min(np.std(values), (high - low) / 1.34) * len(values) ** -0.2, grid[1])
    middles = (edges[1:] + edges[:-1]) / 2
    exact = []
    for point in grid:
        sums = (
            count * np.exp(-0.5 * ((point - image) / width) ** 2)
            for count, middle in zip(counts, middles, strict=True)
            if count
            for image in (middle, -middle, 2 - middle)
        )
        exact.append(math.fsum(sums))
    assert found == pytest.approx(exact / np.trapezoid(exact, grid), rel=1e-13)


def test_the_first_of_two_classes_is_on_top() -> None:
    table = texts(400, ["negative", "positive"])
    for row in rows_of(violins_by_bin(table, "median_tvd", "x", "y")):
        above = np.array(row["edge"]) - row["line"]
        assert row["line"] == BIN_NAMES.index(row["bin"])
        assert (above >= 0).all() if row["class"] == "negative" else (above <= 0).all()
        assert max(abs(above)) < 0.5
    # in the corpus's order, though the names sort otherwise, and though one class is never predicted
    other = texts(400, ["positive"])
    (first, second) = class_groups(with_classes(other, ["zero", "positive"]))
    assert (first.name, second.name) == ("zero", "positive")
    assert not first.there.any()
    chart = violins_by_bin(with_classes(other, ["zero", "positive"]), "median_tvd", "x", "y")
    assert all(min(row["edge"]) < row["line"] - 0.3 for row in rows_of(chart))
    three = rows_of(violins_by_bin(texts(400, ["a", "b", "c"]), "median_tvd", "x", "y"))
    assert all(min(row["edge"]) >= row["line"] - 1e-3 for row in three)


def test_medians_are_where_they_are_said_to_be() -> None:
    table = texts(500, ["a", "b"])
    for row in rows_of(violins_by_bin(table, "median_tvd", "x", "y")):
        there = [r for r in table.to_pylist() if r["bin"] == row["bin"] and r["predicted"] == row["class"]]
        assert row["n"] == len(there)
        assert row["median"] == pytest.approx(np.median([r["median_tvd"] for r in there]), abs=1e-3)


def test_bins_have_the_papers_edges() -> None:
    assert BIN_EDGES == (0.25, 0.5, 0.75)
    assert pytest.approx(0.025 * np.arange(29)) == JSD_BINS
    assert pytest.approx(-1 + 0.05 * np.arange(41)) == TAU_BINS
    table = pa.table({"predicted": ["a"] * 4 + ["b"]})
    values = np.array([0.0, 0.024, 0.025, 0.7, np.nan])
    (row,) = rows_of(histograms({"all": values}, class_groups(table), JSD_BINS, "x", "y"))
    assert row["from"] == [0, 0.025, 0.675]
    assert row["to"] == [0.025, 0.05, 0.7]
    assert row["texts"] == [2, 1, 1]
    assert row["share"] == [0.5, 0.25, 0.25]


def test_boxes_by_hand() -> None:
    # quartiles 2, 3, 4; 1.5 IQR reaches from −1 to 7, so 30 lies outside
    (row,) = box("x", np.array([1.0, 2.0, 3.0, 4.0, 30.0, np.nan]))
    assert row == {"group": "x", "low": 1, "q1": 2, "median": 3, "q3": 4, "high": 4, "n": 5}
    values = np.random.default_rng(0).normal(size=999)
    (row,) = box("x", values)
    assert [row["q1"], row["median"], row["q3"]] == np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    assert box("x", np.array([np.nan])) == []


def test_a_scatter_of_many_texts_says_that_it_is_a_sample() -> None:
    few, many = (scatter(texts(n, ["a", "b"]), "delta_attention", "delta_js", "x", "y", "z.") for n in (50, 20_000))
    assert sum(len(row["x"]) for row in rows_of(few)) == 50
    assert few["description"] == "z."
    assert sum(len(row["x"]) for row in rows_of(many)) == MOST_POINTS
    assert many["description"] == "z. Drawn is a sample of 1,500 of 20,000 texts."
    again = scatter(texts(20_000, ["a", "b"]), "delta_attention", "delta_js", "x", "y", "z.")
    assert again == many


def every_chart(table: pa.Table) -> dict[str, Any]:
    """One of each form; those of texts over the table."""
    generator = np.random.default_rng(1)
    estimate = Estimate(0.8, 0.7, 0.9, 100)
    groups = class_groups(table)
    values = generator.normal(size=table.num_rows).clip(-1, 1)
    cells = [{"x": a, "y": b, "share": 0.25} for a in ("flip", "no flip") for b in ("flip", "no flip")]
    points = [
        {"kind": kind, "class": g.name, "lambda": None, "tvd": 0.1, "jsd": 0.2, "f1": None}
        for kind in KINDS
        for g in groups
    ]
    models = [
        {"corpus": c, "model": m, "weights": w}
        for c in ("sst", "imdb", "snli", "babi1")
        for m in ("bilstm+additive", "cnn+additive")
        for w in ("own", "uniform")
    ]
    found = {
        "bars": bars(interval("a", estimate) + interval("b", estimate), "x", "y", "z"),
        "boxes": boxes(box("a", values) + box("b", values), "x", "y"),
        "many boxes": boxes([row for i in range(20) for row in box(f"{i}", values)], "x", "y"),
        "ranks": by_rank({"a": generator.random(5000), "b": generator.random(5000)}, "y"),
        "cross table": cross_table(cells, "x", "y", ("flip", "no flip"), "z"),
        "panels": histograms({"one": values, "two": values}, groups, TAU_BINS, "x", "y"),
        "intervals": intervals(interval("a", estimate), "x", "y", "z"),
        "lines": lines(
            [
                {"series": s, "x": x, "value": x, "low": x - 1, "high": None}
                for s in ("a", "b")
                for x in (-5.0, 0.0, 0.9)
            ],
            "x",
            "y",
            "z",
            symmetric_log=True,
        ),
        "tradeoff": tradeoff(points[:1], "z"),
        "tradeoff by class": tradeoff(points, "z"),
        "models, boxes": boxes_side_by_side(
            [m | row for m in models for row in box("a", values)], ("model", "weights"), "x", "y", (-1, 1)
        ),
        "models, bars": bars_side_by_side(
            [m | row for m in models for row in interval("a", estimate)], ("model", "weights"), "x", "y"
        ),
    }
    for trial in (Permutation(), InstanceAdversary(epsilon=0.01), Removal(), Uniform()):
        concluded = trial.conclude(table)
        made = trial.charts(with_numbers(table, concluded.for_charts), concluded.summary)
        found |= {f"{trial.name}: {title}": chart for title, chart in made.items()}
    return found


@pytest.mark.parametrize("classes", [["negative", "positive"], [f"{'class' * 20} {i}" for i in range(40)], HOSTILE])
def test_every_form_is_small_and_can_be_drawn(classes: list[str]) -> None:
    for name, chart in every_chart(texts(20_000, classes)).items():
        assert chart["description"], name
        text = as_text(chart)  # which refuses NaN
        assert len(text.encode()) < MOST_BYTES, name
        assert '"tooltip"' in text, name
        picture = svg_of(chart)
        ElementTree.fromstring(picture)
        assert png_of(chart).startswith(b"\x89PNG"), name


def test_few_texts_and_none_can_be_drawn() -> None:
    table = texts(5, ["a", "b"])
    for some in (table, table.slice(0, 1), table.slice(0, 0).replace_schema_metadata(table.schema.metadata)):
        charts = [violins_by_bin(some, "max_jsd", "x", "y"), scatter(some, "delta_js", "delta_js", "x", "y", "z")]
        charts.append(histograms({"a": some["max_jsd"].to_numpy()}, class_groups(some), JSD_BINS, "x", "y"))
        for chart in charts:
            assert svg_of(chart).startswith("<svg")


def test_hostile_names_of_classes_are_cut_told_apart_and_escaped() -> None:
    names = [*HOSTILE, "🦜" * 5001]
    table = texts(300, names)
    shown = [group.name for group in class_groups(table)]
    assert len(set(shown)) == len(names)
    assert all(len(name) <= LONGEST_NAME + 4 and name.isprintable() for name in shown)
    picture = svg_of(violins_by_bin(table, "median_tvd", "x", "y"))
    assert "<script" not in picture
    assert "&lt;script&gt;" in picture
    ElementTree.fromstring(picture)


FAMILY, SCOTLAND = "👩‍👩‍👧‍👦", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
ODD_NAMES = {
    "families": FAMILY * 50,
    "flags": "🇩🇪" * 150,
    "flags by tags": SCOTLAND * 50,
    "lone surrogates": "\ud83e" * 300,
    "half an emoji": "bird \ud83e",
    "right to left": "שלום עולם " * 30,
    "turned round": "\u202egnihton\u202c",
    "marks on one letter": "e" + "\u0301" * 300,
    "long": "Sehr geehrte Damen und Herren " * 10,
    "ideographs": "語" * 300,
}
FONTS = ("sans-serif", "monospace", "a font that nobody has")


@pytest.mark.parametrize("odd", ODD_NAMES)
def test_no_font_is_too_wide_for_a_name(odd: str) -> None:
    # a table cannot hold half an emoji: a name with one can only come with the order of the classes
    name = ODD_NAMES[odd]
    kept = name.encode("utf-8", "replace").decode()
    table = with_classes(texts(60, [kept, "b"]), [name if kept == name else kept, "b"])
    shown = [group.name for group in class_groups(table)]
    assert shown == distinct([kept, "b"])
    as_text({"names": distinct([name])}).encode()  # nothing that is no character
    assert width(distinct([name])[0]) <= LONGEST_NAME
    chart = violins_by_bin(table, "median_tvd", "x", "y")
    for font in FONTS:
        for size in (10, 40):  # as if the font were wide
            look = {part: chart["config"][part] | {"labelFontSize": size} for part in ("axis", "legend", "header")}
            picture = svg_of({**chart, "config": chart["config"] | look | {"font": font}})
            drawn = [element.text for element in ElementTree.fromstring(picture).iter() if element.text]
            assert shown[0] in drawn, font


def test_vega_cuts_nothing() -> None:
    def limits(part: Any) -> list[Any]:
        if isinstance(part, dict):
            own = [value for key, value in part.items() if key.lower().endswith("limit")]
            return own + [limit for value in part.values() for limit in limits(value)]
        return [limit for value in part for limit in limits(value)] if isinstance(part, list) else []

    for name, chart in every_chart(texts(100, ["a", "b"])).items():
        assert set(limits(json.loads(as_text(chart)))) == {0}, name
        for part in ("axis", "legend", "header"):
            assert {chart["config"][part][key] for key in ("labelLimit", "titleLimit")} == {0}, name


def test_names_are_told_apart_by_what_can_be_seen() -> None:
    names = ["a", "a (2)", "a\n", "a\u200d", "é", "e\u0301", "\x00", "\u200d", "x" * 50 + "1", "x" * 50 + "2"]
    shown = distinct(names)
    assert shown[:3] == ["a", "a (2)", "a (3)"]
    assert shown[3].replace("\u200d", "") == "a (4)"
    assert shown[4:6] == ["é", "e\u0301 (2)"]
    assert shown[6:] == ["(not printable)", "(not printable) (2)", "x" * 39 + "…", "x" * 39 + "… (2)"]
    assert distinct([FAMILY, SCOTLAND, "🇩🇪", "❤️"]) == [FAMILY, SCOTLAND, "🇩🇪", "❤️"]


def test_long_names_under_bars_are_broken_into_lines() -> None:
    estimate = Estimate(0.8, 0.7, 0.9, 100)
    picture = svg_of(bars(interval('the "model\'s" own', estimate) + interval("uniform", estimate), "x", "y", "z"))
    drawn = [element.text for element in ElementTree.fromstring(picture).iter() if element.text]
    assert {'the "model\'s"', "own", "uniform"} <= set(drawn)


def test_every_form_can_be_saved_as_a_figure(tmp_path: Any) -> None:
    for name, chart in every_chart(texts(100, ["a", "b"])).items():
        finding = Finding("t", "q?", "a.", pa.table({}), {}, {}, {"x": chart})
        assert finding.figure is not None
        finding.figure.save(tmp_path / "x.svg")
        assert (tmp_path / "x.svg").read_text(encoding="utf-8").startswith("<svg"), name


def no_converter(monkeypatch: pytest.MonkeyPatch) -> None:
    import vl_convert

    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("Vega-Lite to SVG conversion failed:\nError: no ink\n    at l (https://x/y:7:324)\n")

    _converted.cache_clear()
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", refuse)
    monkeypatch.setattr(vl_convert, "svg_to_png", refuse)


def test_a_chart_that_cannot_be_drawn_leaves_a_note_and_its_data(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = texts(50, ["a", "b"])
    charts = Permutation.charts(table, {})
    no_converter(monkeypatch)
    finding = Finding("permutation", "q?", "a.", table, {}, {}, charts, notes=("before",)).save(tmp_path)
    stored = json.loads((tmp_path / "finding.json").read_text(encoding="utf-8"))
    (title,) = charts
    note = f"{title}: The chart cannot be drawn as SVG: Error: no ink. Its data is given as a table instead."
    assert list(finding.notes) == stored["notes"] == ["before", note]
    assert finding.as_dict()["charts"] == stored["charts"]
    (listed,) = stored["charts"]
    assert {name for name, value in listed.items() if value} == {"title", "description", "spec", "csv"}
    assert not list(tmp_path.glob("*.svg"))
    with (tmp_path / listed["csv"]).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    outlines = rows_of(charts[title])
    assert len(rows) == POINTS * len(outlines)
    assert [float(row["edge"]) for row in rows[:POINTS]] == outlines[0]["edge"]
    assert {row["class"] for row in rows} == {"a", "b"}
    shown = finding._repr_html_()
    assert "no ink" in shown
    assert "<th>edge</th>" in shown
    with pytest.raises(InputError, match=r"The chart cannot be drawn as SVG: Error: no ink\.$"):
        finding.svg()


def test_very_many_classes_share_a_group() -> None:
    table = texts(5000, [f"{i}" for i in range(60)])
    groups = class_groups(table)
    assert len(groups) == len(PALETTE)
    assert groups[-1].name == "55 other classes"
    assert np.sum([group.there for group in groups], 0).tolist() == [1] * 5000


def test_a_legend_can_be_clicked() -> None:
    for name, chart in every_chart(texts(100, ["a", "b"])).items():
        text = as_text(chart)
        assert text.count('"bind":"legend"') == (0 if '"param"' not in text else 1), name
    assert '"bind":"legend"' in as_text(violins_by_bin(texts(100, ["a", "b"]), "median_tvd", "x", "y"))


def test_numbers_of_few_digits_and_none_for_nan() -> None:
    given = {"a": np.array([1 / 3, np.nan]), "b": np.float64(1e-9 / 3), "c": np.int64(3), "d": "x", "e": float("inf")}
    assert plain(given) == {"a": [0.3333, None], "b": 3.333e-10, "c": 3, "d": "x", "e": None}


def test_files_of_a_finding(tmp_path: Any) -> None:
    assert slug("Kendall τ by class") == "kendall-tau-by-class"
    table = texts(50, ["a", "b"])
    charts = Uniform.charts(table, Uniform().conclude(table).summary)
    finding = Finding("uniform", "q?", "a.", table, {}, {}, charts).save(tmp_path)
    stored = json.loads((tmp_path / "finding.json").read_text(encoding="utf-8"))
    assert stored["files"] == {"table": "table.parquet", "csv": "table.csv", "finding": "finding.json"}
    assert [chart["title"] for chart in stored["charts"]] == list(charts)
    for chart in stored["charts"]:
        assert {name for name, value in chart.items() if value} == {"title", "description", "spec", "svg", "png"}
        assert json.loads((tmp_path / chart["spec"]).read_text(encoding="utf-8")) == charts[chart["title"]]
        assert (tmp_path / chart["svg"]).read_text(encoding="utf-8").startswith("<svg")
        assert (tmp_path / chart["png"]).read_bytes().startswith(b"\x89PNG")
    lines_ = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines_) == 51
    assert finding.svg("change of predictions") == finding.svg(list(charts)[1])
    with pytest.raises(InputError, match="did you mean 'change of predictions'"):
        finding.svg("change of prediction")
    with pytest.raises(InputError):
        Finding("x", "", "", table, {}, {}).svg()
    save_charts(tmp_path / "none", {})
    assert not (tmp_path / "none").exists()
