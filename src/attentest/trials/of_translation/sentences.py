"""Single sentences: the translation under the model's own weights and under others, and the weights on the source."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from attentest.display.heatmaps import Grid
from attentest.errors import InputError
from attentest.files import read_as, write_json
from attentest.translation.compare import compared
from attentest.translation.pictures import maps_of
from attentest.trials.of_translation.subject import TranslationSubject

FILE = "translations.json"
SHOWN = 12  # sentences, a random sample
DIGITS = 4  # of a weight


@dataclass(frozen=True)
class Sentence:
    """`weights` are those on the source of each layer and head as the translation was made: target × source tokens."""

    id: str
    reference: str
    source: str
    translations: dict[str, str]  # by the weights: own, uniform …
    source_tokens: list[str]
    target_tokens: list[str]
    weights: dict[str, list[list[float]]]
    shown: str  # the layer or head that is seen first

    def grid(self) -> Grid:
        views = {name: np.array(rows, float) for name, rows in self.weights.items()}
        shape = (len(self.target_tokens), len(self.source_tokens))
        if self.shown not in views or any(view.shape != shape for view in views.values()):
            raise InputError(f"{FILE} is damaged: the weights of {self.id} do not fit its tokens.")
        own = next(iter(self.translations.values()), "")
        return Grid(self.id, self.source, own, self.source_tokens, self.target_tokens, views, self.shown)


@dataclass(frozen=True)
class Sentences:
    sentences: list[Sentence]

    def write(self, path: Path) -> None:
        write_json(path, asdict(self))


def read_sentences(path: Path) -> Sentences:
    return read_as(path, Sentences)


def sentences(subject: TranslationSubject, count: int = SHOWN, seed: int = 0) -> Sentences:
    """A random sample of the subject's pairs."""
    chosen = np.sort(np.random.default_rng(seed).permutation(len(subject))[:count]).tolist()
    texts, ids = ([column[place] for place in chosen] for column in (subject.source_texts, subject.ids))
    device = str(subject.device)
    own = subject.run.translate(texts, with_weights=True, device=device)
    others = compared(subject.run, texts, seed=seed, device=device)
    return Sentences(
        [
            Sentence(
                grid.id,
                subject.references[place],
                grid.source,
                other.translations,
                list(grid.columns),
                list(grid.rows),
                {name: np.round(view.astype(float), DIGITS).tolist() for name, view in grid.views.items()},
                grid.shown,
            )
            for place, grid, other in zip(chosen, maps_of(own, ids=ids), others, strict=True)
        ]
    )
