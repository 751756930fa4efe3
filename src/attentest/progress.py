"""What a long piece of work tells whoever is watching; the library itself prints nothing."""

from __future__ import annotations


class Listener:
    """Hears nothing said to it; the CLI's listener shows it."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` steps of a stage are finished."""

    def note(self, sentence: str) -> None:
        """Something the user should know: what was dropped, cut or assumed."""

    def warning(self, sentence: str) -> None:
        """A note that the user gets from worker processes, too, whose other notes nobody hears."""
        self.note(sentence)
