"""What a calibration found, as Markdown with pictures."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attentest.measures.roc import roc_curve
from attentest.studies.calibration.models import KnownModel, truth_of
from attentest.studies.calibration.rates import LEAST_AREA, WORST_ALARM, WORST_MISS, cases_of
from attentest.studies.experiments.known_truth import KINDS
from attentest.studies.verdict.calibration import Calibration, TestRates
from attentest.studies.verdict.criterion import AT_MOST, CALIBRATED
from attentest.studies.verdict.definitions import CRITERIA, DEFINITIONS
from attentest.studies.verdict.judge import NO, UNCLEAR, UNTESTED, YES
from attentest.trials.base import Chart
from attentest.trials.charts import lines

MOST_POINTS = 20  # of a curve


def roc_charts(models: Sequence[KnownModel], set_on: Sequence[str]) -> dict[str, Chart]:
    """For each definition, the curves of its tests on architectures that no threshold was set on."""
    charts = {}
    for definition in DEFINITIONS.values():
        rows: list[dict[str, Any]] = []
        for criterion in definition.criteria:
            cases = [c for c in cases_of(criterion, models) if c.model.architecture not in set_on]
            sign = -1 if criterion.side == AT_MOST else 1
            known = [(c.truth, sign * c.score) for c in cases if not math.isnan(c.score)]
            sides = [np.array([score for truth, score in known if truth == asked]) for asked in (True, False)]
            if criterion.role != CALIBRATED or not all(map(len, sides)):
                continue
            alarms, hits = roc_curve(*sides)
            some = np.unique(np.linspace(0, len(alarms) - 1, MOST_POINTS).astype(int))
            rows += [
                {"series": criterion.short, "x": float(x), "value": float(y), "low": float(y), "high": float(y)}
                for x, y in zip(alarms[some], hits[some], strict=True)
            ]
        if rows:
            about = (
                f"ROC curves of the tests of “{definition.name}” on architectures that no threshold was set on: share "
                "of true models above a threshold against the share of others above it."
            )
            charts[f"roc {definition.name}"] = lines(rows, "false alarms (0–1)", "hits (0–1)", about, y_domain=(0, 1))
    return charts


def table_of_models(models: Sequence[KnownModel]) -> str:
    """One row a model, as CSV: what it was made to be, and whether that was proven."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "corpus",
            "architecture",
            "kind",
            "truth",
            "seed",
            "accuracy",
            "follows the swap",
            "proven",
            "left out because",
        ]
    )
    for model in models:
        if model.seed is not None:
            numbers = ["" if value is None else f"{value:.3f}" for value in (model.accuracy, model.follows)]
            place = [model.corpus, model.architecture, model.kind, model.truth, model.seed]
            writer.writerow([*place, *numbers, "yes" if model.proven else "no", model.failure])
    return out.getvalue()


def markdown(found: Calibration, pictures: Mapping[str, str]) -> str:
    """The page; `pictures` are paths by title."""
    parts = [
        "# Calibration",
        _HOW.format(**{key: _words(value) for key, value in found.signature.items()}),
        "## Tests",
        _TESTS,
        *(_tests(name, found) for name in DEFINITIONS if _own(name, found)),
        "## Power by number of texts",
        _POWER,
        _power(found),
        "## Verdicts",
        _VERDICTS,
        _confusions(found),
        "By kind of model, as the experiment zoo makes them:",
        _by_kind(found),
        "## Where no truth could be constructed",
        "\n".join(f"- **{d.name}**: {d.truth}" for d in DEFINITIONS.values() if d.name not in found.verdicts),
        "## ROC curves",
        "\n\n".join(f"![{title}]({path})" for title, path in pictures.items()),
        "## Models that are left out",
        _left_out(found),
    ]
    return "\n\n".join(parts) + "\n"


_HOW = """\
*Made by `attentest calibrate`, budget {budget}; do not edit.*

How often is each test right? Here all tests were run on {models} models that were made to have a known truth, because
the words that decide are planted into their texts: honest models (attention trained on those words, hard or sparse
attention), models whose attention means nothing (random, untrained, shuffled in training) and deceptive ones
(attention penalised for looking at the words that decide, a second path around the attention, adversaries, models
trained to pass comprehensiveness or sufficiency all the same). Corpora: {corpora}. Architectures: {architectures}.

**Truth is proven, not assumed.** The planted words of every model's test texts are swapped for those of another
class: at least 80 % of its decisions must follow. The heaviest token of an honest model must be a planted word in at
least 80 % of the texts. Of the other models it must be one in at most 30 %, and their weight on these words must be at
most 0.1 above chance. {proven} models are proven; the others count in no rate, and are
[listed](#models-that-are-left-out), but for the plain ones, whose truth nobody knows. So the rates are those of models
that are clearly one or the other: of what lies in between, nobody knows the truth. “Architecture” means encoder and
alignment: of those that the rates are from, the encoders cnn and average also occur, with another alignment, among
those of the thresholds.

**Thresholds** are set on the architectures {set_on}: where hits minus false alarms are most, with at most 5 % false
alarms. **Rates** are from the others ({held_out}). Intervals of the AUROC resample whole architectures and corpora."""

_TESTS = f"""\
A test decides a verdict only if, on architectures that its threshold was not set on, its AUROC is at least
{LEAST_AREA}, and it gives a wrong yes to at most {WORST_ALARM:.0%} of the other models and a wrong no to at most
{WORST_MISS:.0%} of the true ones. One that gives more than 90 % of all models the same answer is flagged. Of those that
decide, the one with the best AUROC on the architectures of the thresholds does; the rest are shown as evidence. So the
architectures of the rates also say which tests may decide. A figure that is not defined counts as unclear."""

_POWER = """\
The share of true models that get a yes (hit), of other models that get a yes (false alarm), and of all that stay \
unclear, by the number of texts."""

_VERDICTS = """\
What the verdict says of models on architectures that no threshold was set on. “Right” is the share of right answers \
among the yes and no; its interval is exact and takes models as independent. Whether a test decides depends on its
AUROC itself, not on the interval of that, which is wide where few models have a known truth (the test of “stable”)."""


def _words(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _own(definition: str, found: Calibration) -> dict[str, TestRates]:
    return {name: test for name, test in found.tests.items() if name.partition(".")[0] == definition}


def _tests(definition: str, found: Calibration) -> str:
    rows = [
        f"| `{name}` | {CRITERIA[name].level} | {CRITERIA[name].side} {test.threshold:g} | {test.auroc.value:.3f} "
        f"[{test.auroc.low:.3f}, {test.auroc.high:.3f}] | {_last(test, 'hit')} | {_last(test, 'false_alarm')} | "
        f"{_last(test, 'unclear')} | {test.one_answer:.0%} | {'yes' if test.decides else f'no: {test.why}'} |"
        for name, test in _own(definition, found).items()
    ]
    head = [
        "| test | level | threshold | AUROC [95 %] | hit | false alarm | unclear | most frequent answer | decides |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([f"### {definition}", "", *head, *rows])


def _last(test: TestRates, rate: str) -> str:
    return f"{getattr(test.rates[-1], rate):.0%}" if test.rates else "–"


def _power(found: Calibration) -> str:
    sizes = sorted({rates.texts for test in found.tests.values() for rates in test.rates})
    rows = []
    for name, test in found.tests.items():
        by_size = {rates.texts: rates for rates in test.rates}
        cells = [
            f"{by_size[n].hit:.0%} / {by_size[n].false_alarm:.0%} / {by_size[n].unclear:.0%}" if n in by_size else "–"
            for n in sizes
        ]
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    head = f"| hit / false alarm / unclear | {' | '.join(f'{n:,} texts' for n in sizes)} |"
    return "\n".join([head, "|---" * (len(sizes) + 1) + "|", *rows])


def _confusions(found: Calibration) -> str:
    rows = []
    for name, confusion in found.verdicts.items():
        cells = [cell for truth in (YES, NO) for cell in _cells(confusion.counts.get(truth, {}))]
        right, unclear = confusion.share_right(), confusion.share_unclear()
        rows.append(f"| {name} | {confusion.texts:,} | {' | '.join(cells)} | {right} | {unclear:.0%} |")
    head = (
        "| verdict | texts | true: yes | true: no | true: unclear | other: yes | other: no | other: unclear | "
        "right [95 %] | unclear |"
    )
    return "\n".join([head, "|---" * 10 + "|", *rows])


def _by_kind(found: Calibration) -> str:
    rows = [
        f"| {name} | {kind} | {KINDS[kind].truth} | {' | '.join(_cells(row))} |"
        for name, confusion in found.verdicts.items()
        for kind, row in confusion.by_kind.items()
    ]
    return "\n".join(["| verdict | kind | made to be | yes | no | unclear |", "|---" * 6 + "|", *rows])


def _cells(row: Mapping[str, int]) -> list[str]:
    """How many models got each answer; not tested counts as unclear."""
    return [str(row.get(YES, 0)), str(row.get(NO, 0)), str(row.get(UNCLEAR, 0) + row.get(UNTESTED, 0))]


def _left_out(found: Calibration) -> str:
    counts = found.signature.get("left_out", {})
    rows = [f"| {kind} | {n} |" for kind, n in counts.items()]
    return "\n".join(["| kind | models |", "|---|---|", *rows]) if rows else "None."


def left_out(models: Sequence[KnownModel]) -> dict[str, int]:
    """How many models of each kind were not proven to be what they were made to be."""
    return dict(Counter(m.kind for m in models if m.seed is not None and m.failure))


def counted(models: Sequence[KnownModel]) -> int:
    return sum(m.seed is not None and truth_of(m, "faithful") is not None for m in models)
