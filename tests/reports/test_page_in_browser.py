"""The page in a real browser: what a reader does with it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sample_report
from chromium import chromium

from attentest.reports.contents import Block, Report
from attentest.reports.page import render

if TYPE_CHECKING:
    from playwright import sync_api as playwright
else:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
PHONE: playwright.ViewportSize = {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    (folder / "index.html").write_text(render(sample_report.report()), encoding="utf-8")
    (folder / "tables").mkdir()
    (folder / "tables" / "uniform 100%.csv").write_text("text,value\n1,0.5\n")
    return (folder / "index.html").as_uri()


@dataclass
class Reader:
    """A page, and all that went wrong in it."""

    page: playwright.Page
    wrong: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(10_000)
        self.page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))


@pytest.fixture
def reader(browser: playwright.Browser, url: str) -> Iterator[Reader]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    made = Reader(context.new_page())
    made.page.goto(url)
    yield made
    context.close()
    assert made.wrong == []
    assert [request for request in made.requests if not request.startswith(("file:", "blob:", "data:"))] == []


def test_opens_from_disk_with_no_error_and_no_request_but_itself(reader: Reader, url: str) -> None:
    for _ in range(12):
        reader.page.mouse.wheel(0, 2500)
        reader.page.wait_for_timeout(60)
    assert reader.requests == [url]


def test_no_script_runs_but_ours(reader: Reader) -> None:
    added = "() => { const s = document.createElement('script'); s.textContent = 'taken = 1'; document.body.append(s) }"
    reader.page.evaluate(added)
    assert reader.page.evaluate("() => typeof taken") == "undefined"
    assert "Content Security Policy" in reader.wrong.pop()


def test_a_token_shows_its_weight_under_every_variant(reader: Reader) -> None:
    article = reader.page.locator(".text").first
    article.locator(".map").nth(1).locator("i").nth(3).click()
    reading = article.locator(".reading").inner_text()
    word = article.locator(".map").first.locator("i").nth(3).inner_text()
    assert reading.startswith(f"{word}:")
    assert [name in reading for name in ("original 0.", "permuted 0.", "adversarial 0.", "trained adversary 0.")] == [
        True
    ] * 4
    assert article.locator("i.at").count() == 4


def test_arrow_keys_read_a_map_and_follow_the_direction_of_writing(reader: Reader) -> None:
    article = reader.page.locator(".text").first
    article.locator(".map").first.focus()
    places = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"):
        reader.page.keyboard.press(key)
        places.append(article.evaluate("(article) => article.at"))
    assert places == [0, 1, 0, 29, 0]
    reader.page.keyboard.press("Escape")
    assert article.locator("i.at").count() == 0
    hebrew = reader.page.locator(".text", has_text="rtl")
    hebrew.locator(".map").first.focus()
    reader.page.keyboard.press("ArrowLeft")
    reader.page.keyboard.press("ArrowLeft")
    assert hebrew.evaluate("(article) => article.at") == 1


def test_heat_maps_are_sorted_and_searched(reader: Reader) -> None:
    section = reader.page.locator(".heatmaps").first

    def order(attribute: str) -> list[float]:
        found = section.locator(".text").evaluate_all("(all, name) => all.map((one) => one.dataset[name])", attribute)
        return [float(value) for value in found]

    furthest = order("adversary")
    assert furthest == sorted(furthest, reverse=True)
    for choice, attribute, backwards in (
        ("nearest", "adversary", False),
        ("permutation", "permutation", True),
        ("corpus", "number", False),
        ("wrong", "wrong", True),
    ):
        section.locator(".order").select_option(choice)
        assert order(attribute) == sorted(order(attribute), reverse=backwards)
    assert section.locator(".text:visible").count() == 10
    section.get_by_role("button", name="Show all 14 texts").click()
    assert section.locator(".text:visible").count() == 14
    section.locator(".search").fill("TEST-13")
    assert section.locator(".text:visible h4 bdi").all_inner_texts() == ["test-13"]


def test_weights_as_a_table(reader: Reader) -> None:
    article = reader.page.locator(".text").first
    article.get_by_role("button", name="Weights as a table").click()
    assert article.locator(".data tbody tr").count() == 30
    assert not article.locator(".maps").is_visible()


def test_a_chart_becomes_its_table_and_a_chart_again(reader: Reader) -> None:
    figure = reader.page.locator("figure.chart").first
    button = figure.get_by_role("button", name="Data as a table")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert figure.get_by_role("columnheader").all_inner_texts() == ["group", "value", "low", "high", "n"]
    assert not figure.locator(".picture").is_visible()
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert figure.locator(".picture svg").is_visible()
    assert not figure.locator(".data").is_visible()


def test_long_data_is_shown_in_part_and_saved_whole(reader: Reader, tmp_path: Path) -> None:
    figure = reader.page.locator("figure[data-title='permutation: violins']").first
    figure.get_by_role("button", name="Data as a table").click()
    assert figure.locator("tbody tr").count() == 200
    rows = download(reader, figure.get_by_role("button", name="Data as CSV"), tmp_path)
    assert len(rows) == 1 + 4 * 3 * 81  # bins, classes and points of a density, which the chart keeps as lists
    names = {row[0] for row in rows[1:]}
    assert {"negative", "positive"} < names
    assert any(name.startswith("<script>alert") for name in names)


def test_tabs_by_mouse_and_arrow_keys(reader: Reader) -> None:
    section = reader.page.locator(".finding", has=reader.page.locator("#trial-correlation"))
    tabs = section.get_by_role("tab")
    assert tabs.all_inner_texts() == ["correlation: boxes", "correlation: scatter", "correlation: lines"]
    tabs.nth(1).click()
    assert section.get_by_role("tabpanel").get_attribute("data-title") == "correlation: scatter"
    for key, chosen in (("ArrowRight", 2), ("ArrowRight", 0), ("ArrowLeft", 2), ("Home", 0), ("End", 2)):
        reader.page.keyboard.press(key)
        assert tabs.nth(chosen).get_attribute("aria-selected") == "true"
        assert tabs.nth(chosen).evaluate("(tab) => tab === document.activeElement")
    assert section.get_by_role("tabpanel").count() == 1


def test_every_chart_becomes_interactive_and_has_tooltips(reader: Reader) -> None:
    for tab in reader.page.get_by_role("tab").all():
        tab.click()
    for figure in reader.page.locator("figure.chart:visible").all():
        figure.scroll_into_view_if_needed()
        reader.page.wait_for_timeout(100)
    reader.page.wait_for_function("() => !document.querySelector('.picture.drawing')")
    drawn = reader.page.locator("figure.chart").evaluate_all("(all) => all.map((one) => one.dataset.interactive)")
    assert drawn == ["yes"] * len(drawn)
    figure = reader.page.locator("figure.chart").first
    figure.scroll_into_view_if_needed()
    figure.locator(".mark-symbol.role-mark path").first.hover()
    tooltip = reader.page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert "F1\t0.900" in tooltip.inner_text()
    assert figure.locator("svg").get_attribute("aria-label")


def test_numbers_are_saved_as_csv(reader: Reader, tmp_path: Path) -> None:
    section = reader.page.locator(".finding", has=reader.page.locator("#trial-correlation"))
    rows = download(reader, section.get_by_role("button", name="Numbers as CSV"), tmp_path)
    assert [name.strip() for name in rows[0]] == [
        "measure",
        "value",
        "lower end of the 95 % interval",
        "upper end",
        "n",
    ]
    assert len(rows) == 17  # those that are folded away, too
    assert rows[1][0] == "τ attention – gradient-input-fixed"
    assert [float(value) for value in rows[1][1:]] == [0.49, 0.47, 0.51, 500]


def test_a_link_leads_to_the_file_beside_the_page(reader: Reader) -> None:
    link = reader.page.locator("#trial-uniform").locator("xpath=..").get_by_role("link", name="Full table as CSV")
    assert link.get_attribute("href") == "tables/uniform%20100%25.csv"
    with reader.page.expect_download() as waiting:
        link.click()
    assert Path(waiting.value.path()).read_text(encoding="utf-8") == "text,value\n1,0.5\n"


def test_published_figures_are_sorted_and_filtered(reader: Reader, tmp_path: Path) -> None:
    listing = reader.page.locator(".listing").nth(1)

    def column() -> list[str]:
        return listing.locator("tbody tr:visible td:nth-child(7)").all_inner_texts()

    head = listing.get_by_role("columnheader", name="ours")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column()[:20] == sorted(column()[:20])
    assert set(column()[20:]) == {"–"}
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column()[0] == "0.857"
    assert set(column()[20:]) == {"–"}
    listing.get_by_label("only rows with ours").check()
    assert len(column()) == 20
    assert len(download(reader, listing.get_by_role("button", name="Table as CSV"), tmp_path)) == 61


def test_the_theme_is_chosen_and_kept(reader: Reader) -> None:
    colour = "() => getComputedStyle(document.body).backgroundColor"
    light = reader.page.evaluate(colour)
    reader.page.locator(".theme input[value=dark]").check()
    dark = reader.page.evaluate(colour)
    assert light != dark
    reader.page.reload()
    assert reader.page.evaluate(colour) == dark
    assert reader.page.locator(".theme input[value=dark]").is_checked()
    reader.page.locator(".theme input[value=auto]").check()
    assert reader.page.evaluate(colour) == light
    reader.page.emulate_media(color_scheme="dark")
    assert reader.page.evaluate(colour) == dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_ground(reader: Reader, theme: str) -> None:
    reader.page.locator(f".theme input[value={theme}]").check()
    reader.page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true })")
    assert reader.page.evaluate((Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")) == []


def test_the_keyboard_reaches_the_content_first(reader: Reader) -> None:
    reader.page.keyboard.press("Tab")
    assert reader.page.evaluate("() => document.activeElement.className") == "skip"
    reader.page.keyboard.press("Enter")
    assert reader.page.evaluate("() => document.activeElement.id") == "content"


def test_a_ruling_leads_to_its_trial(reader: Reader) -> None:
    reader.page.get_by_role("link", name="3 tests").first.click()  # of “used”, which unfold
    reader.page.get_by_role("link", name="T6, permutation").first.click()
    reader.page.wait_for_function(
        "() => document.getElementById('trial-permutation').getBoundingClientRect().top < 200"
    )


def test_a_phone_needs_no_scrolling_sideways(browser: playwright.Browser, url: str) -> None:
    context = browser.new_context(viewport=PHONE, device_scale_factor=2)
    made = Reader(context.new_page())
    made.page.goto(url)
    made.page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true })")
    for figure in made.page.locator("figure.chart:visible").all():
        figure.scroll_into_view_if_needed()
        made.page.wait_for_timeout(50)
    made.page.wait_for_function("() => !document.querySelector('.picture.drawing')")
    assert made.page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]
    assert made.page.evaluate("() => document.body.scrollWidth") <= PHONE["width"]
    assert made.wrong == []
    context.close()


@pytest.mark.parametrize("width", [1280, 1024, 800, 390])
def test_verdicts_at_a_glance_need_no_scrolling_sideways(reader: Reader, width: int, tmp_path: Path) -> None:
    """Three ways of counting the tokens of one model, with the longest of answers."""
    (one,) = sample_report.audit(texts=1).blocks
    untested = [replace(verdict, answer="not tested") for verdict in one.verdicts]
    names = (one.name, f"{one.name}, special tokens counted", f"{one.name}, without sinks")
    blocks = [replace(one, anchor="", name=name, verdicts=untested, sections=[], instances=[]) for name in names]
    file = tmp_path / "glance.html"
    file.write_text(render(replace(sample_report.audit(texts=1), blocks=blocks)), encoding="utf-8")
    reader.page.set_viewport_size({"width": width, "height": 900})
    reader.page.goto(file.as_uri())
    wide = reader.page.locator(".glance").evaluate("(part) => [part.scrollWidth, part.clientWidth]")
    assert wide[0] == wide[1]
    assert reader.page.locator(".matrix .badge:visible").count() == 21
    ends = reader.page.locator(".matrix td").evaluate_all(
        "(all) => all.map((one) => one.lastElementChild.getBoundingClientRect().right "
        "- one.getBoundingClientRect().right)"
    )
    assert max(ends) <= 0  # no answer reaches into the next


def test_without_javascript_everything_is_there_to_read(browser: playwright.Browser, url: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(url)
    assert page.locator(".verdicts .badge").first.is_visible()
    assert page.locator(".picture > svg:visible").count() == page.locator("figure.chart").count()
    assert page.locator(".text:visible").count() == 16
    assert page.locator("button:visible").count() == 0
    assert page.locator(".controls:visible").count() == 0
    context.close()


def test_it_prints_with_everything_open(reader: Reader) -> None:
    printed = reader.page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert reader.page.locator("main details[open]").count() == 2  # folded again
    reader.page.emulate_media(media="print", color_scheme="dark")
    assert reader.page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    reader.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert reader.page.locator("main details:not([open])").count() == 0
    assert reader.page.locator(".tools button:visible").count() == 0
    assert reader.page.locator("figure.chart:visible").count() == reader.page.locator("figure.chart").count()
    assert reader.page.locator(".text:visible").count() == 16  # those of which the screen shows 10, too


def test_the_first_screen_prints_on_one_page_in_light(reader: Reader, tmp_path: Path) -> None:
    file = tmp_path / "audit.html"
    file.write_text(render(sample_report.audit(texts=3)), encoding="utf-8")
    reader.page.set_viewport_size({"width": 703, "height": 1016})  # A4 without its margins, at 96 dots an inch
    reader.page.emulate_media(media="print", color_scheme="dark")
    reader.page.goto(file.as_uri())
    rows = reader.page.locator("table.verdicts")
    assert rows.evaluate("(table) => table.getBoundingClientRect().bottom") < 1016
    assert rows.locator("tbody > tr").count() == 7
    assert reader.page.locator(".tests").evaluate("(part) => getComputedStyle(part).breakBefore") == "page"
    assert reader.page.evaluate("() => document.documentElement.scrollWidth") == 703


def test_a_word_shows_its_weight_where_the_mouse_is(reader: Reader) -> None:
    article = reader.page.locator(".text").first
    word = article.locator(".map").nth(1).locator("i").nth(3)
    word.hover()
    shown = word.get_attribute("title")
    word.click()
    assert shown is not None
    assert f"permuted {shown}" in article.locator(".reading").inner_text()


def test_heat_maps_of_two_models_are_sorted_by_how_far_they_are_apart(reader: Reader, tmp_path: Path) -> None:
    texts = [sample_report.compared_instance(i, ("small", "adversary x")) for i in range(14)]
    block = Block("both", "small vs. adversary x", [], [], [], texts)
    file = tmp_path / "comparison.html"
    file.write_text(render(Report("t", "comparison", "", [], [], [block])), encoding="utf-8")
    reader.page.goto(file.as_uri())
    choice = reader.page.locator(".order")
    assert choice.locator("option").evaluate_all("(all) => all.map((one) => one.value)") == [
        *("apart", "together", "corpus", "wrong")
    ]

    def order(attribute: str) -> list[float]:
        found = reader.page.locator(".text").evaluate_all(
            "(all, name) => all.map((one) => one.dataset[name])", attribute
        )
        return [float(value) for value in found]

    assert order("apart") == sorted(order("apart"), reverse=True)
    choice.select_option(label="nearest first")
    assert order("apart") == sorted(order("apart"))
    choice.select_option(label="as in the corpus")
    assert order("number") == list(range(1, 15))


def download(reader: Reader, button: playwright.Locator, folder: Path) -> list[list[str]]:
    with reader.page.expect_download() as waiting:
        button.click()
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    with file.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.reader(opened))
