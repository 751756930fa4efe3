"""The command line: parse, call, print. What does the work is imported when it is needed."""

from __future__ import annotations

import sys

from attentest.cli.app import USAGE_ERROR, app
from attentest.cli.flags import command_of, with_flags
from attentest.cli.lists import corpora, models
from attentest.cli.reports import audit, compare, report
from attentest.cli.streams import complain, guarded
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
    """Run the command line; what the user can mend is a message and exit code 2."""
    with guarded():
        try:
            sys.exit(app(standalone_mode=False))
        except InputError as error:
            from typer.main import get_command

            complain(with_flags(str(error), command_of(get_command(app), sys.argv[1:])))
            sys.exit(2)
        except USAGE_ERROR as error:
            if said := error.format_message().rstrip("."):  # without a command the help was printed
                complain(f"{said}. See '{error.ctx.command_path if error.ctx else 'attentest'} --help'.")
            sys.exit(2)
