"""The annotators' page: every option by keys and fingers, any text, on a phone, for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi")
from annotate_scene import ARABIC, HOSTILE
from annotate_tab import BOUNCE, Tab
from benchmarks.annotate_server import TEXTS, made_item, made_items, made_study, served

from attentest.people.answers import Answers
from attentest.people.study import Asked, PeopleStudy

if TYPE_CHECKING:
    from playwright import sync_api as playwright

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

pytestmark = pytest.mark.slow
NAME = HOSTILE[:60].replace(",", "").strip()  # of an annotator
BITE = HOSTILE.replace("\0", "\ufffd")
PHONE: dict[str, Any] = {"viewport": {"width": 400, "height": 800}, "has_touch": True, "is_mobile": True}
SMALLEST = 44  # px of what a finger has to hit


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> PeopleStudy:
    """Asks for everything; with pairs, hostile texts and labels, and words from right to left."""
    items = [
        made_item(0, "original", f"{TEXTS[0]} {TEXTS[1]}"),
        made_item(1, "permuted", ARABIC),
        made_item(2, "original", TEXTS[2], BITE, predicted=BITE),
        made_item(3, "permuted", BITE, predicted=f"label {BITE}"),
        made_item(4, "known", "word " * 600, TEXTS[1]),
    ]
    return made_study(tmp_path_factory.mktemp("page") / "people", items, Asked(True, True, True))


@pytest.fixture(scope="module")
def links(study: PeopleStudy) -> Iterator[dict[str, str]]:
    names = ["ann", "bo", "cy", "dee", NAME]
    with served(study, ",".join(names)) as server:
        yield server.links


@pytest.fixture
def context(browser: playwright.Browser) -> Iterator[playwright.BrowserContext]:
    made = browser.new_context()
    yield made
    made.close()


def stored(study: PeopleStudy, name: str) -> dict[str, dict[str, Any]]:
    answers = Answers(study.answers_url)
    rows = [row for row in answers.table().to_pylist() if row["annotator"] == name]
    answers.close()
    return {row["item"]: row for row in rows}


def to_item(tab: Tab, wanted: str) -> None:
    """Answers what comes before the item with that source."""
    while tab.item.source != wanted:
        tab.press("n", "1")


def test_every_option_by_keyboard(
    context: playwright.BrowserContext, study: PeopleStudy, links: dict[str, str]
) -> None:
    tab = Tab(context, study, links["ann"])
    to_item(tab, "source-original-0")
    keys, shown = tab.page.keyboard, tab.item
    keys.press("h")
    for key in ("ArrowRight", "Space", "End", "Space", "ArrowLeft", "Enter", "Space", "Home"):
        keys.press(key)
    keys.press("Shift+ArrowRight")  # words 0 and 1
    keys.press("c")
    keys.type("because, y and n")
    keys.press("Escape")
    tab.page.wait_for_timeout(BOUNCE)
    keys.press("n")
    assert tab.page.get_attribute("#no", "aria-pressed") == "true"
    keys.press("y")
    assert tab.item == shown  # not saved before the confidence is chosen
    tab.press("4")
    tab.undo()
    assert tab.item == shown
    assert tab.page.input_value("#comment") == "because, y and n"
    tab.press("5", "y")  # in any order
    tab.until_sent()
    row = stored(study, "ann")[shown.id]
    assert (row["relevant"], row["confidence"], row["comment"]) == (True, 5, "because, y and n")
    assert row["highlighted"] == [0, 1, len(shown.start) - 1]


def test_words_from_right_to_left(
    context: playwright.BrowserContext, study: PeopleStudy, links: dict[str, str]
) -> None:
    tab = Tab(context, study, links["bo"])
    to_item(tab, "source-permuted-1")
    assert tab.page.eval_on_selector(".text", "text => getComputedStyle(text).direction") == "rtl"
    item = tab.item
    for key in ("h", "ArrowLeft", "ArrowLeft", "Space", "ArrowRight", "Space"):
        tab.page.keyboard.press(key)
    tab.press("y", "3")
    tab.until_sent()
    assert stored(study, "bo")[item.id]["highlighted"] == [1, 2]


def test_hostile_texts_labels_names_and_comments(
    context: playwright.BrowserContext, study: PeopleStudy, links: dict[str, str]
) -> None:
    tab = Tab(context, study, links[NAME])
    dialogs: list[str] = []
    requests: list[str] = []
    tab.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    tab.page.on("request", lambda request: requests.append(request.url))
    assert tab.page.text_content("#who") == NAME
    predicted = set()
    while not tab.is_done:
        assert tab.page.text_content("#predicted") == tab.item.predicted  # `item` is found by its whole text
        predicted.add(tab.item.predicted)
        tab.page.fill("#comment", BITE)
        tab.page.locator("#item").focus()
        tab.press("y", "2")
    tab.undo()
    assert tab.page.input_value("#comment") == BITE.strip()
    tab.press("y", "2")
    tab.until_sent()
    tab.reload()
    assert {BITE, f"label {BITE}"} < predicted
    assert {row["comment"] for row in stored(study, NAME).values()} == {BITE.strip()}
    assert tab.page.evaluate("() => window.bitten === undefined")
    assert tab.page.locator("main script, main img, main svg").count() == 0
    assert (dialogs, tab.mistakes) == ([], [])
    assert {urlsplit(url).path.split("/")[1] for url in requests} == {"", "api", "static"}
    assert not any(links[NAME].partition("#")[2] in url for url in requests)


def test_on_a_phone(browser: playwright.Browser, study: PeopleStudy, links: dict[str, str]) -> None:
    context = browser.new_context(**PHONE)
    tab = Tab(context, study, links["cy"])
    assert tab.page.locator("kbd >> visible=true").count() == 0
    while not tab.is_done:
        wide = tab.page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 400, tab.item.text
        for button in tab.page.locator("button >> visible=true").all():
            box = button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= SMALLEST
        for name in ("#yes", "#no"):
            assert tab.page.eval_on_selector(name, "it => it.getBoundingClientRect().bottom <= innerHeight")
        tab.page.wait_for_timeout(BOUNCE)
        before = tab.count
        tab.page.locator("#texts [role=checkbox]").nth(1).tap()
        tab.page.tap("#no")
        tab.page.tap("#levels button >> nth=0")
        tab.until_count(before + 1)
    tab.until_sent()
    assert {(row["relevant"], row["confidence"]) for row in stored(study, "cy").values()} == {(False, 1)}
    assert all(row["highlighted"] == [1] for row in stored(study, "cy").values())
    context.close()


def test_a_key_that_bounces_or_is_held_answers_once(context: playwright.BrowserContext, tmp_path: Path) -> None:
    study = made_study(tmp_path / "people", made_items(3, 0))
    with served(study) as server:
        tab = Tab(context, study, server.links["ann"])
        tab.press("y")
        for _ in range(3):
            tab.page.evaluate(
                "() => document.dispatchEvent(new KeyboardEvent('keydown', { key: 'y', repeat: true, bubbles: true }))"
            )
        tab.page.wait_for_timeout(BOUNCE)
        tab.page.keyboard.down("1")
        for _ in range(4):  # held: the browser repeats it
            tab.page.keyboard.down("1")
        tab.page.keyboard.up("1")
        tab.page.keyboard.press("Control+y")
        tab.page.keyboard.press("?")
        tab.page.keyboard.press("y")  # not while the instructions are shown
        assert (tab.count, tab.page.inner_text("#begin")) == (2, "Continue")
        tab.page.keyboard.press("Enter")
        tab.press("2")
        assert tab.count == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(
    browser: playwright.Browser, study: PeopleStudy, links: dict[str, str], scheme: Any
) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(links["dee"])
    page.wait_for_selector("#begin:not([disabled])", state="attached")
    looked = 0
    while True:
        found = axe.Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []
        looked += 1
        if page.locator("#done").is_visible():
            break
        if page.locator("#instructions").is_visible():
            page.keyboard.press("Enter")
            page.wait_for_selector("#work:not([hidden])")
            continue
        page.wait_for_timeout(BOUNCE)
        page.keyboard.press("h")
        page.keyboard.press("Space")
        for key in ("y", "3"):
            page.keyboard.press(key)
        page.wait_for_timeout(BOUNCE)
    assert looked >= (len(study.items) + 2 if scheme == "light" else 1)
    context.close()
