"""Train a model on a corpus into a run folder; killed at any moment, the same call goes on from its last epoch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attentest import __version__
from attentest.corpora.corpus import Corpus
from attentest.errors import InputError, unknown_name
from attentest.models.classifier import Classifier, ModelSettings
from attentest.text.prepare import TokenizedCorpus, tokenize_corpus, unknown_share
from attentest.text.settings import TextSettings
from attentest.text.vectors import initial_vectors
from attentest.training.checkpoint import load_checkpoint, save_checkpoint
from attentest.training.fit import TrainingSettings, fit
from attentest.training.folder import holds_files, read_json, remove_run, write_json
from attentest.training.listener import Listener
from attentest.training.optimizer import PaperOptimizer
from attentest.training.predict import predict
from attentest.training.results import write_results
from attentest.training.run import FORMAT, Run, choose_device

GROUPS = {"text": TextSettings, "model": ModelSettings, "training": TrainingSettings}


def train(
    corpus: Corpus,
    out: str | Path | None = None,
    *,
    device: str = "auto",
    overwrite: bool = False,
    preset: Run | None = None,
    listener: Listener | None = None,
    **settings: Any,
) -> Run:
    """Train, test, and return the run.

    `settings` are fields of TextSettings, ModelSettings and TrainingSettings: encoder="cnn", lr=1e-4, seed=1…
    Without `out` the run lies in a temporary folder. `preset` is the run whose attention the projection
    `preset` uses as its weights.
    """
    listener = listener or Listener()
    text, model_settings, training = _sort_settings(corpus, settings)
    if corpus.kind != "single":
        raise InputError(f"{corpus.name} is a {corpus.kind} corpus; the models here read one text with a label each.")
    if (model_settings.projection == "preset") != (preset is not None):
        raise InputError("The projection 'preset' and a run to take its weights from go together; give both.")
    chosen_device = choose_device(device)
    identity = {
        "format": FORMAT,
        "corpus": {
            "name": corpus.name,
            "fingerprint": corpus.fingerprint(),
            "classes": list(corpus.classes),
            "rows": corpus.counts(),
        },
        "text": asdict(text),
        "model": asdict(model_settings),
        "training": asdict(training),
        "preset": preset and {"run": str(preset.path), "corpus": preset.settings["corpus"]["fingerprint"]},
    }
    temporary = None
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="attentest-")
        out = temporary.name
    path = Path(out)
    _claim(path, identity, overwrite)
    if (path / "result.json").exists():
        listener.note(f"{path} already holds this run, finished; nothing was trained.")
        return Run(path, temporary)

    for note in corpus.notes:
        listener.note(note)
    data = tokenize_corpus(corpus, text, report=lambda done, total: listener.progress("tokenise", done, total))
    vectors, found = initial_vectors(data.vocabulary, text, training.seed)
    notes = [*corpus.notes, *data.notes, *_describe(data, found)]
    for note in notes[len(corpus.notes) :]:
        listener.note(note)
    if preset is not None:
        data = _borrow_attention(data, preset, chosen_device)
    versions = {"attentest": __version__, "torch": torch.__version__, "numpy": np.__version__}
    # first of all files: it says whose folder this is
    write_json(path / "run.json", identity | {"versions": versions, "notes": notes})
    write_json(path / "vocabulary.json", data.vocabulary.tokens)

    model = _build(model_settings, vectors, len(corpus.classes), training).to(chosen_device)
    optimizer = PaperOptimizer(model, training.lr, training.attention_lr or training.lr, training.weight_decay)
    progress = load_checkpoint(path, model, optimizer)
    if progress.epoch:
        listener.note(f"Went on after epoch {progress.epoch}, where an earlier training had stopped.")
    progress = fit(
        model,
        optimizer,
        data,
        training,
        device=chosen_device,
        progress=progress,
        watch=lambda done, total: listener.progress("train", done, total),
        save=lambda m, o, p: save_checkpoint(path, m, o, p),
    )
    test = data.of_split("test")
    listener.progress("test", 0, 1)
    predictions = predict(model, data, test, chosen_device)
    write_results(path, model, data, predictions, progress)
    listener.progress("test", 1, 1)
    return Run(path, temporary)


def _sort_settings(corpus: Corpus, given: dict[str, Any]) -> tuple[TextSettings, ModelSettings, TrainingSettings]:
    """Each setting to the group that has it; the corpus's recipe stands where nothing was given."""
    homes = {field.name: group for group, kind in GROUPS.items() for field in fields(kind)}
    sorted_settings: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    sorted_settings["text"].update(corpus.recipe)
    for name, value in given.items():
        if name not in homes:
            raise unknown_name("setting", name, homes)
        sorted_settings[homes[name]][name] = value
    return (
        TextSettings(**sorted_settings["text"]),
        ModelSettings(**sorted_settings["model"]),
        TrainingSettings(**sorted_settings["training"]),
    )


def _claim(path: Path, identity: dict[str, Any], overwrite: bool) -> None:
    """Make the folder ours: new, ours already, or another run's that may be overwritten."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; give a folder for the run.")
    if path.is_dir() and holds_files(path):
        if not (path / "run.json").exists():
            raise InputError(f"{path} holds files that are not a run; choose another folder.")
        if overwrite:
            remove_run(path)
        elif {key: value for key, value in read_json(path / "run.json").items() if key in identity} != identity:
            raise InputError(f"{path} already holds another run; choose another folder, or --overwrite to replace it.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be made: {error.strerror}.") from error


def _describe(data: TokenizedCorpus, found: int) -> Iterable[str]:
    yield (
        f"{len(data.rows):,} texts of {data.sequences.lengths.mean():.0f} tokens on average, vocabulary "
        f"{len(data.vocabulary):,}, {100 * unknown_share(data, 'test'):.1f} % of test tokens unknown."
    )
    if data.settings.vectors != "random":
        yield f"{found:,} of {len(data.vocabulary):,} tokens have a vector in {data.settings.vectors}."


def _build(settings: ModelSettings, vectors: np.ndarray, classes: int, training: TrainingSettings) -> Classifier:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        model = Classifier(settings, torch.from_numpy(vectors), classes)
    model.embedding.weight.requires_grad_(training.train_vectors)
    return model


def _borrow_attention(data: TokenizedCorpus, guide: Run, device: torch.device) -> TokenizedCorpus:
    """The guide's weights on every text of this corpus, as preset weights."""
    seen = tokenize_corpus(data.corpus, guide.text_settings, vocabulary=guide.vocabulary)
    same_rows = np.array_equal(seen.rows, data.rows)
    if not same_rows or not np.array_equal(seen.sequences.offsets, data.sequences.offsets):
        raise InputError(
            f"{guide.path} cuts this corpus into other tokens or keeps other texts; train both with the same "
            "text settings."
        )
    weights = predict(guide.model.to(device), seen, np.arange(len(seen.rows)), device).weights
    return data.with_preset(np.concatenate(weights))
