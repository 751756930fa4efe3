"""Trials of translation runs: each puts a question of the papers to attention that feeds back into decoding."""

from __future__ import annotations

OF_TRANSLATION = {
    "alignment": "attentest.trials.of_translation.alignment:Alignment",
    "translation-uniform": "attentest.trials.of_translation.uniform:TranslationUniform",
    "translation-permutation": "attentest.trials.of_translation.permutation:TranslationPermutation",
    "translation-removal": "attentest.trials.of_translation.removal:TranslationRemoval",
    "translation-layers": "attentest.trials.of_translation.layers:TranslationLayers",
    "translation-words": "attentest.trials.of_translation.words:TranslationWords",
}
PREFIX = "translation-"  # of those whose question is also put to models of texts with labels


def is_of_translation(name: str) -> bool:
    """Whether a trial or an experiment is for translation runs."""
    return name in OF_TRANSLATION or name.startswith(PREFIX)
