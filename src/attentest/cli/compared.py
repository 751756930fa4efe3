"""attentest translate --compare: the translations of a text by weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attentest.cli.options import write
from attentest.cli.streams import say, say_json
from attentest.errors import InputError

if TYPE_CHECKING:
    from attentest.translation.compare import Compared
    from attentest.translation.run import TranslationRun


def say_compared(
    run: TranslationRun,
    found: Sequence[Compared],
    references: Sequence[str] | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """A table for each text, a page, or JSON; and BLEU by weights where the right translations are known."""
    from attentest.display.side_by_side import page, render

    sentences = [(one.source, one.translations) for one in found]
    scores = {} if references is None else _bleu(run, found, references)
    if out is not None:
        write(out, page(sentences))
    if as_json:
        say_json({"compared": [one.as_dict() for one in found], "bleu": scores})
        return
    if out is None and references is None:
        from rich.console import Console

        Console().print(render(sentences))
    for weights, score in scores.items():
        say(f"{weights:<10}  bleu {score:.2f}")


def check_page(out: Path | None) -> None:
    """Before anything is translated."""
    if out is not None and out.suffix != ".html":
        raise InputError(f"{out} is no page: with `compare`, `out` must end in .html.")


def _bleu(run: TranslationRun, found: Sequence[Compared], references: Sequence[str]) -> dict[str, float]:
    from attentest.translation.scores import bleu

    lower = run.record.text.lower
    return {
        weights: bleu([one.translations[weights] for one in found], references, lower=lower).value
        for weights in found[0].translations
    }
