"""The command line: parse, call, print. What does the work is imported when it is needed."""

from __future__ import annotations

import sys

from attentest.cli.app import app
from attentest.cli.flags import command_of, with_flags
from attentest.cli.lists import corpora, models
from attentest.cli.reports import audit, compare, report
from attentest.cli.studies import collect, status, study
from attentest.cli.training import show, train
from attentest.cli.trials import trial, trials
from attentest.errors import InputError

__all__ = [
    "app",
    "audit",
    "collect",
    "compare",
    "corpora",
    "main",
    "models",
    "report",
    "show",
    "status",
    "study",
    "train",
    "trial",
    "trials",
]


def main() -> None:
    """Run the command line; what the user can mend is a sentence and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        # a terminal that cannot write √ or an emoji gets a ? for it
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        app()
    except InputError as error:
        from typer.main import get_command

        said = with_flags(str(error), command_of(get_command(app), sys.argv[1:]))
        print(f"attentest: {said}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
