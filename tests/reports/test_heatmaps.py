"""Heat maps: weights shown where they belong, and hostile text shown as text."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from rich.console import Console

from attentest.display.heatmaps import Heatmap, Heatmaps
from attentest.display.heatmaps.colour import strength

HOSTILE = (
    '<script>alert(1)</script> & "quoted" \x1b[31mred\x1b[0m \x00nul \u202eturned \U0001f600 שלום ]]> [bold]x[/bold]'
)


def heatmap(text: str, weights: list[float] | None = None, **about: object) -> Heatmap:
    spans = [m.span() for m in re.finditer(r"\S+", text)]
    given = weights or [1 / len(spans)] * len(spans)
    return Heatmap("1", text, spans, given, ["no", "yes"], [0.25, 0.75], **about)  # type: ignore[arg-type]


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def printed(heatmaps: Heatmaps, **console: object) -> str:
    target = Console(width=200, record=True, file=open("/dev/null", "w", encoding="utf-8"), **console)  # type: ignore[arg-type] # noqa: SIM115, PTH123
    target.print(heatmaps)
    return target.export_text(styles=bool(console))


def test_html_holds_the_text_and_the_weights() -> None:
    page = Heatmaps([heatmap("good film", [0.8, 0.2], label="no")]).html()
    assert '--w:0.89" title="0.8000">good</mark>' in page  # the root of the weight
    assert '--w:0.45" title="0.2000">film</mark>' in page
    assert "predicted <b>yes 0.75</b>" in page
    assert 'class="wrong">label no' in page


def test_html_has_no_request_and_no_script() -> None:
    page = Heatmaps([heatmap("good film")]).html()
    assert not re.search(r"https?://|<script|<link|src=|@import|url\(", page)


def test_html_escapes_everything() -> None:
    found = Heatmaps([heatmap(HOSTILE, label="<b>")])
    reader = read(found.html())
    assert "script" not in reader.tags
    assert "<script>alert(1)</script>" in reader.text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", found.html())
    assert "label <b>" in reader.text


def test_svg_is_well_formed_whatever_the_text() -> None:
    root = ElementTree.fromstring(Heatmaps([heatmap(HOSTILE), heatmap("plain text")]).svg())
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<script>alert(1)</script>" in words
    assert "plain" in words


@pytest.mark.parametrize("text", ["word " * 100, "x" * 3000, "短" * 500])
def test_svg_wraps_long_lines_within_the_picture(text: str) -> None:
    root = ElementTree.fromstring(Heatmaps([heatmap(text)]).svg())
    width = float(root.attrib["width"])
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    assert max(float(t.attrib["x"]) + float(t.attrib.get("textLength", 0)) for t in texts) <= width
    assert max(float(t.attrib["y"]) for t in texts) < float(root.attrib["height"])


def test_terminal_shows_text_and_heaviest_words_without_colour() -> None:
    shown = printed(Heatmaps([heatmap("a very good film", [0.1, 0.2, 0.6, 0.1])]))
    assert "a very good film" in shown
    assert "heaviest: good 0.60, very 0.20" in shown


def test_terminal_cannot_be_steered_by_text() -> None:
    shown = printed(Heatmaps([heatmap(HOSTILE)]))
    assert "\x1b" not in shown
    assert "␛[31mred" in shown
    assert "[bold]x[/bold]" in shown
    assert "\u202e" not in shown


def test_terminal_colours_follow_weights() -> None:
    shown = printed(Heatmaps([heatmap("aa bb", [1.0, 0.0])]), force_terminal=True, color_system="truecolor")
    assert "48;2;230;97;1maa" in shown
    assert "mbb" not in shown


@pytest.mark.parametrize("others", [1, 30])
def test_a_weight_has_the_same_colour_in_every_map(others: int) -> None:
    """The largest weight of a flat map is as pale as the same weight in a peaked one."""
    text = " ".join(f"w{i}" for i in range(others + 1))
    maps = Heatmaps([heatmap(text, [0.04] + [0.96 / others] * others)])
    assert maps[0].strengths[0] == 0.2
    assert '--w:0.20" title="0.0400">w0</mark>' in maps.html()
    assert 'fill-opacity="0.20"><title>0.0400</title>' in maps.svg()
    shown = printed(maps, force_terminal=True, color_system="truecolor")
    assert re.findall(r"48;2;(\d+;\d+;\d+)mw0\b", shown) == ["250;214;179"]  # a fifth of the way to orange


def test_the_scale_is_told_once_with_numbers() -> None:
    maps = Heatmaps([heatmap("good film"), heatmap("bad film")])
    assert maps.html().count("on the same scale in every map") == 1
    marked = re.findall(r'--w:([\d.]+)">&nbsp;([\d.]+)', maps.html())
    drawn = re.findall(r'fill-opacity="([\d.]+)"/><text[^>]*>([\d.]+)</text>', maps.svg())
    assert marked == drawn == [("0.10", "0.01"), ("0.22", "0.05"), ("0.50", "0.25"), ("1.00", "1")]
    assert printed(maps).count("weight  0.01   0.05   0.25   1") == 1


@pytest.mark.parametrize("weight", [math.nan, -0.5, 2.0, math.inf])
def test_weights_that_are_none_can_be_coloured(weight: float) -> None:
    assert 0 <= strength(weight) <= 1


def test_long_texts_are_shown_where_the_weight_is() -> None:
    weights = [0.0] * 500
    weights[400] = 1.0
    shown = printed(Heatmaps([heatmap(" ".join(f"w{i}" for i in range(500)), weights)]))
    assert "w400" in shown
    assert "w10 " not in shown
    assert "tokens …" in shown


@pytest.mark.parametrize(("tokens", "expected"), [(10, (0, 5)), (2, (3, 5)), (1, (3, 4)), (5, (0, 5))])
def test_window_holds_the_most_weight(tokens: int, expected: tuple[int, int]) -> None:
    assert heatmap("a b c d e", [0.1, 0.2, 0.1, 0.4, 0.2]).window(tokens) == expected


def test_all_zero_weights_can_be_shown() -> None:
    assert Heatmaps([heatmap("a b", [0.0, 0.0])])[0].strengths == [0.0, 0.0]


def test_rationale_is_underlined() -> None:
    page = Heatmaps([heatmap("a b", [0.5, 0.5], rationale=[0, 1])]).html()
    assert page.count('class="r"') == 1


UNKNOWN = {"unknown": [False, True, True, True], "model": "mine"}


def test_unknown_words_are_marked_in_html_svg_terminal_and_json() -> None:
    one = heatmap("good <qx> film <qx>", [0.7, 0.1, 0.1, 0.1], **UNKNOWN)
    assert one.unknown_words == ["<qx>", "film"]
    found, plain = Heatmaps([one]), Heatmaps([heatmap("good <qx> film <qx>")])
    page = found.html()
    marked = re.findall(r'<span class="u" title="not in the vocabulary">([^<]*)</span>', page)
    assert marked == ["&lt;qx&gt;", "film", "&lt;qx&gt;"]
    assert "dotted: not in the vocabulary" in page
    assert 'class="u"' not in plain.html()
    lines = [node for node in ElementTree.fromstring(found.svg()).iter() if node.tag.endswith("line")]
    assert [line[0].text for line in lines] == ["not in the vocabulary"] * 3
    assert "<line" not in plain.svg()
    assert "heaviest: good 0.70, <qx> 0.10, film 0.10; unknown: <qx>, film\n" in printed(found)
    assert "unknown" not in printed(plain)
    underlined = printed(found, force_terminal=True, color_system="truecolor")
    assert re.findall(r"\x1b\[4;[\d;]*m([^\x1b]+)", underlined) == ["<qx>", "film", "<qx>"]
    assert one.as_dict()["unknown"] == [False, True, True, True]
    assert "unknown" not in plain[0].as_dict()


def test_many_unknown_words_are_cut_short_in_the_terminal() -> None:
    one = heatmap("a b c d e f g", unknown=[True] * 7)
    assert "; unknown: a, b, c, d, e and 2 more\n" in printed(Heatmaps([one]))


def test_whose_weights_these_are_is_told_everywhere() -> None:
    found = Heatmaps([heatmap("good film", model="<b>"), heatmap("good film", model="other")])
    assert re.findall(r"<span>1  (.*?)</span>", found.html()) == ["&lt;b&gt;", "other"]
    assert re.findall(r"1  (\S+)  yes", printed(found)) == ["<b>", "other"]
    assert "&lt;b&gt; · yes 0.75" in found.svg()
    assert [one.as_dict()["model"] for one in found] == ["<b>", "other"]


def pair(**more: object) -> Heatmaps:
    """Weights on both texts, the first of which was cut."""
    spans = [(0, 4), (5, 9), (0, 4), (5, 8)]
    about = {"second": "dull too", "in_second": 2, "unknown": [False, False, False, True], **more}
    shown = Heatmap("1", "good film here", spans, [0.1, 0.2, 0.3, 0.4], ["no", "yes"], [0.25, 0.75], **about)  # type: ignore[arg-type]
    return Heatmaps([shown])


def test_both_texts_of_a_pair_have_heat() -> None:
    page = pair().html()
    for word, weight in (("good", 0.1), ("film", 0.2), ("dull", 0.3)):
        assert f'title="{weight:.4f}">{word}</mark>' in page
    assert "good film …\n» dull too" in read(page).text
    assert 'class="second"' not in page
    assert "good film … » dull too" in printed(pair())
    assert "heaviest: too 0.40, dull 0.30, film 0.20" in printed(pair())
    assert "unknown: too" in printed(pair())
    (shown,) = pair()
    assert shown.as_dict()["tokens"] == ["good", "film", "dull", "too"]
    assert (shown.as_dict()["text"], shown.as_dict()["second"], shown.as_dict()["in_second"]) == (
        "good film here",
        "dull too",
        2,
    )


def test_the_second_text_is_on_a_line_of_its_own_in_a_picture() -> None:
    tree = ElementTree.fromstring(pair().svg())
    lines = {element.text: element.get("y") for element in tree.iter() if element.tag.endswith("text")}
    assert lines["good"] == lines["film"] != lines["dull"] == lines["too"] == lines["»"]


def test_a_second_text_without_weights_stands_apart() -> None:
    found = Heatmaps([heatmap("good film", second="dull too")])
    assert '<p dir="auto" class="second">dull too</p>' in found.html()
    assert "» dull too" in printed(found)
    assert "in_second" not in found[0].as_dict()
