from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import sample_report
from page_tree import Tree

from attentest.files import write_table
from attentest.measures.intervals import Estimate
from attentest.reports.contents import Block, Figure, Instance, Report, Section, Variant
from attentest.reports.instances import LONGEST, read_instances
from attentest.reports.page import render
from attentest.reports.parts import bundle as bundles
from attentest.reports.parts.chart import packed
from attentest.reports.parts.formatting import Anchors, estimate, flat, interval, number, path, shown
from attentest.reports.parts.islands import code, island
from attentest.reports.parts.picture import inline
from attentest.trials.instances import SCHEMA


@pytest.fixture(scope="module")
def page() -> str:
    return render(sample_report.report())


@pytest.fixture(scope="module")
def tree(page: str) -> Tree:
    return Tree.of(page)


def test_every_element_is_closed_and_ids_are_unique(tree: Tree) -> None:
    assert tree.unclosed == []
    assert [name for name, times in Counter(tree.values("id")).items() if times > 1] == []


def test_every_link_in_the_page_has_a_target(tree: Tree) -> None:
    targets = {href[1:] for href in tree.values("href") if href.startswith("#")}
    assert targets <= set(tree.values("id"))
    assert len(targets) > 20


def test_other_links_are_files_beside_the_page(tree: Tree) -> None:
    files = [href for tag, at in tree.elements if tag == "a" and not (href := at["href"] or "").startswith("#")]
    assert "tables/all%20numbers%20%26%20more.csv" in files
    assert "tables/uniform%20100%25.csv" in files
    assert not [file for file in files if ":" in file or file.startswith("//")]


def test_nothing_is_fetched(tree: Tree) -> None:
    assert not tree.values("src")
    assert tree.tags["link"] == tree.tags["iframe"] == tree.tags["img"] == 0
    policy = next(at["content"] for _, at in tree.elements if at.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert "'unsafe-eval'" not in policy
    assert "script-src 'unsafe-inline'" not in policy


def test_what_is_hostile_is_text(page: str, tree: Tree) -> None:
    assert tree.tags["script"] == 3 + sum(at.get("type") == "application/json" for _, at in tree.elements)
    assert sample_report.ALERT in tree.text
    assert not [name for _, at in tree.elements for name in at if name.startswith("on")]
    assert "<script>alert" not in page
    assert "\x00" not in page
    assert "\u202e" not in page
    assert "␀" in tree.text
    page.encode("utf-8")


def test_long_words_and_names_are_cut(page: str) -> None:
    assert "t" * 61 not in page
    assert max(map(len, re.findall("x+", page))) <= 300  # a fact; names have 80


def test_headings_are_in_order(tree: Tree) -> None:
    assert tree.headings[0] == 1
    assert tree.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(tree.headings, tree.headings[1:], strict=False))


def test_verdicts_come_first_with_words_and_links_to_their_trials(page: str, tree: Tree) -> None:
    assert page.index('id="verdicts"') < page.index('id="directions"') < page.index('id="reviews"')
    for answer in ("yes", "no", "unclear", "not tested"):
        assert f"</span> {answer}</span>" in page
    assert 'href="#trial-permutation">T6, permutation</a>; level: states' in page
    assert 'href="#trial-permutation-2">T6, permutation</a>' in page  # the same trial in the second block
    assert "T17, people; level: tokens</span>" in page  # no section to link to
    assert "0.250 [0.230, 0.270]" in tree.text


def test_every_test_of_a_verdict_has_its_figures(page: str, tree: Tree) -> None:
    faithful = page.split('id="reviews-tests-faithful"')[1].split("</details>")[0]
    decides = faithful.split('<tr role="row" class=decides>')
    assert len(decides) == 2  # one test decides
    row = decides[1].split("</tr>")[0]
    for told in (
        "level: tokens",
        "0.170 [0.110, 0.230]",
        "500 texts; smallest visible effect",
        "<bdi>positive</bdi> control 0.930 [0.910, 0.950]",
        "<bdi>random</bdi> control 0.010 [−0.010, 0.030]",
        "at least 0.5",
        "calibrated on models of known truth",
        "on 120 models of known truth with 400 texts: hit rate 95",
        "the whole interval fails the threshold",
    ):
        assert told in row
    assert "<bdi>deceptive &lt;script&gt;" in row


def test_a_verdict_row_has_its_deciding_figure_as_a_picture(page: str, tree: Tree) -> None:
    pictures = [at for tag, at in tree.elements if tag == "svg" and at.get("class") == "figure-line"]
    said = [label for at in pictures if (label := at.get("aria-label"))]
    wanted = "comprehensiveness 0.170 [0.110, 0.230]; threshold at least 0.5; null 0; ceiling 1; positive control 0.930"
    assert [label.startswith(wanted) for label in said].count(True) == 1
    assert page.count('class="legend"') == 1


def test_the_first_screen_answers_before_the_verdicts() -> None:
    page = render(sample_report.audit())
    order = (
        *("<h1", "accuracy on all 1,066", "0.764", "May its attention be shown", "No. The decisions do not depend"),
        *("What to do", 'id="verdicts"', 'class="legend"', '<table class="verdicts"', 'id="model-tests-used"'),
        "12 rows were dropped",
    )
    places = [page.index(said) for said in order]
    assert places == sorted(places)
    assert page.count('<div class="first">') == 1
    assert page.count("Attention is used") == 1  # the lead is told once


def test_of_several_models_each_has_its_own_first_screen(page: str) -> None:
    assert page.count('<div class="first">') == 2
    assert page.index('class="matrix') < page.index('<div class="first">')


def test_what_is_of_little_consequence_is_said() -> None:
    made = sample_report.audit().blocks[0]
    idle = [replace(verdict, of_consequence=False) for verdict in made.verdicts]
    pages = [render(Report("t", "audit", "", [], [], [replace(made, verdicts=said)])) for said in (made.verdicts, idle)]
    told = sum(verdict.answer != "not tested" for verdict in idle)
    assert 2 < told < len(idle)
    assert [page.count("of little consequence</span>") for page in pages] == [0, told]


def test_undefined_numbers_are_a_dash(tree: Tree) -> None:
    assert "nan" not in tree.text.lower().replace("maintenance", "")
    assert "None" not in tree.text


def test_tables_have_captions_and_scopes(tree: Tree) -> None:
    assert tree.tags["table"] == tree.tags["caption"]
    assert all("scope" in at for tag, at in tree.elements if tag == "th")


def test_an_audit_is_small() -> None:
    report = sample_report.audit(texts=40, tokens=120)
    page = render(report)
    without = render(Report(report.title, "audit", "", [], [], [_without_texts(report.blocks[0])]))
    assert len(page.encode()) - len(without.encode()) < 700_000
    assert len(page.encode()) - len(bundles.bundle().encode()) < 1_000_000


def _without_texts(block: Block) -> Block:
    return Block(block.anchor, block.name, block.facts, block.verdicts, block.sections)


def test_one_block_has_no_matrix_and_a_page_without_charts_no_bundle() -> None:
    plain = Section("t", "trial", "uniform", "Why?", "So.", "", "", {"a": Estimate(1.0, 0.5, 1.5, 3)}, [], [], {})
    page = render(Report("A trial", "trial", "Lead.", [], [], [Block("b", "one", [], [], [plain])]))
    assert "vegaEmbed(place" in page
    assert len(page) < 100_000
    assert "At a glance" not in page
    assert 'id="verdicts"' not in page
    assert Tree.of(page).unclosed == []


def test_an_empty_report_is_a_page() -> None:
    tree = Tree.of(render(Report("Nothing", "study", "Nothing was run.", [], [], [])))
    assert "Nothing was run." in tree.text


def test_every_in_page_link_of_hostile_anchors_works() -> None:
    parts = [Block('a b"><script>', f"block {i}", [], [], []) for i in range(3)]
    tree = Tree.of(render(Report("t", "audit", "", [], [], parts)))
    assert {href[1:] for href in tree.values("href")} <= set(tree.values("id"))


def test_heat_maps_start_with_the_furthest_adversary() -> None:
    page = render(sample_report.report())
    reached = [float(found) for found in re.findall(r'data-adversary="([\d.]+)"', page)][:14]
    assert reached == sorted(reached, reverse=True)


def test_heat_maps_colour_by_weight_alone_and_mark_the_reason() -> None:
    """Class h20 is a weight of 1, h10 one of a quarter: the colour's depth is the root of the weight."""
    variant = Variant("original", "original", [1.0, 0.25, 0.0004, math.nan], "a", 1.0, 0.0, 0.0)
    text = Instance("1", "a", ["w", "x", "y", "z"], ["", " ", " ", " "], {}, [False, True, False, True], [variant])
    page = page_of(text)
    assert '<i class=h20>w</i> <i class="h10 r">x</i> <i>y</i> <i class=r>z</i>' in page
    assert '"weights":{"1":[[10000,2500,4,null]]}' in page


def page_of(*texts: Instance) -> str:
    return render(Report("t", "run", "", [], [], [Block("b", "b", [], [], [], texts)]))


LENGTH = 500


def stored(path: Path, peaks: dict[str, int]) -> Path:
    """A table of one text of 500 tokens: the name of a variant -> where its weight lies."""
    names = [f"w{i}" for i in range(LENGTH)]
    starts = [sum(len(name) + 1 for name in names[:i]) for i in range(LENGTH)]
    spans = {"start": starts, "end": [a + len(name) for a, name in zip(starts, names, strict=True)]}
    about = {"id": "1", "text": " ".join(names), "label": "a", "predicted": "a", "probability": 1.0, "tvd": 0.0}
    rows = [
        {**about, **spans, "variant": name, "jsd": 0.6 * n, "rationale": [int(i == 50) for i in range(LENGTH)],
         "weight": [0.5 if i == peak else 0.25 if i == peak + 1 else 0.25 / (LENGTH - 2) for i in range(LENGTH)]}
        for n, (name, peak) in enumerate(peaks.items())
    ]  # fmt: skip
    write_table(path, pa.Table.from_pylist(rows, SCHEMA))
    return path


def test_long_texts_show_where_the_weight_of_every_variant_lies(tmp_path: Path) -> None:
    peaks = {"original": 60, "permuted": 250, "adversarial": 450}
    (text,) = read_instances(stored(tmp_path / "instances.parquet", peaks))
    assert len(text.tokens) == len(text.gaps) <= LONGEST
    assert len(text.tokens) + sum(text.cuts.values()) == LENGTH
    assert len(text.cuts) == 4
    assert text.marks is not None
    assert [token for token, mark in zip(text.tokens, text.marks, strict=True) if mark] == ["w50"]
    for variant in text.variants:
        assert variant.role == variant.name
        assert text.tokens[variant.weights.index(max(variant.weights))] == f"w{peaks[variant.name]}"
    maps = re.findall('<p class="map".*?</p>', page_of(text))
    for peak, shown_map in zip(peaks.values(), maps, strict=True):
        assert re.findall(r"… (\d+) tokens …", shown_map) == [str(count) for count in text.cuts.values()]
        assert f"<i class=h14>w{peak}</i> <i class=h10>w{peak + 1}</i>" in shown_map


def test_long_texts_are_shown_by_one_stretch_where_the_variants_agree(tmp_path: Path) -> None:
    (text,) = read_instances(stored(tmp_path / "instances.parquet", dict.fromkeys(("a", "b"), 499)))
    assert (len(text.tokens), text.cuts) == (LONGEST, {0: LENGTH - LONGEST})


def test_the_scale_of_heat_maps_has_numbers() -> None:
    found = re.findall(r'<i class="h(\d+)">([\d.]+)</i>', page_of(sample_report.instance(0, 30)))
    assert found == [("2", "0.01"), ("4", "0.05"), ("10", "0.25"), ("20", "1")]


def test_what_is_cut_stands_between_the_tokens() -> None:
    variant = Variant("original", "original", [0.0625, 0.25], "a", 1.0, 0.0, 0.0)
    page = page_of(Instance("1", None, ["w", "x"], ["", " "], {0: 1, 1: 1200}, None, [variant]))
    cuts = [f"<span class=cut>… {said} …</span>" for said in ("1 token", "1,200 tokens")]
    assert f"{cuts[0]}<i class=h5>w</i> {cuts[1]} <i class=h10>x</i></p>" in page


@pytest.mark.parametrize("names", [("small", "adversary x"), ("original", "adversarial"), ("permuted", "original")])
def test_two_models_may_bear_any_names(names: tuple[str, str], tmp_path: Path) -> None:
    (text,) = read_instances(stored(tmp_path / "instances.parquet", dict.fromkeys(names, 3)))
    assert [variant.role for variant in text.variants] == ["model", "model"]
    page = page_of(text)
    assert 'data-adversary="" data-permutation="" data-apart="0.6"' in page
    assert ("furthest apart first" in page, "adversary first" in page, "by permutation" in page) == (True, False, False)
    assert (page.count("· JSD 0.600"), page.count("· JSD")) == (1, 1)  # the first model has none to itself


def test_heat_maps_of_two_models_start_with_those_furthest_apart() -> None:
    page = page_of(*(sample_report.compared_instance(i, ("small", "adversary x")) for i in range(5)))
    apart = [float(found) for found in re.findall(r'data-apart="([\d.]+)"', page)]
    assert len(apart) == 5
    assert apart == sorted(apart, reverse=True)
    assert re.findall(r'data-number="(\d)"', page) != list("12345")


def test_numbers() -> None:
    values = (None, math.nan, 0.12345, -0.5, 1e-5, 2e-16, 12345, 12345.6, math.inf, True)
    assert [number(value) for value in values] == [
        "–", "–", "0.123", "−0.500", "1.0e−5", "0.000", "12,345", "12,346", "∞", "yes",
    ]  # fmt: skip
    assert interval(math.nan, None) == "–"
    assert estimate(Estimate(0.5, 0.25, 0.75, 3)) == "0.500 [0.250, 0.750]"


def test_words() -> None:
    assert shown("a\x00\u202e") == "a␀\N{REPLACEMENT CHARACTER}"
    assert shown("x" * 100_000, 60) == "x" * 60 + "…"
    assert path("javascript:alert(1)") == "javascript%3Aalert%281%29"
    assert path("a b\\c#?.csv") == "a%20b/c%23%3F.csv"
    assert flat({"a": {"b": 1}, "c": [1, "x"]}) == [("a.b", "1"), ("c", '[1, "x"]')]
    anchors = Anchors()
    assert [anchors.take(word) for word in ("A b", "a-b", "שלום", "שלום")] == ["a-b", "a-b-2", "part", "part-2"]


def test_islands_end_where_they_should() -> None:
    text = "</script><!-- \ud800 \u2028"
    made = island({"a": [text, math.nan, math.inf, 1.5]})
    assert "<" not in made
    made.encode("utf-8")
    assert json.loads(made) == {"a": [text, None, None, 1.5]}
    assert code("'</script>' + '<!--'") == r"'<\/script>' + '<\!--'"


def test_charts_are_packed_without_loss() -> None:
    rows = [{"kind": "ab"[i % 2], "value": i / 7, "maybe": None if i % 3 else "x"} for i in range(100)]
    spec = packed({"data": {"values": rows}, "mark": "point"})
    columns = spec["data"]["packed"]
    assert columns["kind"] == {"levels": ["a", "b"], "at": [0, 1] * 50}
    assert columns["value"][1] == pytest.approx(1 / 7, abs=1e-5)
    assert columns["maybe"][:3] == ["x", None, None]
    assert packed({"data": {"values": rows[:3]}})["data"]["values"][1]["kind"] == "b"


def test_long_names_in_charts_are_cut_alike_and_stay_apart() -> None:
    long = ["n" * 5000 + end for end in "ab"]
    spec = packed({"data": {"values": [{"c": name} for name in long]}, "encoding": {"x": {"sort": long}}})
    names = [row["c"] for row in spec["data"]["values"]]
    assert names == spec["encoding"]["x"]["sort"]
    assert len(set(names)) == 2
    assert max(map(len, names)) < 90


def test_pictures_keep_what_is_drawn_and_nothing_that_runs() -> None:
    points = "".join(
        f'<path transform="translate({i}.123456,1)" d="M1,0A1,1,0,1,1,-1,0" fill="#123"/>' for i in range(30)
    )
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50" onload="alert(1)"><script>alert(2)</script>'
        '<rect width="100" height="50" fill="white"/><clipPath id="c"><rect width="5" height="5"/></clipPath>'
        f'<g clip-path="url(#c)">{points}</g><image href="http://x/y.png"/><text fill="#000">&lt;b&gt;\x00</text></svg>'
    )
    made = inline(svg, 'a "label"', "p")
    tree = Tree.of(str(made))
    assert tree.tags == {"svg": 1, "clipPath".lower(): 1, "rect": 1, "g": 1, "defs": 1, "path": 1, "use": 30, "text": 1}
    assert 'id="p_c"' in made
    assert 'clip-path="url(#p_c)"' in made
    assert 'x="1.1" y="1.0"' in made
    assert "onload" not in made
    assert "a &quot;label&quot;" in made
    assert tree.text == "<b>␀"


@pytest.mark.parametrize("svg", ["", "no picture", "<html></html>", "<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>&a;</svg>"])
def test_what_is_no_picture_is_not_shown(svg: str) -> None:
    assert inline(svg, "label", "p") == ""
    rows = [{"class": "<b>", "x": [0.25, None]}, *({"class": "b", "x": [i]} for i in range(300))]
    figure = Figure("t", "d", {"mark": "point", "data": {"values": rows}}, svg, {"svg": "a.svg"})
    page = render(Report("t", "study", "", [], [], [], figures=[figure]))
    assert "This chart could not be drawn; the first 200 of 302 rows of its data follow." in page
    assert '<th scope="col">class</th>' in page
    assert '<td dir="auto">&lt;b&gt;</td><td dir="auto">0.250</td>' in page
    assert '<td dir="auto">&lt;b&gt;</td><td dir="auto">–</td>' in page
    assert page.count('<td dir="auto">b</td>') == 198
    assert 'href="a.svg"' in page
    assert '<div class="picture">' not in page


def test_the_bundle_is_kept_and_works_where_nothing_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "_make", lambda: "made")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert bundles.bundle.__wrapped__() == "made"
    monkeypatch.setattr(bundles, "_make", lambda: "made again")
    assert bundles.bundle.__wrapped__() == "made"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert bundles.bundle.__wrapped__() == "made again"


def test_a_mean_over_trainings_is_told_as_one_next_to_this_models_figure() -> None:
    made = sample_report.report()
    verdict = made.blocks[0].verdicts[0]
    rulings = [replace(verdict.rulings[0], alone=Estimate(0.123, 0.1, 0.15, 50)), *verdict.rulings[1:]]
    block = replace(made.blocks[0], verdicts=[replace(verdict, rulings=rulings), *made.blocks[0].verdicts[1:]])
    told = "mean over the trainings of this audit; this model: 0.123 [0.100, 0.150]"
    assert told in Tree.of(render(replace(made, blocks=[block, *made.blocks[1:]]))).text
    assert "mean over the trainings" not in Tree.of(render(made)).text
