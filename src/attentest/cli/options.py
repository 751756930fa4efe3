"""Options that are made from settings, options that several commands have, and what is made of what the user wrote."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from typer import Option

from attentest.cli.app import with_default
from attentest.cli.streams import say
from attentest.errors import InputError, brief
from attentest.settings import Setting

Command = TypeVar("Command", bound=Callable[..., Any])
MODEL, TRAINING, RUNNING = "Model", "Training", "Execution"
BUDGETS = ("quick", "standard", "paper")
ENGINES = ("local", "ray")
DEVICES = ("auto", "cpu", "cuda")
PAIR = "NAME=VALUE"
WIDEST = 24  # of names to choose from beside an option; more of them stand in its help


def offering(names: Callable[[], Iterable[str]] | Iterable[str]) -> Callable[[str], list[str]]:
    """Completion of a value from these names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in (names() if callable(names) else names) if name.startswith(incomplete)]

    return complete


AsJson = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]
Threads = Annotated[int | None, Option(help="CPU threads [all cores].", rich_help_panel=RUNNING)]
Device = Annotated[
    str,
    Option(
        help="Device to compute on; auto takes a GPU if there is one.",
        metavar="|".join(DEVICES),
        autocompletion=offering(DEVICES),
        rich_help_panel=RUNNING,
    ),
]


Memory = Annotated[
    str | None,
    Option(
        help="Most memory for what a trial of a pretrained encoder has at a time, next to the model, such as 2GB "
        "[16,384 tokens].",
        metavar="SIZE",
        rich_help_panel=RUNNING,
    ),
]


def option_of(setting: Setting, panel: str, without: str | None = None) -> inspect.Parameter:
    """The option of a setting; one that is not given is None, so that defaults stand in one place alone."""
    flags, default = list(setting.about.flags), without or setting.without
    if setting.kind is bool:
        flags, default = ["/".join(map(flag_of, flags))], without or flag_of(default)
    few = setting.few_choices
    help, metavar = setting.help.removesuffix("."), setting.about.metavar or "|".join(few) or None
    if few and len("|".join(few)) > WIDEST:
        help, metavar = f"{help} ({', '.join(few[:-1])} or {few[-1]})", "NAME"
    if setting.several:
        help += "; repeatable"
    option = Option(
        *flags,
        help=_with_flags(with_default(help, default) if default else f"{help}."),
        metavar=metavar,
        autocompletion=offering(lambda: setting.choices) if few or callable(setting.about.choices) else None,
        rich_help_panel=panel,
        show_default=False,
    )
    kind: Any = list[setting.kind] if setting.several else setting.kind  # type: ignore[name-defined]
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def with_options(*options: inspect.Parameter, last: Iterable[inspect.Parameter] = ()) -> Callable[[Command], Command]:
    """A command that takes these options as `**given`, shown before its own keyword-only ones; `last` behind them."""

    def extend(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        first = [one for one in own if one.kind is not one.KEYWORD_ONLY]
        parameters = [*first, *options, *(one for one in own if one.kind is one.KEYWORD_ONLY), *last]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return extend


def chosen(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Of the options with these names, those that the user gave."""
    return {name: given[name] for name in names if given.get(name) not in (None, [])}


def named_values(pairs: Iterable[str]) -> dict[str, Any]:
    """What NAME=VALUE options say: numbers, names, truth values, null, or lists of these."""
    return {name: _value(name, value) for name, value in written_pairs(pairs).items()}


def written_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """What NAME=VALUE options say, as it is written."""
    options: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"The option {brief(pair)} is not of the form NAME=VALUE.")
        if name in options:
            raise InputError(f"{brief(name)} was given twice; give it once.")
        options[name] = value
    return options


def _value(name: str, written: str) -> Any:
    try:
        value = json.loads(written)
    except RecursionError:
        value = {}
    except ValueError:
        return written
    parts = value if isinstance(value, list) else [value]
    if any(isinstance(part, list | dict) for part in parts):
        raise InputError(f"The value of {brief(name)} is nested; expected a number, a name, or a list of these.")
    if any(isinstance(part, float) and not math.isfinite(part) for part in parts):
        raise InputError(f"The value of {brief(name)} is {brief(written)}; expected a number that is finite.")
    return value


def _with_flags(help: str) -> str:
    """The library names settings (`max_tokens`); the command line has flags for them."""
    return re.sub(r"`([a-z_]+)`", lambda found: flag_of(found[1]), help)


def flag_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """1 step, 2 steps."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def set_threads(threads: int) -> None:
    if not 1 <= threads <= 1024:
        raise InputError(f"threads is {threads}; it must lie between 1 and 1024.")
    import torch

    torch.set_num_threads(threads)


def write(path: Path, content: str) -> None:
    from attentest.files import write_bytes

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
    write_bytes(path, content.encode("utf-8", "replace"))
    say(path)
