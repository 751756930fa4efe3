"""What README and docs say is true: commands parse, the Python example runs, files they name exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from attentest import cli
from attentest.corpora import FORMATS, corpus_names
from attentest.models import ALIGNMENTS, ENCODERS, PROJECTIONS, STRUCTURES
from attentest.studies import PAPERS
from attentest.studies.experiments import EXPERIMENTS
from attentest.studies.schema import read_study
from attentest.training.folder import FILES
from attentest.trials import TRIALS
from attentest.trials.scores import SCORES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            lines = (line.partition("  #")[0].strip() for line in block.splitlines())
            found += [(page.name, line) for line in lines if line.startswith("attentest ")]
    return found


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_command_parses(page: str, line: str) -> None:
    _, name, *arguments = shlex.split(line)
    command = typer.main.get_command(cli.app).commands[name]  # type: ignore[attr-defined]
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    context = command.make_context(name, arguments, resilient_parsing=False)
    assert context.params


def test_readme_names_commands_that_the_makefile_has() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)", README))
    assert {"demo", "test", "bench", "lint", "reproduce"} <= named <= targets


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
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
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_lists_every_part_and_every_file_of_a_run() -> None:
    for name in (*STRUCTURES, *ENCODERS, *ALIGNMENTS, *PROJECTIONS):
        assert re.search(rf"`{name}[`:]", README), name
    for name in set(FILES) - {"checkpoint.safetensors", "result.json"}:
        assert name in README, name


def test_readme_lists_every_trial() -> None:
    assert all(f"`{name}`" in README for name in TRIALS)


def test_readme_lists_measures_studies_and_experiments() -> None:
    for name in {*SCORES, *PAPERS, *EXPERIMENTS} - {"attention"}:
        assert f"`{name}`" in README, name


def test_the_study_in_the_readme_can_be_read(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "mine.yaml").write_text(example)
    assert read_study(tmp_path / "mine.yaml").seeds == (0, 1)


def test_every_name_has_a_summary() -> None:
    summaries = [*corpus_names().values(), *(source.summary for source in FORMATS.values())]
    parts = (*STRUCTURES.values(), *ENCODERS.values(), *ALIGNMENTS.values(), *PROJECTIONS.values())
    assert all(10 < len(summary) < 110 for summary in (*summaries, *(part.summary for part in parts)))


def test_documents_do_not_speak_of_one_machine() -> None:
    for page in (*PAGES, ROOT / "CHANGELOG.md", ROOT / "Makefile"):
        assert not re.search(r"/(work|root|home|opt)/", page.read_text(encoding="utf-8")), page
