"""The browser that tests of pages share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from chromium import chromium

if TYPE_CHECKING:
    from playwright import sync_api as playwright


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with chromium() as started:
        yield started
