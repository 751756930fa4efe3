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


def save_with_sink(folder: Path, word: str = "the") -> Path:
    """A BERT whose last layer looks at this word, whatever else the text says: its queries are all the same, and its
    keys are long where the first dimension is, which is this word's alone. The layer below changes little."""
    save_classifier(folder)
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    embeddings, (below, above) = network.bert.embeddings, network.bert.encoder.layer
    last = above.attention.self
    number = transformers.AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(word)
    with torch.no_grad():
        for table in (embeddings.word_embeddings, embeddings.position_embeddings, embeddings.token_type_embeddings):
            table.weight[:, 0] = 0
        embeddings.word_embeddings.weight[number, 0] = 8
        for one in (below.attention.output.dense, below.output.dense):
            one.weight *= 0.1
        for one in (last.query, last.key):
            one.weight.zero_()
            one.bias.zero_()
        heads = slice(None, None, SIZES["bert"]["hidden_size"] // SIZES["bert"]["num_attention_heads"])
        last.query.bias[heads] = 4
        last.key.weight[heads, 0] = 1
    network.save_pretrained(folder)
    return folder


def corpus_with(word: str = "the", count: int = 120) -> attentest.Corpus:
    """Test texts that have this word once, somewhere, with their rationales."""
    made = rows(count)
    texts = [[other for other in text.split() if other != word] for text in made["text"]]
    for place, text in enumerate(texts):
        text.insert(place % (len(text) + 1), word)
    marks = [[int(other in (*GOOD, *BAD)) for other in text] for text in texts]
    together = {**made, "text": [" ".join(text) for text in texts], "rationale": marks, "split": ["test"] * count}
    return attentest.load(together, name="tiny", rationale="rationale", split="split")


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
