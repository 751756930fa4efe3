"""Subjects of translation trials: small runs whose models have random parameters in float64, and decoding in loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from tiny_translators import KINDS, TINY, WORDS

import attentest
from attentest.corpora.corpus import Corpus
from attentest.translation.model import Translator, make_translator
from attentest.translation.run import TranslationRun
from attentest.translation.settings import TranslationModel
from attentest.translation.tokens import START
from attentest.trials.of_translation.subject import TranslationSubject

ModelKinds = tuple(KINDS)
Weights = torch.Tensor  # heads × keys of one pair at one step
AtStep = Callable[[str, int, Weights], Weights | None]  # from a site, a step and its weights: those in their place


def varied_corpus(rows: int = 60) -> Corpus:
    """Sentences of 1 to 7 words; translations have some words more or fewer, so that both sides need padding."""
    draw = np.random.default_rng(4)
    english = list(WORDS)
    sources, targets = [], []
    for _ in range(rows):
        chosen = [english[i] for i in draw.integers(0, len(english), draw.integers(1, 8))]
        said = [WORDS[word] for word in chosen for _ in range(int(draw.integers(0, 3)))] or ["ein"]
        sources.append(" ".join(chosen))
        targets.append(" ".join(said))
    return attentest.load({"en": sources, "de": targets}, text="en", target="de", name="varied")


def trained(folder: Path, **settings: Any) -> Path:
    """A run that is finished after an epoch; its folder."""
    fast: dict[str, Any] = TINY | {"epochs": 1, "select_by": "loss", "min_frequency": 1} | settings
    with torch.enable_grad():
        return attentest.train_translation(varied_corpus(), folder, **fast).path


def subject_on(
    folder: Path,
    kind: str | TranslationModel,
    rows: Sequence[int] | None = None,
    fixed: Literal["none", "uniform"] = "none",
) -> TranslationSubject:
    """The run with another model, whose random parameters make each step's weights matter."""
    run = TranslationRun(folder)
    settings = KINDS[kind] if isinstance(kind, str) else kind
    run.record = replace(run.record, model=replace(settings, fixed=fixed))
    run.__dict__["model"] = sharp(settings, len(run.source_tokens), len(run.target_tokens))
    chosen = np.arange(len(run.translations)) if rows is None else np.array(rows)
    return TranslationSubject(run, chosen)


def sharp(settings: TranslationModel, source: int, target: int) -> Translator:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = make_translator(settings, source, target).double().eval()
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                torch.nn.init.normal_(parameter, std=0.8)
    return model


def looped(model: Translator, source: Sequence[int], target: Sequence[int], at_step: AtStep) -> list[list[float]]:
    """The distribution of each step, one pair without padding and one step after the other."""

    def steps(first: int):  # type: ignore[no-untyped-def]
        def change(site: str, weights: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor | None:
            assert weights.shape[0] == 1
            rows = [at_step(site, first + query, weights[0, :, query]) for query in range(weights.shape[2])]
            if all(row is None for row in rows):
                return None
            own = [weights[0, :, query] if row is None else row for query, row in enumerate(rows)]
            return torch.stack(own, 1)[None]

        return change

    with torch.no_grad():
        ids = torch.tensor([list(source)])
        memory = model.encode(ids, torch.ones_like(ids, dtype=torch.bool), steps)
        state = model.begin(memory)
        found = []
        for number, token in enumerate([START, *target[:-1]]):
            output, state = model.step(memory, state, torch.tensor([token]), number, steps)
            found.append(model.project(output)[0].softmax(-1).tolist())
    return found


def leave_all(site: str, step: int, weights: Weights) -> None:
    return None


def only_at(number: int, sites: Sequence[str], change: Callable[[str, Weights], Weights]) -> AtStep:
    return lambda site, step, weights: change(site, weights) if step == number and site in sites else None


def on_source(model: Translator, change: Callable[[Weights], Weights]) -> AtStep:
    return lambda site, step, weights: change(weights) if site in model.source_sites else None


def uniform(weights: Weights) -> Weights:
    return torch.full_like(weights, 1 / weights.shape[1])


def dropped(weights: Weights) -> Weights:
    return torch.tensor([_without(row.tolist(), int(row.argmax())) for row in weights], dtype=weights.dtype)


def _without(row: list[float], place: int) -> list[float]:
    left = [0.0 if i == place else value for i, value in enumerate(row)]
    return [value / sum(left) for value in left] if sum(left) > 0 else row


def without(weights: Weights, place: int) -> Weights:
    return torch.tensor([_without(row.tolist(), place) for row in weights], dtype=weights.dtype)


def tvd_of(p: Sequence[float], q: Sequence[float]) -> float:
    return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def jsd_of(p: Sequence[float], q: Sequence[float]) -> float:
    def kl(a: Sequence[float], b: Sequence[float]) -> float:
        return sum(x * math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0)

    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (kl(p, middle) + kl(q, middle)) / 2


def best(distribution: Sequence[float]) -> int:
    """Padding, unknown words and the start are never chosen."""
    return max((i for i in range(len(distribution)) if i not in (0, 1, 2)), key=lambda i: distribution[i])
