"""Networks whose query projections are zero, so that their own attention is uniform: a check from outside."""

from __future__ import annotations

from typing import Any

import torch
from networks import HEADS, WIDTH
from torch import Tensor

QUERIES = ("query", "q_lin", "q_proj", "attn.q", "query_proj", "pos_query_proj", "pos_q_proj", "q_head", "rel_attn.q")
BIASES = ("relative_attention_bias", "r_w_bias", "r_r_bias", "r_s_bias", "seg_embed", "q_bias")
# GptOss has sinks, ConvBert's convolution reads the queries, Bloom adds a bias for distance that has no parameters
NEVER_UNIFORM = {"GptOss", "ConvBert", "Bloom"}


def without_queries(network: Any) -> Any:
    found = 0
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            owner = name.removesuffix(".weight").removesuffix(".bias")
            part = query_part(owner, parameter)
            if part is not None:
                part.zero_()
                found += 1
    assert found > 0
    return network


def query_part(owner: str, parameter: Tensor) -> Tensor | None:
    if owner.endswith((*QUERIES, *BIASES)):
        return parameter
    if owner.endswith("Wqkv"):
        return parameter[:WIDTH]
    if owner.endswith("c_attn"):
        return parameter[..., :WIDTH]
    if owner.endswith("in_proj"):  # heads one after the other, each with its queries, keys and values
        return parameter.view(HEADS, 3, WIDTH // HEADS, -1)[:, 0]
    return None
