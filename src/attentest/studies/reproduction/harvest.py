"""From finished steps to the rows that are kept: written as soon as a unit is done, so that an interruption costs no
figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from attentest.engine.plan import Plan, Step
from attentest.engine.scheduler import Watcher
from attentest.engine.store import MANIFEST, Store
from attentest.files import read_json
from attentest.locks import locked
from attentest.studies.published import variant_name
from attentest.studies.reproduction.plan import BUDGET
from attentest.studies.reproduction.rows import OurRow, UnitRow, read_rows, read_units, write_rows, write_units
from attentest.studies.reproduction.units import Group, Unit
from attentest.studies.reproduction.wanted import is_wanted, wanted_places
from attentest.studies.result_cells import cells_of_result, comparable_cells
from attentest.studies.results import RUN
from attentest.training.run import Run
from attentest.translation.folder import is_translation_run
from attentest.trials.cells import Cell
from attentest.version import __version__

CODE, CORPUS, SETTINGS = "code", "corpus", "settings"
LOCK = ".lock"


def left_of(group: Group, folder: Path) -> list[Unit]:
    """Units whose figures are not there, or were made by other code, of another corpus or with other settings."""
    done = read_units(folder)
    return [unit for unit in group.units if unit.place not in done or done[unit.place].key != unit.key]


def mark_stale(group: Group, folder: Path) -> None:
    """Write down which rows are no longer what would be computed now, and why.

    Rows of models that are no longer part of the study are removed: nothing would ever compute them again.
    """
    names = {unit.name for unit in group.units}
    with locked(folder / LOCK):
        rows = read_rows(folder, group.paper)
        found = _marked(rows, group)
        if found != rows:
            write_rows(folder, group.paper, found)
            here, units = (group.paper, group.corpus), read_units(folder)
            settings = group.settings
            write_units(
                folder,
                {
                    at: replace(unit, settings=settings.get(unit.key, unit.settings))
                    for at, unit in units.items()
                    if at[:2] != here or unit.unit in names
                },
            )


def count_stale(group: Group, folder: Path) -> int:
    """Rows that are no longer what would be computed now, whether that is written down or not."""
    found = _marked(read_rows(folder, group.paper), group)
    return sum(bool(row.stale) for row in found if row.corpus == group.corpus)


def _marked(rows: Sequence[OurRow], group: Group) -> list[OurRow]:
    planned = {(unit.corpus, unit.name, unit.seed): unit for unit in group.units}
    by_model = {(unit.corpus, unit.name): unit for unit in group.units}
    names = {unit.name for unit in group.units}
    kept = [row for row in _with_settings(rows, group) if row.corpus != group.corpus or row.unit in names]
    found = {
        row: changed_since(row, planned[at]) for row in kept if (at := (row.corpus, row.unit, row.seed)) in planned
    }
    by_other_code = {(row.corpus, row.unit) for row, why in found.items() if why == CODE}

    def of_another_seed(row: OurRow) -> str:
        """Its key is not known: as its model's other rows."""
        model = (row.corpus, row.unit)
        changed = _changed_in_words(row, by_model[model])
        return changed or (CODE if row.stale == CODE or model in by_other_code else "")

    return [
        replace(row, stale=found[row] if row in found else of_another_seed(row))
        if (row.corpus, row.unit) in by_model
        else row
        for row in kept
    ]


def _with_settings(rows: Sequence[OurRow], group: Group) -> Iterator[OurRow]:
    """What a study says may change in a way that changes no step: the figures are then of its new settings too."""
    settings = group.settings
    same = {(row.corpus, row.unit, row.settings): settings[row.key] for row in rows if row.key in settings}
    for row in rows:
        yield replace(row, settings=same.get((row.corpus, row.unit, row.settings), row.settings))


def changed_since(row: OurRow, unit: Unit) -> str:
    """Since it was computed; empty where it is what would be computed now."""
    return "" if row.key == unit.key else _changed_in_words(row, unit) or CODE


def _changed_in_words(row: OurRow, unit: Unit) -> str:
    if row.settings != unit.settings:
        return SETTINGS
    return CORPUS if row.corpus_hash != unit.corpus_hash else ""


def keep(unit: Unit, store: Store, folder: Path, seconds: float) -> None:
    """The rows of a finished unit, in place of its earlier ones."""
    rows = rows_of(unit, store)
    with locked(folder / LOCK):
        others = [row for row in read_rows(folder, unit.paper) if (row.corpus, row.unit, row.seed) != unit.place[1:]]
        write_rows(folder, unit.paper, [*others, *rows])
        units = read_units(folder)
        kept = UnitRow(*unit.place, BUDGET, unit.settings, unit.key, cells=len(rows), seconds=round(seconds, 3))
        write_units(folder, {**units, unit.place: kept})


def rows_of(unit: Unit, store: Store, instead: Mapping[str, str] | None = None) -> list[OurRow]:
    """Of all results; `instead` says which variants of ours take the place of published ones."""
    folders = {ref: store.fetch(step.key) for ref, step in unit.results.items()}
    run = next(folder for ref, folder in folders.items() if ref.kind == RUN)
    classes = [] if is_translation_run(run) else Run(run).classes
    places = wanted_places(unit.paper, unit.corpus)
    found: dict[tuple[str, str, str], OurRow] = {}
    for ref, folder in folders.items():
        for model, cells in comparable_cells(ref, cells_of_result(ref, folder, classes)).items():
            for cell in _in_place(cells, instead or {}):
                if is_wanted(unit.paper, places, model, cell) and math.isfinite(cell.value):
                    found[(model, variant_name(cell.variant), cell.measure)] = _row(unit, model, cell)
    return list(found.values())


def _in_place(cells: Iterable[Cell], instead: Mapping[str, str]) -> Iterator[Cell]:
    published = {ours: theirs for theirs, ours in instead.items()}
    for cell in cells:
        if cell.variant in published:
            yield replace(cell, variant=published[cell.variant])
        elif cell.variant not in instead:
            yield cell


def _row(unit: Unit, model: str, cell: Cell) -> OurRow:
    return OurRow(
        corpus=unit.corpus,
        unit=unit.name,
        seed=unit.seed,
        model=model,
        variant=cell.variant,
        measure=cell.measure,
        value=cell.value,
        low=cell.low if math.isfinite(cell.low) else None,
        high=cell.high if math.isfinite(cell.high) else None,
        deviation=cell.deviation,
        n=cell.n,
        budget=BUDGET,
        version=__version__,
        corpus_hash=unit.corpus_hash,
        settings=unit.settings,
        key=unit.key,
    )


Keep = Callable[[Unit, float], None]  # what is done with a finished unit, and the seconds that it took


class Harvest(Watcher):
    """Keeps each unit's rows when its last step is done."""

    def __init__(self, group: Group, units: Sequence[Unit], store: Store, keep: Keep) -> None:
        self._plan, self._store, self._keep = group.plan, store, keep
        self._left = {unit.place: (unit, _missing(unit, store)) for unit in units}
        self._counted: set[str] = set()
        self.kept: list[Unit] = []
        self._keep_whole()

    def finished(self, step: Step, seconds: float) -> None:
        for _, missing in self._left.values():
            missing.discard(step.key)
        self._keep_whole()

    def _keep_whole(self) -> None:
        for place, (unit, missing) in list(self._left.items()):
            if not missing:
                self._keep(unit, self._seconds(unit))
                self.kept.append(unit)
                del self._left[place]

    def _seconds(self, unit: Unit) -> float:
        """That the steps of a unit took when they were made, each counted once."""
        new = {step.key for step in needed_by(self._plan, unit.results.values())} - self._counted
        self._counted |= new
        return sum(_seconds(self._store, key) for key in new)


def needed_by(plan: Plan, steps: Iterable[Step], done: Iterable[str] = ()) -> list[Step]:
    return plan.needed([step.key for step in steps], set(done))


def _missing(unit: Unit, store: Store) -> set[str]:
    return {step.key for step in unit.results.values() if not store.has(step.key)}


def _seconds(store: Store, key: str) -> float:
    if not store.has(key):
        return 0.0
    found = read_json(store.path(key) / MANIFEST).get("seconds", 0.0)
    return float(found) if isinstance(found, int | float) else 0.0
