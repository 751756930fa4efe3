"""The explorer served to a browser, and what a visitor sees of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import attentest

pytest.importorskip("fastapi")
if TYPE_CHECKING:
    from playwright import sync_api as playwright
else:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from attentest.server.explorer.app import explorer_app
from attentest.server.safety import Safety, hosts_of
from attentest.server.serving import address_of, bound, run_server

WIDE: playwright.ViewportSize = {"width": 1280, "height": 900}
PHONE: playwright.ViewportSize = {"width": 400, "height": 800}
SETTLED = """() => {
  const all = [...document.querySelectorAll(".pane")];
  return all.length > 0 && all.every((one) => one.getAttribute("aria-busy") === "false");
}"""


def served(runs: Sequence[attentest.Run]) -> str:
    """The address of a server that lasts as long as the tests."""
    listening = bound("127.0.0.1", 0)
    app = Safety(explorer_app(runs), hosts_of("127.0.0.1", listening.getsockname()[1]))
    threading.Thread(target=run_server, args=(app, listening), daemon=True).start()
    return address_of(listening)


@dataclass
class Visitor:
    """A page, all that it asked for, and all that went wrong in it."""

    page: playwright.Page
    home: str
    wrong: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(30_000)
        self.page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def opens(self, address: str = "") -> Visitor:
        self.page.goto(address if ":" in address else self.home + "/" + address)
        self.waits()
        return self

    def waits(self) -> None:
        """Until every pane shows its text."""
        self.page.wait_for_function(SETTLED)

    def pane(self, number: int = 0) -> playwright.Locator:
        return self.page.locator(".pane").nth(number)

    def word(self, at: int, pane: int = 0) -> playwright.Locator:
        return self.pane(pane).locator(".map").first.locator("i").nth(at)

    def weights(self, pane: int = 0) -> list[float]:
        found: list[float] = self.pane(pane).evaluate("(box) => [...box.pane.weights]")
        return found

    def exact(self, pane: int = 0) -> dict[str, Any]:
        """The prediction and both distances, as the page has them before they are rounded."""
        found: dict[str, Any] = self.pane(pane).locator(".prediction").evaluate("(box) => box.exact")
        return found

    def wait_for_change(self, act: Any, pane: int = 0) -> None:
        """Does something, and waits until the pane has drawn what follows."""
        counts = "(box) => { box.drawn = 0; box.addEventListener('drawn', () => { box.drawn += 1 }) }"
        self.pane(pane).evaluate(counts)
        act()
        self.page.wait_for_function("(pane) => document.querySelectorAll('.pane')[pane].drawn > 0", arg=pane)

    def presses(self, *keys: str) -> None:
        for key in keys:
            self.wait_for_change(partial(self.page.keyboard.press, key))

    def drags(self, at: int, by: int, pane: int = 0, steps: int = 25) -> None:
        """A word, `by` pixels upwards."""
        self.word(at, pane).scroll_into_view_if_needed()
        box = self.word(at, pane).bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.wait_for_change(lambda: self.page.mouse.move(x, y - by, steps=steps), pane)
        self.page.mouse.up()
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def asks(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.page.request.post(f"{self.home}/api/runs/{path}", data=body)
        assert answer.ok, answer.text()
        found: dict[str, Any] = answer.json()
        return found

    def of_the_server(self) -> list[str]:
        return [request for request in self.requests if "/api/" in request]


@contextmanager
def visiting(browser: playwright.Browser, home: str, **options: Any) -> Iterator[Visitor]:
    """In a context of its own; fails where anything went wrong, or anything else was asked for than the server."""
    context = browser.new_context(viewport=options.pop("viewport", WIDE), accept_downloads=True, **options)
    visitor = Visitor(context.new_page(), home)
    yield visitor
    hacked = visitor.page.evaluate("() => window.hacked")
    context.close()
    assert hacked is None
    assert visitor.wrong == []
    assert [one for one in visitor.requests if not one.startswith((home, "file:", "blob:", "data:"))] == []
