"""Variants of the deciding token's row, on texts of length 1, give what the whole network gives."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from networks import BERT, CAUSAL, DROPOUT, INTERFACE, LAYERS, REACHED, classifier, logits, texts, transformers
from torch import Tensor, nn

from attentest.models.pretrained.layers import reusable, states_of
from attentest.models.pretrained.replaced import find_sites, replaced
from attentest.models.pretrained.rows import (
    ReadRow,
    decide,
    deciding_places,
    decision_token,
    read_row,
    run_row,
    runs_on_rows,
)

LAST = f"encoder.{LAYERS - 1}"
ON_ROWS = [name for name in INTERFACE if name != "Albert"]  # which has no layers of its own to stand in for
VARIANTS = 5


def inputs_of(architecture: str, seed: int = 0) -> dict[str, Tensor]:
    return texts([9, 5, 7], seed, side="left" if architecture == "XLNet" else "right")


def rows_of(network: Any, inputs: dict[str, Tensor]) -> tuple[nn.ModuleList, ReadRow, Tensor]:
    sites = find_sites(network, inputs)
    stack, decision = reusable(network, inputs, sites), decision_token(network, inputs, sites)
    assert stack is not None
    assert decision is not None
    places = deciding_places(decision, inputs["attention_mask"])
    with torch.no_grad():
        return stack, read_row(network, stack, inputs, places), places


def random_rows(row: ReadRow) -> Tensor:
    drawn = torch.rand(len(row.weights), VARIANTS, *row.weights.shape[1:], generator=torch.Generator().manual_seed(1))
    drawn = drawn * row.allowed[:, None]
    return drawn / drawn.sum(-1, keepdim=True)


@pytest.mark.parametrize("architecture", REACHED)
def test_the_deciding_token_is_found(architecture: str) -> None:
    network, inputs = classifier(architecture), inputs_of(architecture)
    expected = {"Funnel": None, "XLNet": "last"}.get(architecture, "last" if architecture in CAUSAL else "first")
    with torch.no_grad():  # as most callers have it
        assert decision_token(network, inputs, find_sites(network, inputs)) == expected


@pytest.mark.parametrize("architecture", ON_ROWS)
def test_variants_are_those_of_the_whole_network(architecture: str) -> None:
    network, inputs = classifier(architecture), inputs_of(architecture)
    stack, row, places = rows_of(network, inputs)
    weights = random_rows(row)
    with torch.no_grad():
        found = decide(network, stack, row, weights)
    for variant in range(VARIANTS):

        def change(_site: str, whole: Tensor, _allowed: Tensor, variant: int = variant) -> Tensor:
            return whole.index_put((torch.arange(3)[:, None], torch.arange(2), places[:, None]), weights[:, variant])

        with replaced(network, change, [LAST]):
            expected = logits(network, inputs)
        assert torch.allclose(found[:, variant], expected, rtol=0, atol=1e-5)
    assert (found - logits(network, inputs)[:, None]).abs().max() > 0.05


@pytest.mark.parametrize("architecture", ON_ROWS)
def test_alone_in_the_last_layer_the_deciding_token_gives_what_the_whole_network_gives(architecture: str) -> None:
    network, inputs = classifier(architecture), inputs_of(architecture)
    stack, _, places = rows_of(network, inputs)
    eager: list[Tensor] = []
    with replaced(network, lambda site, weights, allowed: eager.append(weights), [LAST]):
        expected = logits(network, inputs)
    sizes: list[int] = []
    handle = stack[-1].register_forward_hook(lambda layer, given, output: sizes.append(states_of(output).shape[1]))
    with torch.no_grad():
        found, row = run_row(network, stack, inputs, places)
    handle.remove()
    assert torch.allclose(found, expected, rtol=0, atol=1e-5)
    assert torch.allclose(row.weights, eager[0][torch.arange(3), :, places], rtol=0, atol=1e-6)
    assert sizes == [1]  # the last layer ends with one token a text


def test_dropout_of_the_row_in_training() -> None:
    network, inputs = classifier("Bert"), inputs_of("Bert")
    stack, row, places = rows_of(network, inputs)
    for name, module in network.named_modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5 if name.endswith(f"{LAYERS - 1}.attention.self.dropout") else 0.0
    network.train()
    torch.manual_seed(0)
    with torch.no_grad():
        found, dropped = run_row(network, stack, inputs, places)
        expected = decide(network, stack, row, dropped.weights.unsqueeze(1)).squeeze(1)
    kept = dropped.weights > 0
    assert 0 < kept.sum() < row.allowed.sum()
    assert torch.allclose(dropped.weights[kept], 2 * row.weights[kept], rtol=1e-5, atol=0)
    assert torch.allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("architecture", ON_ROWS)
def test_it_is_checked_on_the_network(architecture: str) -> None:
    network, inputs = classifier(architecture), inputs_of(architecture)
    stack = reusable(network, inputs, find_sites(network, inputs))
    assert stack is not None
    right = "last" if architecture in CAUSAL else "first"
    wrong = "first" if architecture in CAUSAL else "last"
    assert runs_on_rows(network, stack, inputs, right)  # type: ignore[arg-type]
    assert not runs_on_rows(network, stack, inputs, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("architecture", ["Bert", "Llama"])
def test_only_some_texts_and_their_first_keys(architecture: str) -> None:
    network, inputs = classifier(architecture), inputs_of(architecture)
    stack, row, _ = rows_of(network, inputs)
    weights, chosen = random_rows(row), torch.tensor([2, 1])
    with torch.no_grad():
        everything = decide(network, stack, row, weights)
        found = decide(network, stack, row, weights[chosen, :, :, :7], chosen)
    assert torch.allclose(found, everything[chosen], rtol=0, atol=1e-5)


def test_gradients_reach_the_rows() -> None:
    network, inputs = classifier("Bert").double(), inputs_of("Bert")
    stack, row, _ = rows_of(network, inputs)
    weights = random_rows(row).double().requires_grad_()
    score = decide(network, stack, row, weights)[0, 1, 2]
    (slope,) = torch.autograd.grad(score, weights)
    step = torch.zeros_like(weights)
    step[0, 1, 1, 3] = 1e-4
    with torch.no_grad():
        ahead, behind = (decide(network, stack, row, weights + sign * step)[0, 1, 2] for sign in (1, -1))
    assert float((ahead - behind) / 2e-4) == pytest.approx(float(slope[0, 1, 1, 3]), rel=1e-5)


def test_a_mean_over_tokens_has_no_deciding_token() -> None:
    network, inputs = classifier("ModernBert", classifier_pooling="mean"), inputs_of("ModernBert")
    assert decision_token(network, inputs, find_sites(network, inputs)) is None


@pytest.mark.parametrize("architecture", ["Deberta", "MPNet"])
def test_behind_a_dropout_the_whole_network_runs(architecture: str) -> None:
    assert architecture in DROPOUT
    network, inputs = classifier(architecture), inputs_of(architecture)
    stack = reusable(network, inputs, find_sites(network, inputs))
    assert stack is not None
    assert not runs_on_rows(network, stack, inputs, "first")


def test_a_single_layer_runs_as_a_whole() -> None:
    network, inputs = classifier("Bert", num_hidden_layers=1), inputs_of("Bert")
    stack = reusable(network, inputs, find_sites(network, inputs))
    assert stack is not None
    assert not runs_on_rows(network, stack, inputs, "first")


def test_a_custom_head_on_the_first_token() -> None:
    class Custom(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = transformers.BertModel(transformers.BertConfig(**BERT))
            self.head = nn.Linear(16, 3)

        def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
            states = self.encoder(input_ids, attention_mask, token_type_ids).last_hidden_state
            return self.head(states[:, 0])  # type: ignore[no-any-return]

    network, inputs = Custom().eval(), inputs_of("Bert")
    inputs["token_type_ids"] = torch.ones_like(inputs["input_ids"])
    stack = reusable(network, inputs, find_sites(network, inputs))
    assert stack is not None
    assert runs_on_rows(network, stack, inputs, "first")


def test_places_whatever_the_padding() -> None:
    mask = torch.tensor([[1, 1, 1, 0], [0, 0, 1, 1]])
    assert deciding_places("first", mask).tolist() == [0, 2]
    assert deciding_places("last", mask).tolist() == [2, 3]
