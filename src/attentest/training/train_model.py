"""Train a model on a corpus into a run folder; killed at any moment, the same call goes on from its last epoch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from attentest import __version__
from attentest.corpora.corpus import Corpus
from attentest.errors import InputError, expect_type, unknown_name
from attentest.models.classifier import Classifier, ModelSettings
from attentest.text.prepare import TokenizedCorpus, tokenize_corpus, unknown_share
from attentest.text.settings import TextSettings
from attentest.text.vectors import initial_vectors
from attentest.training.checkpoint import load_checkpoint, save_checkpoint
from attentest.training.claim import clear_for, exclusive
from attentest.training.fit import TrainingSettings, fit
from attentest.training.folder import hash_of, write_json
from attentest.training.listener import Listener
from attentest.training.optimizer import PaperOptimizer
from attentest.training.predict import predict
from attentest.training.results import write_results
from attentest.training.run import FORMAT, Run, choose_device

GROUPS = {"text": TextSettings, "model": ModelSettings, "training": TrainingSettings}


class Settings(NamedTuple):
    text: TextSettings
    model: ModelSettings
    training: TrainingSettings


def train(
    corpus: Corpus,
    out: str | Path | None = None,
    *,
    device: str = "auto",
    overwrite: bool = False,
    preset: Run | str | Path | None = None,
    listener: Listener | None = None,
    **settings: Any,
) -> Run:
    """Train, test, and return the run.

    `settings` are fields of TextSettings, ModelSettings and TrainingSettings: encoder="cnn", lr=1e-4, seed=1…
    Without `out` the run lies in a temporary folder. `preset` is the run whose attention the projection
    `preset` uses as its weights.
    """
    listener = listener or Listener()
    if not isinstance(corpus, Corpus):
        raise InputError(f"train takes a corpus, not {type(corpus).__name__}: load one with attentest.load(…).")
    if isinstance(preset, str | Path):
        preset = Run(preset)
    settings_of = _sort_settings(corpus, settings)
    _check(corpus, settings_of.model, preset)
    identity = _identity(corpus, settings_of, preset)
    temporary = None
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="attentest-")
        out = temporary.name
    path = Path(out)
    with exclusive(path):
        clear_for(path, identity, overwrite, write=False)
        if (path / "result.json").exists() and not overwrite:
            listener.note(f"{path} already holds this run, finished; nothing was trained.")
        else:
            _train_into(path, corpus, settings_of, identity, preset, choose_device(device), overwrite, listener)
    return Run(path, temporary)


def _train_into(
    path: Path,
    corpus: Corpus,
    settings: Settings,
    identity: dict[str, Any],
    preset: Run | None,
    device: torch.device,
    overwrite: bool,
    listener: Listener,
) -> None:
    text, training = settings.text, settings.training
    for note in corpus.notes:
        listener.note(note)
    data = tokenize_corpus(corpus, text, report=lambda done, total: listener.progress("tokenise", done, total))
    vectors, found = initial_vectors(data.vocabulary, text, training.seed)
    notes = [*data.notes, *_describe(data, found)]
    for note in notes:
        listener.note(note)
    if preset is not None:
        data = _borrow_attention(data, preset, device)
    model = _build(settings.model, vectors, len(corpus.classes), training).to(device)
    attention_lr = training.lr if training.attention_lr is None else training.attention_lr
    optimizer = PaperOptimizer(model, training.lr, attention_lr, training.weight_decay)

    clear_for(path, identity, overwrite, write=True)
    made_with = {
        "source": dict(corpus.origin),
        "versions": {"attentest": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "device": str(device),
        "threads": torch.get_num_threads(),
        "notes": [*corpus.notes, *notes],
    }
    # first of all files: it says whose folder this is
    write_json(path / "run.json", identity | made_with)
    write_json(path / "vocabulary.json", data.vocabulary.tokens)
    progress = load_checkpoint(path, model, optimizer)
    if progress.epoch:
        listener.note(f"Went on after epoch {progress.epoch}, where an earlier training had stopped.")
    progress = fit(
        model,
        optimizer,
        data,
        training,
        device=device,
        progress=progress,
        watch=lambda done, total: listener.progress("train", done, total),
        save=lambda m, o, p: save_checkpoint(path, m, o, p),
    )
    listener.progress("test", 0, 1)
    write_results(path, model, data, predict(model, data, data.of_split("test"), device), progress)
    listener.progress("test", 1, 1)


def _check(corpus: Corpus, model: ModelSettings, preset: Run | None) -> None:
    if corpus.kind != "single":
        raise InputError(f"{corpus.name} is a {corpus.kind} corpus; the models here read one text with a label each.")
    if (model.projection == "preset") != (preset is not None):
        raise InputError("The projection 'preset' and a run to take its weights from go together; give both.")
    if preset is not None and preset.settings["model"]["projection"] == "preset":
        raise InputError(f"{preset.path} was itself trained on preset weights; take the run they came from.")


def _identity(corpus: Corpus, settings: Settings, preset: Run | None) -> dict[str, Any]:
    """What makes a run this run: the same identity in the same folder goes on or is found finished."""
    identity: dict[str, Any] = {
        "format": FORMAT,
        "corpus": {
            "name": corpus.name,
            "fingerprint": corpus.fingerprint(),
            "classes": list(corpus.classes),
            "rows": corpus.counts(),
        },
        "text": asdict(settings.text),
        "model": asdict(settings.model),
        "training": asdict(settings.training),
        "preset": preset and {"model": hash_of(preset.path / "model.safetensors")},
    }
    if Path(settings.text.vectors).is_file():
        identity["vectors"] = hash_of(Path(settings.text.vectors))
    return identity


def _sort_settings(corpus: Corpus, given: dict[str, Any]) -> Settings:
    """Each setting to the group that has it; the corpus's recipe stands where nothing was given."""
    homes = {field.name: (group, field.default) for group, kind in GROUPS.items() for field in fields(kind)}
    chosen: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    chosen["text"].update(corpus.recipe)
    for name, value in given.items():
        if name not in homes:
            raise unknown_name("setting", name, homes)
        group, default = homes[name]
        if value is not None or default is not None:
            expect_type(f"The setting {name}", value, float if default is None else type(default))
        chosen[group][name] = value
    return Settings(*(kind(**chosen[group]) for group, kind in GROUPS.items()))


def _describe(data: TokenizedCorpus, found: int) -> Iterable[str]:
    yield (
        f"{len(data.rows):,} texts of {data.sequences.lengths.mean():.0f} tokens on average, vocabulary "
        f"{len(data.vocabulary):,}, {100 * unknown_share(data, 'test'):.1f} % of test tokens unknown."
    )
    for split in ("dev", "test"):
        if len(np.unique(data.labels[data.split == split])) < 2:
            yield f"The {split} split has one class only, so it has no AUC; accuracy stands in for it."
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
