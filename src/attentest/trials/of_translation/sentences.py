"""Single sentences: the translation under the model's own weights and under others, and the weights of every site."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from attentest.files import read_as, write_json
from attentest.translation.settings import KINDS
from attentest.trials.of_translation.subject import TranslationSubject

FILE = "translations.json"
SHOWN = 12  # sentences, a random sample
OWN = "own"
OTHERS = tuple(kind for kind in KINDS if kind != "given")
DIGITS = 4  # of a weight


@dataclass(frozen=True)
class Sentence:
    """`weights` are those of each source site, heads × target tokens × source tokens, as the translation was made."""

    id: str
    source: str
    reference: str
    translations: dict[str, str]  # by the weights: own, uniform …
    source_tokens: list[str]
    target_tokens: list[str]
    weights: dict[str, list[list[list[float]]]]


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
    texts = [subject.source_texts[place] for place in chosen]
    device = str(subject.device)
    own = subject.run.translate(texts, with_weights=True, device=device)
    others = {kind: subject.run.translate(texts, weights=kind, seed=seed, device=device) for kind in OTHERS}
    return Sentences(
        [
            Sentence(
                subject.ids[place],
                texts[number],
                subject.references[place],
                {OWN: own[number].text} | {kind: found[number].text for kind, found in others.items()},
                list(own[number].source_tokens),
                list(own[number].target_tokens),
                {
                    site: np.round(values.astype(float), DIGITS).tolist()
                    for site, values in own[number].weights.items()
                    if site in subject.run.model.source_sites
                },
            )
            for number, place in enumerate(chosen)
        ]
    )
