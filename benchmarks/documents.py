"""Permutations of the sentences of documents: a HAN, whose decoder is affine in the sentences' states."""

from __future__ import annotations

import numpy as np
import torch

from attentest.corpora import build_corpus
from attentest.models import ModelSettings, make_model
from attentest.text import TextSettings, TokenizedCorpus, tokenize_corpus
from attentest.text.sentences import with_sentences
from benchmarks.pairs import permutation_row, scene_of, trained
from benchmarks.row import Row
from benchmarks.training import HIDDEN

DOCUMENTS, TRAINING, DIMENSION = 2000, 800, 50


def permutation() -> list[Row]:
    data = _made_up()
    torch.manual_seed(0)
    vectors = 0.1 * torch.randn(len(data.vocabulary), DIMENSION)
    model = make_model(ModelSettings(hidden=HIDDEN, structure="hierarchical"), vectors, 2)
    trained(model, data, np.arange(DOCUMENTS, DOCUMENTS + TRAINING), 2)
    at = scene_of("han", model, data, np.arange(DOCUMENTS))
    return [permutation_row(at, f"the sentences of {DOCUMENTS:,} documents, 2 classes", 50)]


def _made_up() -> TokenizedCorpus:
    """About 12 sentences of 15 words; one of them says the class."""
    generator = np.random.default_rng(0)
    texts, labels = [], generator.integers(0, 2, DOCUMENTS + TRAINING)
    for label in labels:
        sentences = []
        for _ in range(int(generator.integers(4, 24))):
            sentences.append([f"w{i}" for i in generator.zipf(1.3, int(generator.integers(5, 25))) % 8000])
        sentences[int(generator.integers(0, len(sentences)))].append(f"key{label}")
        texts.append(" . ".join(" ".join(words) for words in sentences) + " .")
    split = np.where(np.arange(len(labels)) < DOCUMENTS, "test", "train")
    split[-100:] = "dev"
    columns = {"text": texts, "label": labels.tolist(), "split": split.tolist()}
    return with_sentences(tokenize_corpus(build_corpus("documents", columns), TextSettings(tokenizer="whitespace")))
