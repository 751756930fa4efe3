"""`python -m benchmarks.explorer_page`: the explorer in a headless Chromium. Frames a second while a weight of a text
of 512 tokens is dragged (at least 30), and for a text of 4,096 tokens the time until its first token is on the screen
(at most 1 s) and the bytes sent for it (at most 5 MB)."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

import attentest
from attentest.corpora import build_corpus
from attentest.server.explorer.app import explorer_app
from attentest.server.safety import Safety, hosts_of
from attentest.server.serving import address_of, bound, run_server

DRAGGED, LONG, SECONDS = 512, 4096, 4
# when the first token was drawn, counted from the start of the navigation
FIRST_TOKEN = """
new MutationObserver((_, watcher) => {
  if (!document.querySelector(".map i")) return;
  watcher.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.firstToken = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
COUNT_FRAMES = """() => {
  window.frames_seen = 0; window.drawings = 0; window.began = performance.now();
  document.querySelector(".pane").addEventListener("drawn", () => { window.drawings += 1; });
  const next = () => { window.frames_seen += 1; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""
COUNTED = """() => {
  const seconds = (performance.now() - window.began) / 1000;
  return [window.frames_seen / seconds, window.drawings / seconds];
}"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        home = _served(_run(Path(folder)))
        browser = started.chromium.launch(executable_path=_chromium(), args=["--headless", "--no-sandbox"])
        frames, drawings, requests = _dragging(browser, f"{home}/#r=0&row=0")
        drawn = f"{frames:.0f} frames/s, {drawings:.0f} redrawn, {requests} requests"
        print(f"dragging, {DRAGGED} tokens: {drawn} (target 30, 0)")
        for number in range(3):
            seconds, size = _first_paint(browser, f"{home}/#r=0&row=1")
            shown = f"first token after {seconds:.2f} s, {size / 1e6:.2f} MB"
            print(f"visit {number + 1}, {LONG:,} tokens: {shown} (target 1, 5)")
        browser.close()
    return 0


def _run(folder: Path) -> attentest.Run:
    """A BiLSTM of the usual size on texts of made-up words; the first two of the test split are the long ones."""
    generator = np.random.default_rng(0)
    lengths = [DRAGGED, LONG, *[30] * 300]
    texts = [" ".join(f"word{i}" for i in generator.zipf(1.3, length) % 8000) for length in lengths]
    columns = {
        "text": texts,
        "label": [str(i % 2) for i in range(len(texts))],
        "split": ["test"] * 20 + ["dev"] * 40 + ["train"] * 242,
    }
    corpus = build_corpus("long", columns)
    return attentest.train(corpus, folder / "run", epochs=1, max_tokens=2 * LONG)


def _served(run: attentest.Run) -> str:
    listening = bound("127.0.0.1", 0)
    app = Safety(explorer_app([run]), hosts_of("127.0.0.1", listening.getsockname()[1]))
    threading.Thread(target=run_server, args=(app, listening), daemon=True).start()
    return address_of(listening)


def _opened(browser: Browser, address: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script(FIRST_TOKEN)
    page.goto(address)
    page.wait_for_function("() => window.firstToken")
    page.wait_for_function("() => document.querySelector('.pane').getAttribute('aria-busy') === 'false'")
    return page


def _dragging(browser: Browser, address: str) -> tuple[float, float, int]:
    page = _opened(browser, address)
    page.wait_for_timeout(1000)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    word = page.locator(".map i").nth(20)
    word.scroll_into_view_if_needed()
    box: Any = word.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(COUNT_FRAMES)
    step = 0
    while page.evaluate("() => performance.now() - window.began") < 1000 * SECONDS:
        step += 1
        page.mouse.move(x, y - 100 + 90 * np.sin(step), steps=40)
    frames, drawings = page.evaluate(COUNTED)
    page.mouse.up()
    page.close()
    return frames, drawings, len(requests)


def _first_paint(browser: Browser, address: str) -> tuple[float, float]:
    page = browser.new_page()
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    sizes: list[float] = []
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.add_init_script(FIRST_TOKEN)
    page.goto(address)
    page.wait_for_function("() => window.firstToken")
    seconds = page.evaluate("() => window.firstToken") / 1000
    page.wait_for_function(f"() => document.querySelector('.map').querySelectorAll('i').length === {LONG}")
    page.close()
    return seconds, sum(sizes)


def _chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("ATTENTEST_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise SystemExit("No Chromium: install one, or set ATTENTEST_CHROMIUM to its path.")
    return found


if __name__ == "__main__":
    sys.exit(main())
