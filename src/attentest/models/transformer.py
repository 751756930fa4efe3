"""The Transformer encoder of Meister et al. 2021: two layers, one head, softmax or a sparse projection."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attentest.models.projections import Projection
from attentest.models.summaries import MeanSummary

Hidden = Float[Tensor, "batch tokens hidden"]
Mask = Bool[Tensor, "batch tokens"]


class TransformerEncoder(MeanSummary):
    def __init__(self, dimension: int, hidden: int, projection: str = "softmax", layers: int = 2) -> None:
        super().__init__()
        self.enter = nn.Linear(dimension, hidden)
        self.layers = nn.ModuleList(SelfAttentionLayer(hidden, projection) for _ in range(layers))
        self.size = hidden

    def forward(self, embedded: Float[Tensor, "batch tokens dimension"], mask: Mask) -> Hidden:
        states: Tensor = self.enter(embedded)
        states = states + sinusoids(states.shape[1], self.size, states)
        for layer in self.layers:
            states = layer(states, mask)
        return states


class SelfAttentionLayer(nn.Module):
    """Scaled dot-product self-attention with one head, then a ReLU layer four times as wide; both residual."""

    def __init__(self, hidden: int, projection: str) -> None:
        super().__init__()
        self.project = Projection(projection)
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.leave = nn.Linear(hidden, hidden)
        self.wide = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.ReLU(), nn.Linear(4 * hidden, hidden))
        self.norm_attention, self.norm_wide = nn.LayerNorm(hidden), nn.LayerNorm(hidden)

    def forward(self, states: Hidden, mask: Mask) -> Hidden:
        scores = self.query(states) @ self.key(states).transpose(1, 2) / states.shape[-1] ** 0.5
        weights = self.project(scores, mask.unsqueeze(1).expand_as(scores), training=self.training)
        attended: Tensor = self.norm_attention(states + self.leave(weights @ self.value(states)))
        finished: Tensor = self.norm_wide(attended + self.wide(attended))
        return finished


def sinusoids(length: int, size: int, like: Tensor) -> Float[Tensor, "length size"]:
    """Sines and cosines of the position, in wavelengths from 2π to 10,000·2π."""
    position = torch.arange(length, device=like.device, dtype=like.dtype).unsqueeze(1)
    pairs = torch.arange(0, size, 2, device=like.device, dtype=like.dtype)
    angle = position * torch.exp(-pairs / size * 9.210340371976184)  # ln 10,000
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :size]
