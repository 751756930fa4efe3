"""A translation run that stands trial, and the pairs of its test split that it is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int

from attentest.errors import InputError, expect_type
from attentest.files import inside
from attentest.text.sequences import Sequences
from attentest.training.run import choose_device
from attentest.translation.data import Pairs, by_length, flat, make_sources
from attentest.translation.model import Translator
from attentest.translation.run import TranslationRun
from attentest.translation.search import Hypothesis, StepsOf, greedy
from attentest.translation.settings import OtherWeights
from attentest.translation.tokens import END, UNKNOWN
from attentest.trials.subject import some_of


@dataclass(frozen=True)
class TranslationSubject:
    """Pair i is row `rows[i]` of the run's translations; random numbers are keyed by that row."""

    run: TranslationRun
    rows: Int[np.ndarray, "pairs"]
    folder: Path | None = None  # where findings are written
    device: torch.device | str = "cpu"

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def signature(self) -> dict[str, Any]:
        record = self.run.record
        settings = self.run.settings
        return {
            "corpus": record.corpus.name,
            "corpus_hash": record.corpus.fingerprint,
            "model": record.model.model,
            "translation": settings["model"],
            "training": settings["training"],
            "text": settings["text"],
            "texts": len(self.rows),
        }

    @cached_property
    def model(self) -> Translator:
        return self.run.model.to(self.device)

    @cached_property
    def ids(self) -> list[str]:
        return self._column("id")

    @cached_property
    def source_texts(self) -> list[str]:
        return self._column("source")

    @cached_property
    def references(self) -> list[str]:
        return self._column("reference")

    @cached_property
    def sources(self) -> Sequences:
        most, tokens = self.run.record.text.max_tokens, self.run.source_tokens
        return flat([np.array(tokens.ids(text)[:most] or [UNKNOWN], np.int32) for text in self.source_texts])

    @cached_property
    def targets(self) -> Sequences:
        """The references, each with the end."""
        most, tokens = self.run.record.text.max_tokens, self.run.target_tokens
        return flat([np.array([*(tokens.ids(text)[:most] or [UNKNOWN]), END], np.int32) for text in self.references])

    def with_weights(
        self, kind: str | None, sites: Sequence[str] = (), head: int | None = None, seed: int = 0
    ) -> StepsOf:
        """What happens to weights: the run's own, or others in the place of those of these sites [all]."""
        return self.run.steps_of(OtherWeights(kind, tuple(sites) if kind else (), head, seed))

    def batches(self) -> Iterator[tuple[Int[np.ndarray, "batch"], Pairs]]:
        """Places of pairs of about the same length, and the pairs."""
        for places in by_length(self.targets.lengths):
            yield places, self.pairs(places, self.targets)

    def pairs(self, places: Int[np.ndarray, "batch"], targets: Sequences) -> Pairs:
        """The sources at these places, with the references or other targets."""
        ids = torch.from_numpy(targets.padded(places)[0].astype(np.int64))
        return Pairs(make_sources(self.sources, places, self.rows), ids).to(self.device)

    def translated(self, steps_of: StepsOf) -> list[Hypothesis]:
        """Greedy translations (free decoding), in the subject's order."""
        found: dict[int, Hypothesis] = {}
        for places in by_length(self.sources.lengths):
            batch = make_sources(self.sources, places, self.rows).to(self.device)
            found |= zip(places.tolist(), greedy(self.model, batch.ids, batch.mask, batch.texts, steps_of), strict=True)
        return [found[place] for place in range(len(self))]

    @cached_property
    def own_translations(self) -> list[Hypothesis]:
        """With the run's own weights; several trials need them."""
        return self.translated(self.with_weights(None))

    def _column(self, name: str) -> list[str]:
        found: list[str] = self.run.translations[name].take(self.rows).to_pylist()
        return found


def translation_subject(
    run: TranslationRun, texts: int | None = None, device: str = "auto", folder: Path | None = None
) -> TranslationSubject:
    """All pairs of the test split, or the first `texts` of a fixed random order of it."""
    if texts is not None:
        expect_type("texts", texts, int)
    if texts is not None and texts < 1:
        raise InputError(f"texts is {texts}; it must be at least 1.")
    if not run.finished:
        raise InputError(f"{run.path} has no finished training; run the same command again to resume it.")
    rows = some_of(np.arange(len(run.translations)), texts)
    if not len(rows):
        raise InputError(f"{run.path} has no test pairs, so there is nothing to examine.")
    return TranslationSubject(run, rows, folder or inside(run.path, "trials"), choose_device(device))
