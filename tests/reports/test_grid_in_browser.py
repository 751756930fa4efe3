"""Maps of translations in a browser: layers and heads are chosen without any script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from chromium import chromium

from attentest.display.heatmaps import Grid, Grids


def test_one_view_is_seen_at_a_time_and_each_map_has_its_own_choice(tmp_path: Path) -> None:
    views = {f"across.0 head {n}": np.full((2, 2), n / 4) for n in range(3)}
    one = Grid("1", "a b", "c d", ["a", "b"], ["c", "d"], views, "across.0 head 1")
    file = Grids([one, one]).save(tmp_path / "map.html")
    with chromium() as browser:
        page = browser.new_page(java_script_enabled=False)
        page.goto(file.as_uri())
        seen = page.locator(".view:visible caption")
        assert seen.all_inner_texts() == ["across.0 head 1"] * 2
        page.locator("form").nth(1).get_by_label("head 2").check()
        assert seen.all_inner_texts() == ["across.0 head 1", "across.0 head 2"]
        page.keyboard.press("Enter")
        assert page.url == file.as_uri()  # nothing was sent
        assert seen.all_inner_texts() == ["across.0 head 1", "across.0 head 2"]
        assert page.locator(".view:visible td[title]").first.get_attribute("title") == "0.2500"
