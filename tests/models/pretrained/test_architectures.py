"""Every architecture has its route; those whose weights are out of reach are refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from networks import BERT, CLASSES, DROPOUT, INTERFACE, PAD, WIDTH, WORDS, classifier, texts, transformers
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.pretrained.architectures import logits_of, route_of
from attentest.models.pretrained.replaced import find_sites

UNREACHABLE: dict[str, dict[str, Any]] = {
    "Longformer": {**BERT, "attention_window": 4},
    "Nystromformer": {**BERT, "num_landmarks": 2, "segment_means_seq_len": 8},
    "FNet": BERT,
    "Falcon": BERT,
    "Flaubert": {"vocab_size": WORDS, "emb_dim": WIDTH, "n_layers": 2, "n_heads": 2, "pad_index": PAD},
}


@pytest.mark.parametrize("architecture", INTERFACE)
def test_the_library_asks_for_a_function(architecture: str) -> None:
    assert route_of(classifier(architecture)) == "interface"


@pytest.mark.parametrize("architecture", DROPOUT)
def test_the_dropout_is_a_module(architecture: str) -> None:
    assert route_of(classifier(architecture)) == "dropout"


@pytest.mark.parametrize("architecture", UNREACHABLE)
def test_out_of_reach_is_refused_by_name(architecture: str) -> None:
    network = classifier(architecture, **UNREACHABLE[architecture])
    with pytest.raises(InputError, match=f"(?i)attention weights of {architecture} cannot be replaced"):
        find_sites(network, texts([6, 4]))


def test_a_translation_model_out_of_reach() -> None:
    config = transformers.FSMTConfig(langs=["en", "de"], src_vocab_size=50, tgt_vocab_size=50, d_model=16)
    with pytest.raises(InputError, match="attention weights of FSMT cannot be replaced"):
        route_of(transformers.FSMTModel(config))


def test_block_sparse_attention_is_refused_whatever_the_length() -> None:
    with pytest.raises(InputError, match="BigBird with block-sparse attention"):
        route_of(classifier("BigBird", attention_type="block_sparse", block_size=2))


def test_what_records_no_site_is_refused() -> None:
    network = classifier("MPNet")
    for module in network.modules():
        if hasattr(module, "dropout"):
            module.dropout = nn.Identity()
    with pytest.raises(InputError, match="attention weights of mpnet cannot be replaced"):
        find_sites(network, texts([6, 4]))


class AttentionPooling(nn.Module):
    """A user's head; its name makes the library think that the file has an attention of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(WIDTH, 1)
        self.classes = nn.Linear(WIDTH, CLASSES)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        weights = self.score(states).masked_fill(mask[..., None] == 0, -1e9).softmax(1)
        return self.classes((weights * states).sum(1))  # type: ignore[no-any-return]


class Custom(transformers.BertPreTrainedModel):  # type: ignore[misc]
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.bert = transformers.BertModel(config)
        self.head = AttentionPooling()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self.bert(input_ids, attention_mask).last_hidden_state
        return self.head(states, attention_mask)  # type: ignore[no-any-return]


def test_a_users_module_around_an_encoder() -> None:
    network = Custom(transformers.BertConfig(**BERT)).eval()
    assert route_of(network) == "interface"
    assert find_sites(network, texts([6, 4])).names == ("encoder.0", "encoder.1", "encoder.2")


def test_a_module_without_an_encoder_is_refused() -> None:
    with pytest.raises(InputError, match="Linear has no Hugging Face encoder"):
        route_of(nn.Linear(2, 2))


def test_logits_of_any_output() -> None:
    logits = torch.ones(2, CLASSES)
    for output in (logits, (logits, None), transformers.modeling_outputs.SequenceClassifierOutput(logits=logits)):
        assert logits_of(output) is logits
