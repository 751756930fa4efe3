"""Verdicts in a terminal: figure, interval, threshold and sentence, however narrow it is."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
import sample_report
from rich.console import Console

from attentest.reports.verdict_table import WIDE, VerdictTable, rows
from attentest.studies.verdict import Verdict


def verdicts() -> list[Verdict]:
    return list(sample_report.block("model", "model", sample_report.SURE).verdicts)


def printed(width: int, given: list[Verdict]) -> list[str]:
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(VerdictTable(given))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_a_row_has_the_figure_that_decides_and_its_threshold() -> None:
    found = {row[0]: row[1:] for row in rows(verdicts())}
    assert list(found) == ["used", "needed", "stable", "exclusive", "faithful", "informative", "plausible"]
    assert found["faithful"][:3] == ("no", "0.170 [0.110, 0.230]", "at least 0.5")
    assert found["informative"][:3] == ("not tested", "–", "–")
    assert all(verdict.confidence == found[verdict.definition.name][3] for verdict in verdicts())


def test_little_consequence_is_said() -> None:
    idle = [replace(verdict, of_consequence=False) for verdict in verdicts()]
    assert [row[1] for row in rows(idle)[4:6]] == ["no (of little consequence)", "not tested"]


def test_verdicts_that_stand_on_the_same_share_a_sentence() -> None:
    flat = [replace(verdict, confidence="Not tested: the weights are near uniform.") for verdict in verdicts()[2:4]]
    assert printed(80, flat)[-2:] == ["stable, exclusive", "  Not tested: the weights are near uniform.".ljust(80)]


@pytest.mark.parametrize("width", [60, 80, WIDE, 160])
def test_nothing_is_lost_in_a_narrow_terminal(width: int) -> None:
    lines = printed(width, verdicts())
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split())
    for verdict in verdicts():
        for word in (verdict.definition.name, verdict.answer, *verdict.confidence.split()[:2]):
            assert word in told
    if width >= 80:
        assert any("faithful" in line and "0.170 [0.110, 0.230]" in line and "at least 0.5" in line for line in lines)


def test_sentences_stand_in_the_table_only_where_there_is_room() -> None:
    narrow, wide = "\n".join(printed(80, verdicts())), "\n".join(printed(160, verdicts()))
    assert "what it stands on" in wide
    assert "what it stands on" not in narrow
    assert "\nfaithful\n  comprehensiveness 0.170" in narrow
