"""`make docs`: fill in what pages have from the program and its calibration: tables of commands, definitions and
budgets, settings of trials and experiments, error rates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import typer
from benchmarks.coverage.row import TEXTS, Coverage

from attentest.cli.commands import app
from attentest.cli.lists import model_parts
from attentest.files import read_as
from attentest.settings import settings_of
from attentest.studies import verdict
from attentest.studies.audit import BUDGETS
from attentest.studies.calibration.page import markdown
from attentest.studies.experiments import EXPERIMENTS, experiment_class
from attentest.studies.reproduction.markdown import markdown as reproduction
from attentest.studies.verdict.calibration import FILE, Calibration
from attentest.studies.verdict.criterion import CALIBRATED, DEFINES, PEOPLE, Criterion, Definition
from attentest.studies.verdict.definitions import DEFINITIONS
from attentest.translation.settings import GROUPS as TRANSLATION
from attentest.trials import TRIALS, trial_class
from attentest.trials.charts.files import slug
from attentest.trials.of_translation import OF_TRANSLATION

HERE = Path(__file__).parent
MEASURED = HERE / "calibration" / FILE  # what `make calibration` wrote
JUDGED_BY = Path(verdict.__file__).with_name(FILE)  # its copy in the package
COVERED = HERE / "coverage.json"  # what `python -m benchmarks.coverage` wrote
UNMEASURED = "Error rates are not measured in this version."
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
    return {
        HERE / "commands.md": with_tables,
        HERE / "verdicts.md": with_definitions,
        HERE / "translation.md": with_translation_settings,
        HERE / "trials" / "translation.md": with_settings_of_translation_trials,
        HERE / "calibration.md": lambda _: calibration_page(),
        HERE / "reproduction.md": lambda _: reproduction(HERE / "reproduction"),
        JUDGED_BY: lambda _: MEASURED.read_text(encoding="utf-8"),
        **lists,
    }


def with_translation_settings(text: str) -> str:
    for group, kind in {**TRANSLATION, "alignment": trial_class("alignment")}.items():
        text = _replaced(f"{group} settings", setting_list(kind), text)
    return text


def with_settings_of_translation_trials(text: str) -> str:
    for name in OF_TRANSLATION:
        text = _replaced(f"{name} settings", setting_list(trial_class(name)), text)
    return text


def with_definitions(text: str) -> str:
    """The page of verdicts with what definitions, budgets and calibration say."""
    found = read_as(MEASURED, Calibration)
    filled = {"definitions": definition_table(), "budgets": budget_table(), "error rates": rate_table(found)}
    filled["coverage"] = coverage_table(read_as(COVERED, list[Coverage]))
    filled |= {name: definition_part(definition, found) for name, definition in DEFINITIONS.items()}
    for kind, content in filled.items():
        text = _replaced(kind, content, text)
    return text


def definition_table() -> str:
    def numbers(definition: Definition) -> str:
        return ", ".join(dict.fromkeys(criterion.number for criterion in definition.criteria))

    rows = ((f"[{d.name}](#{d.name})", d.means, numbers(d)) for d in DEFINITIONS.values())
    return _table(("attention is …", "definition", "trials and experiments"), rows)


def definition_part(definition: Definition, found: Calibration) -> str:
    """What it means, its tests, its caveat, and how its truth is known."""
    head = ("test", "measured", "threshold", "source of the threshold", "decides")
    tests = _table(head, (_test(criterion, found) for criterion in definition.criteria))
    caveat = f"The caveat: {definition.caveat} ({definition.paper})"
    return "\n\n".join([definition.means, tests, caveat, f"How its truth is known: {definition.truth}"])


def _test(criterion: Criterion, found: Calibration) -> tuple[str, ...]:
    measured = found.tests.get(criterion.name)
    threshold, source = criterion.threshold, criterion.source
    if measured is not None:
        threshold, source = measured.threshold, "[calibrated](calibration.md)"
    place = f"[{criterion.kind} {criterion.trial}]({criterion.kind}s/{criterion.trial}.md)"
    if criterion.kind == PEOPLE:
        place = "[people](people.md)"
    asked = f"{criterion.says} ({criterion.number}, {place}; {criterion.level})"
    return f"`{criterion.name}`", asked, f"{criterion.side} {threshold:g}", source, _decides(criterion, found)


def _decides(criterion: Criterion, found: Calibration) -> str:
    measured = found.tests.get(criterion.name)
    if criterion.role == DEFINES:
        return "yes: it is the definition"
    if criterion.role != CALIBRATED:
        return "no: evidence"
    if measured is None:
        return "no: not calibrated"
    return f"yes, AUROC {measured.auroc.value:.2f}" if measured.decides else f"no: {measured.why}"


def rate_table(found: Calibration) -> str:
    if not found.verdicts:
        return UNMEASURED
    rows = (
        (f"[{name}](#{name})", f"{one.texts:,}", str(one.share_right()), f"{one.share_unclear():.0%}")
        for name, one in found.verdicts.items()
    )
    return _table(("verdict", "texts", "right among yes and no", "unclear or not tested"), rows)


def coverage_table(found: list[Coverage]) -> str:
    """The least coverage of each kind of interval, over all data of a number of texts."""

    def least(rows: list[Coverage]) -> str:
        there = [row for row in rows if row.without < 1]
        if not there:
            return "no interval"
        without = max(row.without for row in rows)
        seldom = f" ({without:.0%} without)" if without >= 0.005 else ""
        return f"{min(row.covered for row in there):.3f}{seldom}"

    kinds = dict.fromkeys(row.kind for row in found)
    cells = (
        (kind, *(least([row for row in found if (row.kind, row.n) == (kind, n)]) for n in TEXTS)) for kind in kinds
    )
    return _table(("interval", *(f"{n} texts" for n in TEXTS)), cells)


def budget_table() -> str:
    def links(names: Iterable[str]) -> str:
        return ", ".join(f"[{name}](experiments/{name}.md)" for name in names)

    rows = ((f"`{name}`", budget.about, links(budget.experiments)) for name, budget in BUDGETS.items())
    return _table(("budget", "time and size", "experiments"), rows)


def calibration_page() -> str:
    """From what `make calibration` wrote, or a line that nothing is measured yet."""
    found = read_as(MEASURED, Calibration)
    if not found.signature:
        return f"# Calibration\n\n{UNMEASURED} `make calibration` trains the models and writes this page.\n"
    files = {title: f"calibration/{slug(title)}.svg" for title in (f"roc {name}" for name in DEFINITIONS)}
    return markdown(found, {title: path for title, path in files.items() if (HERE / path).is_file()})


def setting_list(kind: Any) -> str:
    return "\n".join(f"- `{one.name}` ({_default(one.default)}): {one.help}" for one in settings_of(kind))


def _default(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_default, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"


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
