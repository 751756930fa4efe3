"""Models of known truth as their findings tell them, and which of them each definition calls true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from attentest.files import inside
from attentest.measures.intervals import Estimate
from attentest.studies.experiments.known_truth import DECEPTIVE, HONEST, NULL
from attentest.studies.experiments.zoo import Zoo
from attentest.studies.results import read_summary
from attentest.trials.stored import read_finding

Summaries = Mapping[tuple[str, str], Mapping[str, Estimate]]
CONTEXT_FREE = "average"  # the encoder whose states know nothing but their own word
STABLE = {"guided": True, "random": False, "untrained": False}  # by kind, where it is known


@dataclass(frozen=True)
class KnownModel:
    corpus: str
    architecture: str
    name: str
    kind: str
    truth: str  # honest, null, deceptive or plain
    seed: int | None
    proven: bool
    failure: str
    follows: float | None
    accuracy: float | None
    summaries: Mapping[int, Summaries]  # by number of texts

    @property
    def cluster(self) -> str:
        """What models have in common that are alike for another reason than their truth."""
        return f"{self.architecture} on {self.corpus}"

    @property
    def most_texts(self) -> int:
        return max(self.summaries)


def truth_of(model: KnownModel, definition: str) -> bool | None:
    """Whether the definition holds for the model by the way it was made; None where that is not known."""
    if not model.proven:
        return None
    if definition == "stable":
        return STABLE.get(model.kind) if model.seed is None else None
    if model.seed is None or model.truth not in (HONEST, NULL, DECEPTIVE):
        return None
    if definition == "informative" and not model.architecture.startswith(CONTEXT_FREE):
        return None
    return model.truth == HONEST if definition in ("faithful", "informative") else None


def read_models(folder: Path) -> list[KnownModel]:
    """All models of a calibration's folder."""
    found: list[KnownModel] = []
    summary = read_summary(folder)
    for ref in summary.findings:
        if ref.name == Zoo.name:
            about = summary.blocks[ref.block].settings
            assert about is not None
            table = read_finding(inside(folder, ref.folder)).table
            found += _models(ref.corpus, about.model.name, table)
    return found


def _models(corpus: str, architecture: str, table: pa.Table) -> list[KnownModel]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        rows.setdefault(row["model"], []).append(row)
    found = [_model(corpus, architecture, name, own) for name, own in rows.items()]
    unproven = {model.kind for model in found if model.seed is not None and not model.proven}
    # several seeds of a kind are what they were made to be if each of them is
    return [replace(m, proven=m.kind not in unproven) if m.seed is None else m for m in found]


def _model(corpus: str, architecture: str, name: str, rows: Sequence[Mapping[str, Any]]) -> KnownModel:
    summaries: dict[int, dict[tuple[str, str], dict[str, Estimate]]] = {}
    for row in rows:
        figure = Estimate(row["value"], row["low"], row["high"], row["n"])
        summaries.setdefault(row["texts"], {}).setdefault((row["kind"], row["name"]), {})[row["entry"]] = figure
    first = rows[0]
    return KnownModel(
        corpus,
        architecture,
        name,
        first["kind_of_model"],
        first["truth"],
        first["seed"],
        first["proven"],
        first["failure"],
        first.get("follows"),
        first.get("accuracy"),
        summaries,
    )
