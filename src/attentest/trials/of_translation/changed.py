"""Weights of a kind at some sites, at every step of decoding."""

from __future__ import annotations

from dataclasses import dataclass

from attentest.translation.search import StepsOf
from attentest.trials.layer_choices import span
from attentest.trials.of_translation.subject import TranslationSubject


@dataclass(frozen=True)
class Changed:
    kind: str
    sites: tuple[str, ...]

    def steps_of(self, subject: TranslationSubject, seed: int) -> StepsOf:
        return subject.with_weights(self.kind, self.sites, seed=seed)

    @property
    def in_encoder(self) -> bool:
        """Whether it also changes what the encoder makes of a source."""
        return any(site.startswith("encoder") for site in self.sites)

    @property
    def column(self) -> str:
        """In the names of a table's columns."""
        return f"{self.kind}, {span(self.sites)}"
