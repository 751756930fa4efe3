"""Your own model is looked at once, before its first trial; attentest's own are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hand_model import HandModel, OpaqueModel, reading_of

import attentest
from attentest.errors import InputError
from attentest.models import Encoded, Weights
from attentest.models.check import check_model
from attentest.text.batches import Batch
from attentest.text.prepare import TokenizedCorpus
from attentest.trials import Subject, hold, make_trial, subject_of


class LongWords:
    """Attends to words by their number in the vocabulary; `factor` spoils the sum of the weights."""

    sites = ("token",)

    def __init__(self, factor: float = 1.0) -> None:
        self.factor, self.encoded = factor, 0

    def encode(self, batch: Batch) -> Encoded:
        self.encoded += 1
        return Encoded((batch.ids % 7).float().unsqueeze(-1), batch.mask)

    def attend(self, encoded: Encoded) -> Weights:
        scores = encoded.hidden.squeeze(-1).masked_fill(~encoded.mask, -torch.inf)
        return {"token": self.factor * scores.softmax(-1)}

    def decode(self, encoded: Encoded, weights: Weights) -> torch.Tensor:
        mean = (weights["token"] * encoded.hidden.squeeze(-1)).sum(1)
        return torch.stack((torch.zeros_like(mean), mean - 4), 1)


@pytest.fixture
def data(run: attentest.Run) -> TokenizedCorpus:
    return subject_of(run).data


def test_a_right_model_is_looked_at_twice_and_no_more(data: TokenizedCorpus) -> None:
    model = LongWords()
    subject = Subject(model, data, np.arange(12))
    findings = hold([make_trial("uniform"), make_trial("removal")], subject)
    assert [finding.trial for finding in findings] == ["uniform", "removal"]
    assert model.encoded == 3  # twice to see whether it repeats itself, then for the trials


@pytest.mark.parametrize("kind", [HandModel, OpaqueModel])
def test_models_worked_by_hand_pass(kind: type[OpaqueModel]) -> None:
    model = kind([[2.0, 0.0, -1.0], [300.0], [0.5, 0.25]], [[0.5, 0.3, 0.2], [1.0], [0.9, 0.1]], bias=0.3)
    check_model(model, reading_of(model).batch, ("no", "yes"), ("a", "b", "c"))


def test_a_wrong_model_is_refused_before_any_trial(data: TokenizedCorpus, tmp_path: Path) -> None:
    subject = Subject(LongWords(1.5), data, np.arange(12))
    message = r"LongWords\.attend gave weights that sum to 1\.5 for the text with id '.*'; expected"
    with pytest.raises(InputError, match=message):
        attentest.trial("uniform", subject)
    with pytest.raises(InputError, match=message):
        attentest.audit(subject, tmp_path / "audit")


def test_the_text_that_a_message_names_is_one_of_the_subject(data: TokenizedCorpus) -> None:
    subject = Subject(LongWords(1.5), data, np.array([7]))
    with pytest.raises(InputError, match=f"for the text with id '{subject.ids(np.array([7]))[0]}'"):
        hold([make_trial("uniform")], subject)


def test_models_of_runs_are_trusted(run: attentest.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise AssertionError("looked at")

    monkeypatch.setattr("attentest.trials.subject.check_model", refuse)
    subject = replace(subject_of(run, texts=5), folder=None)
    hold([make_trial("uniform")], subject)
    with pytest.raises(AssertionError, match="looked at"):
        hold([make_trial("uniform")], replace(subject, trusted=False))


def test_what_is_no_model_is_refused_when_the_subject_is_made(data: TokenizedCorpus) -> None:
    with pytest.raises(InputError, match="The model is a Linear without encode, attend, decode"):
        Subject(torch.nn.Linear(2, 2), data, np.arange(3))  # type: ignore[arg-type]


def test_texts_must_be_tokenized_and_some(data: TokenizedCorpus) -> None:
    with pytest.raises(InputError, match=r"are a Corpus; expected a TokenizedCorpus: .*tokenize_corpus"):
        hold([make_trial("uniform")], Subject(LongWords(), data.corpus, np.arange(3)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"no rows to examine; choose some, such as data\.of_split\('test'\)"):
        hold([make_trial("uniform")], Subject(LongWords(), data, np.arange(0)))
