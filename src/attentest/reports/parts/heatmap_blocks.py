"""Heat maps of texts for a page: a token an element, its colour a class, its exact weight in a JSON island."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markupsafe import Markup

from attentest.display.heatmaps.colour import LEGEND, strength
from attentest.reports.contents import Instance, Variant
from attentest.reports.parts.formatting import NAME, TOKEN, number, shown

LEVELS = 20  # of colour: classes h1 to h20 of the style sheet
SCALE = 10_000  # weights are written as whole ten-thousandths
SECOND = 1000  # characters shown of the other text of a pair


@dataclass(frozen=True)
class Map:
    variant: Variant
    is_first: bool  # the one that the others are measured from
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
    apart: float | None  # how far two models are from each other

    @property
    def furthest(self) -> float | None:
        return self.apart if self.adversary is None else self.adversary

    @property
    def is_wrong(self) -> bool:
        return self.instance.label is not None and self.instance.label != self.instance.variants[0].predicted

    @property
    def weights(self) -> list[list[int | None]]:
        return [[_whole(weight) for weight in variant.weights] for variant in self.instance.variants]


def texts(instances: Sequence[Instance]) -> list[Text]:
    """As they are shown at first: the furthest adversary, or the models furthest apart, first."""
    found = [_text(instance, i) for i, instance in enumerate((i for i in instances if i.variants), start=1)]
    return sorted(found, key=lambda text: -math.inf if text.furthest is None else text.furthest, reverse=True)


def island(shown_texts: Sequence[Text]) -> dict[str, Any]:
    """What the page knows beyond what it shows: number of a text -> weights of its variants."""
    return {"scale": SCALE, "weights": {str(text.number): text.weights for text in shown_texts}}


def legend() -> list[tuple[float, int]]:
    """Weights and the level of their colour, which is the same in every map."""
    return [(weight, round(LEVELS * strength(weight))) for weight in LEGEND]


def _text(instance: Instance, number: int) -> Text:
    return Text(
        instance=instance,
        number=number,
        id=shown(instance.id, TOKEN),
        label=None if instance.label is None else shown(instance.label, NAME),
        predicted=shown(instance.variants[0].predicted, NAME),
        second=None if instance.second is None else shown(instance.second, SECOND),
        maps=[Map(v, i == 0, _tokens(instance, v)) for i, v in enumerate(instance.variants)],
        adversary=_largest(v.jsd for v in instance.variants if v.role in ("adversarial", "trained adversary")),
        permutation=_largest(v.tvd for v in instance.variants if v.role == "permuted"),
        apart=_largest(v.jsd for v in instance.variants[1:] if v.role == "model"),
    )


def _tokens(instance: Instance, variant: Variant) -> Markup:
    marks = instance.marks or [False] * len(instance.tokens)
    parts = []
    rows = zip(instance.tokens, instance.gaps, variant.weights, marks, strict=True)
    for place, (token, gap, weight, marked) in enumerate(rows):
        level = round(LEVELS * strength(weight))
        names = " ".join(([f"h{level}"] if level > 0 else []) + (["r"] if marked else []))
        kind = f' class="{names}"' if " " in names else f" class={names}" if names else ""
        parts.append(f"{_cut(instance, place)}{_safe(gap)}<i{kind}>{_safe(token)}</i>")
    return Markup("".join(parts) + _cut(instance, len(parts)))


def _cut(instance: Instance, place: int) -> str:
    """What stands for the tokens before `place` that are not shown."""
    count = instance.cuts.get(place, 0)
    words = f"… {number(count)} {'token' if count == 1 else 'tokens'} …"
    return f"{' ' if place else ''}<span class=cut>{words}</span>" if count else ""


def _safe(text: str) -> str:
    return escape(shown(text, TOKEN), quote=False)


def _whole(weight: float) -> int | None:
    return round(weight * SCALE) if math.isfinite(weight) else None


def _largest(values: Any) -> float | None:
    return max((value for value in values if value is not None and math.isfinite(value)), default=None)
