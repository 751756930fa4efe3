"""What a model can do beyond the three methods, told by named protocols."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attentest.models import (
    AffineModel,
    AttentionModel,
    BiasModel,
    EmbeddingModel,
    EmptyTextModel,
    Encoded,
    ModelSettings,
    MultiSiteModel,
    PartsModel,
    ValuesModel,
    Weights,
    make_model,
    provides,
)
from attentest.text.batches import Batch

ALL = (AffineModel, BiasModel, EmbeddingModel, EmptyTextModel, MultiSiteModel, PartsModel, ValuesModel)


class Plain(nn.Module):
    """The three methods alone."""

    sites = ("token",)

    def encode(self, batch: Batch) -> Encoded:
        return Encoded(batch.ids.unsqueeze(-1).float(), batch.mask)

    def attend(self, encoded: Encoded) -> Weights:
        return {"token": encoded.mask / encoded.mask.sum(1, keepdim=True)}

    def decode(self, encoded: Encoded, weights: Weights) -> Tensor:
        return nn.functional.pad((weights["token"].unsqueeze(1) @ encoded.hidden).squeeze(1), (1, 0))


@pytest.mark.parametrize(
    ("settings", "kind", "capabilities"),
    [
        ({}, "single", {AffineModel, BiasModel, EmbeddingModel}),
        ({"decoder": "context+mean"}, "single", {AffineModel, BiasModel, EmbeddingModel}),
        ({"structure": "hierarchical"}, "single", {BiasModel, EmbeddingModel, MultiSiteModel, PartsModel}),
        ({}, "pair", {AffineModel, BiasModel, EmbeddingModel, EmptyTextModel}),
        ({"decoder": "context+query"}, "pair", {EmbeddingModel, EmptyTextModel, ValuesModel}),
    ],
)
def test_what_each_of_our_models_can_do(settings: dict[str, Any], kind: Any, capabilities: set[type]) -> None:
    model = make_model(ModelSettings(hidden=4, **settings), torch.randn(9, 4), 2, kind=kind)
    assert provides(model, AttentionModel)
    assert {capability for capability in ALL if provides(model, capability)} == capabilities
    assert {capability for capability in ALL if isinstance(model, capability)} == capabilities


def test_three_methods_are_enough_and_promise_nothing_more() -> None:
    assert provides(Plain(), AttentionModel)
    assert not any(provides(Plain(), capability) for capability in ALL)


def test_a_part_of_a_capability_is_none_of_it() -> None:
    model = Plain()
    model.token_logits = lambda encoded: encoded.hidden  # type: ignore[assignment]
    assert not provides(model, AffineModel)
    model.bias = lambda: torch.zeros(1)  # type: ignore[assignment]
    assert provides(model, AffineModel)


def test_methods_may_be_submodules_or_come_through_a_wrapper() -> None:
    class Wrapped:
        def __init__(self, model: AttentionModel) -> None:
            self.inner = model

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    model = Plain()
    model.embed = nn.Embedding(9, 1)
    model.encode_embedded = lambda embedded, batch: Encoded(embedded, batch.mask)  # type: ignore[assignment]
    assert provides(model, EmbeddingModel)
    assert provides(Wrapped(model), EmbeddingModel)
    assert not provides(Wrapped(model), AffineModel)


def test_something_else_is_no_model() -> None:
    assert not provides("a model", AttentionModel)
    model = Plain()
    model.decode = None  # type: ignore[assignment]
    assert not provides(model, AttentionModel)
