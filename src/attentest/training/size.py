"""How much memory a training takes: its parameters with what the optimiser keeps of them, and its largest batch."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from attentest.memory import check_memory
from attentest.models import ModelSettings, make_model
from attentest.text.prepare import TokenizedCorpus

NUMBER = 4  # bytes
COPIES = 6  # of a parameter: itself, its gradient, three moments, and its value in the best epoch
STATES = 10  # numbers kept for a hidden state until the way back: gates, cells and outputs


def check_encoder_size(model: nn.Module) -> None:
    """Refuse to train an encoder that this machine has no room for."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    check_memory(COPIES * NUMBER * parameters, f"Fine-tuning an encoder of {parameters:,} parameters")


def check_size(
    settings: ModelSettings, data: TokenizedCorpus, dimension: int, batch_size: int, device: torch.device
) -> None:
    """Refuse a model or batches that this machine has no room for; batches on a GPU are in the GPU's memory."""
    with torch.device("meta"):  # shapes without memory
        model = make_model(
            settings,
            torch.empty(len(data.vocabulary), dimension),
            len(data.corpus.classes),
            kind=data.corpus.kind,
        )
    parameters = sum(parameter.numel() for parameter in model.parameters())
    check_memory(COPIES * NUMBER * parameters, f"A model of {parameters:,} parameters (`hidden`, `dimension`)")
    if device.type != "cpu":
        return
    lengths = np.sort(data.sequences.lengths[data.of_split("train")])[-batch_size:]
    tokens = len(lengths) * int(lengths[-1])
    each = dimension + STATES * settings.hidden
    check_memory(NUMBER * tokens * each, f"A batch of {len(lengths):,} texts (`batch_size`, `max_tokens`, `hidden`)")
