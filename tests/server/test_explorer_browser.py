"""The explorer in a real browser: what a reader does with it, and that it costs no request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from exploring import PHONE, Visitor, served, visiting

import attentest

if TYPE_CHECKING:
    from playwright import sync_api as playwright

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(run: attentest.Run, sibling: attentest.Run) -> str:
    return served([run, sibling])


@pytest.fixture
def visitor(browser: playwright.Browser, home: str) -> Iterator[Visitor]:
    with visiting(browser, home) as found:
        yield found.opens()


def agrees(visitor: Visitor, pane: int = 0, run: int = 0, **text: Any) -> None:
    """What the page shows is what the server says of these weights."""
    exact, weights = visitor.exact(pane), visitor.weights(pane)
    answer = visitor.asks(f"{run}/decode", **(text or {"row": 0}), weights=weights)
    assert exact["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-6)
    assert exact["tvd"] == pytest.approx(answer["tvd"], abs=1e-6)
    assert exact["jsd"] == pytest.approx(answer["jsd"], abs=1e-6)


def test_a_dragged_weight_moves_the_prediction_without_a_request(visitor: Visitor) -> None:
    before, asked = visitor.weights(), visitor.of_the_server()
    visitor.drags(2, 80)
    after = visitor.weights()
    assert after[2] == pytest.approx(min(1, before[2] + 0.4), abs=0.02)
    assert sum(after) == pytest.approx(1, abs=1e-6)
    others = [now / was for i, (now, was) in enumerate(zip(after, before, strict=True)) if i != 2]
    assert others == pytest.approx([others[0]] * len(others))  # they keep their proportions
    assert visitor.of_the_server() == asked
    assert visitor.exact()["jsd"] > 0.01
    agrees(visitor)


def test_others_get_their_weights_again_on_the_way_back(visitor: Visitor) -> None:
    before = visitor.weights()
    visitor.word(1).focus()
    visitor.presses("End", "Home", "1")
    assert visitor.weights()[1] == 1
    number = visitor.page.get_by_label("Weight of the chosen word", exact=True)
    visitor.wait_for_change(lambda: number.fill(repr(before[1])))
    assert visitor.weights() == pytest.approx(before, abs=1e-9)


def test_keys(visitor: Visitor) -> None:
    before = visitor.weights()
    visitor.word(0).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        visitor.page.keyboard.press(key)
    assert visitor.word(1).evaluate("(word) => word === document.activeElement")
    for key, change in (("PageUp", 0.1), ("ArrowUp", 0.11), ("ArrowDown", 0.1), ("PageDown", 0)):
        visitor.presses(key)
        assert visitor.weights()[1] == pytest.approx(before[1] + change, abs=1e-9)
        assert float(visitor.word(1).get_attribute("aria-valuenow") or "") == pytest.approx(
            before[1] + change, abs=1e-4
        )
    for key in "0.25":
        visitor.page.keyboard.press(key)
    visitor.page.wait_for_function("() => document.querySelector('.pane').pane.weights[1] === 0.25")


def test_a_finger_chooses_then_drags(browser: playwright.Browser, home: str) -> None:
    with visiting(browser, home, viewport=PHONE, has_touch=True, is_mobile=True) as visitor:
        visitor.opens()
        word = visitor.word(2)
        word.scroll_into_view_if_needed()
        word.tap()
        assert visitor.pane().locator("i.at").count() == 2
        before, box = visitor.weights(), word.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        touch = visitor.page.context.new_cdp_session(visitor.page)

        def moves() -> None:
            touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
            for step in range(1, 11):
                points = [{"x": x, "y": y - 6 * step}]
                touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": points})
            touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

        visitor.wait_for_change(moves)
        visitor.page.wait_for_function(
            "(was) => document.querySelector('.pane').pane.weights[2] > was + 0.2", arg=before[2]
        )


def test_buttons(visitor: Visitor) -> None:
    own = visitor.weights()

    def press(name: str) -> list[float]:
        visitor.wait_for_change(lambda: visitor.pane().get_by_role("button", name=name).click())
        return visitor.weights()

    assert press("Uniform") == pytest.approx([1 / len(own)] * len(own))
    permuted = press("Permuted")
    assert sorted(permuted) == pytest.approx(sorted(own))
    assert permuted != own
    assert press("Reset") == own
    dropped = press("Top dropped")
    assert dropped[own.index(max(own))] == 0
    agrees(visitor)
    furthest = press("Exact adversary")
    assert furthest == pytest.approx(visitor.asks("0/adversary", row=0)["weights"], abs=1e-9)
    assert visitor.exact()["tvd"] <= 0.01 + 1e-6
    assert visitor.exact()["jsd"] > 0.1
    agrees(visitor)
    press("Reset")
    assert visitor.exact()["tvd"] == pytest.approx(0, abs=1e-9)


def test_the_top_of_a_text_of_parts_is_the_top_of_the_whole(visitor: Visitor) -> None:
    """[weights, part of each, share of the whole], and what is left when the top is dropped, by hand."""
    for given, left in (
        ([[0.9, 0.1, 0.5, 0.5], [0, 0, 1, 1], [0.09, 0.01, 0.45, 0.45]], [0.9, 0.1, 0, 1]),
        ([[0.6, 0.4, 1], [0, 0, 1], [0.18, 0.12, 0.7]], [0, 1, 1]),  # nothing can take the weight of a part of one word
    ):
        dropped = "given => import('/static/affine.js').then((of) => Array.from(of.topDropped(...given)))"
        assert visitor.page.evaluate(dropped, given) == pytest.approx(left)


def test_measures_stand_next_to_attention(visitor: Visitor) -> None:
    for name in ("gradient", "leave-one-out"):
        visitor.pane().get_by_label(name, exact=True).check()
        visitor.pane().get_by_role("region", name=name, exact=True).locator("i").first.wait_for()
    visitor.word(3).click()
    assert visitor.pane().locator("i.at").count() == 4
    scores = visitor.asks("0/measure", row=0, measure="gradient")["scores"]
    assert f"gradient {scores[3]:.4f}" in visitor.pane().locator(".chosen").inner_text()
    visitor.pane().get_by_role("checkbox", name="gradient", exact=True).uncheck()
    assert visitor.pane().locator(".map").count() == 3


def test_texts_are_searched_sorted_and_paged(visitor: Visitor) -> None:
    page = visitor.page
    rows = page.locator(".one-text")
    page.get_by_label("Sort by").select_option("confidence")
    page.get_by_label("largest first").check()
    best = page.request.get(f"{visitor.home}/api/runs/0/texts?sort=confidence&descending=true").json()["rows"]
    page.wait_for_function("(row) => document.querySelector('.one-text')?.dataset.row === row", arg=str(best[0]["row"]))
    page.get_by_label("Search").fill(best[0]["id"])
    page.wait_for_function("() => document.querySelectorAll('.one-text').length < 50")
    rows.first.click()
    page.wait_for_function("(row) => document.querySelector('.pane').pane.state.row === row", arg=best[0]["row"])
    assert rows.first.get_attribute("aria-current") == "true"
    page.get_by_label("Search").fill("no text has this")
    page.get_by_text("No text contains this").wait_for()


def test_own_text_is_read_while_it_is_typed(visitor: Visitor) -> None:
    text = "words that are my own <b>& odd</b>"
    visitor.page.get_by_label("Type a text").fill(text)
    visitor.page.wait_for_function("(text) => document.querySelector('.pane').pane.state.text === text", arg=text)
    visitor.waits()
    assert visitor.pane().locator(".map").first.inner_text() == text
    visitor.drags(1, 50)
    agrees(visitor, text=text)
    visitor.page.wait_for_function("() => location.hash.includes('my+own')")


def test_an_empty_text_is_refused_with_a_sentence(visitor: Visitor) -> None:
    visitor.page.get_by_role("button", name="Read this text").click()
    visitor.page.get_by_text("Write a text first.").wait_for()


def test_right_to_left(visitor: Visitor) -> None:
    visitor.page.get_by_label("Type a text").fill("שלום עולם טוב")
    visitor.page.wait_for_function("() => document.querySelector('.pane').pane.state.tokens.length === 3")
    visitor.waits()
    first, second = (visitor.word(at).bounding_box() for at in (0, 1))
    assert first is not None
    assert second is not None
    assert first["x"] > second["x"]
    visitor.word(0).focus()
    visitor.page.keyboard.press("ArrowLeft")
    assert visitor.word(1).evaluate("(word) => word === document.activeElement")


def test_steps_lead_from_embeddings_to_the_prediction(visitor: Visitor) -> None:
    visitor.page.get_by_text("How the weights came about").click()
    title = visitor.page.locator(".steps h4")
    seen = []
    for _ in range(7):
        seen.append(title.inner_text())
        if visitor.page.get_by_role("button", name="Next step").is_enabled():
            visitor.page.get_by_role("button", name="Next step").click()
    assert [one.split(": ")[1].split(" (")[0] for one in seen] == [
        *("Embeddings", "States", "Scores", "Weights", "Weighted sum", "Logits", "Prediction")
    ]
    visitor.page.wait_for_function("() => location.hash.includes('step=6')")
    best = max(visitor.exact()["probabilities"])
    assert f"{best:.4f}" in visitor.page.locator(".step-body").inner_text()


def test_two_models_read_the_same_text(visitor: Visitor) -> None:
    visitor.page.get_by_label("Show", exact=True).select_option("models")
    visitor.page.wait_for_function("() => document.querySelectorAll('.pane').length === 2")
    visitor.waits()
    visitor.page.locator(".one-text").nth(2).click()
    visitor.page.wait_for_function(
        "() => [...document.querySelectorAll('.pane')].every(({ pane }) => pane.state.row === 2)"
    )
    visitor.waits()
    asked = visitor.of_the_server()
    visitor.drags(1, 60, pane=1)
    visitor.drags(0, 40, pane=0)
    assert visitor.of_the_server() == asked
    agrees(visitor, 0, 0, row=2)
    agrees(visitor, 1, 1, row=2)
    assert visitor.exact(0)["probabilities"] != visitor.exact(1)["probabilities"]


def test_two_texts_of_one_model(visitor: Visitor) -> None:
    visitor.page.get_by_label("Show", exact=True).select_option("texts")
    visitor.page.wait_for_function("() => document.querySelectorAll('.pane').length === 2")
    visitor.waits()
    visitor.page.locator(".one-text").nth(3).click()
    visitor.page.wait_for_function("() => document.querySelectorAll('.pane')[1].pane.state.row === 3")
    assert visitor.pane(0).evaluate("(box) => box.pane.state.row") == 0


def test_an_address_holds_everything(browser: playwright.Browser, home: str, visitor: Visitor) -> None:
    page = visitor.page
    visitor.pane().get_by_label("leave-one-out", exact=True).check()
    page.get_by_label("Show", exact=True).select_option("models")
    page.wait_for_function("() => document.querySelectorAll('.pane').length === 2")
    visitor.waits()
    visitor.drags(3, 70, pane=0)
    visitor.wait_for_change(lambda: visitor.pane(1).get_by_role("button", name="Permuted").click(), 1)
    visitor.pane(1).get_by_text("How the weights came about").click()
    visitor.pane(1).get_by_role("button", name="Scores").click()
    page.get_by_label("Sort by").select_option("length")
    parts = ["w=", "w.2=", "m=", "step.2=2", "sort=length"]
    page.wait_for_function("(parts) => parts.every((part) => location.hash.includes(part))", arg=parts)
    page.get_by_role("button", name="Copy address of this state").click()
    with visiting(browser, home) as other:
        other.opens(page.url)
        other.pane(1).locator(".steps h4").wait_for()
        for pane in (0, 1):
            assert other.weights(pane) == pytest.approx(visitor.weights(pane), abs=1e-6)
            assert other.exact(pane)["probabilities"] == pytest.approx(visitor.exact(pane)["probabilities"], abs=1e-6)
        other.pane(0).get_by_role("region", name="leave-one-out", exact=True).wait_for()
        assert "Scores" in other.pane(1).locator(".steps h4").inner_text()
        assert other.page.get_by_label("Sort by").input_value() == "length"
        assert other.pane(0).locator("i.at").count() == 3


@pytest.mark.parametrize(
    "address",
    [
        *("#r=9", "#r=0&row=99999999", "#r=0&row=0&w=zzzz*1", "#r=0&row=0&w=0*NaN", "#%", "#r=0&t=&t2=x"),
        *("#r=0&row=0&site=nowhere", "#r=0&row=0&m=nothing&step=77&at=5000", "#r=0&row=0&w=0*0_1*2"),
    ],
)
def test_a_wrong_address_says_so_or_shows_what_it_can(browser: playwright.Browser, home: str, address: str) -> None:
    with visiting(browser, home) as visitor:
        visitor.opens(address)
        shows, says = visitor.pane().locator(".map").count(), visitor.pane().locator(".notice").first.inner_text()
        assert shows or says
        visitor.wrong[:] = [one for one in visitor.wrong if "400 (Bad Request)" not in one]


def test_copied_as_svg_and_png(browser: playwright.Browser, home: str) -> None:
    with visiting(browser, home, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        visitor.opens()
        visitor.pane().get_by_role("button", name="Copy as SVG").click()
        visitor.page.get_by_text("Copied as SVG.").wait_for()
        svg = visitor.page.evaluate("() => navigator.clipboard.readText()")
        assert svg.startswith("<svg")
        assert visitor.word(0).inner_text() in svg
        visitor.pane().get_by_role("button", name="Copy as PNG").click()
        visitor.page.get_by_text("Copied as PNG.").wait_for()


def test_pictures_are_files_where_copying_is_not_allowed(visitor: Visitor, tmp_path: Path) -> None:
    visitor.page.evaluate("() => { navigator.clipboard.write = () => Promise.reject(new Error('no')) }")
    with visitor.page.expect_download() as found:
        visitor.pane().get_by_role("button", name="Copy as PNG").click()
    found.value.save_as(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_without_script_there_is_a_list(browser: playwright.Browser, home: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(home)
    assert page.locator("main li").count() == 100
    context.close()


def test_a_server_that_ends_is_told_of(browser: playwright.Browser, home: str) -> None:
    with visiting(browser, home) as visitor:
        visitor.opens()
        visitor.page.route("**/api/**", lambda route: route.abort())
        visitor.page.locator(".one-text").nth(2).click()
        visitor.pane().get_by_text("The server does not answer").wait_for()
        visitor.drags(1, 40)  # what is there still works
        visitor.wrong[:] = [one for one in visitor.wrong if "net::ERR_FAILED" not in one]
