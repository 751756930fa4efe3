"""T18: does the decision hang on the most attended tokens, and are they enough for it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.errors import InputError
from attentest.importance.erasure import left_probabilities
from attentest.measures.intervals import Estimate, mean, ratio
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, Examiner, Trial, column
from attentest.trials.charts import interval, intervals, lines
from attentest.trials.rankings import random_ranks, ranks_by
from attentest.trials.reading import Reading
from attentest.trials.scores import ATTENTION, ScoreSettings, check_names, require_usable, usable, works_of_scores
from attentest.trials.subject import Subject
from attentest.trials.work import Load, Work, Works

COMPREHENSIVENESS, SUFFICIENCY = SIDES = ("comprehensiveness", "sufficiency")
NULL, CEILING = "random", "leave-one-out"
USUAL = ("gradient-input",)  # integrated gradients take several times as long as everything else here
GREEDY = "leave-one-out-signed"  # its order and the reverse of it give bounds for the normalisation


@dataclass(frozen=True)
class Erasure(Trial):
    """How much of the decided class's probability is lost without a ranking's first tokens (comprehensiveness), and
    with these alone (sufficiency); the mean over `fractions` of the tokens is the area over the curve.

    Tokens are truly removed: the text becomes shorter and is encoded again. Attention is measured next to a random
    order, to leave-one-out and to `measures`, names of `attentest.trials.scores.SCORES`.
    """

    name: ClassVar[str] = "erasure"
    number: ClassVar[str] = "T18"
    cost: ClassVar[float] = 30
    keys: ClassVar[Mapping[str, str]] = {
        f"{side}{said}": f"{side}{entry}"
        for side in SIDES
        for said, entry in {
            "": f", {ATTENTION}",
            " null": f", {NULL}",
            " ceiling": f", {CEILING}",
            " position": " position",
        }.items()
    }
    question: ClassVar[str] = "Does the decision depend on the most attended tokens, and are they enough for it?"
    source: ClassVar[str] = "DeYoung et al. 2020; Edin et al. 2025 (the normalisation)"
    moves_weight: ClassVar[bool] = True
    how_to_read: ClassVar[str] = (
        "A high comprehensiveness means that the decision is lost without the heaviest tokens, a low sufficiency that "
        "it holds with these alone. Compare both with the random order and with leave-one-out: a position of 0 means "
        "that attention finds no more than chance, 1 that it does as well as leave-one-out. Shortened texts are unlike "
        "those that the model was trained on, so the losses themselves also show how it treats unusual texts."
    )
    needs: ClassVar[str] = "attention weights; embed and encode_embedded for gradients with respect to inputs"

    fractions: tuple[float, ...] = setting(
        (0.01, 0.05, 0.1, 0.2, 0.5), "Shares of a text's tokens that are removed or kept.", above=0, most=1
    )
    measures: tuple[str, ...] = setting(
        (), "Importance measures next to leave-one-out and random, separated by commas; none: gradient-input."
    )
    draws: int = setting(3, "Random orders drawn for each text.", least=1, most=1000)
    tolerance: float = setting(
        1e-6,
        "Tolerance of leave-one-out on a BiLSTM: smaller changes of states are ignored, closer scores are tied.",
        least=0,
        most=1,
    )
    seed: int = setting(0, "Random seed for the random orders and for the order of ties.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_names(self.measures)
        check_values(self)
        if not self.fractions:
            raise InputError("fractions is empty; give at least one share of the tokens.")

    def works(self, load: Load) -> Works:
        names = self._measures(load.subject)
        rankings = len(names) + 2 + self.draws  # and the greedy order, forwards and backwards
        counts = np.sort(first_counts(self.fractions, load.lengths))
        shortened = np.diff(counts, axis=1, prepend=0) > 0  # copies that are the same are run once
        runs = [load.copies(rankings * shortened[:, i], part) for i, part in enumerate(counts.T)]
        runs += [load.copies(rankings * shortened[:, i], load.lengths - part) for i, part in enumerate(counts.T)]
        settings = ScoreSettings(tolerance=self.tolerance, seed=self.seed)
        return {f"{self}": Work(sum(runs))} | works_of_scores(load, (*names, GREEDY), settings)

    def examiner(self, subject: Subject) -> Examiner:
        require_usable(subject.model, self.measures, subject.chosen_site)
        return _Examiner(self, self._measures(subject))

    def _measures(self, subject: Subject) -> tuple[str, ...]:
        names = self.measures or usable(subject.model, USUAL)
        return tuple(dict.fromkeys((ATTENTION, CEILING, *(n for n in names if n != NULL))))

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        said = {
            COMPREHENSIVENESS: "without a ranking's first tokens (comprehensiveness; more is better)",
            SUFFICIENCY: "with a ranking's first tokens alone (sufficiency; less is better)",
        }
        charts = {}
        for side, words in said.items():
            charts[f"{side} by share of tokens"] = lines(
                curves(summary, side),
                "share of the tokens (%)",
                "probability lost",
                f"Probability of the decided class that is lost {words}, by the share of the tokens, means over texts "
                "with 95 % intervals.",
            )
        positions = [row for side in SIDES for row in interval(side, summary[f"{side} position"])]
        if positions:
            charts["position between random and leave-one-out"] = intervals(
                positions,
                "position of attention (0 random, 1 leave-one-out)",
                "Where attention lies between a random order (0) and leave-one-out (1), a ratio of means over texts "
                "with its 95 % interval.",
                "of",
            )
        return charts


@dataclass(frozen=True)
class _Examiner:
    trial: Erasure
    measures: tuple[str, ...]

    def examine(self, reading: Reading) -> Columns:
        trial = self.trial
        settings = ScoreSettings(tolerance=trial.tolerance, seed=trial.seed)
        measured = [ranks_by(reading, name, settings) for name in self.measures]
        greedy = ranks_by(reading, GREEDY, settings)
        backwards = (reading.lengths.unsqueeze(1) - 1 - greedy).where(reading.mask, greedy)
        drawn = [random_ranks(reading, trial.seed, draw) for draw in range(trial.draws)]
        every = torch.stack([*measured, greedy, backwards, *drawn])
        columns: dict[str, np.ndarray] = {}
        for side, better, lost in zip(SIDES, (1, -1), losses(reading, every, trial.fractions), strict=True):
            area = lost.mean(-1)
            best, worst = (better * area).amax(0), (better * area).amin(0)
            apart = (best - worst).where(best > worst, torch.nan)
            normalised = (better * area - worst) / apart
            named = {name: slice(place, place + 1) for place, name in enumerate(self.measures)}
            for name, of_it in (named | {NULL: slice(-trial.draws, None)}).items():
                columns[f"{side}, {name}"] = area[of_it].mean(0).cpu().numpy()
                columns[f"normalised {side}, {name}"] = normalised[of_it].mean(0).cpu().numpy()
                for fraction, part in zip(trial.fractions, lost[of_it].mean(0).unbind(-1), strict=True):
                    columns[at_share(side, name, fraction)] = part.cpu().numpy()
        return columns

    def conclude(self, table: pa.Table) -> Conclusion:
        summary: dict[str, Estimate] = {}
        for side in SIDES:
            area = {name: column(table, f"{side}, {name}") for name in (*self.measures, NULL)}
            summary |= {f"{side}, {name}": mean(values, (-1, 1)) for name, values in area.items()}
            better = 1 if side == COMPREHENSIVENESS else -1
            gained, most = (better * (area[name] - area[NULL]) for name in (ATTENTION, CEILING))
            summary[f"{side} position"] = ratio(gained, most)
            for name in area:
                entry = f"normalised {side}, {name}"
                summary[entry] = mean(column(table, entry), (0, 1))
            for entry in [at_share(side, name, fraction) for name in area for fraction in self.trial.fractions]:
                summary[entry] = mean(column(table, entry), (-1, 1))
        return Conclusion(_answer(summary), summary)


def losses(
    reading: Reading, ranks: Int[Tensor, "rankings batch tokens"], fractions: Sequence[float]
) -> Float[Tensor, "2 rankings batch fractions"]:
    """What the decided class's probability loses without the first tokens, and with these alone.

    Of n tokens that is the first ⌈fraction · n⌉, but never all of them; NaN for a text of one token.
    """
    several = (reading.lengths > 1).nonzero().squeeze(1)
    lost = reading.probabilities.new_full((2, *ranks.shape[:2], len(fractions)), torch.nan)
    if not len(several):
        return lost
    lengths = reading.lengths[several].unsqueeze(1)
    counts = torch.from_numpy(first_counts(fractions, lengths.squeeze(1).cpu().numpy())).to(lengths.device)
    first = ranks[:, several].unsqueeze(2) < counts.unsqueeze(-1)
    kept = torch.stack((~first, first)) & reading.mask[several].unsqueeze(1)
    texts = several.view(-1, 1).expand(kept.shape[:-1])
    given = (reading.model, reading.batch, texts.flatten(), kept.flatten(0, -2))
    left = left_probabilities(*given, max_padded=reading.tokens_at_once)
    chosen = reading.predicted[texts.flatten()].unsqueeze(1)
    lost[:, :, several] = (reading.probabilities[texts.flatten()] - left).gather(1, chosen).view(kept.shape[:-1])
    return lost


def first_counts(fractions: Sequence[float], lengths: Int[np.ndarray, "texts"]) -> Int[np.ndarray, "texts fractions"]:
    """⌈fraction · n⌉ tokens of each text of n, but never none and never all of several."""
    wanted = np.ceil(np.array(fractions) * lengths[:, None] - 1e-9).astype(np.int64)  # .1 · 30 is above 3 by rounding
    counts: np.ndarray = np.minimum(np.maximum(wanted, 1), lengths[:, None] - 1)
    return counts


def at_share(side: str, name: str, fraction: float) -> str:
    return f"{side}, {name}, {100 * fraction:g} %"


def curves(summary: Mapping[str, Estimate], side: str) -> list[dict[str, Any]]:
    """The entries of each ranking at each share."""
    rows = []
    for label, estimate in summary.items():
        parts = label.split(", ")
        if parts[0] == side and len(parts) == 3:
            told = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
            rows.append({"series": parts[1], "x": float(parts[2].removesuffix(" %")), **told})
    return rows


def _answer(summary: Mapping[str, Estimate]) -> str:
    def told(side: str) -> str:
        return (
            f"{summary[f'{side}, {ATTENTION}']} ({summary[f'{side}, {NULL}'].value:.3f} in random order, "
            f"{summary[f'{side}, {CEILING}'].value:.3f} by leave-one-out)"
        )

    return (
        f"Without its most attended tokens a text loses {told(COMPREHENSIVENESS)} of the decided class's probability; "
        f"with these alone it loses {told(SUFFICIENCY)}."
    )
