"""Models of every known truth, for `attentest calibrate`: what each test gets on each of them, by number of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from attentest.errors import unknown_name
from attentest.measures.intervals import Estimate
from attentest.settings import setting
from attentest.studies.cells import scores
from attentest.studies.experiments.base import BASE, Experiment, Result, Training, TrialOf
from attentest.studies.experiments.controls import TRIALS, proof_of
from attentest.studies.experiments.known_truth import KINDS, PLAIN, Kind, figures_of
from attentest.studies.experiments.pairs import Pairs
from attentest.studies.experiments.repeated import FEWEST
from attentest.studies.experiments.seeds import Seeds
from attentest.training.run import Run
from attentest.trials import make_trial, trial_class
from attentest.trials.base import Conclusion, Trial
from attentest.trials.exchange import Exchange
from attentest.trials.hold import concluded, hold
from attentest.trials.information import Information
from attentest.trials.rationale import Rationale
from attentest.trials.stored import StoredFinding
from attentest.trials.subject import Subject, subject_of

TEXTS = (20, 50, 100, 200)  # and all of them
SLOW_TEXTS = (100,)  # of a trial that cannot be concluded from its table, but is run again


@dataclass(frozen=True)
class Zoo(Experiment):
    """All kinds of known truth with several seeds each, next to the plain model of the same architecture."""

    name: ClassVar[str] = "zoo"
    number: ClassVar[str] = "T22"
    question: ClassVar[str] = "What does each test say of models whose truth is known?"
    source: ClassVar[str] = "attentest; Pruthi et al. 2020 and Wiegreffe & Pinter 2019 for the deceptive objectives"
    how_to_read: ClassVar[str] = (
        "Each row is one figure of one model from so many texts. Models that do not rely on the known words, or whose "
        "weights are not where they were made to be, are marked as not proven and count in no error rate."
    )

    kinds: tuple[str, ...] = setting(tuple(KINDS), "Kinds of models to train.")
    seeds: int = setting(3, "Trainings of each kind.", least=1, most=100)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.kinds:
            if name not in KINDS:
                raise unknown_name("kind of model", name, KINDS)

    def trainings(self) -> list[Training]:
        found = []
        for seed in range(self.seeds):
            if seed:
                found.append(Training(_plain(seed), {"seed": seed}))
            for name in self.kinds:
                kind = KINDS[name]
                base = _plain(seed) if kind.imitates else None
                found.append(Training(_label(name, seed), {**kind.settings, "seed": seed}, base=base, optional=True))
        return found

    def trials(self) -> list[TrialOf]:
        labels = [training.label for training in self.trainings()]
        return [
            TrialOf(label, name, settings, only_marked=True)
            for label in (BASE, *labels)
            for name, settings in TRIALS.items()
        ]

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        rows: list[dict[str, Any]] = []
        for label, run in runs.items():
            kind = _kind(label)
            texts = len(findings[f"{label} {Rationale.name}"].table)
            subject = replace(subject_of(run, texts=texts, only_marked=True), folder=None)
            proof = proof_of(label, kind, findings)
            about = {
                "model": label,
                "kind_of_model": kind.name,
                "truth": kind.truth,
                "seed": run.record.training.seed,
                "proven": proof.holds,
                "failure": proof.failure,
                "follows": proof.follows.value,
                "heaviest_on_words": proof.heaviest.value,
                "accuracy": scores(run)["accuracy"].value,
            }
            rows += [
                {**about, "texts": texts, "kind": "trial", "name": name, "entry": entry, **figure.as_dict()}
                for name in TRIALS
                for texts, entry, figure in _by_texts(name, subject, findings[f"{label} {name}"])
            ]
        rows += self._stability(runs)
        models = len(runs)
        proven = len({row["model"] for row in rows if row["proven"] and row["seed"] is not None})
        answer = f"{models} models, {proven} of them proven to be what they were made to be."
        summary = {"models": _count(models), "proven": _count(proven)}
        return Result(pa.Table.from_pylist(rows), Conclusion(answer, summary), [])

    def _stability(self, runs: Mapping[str, Run]) -> Iterator[dict[str, Any]]:
        """The agreement of the seeds of a kind, as of one model."""
        for name in self.kinds:
            same = [runs[label] for seed in range(self.seeds) if (label := _label(name, seed)) in runs]
            if len(same) < FEWEST or not _all_marked(same[0]):
                continue
            figure = Pairs.of(same).agreement()
            yield {
                "model": f"{name}, all seeds",
                "kind_of_model": name,
                "truth": KINDS[name].truth,
                "seed": None,
                "proven": True,
                "failure": "",
                "texts": figure.n,
                "kind": Seeds.kind,
                "name": Seeds.name,
                "entry": Seeds.keys["agreement"],
                **figure.as_dict(),
            }


def _all_marked(run: Run) -> bool:
    """Whether it is known for every text where the weight should be."""
    return bool(run.attention["rationale"].null_count == 0)


def _count(n: int) -> Estimate:
    return Estimate(n, n, n, n)


def _plain(seed: int) -> str:
    return f"seed {seed}" if seed else BASE


def _label(kind: str, seed: int) -> str:
    return f"{kind}, seed {seed}" if seed else kind


def _kind(label: str) -> Kind:
    return KINDS.get(label.partition(",")[0], Kind(PLAIN, PLAIN, {}))


def _by_texts(name: str, subject: Subject, finding: StoredFinding) -> Iterator[tuple[int, str, Estimate]]:
    """The figures of a trial from more and more of its texts."""
    every = len(finding.table)
    order = np.random.default_rng(0).permutation(every)
    for texts in (n for n in (SLOW_TEXTS if name == Information.name else TEXTS) if n < every):
        found = _from_some(make_trial(name, **TRIALS[name]), subject, finding.table, np.sort(order[:texts]))
        for entry, figure in figures_of(trial_class(name), found):
            yield texts, entry, figure
    for entry, figure in figures_of(trial_class(name), finding.summary):
        yield every, entry, figure


def _from_some(trial: Trial, subject: Subject, table: pa.Table, rows: np.ndarray) -> Mapping[str, Estimate]:
    """What a trial says of some of the texts that it examined."""
    if isinstance(trial, Information | Exchange):  # their figures of a text hang on the others
        return hold([trial], replace(subject, rows=subject.rows[rows]))[0].summary
    return concluded(trial, trial.examiner(subject), table.take(rows)).summary
