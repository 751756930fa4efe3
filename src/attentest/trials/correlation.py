"""T8: do attention weights agree with the importance of tokens and of hidden states?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from attentest.interventions import permuted
from attentest.measures.intervals import Estimate, deviation, mean, ratio, share
from attentest.measures.kendall import kendall_tau
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, Examiner, Trial, column, words
from attentest.trials.cells import Cell, cell
from attentest.trials.charts import box, boxes, class_groups, histograms
from attentest.trials.reading import Reading
from attentest.trials.scores import (
    ATTENTION,
    ScoreSettings,
    check_names,
    ranked,
    require_usable,
    usable,
    works_of_scores,
)
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Works

PAPERS = (
    "gradient-input-fixed",
    "gradient-input",
    "gradient",
    "leave-one-out",
    "hidden-gradient",
    "hidden-leave-one-out",
)
SIGNIFICANT = 0.05  # or less: Jain & Wallace 2019, uncorrected
TAU_BINS = np.linspace(-1, 1, 41)
BY_CLASS = ("gradient-input-fixed", "leave-one-out")  # the two of Jain & Wallace 2019
GRADIENTS, LEFT_OUT = "attention with gradients", "attention with leave-one-out"
OF_INPUTS_AND_STATES = {  # chart -> its figure in Meister et al. 2021, what is compared there
    GRADIENTS: ("Fig. 1", {"gradient": "of inputs", "hidden-gradient": "of hidden states"}),
    LEFT_OUT: ("Fig. 4", {"leave-one-out": "of inputs", "hidden-leave-one-out": "of hidden states"}),
}


@dataclass(frozen=True)
class Correlation(Trial):
    """Kendall's τ-b of attention with each importance measure, and between the measures: the ceiling it could reach.

    `measures` are names of `attentest.trials.scores.SCORES`; none stands for the papers': |gradient × input| with
    attention held fixed (Jain & Wallace 2019) and not, the L2 norm of the gradient (Meister et al. 2021, eq. 4),
    leave-one-out with the token truly removed (both), and gradient and leave-one-out of the hidden states.
    """

    name: ClassVar[str] = "correlation"
    number: ClassVar[str] = "T8"
    cost: ClassVar[float] = 12
    keys: ClassVar[Mapping[str, str]] = {
        "gradient": "τ attention – gradient-input-fixed",
        "leave-one-out": "τ attention – leave-one-out",
        "ceiling": "τ gradient-input-fixed – leave-one-out",
        "gradient null": "null of gradient-input-fixed",
        "leave-one-out null": "null of leave-one-out",
        "gradient position": "position of gradient-input-fixed",
        "leave-one-out position": "position of leave-one-out",
    }
    question: ClassVar[str] = "Does attention rank tokens as other importance measures do?"
    source: ClassVar[str] = "Jain & Wallace 2019 §4.1, Table 2; Meister et al. 2021 §4, Table 6"
    how_to_read: ClassVar[str] = (
        "A τ near 1 means that attention ranks the tokens as the other measure does; near 0, the two rankings have "
        "nothing in common. Compare it with the τ between the other measures, which is the most one can expect of "
        "attention. None of the measures is ground truth, so a low τ alone does not make attention wrong."
    )
    needs: ClassVar[str] = "attention weights; embed and encode_embedded for gradients with respect to inputs"

    measures: tuple[str, ...] = setting((), "Importance measures, separated by commas; none: the papers' six.")
    tolerance: float = setting(
        1e-6,
        "Tolerance of leave-one-out on a BiLSTM: smaller changes of states are ignored, closer scores are tied.",
        least=0,
        most=1,
    )
    samples: int = setting(1000, "Samples for each text of LIME and KernelSHAP.", least=1, most=100_000)
    seed: int = setting(0, "Random seed for LIME, KernelSHAP and the measure random.", least=0, most=LARGEST_SEED)

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        for label, estimate in summary.items():
            kind, _, pair = label.partition(" ")
            measure = {"τ": "tau", "significant": "significant share"}.get(kind)
            pair, _, group = pair.partition(", ")
            if measure is None or (group and group not in classes):
                continue
            spread = summary.get(label.replace("τ", "std", 1)) if kind == "τ" else None
            told = None if spread is None or math.isnan(spread.value) else spread.value
            for variant in [f"class {classes.index(group)}"] if group else ["all", projection]:
                yield cell(variant, f"{measure} {pair}", estimate, deviation=told)
                if kind == "significant":
                    yield cell(variant, f"{measure} % {pair}", estimate, 100)

    def __post_init__(self) -> None:
        check_names(self.measures)
        check_values(self)

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        return _charts(table)

    def works(self, load: Load) -> Works:
        settings = ScoreSettings(self.tolerance, self.samples, self.seed)
        return works_of_scores(load, self._measures(load.subject), settings)

    def examiner(self, subject: Subject) -> Examiner:
        require_usable(subject.model, self.measures, subject.chosen_site)
        return _Examiner(self, self._measures(subject))

    def _measures(self, subject: Subject) -> tuple[str, ...]:
        names = self.measures or usable(subject.model, PAPERS)
        return tuple(name for name in dict.fromkeys(names) if name != ATTENTION)


@dataclass(frozen=True)
class _Examiner:
    trial: Correlation
    measures: tuple[str, ...]

    def examine(self, reading: Reading) -> Columns:
        settings = ScoreSettings(self.trial.tolerance, self.trial.samples, self.trial.seed)
        scores = {name: ranked(reading, name, settings) for name in (ATTENTION, *self.measures)}
        columns: dict[str, np.ndarray] = {}
        for first, second in combinations(scores, 2):
            tau, p = kendall_tau(scores[first], scores[second], reading.mask)
            columns |= {f"tau {first} – {second}": tau, f"p {first} – {second}": p}
        shuffled = permuted(scores[ATTENTION], reading.mask, reading.rows, self.trial.seed)
        for name in BY_CLASS:
            if name in scores:
                columns[f"null {name}"] = kendall_tau(shuffled, scores[name], reading.mask)[0]
        return columns

    def conclude(self, table: pa.Table) -> Conclusion:
        pairs = _pairs(table)
        predicted = words(table, "predicted")
        summary: dict[str, Estimate] = {}
        for pair in pairs:
            tau, p = column(table, f"tau {pair}"), column(table, f"p {pair}")
            summary[f"τ {pair}"] = mean(tau, (-1, 1))
            summary[f"std {pair}"] = deviation(tau)
            significant = np.where(np.isnan(p), np.nan, p <= SIGNIFICANT)
            summary[f"significant {pair}"] = share(significant)
            for name in sorted(set(predicted)):
                summary[f"τ {pair}, {name}"] = mean(tau[predicted == name], (-1, 1))
                summary[f"std {pair}, {name}"] = deviation(tau[predicted == name])
                summary[f"significant {pair}, {name}"] = share(significant[predicted == name])
        summary |= _references(table)
        return Conclusion(_answer(summary, pairs), summary)


def _references(table: pa.Table) -> dict[str, Estimate]:
    """What permuted attention reaches, and where attention is between that and what the measures reach themselves."""
    found: dict[str, Estimate] = {}
    ceiling = f"tau {' – '.join(BY_CLASS)}"
    for name in BY_CLASS:
        if f"null {name}" in table.column_names:
            null, own = column(table, f"null {name}"), column(table, f"tau {ATTENTION} – {name}")
            found[f"null of {name}"] = mean(null, (-1, 1))
            if ceiling in table.column_names:
                found[f"position of {name}"] = ratio(own - null, column(table, ceiling) - null)
    return found


def _charts(table: pa.Table) -> dict[str, Chart]:
    taus = {pair: column(table, f"tau {pair}") for pair in _pairs(table)}
    own = {p.removeprefix(f"{ATTENTION} – "): tau for p, tau in taus.items() if p.startswith(f"{ATTENTION} – ")}
    usual = {name: own[name] for name in BY_CLASS if name in own}
    charts = {
        "Kendall τ by class": histograms(
            {f"attention – {name}": tau for name, tau in (usual or own).items()},
            class_groups(table),
            TAU_BINS,
            "Kendall τ-b (−1 to 1)",
            "Histograms of the rank correlation of attention with importance, by predicted class, as in Jain & "
            "Wallace 2019 §4.1.",
        )
    }
    for title, (figure, _) in OF_INPUTS_AND_STATES.items():
        rows = tau_rows(table, title)
        if rows:
            what = title.removeprefix("attention with ")
            charts[title] = boxes(
                rows,
                f"Kendall τ-b of attention with {what} (−1 to 1)",
                f"Box plots of the rank correlation of attention with {what} of inputs and of hidden states, as in "
                f"Meister et al. 2021, {figure}; whiskers reach 1.5 interquartile ranges.",
                (-1, 1),
                what,
            )
    charts["all pairs of measures"] = boxes(
        [row for pair, tau in taus.items() for row in box(pair, tau)],
        "Kendall τ-b (−1 to 1)",
        "Box plots of the rank correlation between attention and each importance measure, and between the measures; "
        "whiskers reach 1.5 interquartile ranges.",
        (-1, 1),
        "pair",
    )
    return charts


def _pairs(table: pa.Table) -> list[str]:
    return [name.removeprefix("tau ") for name in table.column_names if name.startswith("tau ")]


def tau_rows(table: pa.Table, title: str) -> list[dict[str, Any]]:
    """Of the figure of that title: a box for what of inputs and of hidden states was compared with attention."""
    _, sides = OF_INPUTS_AND_STATES[title]
    named = {said: f"tau {ATTENTION} – {name}" for name, said in sides.items()}
    return [row for said, name in named.items() if name in table.column_names for row in box(said, column(table, name))]


def _answer(summary: Mapping[str, Estimate], pairs: Sequence[str]) -> str:
    own = {pair: summary[f"τ {pair}"] for pair in pairs if pair.startswith(f"{ATTENTION} – ")}
    defined = {pair: tau for pair, tau in own.items() if tau.n}
    if not defined:
        return "No text has weights and importance scores that can be ranked, so no correlation is defined."
    best = max(defined, key=lambda pair: defined[pair].value)
    answer = f"Attention agrees best with {best.removeprefix(f'{ATTENTION} – ')}, τ = {defined[best]}"
    between = [summary[f"τ {pair}"].value for pair in pairs if pair not in own and summary[f"τ {pair}"].n]
    if not between:
        return f"{answer}."
    low, high = f"{min(between):.2f}", f"{max(between):.2f}"
    reached = low if low == high else f"{low} to {high}"
    return f"{answer}. The other measures reach τ = {reached} among themselves."
