"""Weights from a file: what `attentest translate --json` printed, changed or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from attentest.errors import InputError
from attentest.files import read_as
from attentest.translation.interventions import Given

_ROUNDING = 1e-3  # of a row of weights, which sums to 1 in float32


@dataclass(frozen=True)
class _Text:
    weights: dict[str, list[list[list[float]]]]


@dataclass(frozen=True)
class _File:
    translations: list[_Text]


def read_given(path: Path) -> list[Given]:
    """The weights of each text, by site: heads × queries × keys."""
    found: list[Given] = []
    for number, text in enumerate(read_as(path, _File).translations, 1):
        weights = {}
        for site, rows in text.weights.items():
            try:
                values = torch.tensor(rows, dtype=torch.float64)
            except ValueError as error:
                raise InputError(
                    f"{path}: the weights of text {number} at {site} are not rows of one length."
                ) from error
            if values.dim() != 3 or not values.numel():
                raise InputError(f"{path}: text {number} has no weights at {site}; expected heads × queries × keys.")
            if bool((values < 0).any()) or bool(((values.sum(-1) - 1).abs() > _ROUNDING).any()):
                raise InputError(f"{path}: the weights of text {number} at {site} are not shares that sum to 1.")
            weights[site] = values
        found.append(weights)
    return found
