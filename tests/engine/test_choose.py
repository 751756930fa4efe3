"""Stores and workers that cannot be had are told at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from attentest.engine import choose
from attentest.engine.choose import open_store, runner_for
from attentest.errors import InputError


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("zip://there.zip", "files cannot be written to zip"),
        ("simplecache::http://127.0.0.1:9/x", "files cannot be written to http"),
        ("http://127.0.0.1:9/x", "files cannot be written to http"),
        ("ftp://127.0.0.1:9/x", "refused"),
        ("nosuch://x", "Protocol not known"),
    ],
)
def test_stores_that_cannot_be_opened(place: str, said: str) -> None:
    with pytest.raises(InputError, match=f"The store {place} cannot be .*{said}"):
        open_store(place)


def test_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    monkeypatch.setattr(choose, "PATIENCE", 0.1)
    monkeypatch.setattr(fsspec, "url_to_fs", lambda url: time.sleep(3))
    with pytest.raises(InputError, match=r"The store memory://far does not answer within 0.1 seconds."):
        open_store("memory://far")


def test_a_store_in_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match=f"The store '{tmp_path / 'loop'}' cannot be"):
        open_store(tmp_path / "loop")


def test_stores_that_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_store("memory://there").place == "memory://there"
    assert open_store(tmp_path / "store").root == tmp_path / "store"
    assert open_store(f"file://{tmp_path}/store").root == tmp_path / "store"


@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.parametrize("workers", [0, -1, 10**9])
def test_workers_that_cannot_be(engine: str, workers: int) -> None:
    with pytest.raises(InputError, match="it must lie between 1 and 1,024"):
        runner_for(engine, workers)
