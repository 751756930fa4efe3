"""Hostile texts, labels and names in a real browser are words and nothing else; and everybody can use the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from exploring import PHONE, WIDE, Visitor, served, visiting

import attentest
from attentest.corpora import build_corpus

if TYPE_CHECKING:
    from playwright import sync_api as playwright
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

pytestmark = pytest.mark.slow
RUN = "window.hacked = 1"
NAME = f"<img src=x onerror='{RUN}'>"
WORDS = f"'\"></title></script><script>{RUN}</script>{NAME}<svg onload={RUN}>{{{{ 7 * 7 }}}} \u202e evil"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    texts = [f"{WORDS} {word} {number}" for number in range(40) for word in ("good", "bad")]
    columns = {"text": texts, "label": [f"yes {WORDS}", f"no {WORDS}"] * 40, "id": [f"{n} {WORDS}" for n in range(80)]}
    out = tmp_path_factory.mktemp("hostile") / NAME
    made = attentest.train(build_corpus(f"corpus {NAME}", columns), out, epochs=1, dimension=8, hidden=4)
    return served([made])


@pytest.fixture(scope="module")
def home(run: attentest.Run, sibling: attentest.Run) -> str:
    return served([run, sibling])


def test_nothing_runs(browser: playwright.Browser, hostile: str, tmp_path: Path) -> None:
    with visiting(browser, hostile) as visitor:
        visitor.opens("#r=0&row=0&m=gradient&step=4")
        page = visitor.page
        assert NAME in page.locator("h1").inner_text()
        page.locator(".steps h4").wait_for()
        visitor.drags(1, 30)
        page.get_by_label("Type a text").fill(WORDS)
        page.wait_for_function("() => document.querySelector('.pane').pane.state.row === null")
        visitor.waits()
        assert page.locator("main img, main svg, main script").count() == 0
        page.get_by_role("button", name="Copy as SVG").click()
        with page.expect_download() as found:
            page.get_by_role("button", name="Save as one HTML file").click()
        found.value.save_as(tmp_path / "saved.html")
        with visiting(browser, hostile) as reader:
            reader.opens((tmp_path / "saved.html").as_uri())
            assert reader.page.locator("main img, main svg, main script").count() == 0
            reader.drags(1, 30)


def test_a_hostile_address_runs_nothing(browser: playwright.Browser, home: str) -> None:
    with visiting(browser, home) as visitor:
        address = "#r=0&t=%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E&m=%3Cscript%3E&q=%3Cscript%3E"
        visitor.opens(address)
        assert visitor.pane().locator("img").count() == 0


def test_a_picture_of_hostile_words_is_sound(browser: playwright.Browser, hostile: str) -> None:
    with visiting(browser, hostile, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        visitor.opens()
        visitor.pane().get_by_role("button", name="Copy as SVG").click()
        visitor.page.get_by_text("Copied as SVG.").wait_for()
        wrong = """async () => {
          const svg = new DOMParser().parseFromString(await navigator.clipboard.readText(), "image/svg+xml");
          return svg.querySelectorAll("parsererror, script, image, [onload], [onerror]").length;
        }"""
        assert visitor.page.evaluate(wrong) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_axe_finds_nothing_serious(browser: playwright.Browser, home: str, scheme: str, viewport: Any) -> None:
    with visiting(browser, home, viewport=viewport, color_scheme=scheme) as visitor:
        for address in ("", "#r=0&row=1&m=gradient*lime&step=4&at=2&w=0*0.5", "#r=0&row=1&r.2=1&row.2=1"):
            visitor.opens(address)
            if "step" in address:
                visitor.page.locator(".steps h4").wait_for()
            visitor.page.reload()
            visitor.waits()
            assert serious(visitor) == []


def serious(visitor: Visitor) -> list[str]:
    found = axe.Axe().run(visitor.page).response["violations"]
    return [
        f"{one['id']}: {one['help']} {[node['html'][:150] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_nothing_is_wider_than_a_phone(browser: playwright.Browser, home: str, hostile: str) -> None:
    for place in (home, hostile):
        with visiting(browser, place, viewport=PHONE) as visitor:
            visitor.opens("#r=0&row=1&m=gradient&step=1&at=1")
            visitor.page.locator(".steps h4").wait_for()
            assert visitor.page.evaluate("() => document.documentElement.scrollWidth") <= 400
