"""Maps of translations: weights where they belong, readable without colour, and hostile text shown as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from attentest.display.cut import width
from attentest.display.heatmaps import Grid, Grids
from attentest.display.heatmaps.grid import MOST
from attentest.display.side_by_side import fragment, page, render
from attentest.errors import InputError

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\x1b[31mred\x00",
    "\u202eturned",
    "שלום",
    "👨‍👩‍👧‍👦",
    "短い文",
    "[bold]x[/bold]",
    "]]>&amp;",
    "Z" * 500,
)
SVG = "{http://www.w3.org/2000/svg}"


def grid(
    rows: Sequence[str] = ("zwei", "hunde"),
    columns: Sequence[str] = ("two", "dogs", "run"),
    weights: Sequence[Sequence[float]] | None = None,
    heads: int = 1,
) -> Grid:
    even = np.full((len(rows), len(columns)), 1 / len(columns))
    values = even if weights is None else np.array(weights)
    views = {"cross": values}
    if heads > 1:
        views = {"across.0 mean of heads": values} | {f"across.0 head {n}": values[::-1] for n in range(heads)}
    return Grid("7", " ".join(columns), " ".join(rows), columns, rows, views, next(iter(views)), "uniform weights")


PEAKED = [[0.9, 0.1, 0.0], [0.0, 0.25, 0.75]]


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[tuple[str, str]] = []  # what is told on hover, and what stands there
        self.text = ""
        self._title: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        about = dict(attrs)
        assert not [name for name in about if name.startswith("on")]
        self._title = about.get("title") if tag == "td" else None
        if self._title is not None:
            self.cells.append((self._title, ""))

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._title is not None:
            self.cells[-1] = self._title, data

    def handle_endtag(self, tag: str) -> None:
        self._title = None


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def printed(what: object, columns: int = 80, **console: object) -> str:
    with Path("/dev/null").open("w", encoding="utf-8") as nowhere:
        target = Console(width=columns, record=True, file=nowhere, **console)  # type: ignore[arg-type]
        target.print(what)
        return target.export_text(styles=bool(console))


def test_html_has_each_weight_to_see_and_to_point_at() -> None:
    found = read(Grids([grid(weights=PEAKED)]).html())
    assert found.cells == [
        *(("0.9000", "90"), ("0.1000", "10"), ("0.0000", "")),
        *(("0.0000", ""), ("0.2500", "25"), ("0.7500", "75")),
    ]
    assert "uniform weights" in found.text
    assert "input" not in found.tags  # there is nothing to choose from


def test_html_needs_no_script_and_sends_nothing() -> None:
    shown = Grids([grid(heads=3)]).html()
    assert not re.search(r"https?://|<script|<link|src=|@import|url\(|action=", shown)
    assert shown.count('<form method="dialog"') == 1
    assert re.findall(r'value="(\d)"( checked)?>', shown) == [("0", " checked"), ("1", ""), ("2", ""), ("3", "")]
    assert shown.count('class="view"') == 4


def test_the_view_that_was_asked_for_is_chosen() -> None:
    one = grid(heads=2)
    other = Grid(one.id, one.source, one.translation, one.columns, one.rows, one.views, "across.0 head 1")
    assert re.findall(r'value="(\d)" checked', Grids([other]).html()) == ["2"]
    assert "across.0 head 1" in printed(Grids([other]))
    assert "across.0 head 1" in Grids([other]).svg()


def test_html_escapes_everything() -> None:
    maps = Grids([grid(HOSTILE, HOSTILE, heads=2)])
    for shown in (maps.html(), maps._repr_html_(), fragment([(" ".join(HOSTILE), {HOSTILE[1]: HOSTILE[0]})])):
        found = read(shown)
        assert not {"script", "img", "b"} & set(found.tags)
        assert "<script>alert(1)</script>" in found.text
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", shown)


def test_svg_is_well_formed_and_has_the_weights() -> None:
    root = ElementTree.fromstring(Grids([grid(HOSTILE, HOSTILE), grid(weights=PEAKED)]).svg())
    words = [node.text or "" for node in root.iter(f"{SVG}text")]
    assert "<script>alert(1)</s…" in words  # cut to 20 columns
    assert "90" in words
    assert [node.text for node in root.iter(f"{SVG}title")][-6:] == [
        *("0.9000", "0.1000", "0.0000"),
        *("0.0000", "0.2500", "0.7500"),
    ]
    assert not [word for word in words if re.search("[\x00-\x1f\u202e]", word)]


def test_svg_cuts_tokens_between_characters_and_holds_everything() -> None:
    family = "👨‍👩‍👧‍👦"
    root = ElementTree.fromstring(Grids([grid([family * 15], ["x" * 300] * 60)]).svg())
    (cut,) = {node.text for node in root.iter(f"{SVG}text") if node.text and "👨" in node.text and "→" not in node.text}
    assert cut == family * 9 + "…"
    for rect in root.iter(f"{SVG}rect"):
        right = float(rect.attrib.get("x", 0)) + float(rect.attrib["width"])
        assert right <= float(root.attrib["width"])
        assert float(rect.attrib.get("y", 0)) + float(rect.attrib["height"]) <= float(root.attrib["height"])


def test_the_terminal_shows_numbers_without_colour() -> None:
    shown = printed(Grids([grid(weights=PEAKED)]))
    assert "      two dogs  run\n" in shown
    assert " zwei   90   10    ·\n" in shown
    assert "hunde    ·   25   75\n" in shown
    coloured = printed(Grids([grid(weights=[[1.0, 0, 0], [0, 0, 1.0]])]), force_terminal=True, color_system="truecolor")
    assert coloured.count("48;2;230;97;1m 100") == 2


def test_the_terminal_breaks_wide_maps_into_blocks() -> None:
    names = [f"token{n}" for n in range(30)]
    shown = printed(Grids([grid(["a", "b"], names)]), columns=40)
    assert all(width(line) <= 40 for line in shown.splitlines())
    found = re.findall(r"token\d+", shown.partition("→")[2])
    assert found == names
    assert shown.count("\na ") == shown.count("\nb ") > 4


def test_the_terminal_cannot_be_steered_by_text() -> None:
    shown = printed(Grids([grid(HOSTILE, HOSTILE)]), columns=60)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", shown)
    assert "[bold]x[…" in shown
    assert "短い文" in shown
    beside = printed(render([("\x1b[31m", {"own": "\u202e[bold]", "uniform": "\u202e[bold]"})]))
    assert not re.search("[\x1b\u202e]", beside)
    assert "[bold]" in beside


@pytest.mark.parametrize("tokens", [MOST, MOST + 40, 2000])
def test_very_long_sentences_are_cut_and_said_to_be(tokens: int) -> None:
    long = grid([f"r{n}" for n in range(tokens)], [f"c{n}" for n in range(tokens)])
    maps = Grids([long])
    left = f"Not drawn: the last {tokens - MOST} source and {tokens - MOST} target tokens."
    for shown in (maps.html(), maps.svg(), printed(maps, columns=400)):
        assert (left in shown) == (tokens > MOST)
        assert f"c{MOST - 1}<" in shown or f"c{MOST - 1} " in shown or f"c{MOST - 1}\n" in shown
    assert len(read(maps.html()).cells) == MOST * MOST
    assert len(long.as_dict()["weights"]) == tokens


def test_saved_by_the_name_of_the_file(tmp_path: Path) -> None:
    maps = Grids([grid()])
    assert maps.save(tmp_path / "a" / "map.svg").read_text(encoding="utf-8") == maps.svg()
    assert maps.save(tmp_path / "map.html").read_text(encoding="utf-8") == maps.html()
    with pytest.raises(InputError, match=r"\.html or \.svg"):
        maps.save(tmp_path / "map.png")


def test_translations_side_by_side_say_which_are_the_same() -> None:
    sentences = [("two dogs", {"own": "zwei hunde", "uniform": "hunde", "dropped": "zwei hunde"})]
    assert "dropped  (the same)" in re.sub(" +$", "", printed(render(sentences)), flags=re.MULTILINE)
    assert page(sentences).count('class="same"') == 1
    assert read(page(sentences)).text.count("zwei hunde") == 2
