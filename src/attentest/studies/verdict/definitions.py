"""The named senses in which attention may be an explanation, and the tests that each is decided by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attentest.measures.intervals import Estimate, independent_difference
from attentest.studies.experiments.adversary import FAR

TRIAL, EXPERIMENT, PEOPLE = "trial", "experiment", "people"
TEXTS, CLUSTERINGS = "test texts", "clusterings of the states"
Figures = Callable[
    [str, str, str], Estimate | None
]  # kind, name and entry of a summary -> the estimate, if there is one
AT_LEAST, MORE_THAN, AT_MOST = "at least", "more than", "at most"
NEAR = 0.1  # JSD of adversaries that cannot move: seeds are not set against these


@dataclass(frozen=True)
class Criterion:
    """A figure that must lie on one side of a threshold; `name` is what the threshold is set by."""

    name: str
    number: str  # of the trial, as in docs/trials
    kind: str
    trial: str
    says: str  # what is measured
    figure: Callable[[Figures], Estimate | None]
    side: str
    threshold: float
    source: str  # where the threshold comes from
    absent: str = ""  # why a trial that was held may not have the figure
    against: tuple[str, str] | None = None  # kind and name of another one that the figure is set against
    over: str = TEXTS  # what its interval is over

    @property
    def short(self) -> str:
        """Its name within the definition."""
        return self.name.partition(".")[2]


@dataclass(frozen=True)
class Definition:
    name: str
    means: str
    criteria: tuple[Criterion, ...]
    caveat: str
    paper: str  # that the caveat is from


def _of(kind: str, trial: str, entry: str, sign: int = 1) -> Callable[[Figures], Estimate | None]:
    def figure(figures: Figures) -> Estimate | None:
        found = figures(kind, trial, entry)
        if found is None or sign == 1:
            return found
        return Estimate(-found.value, -found.high, -found.low, found.n)

    return figure


def _further(than: tuple[str, str, str], what: tuple[str, str, str]) -> Callable[[Figures], Estimate | None]:
    """How much larger the second figure is than the first."""

    def figure(figures: Figures) -> Estimate | None:
        less, more = figures(*than), figures(*what)
        if less is None or more is None or more.value < NEAR:
            return None
        return independent_difference(more, less)

    return figure


def _if_far(experiment: str, entry: str) -> Callable[[Figures], Estimate | None]:
    """A figure of an adversary that is far enough away to be one (WP Table 4)."""

    def figure(figures: Figures) -> Estimate | None:
        apart = figures(EXPERIMENT, experiment, "JSD, adversary")
        return figures(EXPERIMENT, experiment, entry) if apart is not None and apart.value > FAR else None

    return figure


_SEEDS = (EXPERIMENT, "seeds", "mean JSD")
_NO_FAR = "no λ that was tried moved the attention further than a JSD of 0.4"

DEFINITIONS = {
    definition.name: definition
    for definition in (
        Definition(
            "needed",
            "The model decides worse without its attention.",
            (
                Criterion(
                    "needed.inference", "T1", TRIAL, "uniform",
                    "accuracy lost when the weights are made uniform at inference",
                    _of(TRIAL, "uniform", "difference, uniform", -1), AT_LEAST, 0.01,
                    "our convention, as much as needed.trained asks for",
                ),
                Criterion(
                    "needed.trained", "T1", EXPERIMENT, "uniform",
                    "F1 lost by a model that is trained with uniform weights",
                    _of(EXPERIMENT, "uniform", "F1, uniform − base", -1), AT_LEAST, 0.01,
                    "Wiegreffe & Pinter 2019 §3.2, Table 2: corpora that lose .004 and .008 are set aside, .009 is "
                    "borderline, .023 is kept",
                ),
            ),
            "Attention that a task does not need is no explanation of how it is done; over a single text the weights "
            "may be no more than a gate.",
            "Wiegreffe & Pinter 2019 §3.2; Vashishth et al. 2019 §4.1",
        ),
        Definition(
            "stable",
            "Trained again with another seed, the model attends to the same tokens; only an adversary moves far.",
            (
                Criterion(
                    "stable.seeds", "T2", EXPERIMENT, "seeds",
                    "mean JSD between the weights of models that differ in their seed alone",
                    _of(*_SEEDS), AT_MOST, 0.2,
                    "our convention, under a third of the largest possible JSD (0.693); Wiegreffe & Pinter 2019 §3.3 "
                    "show densities and print no number",
                ),
                Criterion(
                    "stable.adversary", "T7", TRIAL, "adversary",
                    "how much further the furthest weights with the same prediction are than another seed's (JSD)",
                    _further(_SEEDS, (TRIAL, "adversary", "mean max JSD")), MORE_THAN, 0.0,
                    "Wiegreffe & Pinter 2019 §3.3, Fig. 3: the variance by seeds is the one to surpass",
                    "no weights far away give the same prediction, so there is nothing to set the seeds against",
                    _SEEDS[:2],
                ),
                Criterion(
                    "stable.model", "T4", EXPERIMENT, "adversary",
                    "how much further an adversarial model is than another seed's (JSD)",
                    _further(_SEEDS, (EXPERIMENT, "adversary", "JSD, far")), MORE_THAN, 0.0,
                    "Wiegreffe & Pinter 2019 §4, Fig. 5", _NO_FAR, _SEEDS[:2],
                ),
            ),
            "Some variance by seed is normal, and a stable map may still be a wrong one.",
            "Wiegreffe & Pinter 2019 §3.3",
        ),
        Definition(
            "exclusive",
            "No very different weights give the same prediction.",
            (
                Criterion(
                    "exclusive.texts", "T7", TRIAL, "adversary",
                    "share of texts with weights further away than a JSD of 0.4 and the same prediction",
                    _of(TRIAL, "adversary", "share with JSD > 0.4"), AT_MOST, 0.5,
                    "our convention, half of the texts; the JSD of 0.4 is that of Wiegreffe & Pinter 2019 Table 4",
                ),
                Criterion(
                    "exclusive.model", "T4", EXPERIMENT, "adversary",
                    "F1 lost by an adversarial model whose weights are further away than a JSD of 0.4",
                    _of(EXPERIMENT, "adversary", "F1, far − base", -1), AT_LEAST, 0.02,
                    "our convention; the adversaries of Wiegreffe & Pinter 2019 Table 4 lose at most .008 of the F1 in "
                    "Table 2", _NO_FAR,
                ),
            ),
            "An explanation is not the explanation: that other weights would do as well does not make these wrong.",
            "Wiegreffe & Pinter 2019 §2.1",
        ),
        Definition(
            "faithful",
            "What has weight is what the decision hangs on.",
            (
                Criterion(
                    "faithful.permutation", "T6", TRIAL, "permutation",
                    "change of the prediction when the weights are shuffled (median TVD, mean over texts)",
                    _of(TRIAL, "permutation", "mean of median TVD"), AT_LEAST, 0.1,
                    "our convention, a tenth of the largest possible change",
                ),
                Criterion(
                    "faithful.gradient", "T8", TRIAL, "correlation",
                    "Kendall τ of attention with |gradient × input|, attention held fixed",
                    _of(TRIAL, "correlation", "τ attention – gradient-input-fixed"), AT_LEAST, 0.5,
                    "what gradients and leave-one-out reach among themselves in Jain & Wallace's result files "
                    "(.517 to .656)",
                    "the model gives no gradients by its inputs",
                ),
                Criterion(
                    "faithful.leave-one-out", "T8", TRIAL, "correlation",
                    "Kendall τ of attention with leave-one-out",
                    _of(TRIAL, "correlation", "τ attention – leave-one-out"), AT_LEAST, 0.5,
                    "as faithful.gradient",
                    "leave-one-out was not among the measures",
                ),
                Criterion(
                    "faithful.removal", "T9", TRIAL, "removal",
                    "how much more the output moves without the heaviest item than without a random one (ΔJS)",
                    _of(TRIAL, "removal", "mean ΔJS"), MORE_THAN, 0.0,
                    "Serrano & Smith 2019 §4.1: above 0 the heaviest item matters more",
                ),
                Criterion(
                    "faithful.flips", "T10", TRIAL, "flips",
                    "how many more decisions flip without the heaviest item than without a random one",
                    _of(TRIAL, "flips", "flips, heaviest − random"), MORE_THAN, 0.0,
                    "Serrano & Smith 2019 §4.2, Table 2",
                ),
                Criterion(
                    "faithful.sets", "T11", TRIAL, "importance-sets",
                    "how much more of a text goes before a flip by attention than by attention × gradient",
                    _of(TRIAL, "importance-sets", "attention − attention-times-gradient"), AT_MOST, 0.05,
                    "our convention; Serrano & Smith 2019 §5 find smaller sets by the gradient",
                ),
            ),
            "Rank correlation is not proof: gradients and leave-one-out are no ground truth either, and weights are "
            "over hidden states, not over words.",
            "Meister et al. 2021 §4",
        ),
        Definition(
            "informative",
            "Weight lies where the information about the decision is, and is of use to another model.",
            (
                Criterion(
                    "informative.guide", "T3", EXPERIMENT, "guides",
                    "F1 gained by a model without context when it is guided by these weights, not uniform ones",
                    _of(EXPERIMENT, "guides", "F1, base LSTM − uniform"), MORE_THAN, 0.0,
                    "Wiegreffe & Pinter 2019 §3.4, Table 3",
                ),
                Criterion(
                    "informative.information", "T13", TRIAL, "information",
                    "weighted τ of the weights with the mutual information of states and output",
                    _of(TRIAL, "information", "weighted τ"), AT_LEAST, 0.8,
                    "Wen et al. 2022 §5: the average with additive attention",
                    over=CLUSTERINGS,
                ),
                Criterion(
                    "informative.fix", "T14", EXPERIMENT, "fix",
                    "weighted τ lost when the weights are fixed at random and the rest is trained around them",
                    _of(EXPERIMENT, "fix", "Δ weighted τ, fix attention"), MORE_THAN, 0.0,
                    "Wen et al. 2022 §5.1, Table 2: the attention finds the information, not the other way round",
                    over=CLUSTERINGS,
                ),
                Criterion(
                    "informative.adversary", "T15", EXPERIMENT, "informed-adversary",
                    "weighted τ lost by an adversarial model",
                    _if_far("informed-adversary", "Δ weighted τ, adversary"), AT_MOST, 0.1,
                    "our convention; Wen et al. 2022 §5.2, Table 4 find no big drop",
                    "the adversary stayed within a JSD of 0.4, where it keeps its τ by staying",
                    over=CLUSTERINGS,
                ),
            ),
            "Information is that of hidden states, which carry much more than the word they stand at.",
            "Wen et al. 2022 §6; Meister et al. 2021 §4",
        ),
        Definition(
            "plausible",
            "The weight lies where people see the reason.",
            (
                Criterion(
                    "plausible.heaviest", "rationale", TRIAL, "rationale",
                    "share of texts whose heaviest token lies in the reason that the corpus knows",
                    _of(TRIAL, "rationale", "heaviest token in the rationale"), AT_LEAST, 0.5,
                    "our convention, half of the texts",
                ),
                Criterion(
                    "plausible.weight", "rationale", TRIAL, "rationale",
                    "weight on the reason, less its share of the tokens",
                    _of(TRIAL, "rationale", "weight − tokens in the rationale"), MORE_THAN, 0.0,
                    "our convention: above 0 the weight does better than chance",
                ),
                Criterion(
                    "plausible.people", "T17", PEOPLE, "people",
                    "share of texts whose three heaviest words people call relevant",
                    lambda figures: None, AT_LEAST, 0.5,
                    "our convention, half of the texts; Vashishth et al. 2019 §4.4 ask the question, with no threshold",
                    "it needs people, and is not part of this version",
                ),
            ),
            "What convinces people need not be what the model did.",
            "Wiegreffe & Pinter 2019 §5; Vashishth et al. 2019 §4.4",
        ),
    )
}  # fmt: skip
CRITERIA = {c.name: c for definition in DEFINITIONS.values() for c in definition.criteria}
