"""Permutations on pairs of texts, with the affine decoder and with the one that has a tanh."""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np
import torch
from torch import Tensor

from attentest.corpora import build_corpus
from attentest.models import ModelSettings, make_model
from attentest.models.reader import Reader
from attentest.text import TextSettings, TokenizedCorpus, tokenize_corpus
from attentest.text.batches import training_batches
from attentest.training.fit import training_step
from attentest.training.objectives import Labels
from attentest.training.optimizer import PaperOptimizer
from attentest.trials.permutation import Permutation
from attentest.trials.reading import Reading, readings
from benchmarks.row import Row, seconds
from benchmarks.scene import Scene, in_turns, row
from benchmarks.training import BATCH, HIDDEN
from benchmarks.weights import PERMUTATIONS, encoded_batches, held, shuffled

TEXTS, TRAINING, CLASSES, DIMENSION = 9824, 4000, 3, 50
TARGETS = {"context": 50.0, "context+query": 10.0}


def permutation(decoder: str) -> list[Row]:
    return [
        permutation_row(_scene(decoder), f"{TEXTS:,} pairs, {CLASSES} classes, decoder {decoder}", TARGETS[decoder])
    ]


def permutation_row(at: Scene, texts: str, target: float) -> Row:
    kept, batches = at.read(at.rows), list(encoded_batches(at, at.rows))
    trial = Permutation(PERMUTATIONS)
    ours, twin = in_turns(partial(held, kept, trial), partial(_twin, batches), partial(_twin, batches[::40]))
    said = (
        f"median TVD of {PERMUTATIONS} permutations of {texts}; mean {held(kept, trial)['median_tvd'].mean():.4f}, "
        f"twin {float(torch.cat(_twin(batches)).mean()):.4f} (other draws)"
    )
    return row("permutation", at, said, ours, twin, target, few_of_ours=False)


@torch.no_grad()
def _twin(batches: list[Reading]) -> list[Tensor]:
    """As for single texts: each text's weights shuffled in turn, and a decode of the hidden states for each."""
    found = []
    for reading in batches:
        plain, changes = reading.probabilities, []
        for _ in range(PERMUTATIONS):
            logits = reading.model.decode(reading.encoded, {"token": shuffled(reading)})
            changes.append((logits.softmax(-1) - plain).abs().sum(-1) / 2)
        found.append(torch.stack(changes).median(0).values)
    return found


def trained(model: Reader, data: TokenizedCorpus, rows: np.ndarray, classes: int) -> Reader:
    optimizer = PaperOptimizer(model, 1e-3, 1e-3, 1e-5)
    for epoch in range(2):
        for batch in training_batches(data, rows, BATCH, np.random.default_rng(epoch)):
            training_step(model, optimizer, batch, Labels(torch.ones(classes)))
    return model.eval()


def scene_of(name: str, model: Reader, data: TokenizedCorpus, rows: np.ndarray) -> Scene:
    encoding = median(seconds(lambda: list(readings(model, data, rows))) for _ in range(3))
    return Scene(name, data, model, rows, rows, encoding)  # type: ignore[arg-type]


def _scene(decoder: str) -> Scene:
    data = _made_up()
    torch.manual_seed(0)
    vectors = 0.1 * torch.randn(len(data.vocabulary), DIMENSION)
    model = make_model(ModelSettings(hidden=HIDDEN, decoder=decoder), vectors, CLASSES, kind="pair")
    trained(model, data, np.arange(TEXTS, TEXTS + TRAINING), CLASSES)
    return scene_of(f"snli-{decoder}", model, data, np.arange(TEXTS))


def _made_up() -> TokenizedCorpus:
    """Premises of about 14 words and hypotheses of about 8; the label is decided by a word of each."""
    generator = np.random.default_rng(0)
    rows = TEXTS + TRAINING
    label = generator.integers(0, CLASSES, rows)
    first = generator.integers(0, CLASSES, rows)
    texts, seconds_ = [], []
    for one, wanted in zip(first, label, strict=True):
        words = [f"w{i}" for i in generator.zipf(1.3, int(generator.integers(6, 24))) % 8000]
        asked = [f"w{i}" for i in generator.zipf(1.3, int(generator.integers(3, 14))) % 8000]
        words.insert(int(generator.integers(0, len(words))), f"key{one}")
        asked.insert(int(generator.integers(0, len(asked))), f"key{(one + wanted) % CLASSES}")
        texts.append(" ".join(words))
        seconds_.append(" ".join(asked))
    split = np.where(np.arange(rows) < TEXTS, "test", "train")
    split[-100:] = "dev"
    columns = {"text": texts, "second": seconds_, "label": label.tolist(), "split": split.tolist()}
    return tokenize_corpus(build_corpus("snli-like", columns, kind="pair"), TextSettings(tokenizer="whitespace"))
