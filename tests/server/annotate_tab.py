"""An annotator's tab, as tests handle it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from attentest.people.study import Item, PeopleStudy

if TYPE_CHECKING:
    from playwright import sync_api as playwright

BOUNCE = 220  # milliseconds: the page takes a key that comes sooner for a bounce


class Tab:
    """Items are told apart by their texts."""

    def __init__(self, context: playwright.BrowserContext, study: PeopleStudy, link: str) -> None:
        self.study, self.link = study, link
        self.items = {item.text + (item.second or ""): item for item in study.items}
        self.context = context
        self.mistakes: list[str] = []
        self.open()

    def open(self) -> None:
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.mistakes.append(str(error)))
        self.page.goto(self.link)
        self.ready()

    def ready(self) -> None:
        """Until there is something to do; past the instructions, if they are shown."""
        self.page.wait_for_selector("#begin:not([disabled])", state="attached")
        if self.page.locator("#instructions").is_visible():
            self.page.keyboard.press("Enter")
        self.page.wait_for_selector("#work:not([hidden]), #done:not([hidden])", state="attached")

    def reload(self) -> None:
        self.page.reload()
        self.ready()

    @property
    def item(self) -> Item:
        self.page.wait_for_selector("#work:not([hidden])")
        return self.items["".join(self.page.locator(".text").all_text_contents())]

    @property
    def is_done(self) -> bool:
        return self.page.locator("#done").is_visible()

    @property
    def count(self) -> int:
        return int((self.page.locator("#count").text_content() or "").split()[0])

    @property
    def status(self) -> str:
        return self.page.locator("#waiting").text_content() or ""

    @property
    def waiting(self) -> int:
        found = re.search(r"(\d+) answers? waits?", self.status)
        return int(found[1]) if found else 0

    def press(self, *keys: str) -> None:
        """Answers an item, and waits until the next one is there."""
        before = self.count
        self.page.wait_for_timeout(BOUNCE)
        for key in keys:
            self.page.keyboard.press(key)
        self.until_count(before + 1)

    def until_count(self, count: int) -> None:
        self.page.wait_for_function(
            "count => document.getElementById('count').textContent.startsWith(count)", arg=f"{count} "
        )

    def answer(self, says: Callable[[Item], bool], most: int = 10**6) -> None:
        for _ in range(most):
            if self.is_done:
                break
            self.press("y" if says(self.item) else "n")

    def undo(self) -> None:
        before = self.count
        self.page.keyboard.press("u")
        self.until_count(before - 1)

    def until_sent(self) -> None:
        """Until the browser keeps nothing that is not acknowledged."""
        self.page.wait_for_function("() => Object.keys(localStorage).length === 0", timeout=60_000)

    def until_waiting(self, count: int) -> None:
        self.page.wait_for_function(
            "count => document.getElementById('waiting').textContent.includes(count)",
            arg=f"{count} answer" + ("s wait" if count > 1 else " waits"),
            timeout=60_000,
        )
