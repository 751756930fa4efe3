"""Explanations: each equals a loop that spells it out, and an example worked by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from attentest.errors import InputError
from attentest.models.pretrained.explanations import (
    EXPLANATIONS,
    gradient,
    layers,
    norms,
    rollout,
    row,
)

BATCH, HEADS, TOKENS, SIZE, HIDDEN = 3, 2, 5, 4, 7
DECISION = torch.tensor([0, 4, 2])


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def attention(count: int = 3) -> list[Tensor]:
    return [drawn(BATCH, HEADS, TOKENS, TOKENS, seed=layer).softmax(-1) for layer in range(count)]


def needed() -> dict[str, Tensor]:
    return {
        "values": drawn(BATCH, HEADS, TOKENS, SIZE, seed=7),
        "output": drawn(HIDDEN, HEADS * SIZE, seed=8),
        "gradients": drawn(BATCH, HEADS, TOKENS, TOKENS, seed=12),
    }


def text_by_text(name: str, weights: list[Tensor], given: dict[str, Tensor]) -> Tensor:
    """Each text for itself, whole matrices, heads in a loop."""
    found = []
    for text, place in enumerate(DECISION.tolist()):
        means = [torch.stack([layer[text, head] for head in range(HEADS)]).mean(0) for layer in weights]
        if name == "row":
            scores = means[-1][place]
        elif name == "layers":
            scores = torch.stack([mean[place] for mean in means]).mean(0)
        elif name == "rollout":
            product = torch.eye(TOKENS, dtype=torch.float64)
            for mean in means:
                product = (0.5 * mean + 0.5 * torch.eye(TOKENS)) @ product
            scores = product[place]
        elif name == "norms":
            scores = torch.zeros(TOKENS, dtype=torch.float64)
            for token in range(TOKENS):
                added = torch.zeros(HIDDEN, dtype=torch.float64)
                for head in range(HEADS):
                    through = given["output"][:, head * SIZE : (head + 1) * SIZE] @ given["values"][text, head, token]
                    added += weights[-1][text, head, place, token] * through
                scores[token] = added.norm()
        else:
            scores = torch.zeros(TOKENS, dtype=torch.float64)
            for token in range(TOKENS):
                for head in range(HEADS):
                    scores[token] += max(
                        0.0, float(weights[-1][text, head, place, token] * given["gradients"][text, head, place, token])
                    )
        found.append(scores / scores.sum())
    return torch.stack(found)


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_equals_a_loop(name: str) -> None:
    weights, given = attention(), needed()
    explanation = EXPLANATIONS[name]
    found = explanation.weigh(weights, DECISION, **{need: given[need] for need in explanation.needs})
    assert torch.allclose(found, text_by_text(name, weights, given), atol=1e-12)
    assert torch.allclose(found.sum(-1), torch.ones(BATCH, dtype=torch.float64))


# two tokens, one head, two layers; the first token decides
FIRST = torch.tensor([[[[0.5, 0.5], [0.0, 1.0]]]])
LAST = torch.tensor([[[[0.2, 0.8], [0.6, 0.4]]]])
HERE = torch.tensor([0])


def test_row_and_layers_by_hand() -> None:
    assert row([FIRST, LAST], HERE).tolist() == [pytest.approx([0.2, 0.8])]
    assert layers([FIRST, LAST], HERE).tolist() == [pytest.approx([0.35, 0.65])]


def test_rollout_by_hand() -> None:
    """Half of the last row and 0.5 at itself: (0.6, 0.4); through the first layer's (0.75, 0.25), (0, 1)."""
    assert rollout([FIRST, LAST], HERE).tolist() == [pytest.approx([0.45, 0.55])]


def test_rollout_sees_what_the_last_layer_does_not() -> None:
    """Token 1 attends to token 2 below, the decision token only to token 1 above: the last row knows nothing of 2."""
    below, above = (torch.eye(3).reshape(1, 1, 3, 3).clone() for _ in range(2))
    below[0, 0, 1] = torch.tensor([0.0, 0.0, 1.0])
    above[0, 0, 0] = torch.tensor([0.0, 1.0, 0.0])
    assert row([below, above], HERE).tolist() == [[0, 1, 0]]
    assert rollout([below, above], HERE).tolist() == [pytest.approx([0.5, 0.25, 0.25])]


def test_norms_by_hand() -> None:
    """Weights 0.2 and 0.8 on values of length 5 and 0.5 through the identity: 1 and 0.4."""
    values = torch.tensor([[[[3.0, 4.0], [0.3, 0.4]]]])
    assert norms([LAST], HERE, values=values, output=torch.eye(2)).tolist() == [pytest.approx([1 / 1.4, 0.4 / 1.4])]


def test_heads_that_cancel_add_nothing() -> None:
    weights = torch.full((1, 2, 1, 2), 0.5)
    values = torch.tensor([[[[1.0], [1.0]], [[-1.0], [1.0]]]])
    assert norms([weights], HERE, values=values, output=torch.ones(1, 2)).tolist() == [[0, 1]]


def test_gradient_by_hand() -> None:
    """0.2 × 3 counts; 0.8 × −1 speaks against the class and does not."""
    gradients = torch.tensor([[[[3.0, -1.0], [9.0, 9.0]]]])
    assert gradient([LAST], HERE, gradients=gradients).tolist() == [[1, 0]]


def test_without_positive_gradients_every_attended_token_gets_the_same() -> None:
    weights = torch.tensor([[[[0.3, 0.7, 0.0]]]])
    assert gradient([weights], HERE, gradients=-torch.ones(1, 1, 1, 3)).tolist() == [[0.5, 0.5, 0]]


def test_padding_gets_nothing() -> None:
    weights, given = [each.clone() for each in attention()], needed()
    for each in weights:
        each[..., -1] = 0
        each /= each.sum(-1, keepdim=True)
    for explanation in EXPLANATIONS.values():
        found = explanation.weigh(weights, torch.tensor([0, 1, 2]), **{need: given[need] for need in explanation.needs})
        assert (found[:, -1] == 0).all()
        assert torch.allclose(found.sum(-1), torch.ones(BATCH, dtype=torch.float64))


@pytest.mark.parametrize("through_layers", [layers, rollout])
def test_layers_of_different_lengths_are_refused(through_layers: object) -> None:
    assert callable(through_layers)
    with pytest.raises(InputError, match="different numbers of tokens"):
        through_layers([LAST, torch.full((1, 1, 1, 1), 1.0)], HERE)
