"""The saved file opened from disk: no server, no network, and its weights can still be dragged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from exploring import Visitor, served, visiting

import attentest

if TYPE_CHECKING:
    from playwright import sync_api as playwright

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(run: attentest.Run, sibling: attentest.Run) -> str:
    return served([run, sibling])


def save(visitor: Visitor, folder: Path) -> str:
    with visitor.page.expect_download() as found:
        visitor.page.get_by_role("button", name="Save as one HTML file").click()
    file = folder / found.value.suggested_filename
    found.value.save_as(file)
    assert file.name == "attention.html"
    return file.as_uri()


def test_it_shows_the_same_and_can_still_be_dragged(browser: playwright.Browser, home: str, tmp_path: Path) -> None:
    with visiting(browser, home) as visitor:
        visitor.opens("#r=0&row=4&m=leave-one-out&step=3")
        visitor.drags(2, 50)
        file, before = save(visitor, tmp_path), visitor.weights()
        with visiting(browser, home) as reader:
            reader.opens(file)
            assert reader.requests == [file]
            assert reader.weights() == pytest.approx(before, abs=1e-6)
            assert reader.exact()["tvd"] == pytest.approx(visitor.exact()["tvd"], abs=1e-6)
            reader.pane().get_by_role("region", name="leave-one-out", exact=True).wait_for()
            assert "Weights" in reader.page.locator(".steps h4").inner_text()
            reader.drags(0, 60)
            answer = visitor.asks("0/decode", row=4, weights=reader.weights())
            assert reader.exact()["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-6)
            assert reader.exact()["tvd"] != visitor.exact()["tvd"]
            reader.wait_for_change(lambda: reader.page.get_by_role("button", name="Exact adversary").click())
            assert reader.weights() == pytest.approx(visitor.asks("0/adversary", row=4)["weights"], abs=1e-6)
            reader.page.get_by_label("Dark").check()
            assert reader.requests == [file]


def test_two_models_in_one_file(browser: playwright.Browser, home: str, tmp_path: Path) -> None:
    with visiting(browser, home) as visitor:
        visitor.opens("#r=1&row=1&r.2=0&t.2=one+of+my+own")
        file = save(visitor, tmp_path)
        with visiting(browser, home) as reader:
            reader.opens(file)
            names = reader.page.locator(".pane h2").all_inner_texts()
            assert names == visitor.page.locator(".pane h2").all_inner_texts()
            for pane in (0, 1):
                reader.drags(1, 40, pane=pane)
                assert reader.exact(pane)["jsd"] > 0


def test_without_its_decoder_the_file_says_so(
    browser: playwright.Browser, encoder_run: attentest.Run, tmp_path: Path
) -> None:
    home = served([encoder_run])
    with visiting(browser, home) as visitor:
        visitor.opens("#r=0&row=1&head=1")
        file = save(visitor, tmp_path)
        with visiting(browser, home) as reader:
            reader.opens(file)
            before = reader.exact()["probabilities"]
            reader.drags(1, 40)
            reader.page.get_by_text("this file does not hold it").wait_for()
            assert reader.weights() != pytest.approx(visitor.weights())
            assert reader.exact()["probabilities"] == before
