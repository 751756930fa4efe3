"""The browser that tests look at pages with, if there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright import sync_api as playwright
else:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@contextmanager
def chromium() -> Iterator[playwright.Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("ATTENTEST_CHROMIUM") or next(filter(None, map(shutil.which, names)), "/usr/bin/chromium")
    if not Path(found).exists():
        pytest.skip("no Chromium: install one, or set ATTENTEST_CHROMIUM to its path")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=FLAGS.split())
        yield browser
        browser.close()
