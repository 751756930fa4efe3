"""Variations: a paper's unit with something changed, to test whether that is why a figure of ours differs.

What is changed is written down by hand, as a budget of a study is; its figures are kept in a table with the same
signature as all others. A reason that names a variation is as good as that variation's figures.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from attentest.engine.store import Store
from attentest.errors import InputError, unknown_name
from attentest.locks import locked
from attentest.studies.expand import with_budget
from attentest.studies.published import published, same_corpus, variant_name
from attentest.studies.reproduction.by_hand import read_list
from attentest.studies.reproduction.csv_tables import read_records, write_records
from attentest.studies.reproduction.harvest import LOCK, changed_since, rows_of
from attentest.studies.reproduction.plan import BUDGET, paper_study, study_of
from attentest.studies.reproduction.rows import OurRow
from attentest.studies.reproduction.units import Group, Unit, plan_group
from attentest.studies.schema import PAPERS, Study, checked_change

FILE, TABLE = "variations.yaml", "variations.csv"
MOST_SEEDS = 1_000


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

    @property
    def study(self) -> Study:
        """The paper's study on the corpus, with the change."""
        usual = study_of(self.paper, self.corpus, self.seeds)
        return with_budget(replace(usual, budgets={BUDGET: dict(self.change)}), BUDGET)

    @property
    def key(self) -> str:
        """Of what is changed."""
        told = json.dumps([self.change, self.instead], sort_keys=True, default=list)
        return hashlib.sha256(told.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class VariedRow(OurRow):
    variation: str = ""
    changed: str = ""  # hash of what the variation changes

    def is_of(self, variation: Variation) -> bool:
        """Whether it is one of the rows that the variation would have now."""
        asked = self.unit in variation.units and self.seed < variation.seeds
        return asked and (self.variation, self.changed) == (variation.name, variation.key)


def read_variations(folder: Path) -> dict[str, Variation]:
    """By name; none where the folder has no list of them."""
    path = folder / FILE
    if not path.exists():
        return {}
    content = read_list(path, "variations")
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
    kinds: dict[str, type] = {"units": list, "change": dict, "instead": dict, "seeds": int}
    for name, value in entry.items():
        if name not in (known := [one.name for one in fields(Variation)]):
            raise unknown_name(f"part of a variation in {path.name}", str(name), known)
        if not isinstance(value, kinds.get(name, str)) or isinstance(value, bool):
            raise InputError(f"{path}: `{name}` of a variation must be of the type {kinds.get(name, str).__name__}.")
    for name in ("name", "says", "paper", "corpus", "units"):
        if not entry.get(name):
            raise InputError(f"{path}: a variation lacks `{name}`.")
    _check_values(path, entry)
    if entry["paper"] not in PAPERS:
        raise unknown_name("paper", entry["paper"], PAPERS)
    printed = {variant_name(cell.variant) for cell in published(entry["paper"])}
    for variant in entry.get("instead", {}):
        if variant not in printed:
            raise unknown_name(f"published variant of {entry['paper']}", variant, sorted(printed))
    study = paper_study(entry["paper"])
    own = [one for one in study.corpora if same_corpus(entry["corpus"], one)]
    if not own:
        raise unknown_name(f"corpus of {entry['paper']}", entry["corpus"], study.corpora)
    try:
        checked = checked_change(path, study, BUDGET, entry.get("change", {}))
    except InputError as error:
        said = str(error).removeprefix(f"{path}, line 1: ")
        raise InputError(f"{path}: the change of '{entry['name']}' cannot be made: {said}") from error
    change = {name: value for name, value in checked.items() if value}
    if not (change or entry.get("instead")):
        raise InputError(f"{path}: the variation '{entry['name']}' changes nothing; give `change` or `instead`.")
    return Variation(**{**entry, "corpus": own[0], "units": tuple(entry["units"]), "change": change})


def _check_values(path: Path, entry: Mapping[str, Any]) -> None:
    name, instead = entry["name"], entry.get("instead", {})
    if not set(name).isdisjoint(", /\t\n"):  # ONLY names it
        raise InputError(f"{path}: the name '{name}' must have no blanks, commas or slashes.")
    if not all(isinstance(text, str) for text in (*entry["units"], *instead, *instead.values())):
        raise InputError(f"{path}: `units` and `instead` of '{name}' must have texts.")
    for name in ("seeds", "deviations"):
        if name in entry.get("change", {}):
            raise InputError(f"{path}: the change of '{entry['name']}' cannot have `{name}`.")
    if len(set(instead.values())) < len(instead):
        raise InputError(f"{path}: `instead` of '{name}' names a variant twice.")
    if not 1 <= entry.get("seeds", 1) <= MOST_SEEDS:
        raise InputError(f"{path}: `seeds` of '{entry['name']}' must be from 1 to {MOST_SEEDS:,}.")


def plan_variation(variation: Variation, data_dir: Path | None = None) -> Group:
    """The paper's units on the corpus, with the change; refused where that changes nothing of one."""
    given = (variation.paper, variation.corpus, data_dir, variation.seeds)
    group, usual = plan_group(*given, variation.study), plan_group(*given)
    units = tuple(unit for unit in group.units if unit.name in variation.units)
    for name in variation.units:
        if not any(unit.name == name for unit in units):
            known = list(dict.fromkeys(unit.name for unit in group.units))
            raise unknown_name(f"unit of {variation.paper}/{variation.corpus}", name, known)
    as_usual = {unit.key for unit in usual.units}
    same = next((unit.name for unit in units if unit.key in as_usual), None)
    if variation.change and same is not None:
        raise InputError(f"The variation '{variation.name}' changes nothing for {same}: its settings stay as they are.")
    return replace(group, units=units)


def left_of_variation(variation: Variation, group: Group, folder: Path) -> list[Unit]:
    done = {(row.unit, row.seed, row.key) for row in read_varied(folder) if row.is_of(variation)}
    return [unit for unit in group.units if (unit.name, unit.seed, unit.key) not in done]


def mark_varied(variation: Variation, group: Group, folder: Path) -> None:
    """Write down which rows are no longer what would be computed now."""
    with locked(folder / LOCK):
        rows = read_varied(folder)
        found = _marked(rows, variation, group)
        if found != rows:
            write_varied(folder, found)


def count_varied_stale(variation: Variation, group: Group, folder: Path) -> int:
    return sum(bool(row.stale) for row in _marked(read_varied(folder), variation, group) if row.is_of(variation))


def _marked(rows: Iterable[VariedRow], variation: Variation, group: Group) -> list[VariedRow]:
    planned = {(unit.name, unit.seed): unit for unit in group.units}
    return [
        replace(row, stale=changed_since(row, planned[at]))
        if row.is_of(variation) and (at := (row.unit, row.seed)) in planned
        else row
        for row in rows
    ]


def keep_varied(variation: Variation, unit: Unit, store: Store, folder: Path) -> None:
    """The rows of a finished unit of a variation, in place of its earlier ones."""
    names = [one.name for one in fields(OurRow)]
    new = [
        VariedRow(**{name: getattr(row, name) for name in names}, variation=variation.name, changed=variation.key)
        for row in rows_of(unit, store, variation.instead)
    ]
    place = (variation.name, unit.name, unit.seed)
    with locked(folder / LOCK):
        others = [row for row in read_varied(folder) if (row.variation, row.unit, row.seed) != place]
        write_varied(folder, [*others, *new])


def remove_varied(known: Mapping[str, Variation], folder: Path) -> None:
    """Rows of what is no longer asked."""
    with locked(folder / LOCK):
        rows = read_varied(folder)
        kept = [row for row in rows if row.variation in known and row.is_of(known[row.variation])]
        if kept != rows:
            write_varied(folder, kept)


def read_varied(folder: Path) -> list[VariedRow]:
    return read_records(folder / TABLE, VariedRow)


def write_varied(folder: Path, rows: Iterable[VariedRow]) -> None:
    write_records(folder / TABLE, VariedRow, rows)
