"""Progress in the terminal, with time left."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from attentest.cli.options import counted
from attentest.display.heatmaps.text import one_line
from attentest.engine.plan import Step
from attentest.engine.scheduler import Watcher
from attentest.errors import last_line
from attentest.progress import Listener


def _note(console: Console, sentence: str) -> None:
    console.print(Text(one_line(sentence), "dim"))  # a Text: names are neither markup nor emoji codes


class TerminalListener(Listener):
    """Shows stages as bars and notes as lines, on standard error; quiet shows nothing, but keeps the notes, too."""

    def __init__(self, quiet: bool = False) -> None:
        self.notes: list[str] = []
        console = Console(stderr=True, quiet=quiet)
        self._bars = Progress(
            TextColumn("{task.description:>8}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            disable=not console.is_terminal,  # in a file, bars are noise
        )
        self._tasks: dict[str, object] = {}

    def __enter__(self) -> TerminalListener:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bars.live.is_started:  # without a bar it would leave an empty line
            self._bars.stop()

    def progress(self, stage: str, done: int, total: int) -> None:
        if not self._bars.live.is_started:
            self._bars.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total)
        self._bars.update(self._tasks[stage], completed=done, total=total)  # type: ignore[arg-type]

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)
        _note(self._bars.console, sentence)


class TerminalWatcher(Watcher):
    """Shows a plan as one bar over all steps, with time left, and a bar for each step that runs."""

    def __init__(self, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet)
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._rows: dict[str, TaskID] = {}

    def __enter__(self) -> TerminalWatcher:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bars.live.is_started:
            self._bars.stop()

    def begins(self, steps: Sequence[Step], reused: int) -> None:
        self.note(f"{counted(len(steps), 'step')} to do, {reused} in the store already.")
        # by estimated seconds: steps are of very different size
        total = sum(max(step.seconds, 1.0) for step in steps)
        self._all = self._bars.add_task("all steps", total=total)
        self._bars.start()

    def note(self, sentence: str) -> None:
        _note(self._bars.console, sentence)

    def started(self, step: Step) -> None:
        self._rows[step.key] = self._bars.add_task(f"  {one_line(step.name)}", total=1.0)

    def progress(self, step: Step, text: str, share: float) -> None:
        self._bars.update(
            self._rows[step.key], completed=share, description=f"  {one_line(step.name)}: {one_line(text)}"
        )

    def finished(self, step: Step, seconds: float) -> None:
        self._bars.remove_task(self._rows.pop(step.key))
        self._bars.advance(self._all, max(step.seconds, 1.0))
        self.note(f"{step.name}  {seconds:.1f} s")

    def failed(self, step: Step, error: str) -> None:
        self._bars.remove_task(self._rows.pop(step.key))
        self._bars.advance(self._all, max(step.seconds, 1.0))
        self.note(f"{step.name}  failed: {last_line(error)}")
