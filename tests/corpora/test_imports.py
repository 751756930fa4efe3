"""What trains a model imports the corpus and none of its sources, so that no source is part of a training's key."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(code: str) -> set[str]:
    code += "; import sys; print(*(name for name in sys.modules if name.startswith('attentest.corpora.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.removeprefix("attentest.corpora.") for name in done.stdout.split()}


@pytest.mark.parametrize(
    ("module", "needed"),
    [
        ("attentest.corpora", set()),
        ("attentest.corpora.corpus", {"corpus"}),
        ("attentest.corpora.stored", {"corpus", "stored"}),
        ("attentest.training", {"corpus", "line_breaks"}),
        ("attentest.studies.steps.training", {"corpus", "line_breaks", "stored"}),
    ],
)
def test_no_source_is_imported(module: str, needed: set[str]) -> None:
    assert loaded_by(f"import {module}") == needed


def test_a_corpus_imports_its_own_source_only() -> None:
    code = "from attentest.corpora import load; load('planted', rows=20)"
    sources = {"planted", "babi_world", "movie_reviews", "huggingface"}
    assert {name for name in loaded_by(code) if name in sources or name.startswith("layouts")} == {"planted"}


def test_a_name_that_the_package_does_not_have() -> None:
    from attentest import corpora

    assert set(corpora.__all__) <= set(dir(corpora))
    with pytest.raises(AttributeError, match=r"module 'attentest\.corpora' has no attribute 'lode'"):
        corpora.lode  # noqa: B018
