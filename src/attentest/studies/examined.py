"""Pretrained encoders that a plan examines, as they can be asked before any step has run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from attentest.corpora.corpus import Corpus
from attentest.models import ModelSettings
from attentest.models.pretrained.precision import AUTO
from attentest.models.pretrained.view import View
from attentest.text.settings import TextSettings
from attentest.training.encoder import Encoder, with_its_head, with_new_head
from attentest.training.run import Run
from attentest.training.settings import sort_settings
from attentest.trials.subject import Subject, subject_of

Examined = Callable[[bool], Subject]  # with special tokens as tokens of its texts, or not


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A model that was trained elsewhere: the folder or the hub name of a Hugging Face classifier.

    `labels` says which class each of its labels is, where their names differ; `text` are settings of how it reads.
    """

    source: str
    labels: Mapping[str, str] = field(default_factory=dict)
    text: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = AUTO  # that its weights are loaded in

    @property
    def name(self) -> str:
        return ModelSettings(pretrained=self.source).name


def of_run(run: Run, dtype: str, special: bool) -> Subject:
    run = run.computed_in(dtype)
    return subject_of(run.seen(View(special=True)) if special else run)


def of_finished(corpus: Corpus, model: Finished, special: bool) -> Subject:
    settings = ModelSettings(pretrained=model.source)
    encoder = with_its_head(settings, corpus.classes, model.labels, model.dtype)
    return _read(encoder, corpus, TextSettings(**model.text), special)


def to_be_trained(corpus: Corpus, settings: Mapping[str, Any], special: bool) -> Subject:
    """With a head that has learned nothing yet, which takes as long as one that has."""
    chosen = sort_settings(corpus, settings)
    encoder = with_new_head(chosen.model, corpus.classes, chosen.training.seed)
    return _read(encoder, corpus, chosen.text, special)


def _read(encoder: Encoder, corpus: Corpus, text: TextSettings, special: bool) -> Subject:
    tested = replace(corpus, table=corpus.table.filter(pa.array(corpus.split == "test")))
    data = encoder.read(tested, text, special=special)
    seen = encoder.model.seen(View(special=special))
    rows = data.one_of_each_text(data.of_split("test"))
    return Subject(seen, data, rows, trusted=True, view=seen.view.name)
