"""What a page says in words: the facts of a model, notes about what was left out, and its lead."""

from __future__ import annotations

from collections.abc import Sequence

from attentest.reports.contents import Block
from attentest.studies.results import ModelResult, Summary

BARELY = 0.05  # above the share of the most frequent class
OPEN = {"unclear": "Inconclusive", "not tested": "Not tested"}  # answer -> how the lead calls it


def facts_of(about: ModelResult) -> list[tuple[str, str]]:
    made = about.settings
    if made is None:
        return [("texts", f"{about.texts:,}"), ("classes", ", ".join(about.classes))]
    corpus, model = made.corpus, made.model
    rows = {split: sum(count.values()) for split, count in corpus.rows.items()}
    parts = f"{model.encoder} + {model.alignment} + {model.projection}"
    scores = {name: value for name, value in about.metrics.items() if value is not None}
    found = [
        ("test scores", ", ".join(f"{name} {value:.3f}" for name, value in scores.items())),
        ("model", parts if model.structure == "flat" else f"{model.structure}, {parts}"),
        ("rows", ", ".join(f"{split} {count:,}" for split, count in rows.items())),
        ("classes", ", ".join(corpus.classes[:12]) + (" …" if len(corpus.classes) > 12 else "")),
        ("training", f"{made.training.epochs} epochs, vectors {made.text.vectors}, seed {made.training.seed}"),
        ("corpus hash", corpus.fingerprint),
    ]
    return [(name, value) for name, value in found if value]


def notes_of(summary: Summary) -> list[str]:
    """What was left out, what failed, and what became of the rows of each corpus."""
    of_corpora: dict[str, str] = {}
    several = len({about.corpus for about in summary.blocks.values()}) > 1
    for about in summary.blocks.values():
        of_corpora |= {f"{about.corpus}: {note}" if several else note: "" for note in about.notes}
    missing = [f"Missing, because a step failed: {name}." for name in summary.missing]
    weak = [note for name, about in summary.blocks.items() if (note := weakness(name, about))]
    return [*weak, *summary.notes, *missing, *of_corpora]


def weakness(name: str, about: ModelResult) -> str | None:
    """A model that has learned next to nothing has no attention worth explaining."""
    counts, accuracy = about.test_rows, about.metrics.get("accuracy")
    if accuracy is None or sum(counts.values()) < 1:
        return None
    most = max(counts.values()) / sum(counts.values())
    if accuracy > most + BARELY:
        return None
    above = "barely" if accuracy > most else "not"
    return (
        f"{name}: accuracy on the test texts ({accuracy:.3f}) is {above} above the majority class ({most:.3f}). Train "
        "longer, or on more rows, before reading its attention."
    )


def lead_of(blocks: Sequence[Block], weak: bool = False) -> str:
    """The verdicts on a single model in words, with a warning if it has learned next to nothing."""
    if len(blocks) != 1 or not blocks[0].verdicts:
        count = {1: "One model", 2: "Two models"}.get(len(blocks), f"{len(blocks)} models")
        return f"{count} examined: can the attention be trusted as an explanation, and in which sense?"
    answers: dict[str, list[str]] = {}
    for verdict in blocks[0].verdicts:
        answers.setdefault(verdict.answer, []).append(verdict.definition.name)
    yes, no = answers.get("yes", []), answers.get("no", [])
    decided = ", but ".join([*([_listed(yes, "and")] if yes else []), *([_denied(no)] if no else [])])
    parts = [
        *(["The model has barely learned its task, so the verdicts say little."] if weak else []),
        *([f"Attention is {decided}."] if decided else []),
        *(f"{word}: {', '.join(answers[answer])}." for answer, word in OPEN.items() if answer in answers),
    ]
    return " ".join(parts)


def _denied(names: Sequence[str]) -> str:
    return f"neither {names[0]} nor {names[1]}" if len(names) == 2 else f"not {_listed(names, 'or')}"


def _listed(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
