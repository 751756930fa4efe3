"""Progress in the terminal, with time left."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from attentest.training.listener import Listener


class TerminalListener(Listener):
    """Shows stages as bars and notes as lines, on standard error; quiet shows nothing."""

    def __init__(self, quiet: bool = False) -> None:
        console = Console(stderr=True, quiet=quiet)
        self._bars = Progress(
            TextColumn("{task.description:>8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
        )
        self._tasks: dict[str, object] = {}

    def __enter__(self) -> TerminalListener:
        self._bars.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def progress(self, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total)
        self._bars.update(self._tasks[stage], completed=done, total=total)  # type: ignore[arg-type]

    def note(self, sentence: str) -> None:
        self._bars.console.print(sentence, style="dim", markup=False, highlight=False)
