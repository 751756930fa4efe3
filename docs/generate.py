"""`make docs`: fill in the tables of commands.md and the settings of trials and experiments, from the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer

from attentest.cli.commands import app
from attentest.cli.lists import model_parts
from attentest.settings import settings_of
from attentest.studies.experiments import EXPERIMENTS, experiment_class
from attentest.trials import TRIALS, trial_class

HERE = Path(__file__).parent
OPTIONS, PARTS, SETTINGS = "options", "parts", "settings"
FIRST = "Options"  # what the help calls the panel of options that have no other


def every_command(command: Any = None, name: str = "attentest") -> Iterator[tuple[str, Any]]:
    """The commands by their full names, the program itself among them; groups alone do nothing."""
    command = typer.main.get_command(app) if command is None else command
    if name == "attentest" or not hasattr(command, "commands"):
        yield name, command
    for word, inner in getattr(command, "commands", {}).items():
        yield from every_command(inner, f"{name} {word}")


def parameters(command: Any) -> list[Any]:
    """What the help of a command shows, but for --help itself."""
    shown = command.get_params(command.context_class(command))
    return [one for one in shown if not getattr(one, "hidden", False) and "--help" not in one.opts]


def pages() -> dict[Path, Callable[[str], str]]:
    """Every page that has something made by this, and what makes it anew."""
    kinds: dict[str, Any] = {f"trials/{name}.md": trial_class(name) for name in TRIALS}
    kinds |= {f"experiments/{name}.md": experiment_class(name) for name in EXPERIMENTS}
    lists = {HERE / page: partial(_replaced, SETTINGS, setting_list(kind)) for page, kind in kinds.items()}
    return {HERE / "commands.md": with_tables, **lists}


def setting_list(kind: Any) -> str:
    return "\n".join(f"- `{one.name}` ({_default(one.default)}): {one.help}" for one in settings_of(kind))


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_default, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_tables(text: str) -> str:
    commands = dict(every_command())
    parts = re.split(r"^(## .+\n)", text, flags=re.MULTILINE)
    for place in range(1, len(parts), 2):
        name = parts[place].removeprefix("## ").strip()
        if name in commands:
            tables = {OPTIONS: option_tables(commands[name]), PARTS: part_table()}
            for kind, table in tables.items():
                parts[place + 1] = _replaced(kind, table, parts[place + 1])
    return "".join(parts)


def _replaced(kind: str, content: str, section: str) -> str:
    start, end = f"<!-- {kind}: made by `make docs` -->", f"<!-- end of {kind} -->"
    return re.sub(
        rf"{re.escape(start)}\n.*?{re.escape(end)}",
        lambda _: f"{start}\n\n{content}\n\n{end}",
        section,
        flags=re.DOTALL,
    )


def option_tables(command: Any) -> str:
    """Arguments, then options in the panels that the help shows them in."""
    shown = parameters(command)
    arguments = [one for one in shown if one.param_type_name == "argument"]
    panels: dict[str, list[Any]] = {FIRST: []}
    for one in shown:
        if one not in arguments:
            panels.setdefault(getattr(one, "rich_help_panel", None) or FIRST, []).append(one)
    tables = [_table(("argument", ""), ((f"`{one.metavar}`", one.help) for one in arguments))] if arguments else []
    for panel, options in panels.items():
        if options:
            title = [] if panel == FIRST else [f"{panel}:"]
            tables += [*title, _table(("option", "", "default"), map(_option, options))]
    return "\n\n".join(tables)


def _option(option: Any) -> tuple[str, str, str]:
    flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
    said, default = re.fullmatch(r"(.*?)(?: \[([^]]*)\])?\.", option.help, re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{flags} {option.metavar or ''}".strip(), f"{said}.", default or ""


def part_table() -> str:
    rows = ((part, f"`{name}`", summary) for part, names in model_parts().items() for name, summary in names.items())
    return _table(("part", "name", ""), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    for page, fill in pages().items():
        page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
