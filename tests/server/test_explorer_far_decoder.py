"""Where only the server can decode: the last weights win, however slow it answers; layers and heads on demand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from exploring import Visitor, served, visiting

import attentest

if TYPE_CHECKING:
    from playwright import sync_api as playwright

pytestmark = pytest.mark.slow
ONE_HEAD = "#r=0&row=1&head=1"


@pytest.fixture(scope="module")
def home(encoder_run: attentest.Run) -> str:
    return served([encoder_run])


@pytest.fixture
def visitor(browser: playwright.Browser, home: str) -> Iterator[Visitor]:
    with visiting(browser, home) as found:
        yield found.opens(ONE_HEAD)


def test_the_last_weights_win(visitor: Visitor) -> None:
    held: list[playwright.Route] = []
    visitor.page.route("**/decode", lambda route: held.append(route))
    visitor.word(1).focus()
    visitor.presses("PageUp")
    visitor.page.wait_for_function("() => document.querySelector('.prediction.waiting')")
    visitor.presses("PageUp", "PageUp", "End")
    assert len(held) == 1  # one question at a time
    with visitor.page.expect_request("**/decode"):
        held[0].continue_()
    assert visitor.page.locator(".prediction.waiting").count() == 1
    visitor.page.wait_for_timeout(50)
    assert len(held) == 2  # of those in between none was asked
    held[1].continue_()
    visitor.page.wait_for_function("() => !document.querySelector('.prediction.waiting')")
    assert visitor.weights()[1] == 1
    answer = visitor.asks("0/decode", row=1, head=1, weights=visitor.weights())
    assert visitor.exact()["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-6)
    assert visitor.exact()["tvd"] == pytest.approx(answer["tvd"], abs=1e-6)


def test_the_last_text_wins(visitor: Visitor) -> None:
    held: list[playwright.Route] = []

    def hold(route: playwright.Route) -> None:
        if '"row":2' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    visitor.page.route("**/read", hold)
    visitor.page.locator(".one-text").nth(2).click()
    visitor.page.locator(".one-text").nth(3).click()
    visitor.page.wait_for_function("() => document.querySelector('.pane').pane.state.row === 3")
    held[0].fulfill(status=500, body="{}")
    visitor.waits()
    assert visitor.pane().evaluate("(box) => box.pane.state.row") == 3
    assert visitor.pane().locator(".notice").first.inner_text() == ""


def test_layers_and_heads_are_fetched_when_they_are_looked_at(visitor: Visitor) -> None:
    assert len([one for one in visitor.requests if one.endswith("/read")]) == 1
    visitor.page.get_by_text("All layers and heads").click()
    filled = (
        "() => [...document.querySelectorAll('.one-head .about')].filter((one) => one.textContent !== '…').length === 6"
    )
    visitor.page.wait_for_function(filled)
    assert len([one for one in visitor.requests if one.endswith("/read")]) == 7
    visitor.page.get_by_role("button", name="encoder.0, head 0").click()
    visitor.page.wait_for_function("() => document.querySelector('.pane').pane.state.site === 'encoder.0'")
    shown = visitor.asks("0/read", row=1, site="encoder.0", head=0)
    assert visitor.weights() == pytest.approx(shown["weights"], abs=1e-6)
    assert shown["draggable"] or visitor.page.get_by_role("button", name="Uniform").count() == 0


def test_special_tokens(visitor: Visitor) -> None:
    assert visitor.pane().locator("i.special").count() == 0
    visitor.pane().get_by_label("Special tokens").check()
    visitor.page.wait_for_function("() => document.querySelector('.pane').pane.state.special")
    visitor.waits()
    assert visitor.word(0).inner_text() == "[CLS]"


def test_one_head_can_be_taken_to_change(browser: playwright.Browser, home: str) -> None:
    with visiting(browser, home) as visitor:
        visitor.opens()
        assert visitor.page.get_by_role("button", name="Uniform").count() == 0
        visitor.page.get_by_role("button", name="Take one head to change").click()
        visitor.page.get_by_role("button", name="Uniform").wait_for()
        visitor.drags(0, 50)
        visitor.page.wait_for_function("() => !document.querySelector('.prediction.waiting')")
        assert visitor.exact()["jsd"] > 0


def test_sinks_can_be_hidden(browser: playwright.Browser, home: str) -> None:
    def with_sink(route: playwright.Route) -> None:
        state = route.fetch().json()
        route.fulfill(json=state | {"sink": [0, 1] + [0] * (len(state["tokens"]) - 2)})

    with visiting(browser, home) as visitor:
        visitor.page.route("**/read", with_sink)
        visitor.opens(ONE_HEAD)
        visitor.pane().get_by_label("Hide sinks").check()
        assert [one.is_visible() for one in (visitor.word(0), visitor.word(1), visitor.word(2))] == [True, False, True]
        visitor.word(0).focus()
        visitor.page.keyboard.press("ArrowRight")
        assert visitor.word(2).evaluate("(word) => word === document.activeElement")
        visitor.page.wait_for_function("() => location.hash.includes('sk=1')")
        visitor.page.reload()
        visitor.waits()
        visitor.page.wait_for_function("() => document.querySelectorAll('.map i.gone').length === 2")
