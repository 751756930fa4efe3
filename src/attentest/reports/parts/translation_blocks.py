"""Sentences of a model that translates: its translations by weights, and a map of each layer and head."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from attentest.display.heatmaps.grid_html import fragment as maps
from attentest.display.side_by_side import fragment as side_by_side
from attentest.trials.of_translation.sentences import Sentence


@dataclass(frozen=True)
class SentencePart:
    sentence: Sentence
    translations: Markup
    map: Markup


def part_of(sentence: Sentence) -> SentencePart:
    """Both fragments escape what they show."""
    tables = side_by_side([(sentence.source, {**sentence.translations, "reference": sentence.reference})])
    return SentencePart(sentence, Markup(tables), Markup(maps([sentence.grid()])))
