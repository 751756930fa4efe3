"""`make docs`: fill in the tables of docs/commands.md, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from attentest.cli import app
from attentest.cli.lists import model_parts

PAGE = Path(__file__).parent / "commands.md"
OPTIONS, PARTS = "options", "parts"
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


def filled(text: str) -> str:
    """The page with its tables made anew."""
    commands = dict(every_command())
    parts = re.split(r"^(## .+\n)", text, flags=re.MULTILINE)
    for place in range(1, len(parts), 2):
        name = parts[place].removeprefix("## ").strip()
        if name in commands:
            tables = {OPTIONS: option_tables(commands[name]), PARTS: part_table()}
            for kind, table in tables.items():
                parts[place + 1] = _replaced(parts[place + 1], kind, table)
    return "".join(parts)


def _replaced(section: str, kind: str, content: str) -> str:
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
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
