"""The command line: parse, call, print. What does the work is imported when it is needed."""

from __future__ import annotations

import sys

from attentest.cli import signals
from attentest.cli.descriptors import open_closed


def main() -> None:
    """Run the command line; what the user can mend is a message and exit code 2."""
    open_closed()  # before the signals' pipe could take the number of a closed stream
    signals.install()  # before the first import that takes time
    from attentest.cli.app import USAGE_ERROR
    from attentest.cli.commands import app
    from attentest.cli.flags import command_of, with_flags
    from attentest.cli.streams import complain, guarded
    from attentest.errors import InputError

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
