"""What stands trial: a model and the texts it is asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attentest.errors import InputError
from attentest.files import inside
from attentest.models.check import check_model, check_protocol
from attentest.models.hierarchical import SENTENCE
from attentest.models.pretrained.precision import AUTO
from attentest.models.protocol import AttentionModel
from attentest.text.batches import inference_batches
from attentest.text.prepare import TokenizedCorpus
from attentest.training.run import Run
from attentest.trials.reading import check_site

SUBJECT = (
    "To examine your own model, make a Subject: attentest.Subject(model, data, rows), where the model has encode, "
    "attend and decode (attentest.models.AttentionModel) and data is attentest.text.tokenize_corpus(corpus, settings)."
)
LOOKED_AT = 8  # texts, when a model is checked


@dataclass(frozen=True)
class Subject:
    """Your own model with the three methods, and texts as a TokenizedCorpus, can be put on trial too."""

    model: AttentionModel
    data: TokenizedCorpus
    rows: np.ndarray
    signature: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None  # where findings are written
    device: torch.device | str = "cpu"
    site: str | None = None  # whose weights are changed; None: the last one of the model
    trusted: bool = False  # a model that attentest made: it is not looked at before a trial
    dtype: str = AUTO  # that its model was put into, if it was
    view: str = ""  # what tells the way that the model is looked at from the usual one, as part of a name
    memory: int | None = None  # bytes for what is in memory at a time, the model aside; None: as much as is usual

    def __post_init__(self) -> None:
        check_protocol(self.model)
        check_site(self.model, self.site)

    @property
    def chosen_site(self) -> str:
        return check_site(self.model, self.site)

    @property
    def items(self) -> str:
        """What is attended to at the site."""
        return "sentences" if self.chosen_site == SENTENCE else "tokens"

    @property
    def lengths(self) -> np.ndarray:
        """How many items each text has at the site."""
        sequences, sentences = self.data.sequences, self.data.sentences
        if self.items == "tokens" or sentences is None:
            lengths: np.ndarray = sequences.lengths[self.rows]
            return lengths
        counts: np.ndarray = sentences[sequences.offsets[self.rows + 1] - 1] + 1
        return counts

    @property
    def read_lengths(self) -> np.ndarray:
        """How many tokens of each text the model reads: its items at the site, and those set aside."""
        aside = self.data.aside
        lengths: np.ndarray = self.lengths if aside is None else self.lengths + aside.sequences.lengths[self.rows]
        return lengths

    def place_of(self, trial: str) -> str:
        """The folder of a trial's finding, within that of all: sites other than the usual one are named."""
        site = "" if self.chosen_site == self.model.sites[-1] else self.chosen_site
        dtype = "" if self.dtype == AUTO else self.dtype
        return "-".join(part for part in (trial, site, self.view, dtype) if part)

    @property
    def classes(self) -> Sequence[str]:
        return self.data.corpus.classes

    def ids(self, rows: np.ndarray) -> list[str]:
        return self.data.ids(rows)

    def labels(self, rows: np.ndarray) -> np.ndarray:
        names: np.ndarray = np.array(self.classes, dtype=object)[self.data.labels[rows]]
        return names


def check_subject(subject: Subject) -> None:
    """Look at a model on a few texts, short and long, before a trial believes what it says."""
    if subject.trusted:
        return
    if not isinstance(subject.data, TokenizedCorpus):
        raise InputError(
            f"The texts of the subject are a {type(subject.data).__name__}; expected a TokenizedCorpus: "
            "attentest.text.tokenize_corpus(corpus, TextSettings())."
        )
    if len(subject.rows) == 0:
        raise InputError("The subject has no rows to examine; choose some, such as data.of_split('test').")
    by_length = subject.rows[np.argsort(subject.data.sequences.lengths[subject.rows], kind="stable")]
    some = np.unique(np.linspace(0, len(by_length) - 1, LOOKED_AT).astype(int))
    batch = next(inference_batches(subject.data, by_length[some]))
    check_model(subject.model, batch.to(subject.device), subject.classes, subject.ids(batch.rows), subject.site)


def subject_of(
    run: Run,
    *,
    texts: int | None = None,
    device: str = "cpu",
    site: str | None = None,
    only_marked: bool = False,
    memory: int | None = None,
) -> Subject:
    """A run's model and its test split, or the first `texts` of a fixed random order of it; `only_marked` leaves out
    texts that have no rationale. Of a text that is read in windows there is one, always the same."""
    if texts is not None and texts < 1:
        raise InputError(f"texts is {texts}; it must be at least 1.")
    data = run.test_data()
    rows = data.one_of_each_text(_marked(data, run) if only_marked else np.arange(len(data.rows)))
    rows = some_of(rows, texts)
    signature = {
        "corpus": run.record.corpus.name,
        "corpus_hash": run.record.corpus.fingerprint,
        "model": run.settings["model"],
        "training": run.settings["training"],
        "text": run.settings["text"],
        "texts": len(rows),
    }
    view = "" if run.view is None else run.view.name
    signature |= {"view": view} if view else {}
    signature |= {} if run.dtype == AUTO else {"dtype": run.dtype}
    folder = inside(run.path, "trials")
    model = run.model.to(device)
    told: dict[str, Any] = {"dtype": run.dtype, "view": view, "memory": memory}
    return Subject(model, data, rows, signature, folder, device, site, trusted=True, **told)


def some_of(rows: np.ndarray, texts: int | None) -> np.ndarray:
    """At most so many of them: the first of a fixed random order."""
    if texts is None or texts >= len(rows):
        return rows
    return np.sort(np.random.default_rng(0).permutation(rows)[:texts])


def _marked(data: TokenizedCorpus, run: Run) -> np.ndarray:
    """The rows with a token of a rationale."""
    marks = np.zeros(len(data.sequences.ids), bool) if data.rationale is None else data.rationale > 0
    rows: np.ndarray = np.flatnonzero(np.add.reduceat(marks, data.sequences.offsets[:-1]))
    if not len(rows):
        raise InputError(f"{run.path} has no test text with a rationale.")
    return rows
