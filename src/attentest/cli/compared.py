"""What attentest translate prints: scores, and with --compare the translations of a text by weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attentest.cli.options import write
from attentest.cli.streams import say, say_json
from attentest.errors import InputError

if TYPE_CHECKING:
    from attentest.translation.compare import Compared
    from attentest.translation.run import TranslationRun
    from attentest.translation.scores import Score


def say_compared(
    found: Sequence[Compared], scores: Mapping[str, Mapping[str, Score]], out: Path | None, notes: Sequence[str] | None
) -> None:
    """A table for each text or a page, and scores by weights where the right translations are known; JSON if there are
    `notes` to go with it."""
    from attentest.display.side_by_side import page, render

    sentences = [(one.source, one.translations) for one in found]
    if out is not None:
        write(out, page(sentences))
    if notes is not None:
        by_weights = {weights: as_json(one) for weights, one in scores.items()}
        say_json({"compared": [one.as_dict() for one in found], "scores": by_weights, "notes": list(notes)})
        return
    if out is None and not scores:
        from rich.console import Console

        Console().print(render(sentences))
    for weights, one in scores.items():
        say(f"{weights:<10}  {written({name: score.value for name, score in one.items()})}")
    for name, score in next(iter(scores.values()), {}).items():
        say(f"{name}: {score.signature}")


def check_page(out: Path | None) -> None:
    """Before anything is translated."""
    if out is not None and out.suffix != ".html":
        raise InputError(f"{out} is no page: with `compare`, `out` must end in .html.")


def scores_of(run: TranslationRun, lines: Sequence[str], references: Sequence[str] | None) -> dict[str, Score]:
    """BLEU and chrF where the right translations are known; an empty line counts as one that says nothing."""
    if references is None:
        return {}
    from attentest.translation.scores import bleu, chrf

    lower = run.record.text.lower
    return {"bleu": bleu(lines, references, lower=lower), "chrf": chrf(lines, references, lower=lower)}


def as_json(scores: Mapping[str, Score]) -> dict[str, dict[str, float | str]]:
    return {name: {"value": one.value, "signature": one.signature} for name, one in scores.items()}


def written(scores: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.2f}" for name, value in scores.items())
