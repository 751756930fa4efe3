"""A pretrained encoder on its way into a run's folder, and out of it again: the folder needs nothing else."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.files import hash_of, is_file, is_folder, make_folder, read_as, write_bytes, write_json
from attentest.models.pretrained.layout import Layout
from attentest.models.pretrained.precision import AUTO, dtype_of
from attentest.models.settings import ModelSettings
from attentest.text.pieces import PieceTokenizer
from attentest.text.prepare import Report, TokenizedCorpus
from attentest.text.prepare_pieces import tokenize_pieces
from attentest.text.settings import TextSettings
from attentest.text.windows import check_stride
from attentest.training.folder import CONFIG, LAYOUT, PIECES, PRETRAINED
from attentest.training.tensors import read_tensors

if TYPE_CHECKING:
    from attentest.models.pretrained.loading import Loaded
    from attentest.models.pretrained.model import Pretrained

# the files of an encoder that say what it is: weights, config, tokenizer
_FILES = ("config.json", "*.safetensors", "tokenizer*", "vocab*", "merges.txt", "*.model", "special_tokens_map.json")
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w.-]+)?")


def is_pretrained(source: str | Path) -> bool:
    """Whether it is the folder of a Hugging Face model, or may be a hub name: no folder of ours."""
    if is_folder(Path(source)):
        return (Path(source) / "config.json").is_file()
    return not is_file(Path(source)) and _HUB_NAME.fullmatch(str(source)) is not None


def place_of(source: str) -> str:
    """Where it is, for other processes, too: an absolute path, or its hub name."""
    return str(Path(source).resolve()) if is_folder(Path(source)) else source


def hash_of_base(source: str) -> str:
    """A hash of an encoder's weights, config and tokenizer, wherever they lie."""
    from attentest.models.pretrained.loading import folder_of

    folder = folder_of(source)
    files = sorted({file for pattern in _FILES for file in folder.glob(pattern) if file.is_file()})
    digest = hashlib.sha256("".join(f"{file.name}={hash_of(file)}\n" for file in files).encode())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Encoder:
    """A pretrained network with a head, the tokenizer that it reads with, and sentences about it."""

    model: Pretrained
    tokenizer: PieceTokenizer
    notes: Sequence[str] = ()

    @property
    def config(self) -> Any:
        return self.model.network.config

    def read(
        self,
        corpus: Corpus,
        text: TextSettings,
        report: Report = lambda done, total: None,
        *,
        special: bool = False,
    ) -> TokenizedCorpus:
        """The corpus in word pieces, never more of a text at a time than the network can read."""
        how = reading(text, self.model.layout.room(corpus.kind))
        return tokenize_pieces(corpus, self.tokenizer, **how, special=special, report=report)

    def write(self, folder: Path) -> None:
        """All but the weights."""
        make_folder(folder / PRETRAINED)
        write_bytes(folder / CONFIG, self.config.to_json_string().encode())
        write_bytes(folder / PIECES, self.tokenizer.definition.encode())
        write_json(folder / LAYOUT, asdict(StoredLayout(self.model.layout, self.model.classes)))


def reading(text: TextSettings, room: int) -> dict[str, Any]:
    """How `tokenize_pieces` reads for a network that has room for so many pieces of a text or pair."""
    return {
        "max_tokens": min(text.max_tokens, room),
        "min_tokens": text.min_tokens,
        "long": text.long,
        "stride": text.stride,
    }


def with_new_head(settings: ModelSettings, classes: Sequence[str], seed: int) -> Encoder:
    """An encoder to be fine-tuned."""
    from attentest.models.pretrained.loading import load_encoder

    assert settings.pretrained is not None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        loaded = load_encoder(settings.pretrained, classes)
    return _made(loaded, settings)


def with_its_head(
    settings: ModelSettings, classes: Sequence[str], labels: Mapping[str, str] | None, dtype: str = AUTO
) -> Encoder:
    """A classifier that is trained already."""
    from attentest.models.pretrained.loading import load_pretrained

    assert settings.pretrained is not None
    return _made(load_pretrained(settings.pretrained, classes, labels, dtype=dtype_of(dtype)), settings)


def check_classifier(source: str, corpus: Corpus, labels: Mapping[str, str], text: TextSettings) -> None:
    """Refuse what is no classifier of the corpus's classes, and windows that it cannot read in."""
    from attentest.models.pretrained.loading import load_pretrained

    room = load_pretrained(source, corpus.classes, labels).layout.room(corpus.kind)
    check_stride(text.stride, min(text.max_tokens, room), corpus.kind == "pair")


def _made(loaded: Loaded, settings: ModelSettings) -> Encoder:
    model = _model(loaded.network, loaded.layout, loaded.classes_of_head, settings)
    gap = f"While its weights are looked at, the network's logits change by at most {model.about.gap:.1g}."
    return Encoder(model, loaded.tokenizer, (*loaded.notes, gap))


def _model(network: Any, layout: Layout, classes: Sequence[int], settings: ModelSettings) -> Pretrained:
    from attentest.models.pretrained.model import Pretrained

    return Pretrained(network, layout, classes, projection=settings.projection)


@dataclass(frozen=True)
class StoredLayout:
    """What layout.json says."""

    layout: Layout
    classes: list[int]  # the head's output of each class; -1 where it has none


def stored_layout(folder: Path) -> StoredLayout:
    return read_as(folder / LAYOUT, StoredLayout)


def stored_model(folder: Path, settings: ModelSettings) -> Pretrained:
    """The network of a run's folder with its weights."""
    file = folder / "model.safetensors"
    stored, about = read_tensors(file), stored_layout(folder)
    with torch.device("meta"):  # sizes that somebody made up take no memory
        described = _network(folder)
    own = {name.removeprefix("network."): value for name, value in stored.tensors.items()}
    stored.expect_like({f"network.{name}": value for name, value in described.state_dict().items()})
    stored.expect_unchanged()
    network = _network(folder)
    network.load_state_dict(own)
    return _model(network.eval(), about.layout, about.classes, settings)


def _network(folder: Path) -> Any:
    """As the config in a run's folder describes it, with weights that mean nothing."""
    from attentest.models.pretrained.library import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(folder / PRETRAINED, trust_remote_code=False)
        return transformers.AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)
    except Exception as error:  # a config can be wrong in as many ways as there are architectures
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")
        raise InputError(f"{folder / CONFIG} is damaged: no network is made like this ({reason}).") from error
