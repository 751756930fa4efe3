"""Heat maps of texts for a page: a token an element, its colour a class, its exact weight in a JSON island."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markupsafe import Markup

from attentest.report.contents import Instance, Variant
from attentest.report.parts.wording import NAME, TOKEN, shown

LEVELS = 20  # of colour: classes h1 to h20 of the style sheet
SCALE = 10_000  # weights are written as whole ten-thousandths
SECOND = 1000  # characters shown of the other text of a pair
ADVERSARY, PERMUTED, ORIGINAL = "adversar", "permut", "original"


@dataclass(frozen=True)
class Map:
    variant: Variant
    is_original: bool
    tokens: Markup


@dataclass(frozen=True)
class Text:
    """An instance as it is shown, with what it may be sorted by."""

    instance: Instance
    number: int  # in the order of the corpus
    id: str
    label: str | None
    predicted: str
    second: str | None
    maps: Sequence[Map]
    adversary: float | None  # how far the furthest adversary got
    permutation: float | None  # how far a permutation moved the prediction

    @property
    def is_wrong(self) -> bool:
        return self.instance.label is not None and self.instance.label != self.instance.variants[0].predicted

    @property
    def weights(self) -> list[list[int | None]]:
        return [[_whole(weight) for weight in variant.weights] for variant in self.instance.variants]


def texts(instances: Sequence[Instance]) -> list[Text]:
    """As they are shown at first: the furthest adversary first."""
    found = [_text(instance, i) for i, instance in enumerate((i for i in instances if i.variants), start=1)]
    return sorted(found, key=lambda text: -math.inf if text.adversary is None else text.adversary, reverse=True)


def island(shown_texts: Sequence[Text]) -> dict[str, Any]:
    """What the page knows beyond what it shows: number of a text -> weights of its variants."""
    return {"scale": SCALE, "weights": {str(text.number): text.weights for text in shown_texts}}


def _text(instance: Instance, number: int) -> Text:
    return Text(
        instance=instance,
        number=number,
        id=shown(instance.id, TOKEN),
        label=None if instance.label is None else shown(instance.label, NAME),
        predicted=shown(instance.variants[0].predicted, NAME),
        second=None if instance.second is None else shown(instance.second, SECOND),
        maps=[Map(v, i == 0 and v.name == ORIGINAL, _tokens(instance, v)) for i, v in enumerate(instance.variants)],
        adversary=_largest(v.jsd for v in instance.variants if ADVERSARY in v.name),
        permutation=_largest(v.tvd for v in instance.variants if PERMUTED in v.name),
    )


def _tokens(instance: Instance, variant: Variant) -> Markup:
    largest = _largest(variant.weights) or 0.0
    marks = instance.marks or [False] * len(instance.tokens)
    parts = []
    for token, gap, weight, marked in zip(instance.tokens, instance.gaps, variant.weights, marks, strict=True):
        level = round(LEVELS * weight / largest) if largest > 0 and math.isfinite(weight) else 0
        names = " ".join(([f"h{level}"] if level > 0 else []) + (["r"] if marked else []))
        kind = f' class="{names}"' if " " in names else f" class={names}" if names else ""
        parts.append(f"{_safe(gap)}<i{kind}>{_safe(token)}</i>")
    return Markup("".join(parts))


def _safe(text: str) -> str:
    return escape(shown(text, TOKEN), quote=False)


def _whole(weight: float) -> int | None:
    return round(weight * SCALE) if math.isfinite(weight) else None


def _largest(values: Any) -> float | None:
    return max((value for value in values if value is not None and math.isfinite(value)), default=None)
