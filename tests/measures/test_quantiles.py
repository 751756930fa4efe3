"""Quantiles, against scipy."""

from __future__ import annotations

import pytest
from scipy import stats

from attentest.measures.quantiles import beta_quantile, beta_share, student_quantile

SHARES = (1e-6, 0.025, 0.3, 0.5, 0.975, 1 - 1e-6)


@pytest.mark.parametrize("a", [0.5, 1, 3, 20, 400, 50_000])
@pytest.mark.parametrize("b", [0.5, 1, 7.5, 400, 100_000])
def test_beta(a: float, b: float) -> None:
    for share in SHARES:
        x = float(stats.beta.ppf(share, a, b))
        assert beta_share(a, b, x) == pytest.approx(float(stats.beta.cdf(x, a, b)), rel=1e-9, abs=1e-12)
        assert beta_quantile(a, b, share) == pytest.approx(x, rel=1e-9, abs=1e-12)
    assert (beta_share(a, b, 0), beta_share(a, b, 1)) == (0, 1)


@pytest.mark.parametrize("degrees", [1, 1.3, 2, 4.7, 19, 399, 100_000])
def test_student(degrees: float) -> None:
    for share in (0.6, 0.9, 0.975, 0.9999):
        assert student_quantile(share, degrees) == pytest.approx(float(stats.t.ppf(share, degrees)), rel=1e-9)
