"""The page of a folder that somebody tampered with, in a real browser: nothing is asked for, nothing runs but ours."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from chromium import chromium
from listening import Listener, listening

import attentest
from attentest.audits import Audit
from attentest.files import hash_of, read_table, write_table
from attentest.reports.parts.islands import island
from attentest.reports.write import write_report

if TYPE_CHECKING:
    from playwright import sync_api as playwright

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
RUN = "window.hacked = 1"


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listener]:
    with listening(tmp_path_factory.mktemp("listener")) as found:
        yield found


def words(at: str) -> str:
    """What would run or be loaded wherever a page takes it for more than words."""
    return (
        f'"\'></script></title></style></svg><script>{RUN}</script><img src="{at}/words.png" onerror="{RUN}">'
        f'<iframe src="{at}/frame"></iframe><style>@import url({at}/style.css)</style>{{{{ 7 * 7 }}}}'
    )


def spread(content: Any, at: str, keys: set[str]) -> Any:
    """JSON in which every text under one of `keys` is hostile."""
    if isinstance(content, dict):
        return {key: _hostile(value, at) if key in keys else spread(value, at, keys) for key, value in content.items()}
    if isinstance(content, list):
        return [spread(value, at, keys) for value in content]
    return content


def _hostile(value: Any, at: str) -> Any:
    if isinstance(value, str):
        return f"{value} {words(at)}"
    if isinstance(value, list):
        return [*value, words(at)] if all(isinstance(entry, str) for entry in value) else value
    return value


def tampered_spec(spec: dict[str, Any], at: str) -> dict[str, Any]:
    image = {"type": "image", "url": f"{at}/mark.png", "href": f"{at}/href"}
    return {
        **spec,
        "$schema": f"{at}/schema/vega-lite/v6.json",
        "usermeta": {
            "embedOptions": {
                "loader": {"baseURL": at, "http": {"headers": {}}},
                "patch": f"{at}/patch.json",
                "config": f"{at}/config.json",
                "sourceHeader": f"<script>{RUN}</script>",
                "actions": True,
                "ast": False,
            }
        },
        "data": {"url": f"{at}/data.json"},
        "layer": [{"mark": image, "encoding": {"href": {"value": f"{at}/link"}, "url": {"value": f"{at}/u.png"}}}],
        "encoding": {"x": {"value": 3}},
        "params": [{"name": "p", "expr": f"warn('{RUN}')"}],
    }


def tampered_svg(at: str) -> str:
    return (
        f'<?xml-stylesheet href="{at}/sheet.css"?><svg xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="90" onload="{RUN}">'
        f"<style>@import url({at}/import.css); path {{ fill: url({at}/fill#a) }}</style><script>{RUN}</script>"
        f'<image width="9" height="9" xlink:href="{at}/image.png"/><a href="{at}/a"><text y="20">here</text></a>'
        f'<foreignObject width="9" height="9"><img xmlns="http://www.w3.org/1999/xhtml" src="{at}/img.png"/>'
        f'</foreignObject><g clip-path="url({at}/clip#a)" style="mask: url({at}/mask#a)"><path d="M0,0h90v90" '
        f'fill="URL({at}/paint#a)"/></g><use href="{at}/use#a"/></svg>'
    )


def tamper(folder: Path, at: str) -> None:
    """Everything that is read, and all that lies beside it."""
    (folder / "published.json").unlink()  # a sender would list the new hashes
    for place in folder.rglob("*.json"):
        content = json.loads(place.read_text(encoding="utf-8"))
        if place.name == "finding.json":
            content = spread(content, at, {"question", "answer", "notes", "description", "files", "attentest"})
            content["charts"] = [
                {"title": words(at), "description": words(at), "spec": f"{at}/spec.json", "svg": f"{at}/s.svg",
                 "png": "javascript:hacked=1", "csv": None}
            ]  # fmt: skip
            content["signature"] |= {words(at): {words(at): [words(at)]}}
            content["summary"] |= {words(at): {"value": 0.5, "low": None, "high": 1e300, "n": 3}}
        elif place.name == "summary.json":
            content = spread(content, at, {"title", "study", "budget", "notes", "missing", "question", "classes"})
            content["figures"] = [
                {"title": "x", "description": "x", "spec": f"{at}/f.json", "svg": None, "png": None, "csv": None}
            ]
            content["not_covered"] = {words(at): words(at)}
        elif place.name in ("verdict.json", "plan.json", "status.json"):
            content = spread(content, at, {"models", "study", "title"}) | {words(at): words(at)}
        elif place.parent.parent.name == "findings":
            content = tampered_spec(content, at)
        place.write_text(json.dumps(content), encoding="utf-8")
    for place in folder.rglob("*.svg"):
        place.write_text(tampered_svg(at), encoding="utf-8")
    for place in folder.glob("findings/*/*.png"):
        place.write_text(f"<html><script>{RUN}</script></html>", encoding="utf-8")
    for place in folder.glob("findings/*/table.parquet"):
        write_table(place, tampered_table(read_table(place), at))
        finding = place.with_name("finding.json")
        content = json.loads(finding.read_text(encoding="utf-8")) | {"table": hash_of(place)}
        finding.write_text(json.dumps(content), encoding="utf-8")
    for place in folder.glob("heat-maps/*.parquet"):
        table = read_table(place)
        for name in ("label", "predicted", "id"):
            hostile = [f"{value} {words(at)}" for value in table[name].to_pylist()]
            table = table.set_column(table.column_names.index(name), name, pa.array(hostile))
        texts = [f"{text} {words(at)}" for text in table["text"].to_pylist()]
        write_table(place, table.set_column(table.column_names.index("text"), "text", pa.array(texts)))
    (folder / f"findings/{'<img src=x onerror=hacked=1>'}").mkdir()


def tampered_table(table: pa.Table, at: str) -> pa.Table:
    """Names of classes, and everything of the metadata that is no number."""
    names = {name: f"{name} {words(at)}" for name in json.loads((table.schema.metadata or {}).get(b"classes", b"[]"))}
    kept = {**(table.schema.metadata or {}), b"classes": json.dumps([*names.values()]), words(at).encode(): words(at)}
    for column in ("predicted", "class"):
        if column in table.column_names:
            values = [names.get(value, value) for value in table[column].to_pylist()]
            table = table.set_column(table.column_names.index(column), column, pa.array(values))
    return table.replace_schema_metadata({key: value for key, value in kept.items() if names or key != b"classes"})


def opened(browser: playwright.Browser, page: Path, look: Callable[[playwright.Page], None]) -> list[str]:
    """Requests that a reader's browser starts, of all that can be scrolled to, opened and clicked."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    requests: list[str] = []
    context.on("request", lambda request: requests.append(request.url))
    shown = context.new_page()
    shown.set_default_timeout(20_000)
    shown.on("dialog", lambda dialog: dialog.dismiss())
    shown.goto(page.as_uri())
    look(shown)
    context.close()
    return [url for url in requests if not url.startswith(("file:", "blob:", "data:"))]


def read_all(shown: playwright.Page) -> None:
    """Opens every fold and tab, scrolls until all charts are drawn, and clicks into each."""
    shown.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true })")
    for tab in shown.locator("[role=tab]").all():
        tab.click()
        shown.wait_for_timeout(60)
    figures = shown.locator("figure.chart")
    assert figures.count() > 25
    shown.evaluate("document.querySelectorAll('figure.chart').forEach((part) => { part.hidden = false })")
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
    for figure in figures.all():
        figure.and_(shown.locator("[data-interactive=yes]")).wait_for()
    for figure in figures.all():
        figure.locator(".picture svg").last.click(position={"x": 90, "y": 60}, force=True)
    assert shown.evaluate("document.querySelectorAll('main image, main iframe, main img, main object').length") == 0
    assert shown.evaluate("document.querySelectorAll('figure.chart a:not(.tools a), main svg a').length") == 0
    assert shown.evaluate("typeof window.hacked") == "undefined"


@pytest.mark.slow
def test_a_tampered_audit_asks_for_nothing_and_runs_nothing(
    audited: Audit, browser: playwright.Browser, listener: Listener, tmp_path: Path
) -> None:
    folder = shutil.copytree(audited.folder, tmp_path / "audit")
    tamper(folder, listener.address)
    report, page = write_report(folder)
    text = page.read_text(encoding="utf-8")
    assert listener.heard == []
    figures = [figure for section in report.blocks[0].sections for figure in section.figures]
    usual = [figure for section in audited.report.blocks[0].sections for figure in section.figures]
    assert [(figure.title, figure.description) for figure in figures] == [(f.title, f.description) for f in usual]
    assert all(figure.svg and "SVG" not in figure.files for figure in figures)
    assert sum(figure.spec == same.spec for figure, same in zip(figures, usual, strict=True)) > len(figures) / 2
    bare = tmp_path / "audit" / "bare.html"
    bare.write_text(POLICY.sub("", text), encoding="utf-8")
    assert "Content-Security-Policy" not in bare.read_text(encoding="utf-8")
    for place in (page, bare):
        assert opened(browser, place, read_all) == []
    assert listener.heard == []


@pytest.mark.slow
def test_a_tampered_run_asks_for_nothing_and_runs_nothing(
    own_run: attentest.Run, browser: playwright.Browser, listener: Listener
) -> None:
    attentest.trial("removal", own_run, texts=8)
    folder, at = own_run.path, listener.address
    before = listener.heard
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    record["notes"] = [words(at)]
    record["corpus"]["name"] = words(at)
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    tampered = tampered_svg(at)
    (picture,) = folder.glob("trials/removal/*.svg")
    picture.write_text(tampered, encoding="utf-8")
    _, page = write_report(folder)
    text = page.read_text(encoding="utf-8")
    assert at in text  # as words
    page.write_text(POLICY.sub("", text), encoding="utf-8")
    assert opened(browser, page, until_drawn) == []
    assert listener.heard == before


def links_followed(shown: playwright.Page) -> None:
    """All files that the page links to, each opened as a page of its own."""
    links = shown.evaluate("[...document.querySelectorAll('a[href]')].map((link) => link.href)")
    start = shown.url.rpartition("/")[0]
    assert {link for link in links if not link.startswith(start)} == set()
    for link in {link for link in links if link.endswith((".svg", ".png", ".html"))}:
        shown.goto(link)
        shown.wait_for_timeout(50)
        assert shown.evaluate("typeof window.hacked") == "undefined"


@pytest.mark.slow
def test_links_lead_into_the_folder_and_open_nothing_that_runs(
    audited: Audit, browser: playwright.Browser, listener: Listener, tmp_path: Path
) -> None:
    folder = shutil.copytree(audited.folder, tmp_path / "audit")
    tamper(folder, listener.address)
    _, page = write_report(folder)
    before = listener.heard
    assert opened(browser, page, links_followed) == []
    assert listener.heard == before


def until_drawn(shown: playwright.Page) -> None:
    shown.locator("figure.chart").scroll_into_view_if_needed()
    shown.locator("figure[data-interactive]").wait_for()
    shown.locator(".picture svg").last.click(force=True)
    shown.wait_for_timeout(300)  # an image would be loaded after the chart is there, a link followed after the click


def foreign_specs(at: str) -> dict[str, dict[str, Any]]:
    plain = {"width": 90, "height": 90, "data": {"values": [{"a": 1}]}, "mark": "point"}
    options = tampered_spec({}, at)["usermeta"]["embedOptions"]
    return {
        "data": plain | {"data": {"url": f"{at}/data.json"}},
        "image": plain | {"mark": {"type": "image", "url": f"{at}/mark.png", "width": 9, "height": 9}},
        "link": plain | {"mark": {"type": "point", "href": f"{at}/href"}},
        **{
            name: plain | {"usermeta": {"embedOptions": {name: options[name]}}}
            for name in ("patch", "config", "sourceHeader")
        },
        "all at once": tampered_spec(plain, at),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", foreign_specs(""))
def test_the_loader_of_charts_is_closed_even_for_a_tampered_page(
    audited: Audit, browser: playwright.Browser, listener: Listener, tmp_path: Path, name: str
) -> None:
    """Were a foreign specification in the page, and no policy: Vega would still load nothing."""
    folder = shutil.copytree(next(audited.folder.glob("findings/*-removal")), tmp_path / "removal")
    _, page = write_report(folder)
    text = POLICY.sub("", page.read_text(encoding="utf-8"))
    own = re.compile(r'(<script type="application/json" class="spec">).*?(</script>)', re.DOTALL)
    foreign = str(island(foreign_specs(listener.address)[name]))
    page.write_text(own.sub(lambda found: found[1] + foreign + found[2], text), encoding="utf-8")
    assert foreign in page.read_text(encoding="utf-8")
    before = listener.heard
    assert opened(browser, page, until_drawn) == []
    assert listener.heard == before
