"""Folders of tiny pretrained models with random weights, as `save_pretrained` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_tokenizers import byte_pieces, word_pieces

from attentest.text.pieces import PieceTokenizer

transformers = pytest.importorskip("transformers", minversion="5")

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def bert_folder(folder: Path, *, model: str = "ForSequenceClassification", **config: Any) -> Path:
    """BERT with word pieces; `model` is the end of the class's name."""
    torch.manual_seed(0)
    words = len(word_pieces().vocabulary)
    settings = {"vocab_size": words, "max_position_embeddings": 40, "pad_token_id": 0, **SIZES, **config}
    made = getattr(transformers, f"Bert{model}")(transformers.BertConfig(**settings))
    made.save_pretrained(folder)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]", "model_max_length": 64}
    types = ["input_ids", "token_type_ids", "attention_mask"]
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=_fresh(word_pieces()), model_input_names=types, **special
    ).save_pretrained(folder)
    return folder


def roberta_folder(folder: Path) -> Path:
    torch.manual_seed(0)
    words = len(byte_pieces().vocabulary)
    config = transformers.RobertaConfig(vocab_size=words, max_position_embeddings=42, pad_token_id=1, **SIZES)
    transformers.RobertaForSequenceClassification(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=_fresh(byte_pieces()), pad_token="<pad>", mask_token="<mask>"
    ).save_pretrained(folder)
    return folder


def gpt_folder(folder: Path) -> Path:
    """A decoder without a token for padding."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=len(byte_pieces().vocabulary), n_embd=16, n_layer=2, n_head=2, n_positions=40, eos_token_id=2
    )
    transformers.GPT2ForSequenceClassification(config).save_pretrained(folder)
    made = _fresh(byte_pieces())
    made.post_processor = transformers.GPT2TokenizerFast().backend_tokenizer.post_processor
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>").save_pretrained(folder)
    return folder


def _fresh(tokenizer: PieceTokenizer) -> Any:
    """The library's object changes with its use."""
    return PieceTokenizer(tokenizer.definition).backend
