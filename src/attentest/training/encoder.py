"""A pretrained encoder on its way into a run's folder, and out of it again: the folder needs nothing else."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.files import hash_of, is_folder, make_folder, read_as, write_bytes, write_json
from attentest.models.settings import ModelSettings
from attentest.text.prepare import Report, TokenizedCorpus
from attentest.training.folder import CONFIG, LAYOUT, PIECES, PRETRAINED
from attentest.training.tensors import read_tensors

if TYPE_CHECKING:
    from attentest.models.pretrained.layout import Layout
    from attentest.models.pretrained.model import Pretrained
    from attentest.text.pieces import PieceTokenizer

# the files of an encoder that say what it is: weights, config, tokenizer
_FILES = ("config.json", "*.safetensors", "tokenizer*", "vocab*", "merges.txt", "*.model", "special_tokens_map.json")
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def is_pretrained(source: str | Path) -> bool:
    """Whether it is a folder of a Hugging Face model, or may be a hub name: no folder of ours."""
    if is_folder(Path(source)):
        return (Path(source) / "config.json").is_file() and not (Path(source) / "run.json").is_file()
    return not Path(source).exists() and _HUB_NAME.fullmatch(str(source)) is not None


def place_of(source: str) -> str:
    """Where it is, for other processes, too: an absolute path, or its hub name."""
    return str(Path(source).resolve()) if is_folder(Path(source)) else source


def fingerprint_of(source: str) -> str:
    """A hash of an encoder's weights, config and tokenizer, wherever they lie."""
    from attentest.models.pretrained.loading import folder_of

    folder = folder_of(source)
    files = sorted({file for pattern in _FILES for file in folder.glob(pattern) if file.is_file()})
    digest = hashlib.sha256("".join(f"{file.name}={hash_of(file)}\n" for file in files).encode())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Encoder:
    """A pretrained network with a head, and everything that it is made of."""

    model: Pretrained
    tokenizer: PieceTokenizer
    layout: Layout
    notes: Sequence[str] = ()

    def read(self, corpus: Corpus, most: int, report: Report = lambda done, total: None) -> TokenizedCorpus:
        """The corpus in word pieces, at most so many of a text and never more than the network can read."""
        from attentest.text.prepare_pieces import tokenize_pieces

        most = min(most, self.layout.room(corpus.kind))
        return tokenize_pieces(corpus, self.tokenizer, max_tokens=most, report=report)

    def write(self, folder: Path) -> None:
        """All but the weights."""
        make_folder(folder / PRETRAINED)
        write_bytes(folder / CONFIG, self.model.network.config.to_json_string().encode())
        write_bytes(folder / PIECES, self.tokenizer.definition.encode())
        write_json(folder / LAYOUT, asdict(_Stored(self.layout, list(self.model.classes))))


@dataclass(frozen=True)
class _Stored:
    """What layout.json says."""

    layout: Layout
    classes: list[int]  # the class of each of the head's outputs
