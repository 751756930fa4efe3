"""The program: its commands register themselves here."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from attentest.version import __version__

app = typer.Typer(
    name="attentest",
    help="Can this model's attention be trusted as an explanation, and in which sense?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # in "rich", what stands in brackets would be taken for a style and left out
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"attentest {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass
