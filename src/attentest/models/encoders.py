"""Encoders: embedded tokens to hidden states, one a token; padding never reaches a real token's state."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.models.parts import Part, choose
from attentest.models.summaries import MeanSummary
from attentest.models.transformer import TransformerEncoder

Embedded = Float[Tensor, "batch tokens dimension"]
Mask = Bool[Tensor, "batch tokens"]
Hidden = Float[Tensor, "batch tokens hidden"]
Summary = Float[Tensor, "batch hidden"]
Finals = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]  # state and cell, forwards and backwards


class BiLSTM(nn.Module):
    """One layer in both directions; each text is turned round within its own length for the second.

    Plain padded calls let torch use its fused kernels, which a packed sequence does not: on a CPU this is
    several times faster, and forward states cannot see the padding behind them.
    """

    def __init__(self, dimension: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(dimension, hidden, batch_first=True)
        self.backwards = nn.LSTM(dimension, hidden, batch_first=True)
        self.size = 2 * hidden

    def forward(self, embedded: Embedded, mask: Mask, start: Finals | None = None) -> Hidden:
        turned = turned_places(mask)
        first, second = start or (None, None)
        ahead = self.forwards(embedded, first)[0]
        back = take(self.backwards(take(embedded, turned), second)[0], turned)
        return torch.cat((ahead, back), -1)

    def with_finals(self, embedded: Embedded, mask: Mask) -> tuple[Hidden, Finals]:
        """Also the state and cell in which each direction ends; packed, as a padded call walks on past the end."""
        lengths, turned = mask.sum(1).cpu(), turned_places(mask)
        found = []
        for rnn, values in ((self.forwards, embedded), (self.backwards, take(embedded, turned))):
            packed = pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
            states, final = rnn(packed)
            states = pad_packed_sequence(states, batch_first=True, total_length=mask.shape[1])[0]
            found.append((states, final))
        (ahead, ended), (back, began) = found
        return torch.cat((ahead, take(back, turned)), -1), (ended, began)

    def summarise(self, hidden: Hidden, mask: Mask) -> Summary:
        """The states in which both directions end (Jain & Wallace's last hidden state)."""
        ahead, back = hidden.chunk(2, -1)
        last = mask.sum(1) - 1
        return torch.cat((ahead[torch.arange(len(last), device=last.device), last], back[:, 0]), -1)


def turned_places(mask: Mask) -> Int[Tensor, "batch tokens"]:
    """For each place the place it takes when the text is reversed; padding stays where it is."""
    step = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - step, step)


def take(states: Hidden, places: Int[Tensor, "batch tokens"]) -> Hidden:
    batch = torch.arange(len(states), device=states.device)[:, None]
    return states[batch, places]


class CNN(nn.Module):
    """Convolutions of several odd widths side by side, then ReLU."""

    def __init__(self, dimension: int, widths: Sequence[int], filters: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(dimension, filters, width, padding=width // 2) for width in widths)
        self.size = filters * len(widths)

    def forward(self, embedded: Embedded, mask: Mask) -> Hidden:
        channels = (embedded * mask.unsqueeze(-1)).transpose(1, 2)
        return torch.cat([c(channels) for c in self.convolutions], 1).relu().transpose(1, 2)

    def summarise(self, hidden: Hidden, mask: Mask) -> Summary:
        """The largest value of each channel."""
        return hidden.masked_fill(~mask.unsqueeze(-1), -torch.inf).amax(1)


class Average(MeanSummary):
    """An affine map and tanh on each embedding alone (Jain & Wallace's average, Wiegreffe & Pinter's MLP)."""

    def __init__(self, dimension: int, hidden: int) -> None:
        super().__init__()
        self.affine = nn.Linear(dimension, hidden)
        self.size = hidden

    def forward(self, embedded: Embedded, mask: Mask) -> Hidden:
        states: Tensor = self.affine(embedded).tanh()
        return states


class MLP(MeanSummary):
    """One hidden layer with ReLU on each embedding alone (Wen et al. 2022)."""

    def __init__(self, dimension: int, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dimension, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.size = hidden

    def forward(self, embedded: Embedded, mask: Mask) -> Hidden:
        states: Tensor = self.layers(embedded)
        return states


class NoEncoder(MeanSummary):
    """The embeddings themselves are the states (Serrano & Smith 2019)."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.size = dimension

    def forward(self, embedded: Embedded, mask: Mask) -> Hidden:
        return embedded


ENCODERS = {
    "bilstm": Part("LSTM in both directions (most papers)", lambda d, h, _: BiLSTM(d, h)),
    "cnn": Part(
        "convolutions of width 1, 3, 5, 7 (Jain & Wallace 2019)", lambda d, h, _: CNN(d, (1, 3, 5, 7), max(1, h // 4))
    ),
    "cnn-wide": Part(
        "convolutions of width 1, 3, 5, 7, 15, with more channels (Wen et al. 2022)",
        lambda d, h, _: CNN(d, (1, 3, 5, 7, 15), h),
    ),
    "mlp": Part("one ReLU layer on each token, no context (Wen et al. 2022)", lambda d, h, _: MLP(d, h)),
    "average": Part(
        "affine and tanh on each token, no context (Jain & Wallace 2019, Wiegreffe & Pinter 2019)",
        lambda d, h, _: Average(d, h),
    ),
    "none": Part("the embeddings themselves, no context (Serrano & Smith 2019)", lambda d, h, _: NoEncoder(d)),
    "transformer": Part(
        "2 self-attention layers, 1 head; self_projection for sparse ones (Meister et al. 2021)",
        lambda d, h, projection: TransformerEncoder(d, h, projection),
    ),
}


def make_encoder(name: str, dimension: int, hidden: int, self_projection: str) -> nn.Module:
    part, _ = choose("encoder", name, ENCODERS)
    module: nn.Module = part.make(dimension, hidden, self_projection)
    return module
