"""Jain & Wallace 2019, Table 2: the mean and the standard deviation of τ, and the share of texts with p ≤ .05."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from attentest.trials.correlation import Correlation, _Examiner

PAIR = "attention – leave-one-out"


def cells_of(tau: list[float], p: list[float], predicted: list[str]) -> dict[tuple[str, str], Any]:
    table = pa.table({"predicted": predicted, f"tau {PAIR}": tau, f"p {PAIR}": p})
    summary = _Examiner(Correlation(), ("leave-one-out",)).conclude(table).summary
    return {(c.variant, c.measure): c for c in Correlation.cells(summary, "softmax", ["no", "yes"])}


def test_a_p_value_of_five_percent_is_significant() -> None:
    found = cells_of([0.1, 0.2, 0.3, 0.6], [0.05, 0.0500001, 0.01, 0.5], ["no", "no", "yes", "yes"])
    assert found[("all", f"significant share {PAIR}")].value == 0.5
    assert found[("class 0", f"significant share {PAIR}")].value == 0.5
    assert found[("class 1", f"significant share % {PAIR}")].value == 50


def test_standard_deviations_come_with_the_means() -> None:
    # 0.1, 0.2, 0.3, 0.6: mean 0.3, squares 0.04 + 0.01 + 0 + 0.09; by class half the distance of the two
    found = cells_of([0.1, 0.2, 0.3, 0.6], [0.05] * 4, ["no", "no", "yes", "yes"])
    for variant, mean, deviation in (("all", 0.3, (0.14 / 4) ** 0.5), ("class 0", 0.15, 0.05), ("class 1", 0.45, 0.15)):
        one = found[(variant, f"tau {PAIR}")]
        assert (one.value, one.deviation) == (pytest.approx(mean), pytest.approx(deviation))
    assert found[("all", f"significant share {PAIR}")].deviation is None
    undefined = cells_of([np.nan] * 2, [np.nan] * 2, ["no", "no"])
    assert undefined[("all", f"tau {PAIR}")].deviation is None
