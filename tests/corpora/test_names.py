"""Names that stand for no corpus, and options that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from written import reviews, write_csv

from attentest.corpora import load
from attentest.errors import InputError


@pytest.mark.parametrize(
    ("name", "nearest"), [("planetd", "planted"), ("SST", "sst"), ("movie_reviews", "movie-reviews")]
)
def test_an_unknown_name_suggests_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"Unknown corpus or file '{name}'; did you mean '{nearest}'"):
        load(name)


@pytest.mark.parametrize("name", ["é", "a\0b", "qqqq"])
def test_a_name_like_no_other_lists_them(name: str) -> None:
    with pytest.raises(InputError, match=r"Unknown corpus or file .* choose from: .*planted"):
        load(name)


def test_a_name_too_long_for_a_file() -> None:
    with pytest.raises(InputError, match="Unknown corpus or file"):
        load("x" * 5000)
    with pytest.raises(InputError, match="there is no such file"):
        load("x" * 5000, format="sst")


@pytest.mark.parametrize("name", ["", "  "])
def test_no_name(name: str) -> None:
    with pytest.raises(InputError, match="The corpus is missing"):
        load(name)


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Unknown format 'imdb'; did you mean 'aclimdb'"):
        load(tmp_path, format="imdb")


def test_options_that_files_do_not_have(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.csv has no corpus option 'difficulty'"):
        load(write_csv(tmp_path / "x.csv", reviews()), difficulty=0.5)
