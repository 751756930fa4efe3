"""Tiny translation models with random parameters, in float64, and sentences for them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

import attentest
from attentest.corpora.corpus import Corpus
from attentest.translation.model import Translator, make_translator
from attentest.translation.settings import TranslationModel

KINDS: dict[str, TranslationModel] = {
    "bahdanau": TranslationModel(dimension=6, hidden=8),
    "bahdanau, 2 layers": TranslationModel(dimension=6, hidden=8, layers=2),
    "luong general": TranslationModel(model="luong", dimension=6, hidden=8),
    "luong dot, 2 layers": TranslationModel(model="luong", score="dot", dimension=6, hidden=8, layers=2),
    "transformer": TranslationModel(model="transformer", hidden=8, heads=2, layers=2, wide=12),
}
SOURCE, TARGET = 11, 9  # sizes of the vocabularies
LENGTHS = (7, 3, 5, 1, 6)


def tiny(kind: str, seed: int = 0, source: int = SOURCE, target: int = TARGET) -> Translator:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make_translator(KINDS[kind], source, target).double().eval()
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                torch.nn.init.normal_(parameter, std=0.5)
    return model


def sentences(lengths: tuple[int, ...] = LENGTHS, seed: int = 1) -> tuple[Tensor, Tensor, np.ndarray]:
    """Ids, mask, and numbers that are not those of the places."""
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    ids = torch.randint(4, SOURCE, (len(lengths), longest), generator=generator) * mask
    return ids, mask, np.arange(len(lengths)) * 3 + 2


def targets(lengths: tuple[int, ...] = (4, 6, 2, 7, 1), seed: int = 2) -> Tensor:
    """With the end (3), filled up with padding (0)."""
    generator = torch.Generator().manual_seed(seed)
    rows = [[*torch.randint(4, TARGET, (n - 1,), generator=generator).tolist(), 3] for n in lengths]
    return torch.tensor([[*row, *[0] * (max(lengths) - len(row))] for row in rows])


WORDS = {
    **{"a": "ein", "two": "zwei", "three": "drei", "big": "große", "small": "kleine", "red": "rote"},
    **{"dogs": "hunde", "cats": "katzen", "run": "rennen", "sleep": "schlafen"},
}


def toy_pairs(rows: int = 120, seed: int = 0) -> list[tuple[str, str]]:
    """Sentences that are translated word by word."""
    draw = np.random.default_rng(seed)
    groups = (("a", "two", "three"), ("big", "small", "red"), ("dogs", "cats"), ("run", "sleep"))
    found = []
    for _ in range(rows):
        words = [str(draw.choice(group)) for group in groups]
        found.append((f"{' '.join(words)}.", f"{' '.join(WORDS[word] for word in words)}."))
    return found


def toy_corpus(rows: int = 120) -> Corpus:
    pairs = toy_pairs(rows)
    return attentest.load(
        {"en": [a for a, _ in pairs], "de": [b for _, b in pairs]}, text="en", target="de", name="toy"
    )


TINY: dict[str, object] = {"dimension": 16, "hidden": 16, "batch_tokens": 200, "lr": 0.01, "epochs": 2}
