"""Two runs side by side, from their folders to the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from attentest.display.tables import html_table, text_table
from attentest.engine.scheduler import Outcome
from attentest.errors import InputError
from attentest.memory import most_bytes
from attentest.models.pretrained.precision import AUTO
from attentest.reports.result import Page
from attentest.reports.write import add_page, verdicts_of
from attentest.studies.comparison import plan_comparison
from attentest.studies.folder import PAGE
from attentest.studies.run_study import USUAL, RunningGiven, publishing, running
from attentest.studies.verdict import LABELS, check_apply, check_thresholds
from attentest.training.keywords import takes
from attentest.training.run import Run
from attentest.translation.run import TranslationRun
from attentest.trials.of_translation.asked import asked_of_translation

if TYPE_CHECKING:
    from rich.console import RenderableType

_HEADER = ("trial", "figure", "first", "second", "second − first")


@dataclass(frozen=True, repr=False)
class Comparison(Page):
    """The figures of two models and their differences."""

    outcome: Outcome = field(default_factory=Outcome)

    def as_dict(self) -> dict[str, Any]:
        rows = [
            {
                "trial": row.trial,
                "figure": row.figure,
                "first": row.first.as_dict(),
                "second": row.second.as_dict(),
                "difference": row.more.as_dict(),
            }
            for row in self.report.differences
        ]
        verdicts = verdicts_of(self.report)
        return {"page": str(self.page), "verdicts": verdicts, "differences": rows, "failed": self.outcome.failed}

    def _rows(self) -> list[dict[str, Any]]:
        """One for each figure that both have."""
        return [
            {
                "trial": row.trial,
                "figure": row.figure,
                "first": row.first.value,
                "second": row.second.value,
                "difference": row.more.value,
                "low": row.more.low,
                "high": row.more.high,
            }
            for row in self.report.differences
        ]

    def to_pandas(self) -> Any:
        """One row for each figure that both models have: first, second, and their difference with its interval."""
        return super().to_pandas()

    def show(self) -> None:
        """Display the differences in a notebook, print them elsewhere."""
        super().show()

    def _shown(self) -> list[tuple[str, str, str, str, str]]:
        return [(r.trial, r.figure, str(r.first), str(r.second), str(r.more)) for r in self.report.differences]

    def _caption(self) -> str:
        apart = [block.sections[0].answer for block in self.report.blocks if block.sections and not block.verdicts]
        return " ".join([*apart, str(self.page)])

    def __repr__(self) -> str:
        return f"Comparison({str(self.page)!r}: {self.report.title})"

    def __rich__(self) -> RenderableType:
        return text_table(_HEADER, self._shown(), self._caption())

    def _repr_html_(self) -> str:
        return html_table(_HEADER, self._shown(), self._caption())


@takes(RunningGiven, USUAL)
def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    out: str | Path = "compare",
    *,
    budget: str = "quick",
    texts: int | None = None,
    device: str = "auto",
    dtype: str = AUTO,
    memory: int | str | None = None,
    thresholds: Mapping[str, float] | None = None,
    **given: Unpack[RunningGiven],
) -> Comparison:
    """Run the same trials on two finished runs, measure how far they are apart, and write one page about both.

    `dtype="bfloat16"` puts pretrained encoders into that number type for the trials; `memory` bounds what a trial has
    in memory at a time, in bytes or written as "2GB".
    """
    check_thresholds(thresholds or {})
    check_apply({LABELS}, thresholds or ())
    how = running(given)
    for run in (a, b):
        if asked_of_translation(run):
            place = run.path if isinstance(run, TranslationRun) else run
            raise InputError(
                f"{place} is a translation run, and comparisons are of models of texts with labels. Score each with "
                "attentest translate, or audit each with attentest audit."
            )
    first, second = (run if isinstance(run, Run) else Run(run) for run in (a, b))
    folder = Path(out)
    planned = plan_comparison(first, second, budget, texts, device, dtype, most_bytes(memory))
    with publishing(planned, folder, **how) as (results, outcome):
        report = add_page(results, thresholds or {})
    return Comparison(folder, folder / PAGE, report, outcome)
