"""Single sentences: the translation under the model's own weights and under others, and the weights on the source."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from attentest.display.heatmaps import Grid
from attentest.errors import InputError
from attentest.files import read_as, write_json
from attentest.translation.compare import COMPARED, OWN
from attentest.translation.pictures import maps_of
from attentest.trials.of_translation.changed import Changed
from attentest.trials.of_translation.free import spelled
from attentest.trials.of_translation.subject import TranslationSubject

FILE = "translations.json"
SHOWN = 8  # sentences, a random sample
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
        shape = {len(self.target_tokens)}, {len(self.source_tokens)}
        fit = [({len(rows)}, {len(row) for row in rows}) == shape for rows in self.weights.values()]
        if self.shown not in self.weights or not all(fit):
            raise InputError(f"The sentences of the page are damaged: the weights of {self.id} do not fit its tokens.")
        views = {name: np.array(rows, float) for name, rows in self.weights.items()}
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
    chosen = np.sort(np.random.default_rng(seed).permutation(len(subject))[:count])
    some = replace(subject, rows=subject.rows[chosen])
    own = subject.run.translate(
        some.source_texts, with_weights=True, device=str(subject.device), numbers=some.rows.tolist()
    )
    # those of the trials: on the source, and drawn by the same numbers
    others = {
        kind: spelled(some, some.translated(Changed(kind, some.model.source_sites).steps_of(some, seed)))
        for kind in COMPARED
    }
    return Sentences(
        [
            Sentence(
                grid.id,
                some.references[place],
                grid.source,
                {OWN: grid.translation} | {kind: found[place] for kind, found in others.items()},
                list(grid.columns),
                list(grid.rows),
                {name: np.round(view.astype(float), DIGITS).tolist() for name, view in grid.views.items()},
                grid.shown,
            )
            for place, grid in enumerate(maps_of(own, ids=some.ids))
        ]
    )
