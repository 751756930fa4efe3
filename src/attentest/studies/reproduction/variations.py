"""Variations: a paper's unit with something changed, to test whether that is why a figure of ours differs.

What is changed is written down by hand, as a budget of a study is; its figures are kept in a table with the same
signature as all others. A reason that names a variation is as good as that variation's figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from attentest.engine.store import Store
from attentest.errors import InputError, unknown_name
from attentest.locks import locked
from attentest.studies.expand import with_budget
from attentest.studies.published import same_corpus
from attentest.studies.reproduction.csv_tables import read_records, write_records
from attentest.studies.reproduction.harvest import LOCK, rows_of
from attentest.studies.reproduction.plan import BUDGET, paper_study, study_of
from attentest.studies.reproduction.rows import OurRow
from attentest.studies.reproduction.units import Group, Unit, plan_group
from attentest.studies.schema import PAPERS

FILE, TABLE = "variations.yaml", "variations.csv"
LARGEST = 1_000_000  # bytes


@dataclass(frozen=True)
class Variation:
    name: str
    says: str  # what is changed, for people
    paper: str
    corpus: str
    units: tuple[str, ...]  # the models, as their study calls them
    change: Mapping[str, Any] = field(default_factory=dict)  # as a budget changes a study
    instead: Mapping[str, str] = field(default_factory=dict)  # published variant -> ours that takes its place
    seeds: int = 3


@dataclass(frozen=True)
class VariedRow(OurRow):
    variation: str = ""


def read_variations(folder: Path) -> dict[str, Variation]:
    """By name; none where the folder has no list of them."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is too long for a list of variations.")
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, list):
        raise InputError(f"{path} must be a list of variations.")
    found = [_variation(path, entry) for entry in content]
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two variations are called '{twice}'.")
    return {one.name: one for one in found}


def _variation(path: Path, entry: Any) -> Variation:
    if not isinstance(entry, dict):
        raise InputError(f"{path}: a variation must have names with values, such as name and change.")
    kinds = {"units": list, "change": dict, "instead": dict, "seeds": int}
    for name, value in entry.items():
        if name not in (known := [one.name for one in fields(Variation)]):
            raise unknown_name(f"part of a variation in {path.name}", str(name), known)
        if not isinstance(value, kinds.get(name, str)) or isinstance(value, bool):
            raise InputError(f"{path}: `{name}` of a variation must be of the type {kinds.get(name, str).__name__}.")
    for name in ("name", "says", "paper", "corpus", "units"):
        if not entry.get(name):
            raise InputError(f"{path}: a variation lacks `{name}`.")
    if not (entry.get("change") or entry.get("instead")):
        raise InputError(f"{path}: the variation '{entry['name']}' changes nothing; give `change` or `instead`.")
    if entry["paper"] not in PAPERS:
        raise unknown_name("paper", entry["paper"], PAPERS)
    corpora = paper_study(entry["paper"]).corpora
    if not any(same_corpus(entry["corpus"], one) for one in corpora):
        raise unknown_name(f"corpus of {entry['paper']}", entry["corpus"], corpora)
    return Variation(**{**entry, "units": tuple(map(str, entry["units"]))})


def plan_variation(variation: Variation, data_dir: Path | None = None) -> Group:
    """The paper's units on the corpus, with the change."""
    usual = study_of(variation.paper, variation.corpus, variation.seeds)
    varied = with_budget(replace(usual, budgets={BUDGET: dict(variation.change)}), BUDGET)
    group = plan_group(variation.paper, variation.corpus, data_dir, variation.seeds, varied)
    units = tuple(unit for unit in group.units if unit.name in variation.units)
    for name in variation.units:
        if not any(unit.name == name for unit in units):
            raise unknown_name(f"unit of {variation.paper}/{variation.corpus}", name, [u.name for u in group.units])
    return replace(group, units=units)


def left_of_variation(variation: Variation, group: Group, folder: Path) -> list[Unit]:
    done = {(row.unit, row.seed, row.key) for row in read_varied(folder) if row.variation == variation.name}
    return [unit for unit in group.units if (unit.name, unit.seed, unit.key) not in done]


def keep_varied(variation: Variation, unit: Unit, store: Store, folder: Path) -> None:
    """The rows of a finished unit of a variation, in place of its earlier ones."""
    names = [one.name for one in fields(OurRow)]
    new = [
        VariedRow(**{name: getattr(row, name) for name in names}, variation=variation.name)
        for row in rows_of(unit, store, variation.instead)
    ]
    with locked(folder / LOCK):
        place = (variation.name, unit.name, unit.seed)
        others = [row for row in read_varied(folder) if (row.variation, row.unit, row.seed) != place]
        write_varied(folder, [*others, *new])


def read_varied(folder: Path) -> list[VariedRow]:
    return read_records(folder / TABLE, VariedRow)


def write_varied(folder: Path, rows: Iterable[VariedRow]) -> None:
    write_records(folder / TABLE, VariedRow, rows)
