"""Probabilities that are computed without scipy, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from tare.statistics.distributions import (
    chi2_survival,
    normal_cdf,
    normal_quantiles,
    student_cdf,
)


@pytest.mark.parametrize("df", [1, 2, 3, 7, 30, 59, 98, 500, 4094, 10_000])
def test_student(df: int) -> None:
    for t in (-300.0, -20.0, -3.0, -0.7, -1e-6, 0.0, 0.3, 2.0, 9.0):
        assert student_cdf(df, t) == pytest.approx(special.stdtr(df, t), rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 10, 49, 100, 101])
def test_chi_square(df: int) -> None:
    for x in (0.0, 1e-9, 0.5, 3.0, 40.0, 300.0, 1000.0):
        assert chi2_survival(df, x) == pytest.approx(special.chdtrc(df, x), rel=1e-10, abs=1e-300)


def test_normal() -> None:
    x = np.linspace(-37, 9, 200)
    assert [normal_cdf(one) for one in x] == pytest.approx(special.ndtr(x), rel=1e-10)
    p = np.concatenate([np.logspace(-12, -1, 50), np.linspace(0.001, 0.999, 199)])
    assert normal_quantiles(p) == pytest.approx(special.ndtri(p), rel=1e-10, abs=1e-12)
