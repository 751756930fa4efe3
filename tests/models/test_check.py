"""A model that a trial would misread is refused with a message; right ones pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models import ALIGNMENTS, ENCODERS, PROJECTIONS, Encoded, ModelSettings, Weights, make_model
from attentest.models.check import check_model, check_protocol
from attentest.text.batches import Batch, batch_of_sequences

CLASSES = ("bad", "good")
LENGTHS = (2, 5, 3)
IDS = ("a", "b", "c")


def a_batch(**more: Any) -> Batch:
    generator = np.random.default_rng(0)
    return batch_of_sequences([generator.integers(2, 20, n) for n in LENGTHS], **more)


class Bag(nn.Module):
    """As in docs/getting-started.md; each test spoils one thing of it."""

    sites: Any = ("token",)

    def __init__(self, classes: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.vectors = nn.Embedding(20, 8)
        self.score = nn.Linear(8, 1)
        self.classify = nn.Linear(8, classes)
        self.eval()

    def encode(self, batch: Batch) -> Any:
        return Encoded(self.vectors(batch.ids), batch.mask)

    def attend(self, encoded: Encoded) -> Any:
        scores = self.score(encoded.hidden).squeeze(-1)
        return {"token": scores.masked_fill(~encoded.mask, -torch.inf).softmax(-1)}

    def decode(self, encoded: Encoded, weights: Weights) -> Any:
        return self.classify((weights["token"].unsqueeze(-1) * encoded.hidden).sum(1))


def changed(method: str, change: Callable[[Any], Any]) -> Bag:
    """A Bag one of whose methods gives something else."""
    model = Bag()
    usual = getattr(model, method)
    setattr(model, method, lambda *inputs: change(usual(*inputs)))
    return model


def weights_changed(change: Callable[[Tensor], Any]) -> Bag:
    return changed("attend", lambda weights: {"token": change(weights["token"])})


def state_changed(change: Callable[[Encoded], Any]) -> Bag:
    return changed("encode", change)


class OnPadding(Bag):
    def attend(self, encoded: Encoded) -> Any:
        return {"token": self.score(encoded.hidden).squeeze(-1).softmax(-1)}


class Noisy(Bag):
    """Dropout that eval() does not switch off."""

    def decode(self, encoded: Encoded, weights: Weights) -> Any:
        return nn.functional.dropout(super().decode(encoded, weights), 0.3, training=True)


def nan_in_one_text(logits: Tensor) -> Tensor:
    spoiled = logits.clone()
    spoiled[1, 0] = torch.nan
    return spoiled


def holes(encoded: Encoded) -> Encoded:
    mask = encoded.mask.clone()
    mask[1, 2] = False
    return Encoded(encoded.hidden, mask)


WRONG: dict[str, tuple[Bag, str]] = {
    "scores instead of weights": (
        weights_changed(lambda w: w.where(w == 0, w - 0.5)),
        r"Bag\.attend gave the weight -0\.\d+ for the text with id 'a'; expected weights of at least 0\. To fix it: "
        r"return the weights after the softmax",
    ),
    "weights that do not sum to 1": (
        weights_changed(lambda w: 2 * w),
        r"Bag\.attend gave weights that sum to 2 for the text with id 'a'; expected weights that sum to 1 over the "
        r"text\. To fix it: end with a softmax",
    ),
    "weight on padding": (
        OnPadding(),
        r"OnPadding\.attend put 0\.\d+ of the weight on padding for the text with id 'a'; expected weights of 0 "
        r"wherever encoded\.mask is False\. To fix it: mask the scores",
    ),
    "probabilities": (
        changed("decode", lambda logits: logits.softmax(-1)),
        r"Bag\.decode gave probabilities, for instance \(0\.\d+, 0\.\d+\).*expected logits.*leave the softmax out",
    ),
    "noise": (
        Noisy(),
        r"Noisy\.decode gave results that differ by up to [\d.]+ when asked twice.*model\.eval\(\)",
    ),
    "noise in attention": (
        weights_changed(lambda w: nn.functional.normalize(w * torch.rand_like(w), p=1, dim=-1)),
        r"Bag\.attend gave results that differ by up to",
    ),
    "training mode": (Bag().train(), r"Bag is in training mode, where dropout is on; call model\.eval\(\) first\."),
    "NaN logits": (
        changed("decode", nan_in_one_text),
        r"Bag\.decode gave logits that are NaN or infinite for the text with id 'b'; expected finite numbers",
    ),
    "infinite logits": (changed("decode", lambda logits: logits / 0), r"Bag\.decode gave logits that are NaN or inf"),
    "NaN weights": (weights_changed(lambda w: w * torch.nan), r"Bag\.attend gave weights that are NaN"),
    "NaN states": (
        state_changed(lambda e: Encoded(e.hidden * torch.inf, e.mask)),
        r"Bag\.encode gave hidden states that are NaN or infinite",
    ),
    "a bare tensor": (
        changed("attend", lambda weights: weights["token"]),
        r'Bag\.attend gave a tensor of shape 3 × 5; expected the weights of each site by its name\. .*"token": weights',
    ),
    "a list": (changed("attend", lambda weights: [weights["token"]]), r"Bag\.attend gave a list; expected the weights"),
    "another site": (
        changed("attend", lambda weights: {"tokens": weights["token"]}),
        r"Bag\.attend gave weights of 'tokens'; expected those of all sites, 'token'\. To fix it: add 'token'",
    ),
    "no site": (changed("attend", lambda weights: {}), r"Bag\.attend gave weights of no site"),
    "a logit column": (
        Bag(classes=1),
        r"Bag\.decode gave a single logit a text \(shape 3 × 1\); expected one for each of the 2 classes.*torch\.stack",
    ),
    "a flat logit": (
        changed("decode", lambda logits: logits[:, 0]),
        r"Bag\.decode gave a single logit a text \(shape 3\)",
    ),
    "too many classes": (
        Bag(classes=4),
        r"Bag\.decode gave logits of shape 3 × 4; expected 3 texts × 2 classes\. .*begins with 3 × 2",
    ),
    "logits that are no tensor": (
        changed("decode", lambda logits: logits.tolist()),
        r"Bag\.decode gave logits of type list; expected 3 texts × 2 classes",
    ),
    "weights of another shape": (
        weights_changed(lambda w: w.unsqueeze(-1)),
        r"Bag\.attend gave weights at 'token' of shape 3 × 5 × 1; expected one weight a token\. .*begins with 3 × 5",
    ),
    "states of another shape": (
        state_changed(lambda e: Encoded(e.hidden[:, :-1], e.mask)),
        r"Bag\.encode gave hidden of shape 3 × 4 × 8; expected a tensor of 3 texts × 5 tokens × any size",
    ),
    "states that are no Encoded": (
        state_changed(lambda e: (e.hidden, e.mask)),
        r"Bag\.encode gave a tuple; expected an Encoded\. To fix it: return Encoded\(hidden, mask\)",
    ),
    "a mask with holes": (
        state_changed(holes),
        r"Bag\.encode gave a mask that is not the batch's; expected True on every token.*no holes.*batch\.mask",
    ),
    "a mask of numbers": (
        state_changed(lambda e: Encoded(e.hidden, e.mask.float())),
        r"Bag\.encode gave a mask that is not the batch's",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_model_is_refused_with_a_message(kind: str) -> None:
    model, message = WRONG[kind]
    with pytest.raises(InputError, match=message):
        check_model(model, a_batch(), CLASSES, IDS)


class Sited(Bag):
    def __init__(self, sites: object) -> None:
        super().__init__()
        self.sites = sites


@pytest.mark.parametrize("sites", [None, "token", (), 3, [1]])
def test_sites_are_names(sites: object) -> None:
    with pytest.raises(InputError, match=r'Sited\.sites is .*; expected the names.*sites = \("token",\)'):
        check_protocol(Sited(sites))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Linear(2, 2), "The model is a Linear without encode, attend, decode; expected an object with"),
        ("runs/mine", "The model is a str without attend, decode"),
        (None, "The model is a NoneType without"),
        (Bag, "The model is the class Bag; expected an instance of it"),
    ],
)
def test_something_that_is_no_model(model: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_protocol(model)


def test_a_model_without_sites() -> None:
    class Siteless:
        encode = attend = decode = lambda self, *inputs: None

    with pytest.raises(InputError, match=r"Siteless\.sites is None"):
        check_protocol(Siteless())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_right_models_pass_in_every_number_type(dtype: torch.dtype) -> None:
    check_model(Bag().to(dtype), a_batch(), CLASSES, IDS)
    check_model(Bag(classes=5).to(dtype), a_batch(), ("a", "b", "c", "d", "e"), IDS)


def test_log_probabilities_and_large_logits_pass() -> None:
    check_model(changed("decode", lambda logits: logits.log_softmax(-1)), a_batch(), CLASSES, IDS)
    check_model(changed("decode", lambda logits: 1e4 * logits), a_batch(), CLASSES, IDS)


PARTS = [
    *(("encoder", name) for name in ENCODERS),
    *(("alignment", name) for name in ALIGNMENTS),
    *(("projection", name) for name in PROJECTIONS),
]


@pytest.mark.parametrize(("setting", "name"), PARTS)
def test_our_own_classifiers_pass(setting: str, name: str) -> None:
    settings = ModelSettings(**{setting: name, "hidden": 4})  # type: ignore[arg-type]
    batch = a_batch()
    batch = replace(batch, preset=batch.mask / batch.mask.sum(1, keepdim=True))
    for classes in (CLASSES, ("a", "b", "c")):
        check_model(make_model(settings, torch.randn(20, 8), len(classes)).eval(), batch, classes, IDS)


@pytest.mark.parametrize("decoder", ["context", "context+query"])
def test_our_own_pair_models_pass(decoder: str) -> None:
    batch = a_batch(second=[np.array([4, 5]), np.array([6]), np.array([7, 8, 9])])
    model = make_model(ModelSettings(decoder=decoder, hidden=4), torch.randn(20, 8), 3, kind="pair").eval()
    check_model(model, batch, ("a", "b", "c"), IDS)


@pytest.mark.parametrize("site", [None, "word", "sentence"])
def test_our_own_hierarchical_models_pass(site: str | None) -> None:
    batch = a_batch(sentences=[np.array([0, 0]), np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1])])
    model = make_model(ModelSettings(structure="hierarchical", hidden=4), torch.randn(20, 8), 2).eval()
    check_model(model, batch, CLASSES, IDS, site)


def test_word_weights_must_sum_to_1_in_each_sentence() -> None:
    batch = a_batch(sentences=[np.array([0, 0]), np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1])])
    model: Any = make_model(ModelSettings(structure="hierarchical", hidden=4), torch.randn(20, 8), 2).eval()
    usual = model.attend
    over_the_text = torch.tensor([1.0, 3.0, 2.0])[:, None]  # weights that sum to 1 over the whole text
    model.attend = lambda encoded: usual(encoded) | {"word": usual(encoded)["word"] / over_the_text}
    message = (
        r"attend gave weights that sum to 0\.3333 for the text with id 'b'; expected .* over each part of the text"
    )
    with pytest.raises(InputError, match=message):
        check_model(model, batch, CLASSES, IDS, "word")
