"""A run: a trained model with everything that made it and what it said about the test split, in one folder."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import torch

from attentest.corpora.corpus import Corpus, Kind
from attentest.display.show import to_pandas
from attentest.errors import InputError, expect_type
from attentest.files import copy_folder, hash_of, inside, is_folder, name_of, read_as
from attentest.models import make_model
from attentest.models.build import Trainable
from attentest.models.pretrained.precision import AUTO, dtype_of
from attentest.models.pretrained.view import View
from attentest.models.reader import Reader
from attentest.models.settings import HIERARCHICAL
from attentest.publish import settle
from attentest.text.aside import set_aside
from attentest.text.items import TextTokenizer, merged
from attentest.text.pieces import PieceTokenizer
from attentest.text.prepare import TokenizedCorpus, class_tokens, tokenize_corpus
from attentest.text.prepare_pieces import tokenize_pieces
from attentest.text.sentences import with_sentences
from attentest.text.settings import TextSettings
from attentest.text.tokenizer import Tokenizer
from attentest.text.vocabulary import SPECIAL, Vocabulary
from attentest.training.encoder import reading, stored_layout, stored_model
from attentest.training.folder import AUDITED, PIECES
from attentest.training.predict import shares
from attentest.training.record import FORMAT, RUN, CorpusRecord, read_result, read_run, read_vocabulary
from attentest.training.tables import items_of, read_attention, read_history, read_predictions, tokens_of
from attentest.training.tensors import read_tensors
from attentest.training.windows import lengths_of_texts, marks_of_rows


class Run:
    """Opened from its folder; files are read when they are asked for."""

    def __init__(self, path: str | Path, keep: Any = None) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"A run is opened from its folder; {type(path).__name__} is none.")
        self.path = run_folder(Path(path)) or Path(path)
        self.keep = keep  # a temporary folder lives as long as the run that lies in it
        self.view: View | None = None  # of a pretrained encoder, where it is not the usual one
        self.dtype = AUTO  # that such an encoder was put into
        if not is_folder(self.path):
            raise InputError(f"{self.path}: there is no such run folder.")
        if (self.path / "summary.json").is_file():
            raise InputError(f"{self.path} holds no model: {_why_no_model(self.path)}")
        if not (self.path / RUN).is_file():
            raise InputError(f"{self.path} is not the folder of a run or of an audit: it has no {RUN}.")
        self.record, self.settings = read_run(self.path)
        if self.record.format != FORMAT:
            raise InputError(f"{self.path / 'run.json'} is of another version of attentest: `format` is not {FORMAT}.")

    @property
    def is_temporary(self) -> bool:
        """Whether its folder goes when it does."""
        return self.keep is not None

    @property
    def name(self) -> str:
        """Of its folder; a run in a temporary one is called by what it is."""
        if not self.is_temporary:
            return name_of(self.path.resolve())
        return f"{self.record.corpus.name} {self._parts} seed {self.record.training.seed}"

    @property
    def source(self) -> str:
        """Where it is; of a run in a temporary folder what it is, so that the same training is the same source."""
        if not self.is_temporary:
            return str(self.path.resolve())
        return f"{self.name}@{hash_of(self.path / 'model.safetensors')}"

    @property
    def finished(self) -> bool:
        return (self.path / "result.json").exists()

    @property
    def has_given_weights(self) -> bool:
        """Whether its weights came with the texts: it has none for others."""
        return self.record.model.projection in ("preset", "random")

    @property
    def is_pretrained(self) -> bool:
        """Whether it is a pretrained encoder with a head, not a model of ours."""
        return self.record.model.pretrained is not None

    @property
    def _counts_special(self) -> bool:
        return self.view is not None and self.view.special

    @property
    def is_hierarchical(self) -> bool:
        """Whether it attends to words within sentences, and to sentences."""
        return self.record.model.structure == HIERARCHICAL

    @property
    def kind(self) -> Kind:
        """Of its corpus: single or pair."""
        return self.record.corpus.kind

    @property
    def classes(self) -> list[str]:
        return list(self.record.corpus.classes)

    @property
    def notes(self) -> list[str]:
        return list(self.record.notes)

    @property
    def metrics(self) -> dict[str, float]:
        """Accuracy, F1 and AUC on the test split."""
        test = read_result(self.path).test
        return {name: math.nan if value is None else value for name, value in test.items()}

    @property
    def dev(self) -> dict[str, float]:
        """What was measured on dev after the epoch that was kept; of an adversary also how far it is from its base."""
        kept = read_result(self.path).best_epoch
        for row in self.history.to_pylist():
            if row["epoch"] == kept:
                return dict(row)
        raise InputError(
            f"{self.path / 'history.parquet'} and result.json are not of one run: there is no epoch {kept}."
        )

    @cached_property
    def history(self) -> pa.Table:
        return read_history(self.path / "history.parquet")

    @cached_property
    def predictions(self) -> pa.Table:
        return read_predictions(self.path / "predictions.parquet", self.classes, self.kind == "pair")

    @cached_property
    def attention(self) -> pa.Table:
        pieces = self.tokenizer.in_pieces
        return read_attention(self.path / "attention.parquet", self.predictions, self.is_hierarchical, pieces)

    @property
    def shares(self) -> list[list[float]]:
        """Of the text's attention, token by token: a HAN's word weights count as much as their sentences."""
        return [heat_of(row) for row in self.attention.to_pylist()]

    @property
    def word_shares(self) -> list[list[float]]:
        """`shares` with the pieces of each word taken together."""
        return [word_heat(row) for row in self.attention.to_pylist()]

    @property
    def text_settings(self) -> TextSettings:
        return self.record.text

    @cached_property
    def max_tokens(self) -> int:
        """How much of a text, or of a pair that is read as one, is read."""
        most = self.text_settings.max_tokens
        return min(most, stored_layout(self.path).layout.room(self.kind)) if self.is_pretrained else most

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        return PieceTokenizer.read(self.path / PIECES) if self.is_pretrained else Tokenizer(self.text_settings)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        if isinstance(self.tokenizer, PieceTokenizer):
            return self.tokenizer.vocabulary
        tokens = read_vocabulary(self.path)
        if tuple(tokens[: len(SPECIAL)]) != SPECIAL or len(set(tokens)) < len(tokens):
            raise InputError(f"{self.path / 'vocabulary.json'} is not a vocabulary of attentest.")
        return Vocabulary(tokens[len(SPECIAL) :])

    @cached_property
    def model(self) -> Trainable:
        if self.is_pretrained:
            return stored_model(self.path, self.record.model)
        file = self.path / "model.safetensors"
        stored = read_tensors(file)
        vectors = stored.tensors.get("embedding.weight")
        if vectors is None or vectors.ndim != 2 or len(vectors) != len(self.vocabulary) or not vectors.numel():
            raise InputError(f"{file} does not belong to this run: its embedding and the vocabulary differ.")
        stored.expect_like(self._described(vectors.shape).state_dict())
        stored.expect_unchanged()
        model = self._made(vectors)
        model.load_state_dict(stored.tensors)
        return model.eval()

    def seen(self, view: View) -> Self:
        """The same run of a pretrained encoder, looked at from another layer or head, by other weights."""
        if not isinstance(self.tokenizer, PieceTokenizer):
            raise InputError(
                f"{self.path} is no pretrained encoder, so it cannot be looked at from another layer or head, or by "
                "other weights."
            )
        other = type(self)(self.path, self.keep)
        other.view, other.dtype = view, self.dtype
        model: Any = self.model
        vars(other)["model"] = model.seen(view)
        vars(other)["tokenizer"] = replace(self.tokenizer, special=view.special)
        return other

    def computed_in(self, dtype: str) -> Self:
        """The same run of a pretrained encoder, which computes in this number type [as it is stored]."""
        kind = dtype_of(dtype)
        if dtype == AUTO:
            return self
        if not self.is_pretrained:
            raise InputError(
                f"{self.path} is no pretrained encoder: models that attentest trains itself compute in float32; leave "
                "out `dtype`."
            )
        other = type(self)(self.path, self.keep)
        other.view, other.dtype = self.view, dtype
        model: Any = self.model
        vars(other)["model"] = model.computed_in(kind)
        vars(other)["tokenizer"] = self.tokenizer
        return other

    def _described(self, shape: torch.Size) -> Reader:
        """What run.json describes, without its numbers: sizes that somebody made up take no memory."""
        try:
            with torch.device("meta"):
                return self._made(torch.empty(shape))
        except (InputError, RuntimeError, TypeError) as error:
            reason = str(error).splitlines()[0][:200].rstrip(".")
            raise InputError(f"{self.path / RUN} is damaged: no model is made like this ({reason}).") from error

    def _made(self, vectors: torch.Tensor) -> Reader:
        answers = answer_tokens(self.record.corpus, self.text_settings, self.vocabulary)
        return make_model(self.record.model, vectors, len(self.classes), kind=self.kind, answers=answers)

    def read(self, corpus: Corpus) -> TokenizedCorpus:
        """A corpus as the model reads it."""
        if isinstance(self.tokenizer, PieceTokenizer):
            how = reading(self.text_settings, self.max_tokens)
            return tokenize_pieces(corpus, self.tokenizer, **how, special=self._counts_special)
        return tokenize_corpus(corpus, self.text_settings, vocabulary=self.vocabulary)

    def test_data(self) -> TokenizedCorpus:
        """The test split as the model reads it, from the run's own tables: the corpus itself is not needed."""
        table = self.predictions
        labels = [self.classes.index(name) for name in table["label"].to_pylist()]
        columns = {
            "id": table["id"],
            "split": pa.repeat("test", table.num_rows),
            "text": table["text"],
            "label": pa.array(labels, pa.int32()),
        }
        if self.kind == "pair":
            columns["second"] = table["second"]
        about = self.record.corpus
        recipe = {"answers": about.answers} if about.answers else {}
        corpus = Corpus(about.name, self.kind, pa.table(columns), tuple(self.classes), recipe=recipe)
        data = self.read(corpus)
        attention = self.attention
        if not np.array_equal(lengths_of_texts(data), tokens_of(attention)):
            raise InputError(
                f"{self.path / 'attention.parquet'} does not fit the texts in predictions.parquet: read as {RUN} says, "
                "they have other tokens."
            )
        if "rationale" in attention.column_names:
            marks = zip(attention["rationale"].to_pylist(), tokens_of(attention), strict=True)
            every = np.concatenate(marks_of_rows(data, [np.array(own or [0] * n, np.int8) for own, n in marks]))
            if self._counts_special:  # special tokens are part of no reason
                inside = np.concatenate([data.own_tokens(row) for row in range(len(data.rows))])
                only, every = every, np.zeros(len(inside), every.dtype)
                every[inside] = only
            data = replace(data, rationale=every)
        if self.has_given_weights:
            data = data.with_preset(np.concatenate(self.shares))
        if self.view is not None and self.view.sinks is not None:
            return set_aside(data, self.view.sinks.among(data.sequences))
        return with_sentences(data) if self.is_hierarchical else data

    def to_pandas(self) -> Any:
        """One row for each test text: label, predicted class, probabilities, tokens and their weights."""
        predictions, attention = self.predictions, self.attention
        for name in attention.column_names:
            if name not in predictions.column_names:
                predictions = predictions.append_column(name, attention[name])
        return to_pandas(predictions)

    def save(self, path: str | Path) -> Self:
        """Copy the run, and the findings it holds, into another folder; the run there."""
        return type(self)(copy_folder(self.path, Path(path)))

    @property
    def _parts(self) -> str:
        model = self.record.model
        if self.is_pretrained:
            return model.name if model.projection == "softmax" else f"{model.name} + {model.projection}"
        parts = f"{model.encoder} + {model.alignment} + {model.projection}"
        return f"{HIERARCHICAL} {parts}" if self.is_hierarchical else parts

    def __repr__(self) -> str:
        scores = (
            ", ".join(f"{name} {value:.3f}" for name, value in self.metrics.items())
            if self.finished
            else "not finished"
        )
        return f"Run({str(self.path)!r}: {self._parts} on {self.record.corpus.name}; {scores})"

    def _repr_html_(self) -> str:
        from attentest.display.tables import html_table

        rows = [(key, value) for part in ("model", "training") for key, value in self.settings[part].items()]
        scores = list(self.metrics.items()) if self.finished else []
        return html_table(["", self.record.corpus.name], [*scores, *rows], caption=str(self.path))


def heat_of(row: dict[str, Any]) -> list[float]:
    """What a row of the attention table says of each token: its share of the text's attention."""
    if "sentence_weight" not in row:
        return list(row["weight"])
    found: list[float] = shares(*map(np.array, (row["weight"], row["sentence"], row["sentence_weight"]))).tolist()
    return found


def word_heat(row: dict[str, Any]) -> list[float]:
    """`heat_of` with the pieces of each word taken together."""
    found: list[float] = merged(heat_of(row), items_of(row).words).tolist()
    return found


def answer_tokens(corpus: CorpusRecord, text: TextSettings, vocabulary: Vocabulary) -> torch.Tensor | None:
    """The tokens that the classes are, where only those that a text has can answer its question."""
    if corpus.answers != "entities":
        return None
    return torch.from_numpy(vocabulary.ids(class_tokens(corpus.classes, text)).astype(np.int64))


def run_folder(folder: Path) -> Path | None:
    """Where the run is: the folder itself, or the audited model's in the folder of an audit; None if there is none."""
    if not is_folder(folder):
        return None
    settle(folder.parent if folder.name == AUDITED else folder)
    if (folder / RUN).is_file():
        return folder
    return inside(folder, AUDITED) if (folder / AUDITED / RUN).is_file() else None


@dataclass(frozen=True)
class _Finished:
    """What of summary.json is asked here."""

    kind: str


def _why_no_model(folder: Path) -> str:
    """Why the folder of finished work has none."""
    if read_as(folder / "summary.json", _Finished).kind == "audit":
        return "the audited model's training failed, or your own model (a Subject) was audited."
    return "it is a study or a comparison; name the folder of a run or of an audit."


def open_run(path: str | Path) -> Run:
    """A run from its folder, or the audited model from an audit's folder."""
    return Run(path)


def choose_device(name: str) -> torch.device:
    """`auto` takes a GPU when there is one."""
    expect_type("device", name, str)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.partition(":")[0] not in ("cpu", "cuda"):
        raise InputError(f"The device '{name}' is not known; choose auto, cpu or cuda.")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"The device '{name}' cannot be used here: {reason}.") from error
    return device
