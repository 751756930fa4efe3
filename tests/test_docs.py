"""What README and docs say is true: commands parse, the Python example runs, files they name exist; and it is complete:
every trial, experiment, setting, command and option has its place."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
import typer
from docs.generate import calibration_page, every_command, pages, parameters, with_definitions
from typer.testing import CliRunner

import attentest
from attentest.cli.app import ORDER
from attentest.cli.commands import app
from attentest.corpora import FORMATS, corpus_names
from attentest.files import read_as as read_json_as
from attentest.files import write_json
from attentest.measures.intervals import Estimate
from attentest.models import ALIGNMENTS, ENCODERS, PROJECTIONS, STRUCTURES
from attentest.models.decoders import DECODERS
from attentest.models.settings import PAIRINGS
from attentest.settings import settings_of
from attentest.studies import PAPERS
from attentest.studies.audit import BUDGETS
from attentest.studies.experiments import EXPERIMENTS, experiment_class
from attentest.studies.schema import read_study
from attentest.studies.verdict import DEFINITIONS, Calibration, Rates, calibration
from attentest.studies.verdict.calibration import Confusion
from attentest.studies.verdict.calibration import TestRates as RatesOfOne  # pytest takes Test… for tests
from attentest.studies.verdict.judge import FAILURES
from attentest.training.folder import FILES
from attentest.trials import TRIALS, trial_class
from attentest.trials.of_translation import OF_TRANSLATION, PREFIX
from attentest.trials.scores import SCORES

ROOT = Path(__file__).parents[1]
PAGES = [  # what `attentest calibrate` writes for itself is not part of the docs: calibration.md is
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "calibration" not in page.parts),
]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HEADINGS = (
    *("Question", "Definition", "Formula", "Settings", "What it gives"),
    *("How to read it", "Limits", "Try it", "Citation"),
)
KINDS: dict[str, Any] = {  # page under docs -> class
    **{f"trials/{name}.md": trial_class(name) for name in TRIALS},
    **{f"experiments/{name}.md": experiment_class(name) for name in EXPERIMENTS},
}


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """What stands under each `## ` heading."""
    parts = re.split(r"^## (.+)\n", text_of(page), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (body.strip() for body in parts[2::2]), strict=True))


def items(text: str) -> list[str]:
    """The entries of its lists, each on one line."""
    return [" ".join(item.split()) for item in re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)]


COMMANDS = dict(every_command())


def commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            lines = (line.partition("  #")[0].strip() for line in block.splitlines())
            found += [(str(page.relative_to(ROOT)), line) for line in lines if line.startswith("attentest ")]
    return found


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_command_parses(page: str, line: str) -> None:
    name, *arguments = shlex.split(line)
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands") and not arguments[0].startswith("-"):
        name, *arguments = arguments
        command = command.commands[name]
    with suppress(typer.Exit):  # --version prints it and is done
        assert command.make_context(name, arguments, resilient_parsing=False).params


def test_every_page_has_commands_to_try() -> None:
    tried = {page for page, _ in commands()}
    assert not {f"docs/{page}" for page in KINDS} - tried


def test_pages_name_commands_that_the_makefile_has() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"make ([a-z]+)", README))
    assert {"demo", "test", "bench", "lint", "reproduce"} <= named <= targets
    assert set(re.findall(r"`make ([a-z-]+)", contributing)) == targets - {"demo", "reproduce", "clean"}


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"a {word} film {i},{stars}" for i in range(15) for word, stars in (("good", 5), ("bad", 1))]
    (tmp_path / "reviews.csv").write_text("\n".join(["body,stars", *rows]))
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out.count("heaviest:") == 5


def test_links_and_pictures_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), (
                f"{page.relative_to(ROOT)}: {target}"
            )


def test_every_part_and_every_file_of_a_run_is_listed() -> None:
    found = sections("commands.md")
    for name in (*STRUCTURES, *ENCODERS, *ALIGNMENTS, *PROJECTIONS, *PAIRINGS, *DECODERS):
        assert re.search(rf"`{re.escape(name)}[`:]", found["attentest models"]), name
    for name in set(FILES) - {"checkpoint.safetensors", "result.json"}:
        assert name in found["attentest train"], name


def test_readme_lists_every_trial_and_study() -> None:
    assert all(f"`{name}`" in README for name in (*TRIALS, *PAPERS))


def test_readme_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(docs/([^)]+)\)", README))
    assert {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").glob("*.md")} <= linked


def test_measures_studies_and_experiments_are_listed() -> None:
    for name in set(SCORES) - {"attention"}:
        assert f"`{name}`" in sections("trials/correlation.md")["Settings"], name
    for name in (*PAPERS, *EXPERIMENTS):
        assert f"`{name}`" in sections("commands.md")["attentest study"], name


def test_the_studies_on_the_page_of_commands_can_be_read(tmp_path: Path) -> None:
    found = []
    for example in re.findall(r"```yaml\n(.*?)```", text_of("commands.md"), re.DOTALL):
        (tmp_path / "mine.yaml").write_text(example)
        found.append(read_study(tmp_path / "mine.yaml"))
    first, second = found
    assert first.seeds == (0, 1)
    assert second.deviations.keys() == {"epochs"}


def test_every_name_has_a_summary() -> None:
    summaries = [*corpus_names().values(), *(source.summary for source in FORMATS.values())]
    parts = (*STRUCTURES.values(), *ENCODERS.values(), *ALIGNMENTS.values(), *PROJECTIONS.values())
    everything = (*summaries, *(part.summary for part in parts))
    assert all(10 < len(summary) < 110 for summary in everything)
    assert not [summary for summary in everything if re.search(r"\b(JW|WP|SS|VA|ME|WE)\b", summary)]


def test_documents_do_not_speak_of_one_machine() -> None:
    for page in (*PAGES, ROOT / "CHANGELOG.md", ROOT / "Makefile"):
        assert not re.search(r"/(work|root|home|opt)/", page.read_text(encoding="utf-8")), page


@pytest.mark.parametrize("page", KINDS)
def test_a_trial_has_a_page_with_all_its_parts(page: str) -> None:
    found = sections(page)
    assert tuple(found) == HEADINGS
    assert all(found.values()), [heading for heading, body in found.items() if not body]
    name = page.rpartition("/")[2].removesuffix(".md")
    assert re.match(rf"# {name}( \(T\d+.*\))?\n", text_of(page))
    assert len(text_of(page).splitlines()) <= 110


def test_no_page_is_about_what_is_not_there() -> None:
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")}
    parts = {"reproduction/introduction.md", "reproduction/earlier.md"}  # of docs/reproduction.md
    assert {page for page in pages if "/" in page} == {*KINDS, "trials/README.md", "trials/translation.md", *parts}


def test_the_index_lists_every_page_with_its_question() -> None:
    index = text_of("trials/README.md")
    for page, kind in KINDS.items():
        link = page.removeprefix("trials/") if page.startswith("trials/") else f"../{page}"
        assert f"| [{kind.name}]({link}) | {kind.question} |" in index, page


@pytest.mark.parametrize("name", [name for name in OF_TRANSLATION if name.startswith(PREFIX)])
def test_trials_of_translation_runs_share_a_page(name: str) -> None:
    section, kind = sections("trials/translation.md")[name], trial_class(name)
    assert section.startswith(kind.question)
    shown = [item.partition("`")[2].partition("`")[0] for item in items(section)]
    assert shown == [field.name for field in fields(kind)]  # type: ignore[arg-type]
    assert f"| [{name}](translation.md#{name}) | {kind.question} |" in text_of("trials/README.md")


@pytest.mark.parametrize("page", KINDS)
def test_settings_on_a_page_are_those_of_the_class(page: str) -> None:
    told = [re.fullmatch(r"`(\w+)` \((.*?)\): .{10,}", item) for item in items(sections(page)["Settings"])]
    assert all(told), f"{page}: a setting is written - `name` (default): what it does"
    shown = {match[1]: match[2] for match in told if match}
    defaults = {field.name: field.default for field in fields(KINDS[page])}
    assert list(shown) == list(defaults)
    assert {name: read_as(defaults[name], text) for name, text in shown.items()} == defaults


def read_as(default: Any, shown: str) -> Any:
    """A printed default as a value of the default's type; several have commas between them, and none is `none`."""
    if isinstance(default, tuple):
        return () if shown == "none" else tuple(read_as(default[0] if default else "", x) for x in shown.split(", "))
    return shown == "True" if isinstance(default, bool) else type(default)(shown)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_trial_says_how_to_read_it(kind: Any) -> None:
    assert len(vars(kind).get("how_to_read", "")) >= 40


def test_the_studies_on_pages_can_be_read(tmp_path: Path) -> None:
    for page in (page for page in KINDS if page.startswith("experiments/")):
        (example,) = re.findall(r"```yaml\n(.*?)```", text_of(page), re.DOTALL)
        (tmp_path / "mine.yaml").write_text(example)
        assert list(read_study(tmp_path / "mine.yaml").experiments) == [KINDS[page].name]


def test_every_command_has_a_section_and_no_other_has() -> None:
    assert set(sections("commands.md")) == set(COMMANDS)


@pytest.mark.parametrize(("page", "fill"), pages().items(), ids=lambda page: getattr(page, "name", ""))
def test_what_is_made_from_the_program_is_as_the_program_is(page: Path, fill: Callable[[str], str]) -> None:
    written = page.read_text(encoding="utf-8")
    assert written == fill(written), f"{page.relative_to(ROOT)} is behind the program; run: make docs"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_setting_of_a_trial_has_its_help(kind: Any) -> None:
    for one in settings_of(kind):
        assert re.match(r"[A-Z].{10,}\.$", one.help), f"{kind.__name__}.{one.name} has the help {one.help!r}"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_an_introduction_an_example_and_a_line_for_each_option(name: str) -> None:
    section = sections("commands.md")[name]
    assert re.search(rf"```bash\n{name}[ \n]", section), f"{name} has no example"
    assert not section.startswith(("```", "- ", "<!--")), f"{name} has no introduction"
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    for one in parameters(COMMANDS[name]):
        shown = [f"`{one.metavar}`"] if one.param_type_name == "argument" else [*one.opts, *one.secondary_opts]
        assert any(all(flag in line for flag in shown) for line in lines), f"{one.name} has no line; run: make docs"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text_that_stands_alone(name: str) -> None:
    assert 10 < len(COMMANDS[name].help) < 130
    for one in parameters(COMMANDS[name]):
        assert re.match(r"[A-Zλ].{10,}\.$", one.help or ""), f"{name}: {one.name} has the help {one.help!r}"
        assert len(one.help) < 150, one.help


def test_help_lists_commands_in_an_order_that_names_all() -> None:
    group = typer.main.get_command(app)
    assert group.list_commands(None) == list(ORDER)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_what_stands_in_brackets(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split()[1:], "--help"], terminal_width=100).output
    bare = re.sub(r"[\s│]", "", shown)  # as if no line were broken
    for said in (parameter.help for parameter in parameters(COMMANDS[name])):
        assert all(re.sub(r"\s", "", default) in bare for default in re.findall(r"\[.*?\]", said)), said


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
def test_the_page_of_verdicts_has_a_definition_and_its_tests(definition: Any) -> None:
    section = sections("verdicts.md")[definition.name]
    made, told = section.split(f"<!-- end of {definition.name} -->")
    assert definition.means in made
    assert f"The caveat: {definition.caveat} ({definition.paper})" in made
    assert re.findall(r"^\| `([\w.-]+)` \|", made, re.MULTILINE) == [c.name for c in definition.criteria]
    assert len(told.split()) > 20, "a definition is also told in words"


def test_the_definitions_are_listed_where_readers_begin() -> None:
    for page in (README, text_of("verdicts.md")):
        for definition in DEFINITIONS.values():
            assert re.search(
                rf"^\| \[?`?{definition.name}`?.*\| {re.escape(definition.means)} \|", page, re.MULTILINE
            ), definition


def test_the_budgets_are_told() -> None:
    table = sections("verdicts.md")["Budgets"]
    for name, budget in BUDGETS.items():
        (row,) = (line for line in table.splitlines() if line.startswith(f"| `{name}` | {budget.about} | "))
        assert re.findall(r"\[([\w-]+)\]", row) == list(budget.experiments)
        assert f"`{name}`" in README


def measured() -> Calibration:
    rates = [Rates(400, 0.9, 0.04, 0.02, 0.07, 24)]
    good = RatesOfOne(0.123, Estimate(0.97, 0.9, 1.0, 24), 0.95, 0.5, True, "", rates)
    bad = RatesOfOne(0.2, Estimate(0.6, 0.4, 0.8, 24), 0.6, 0.95, False, "AUROC 0.60 is below 0.85", rates)
    counts = {"yes": {"yes": 18, "unclear": 2}, "no": {"no": 19, "yes": 1}}
    return Calibration(
        {"faithful.comprehensiveness": good, "faithful.gradient": bad},
        {"faithful": Confusion(400, counts)},
        {"budget": "standard", "models": 40, "proven": 38, "left_out": {"hard": 2}}
        | {name: ["a"] for name in ("corpora", "architectures", "set_on", "held_out")},
    )


def test_pages_tell_what_a_calibration_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "calibration.json", asdict(measured()))
    monkeypatch.setattr("docs.generate.MEASURED", tmp_path / "calibration.json")
    page = with_definitions(text_of("verdicts.md"))
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `faithful.")}
    assert "at least 0.123 | [calibrated](calibration.md) | yes, AUROC 0.97 |" in rows["faithful.comprehensiveness"]
    assert rows["faithful.gradient"].endswith("| no: AUROC 0.60 is below 0.85 |")
    assert rows["faithful.sets"].endswith("| no: not calibrated |")
    assert "| [faithful](#faithful) | 400 | 0.974 [0.862, 0.999] | 5% |" in page
    assert "0.970 [0.900, 1.000]" in calibration_page()
    (judged_by,) = (fill for place, fill in pages().items() if place.name == "calibration.json")
    assert judged_by("") == (tmp_path / "calibration.json").read_text(encoding="utf-8")


def test_pages_cope_without_a_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "calibration.json", asdict(Calibration()))
    monkeypatch.setattr("docs.generate.MEASURED", tmp_path / "calibration.json")
    assert "no: not calibrated" in with_definitions(text_of("verdicts.md"))
    assert "not measured in this version" in calibration_page()


def test_verdicts_are_reached_by_the_calibration_that_the_page_shows() -> None:
    assert calibration() == read_json_as(ROOT / "docs" / "calibration" / "calibration.json", Calibration)


def test_what_may_be_failed_on_is_what_pages_name() -> None:
    for page in PAGES:
        for name in re.findall(r"--fail-on ([\w-]+)", page.read_text(encoding="utf-8")):
            assert name in FAILURES, f"{page.relative_to(ROOT)}: {name}"


@pytest.mark.slow
def test_the_page_of_the_python_interface_runs(tmp_path: Path) -> None:
    """Its blocks, one after the other, in one program and a folder of its own."""
    rows = [
        f"a {word} {noun} number {i},{stars}"
        for i in range(14)
        for noun in ("film", "book", "song", "play")
        for word, stars in (("good", 5), ("bad", 1), ("fine", 5), ("poor", 1))
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["body,stars", *rows]))
    blocks = re.findall(r"^```python\n(.*?)^```", text_of("python.md"), re.DOTALL | re.MULTILINE)
    program = tmp_path / "page.py"
    program.write_text(f"if __name__ == '__main__':\n{textwrap.indent(chr(10).join(blocks), '    ')}", encoding="utf-8")
    source = str(Path(attentest.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "ATTENTEST_STORE": str(tmp_path / "store")}
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("attentest:") == 5  # a signature for each finding that is printed
    for name in ("audits/run", "audits/full", "audits/file", "audits/subject", "comparisons/ab"):
        assert (tmp_path / name / "report.html").is_file()
    assert len(blocks) >= 6


def test_nothing_is_linked_by_its_kind_twice() -> None:
    """As people are, who are no trial of that name."""
    assert not [page.name for page in PAGES if re.search(r"\[(\w+) \1\]", page.read_text(encoding="utf-8"))]
