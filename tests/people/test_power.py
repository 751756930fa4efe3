"""How many texts a difference takes: the documented numbers, and differences that cannot be looked for."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from attentest.errors import InputError
from attentest.people.power import LEAST, samples_for

DOCS = Path(__file__).parents[2] / "docs" / "people.md"


def test_the_table_of_the_documentation() -> None:
    rows = re.findall(r"^\| (0\.\d+) \| ([\d,]+) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 5
    assert [samples_for(float(difference)) for difference, _ in rows] == [int(n.replace(",", "")) for _, n in rows]


@pytest.mark.parametrize("difference", [1e-200, 1e-160, 0.99 * LEAST, 0, -0.1, 1.01, math.nan, math.inf])
def test_differences_that_are_refused(difference: float) -> None:
    with pytest.raises(InputError, match=r"expected a difference of shares from 0\.0001 to 1"):
        samples_for(difference)


def test_the_smallest_difference() -> None:
    assert samples_for(LEAST) > 300_000_000
