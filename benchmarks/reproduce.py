"""`make reproduce`: run what is missing of all six papers, and put ours next to the published figures in the docs.

Needs the benchmarks in ATTENTEST_DATA. What docs/reproduction has is not run again; nor is what lies in the store
(ATTENTEST_STORE or a cache). Interrupt it at any time: figures of finished units are kept. ONLY names papers, or papers
with a corpus: `make reproduce ONLY=wen2022/sst`; `variations`, or one of them (`variations/NAME`), are the experiments
that show why figures differ.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import attentest
from attentest.cli.terminal import TerminalWatcher
from attentest.engine.local import LocalPool
from attentest.engine.scheduler import Runner, run_plan
from attentest.engine.store import Store
from attentest.errors import unknown_name
from attentest.studies import PAPERS
from attentest.studies.published import same_corpus
from attentest.studies.reproduction.harvest import Harvest, Keep, count_stale, keep, left_of, mark_stale, needed_by
from attentest.studies.reproduction.markdown import markdown, write_page
from attentest.studies.reproduction.plan import paper_study
from attentest.studies.reproduction.rows import read_units
from attentest.studies.reproduction.units import Group, Unit, plan_group
from attentest.studies.reproduction.variations import (
    FILE,
    Variation,
    count_varied_stale,
    keep_varied,
    left_of_variation,
    mark_varied,
    plan_variation,
    read_variations,
    remove_varied,
)

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reproduction"
PAGE = ROOT / "docs" / "reproduction.md"
VARIATIONS = "variations"
PAGE_ITSELF = "the page"
MOST = 1_000  # seeds, or processes


@dataclass
class Work:
    """What is left of one paper on one corpus, or of a variation of it."""

    group: Group
    left: list[Unit]
    stale: int  # rows
    steps: dict[str, float]  # that are missing: key -> seconds on one core, as the plan estimates them
    estimated: float = 0.0  # seconds of the units that are done …
    taken: float = 0.0  # … and what they took
    variation: Variation | None = None

    @property
    def seconds(self) -> float:
        return sum(self.steps.values())

    @property
    def part(self) -> str:
        """Of the whole reproduction."""
        return self.group.paper if self.variation is None else VARIATIONS

    @property
    def name(self) -> str:
        of_paper = f"{self.group.paper}/{self.group.corpus}"
        return of_paper if self.variation is None else f"{VARIATIONS}/{self.variation.name}, {of_paper}"

    def keeper(self, store: Store, folder: Path) -> Keep:
        """What keeps the figures of a finished unit."""
        if self.variation is None:
            return lambda unit, seconds: keep(unit, store, folder, seconds)
        variation = self.variation
        return lambda unit, seconds: keep_varied(variation, unit, store, folder)

    def told(self, pace: float) -> str:
        stale = f", {self.stale:,} rows stale" if self.stale else ""
        left = f"{len(self.left)} of {len(self.group.units)} units left"
        return f"{self.name}: {left}, {_time(pace * self.seconds)}{stale}"


@dataclass
class Told:
    failed: dict[str, str] = field(default_factory=dict)  # step -> error
    missing: dict[str, str] = field(default_factory=dict)  # paper/corpus -> why it cannot be planned


def main(arguments: Sequence[str] | None = None) -> int:
    given = _arguments(arguments)
    try:
        return _reproduce(given)
    except attentest.InputError as error:
        print(error, file=sys.stderr)
        return 2


def _reproduce(given: argparse.Namespace) -> int:
    _check(given)
    store, told = Store(given.store), Told()
    known = read_variations(given.folder)
    variations = chosen_variations(given.only, known)
    if given.page is not None:
        markdown(given.folder)  # what it is made from is read before anything that takes long
    if not given.left:
        remove_varied(known, given.folder)
    found = [_work(paper, corpus, store, given, told) for paper, corpus in chosen(given.only)]
    found += [_work_of_variation(one, store, given, told) for one in variations]
    # the quickest first: an hour leaves as many figures as it can
    works = sorted((work for work in found if work is not None), key=lambda work: work.seconds)
    _print_left(works, told, given.workers)
    code = 2 if told.missing else 0
    if not given.left:
        if not given.only:  # their steps are not collected
            store.register(given.folder, [step.key for work in works for step in work.group.plan])
        try:
            _run(works, store, given, told)
        except KeyboardInterrupt:
            print("\nInterrupted. Finished figures are kept; run the same command again to resume.", file=sys.stderr)
            code = 130
        _show(given, told)
    for name, why in told.failed.items():
        print(f"failed: {name}: {why}", file=sys.stderr)
    return code or bool(told.failed)


def chosen(only: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Papers with their corpora; all, or those that are named as PAPER or PAPER/CORPUS."""
    names = _names(only)
    if names and all(name.partition("/")[0] == VARIATIONS for name in names):
        return
    names = [name for name in names if name.partition("/")[0] != VARIATIONS]
    for name in names:
        paper, _, corpus = name.partition("/")
        if paper not in PAPERS:
            raise unknown_name("paper", paper, [*PAPERS, VARIATIONS])
        corpora = paper_study(paper).corpora
        if corpus and not any(same_corpus(corpus, one) for one in corpora):
            raise unknown_name(f"corpus of {paper}", corpus, corpora)
    for paper in PAPERS:
        for corpus in paper_study(paper).corpora:
            asked = (name.partition("/")[::2] for name in names)
            if not names or any(paper == p and (not c or same_corpus(c, corpus)) for p, c in asked):
                yield paper, corpus


def chosen_variations(only: Sequence[str], known: Mapping[str, Variation]) -> list[Variation]:
    """All, or those that are named as variations/NAME."""
    names = _names(only)
    asked = [name.partition("/")[2] for name in names if name.partition("/")[0] == VARIATIONS]
    for name in asked:
        if name and name not in known:
            raise unknown_name("variation", name, known)
    if asked and not known:
        raise attentest.InputError(f"There are no variations: the folder has no {FILE}.")
    return [one for one in known.values() if not names or "" in asked or one.name in asked]


def _names(only: Sequence[str]) -> list[str]:
    names = [name for given in only for name in given.replace(",", " ").split()]
    if only and not names:
        raise attentest.InputError(f"'{' '.join(only)}' names no paper: give {', '.join(PAPERS)}, or nothing for all.")
    return names


def _work_of_variation(variation: Variation, store: Store, given: argparse.Namespace, told: Told) -> Work | None:
    try:
        group = plan_variation(variation, given.data_dir)
    except attentest.InputError as error:
        told.missing[f"{VARIATIONS}/{variation.name}"] = str(error)
        return None
    if not given.left:
        mark_varied(variation, group, given.folder)
    left = left_of_variation(variation, group, given.folder)
    there = {step.key for step in group.plan if store.has(step.key)}
    stale = count_varied_stale(variation, group, given.folder)
    return Work(group, left, stale, _steps(group, left, there), variation=variation)


def _work(paper: str, corpus: str, store: Store, given: argparse.Namespace, told: Told) -> Work | None:
    try:
        group = plan_group(paper, corpus, given.data_dir, given.seeds)
    except attentest.InputError as error:
        told.missing[f"{paper}/{corpus}"] = str(error)
        return None
    if not given.left:
        mark_stale(group, given.folder)
    stale, left = count_stale(group, given.folder), left_of(group, given.folder)
    there = {step.key for step in group.plan if store.has(step.key)}
    steps = _steps(group, left, there)
    done, units = read_units(given.folder), [unit for unit in group.units if unit not in left]
    taken = sum(done[unit.place].seconds for unit in units)
    return Work(group, left, stale, steps, sum(_steps(group, units).values()), taken)


def _steps(group: Group, units: Sequence[Unit], done: Collection[str] = ()) -> dict[str, float]:
    """The steps that units need, with the seconds that the plan estimates for each."""
    targets = [step for unit in units for step in unit.results.values()]
    return {step.key: step.seconds for step in needed_by(group.plan, targets, done)}


def _print_left(works: Sequence[Work], told: Told, workers: int | None) -> None:
    """Estimates of the plan, as much longer or shorter as those of finished units were."""
    estimated = sum(work.estimated for work in works)
    pace = sum(work.taken for work in works) / estimated if estimated else 1.0
    for work in works:
        print(work.told(pace))
    for name, why in told.missing.items():
        print(f"{name}: cannot be run: {why}", file=sys.stderr)
    for name in dict.fromkeys(work.part for work in works):
        of_part = _together([work for work in works if work.part == name])
        print(f"{name}: {_time(pace * of_part)} left in all")
    total, cores = pace * _together(works), workers or os.cpu_count() or 1
    without = f", without {len(told.missing)} that cannot be run" if told.missing else ""
    print(f"all: {_time(total)} left on one core, {_time(total / cores)} on {cores}{without}", flush=True)


def _together(works: Sequence[Work]) -> float:
    """Papers share steps, which are run once."""
    return sum({key: seconds for work in works for key, seconds in work.steps.items()}.values())


def _run(works: Sequence[Work], store: Store, given: argparse.Namespace, told: Told) -> None:
    for work in works:
        if work.left:
            told.failed |= run_work(work, store, lambda store: LocalPool(store, given.workers), given.folder)
            _show(given, told)


def _show(given: argparse.Namespace, told: Told) -> None:
    """A page that cannot be written now, after an edit of what it is made from, ends no run."""
    told.failed.pop(PAGE_ITSELF, None)
    try:
        if given.page is not None:
            write_page(given.folder, given.page)
    except (attentest.InputError, OSError) as error:
        told.failed[PAGE_ITSELF] = str(error)


def _check(given: argparse.Namespace) -> None:
    for name in ("seeds", "workers"):
        value = getattr(given, name)
        if value is not None and not 1 <= value <= MOST:
            raise attentest.InputError(f"{name} is {value}; it must be from 1 to {MOST:,}.")
    for folder in [given.folder, *([given.page.parent] if given.page is not None else [])]:
        if not folder.is_dir():
            raise attentest.InputError(f"{folder} is no folder; give one that exists.")


def run_work(work: Work, store: Store, make_runner: Callable[[Store], Runner], folder: Path) -> dict[str, str]:
    """Run the units that are left, and keep their figures as they are done; the steps that failed, with why."""
    group = work.group
    with TerminalWatcher() as watcher:
        watcher.note(f"{work.name}: {len(work.left)} units")
        harvest = Harvest(group, work.left, store, work.keeper(store, folder))
        targets = [step for unit in work.left for step in unit.results.values()]
        outcome = run_plan(group.plan, store, make_runner(store), [watcher, harvest], targets)
        watcher.note(f"{work.name}: {len(harvest.kept)} units finished, their figures are kept")
    return outcome.failed


def _time(seconds: float) -> str:
    return f"about {seconds / 3600:.1f} h" if seconds >= 3600 else f"about {max(seconds / 60, 0):.0f} min"


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make reproduce", description="Run what is missing of the reproduction.")
    parser.add_argument(
        "only",
        nargs="*",
        help="papers, papers with a corpus (wen2022/sst), variations or one of them (variations/NAME) [all]",
    )
    parser.add_argument("--left", action="store_true", help="print what is left and how long it takes, run nothing")
    parser.add_argument("--seeds", type=int, help="trainings behind each figure [3; 1 on the largest corpora]")
    parser.add_argument("--workers", type=int, help="processes [one for each core]")
    parser.add_argument("--store", type=Path, help="where finished steps are kept [ATTENTEST_STORE, or a cache]")
    parser.add_argument("--data-dir", type=Path, help="folder of the benchmarks [ATTENTEST_DATA]")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="tables to continue [docs/reproduction]")
    parser.add_argument("--page", type=Path, help="page to write [docs/reproduction.md with its own tables]")
    given = parser.parse_args(arguments)
    if given.page is None and given.folder == FOLDER:
        given.page = PAGE
    return given


if __name__ == "__main__":
    sys.exit(main())
