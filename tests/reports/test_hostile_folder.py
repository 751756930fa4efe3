"""A folder from somebody else: what is read of it stays in it, and drawing loads nothing."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from listening import Listener, listening
from page_tree import Tree

import attentest
from attentest.audits import Audit
from attentest.files import inside, read_foreign_table, write_table
from attentest.reports.parts.picture import inline, is_plain
from attentest.reports.write import write_report
from attentest.trials.charts.files import png_of, svg_of

WORST = ("../outside", "/etc/passwd", "a/../../outside", "\0", "link", "link/file", "ring")


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    with listening(tmp_path) as found:
        yield found


def specifications(place: str) -> dict[str, dict[str, Any]]:
    rows = {"values": [{"a": 1, "u": f"{place}/image.png"}]}
    x = {"field": "a", "type": "quantitative"}
    return {
        "data": {"data": {"url": f"{place}/data.json"}, "mark": "point", "encoding": {"x": x}},
        "CSV": {"data": {"url": f"{place}/d.csv", "format": {"type": "csv"}}, "mark": "bar", "encoding": {"x": x}},
        "lookup": {
            "data": rows,
            "transform": [{"lookup": "a", "from": {"data": {"url": f"{place}/l.json"}, "key": "a", "fields": ["b"]}}],
            "mark": "point",
            "encoding": {"x": x},
        },
        "image": {"data": rows, "mark": "image", "encoding": {"x": x, "url": {"field": "u"}}},
        "one image": {"data": rows, "mark": {"type": "image", "url": f"{place}/i.png"}, "encoding": {"x": x}},
    }  # fmt: skip


@pytest.mark.parametrize("name", specifications(""))
def test_drawing_loads_nothing(listener: Listener, name: str) -> None:
    chart = specifications(listener.address)[name]
    for draw in (svg_of, png_of):
        with pytest.raises(attentest.InputError, match="cannot be drawn"):
            draw(chart)
    assert listener.heard == []


def test_the_server_would_hear(listener: Listener) -> None:
    with urllib.request.urlopen(f"{listener.address}/asked") as answer:
        assert answer.status == 200
    assert listener.heard == ["/asked"]


@pytest.mark.parametrize("scheme", ["file://", ""])
def test_drawing_reads_no_file(tmp_path: Path, scheme: str) -> None:
    (tmp_path / "data.json").write_text('[{"a": "secret"}]')
    (tmp_path / "image.png").write_bytes(b"")
    text = {"data": {"url": f"{scheme}{tmp_path}/data.json"}, "mark": "text", "encoding": {"text": {"field": "a"}}}
    for chart in (text, *specifications(f"{scheme}{tmp_path}").values()):
        for draw in (svg_of, png_of):
            try:
                drawn = draw(chart)
            except attentest.InputError:
                continue
            assert "secret" not in str(drawn)
            assert "<image" not in str(drawn)


@pytest.mark.parametrize("name", WORST)
def test_paths_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "ring").symlink_to(folder / "ring")
    with pytest.raises(attentest.InputError, match="not a file inside it"):
        inside(folder, name)
    assert inside(folder, "a/b") == folder / "a" / "b"
    (folder / "own").symlink_to(folder)
    assert inside(folder, "own/a") == folder / "own" / "a"


@pytest.mark.parametrize("name", ["../outside", "/etc", "findings/link"])
def test_places_of_a_summary_are_inside(audited: Audit, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(audited.folder, tmp_path / "audit")
    shutil.copytree(next((folder / "findings").iterdir()), tmp_path / "outside")
    (folder / "findings" / "link").symlink_to(tmp_path / "outside")
    whole = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    moved = json.loads(json.dumps(whole))
    moved["findings"][0]["folder"] = name
    shown = json.loads(json.dumps(whole))
    next(iter(shown["blocks"].values()))["instances"] = f"{name}/instances.parquet"
    for summary in (moved, shown):
        (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        with pytest.raises(attentest.InputError, match="not a file inside it"):
            write_report(folder)


def test_links_of_a_folder_that_lead_out_are_refused(audited: Audit, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "file").write_text("secret")
    for name in (
        "ours.csv",
        "*-removal/table.parquet",
        "*-removal/table.csv",
        "*-removal/finding.json",
        "*-removal/*.png",
    ):
        folder = shutil.copytree(audited.folder, tmp_path / "audit")
        (file,) = folder.glob(f"findings/{name}" if "/" in name else name)
        file.unlink()
        file.symlink_to(secret / "file")
        with pytest.raises(attentest.InputError, match="not a file inside it"):
            write_report(folder)
        shutil.rmtree(folder)
    folder = shutil.copytree(audited.folder, tmp_path / "audit")
    shutil.rmtree(folder / "heat-maps")
    (folder / "heat-maps").symlink_to(secret)
    with pytest.raises(attentest.InputError, match="not a file inside it"):
        write_report(folder)
    assert [file.name for file in secret.iterdir()] == ["file"]


def test_names_of_files_are_not_read(audited: Audit, tmp_path: Path) -> None:
    folder = shutil.copytree(audited.folder, tmp_path / "audit")
    usual, _ = write_report(folder)
    (folder / "published.json").unlink()  # a sender would list the new hashes
    for place in folder.glob("findings/*/finding.json"):
        content = json.loads(place.read_text(encoding="utf-8"))
        content["files"] = {"csv": "../../../secret", "table": "/etc/passwd"}
        for chart in content["charts"]:
            chart |= {"spec": "/etc/passwd", "svg": "../../../secret.svg", "png": "javascript:hacked=1", "title": "x"}
        place.write_text(json.dumps(content), encoding="utf-8")
    report, page = write_report(folder)
    assert report == usual
    for link in Tree.of(page.read_text(encoding="utf-8")).values("href"):
        if not link.startswith(("#", "data:")):
            assert (folder / link).resolve().is_relative_to(folder.resolve())


SHAPE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{}</svg>'
HOSTILE = (
    '<image href="http://x/i.png"/>',
    '<script>hacked = 1</script>',
    '<a href="http://x"><path d="M0,0h9"/></a>',
    '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="http://x"/></body></foreignObject>',
    '<style>@import url(http://x);</style>',
    '<path d="M0,0h9" style="fill:url(http://x)"/>',
    '<path d="M0,0h9" fill="url(http://x#a)"/>',
    '<path d="M0,0h9" fill="URL(http://x#a)"/>',
    '<path d="M0,0h9" fill="u\\72l(http://x#a)"/>',
    '<path d="M0,0h9" stroke="url( \'http://x#a\' )"/>',
    '<g clip-path="url(http://x#a)"><path d="M0,0h9"/></g>',
    '<g clip-path="url(//x#a)"><path d="M0,0h9"/></g>',
    '<g clip-path="src(http://x)"><path d="M0,0h9"/></g>',
    '<path d="M0,0h9" fill="image-set(\'http://x\' 1x)"/>',
    '<g mask="url(http://x#a)" filter="url(http://x#a)" cursor="url(http://x), auto"><path d="M0,0h9"/></g>',
    '<path d="M0,0h9" onclick="hacked = 1" onload="hacked = 1"/>',
    '<use href="http://x#a"/>',
    '<use xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="http://x#a"/>',
    '<animate attributeName="href" to="http://x"/>',
    '<path d="M0,0h9" transform="url(http://x)"/>',
    '<path d="M0,0h9" font-family="x" fill="var(--a, url(http://x))"/>',
)  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE)
def test_a_picture_refers_to_nothing_outside(content: str) -> None:
    assert not is_plain(SHAPE.format(content))
    for around in ("{}", "<g>{}</g>"):
        picture = inline(SHAPE.format(around.format(content)), "said", "p1")
        assert "//x" not in picture
        assert "hacked" not in picture


def test_a_picture_may_refer_to_itself() -> None:
    own = (
        '<defs><clipPath id="clip0"><rect width="9" height="9"/></clipPath></defs>'
        '<g clip-path="url(#clip0)" transform="translate(0.5,1)" fill="rgb(1, 2, 3)"><path d="M0,0h9"/></g>'
    )
    assert is_plain(SHAPE.format(own))
    picture = inline(SHAPE.format(own), "said", "p1")
    assert 'clip-path="url(#p1_clip0)"' in picture
    assert 'id="p1_clip0"' in picture
    assert 'fill="rgb(1, 2, 3)"' in picture


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no picture",
        '<?xml-stylesheet href="http://x"?>' + SHAPE.format(""),
        '<!DOCTYPE svg [<!ENTITY a "b">]>' + SHAPE.format(""),
        '<html xmlns="http://www.w3.org/1999/xhtml"><script>hacked = 1</script></html>',
        '<g xmlns="http://www.w3.org/1999/xhtml"/>',
    ],
)
def test_what_is_no_picture_is_not_linked(text: str) -> None:
    assert not is_plain(text)


def test_only_pictures_that_run_nothing_are_linked(audited: Audit, tmp_path: Path) -> None:
    folder = shutil.copytree(next(audited.folder.glob("findings/*-removal")), tmp_path / "removal")
    (figure,) = write_report(folder)[0].blocks[0].sections[0].figures
    assert set(figure.files) == {"SVG", "PNG"}
    (file,) = folder.glob("*.svg")
    for content in (SHAPE.format("<script>hacked = 1</script>").encode(), b"\xff\xfe"):
        file.write_bytes(content)
        (again,) = write_report(folder)[0].blocks[0].sections[0].figures
        assert set(again.files) == {"PNG"}
        assert again.svg == figure.svg
    with file.open("wb") as handle:
        handle.truncate(1 << 40)  # of nothing: it takes no room, unless it is read
    (again,) = write_report(folder)[0].blocks[0].sections[0].figures
    assert set(again.files) == {"PNG"}


@pytest.mark.parametrize("around", ['{"a": %s}', "[%s]"])
def test_a_signature_may_be_nested_as_deep_as_json_is_read(audited: Audit, tmp_path: Path, around: str) -> None:
    folder = shutil.copytree(next(audited.folder.glob("findings/*-removal")), tmp_path / "removal")
    whole = json.loads((folder / "finding.json").read_text(encoding="utf-8"))
    before, after = around.split("%s")
    read = []
    for depth in range(100, 1100, 50):
        deep = f"{before * depth}1{after * depth}"
        text = json.dumps(whole | {"signature": {"a": "@"}}).replace('"@"', deep)
        (folder / "finding.json").write_text(text, encoding="utf-8")
        try:
            read.append(len(write_report(folder)[0].blocks))
        except attentest.InputError as error:
            read.append(0)
            assert "finding.json" in str(error)  # noqa: PT017
    assert set(read) == {0, 1}


@pytest.mark.parametrize("n", ["-1", f"{10**400}", "1e9", "true", "null"])
def test_numbers_of_texts_that_cannot_be_are_told(audited: Audit, tmp_path: Path, n: str) -> None:
    folder = shutil.copytree(next(audited.folder.glob("findings/*-removal")), tmp_path / "removal")
    whole = json.loads((folder / "finding.json").read_text(encoding="utf-8"))
    whole["summary"]["mean ΔJS"]["n"] = "@"
    (folder / "finding.json").write_text(json.dumps(whole).replace('"@"', n), encoding="utf-8")
    with pytest.raises(attentest.InputError, match=r"finding\.json.*`summary"):
        write_report(folder)


def test_a_table_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    from attentest import files

    monkeypatch.setattr(files, "MOST_CELLS", 10)
    write_table(tmp_path / "small.parquet", pa.table({"a": range(10)}))
    assert len(read_foreign_table(tmp_path / "small.parquet")) == 10
    write_table(tmp_path / "large.parquet", pa.table({"a": range(11)}))
    with pytest.raises(attentest.InputError, match=r"large\.parquet has 11 cells"):
        read_foreign_table(tmp_path / "large.parquet")
