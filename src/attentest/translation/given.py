"""Given weights: what `attentest translate --json` printed or a translation has, changed or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attentest.errors import InputError, brief
from attentest.files import read_as
from attentest.translation.interventions import ROUNDING, Given


@dataclass(frozen=True)
class _Text:
    weights: dict[str, list[list[list[float]]]]


@dataclass(frozen=True)
class _File:
    translations: list[_Text]


def read_given(path: Path) -> list[Given]:
    """The weights of each text, by site: heads × queries × keys."""
    try:
        return as_given([text.weights for text in read_as(path, _File).translations])
    except NotWeightsError as error:
        raise InputError(f"{path}: {error}") from error


class NotWeightsError(InputError):
    """What was given as weights is none."""


def as_given(texts: Any) -> list[Given]:
    """The same from arrays, tensors or lists."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise NotWeightsError(f"given is {brief(texts)}; expected a list with the weights of each text, by site.")
    return [_of_text(number, weights) for number, weights in enumerate(texts, 1)]


def _of_text(number: int, weights: Any) -> Given:
    if not isinstance(weights, Mapping):
        raise NotWeightsError(f"the weights of text {number} are {brief(weights)}; expected them by site.")
    found = {}
    for site, rows in weights.items():
        try:
            values = torch.as_tensor(np.asarray(rows, np.float64))
        except (ValueError, TypeError) as error:
            raise NotWeightsError(f"the weights of text {number} at {site} are not rows of one length.") from error
        if values.dim() != 3 or not values.numel():
            raise NotWeightsError(f"text {number} has no weights at {site}; expected heads × queries × keys.")
        if not bool((values >= 0).all() & ((values.sum(-1) - 1).abs() <= ROUNDING).all()):
            raise NotWeightsError(f"the weights of text {number} at {site} are not shares that sum to 1.")
        found[site] = values
    return found
