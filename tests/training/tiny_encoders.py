"""Folders of tiny Hugging Face models with random weights, made here: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import attentest

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

GOOD, BAD = ("good", "fine", "lovely"), ("bad", "poor", "awful")
OTHERS = ("the", "a", "film", "was", "and", "story", "plot", "actor", "scene", "of", "it", "this", "that", "with")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WIDE = {"initializer_range": 0.3}  # weights so far apart that attention is not nearly uniform
SIZES = {
    "bert": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
}


def save_tokenizer(folder: Path) -> int:
    """Word pieces of the words above; how many there are."""
    pieces = [*SPECIAL, *GOOD, *BAD, *OTHERS, "##ly", *"abcdefghijklmnopqrstuvwxyz"]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    named = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **named).save_pretrained(folder)
    return len(pieces)


def save_encoder(folder: Path, kind: str = "bert", seed: int = 0, **config: Any) -> Path:
    """An encoder without a head."""
    return _save(folder, transformers.AutoModel, kind, seed, config)


def save_classifier(
    folder: Path, kind: str = "bert", seed: int = 0, labels: Sequence[str] = ("bad", "good"), **config: Any
) -> Path:
    """A classifier with these labels."""
    config |= {"id2label": dict(enumerate(labels)), "label2id": {name: i for i, name in enumerate(labels)}}
    return _save(folder, transformers.AutoModelForSequenceClassification, kind, seed, config)


def _save(folder: Path, auto: Any, kind: str, seed: int, config: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    size = save_tokenizer(folder)
    made = transformers.AutoConfig.for_model(
        kind,
        **{
            **SIZES.get(kind, {}),
            "vocab_size": size,
            "max_position_embeddings": 32,
            "pad_token_id": 0,
            **WIDE,
            **config,
        },
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        auto.from_config(made).save_pretrained(folder)
    return folder


def rows(count: int = 120, seed: int = 0, pairs: bool = False) -> dict[str, list[str]]:
    """Texts that one word decides."""
    generator = torch.Generator().manual_seed(seed)

    def some(words: Sequence[str], number: int) -> list[str]:
        return [words[int(i)] for i in torch.randint(len(words), (number,), generator=generator)]

    texts, labels = [], []
    for i in range(count):
        words = some(OTHERS, int(torch.randint(3, 9, (1,), generator=generator)))
        place = int(torch.randint(len(words) + 1, (1,), generator=generator))
        words[place:place] = some(GOOD if i % 2 else BAD, 1)
        texts.append(" ".join(words))
        labels.append("good" if i % 2 else "bad")
    return {"text": texts, "label": labels, **({"second": [" ".join(some(OTHERS, 3)) for _ in texts]} if pairs else {})}


def corpus(count: int = 120, **options: Any) -> attentest.Corpus:
    second = "second" if options.get("pairs") else None
    return attentest.load(rows(count, **options), name="tiny", second=second)


def marked_corpus(count: int = 60) -> attentest.Corpus:
    """Texts whose rationale is the word that decides; some of these are two pieces."""
    made = rows(count)
    texts = [text.replace("good", "goodly").replace("bad", "badly") for text in made["text"]]
    deciding = {*GOOD, *BAD, "goodly", "badly"}
    marks = [[int(word in deciding) for word in text.split()] for text in texts]
    return attentest.load({**made, "text": texts, "rationale": marks}, name="tiny", rationale="rationale")
