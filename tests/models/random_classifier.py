"""A small classifier in float64 whose every weight is drawn, and texts for it."""

from __future__ import annotations

import numpy as np
import torch

from attentest.models import Classifier, ModelSettings
from attentest.text.batches import Batch, batch_of_sequences

WORDS, DIMENSION, HIDDEN = 30, 5, 6
LENGTHS = (3, 1, 7, 4)


def make_model(encoder: str = "bilstm", projection: str = "softmax", classes: int = 2, seed: int = 0) -> Classifier:
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(WORDS, DIMENSION, generator=generator, dtype=torch.float64)
    model = Classifier(ModelSettings(encoder=encoder, projection=projection, hidden=HIDDEN), vectors, classes).double()
    for name, parameter in model.named_parameters():
        if not name.startswith("embedding"):
            parameter.data = 0.6 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model.eval()


def make_batch(lengths: tuple[int, ...] = LENGTHS) -> Batch:
    generator = np.random.default_rng(1)
    return batch_of_sequences([generator.integers(2, WORDS, n) for n in lengths])
