"""Train a model on a corpus into a run folder; killed at any moment, the same call goes on from its last epoch."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.files import write_json
from attentest.interventions import random_for_all
from attentest.models import ModelSettings, make_model
from attentest.models.build import Trainable, check_pair, check_single
from attentest.models.projections import Projection
from attentest.models.reader import Reader
from attentest.models.settings import HIERARCHICAL
from attentest.progress import Listener
from attentest.text.batches import Batch, make_batch
from attentest.text.prepare import TokenizedCorpus, check_splits, tokenize_corpus, unknown_share
from attentest.text.rationales import token_marks
from attentest.text.sentences import with_sentences
from attentest.text.settings import TextSettings
from attentest.text.vectors import initial_vectors
from attentest.text.vocabulary import Vocabulary
from attentest.training.checkpoint import load_checkpoint, save_checkpoint
from attentest.training.claim import clear_for, exclusive
from attentest.training.encoder import with_new_head
from attentest.training.fine_tuning import FineTuningOptimizer, check_fine_tuning
from attentest.training.fit import Progress, fit, labels_of
from attentest.training.folder import DamagedRunError
from attentest.training.frozen import freeze, kept
from attentest.training.identity import Others, identity_of, made_with
from attentest.training.keywords import DEFAULTS, SettingsGiven, takes
from attentest.training.objectives import Adversary, Deceive, Encode, Guide, Inflate, Marks, Objective, Suffice
from attentest.training.optimizer import Optimizer, PaperOptimizer
from attentest.training.predict import Around, Predictions, as_it_is, predict
from attentest.training.record import VOCABULARY, CorpusRecord
from attentest.training.results import check_results, write_results
from attentest.training.run import Run, answer_tokens, choose_device
from attentest.training.settings import FINE_TUNING, Settings, TrainingSettings, sort_settings
from attentest.training.size import check_encoder_size, check_size


@takes(SettingsGiven, DEFAULTS)
def train(
    corpus: Corpus,
    out: str | Path | None = None,
    *,
    device: str = "auto",
    overwrite: bool = False,
    preset: Run | str | Path | None = None,
    start: Run | str | Path | None = None,
    base: Run | str | Path | None = None,
    listener: Listener | None = None,
    **settings: Unpack[SettingsGiven],
) -> Run:
    """Train, test, and return the run.

    `settings` are fields of TextSettings, ModelSettings and TrainingSettings: encoder="cnn", lr=1e-4, seed=1…
    Without `out` the run lies in a temporary folder. Other runs come in as `preset` (whose attention the projection
    `preset` uses as its weights), `start` (whose parameters this one starts from, those of the parts `take` or all)
    and `base` (which the objective `adversary` imitates).
    """
    listener = listener or Listener()
    if not isinstance(corpus, Corpus):
        raise InputError(f"train takes a corpus, not {type(corpus).__name__}: load one with attentest.load(…).")
    others = Others(*(Run(run) if isinstance(run, str | Path) else run for run in (preset, start, base)))
    settings_of = sort_settings(corpus, dict(settings))
    _check(corpus, settings_of, others)
    identity = identity_of(corpus, settings_of, others)
    temporary = None
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="attentest-")
        out = temporary.name
    path = Path(out)
    with exclusive(path):
        clear_for(path, identity, overwrite, write=False)
        if (path / "result.json").exists() and not overwrite:
            check_results(path)
            listener.note(f"{path} already has this run, finished; nothing was trained.")
        else:
            _train_into(path, corpus, settings_of, identity, others, choose_device(device), overwrite, listener)
    return Run(path, temporary)


@takes(SettingsGiven, DEFAULTS | FINE_TUNING)
def finetune(
    corpus: Corpus,
    base: str | Path,
    out: str | Path | None = None,
    *,
    device: str = "auto",
    overwrite: bool = False,
    listener: Listener | None = None,
    **settings: Unpack[SettingsGiven],
) -> Run:
    """Train a pretrained encoder with a new head on a corpus, and return the run.

    `base` is the folder or the hub name of an encoder of Hugging Face. `settings` are those of `train`, with defaults
    that suit an encoder; the run does not need `base` any more.
    """
    if not isinstance(base, str | os.PathLike):
        raise InputError(f"`base` is the folder or the name of an encoder, not {type(base).__name__}.")
    chosen: Any = {**FINE_TUNING, **settings, "pretrained": os.fspath(base)}
    return train(corpus, out, device=device, overwrite=overwrite, listener=listener, **chosen)


def _train_into(
    path: Path,
    corpus: Corpus,
    settings: Settings,
    identity: dict[str, Any],
    others: Others,
    device: torch.device,
    overwrite: bool,
    listener: Listener,
) -> None:
    training = settings.training
    for note in corpus.notes:
        listener.note(note)
    make = _reader if settings.model.pretrained is None else _encoder
    ready = make(corpus, settings, identity, others, device, listener)
    data, model = ready.data, ready.model
    notes = [*data.notes, *ready.notes]
    for note in notes:
        listener.note(note)
    if others.start is not None:
        _start_from(model, others.start, data, training.take)
    model = model.to(device)
    frozen = None
    if training.freeze_layers and not isinstance(model, Reader):
        frozen = freeze(model, training.freeze_layers, _one(data, device))
    optimizer = _optimizer(model, training, len(data.of_split("train")))
    objective = _objective(training, model, others, data, device)

    clear_for(path, identity, overwrite, write=True)
    # first of all files: it says whose folder this is
    write_json(path / "run.json", identity | made_with(corpus, device, notes, settings.model.pretrained))
    ready.write(path)
    try:
        progress = load_checkpoint(path, model, optimizer)
    except DamagedRunError as error:
        if not overwrite:
            raise
        listener.warning(f"{error.what}; the training starts again.")
        progress = Progress()
    if progress.epoch:
        listener.note(f"Resumed after epoch {progress.epoch}.")
    with ExitStack() as stack:
        around: Around = as_it_is
        if frozen is not None and not progress.is_over(training):
            read = np.concatenate([data.of_split(name) for name in ("train", "dev")])
            watch = partial(listener.progress, "read")
            around = stack.enter_context(kept(frozen, data, read, path, device, watch))
        progress = fit(
            model,
            optimizer,
            data,
            training,
            objective=objective,
            device=device,
            progress=progress,
            around=around,
            watch=partial(listener.progress, "train"),
            save=partial(save_checkpoint, path),
        )
    listener.progress("test", 0, 1)
    write_results(path, model, data, predict(model, data, data.of_split("test"), device), progress)
    listener.progress("test", 1, 1)


class Ready(NamedTuple):
    """A model before its training, the texts as it reads them, and what else its folder needs beside its weights."""

    data: TokenizedCorpus
    model: Trainable
    notes: list[str]
    write: Callable[[Path], None]


def _reader(
    corpus: Corpus,
    settings: Settings,
    identity: dict[str, Any],
    others: Others,
    device: torch.device,
    listener: Listener,
) -> Ready:
    text, training = settings.text, settings.training
    data = tokenize_corpus(corpus, text, report=partial(listener.progress, "tokenise"))
    if settings.model.structure == HIERARCHICAL:
        data = with_sentences(data)
    vectors, found = initial_vectors(data.vocabulary, text, training.seed)
    if others.preset is not None:
        data = data.with_preset(np.concatenate(_predictions_of(others.preset, data, device).weights))
    elif settings.model.projection == "random":
        data = data.with_preset(random_for_all(data.sequences, training.seed, data.sentences))
    check_size(settings.model, data, vectors.shape[1], training.batch_size, device)
    model = _build(settings.model, vectors, CorpusRecord(**identity["corpus"]), text, data.vocabulary, training)
    return Ready(
        data, model, list(_describe(data, found)), lambda path: write_json(path / VOCABULARY, data.vocabulary.tokens)
    )


def _encoder(
    corpus: Corpus,
    settings: Settings,
    identity: dict[str, Any],
    others: Others,
    device: torch.device,
    listener: Listener,
) -> Ready:
    assert settings.model.pretrained is not None
    encoder = with_new_head(settings.model, corpus.classes, settings.training.seed)
    data = encoder.read(corpus, settings.text, partial(listener.progress, "tokenise"))
    check_splits(corpus, data.split, data.labels)
    check_encoder_size(encoder.model)
    return Ready(data, encoder.model, [*encoder.notes, *_describe(data)], encoder.write)


def _optimizer(model: Trainable, training: TrainingSettings, texts: int) -> Optimizer:
    if isinstance(model, Reader):
        attention_lr = training.lr if training.attention_lr is None else training.attention_lr
        return PaperOptimizer(model, training.lr, attention_lr, training.weight_decay)
    return FineTuningOptimizer(
        model,
        training.lr,
        training.weight_decay,
        steps=training.epochs * math.ceil(texts / training.batch_size),
        warmup=training.warmup,
        texts=training.batch_size,
    )


def _one(data: TokenizedCorpus, device: torch.device) -> Batch:
    """A batch of one text."""
    return make_batch(data, data.of_split("train")[:1]).to(device)


def _check(corpus: Corpus, settings: Settings, others: Others) -> None:
    if corpus.kind == "generation":
        raise InputError(
            f"{corpus.name} is a {corpus.kind} corpus; the models here read one or two texts with a label."
        )
    check_fine_tuning(settings)
    if settings.model.pretrained is not None and corpus.answers == "entities":
        raise InputError(
            f"The answers of {corpus.name} are words of each text; a pretrained encoder has fixed classes."
        )
    (check_single if corpus.kind == "single" else check_pair)(settings.model)
    if (settings.model.projection == "preset") != (others.preset is not None):
        raise InputError("The projection 'preset' and `preset`, the run with its weights, go together; give both.")
    if (settings.training.objective == "adversary") != (others.base is not None):
        raise InputError("The objective 'adversary' and `base`, the run that it imitates, go together; give both.")
    if settings.training.select_by == "dev-loss" and others.base is None:
        raise InputError("`select_by='dev-loss'` is for the objective 'adversary'; choose accuracy, f1, auc or loss.")
    if settings.training.take and others.start is None:
        raise InputError("`take` needs `start`: the run to copy those parts from.")
    if others.base is not None and settings.model.structure == HIERARCHICAL:
        raise InputError("An adversary moves the weights of a whole text; train it with `structure='flat'`.")
    _check_rationales(corpus, settings)
    for run in (run for run in others if run is not None):
        if (run.kind, run.classes) != (corpus.kind, list(corpus.classes)):
            raise InputError(
                f"{run.path} reads a {run.kind} corpus with the classes {', '.join(run.classes)}, and {corpus.name} is "
                f"a {corpus.kind} one with {', '.join(corpus.classes)}; choose a run with the same kind and classes."
            )
    for run in (run for run in (others.preset, others.base) if run is not None):
        if run.is_hierarchical:
            raise InputError(f"{run.path} has weights within sentences; choose a run with a flat structure.")
        if run.has_given_weights:
            raise InputError(f"{run.path} uses fixed attention weights; choose a run that learned its attention.")


def _check_rationales(corpus: Corpus, settings: Settings) -> None:
    """Whether an objective that looks at rationales finds what it needs."""
    objective = settings.training.objective
    if objective not in ("guide", "deceive", "inflate", "suffice"):
        return
    if not corpus.has_rationale:
        raise InputError(
            f"The objective '{objective}' needs rationales, and {corpus.name} has none; name their column with "
            "`rationale`."
        )
    if settings.model.structure == HIERARCHICAL:
        raise InputError(f"The objective '{objective}' moves the weights of a whole text; use `structure='flat'`.")
    if not Projection(settings.model.projection).needs_scores:
        raise InputError(
            f"The objective '{objective}' moves the weights, and the projection '{settings.model.projection}' has none "
            "that are learned; choose another."
        )
    if objective in ("inflate", "suffice") and corpus.kind == "pair":
        raise InputError(f"The objective '{objective}' needs single texts; {corpus.name} has pairs.")


def _describe(data: TokenizedCorpus, found: int = 0) -> Iterable[str]:
    read = "windows" if data.has_windows else "texts"
    yield (
        f"{len(data.rows):,} {read} of {data.sequences.lengths.mean():.0f} tokens on average, vocabulary "
        f"{len(data.vocabulary):,}, {100 * unknown_share(data, 'test'):.1f} % of test tokens unknown."
    )
    for split in ("dev", "test"):
        if len(np.unique(data.labels[data.split == split])) < 2:
            yield f"The {split} split has one class only, so it has no AUC; accuracy is used instead."
    if data.settings.vectors != "random":  # never those of a pretrained encoder
        yield f"{found:,} of {len(data.vocabulary):,} tokens have a vector in {data.settings.vectors}."


def _build(
    settings: ModelSettings,
    vectors: np.ndarray,
    corpus: CorpusRecord,
    text: TextSettings,
    vocabulary: Vocabulary,
    training: TrainingSettings,
) -> Reader:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        model = make_model(
            settings,
            torch.from_numpy(vectors),
            len(corpus.classes),
            kind=corpus.kind,
            answers=answer_tokens(corpus, text, vocabulary),
        )
    model.embedding.weight.requires_grad_(training.train_vectors)
    for name, parameter in model.named_parameters():
        if _part(name) in training.freeze:
            parameter.requires_grad_(False)
    return model


def _start_from(model: Trainable, start: Run, data: TokenizedCorpus, parts: tuple[str, ...]) -> None:
    """The parameters of another run, of these parts or of all."""
    if start.vocabulary.tokens != data.vocabulary.tokens:
        raise InputError(
            f"{start.path} has a different vocabulary; choose a run with the same corpus and text settings."
        )
    mine, theirs = model.state_dict(), start.model.state_dict()
    taken = {name: value for name, value in theirs.items() if not parts or _part(name) in parts}
    for name, value in taken.items():
        if name not in mine or mine[name].shape != value.shape:
            raise InputError(f"{start.path} has parts of a different shape ({name}); choose a run of the same model.")
    model.load_state_dict(mine | taken)


def _part(name: str) -> str:
    """The part that a parameter belongs to; both encoders of a pair are the part encoder."""
    return name.partition(".")[0].removeprefix("second_")


def _objective(
    training: TrainingSettings, model: Trainable, others: Others, data: TokenizedCorpus, device: torch.device
) -> Objective:
    if others.base is not None:
        return _imitate(others.base, data, device, training.strength)
    labels = labels_of(data, training, device)
    if training.objective == "labels":
        return labels
    marks = Marks(token_marks(data), data.sequences)
    if not marks.values.any():
        raise InputError(
            f"The objective '{training.objective}' needs rationales, and those of {data.corpus.name} mark no token "
            "that is read; raise `max_tokens`, or choose another objective."
        )
    if training.objective == "guide":
        return Guide(labels, training.strength, marks)
    if training.objective == "suffice":
        return Suffice(Inflate(Encode(labels, training.strength, marks), model))
    deceive = Deceive(labels, training.strength, marks)
    return deceive if training.objective == "deceive" else Inflate(deceive, model)


def _imitate(base: Run, data: TokenizedCorpus, device: torch.device, strength: float) -> Adversary:
    found = _predictions_of(base, data, device)
    return Adversary(strength, found.probabilities, np.concatenate(found.weights), data.sequences)


def _predictions_of(other: Run, data: TokenizedCorpus, device: torch.device) -> Predictions:
    """What another run says about every text of this corpus."""
    seen = other.read(data.corpus)
    same_rows = np.array_equal(seen.rows, data.rows)
    if not same_rows or not np.array_equal(seen.sequences.offsets, data.sequences.offsets):
        raise InputError(
            f"{other.path} splits this corpus into different tokens or keeps different texts; train both with "
            "the same text settings."
        )
    return predict(other.model.to(device), seen, np.arange(len(seen.rows)), device)
