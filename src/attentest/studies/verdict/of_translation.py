"""The definitions that apply to translation models, with their tests; and why the others do not."""

from __future__ import annotations

from attentest.studies.experiments.translation_fixed import TranslationFixed
from attentest.studies.verdict.criterion import AT_LEAST, DEFINES, MODELS, Criterion, Definition
from attentest.studies.verdict.figures import entry_of
from attentest.trials.of_translation.permutation import TranslationPermutation
from attentest.trials.of_translation.uniform import TranslationUniform

OF_CLASSES = (
    "its tests compare the weights with one decision about a whole text; a translation is a decision at every step, "
    "and no test of this kind has been calibrated for it"
)
NOT_APPLICABLE = {  # definition -> why
    "stable": "no translation models with other seeds are trained, and their steps would not be the same",
    "exclusive": OF_CLASSES,
    "faithful": OF_CLASSES,
    "informative": OF_CLASSES,
    "plausible": (
        "people give no reasons for translations here; word links say which words are translations of each other (the "
        "trial alignment)"
    ),
}
DEFINITIONS_OF_TRANSLATION = {
    definition.name: definition
    for definition in (
        Definition(
            "used",
            "Translations change without the weights.",
            (
                Criterion(
                    "used.steps", TranslationUniform,
                    "share of steps whose likeliest token changes when the weights on the source are made uniform, "
                    "with the right tokens put in before it",
                    entry_of(TranslationUniform, "steps"), AT_LEAST, 0.05,
                    "our convention, one step in twenty", role=DEFINES,
                ),
                Criterion(
                    "used.bleu", TranslationUniform,
                    "BLEU lost when the weights on the source are made uniform at every step",
                    entry_of(TranslationUniform, "change", -1), AT_LEAST, 1.0,
                    "our convention, one point; Vashishth et al. 2019, Table 3, find losses of 29 points",
                ),
                Criterion(
                    "used.shuffled", TranslationPermutation,
                    "change of a step's distribution when its weights are shuffled (median TVD, mean over sentences)",
                    entry_of(TranslationPermutation, "moved"), AT_LEAST, 0.1,
                    "our convention, a tenth of the largest possible change",
                ),
            ),
            "A translation that changes with the weights depends on them; that does not mean that they point at the "
            "words that it translates.",
            "Vashishth et al. 2019 §4.1; Moradi et al. 2019",
            "The definition is the measured figure itself, so its errors are those of its interval.",
        ),
        Definition(
            "needed",
            "A model without attention translates worse.",
            (
                Criterion(
                    "needed.fixed", TranslationFixed,
                    "BLEU lost by a model trained with uniform weights on the source",
                    entry_of(TranslationFixed, "change", -1), AT_LEAST, 1.0,
                    "our convention, one point; Vashishth et al. 2019, Table 3, find losses of 9 to 11 points",
                    MODELS, DEFINES,
                ),
            ),
            "The interval is over sentences: another training of either model may give another difference.",
            "Vashishth et al. 2019 §4.1, Table 3",
            "The definition is the measured figure itself, so its errors are those of its interval over sentences.",
        ),
    )
}  # fmt: skip
CRITERIA_OF_TRANSLATION = {c.name: c for one in DEFINITIONS_OF_TRANSLATION.values() for c in one.criteria}
