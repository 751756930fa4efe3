"""Decoders: from the weighted states of a text to logits."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.models.parts import Part
from attentest.models.protocol import Encoded, Weights
from attentest.models.summaries import mean_state

NEVER = -1e9  # the logit of an answer that a text does not have: its probability is exactly 0

DECODERS = {
    "context": Part(
        "an affine map of the weighted states alone (most papers; pairs: Vashishth et al. 2019)", lambda: None
    ),
    "context+mean": Part(
        "an affine map of the weighted states and of the mean state, a path around the attention", lambda: None
    ),
    "context+query": Part(
        "tanh of an affine map of the weighted states and the query, then another (Jain & Wallace 2019)", lambda: None
    ),
}


class AffineDecoder:
    """For models whose `decoder` is one linear layer: what each token adds is known beforehand."""

    decoder: nn.Linear

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]:
        context = context_of(encoded.hidden, weights)
        if encoded.forbidden is None:
            return all_classes(self.decoder(context))
        # the bias last, as with `token_logits`: it decides where all answers are forbidden
        return without_forbidden(all_classes(context @ self.decoder.weight.T), encoded) + self.bias()

    def token_logits(self, encoded: Encoded) -> Float[Tensor, "batch tokens classes"]:
        """What each token would add to the logits at weight 1: decode(α) = α @ token_logits + bias."""
        return without_forbidden(all_classes(encoded.hidden @ self.decoder.weight.T), encoded)

    def bias(self) -> Float[Tensor, "classes"]:
        return all_classes(self.decoder.bias)


class MeanDecoder(nn.Linear):
    """W c + V m + b, where m is the mean state of the text; W and b are the layer's own."""

    def __init__(self, size: int, classes: int) -> None:
        super().__init__(size, outputs(classes))
        self.mean = nn.Linear(size, outputs(classes), bias=False)

    def around(self, encoded: Encoded) -> Float[Tensor, "batch outputs"]:
        """V m: what does not pass through the attention."""
        added: Tensor = self.mean(mean_state(encoded.hidden, encoded.mask))
        return added


class QueryDecoder(nn.Module):
    """W tanh(U_p c + U_q q + b) + b', with half the hidden size in between (Jain & Wallace 2019)."""

    def __init__(self, size: int, classes: int) -> None:
        super().__init__()
        self.context = nn.Linear(size, size // 2)
        self.query = nn.Linear(size, size // 2, bias=False)
        self.outer = nn.Linear(size // 2, outputs(classes))

    def forward(
        self, projected: Float[Tensor, "batch *variants half"], query: Float[Tensor, "batch hidden"]
    ) -> Float[Tensor, "batch *variants classes"]:
        asked = self.query(query) + self.context.bias
        if projected.dim() == 3:
            asked = asked.unsqueeze(1)
        # tanh(x) = 2σ(2x) − 1, and sigmoid is several times faster than tanh on a CPU
        return all_classes(self.outer(2 * torch.sigmoid(2 * (projected + asked)) - 1))


def context_of(states: Float[Tensor, "batch tokens size"], weights: Weights) -> Float[Tensor, "batch size"]:
    return (weights["token"].unsqueeze(1) @ states).squeeze(1)


def outputs(classes: int) -> int:
    """Two classes have one logit, as in the papers: the sigmoid of it is the softmax of (0, logit)."""
    return 1 if classes == 2 else classes


def all_classes(logits: Tensor) -> Tensor:
    """A single logit gets a 0 in front of it, for the class it stands against."""
    return torch.nn.functional.pad(logits, (1, 0)) if logits.shape[-1] == 1 else logits


def without_forbidden(logits: Float[Tensor, "batch *items classes"], encoded: Encoded) -> Tensor:
    """Answers that a text does not have cannot be chosen (Jain & Wallace 2019)."""
    if encoded.forbidden is None:
        return logits
    forbidden = encoded.forbidden.view(len(logits), *(1,) * (logits.dim() - 2), -1)
    return logits.masked_fill(forbidden, NEVER)
