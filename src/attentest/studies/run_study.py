"""Run a study: plan it, do what is missing, and put its tables and figures into its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from attentest.display.show import show, to_pandas
from attentest.engine.choose import open_store, runner_for
from attentest.engine.perform import perform
from attentest.engine.plan import Step
from attentest.engine.scheduler import Outcome, Runner, Watcher, run_plan
from attentest.engine.store import Store
from attentest.errors import unknown_name
from attentest.files import copy_folder, read_table
from attentest.memory import most_bytes
from attentest.studies import find_study
from attentest.studies.expand import StudyPlan, budget_name, expand, with_budget
from attentest.studies.folder import StatusFile, export, exporting, plan_key, write_plan
from attentest.studies.published import GENERATED
from attentest.studies.schema import Study
from attentest.training.keywords import takes

if TYPE_CHECKING:
    from rich.console import RenderableType


def plan_study(
    study: Study,
    budget: str,
    corpora: Sequence[str] = (),
    data_dir: Path | None = None,
    rows: int | None = None,
    device: str = "auto",
    memory: int | None = None,
) -> StudyPlan:
    """The plan, for these corpora and with so many rows instead of the study's own if any are given.

    A corpus that the study has as a paper prepared it may be named without that: imdb for imdb_jw, multi30k for
    multi30k_en_de, babi3 for babi3-generated.
    """
    chosen = with_budget(study, budget)
    if corpora:
        own = {name.removesuffix("_jw").removesuffix("_en_de").removesuffix(GENERATED): name for name in study.corpora}
        chosen = replace(chosen, corpora=tuple(own.get(name, name) for name in corpora))
    if rows is not None:
        chosen = replace(chosen, rows=rows, rows_on={})
    name = budget_name(study, budget)
    planned = expand(chosen, name, data_dir, device, memory)
    planned.settings = {"budget": name, "rows": chosen.rows, "corpora": list(chosen.corpora)}
    return planned


def run_study(
    study: Study,
    out: Path,
    make_runner: Callable[[Store], Runner],
    *,
    budget: str = "paper",
    corpora: Sequence[str] = (),
    data_dir: Path | None = None,
    rows: int | None = None,
    store: Store | None = None,
    watchers: Sequence[Watcher] = (),
    overwrite: bool = False,
) -> Outcome:
    planned = plan_study(study, budget, corpora, data_dir, rows)
    return run_planned(planned, out, make_runner, store, watchers, overwrite)


def run_planned(
    expanded: StudyPlan,
    out: Path,
    make_runner: Callable[[Store], Runner],
    store: Store | None = None,
    watchers: Sequence[Watcher] = (),
    overwrite: bool = False,
) -> Outcome:
    """Do what is missing, and put the results into the folder."""
    store = store or Store()
    outcome, summary, plan = _run_steps(expanded, out, make_runner, store, watchers, overwrite)
    export(store, summary, out, plan)
    return outcome


@contextmanager
def publishing(
    expanded: StudyPlan,
    out: Path,
    make_runner: Callable[[Store], Runner],
    store: Store,
    watchers: Sequence[Watcher] = (),
    overwrite: bool = False,
) -> Iterator[tuple[Path, Outcome]]:
    """Do what is missing; the results, to be completed (with a page, say) before all are published as one."""
    outcome, summary, plan = _run_steps(expanded, out, make_runner, store, watchers, overwrite)
    with exporting(store, summary, out, plan) as results:
        yield results, outcome


def _run_steps(
    expanded: StudyPlan,
    out: Path,
    make_runner: Callable[[Store], Runner],
    store: Store,
    watchers: Sequence[Watcher] = (),
    overwrite: bool = False,
) -> tuple[Outcome, Step, str]:
    """Do what is missing, down to the summary; with that and the key of the plan, which the folder has by then."""
    summary = expanded.summarise()
    for note in write_plan(out, expanded, store, overwrite):
        for watcher in watchers:
            watcher.note(note)
    plan = plan_key(out)
    targets = [summary] if store.has(summary.key) else list(expanded.plan)
    status = StatusFile(out)
    outcome = run_plan(expanded.plan, store, make_runner(store), [*watchers, status], targets)
    if not store.has(summary.key):  # what there is, and what is missing
        summary = expanded.summarise(store.has)
        perform(summary, store)
    status.ended()
    return outcome, summary, plan


class RunningGiven(TypedDict, total=False):
    """How the steps of a plan are run, and where their results are kept."""

    overwrite: bool
    engine: str
    workers: int | None
    address: str | None
    store: Store | str | Path | None
    watchers: Sequence[Watcher]


USUAL = {"overwrite": False, "engine": "local", "workers": None, "address": None, "store": None, "watchers": ()}


class Running(TypedDict):
    make_runner: Callable[[Store], Runner]
    store: Store
    watchers: Sequence[Watcher]
    overwrite: bool


def running(given: RunningGiven) -> Running:
    """What `run_planned` and `publishing` are told; asked first, so that a wrong engine is refused before planning."""
    for name in given:
        if name not in USUAL:
            raise unknown_name("option", name, USUAL)
    return Running(
        make_runner=runner_for(given.get("engine", "local"), given.get("workers"), given.get("address")),
        store=open_store(given.get("store")),
        watchers=given.get("watchers", ()),
        overwrite=given.get("overwrite", False),
    )


@dataclass(frozen=True)
class StudyResult:
    """A study's folder, and how its steps went."""

    folder: Path
    outcome: Outcome

    @property
    def summary(self) -> str:
        """What the study gave, as Markdown."""
        page = self.folder / "summary.md"
        return page.read_text(encoding="utf-8") if page.is_file() else ""

    def to_pandas(self) -> Any:
        """One row for each figure of each model on each corpus."""
        return to_pandas(read_table(self.folder / "ours.parquet"))

    def show(self) -> None:
        """Display the summary in a notebook, print it elsewhere."""
        show(self)

    def save(self, path: str | Path) -> Path:
        """Copy the folder."""
        return copy_folder(self.folder, Path(path))

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"folder": str(self.folder), **vars(self.outcome)}

    def __repr__(self) -> str:
        return f"StudyResult({str(self.folder)!r}: {self.outcome.done} steps run, {len(self.outcome.failed)} failed)"

    def __rich__(self) -> RenderableType:
        from rich.text import Text

        return Text(self.summary)

    def _repr_markdown_(self) -> str:
        return self.summary


@takes(RunningGiven, USUAL)
def study(
    name: str | Study,
    out: str | Path | None = None,
    *,
    corpus: str | Sequence[str] = (),
    budget: str = "paper",
    rows: int | None = None,
    data_dir: str | Path | None = None,
    device: str = "auto",
    memory: int | str | None = None,
    **given: Unpack[RunningGiven],
) -> StudyResult:
    """Run a paper's study (jain2019, wiegreffe2019, …) or your own from a YAML file.

    `corpus` names one or several corpora instead of the study's own, `out` the folder [studies/NAME]. `memory`
    bounds what a trial has in memory at a time, in bytes or written as "2GB".
    """
    how = running(given)
    chosen = find_study(name) if isinstance(name, str) else name
    corpora = [corpus] if isinstance(corpus, str) else list(corpus)
    folder_of_data = None if data_dir is None else Path(data_dir)
    planned = plan_study(chosen, budget, corpora, folder_of_data, rows, device, most_bytes(memory))
    folder = Path(out or Path("studies") / chosen.name)
    return StudyResult(folder, run_planned(planned, folder, **how))
