"""A network is looked at when it is loaded, and refused if trials would misread it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from networks import BART, CLASSES, classifier, transformers
from test_seen_from import layout
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.pretrained.inspection import inspect_network, probe


def about(network: nn.Module) -> Any:
    return inspect_network(network, probe(network, layout()))


class Pooled(nn.Module):
    """A module of one's own around an encoder, which reads all tokens."""

    def __init__(self, attends: bool = True) -> None:
        super().__init__()
        self.encoder = classifier("Bert").bert
        self.head = nn.Linear(self.encoder.config.hidden_size, CLASSES)
        self.attends = attends

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **others: Any) -> Tensor:
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        if not self.attends:
            states = self.encoder.embeddings(input_ids)
        real = attention_mask.unsqueeze(-1)
        logits: Tensor = self.head((states * real).sum(1) / real.sum(1))
        return logits


def test_what_is_found_of_a_classifier() -> None:
    found = about(classifier("Bert"))
    assert list(found.sites.names) == ["encoder.0", "encoder.1", "encoder.2"]
    assert found.decision == "first"
    assert found.row_alone
    assert 0 <= found.gap <= 1e-5


def test_a_head_that_reads_all_tokens_has_no_deciding_one() -> None:
    found = about(Pooled())
    assert found.decision is None
    assert found.stack is not None
    assert not found.row_alone


def test_weights_that_are_not_in_use_are_refused() -> None:
    with pytest.raises(InputError, match=r"Uniform weights at encoder.0 change nothing of what Pooled gives"):
        about(Pooled(attends=False))


def test_logits_that_change_while_looked_at_are_refused() -> None:
    network = classifier("Bert")
    network.register_forward_hook(_noise)
    with pytest.raises(InputError, match="gives logits that differ by"):
        about(network)


def _noise(_network: nn.Module, _inputs: Any, output: Any) -> Any:
    output.logits = output.logits + torch.rand_like(output.logits)
    return output


def test_a_network_in_training_mode_is_looked_at_without_dropout_and_stays_in_it() -> None:
    network = classifier("Bert").train()
    assert about(network).gap <= 1e-5
    assert network.training


def test_coarse_numbers_are_compared_as_coarsely() -> None:
    assert about(classifier("Bert").to(torch.bfloat16)).decision == "first"


def test_an_encoder_with_a_decoder_is_refused() -> None:
    with pytest.raises(InputError, match="BartForSequenceClassification has an encoder and a decoder"):
        about(classifier("Bart", **BART))


def test_architectures_out_of_reach_are_refused_by_name() -> None:
    config = transformers.FNetConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, intermediate_size=24, num_labels=3
    )
    with pytest.raises(InputError, match="FNet"):
        about(transformers.FNetForSequenceClassification(config).eval())
