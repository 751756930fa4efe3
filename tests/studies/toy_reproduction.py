"""A folder of a reproduction with a few rows that nobody trained."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from attentest.studies.reproduction.plan import BUDGET, settings_of, study_of
from attentest.studies.reproduction.rows import OurRow, UnitRow, write_rows, write_units

MODEL = "bilstm+additive"


def settings_hash(paper: str, corpus: str) -> str:
    study = study_of(paper, corpus)
    return settings_of(study, study.models[0])


def row(
    paper: str,
    corpus: str,
    variant: str,
    measure: str,
    value: float,
    *,
    seed: int = 0,
    half: float = 0.02,
    **other: object,
) -> OurRow:
    about = {
        "corpus": corpus,
        "unit": MODEL,
        "seed": seed,
        "model": MODEL,
        "variant": variant,
        "measure": measure,
        "value": value,
        "low": value - half,
        "high": value + half,
        "deviation": None,
        "n": 100,
        "budget": BUDGET,
        "version": "0.1.0",
        "corpus_hash": "c0",
        "settings": settings_hash(paper, corpus),
        "key": "k0",
        "stale": "",
    }
    return OurRow(**{**about, **other})  # type: ignore[arg-type]


def f1(seed: int, value: float, **other: object) -> OurRow:
    """A cell that Wiegreffe & Pinter print as .831 on SST."""
    return row("wiegreffe2019", "sst_jw", "base", "f1", value, seed=seed, **other)  # type: ignore[arg-type]


def written(folder: Path, rows: Iterable[OurRow], paper: str = "wiegreffe2019", reasons: str = "{}\n") -> Path:
    some = list(rows)
    folder.mkdir(exist_ok=True)
    write_rows(folder, paper, some)
    units = {(r.corpus, r.unit, r.seed): r for r in some}
    kept = [UnitRow(paper, *place, BUDGET, r.settings, r.key, 1, 60.0) for place, r in units.items()]
    write_units(folder, {unit.place: unit for unit in kept})
    (folder / "reasons.yaml").write_text(reasons, encoding="utf-8")
    return folder
