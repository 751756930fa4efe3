"""The command line: parse, call, print. What does the work is imported when it is needed."""

from __future__ import annotations

import sys

from attentest.cli import signals


def main() -> None:
    """Run the command line; what the user can mend is a sentence and exit code 2."""
    signals.install()  # before the first import that takes time
    from attentest.cli.commands import app
    from attentest.cli.flags import command_of, with_flags
    from attentest.errors import InputError

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
