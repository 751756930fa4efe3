"""Train a translation model into a run folder; killed at any moment, the same call goes on from its last epoch."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import torch

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.files import hash_of, write_json, write_table
from attentest.memory import check_memory
from attentest.progress import Listener
from attentest.training.checkpoint import load_checkpoint, save_checkpoint
from attentest.training.claim import exclusive
from attentest.training.fine_tuning import FineTuningOptimizer
from attentest.training.fit import Progress
from attentest.training.folder import DamagedRunError
from attentest.training.run import choose_device
from attentest.training.tensors import write_tensors
from attentest.translation.data import ParallelData, read_corpus
from attentest.translation.fit import batches_of_an_epoch, fit, fixed_weights, translate_all
from attentest.translation.folder import (
    CHECKPOINT,
    FORMAT,
    HISTORY,
    KEPT,
    MODEL,
    RESULT,
    RUN,
    SOURCE,
    TARGET,
    TRANSLATIONS,
    ResultRecord,
    check_results,
    clear_for,
)
from attentest.translation.model import Translator, make_translator
from attentest.translation.run import TranslationRun
from attentest.translation.scores import check_library, scores_of
from attentest.translation.search import StepsOf
from attentest.translation.settings import TranslationSettings, sort_translation_settings
from attentest.version import __version__

NUMBER = 4  # bytes
COPIES = 5  # of a parameter: itself, its gradient, two moments, and its value in the best epoch
LOGITS = 4  # of a batch, each of the size of the vocabulary: themselves, what the loss keeps of them, gradients


def train_translation(
    corpus: Corpus,
    out: str | Path | None = None,
    *,
    device: str = "auto",
    overwrite: bool = False,
    listener: Listener | None = None,
    **settings: Any,
) -> TranslationRun:
    """Train a model on a corpus of translations, test it, and return the run.

    `settings` are fields of TranslationText, TranslationModel and TranslationTraining: model="transformer", lr=1e-4…
    Without `out` the run lies in a temporary folder.
    """
    listener = listener or Listener()
    if not isinstance(corpus, Corpus):
        raise InputError(
            f"train_translation takes a corpus, not {type(corpus).__name__}: load one with attentest.load(…)."
        )
    if corpus.kind != "generation":
        raise InputError(
            f"{corpus.name} is a corpus of texts with labels; a translation model needs translations: name their "
            "column with `target`."
        )
    check_library()
    chosen = sort_translation_settings(corpus, settings)
    identity = _identity(corpus, chosen)
    temporary = None
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="attentest-")
        out = temporary.name
    path = Path(out)
    with exclusive(path):
        clear_for(path, identity, overwrite, write=False)
        if (path / RESULT).exists() and not overwrite:
            check_results(path)
            listener.note(f"{path} already has this run, finished; nothing was trained.")
        else:
            _train_into(path, corpus, chosen, identity, choose_device(device), overwrite, listener)
    return TranslationRun(path, temporary)


def _identity(corpus: Corpus, settings: TranslationSettings) -> dict[str, Any]:
    """What makes a run this run: the same identity in the same folder goes on or is found finished."""
    rows = {split: sum(counts.values()) for split, counts in corpus.counts().items()}
    about = {"name": corpus.name, "fingerprint": corpus.fingerprint(), "rows": rows}
    return {"format": FORMAT, "corpus": about, **settings.as_dict()}


def _train_into(
    path: Path,
    corpus: Corpus,
    settings: TranslationSettings,
    identity: dict[str, Any],
    device: torch.device,
    overwrite: bool,
    listener: Listener,
) -> None:
    for note in corpus.notes:
        listener.note(note)
    data = read_corpus(corpus, settings.text, listener)
    for note in data.notes:
        listener.note(note)
    model = _made(settings, data).to(device)
    training = settings.training
    steps = training.epochs * batches_of_an_epoch(data, training)
    optimizer = FineTuningOptimizer(model, training.lr, training.weight_decay, steps=steps, warmup=training.warmup)
    clear_for(path, identity, overwrite, write=True)
    # first of all files: it says whose folder this is
    write_json(path / RUN, identity | _made_with(corpus, device, data))
    data.source_tokens.write(path / SOURCE)
    data.target_tokens.write(path / TARGET)
    try:
        progress = load_checkpoint(path, cast(Any, model), optimizer)
    except DamagedRunError as error:
        if not overwrite:
            raise
        listener.warning(f"{error.what}; the training starts again.")
        progress = Progress()
    if progress.epoch:
        listener.note(f"Resumed after epoch {progress.epoch}.")
    steps_of = fixed_weights(settings.model, model, training.seed)
    progress = fit(
        model,
        optimizer,
        data,
        training,
        lower=settings.text.lower,
        steps_of=steps_of,
        device=device,
        progress=progress,
        watch=partial(listener.progress, "train"),
        save=lambda model, optimizer, progress: save_checkpoint(path, cast(Any, model), optimizer, progress),
    )
    listener.progress("test", 0, 1)
    _write_results(path, model, data, settings, progress, steps_of, device)
    listener.progress("test", 1, 1)


def _made(settings: TranslationSettings, data: ParallelData) -> Translator:
    sizes = len(data.source_tokens), len(data.target_tokens)
    with torch.device("meta"):  # shapes without memory
        parameters = sum(p.numel() for p in make_translator(settings.model, *sizes).parameters())
    check_memory(COPIES * NUMBER * parameters, f"A model of {parameters:,} parameters (`hidden`, `vocabulary`)")
    logits = LOGITS * NUMBER * settings.training.batch_tokens * sizes[1]
    check_memory(logits, f"A batch of {settings.training.batch_tokens:,} tokens (`batch_tokens`, `vocabulary`)")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.training.seed)
        return make_translator(settings.model, *sizes)


def _made_with(corpus: Corpus, device: torch.device, data: ParallelData) -> dict[str, Any]:
    """What may differ between two trainings of one run."""
    return {
        "source": dict(corpus.origin),
        "versions": {"attentest": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "device": str(device),
        "threads": torch.get_num_threads(),
        "notes": [*corpus.notes, *data.notes],
    }


def _write_results(
    path: Path,
    model: Translator,
    data: ParallelData,
    settings: TranslationSettings,
    progress: Progress,
    steps_of: StepsOf,
    device: torch.device,
) -> None:
    test = data.of_split("test")
    found = translate_all(model, data, test, steps_of, device)
    tokens = data.target_tokens
    translations, references = [tokens.text(one.tokens) for one in found], data.texts("second", test)
    scores = scores_of(
        translations,
        references,
        [tokens.words(text) for text in translations],
        [tokens.words(text) for text in references],
        lower=settings.text.lower,
    )
    write_tensors(path / MODEL, model.state_dict())
    write_table(path / HISTORY, pa.Table.from_pylist(progress.history))
    ids = data.corpus.table["id"].take(data.rows[test]).to_pylist()
    columns = {"id": ids, "source": data.texts("text", test), "reference": references, "translation": translations}
    table = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    table["score"] = pa.array([one.score for one in found], pa.float64())
    write_table(path / TRANSLATIONS, pa.table(table))
    result = ResultRecord(
        progress.best_epoch,
        {name: one.value for name, one in scores.items()},
        {name: one.signature for name, one in scores.items()},
        {name: hash_of(path / name) for name in KEPT},
    )
    write_json(path / RESULT, asdict(result))
    (path / CHECKPOINT).unlink(missing_ok=True)
