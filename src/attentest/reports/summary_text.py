"""What a page says in words: the facts of a model, notes about what was left out, and its lead."""

from __future__ import annotations

from collections.abc import Sequence

from attentest.models.pretrained.sinks import FEWEST, TIMES
from attentest.models.settings import ModelSettings
from attentest.reports.contents import Block
from attentest.studies.results import ModelRecord, ModelResult, Summary, TranslationRecord, counting_of
from attentest.training.settings import TrainingSettings
from attentest.trials.sinks import FoundSink

BARELY = 0.05  # a score that is so little above or below another is not clearly so
ENOUGH = 0.8  # of what a model without attention gains over the most frequent class
SKEWED = 0.8  # share of the most frequent class from which accuracy says little
CHANCE = 0.5  # AUC
LITTLE_BLEU = 5.0  # our convention: below it hardly a phrase is right
BASELINE = "TF-IDF with logistic regression"
OPEN = {
    "unclear": "Inconclusive",
    "not tested": "Not tested",
    "does not apply": "Does not apply",
}  # answer -> how the lead calls it


def facts_of(about: ModelResult) -> list[tuple[str, str]]:
    made = about.settings
    if about.translation is not None:
        return _facts_of_translation(about, about.translation)
    if made is None:
        return [("texts", f"{about.texts:,}"), ("classes", ", ".join(about.classes))]
    corpus, model = made.corpus, made.model
    rows = {split: sum(count.values()) for split, count in corpus.rows.items()}
    found = [
        (f"scores on all {tested_texts(about):,} test texts", _scores(about.metrics)),
        (f"the same of {BASELINE}", _scores(about.baseline or {})),
        ("model", _parts(model)),
        ("rows", ", ".join(f"{split} {count:,}" for split, count in rows.items())),
        ("classes", ", ".join(corpus.classes[:12]) + (" …" if len(corpus.classes) > 12 else "")),
        ("training", _training(made)),
        ("sinks", sinks_text(about)),
        ("corpus hash", corpus.fingerprint),
    ]
    return [(name, value) for name, value in found if value]


def _facts_of_translation(about: ModelResult, made: TranslationRecord) -> list[tuple[str, str]]:
    model, training = made.model, made.training
    parts = [model.model, f"{model.layers} layer{'s' if model.layers > 1 else ''} of {model.hidden}"]
    parts += [f"{model.heads} heads"] if model.model == "transformer" else []
    parts += [f"{model.fixed} weights on the source, not learned"] if model.fixed != "none" else []
    scores = [f"{name} {value:.2f}" for name, value in about.metrics.items() if value is not None]
    return [
        (f"scores on all {about.texts:,} test pairs", ", ".join(scores)),
        *((f"how {name} was computed", said) for name, said in made.signatures.items()),
        ("model", ", ".join(parts)),
        ("pairs", ", ".join(f"{split} {count:,}" for split, count in made.corpus.rows.items())),
        ("tokens", f"{made.text.tokenizer}, {'lower-cased' if made.text.lower else 'case kept'}"),
        ("training", f"{training.epochs} epochs, seed {training.seed}"),
        ("corpus hash", made.corpus.fingerprint),
    ]


def sinks_text(about: ModelResult) -> str:
    """Which tokens draw weight whatever the text says; empty where nobody looked for them."""
    search = about.sinks
    if search is None:
        return ""
    texts = f"{search.texts:,} test texts"
    if not search.enough:
        return (
            f"not known: of {texts} no class is predicted for {FEWEST} or more, so there are no verdicts without sinks"
        )
    if not search.sinks:
        return (
            f"none on {texts}: nothing that stands in most of them has {TIMES:g} times its share of the weight or "
            "more, so the verdicts without sinks would be the same"
        )
    told = [
        f"{_sink_name(one)} ({one.weight:.2f} of the weight, {one.times:.1f} times its share)" for one in search.sinks
    ]
    return f"{', '.join(told)}; found on {texts}, which the verdicts without sinks leave out"


def _sink_name(sink: FoundSink) -> str:
    return f"the {sink.name}" if sink.piece is None else f"“{sink.name}”"


def _parts(model: ModelSettings) -> str:
    if model.pretrained is not None:
        return model.name if model.projection == "softmax" else f"{model.name} + {model.projection}"
    parts = f"{model.encoder} + {model.alignment} + {model.projection}"
    return parts if model.structure == "flat" else f"{model.structure}, {parts}"


def _training(made: ModelRecord) -> str:
    """Nothing of a model that was trained elsewhere, whose record has the defaults of other models."""
    if made.model.pretrained is None:
        return f"{made.training.epochs} epochs, vectors {made.text.vectors}, seed {made.training.seed}"
    if made.training == TrainingSettings():
        return ""
    return f"{made.training.epochs} epochs, seed {made.training.seed}"


def _scores(metrics: dict[str, float | None]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in metrics.items() if value is not None)


def notes_of(summary: Summary) -> list[str]:
    """What was left out, what failed, and what became of the rows of each corpus."""
    of_corpora: dict[str, str] = {}
    of_several = len({about.corpus for about in summary.blocks.values()}) > 1
    for about in summary.blocks.values():
        of_corpora |= {f"{about.corpus}: {note}" if of_several else note: "" for note in about.notes}
    missing = [f"Missing, because a step failed: {name}." for name in summary.missing]
    models = {name: about for name, about in summary.blocks.items() if not counting_of(name)}
    weak = [note for name, about in models.items() if (note := weakness(name, about))]
    several = len(models) > 1
    sinks = [
        f"Sinks{f' of {name}' if several else ''} (tokens that draw weight whatever the text says): {said}."
        for name, about in models.items()
        if (said := sinks_text(about))
    ]
    return [*weak, *summary.notes, *sinks, *missing, *of_corpora]


def tested_texts(about: ModelResult) -> int:
    return sum(about.test_rows.values())


def majority(about: ModelResult) -> float | None:
    """The share of the most frequent class among the test texts."""
    return max(about.test_rows.values()) / tested_texts(about) if tested_texts(about) > 0 else None


def is_skewed(about: ModelResult) -> bool:
    most = majority(about)
    return most is not None and most >= SKEWED


def weakness(name: str, about: ModelResult) -> str | None:
    """A model that has learned next to nothing has no attention worth explaining."""
    if about.translation is not None:
        return _weak_translation(name, about)
    most = majority(about)
    measure = "auc" if is_skewed(about) and about.metrics.get("auc") is not None else "accuracy"
    value = about.metrics.get(measure)
    if value is None or most is None:
        return None
    floor, floor_name = (CHANCE, "chance") if measure == "auc" else (most, "the majority class")
    reached = (about.baseline or {}).get(measure)
    margin = BARELY if reached is None else 0.0  # with a baseline to compare with, above is enough
    if value <= floor + margin:
        against = f"is {'barely' if value > floor else 'not'} above {floor_name} ({floor:.3f})"
    elif reached is not None and value < min(reached - BARELY, floor + ENOUGH * (reached - floor)):
        against = f"is clearly below what {BASELINE} reaches without attention ({reached:.3f})"
    else:
        return None
    called = "AUC" if measure == "auc" else "accuracy"
    return (
        f"{name}: {called} on all {tested_texts(about):,} test texts ({value:.3f}) {against}. The model has not "
        "learned its task well: train longer, or on more texts, before reading its attention."
    )


def _weak_translation(name: str, about: ModelResult) -> str | None:
    reached = about.metrics.get("bleu")
    if reached is None or reached >= LITTLE_BLEU:
        return None
    return (
        f"{name}: BLEU on all {about.texts:,} test pairs ({reached:.1f}) is below {LITTLE_BLEU:g}. The model has not "
        "learned to translate: train longer, or on more pairs, before reading its attention."
    )


def models_of(blocks: Sequence[Block]) -> list[Block]:
    """Each model once: not again with its tokens counted in another way."""
    return [block for block in blocks if not counting_of(block.name)]


def lead_of(blocks: Sequence[Block], weak: bool = False) -> str:
    """The verdicts on a single model in words, with a warning if it has learned next to nothing."""
    models = models_of(blocks)
    if len(models) != 1 or not blocks[0].verdicts:
        count = {1: "One model", 2: "Two models"}.get(len(models), f"{len(models)} models")
        return f"{count} examined: can the attention be trusted as an explanation, and in which sense?"
    answers: dict[str, list[str]] = {}
    for verdict in blocks[0].verdicts:
        answers.setdefault(verdict.answer, []).append(verdict.definition.name)
    yes, no = answers.get("yes", []), answers.get("no", [])
    decided = ", but ".join([*([listed(yes, "and")] if yes else []), *([_denied(no)] if no else [])])
    parts = [
        *(["The model has not learned its task well, so the verdicts say little."] if weak else []),
        *([f"Attention is {decided}."] if decided else []),
        *(f"{word}: {', '.join(answers[answer])}." for answer, word in OPEN.items() if answer in answers),
    ]
    return " ".join(parts)


def _denied(names: Sequence[str]) -> str:
    return f"neither {names[0]} nor {names[1]}" if len(names) == 2 else f"not {listed(names, 'or')}"


def listed(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
