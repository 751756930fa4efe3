"""The program: its commands register themselves here."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from attentest.errors import InputError, brief
from attentest.settings import LARGEST
from attentest.version import __version__

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]  # UsageError, of typer or of click, as the version has it
ORDER = (  # of the commands in the help: what most people need first
    *("audit", "train", "finetune", "translate", "show", "serve", "annotate", "trial", "compare", "report", "export"),
    *("study", "status", "calibrate", "trials", "corpora", "models", "store"),
)


def with_default(help: str, default: object) -> str:
    """The help of an option, with what holds without it in brackets."""
    return f"{help.removesuffix('.')} [{default}]."


def _tidied(parameters: Sequence[Any]) -> list[Any]:
    """Arguments in capitals, flags without a type, defaults in brackets at the end of the help."""
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.metavar or parameter.name.upper()
        elif parameter.is_flag:
            parameter.metavar = ""
        elif parameter.show_default and parameter.default not in (None, ()):
            parameter.help = with_default(parameter.help, parameter.default)
        parameter.show_default = False
    return list(parameters)


def _check_folders() -> None:
    """Relative paths and workers need a working folder, and libraries one for temporary files."""
    try:
        Path.cwd()
    except OSError as error:
        raise InputError(f"The working folder cannot be used: {error.strerror}. Change to another one.") from error
    try:
        tempfile.gettempdir()
    except OSError as error:
        raise InputError("No temporary file can be written; set TMPDIR to a folder that has room.") from error


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _tidied(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        _check_folders()
        for name, value in ctx.params.items():
            if isinstance(value, int) and abs(value) > LARGEST:
                raise InputError(f"`{name}` is {brief(value)}; it must be at most {LARGEST:,}.")
        return super().invoke(ctx)


class _Group(TyperGroup):
    order: tuple[str, ...] = ORDER

    def list_commands(self, ctx: Any) -> list[str]:
        place = {name: n for n, name in enumerate(self.order)}
        return sorted(super().list_commands(ctx), key=lambda name: place.get(name, len(place)))

    def get_params(self, ctx: Any) -> list[Any]:
        return _tidied(super().get_params(ctx))


class _AnnotateGroup(_Group):
    order = ("create", "serve", "report", "export", "import")  # as a study goes on


app = typer.Typer(
    name="attentest",
    help="Can this model's attention be trusted as an explanation, and in which sense?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # in "rich", what stands in brackets would be taken for a style and left out
    context_settings={"help_option_names": ["-h", "--help"]},
    cls=_Group,
)
store_app = typer.Typer(no_args_is_help=True, help="Manage the store of finished steps.", cls=_Group)
annotate_app = typer.Typer(
    no_args_is_help=True, help="Ask people whether the heaviest words are relevant.", cls=_AnnotateGroup
)
command = partial(app.command, cls=_Command)
store_command = partial(store_app.command, cls=_Command)
annotate_command = partial(annotate_app.command, cls=_Command)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"attentest {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
