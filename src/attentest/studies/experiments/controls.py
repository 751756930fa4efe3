"""T22: would these tests notice? Models of known truth, trained on the user's own texts with planted words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from attentest.errors import InputError
from attentest.measures.intervals import Estimate
from attentest.settings import setting
from attentest.studies.cells import scores
from attentest.studies.experiments.base import Experiment, Result, Training, TrialOf, rows_of
from attentest.studies.experiments.known_truth import KINDS, Kind, Proof, figures_of, prove
from attentest.training.run import Run
from attentest.trials import trial_class
from attentest.trials.base import Chart, Conclusion
from attentest.trials.charts import interval, intervals
from attentest.trials.rationale import Rationale
from attentest.trials.stored import StoredFinding
from attentest.trials.swaps import Swaps

POSITIVE = "positive"
LEFT_OUT_CONTROL = " control is left out: "
MOST_TEXTS = 2**53  # that a number of JSON can count
CONTROLS = {POSITIVE: KINDS["guided"], "null": KINDS["random"], "deceptive": KINDS["bypass"]}
MEASURES = ("gradient-input-fixed", "leave-one-out")
# the trials that verdicts read and that need no further model
TRIALS: Mapping[str, Mapping[str, Any]] = {
    "uniform": {},
    "permutation": {},
    "correlation": {"measures": MEASURES},
    "removal": {},
    "flips": {},
    "importance-sets": {},
    "adversary": {},
    "information": {"runs": 5},
    "erasure": {"measures": ("leave-one-out",)},
    "exchange": {"measures": ("leave-one-out",)},
    "overlap": {},
    "rationale": {},
    "swaps": {},
}


@dataclass(frozen=True)
class Controls(Experiment):
    """A positive control (attention trained to be on the planted words), and two negative ones (random weights;
    attention trained to keep off the words that decide), examined by the same tests as the model itself."""

    name: ClassVar[str] = "controls"
    number: ClassVar[str] = "T22"
    question: ClassVar[str] = "Would these tests notice if attention were meaningless or deceptive on these texts?"
    source: ClassVar[str] = "Pruthi et al. 2020 (the deceptive objective)"
    how_to_read: ClassVar[str] = (
        "Words that decide are planted into a part of the texts, so it is known what attention should be on. A test "
        "that gives the positive control and the negative ones the same figure cannot tell honest from other "
        "attention here, and does not decide. The controls have the model's architecture but not its parameters."
    )

    texts: int = setting(150, "Texts with planted words to examine.", least=20, most=1_000_000)
    epochs: int = setting(8, "Passes over the training texts.", least=1, most=1_000_000)

    def trainings(self) -> list[Training]:
        return [Training(label, self._settings(kind), planted=True) for label, kind in CONTROLS.items()]

    def _settings(self, kind: Kind) -> dict[str, Any]:
        return {**kind.settings, "epochs": self.epochs}

    def trials(self) -> list[TrialOf]:
        return [
            TrialOf(label, name, settings, texts=self.texts) for label in CONTROLS for name, settings in TRIALS.items()
        ]

    def conclude(self, runs: Mapping[str, Run], findings: Mapping[str, StoredFinding]) -> Result:
        summary: dict[str, Estimate] = {}
        rows: list[dict[str, Any]] = []
        notes = []
        for label, kind in CONTROLS.items():
            proof = proof_of(label, kind, findings)
            summary |= {
                f"accuracy, {label}": scores(runs[label])["accuracy"],
                f"decisions that follow the planted words, {label}": proof.follows,
                f"weight on the planted words above chance, {label}": proof.more_weight,
            }
            if not proof.holds:
                notes.append(f"The {label}{LEFT_OUT_CONTROL}{proof.failure}.")
                continue
            rows += [
                {"label": label, "kind": "trial", "name": name, "entry": entry, **figure.as_dict()}
                for name in TRIALS
                for entry, figure in figures_of(trial_class(name), findings[f"{label} {name}"].summary)
            ]
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
        return Result(table, Conclusion(_answer(summary, notes), summary, notes), [])

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        title = "weight on the planted words above chance"
        rows = [row for label in CONTROLS for row in interval(label, summary[f"{title}, {label}"])]
        about = "Share of the weight on the planted words minus their share of the tokens, with 95 % intervals."
        return {title: intervals(rows, f"{title} (−1 to 1)", about, "control")}


SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("label", "kind", "name", "entry")]
    + [(name, pa.float64()) for name in ("value", "low", "high")]
    + [("n", pa.int64())]
)


def proof_of(label: str, kind: Kind, findings: Mapping[str, StoredFinding]) -> Proof:
    return prove(kind.truth, *(findings[f"{label} {trial.name}"].summary for trial in (Swaps, Rationale)))


def figures_of_controls(table: pa.Table) -> dict[str, dict[tuple[str, str], dict[str, Estimate]]]:
    """What a stored finding says of each control, as summaries by trial; the table may be anybody's."""
    found: dict[str, dict[tuple[str, str], dict[str, Estimate]]] = {}
    for row in rows_of(table, ("label", "kind", "name", "entry"), ("value", "low", "high", "n")):
        value, low, high = (float("nan") if row[name] is None else row[name] for name in ("value", "low", "high"))
        place = found.setdefault(row["label"], {}).setdefault((row["kind"], row["name"]), {})
        if row["n"] is None or not 0 <= row["n"] <= MOST_TEXTS:
            raise InputError(f"the column 'n' has {row['n']} where a number of texts is expected.")
        place[row["entry"]] = Estimate(value, low, high, int(row["n"]))
    return found


def _answer(summary: Mapping[str, Estimate], notes: list[str]) -> str:
    good = len(CONTROLS) - len(notes)
    words = ", ".join(
        f"{label} {summary[f'weight on the planted words above chance, {label}'].value:+.2f}" for label in CONTROLS
    )
    return f"{good} of {len(CONTROLS)} controls are what they were made to be. Weight on the planted words: {words}."
