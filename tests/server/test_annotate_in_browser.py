"""Annotators in a browser, with all that goes wrong meanwhile: nothing is lost, nothing doubled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("fastapi")
from annotate_scene import database_of
from annotate_tab import Tab
from benchmarks.annotate_server import Served, made_items, made_study, served

from attentest.people.answers import LOG, Answers
from attentest.people.report import report_of
from attentest.people.study import Item, PeopleStudy

if TYPE_CHECKING:
    from playwright import sync_api as playwright

pytestmark = pytest.mark.slow
SAMPLES, KNOWN = 7, 4


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with database_of(request.param, tmp_path) as url:
        yield url


@pytest.fixture
def study(tmp_path: Path) -> PeopleStudy:
    return made_study(tmp_path / "people", made_items(SAMPLES, KNOWN))


def number_of(item: Item) -> int:
    return int(item.source.rpartition("-")[2])


def ann_says(item: Item) -> bool:
    return bool(item.expected) if item.condition == "known" else number_of(item) % 4 != 1


def bo_says(item: Item) -> bool:
    return not ann_says(item) if number_of(item) % 5 == 2 and item.condition != "known" else ann_says(item)


SAYS = {"ann": ann_says, "bo": bo_says}


def entries(database: str) -> list[tuple[str, str]]:
    answers = Answers(database)
    with answers._engine.connect() as connection:
        found = [(row.annotator, row.item) for row in connection.execute(LOG.select())]
    answers.close()
    return found


def test_two_annotators_and_everything_that_goes_wrong(
    browser: playwright.Browser, study: PeopleStudy, database: str
) -> None:
    with served(study, "ann,bo", database) as server:
        contexts = {name: browser.new_context() for name in SAYS}
        ann, bo = (Tab(contexts[name], study, server.links[name]) for name in SAYS)
        first, other = ann.item, bo.item
        ann.answer(ann_says, 3)
        bo.answer(bo_says, 3)

        shown = ann.item  # a reload in the middle
        ann.reload()
        assert (ann.item, ann.count) == (shown, 3)

        ann.press("n" if ann_says(ann.item) else "y")  # a slip, undone
        ann.undo()
        assert ann.item == shown
        ann.answer(ann_says, 1)

        contexts["bo"].set_offline(True)  # the network is cut
        bo.answer(bo_says, 3)
        bo.until_waiting(3)
        assert "You can continue" in bo.status
        contexts["bo"].set_offline(False)
        bo.until_sent()
        assert bo.status == ""

        server.kill()  # SIGKILL in the middle
        ann.answer(ann_says, 4)
        bo.answer(bo_says, 2)
        bo.until_waiting(2)
        bo.page.close()  # with answers that are not sent
        ann.until_waiting(4)
        server.start()
        ann.until_sent()
        ann.answer(ann_says)
        bo.open()
        assert bo.count == 8
        bo.answer(bo_says)
        for tab in (ann, bo):
            tab.until_sent()
            assert tab.is_done
            assert f"All {len(study.items)} answers are saved" in tab.page.inner_text("#rest")
            assert tab.mistakes == []
        for context in contexts.values():
            context.close()
    held = entries(database)
    assert len(held) == 2 * len(study.items) + 2  # the slip and its undoing
    assert {place: held.count(place) for place in set(held)} == {
        (name, item.id): 3 if (name, item) == ("ann", shown) else 1 for name, item in product(SAYS, study.items)
    }
    assert first != other  # orders differ
    table = Answers(database).table().to_pylist()
    assert len(table) == 2 * len(study.items)
    assert {(row["annotator"], row["item"]): row["relevant"] for row in table} == {
        (name, item.id): says(item) for (name, says), item in product(SAYS.items(), study.items)
    }
    assert all(200 <= row["milliseconds"] < 600_000 for row in table)
    compare_with_counts(study, database)


def compare_with_counts(study: PeopleStudy, database: str) -> None:
    """κ and the tables of the report, once more by hand."""
    found = report_of(study, database).kept
    assert found is not None
    asked = [item for item in study.items if item.condition != "known"]
    ann, bo = ([says(item) for item in asked] for says in SAYS.values())
    observed = sum(a == b for a, b in zip(ann, bo, strict=True)) / len(asked)
    yes = [sum(said) / len(asked) for said in (ann, bo)]
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    assert 0 < observed < 1
    kappa = next(one for one in found.agreement if one.name == "Cohen's κ")
    assert kappa.value == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)
    for condition in ("original", "permuted"):
        cells = dict.fromkeys(product((True, False), repeat=2), 0)
        for item, says in product(asked, SAYS.values()):
            if item.condition == condition:
                cells[says(item), item.label == item.predicted] += 1
        table = found.tables[condition]
        told = [
            one.value for one in (table.relevant_correct, table.relevant_wrong, table.other_correct, table.other_wrong)
        ]
        assert told == pytest.approx([count / (2 * SAMPLES) for count in cells.values()], abs=1e-12)


@pytest.fixture
def server(study: PeopleStudy) -> Iterator[Served]:
    with served(study) as started:
        yield started


def test_two_tabs_of_one_annotator(browser: playwright.Browser, study: PeopleStudy, server: Served) -> None:
    context = browser.new_context()
    first, second = (Tab(context, study, server.links["ann"]) for _ in range(2))
    shown = second.item
    first.answer(ann_says, 1)
    second.until_count(1)  # the other tab hears of it, and moves on
    assert first.item == second.item != shown
    server.kill()
    for count in range(2, 8, 2):
        first.answer(ann_says, 1)
        second.until_count(count)
        second.answer(ann_says, 1)
        first.until_count(count + 1)
    second.undo()  # what a tab answered, the other one may undo; both send what waits
    first.until_count(6)
    server.start()
    second.answer(ann_says)
    first.until_count(len(study.items))
    for tab in (first, second):
        tab.until_sent()
        tab.page.wait_for_selector("#done:not([hidden])")
        assert tab.mistakes == []
    context.close()
    held = entries(study.answers_url)
    assert len(held) == len(study.items) + 2
    table = Answers(study.answers_url).table().to_pylist()
    assert {row["item"]: row["relevant"] for row in table} == {item.id: ann_says(item) for item in study.items}


def two_answers_wait_and_are_stored_once(tab: Tab) -> None:
    tab.answer(ann_says, 2)
    tab.until_waiting(2)
    tab.context.unroute("**/api/answers")
    tab.until_sent()
    assert len(entries(tab.study.answers_url)) == 2
    tab.context.close()


def test_what_is_no_answer_of_the_server_is_no_acknowledgement(
    browser: playwright.Browser, study: PeopleStudy, server: Served
) -> None:
    """As a hotel's network does: a page of its own for every address, with status 200 or 403."""
    context = browser.new_context()
    tab = Tab(context, study, server.links["ann"])
    told = iter([(200, "<h1>Log in</h1>"), (200, '{"ok": true}'), (403, "no"), (302, ""), (200, "null"), (502, "{}")])

    def other(route: playwright.Route) -> None:
        status, body = next(told, (404, "[]"))
        route.fulfill(status=status, body=body)

    context.route("**/api/answers", other)
    two_answers_wait_and_are_stored_once(tab)


def test_an_acknowledgement_that_gets_lost(browser: playwright.Browser, study: PeopleStudy, server: Served) -> None:
    context = browser.new_context()
    tab = Tab(context, study, server.links["ann"])

    def stored_but_not_told(route: playwright.Route) -> None:
        route.fetch()
        route.abort()

    context.route("**/api/answers", stored_but_not_told)
    two_answers_wait_and_are_stored_once(tab)


def test_a_new_link_sends_what_waited_under_the_old_one(
    browser: playwright.Browser, study: PeopleStudy, server: Served
) -> None:
    context = browser.new_context()
    tab = Tab(context, study, server.links["ann"])
    server.kill()
    tab.answer(ann_says, 2)
    tab.until_waiting(2)
    server.start("--new-links", "ann")
    tab.page.wait_for_function("() => document.getElementById('waiting').textContent.includes('link is not valid')")
    assert tab.waiting == 2
    tab.page.goto(server.links["ann"])  # only the part after the # differs
    tab.page.wait_for_function("() => document.getElementById('waiting').textContent === ''")
    tab.until_sent()
    tab.ready()
    assert tab.count == 2
    assert len(entries(study.answers_url)) == 2
    context.close()


def test_a_browser_that_stores_nothing(browser: playwright.Browser, study: PeopleStudy, server: Served) -> None:
    context = browser.new_context()
    context.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); }")
    tab = Tab(context, study, server.links["ann"])
    context.set_offline(True)
    tab.answer(ann_says, 2)
    tab.until_waiting(2)
    assert "keep this tab open until they are sent" in tab.status
    with tab.page.expect_event("dialog") as asked:
        tab.page.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()  # stay
    context.set_offline(False)
    tab.page.wait_for_function("() => document.getElementById('waiting').textContent === ''")
    assert len(entries(study.answers_url)) == 2
    context.close()


@pytest.mark.parametrize("part", ["", "#", "#wrong", "#../../etc"])
def test_without_the_right_link(browser: playwright.Browser, server: Served, part: str) -> None:
    page = browser.new_page()
    page.goto(server.links["ann"].partition("#")[0] + part)
    page.wait_for_selector("#problem:not([hidden])")
    assert "the whole link that you were given" in page.inner_text("#problem")
    assert page.locator("#work").is_hidden()
    page.close()


def test_time_runs_while_the_page_is_in_view(browser: playwright.Browser, study: PeopleStudy, server: Served) -> None:
    context = browser.new_context()
    tab = Tab(context, study, server.links["ann"])
    tab.page.clock.install()
    tab.reload()
    turn = """hidden => {
      Object.defineProperty(document, "visibilityState", { value: hidden ? "hidden" : "visible", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    for hidden, milliseconds in ((False, 3_000), (True, 60_000), (False, 2_000)):
        tab.page.evaluate(turn, hidden)
        tab.page.clock.run_for(milliseconds)
    tab.page.keyboard.press("?")  # instructions stop the clock, and coming back to the tab does not start it
    tab.page.evaluate(turn, False)
    tab.page.clock.run_for(60_000)
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("y")
    tab.until_count(1)
    tab.until_sent()
    (row,) = Answers(study.answers_url).table().to_pylist()
    assert 5_000 <= row["milliseconds"] < 50_000
    context.close()
