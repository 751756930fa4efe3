"""Tiny classifiers with random weights, of architectures that are reached by either route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

transformers = pytest.importorskip("transformers", minversion="5")

WORDS, LAYERS, HEADS, WIDTH = 50, 3, 2, 16
CLASSES, PAD = 3, 0

BERT = {
    "vocab_size": WORDS,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
    "pad_token_id": PAD,
}
LLAMA = {**BERT, "num_key_value_heads": 1}
GPT2 = {"vocab_size": WORDS, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "pad_token_id": PAD}
BART = {
    "vocab_size": WORDS,
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 40,
    "pad_token_id": PAD,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}

INTERFACE: Mapping[str, Mapping[str, Any]] = {
    "Bert": BERT,
    "Roberta": BERT,
    "XLMRoberta": BERT,
    "Camembert": BERT,
    "Electra": {**BERT, "embedding_size": WIDTH},
    "Ernie": BERT,
    "Albert": {**BERT, "embedding_size": 8},
    "MobileBert": {
        **{**BERT, "embedding_size": 8, "intra_bottleneck_size": WIDTH, "true_hidden_size": WIDTH},
        **{"normalization_type": "layer_norm"},
    },
    "DistilBert": {
        **{"vocab_size": WORDS, "dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": 24},
        **{"max_position_embeddings": 40, "pad_token_id": PAD},
    },
    "ModernBert": {
        **{**BERT, "local_attention": 6, "global_attn_every_n_layers": 2},
        **{"cls_token_id": 1, "bos_token_id": 1, "sep_token_id": 2, "eos_token_id": 2},
    },
    "GPT2": GPT2,
    "Llama": LLAMA,
    "Qwen2": LLAMA,
    "Mistral": LLAMA,
    "Gemma2": {**LLAMA, "head_dim": 8},  # soft caps
    "GptOss": {**LLAMA, "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1},  # sinks
    "OPT": {
        **{"vocab_size": WORDS, "hidden_size": WIDTH, "word_embed_proj_dim": WIDTH, "num_hidden_layers": LAYERS},
        **{"num_attention_heads": HEADS, "ffn_dim": 24, "max_position_embeddings": 40, "pad_token_id": PAD},
    },
}
DROPOUT: Mapping[str, Mapping[str, Any]] = {
    "Deberta": {**BERT, "pos_att_type": ["c2p", "p2c"], "relative_attention": True, "max_relative_positions": 8},
    "DebertaV2": {**BERT, "pos_att_type": ["c2p", "p2c"], "relative_attention": True, "max_relative_positions": 8},
    "MPNet": BERT,
    "MegatronBert": BERT,
    "RemBert": {**BERT, "input_embedding_size": 8},
    "RoFormer": {**BERT, "embedding_size": WIDTH},
    "ConvBert": {**BERT, "embedding_size": WIDTH, "head_ratio": 1},
    "BigBird": {**BERT, "attention_type": "original_full"},
    "XLNet": {
        **{"vocab_size": WORDS, "d_model": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "d_inner": 24},
        **{"pad_token_id": PAD},
    },
    "Funnel": {
        **{"vocab_size": WORDS, "d_model": WIDTH, "n_head": HEADS, "d_head": 8, "d_inner": 24},
        **{"block_sizes": [2, 1], "num_decoder_layers": 0, "pad_token_id": PAD},
    },
    "GPTJ": {**GPT2, "rotary_dim": 4},
    "Bloom": {"vocab_size": WORDS, "hidden_size": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "pad_token_id": PAD},
    "GPTNeo": {
        **{"vocab_size": WORDS, "hidden_size": WIDTH, "num_layers": LAYERS, "num_heads": HEADS},
        **{"attention_types": [[["global", "local", "global"], 1]], "window_size": 4, "pad_token_id": PAD},
    },
}
REACHED = {**INTERFACE, **DROPOUT}
CAUSAL = {"GPT2", "Llama", "Qwen2", "Mistral", "Gemma2", "GptOss", "OPT", "GPTJ", "Bloom", "GPTNeo"}


def classifier(architecture: str, seed: int = 0, **settings: Any) -> Any:
    """A classifier whose weights are large enough for attention to be far from uniform."""
    config = getattr(transformers, f"{architecture}Config")(
        **{**REACHED.get(architecture, BERT), "num_labels": CLASSES, **settings}
    )
    torch.manual_seed(seed)
    network = getattr(transformers, f"{architecture}ForSequenceClassification")(config).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() > 1 and "norm" not in name.lower():
                parameter.normal_(0, 0.3)
    return network


def texts(lengths: list[int], seed: int = 0, side: str = "right") -> dict[str, Tensor]:
    """Random texts, padded on a side."""
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    ids = torch.full((len(lengths), longest), PAD)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        places = slice(0, length) if side == "right" else slice(longest - length, longest)
        ids[row, places] = torch.randint(3, WORDS, (length,), generator=generator)
        mask[row, places] = 1
    return {"input_ids": ids, "attention_mask": mask}


def logits(network: nn.Module, inputs: Mapping[str, Tensor]) -> Tensor:
    with torch.no_grad():
        return network(**inputs).logits  # type: ignore[no-any-return]


def uniform(_site: str, weights: Tensor, allowed: Tensor) -> Tensor:
    """The same weight wherever weight may be; rows of padding stay as they are."""
    open_ = allowed.to(weights.dtype)
    total = open_.sum(-1, keepdim=True)
    return torch.where(total > 0, open_ / total.clamp(min=1), weights)
