"""The line through a sweep, against statsmodels and scipy, and where there is nothing to tell."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tare.statistics.regression import LEAST_P, line


def noisy(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 4, n)
    return x, -3 + 54 * x * (1 + 0.2 * rng.standard_normal(n))


@pytest.mark.parametrize(("seed", "n"), [(1, 40), (2, 5), (3, 3), (4, 1000)])
def test_it_is_what_statsmodels_says(seed: int, n: int) -> None:
    x, y = noisy(seed, n)
    found = line(x, y)
    model = sm.OLS(y, sm.add_constant(x))
    plain, robust = model.fit(), model.fit(cov_type="HC3", use_t=True)
    (low, high), (slope_low, slope_high) = robust.conf_int()
    assert (found.intercept, found.slope) == pytest.approx(tuple(plain.params))
    assert (found.intercept_low, found.intercept_high) == pytest.approx((low, high))
    assert (found.slope_low, found.slope_high) == pytest.approx((slope_low, slope_high))
    assert found.r2 == pytest.approx(plain.rsquared)
    assert found.p == pytest.approx(plain.pvalues[1], rel=1e-6)
    assert found.p == pytest.approx(stats.linregress(x, y).pvalue, rel=1e-6)
    assert (found.maximum, found.n) == (y.max(), n)


def test_a_p_too_small_to_be_written_is_not_zero() -> None:
    x = np.arange(1, 200.0)
    assert line(x, 3 * x).p == pytest.approx(LEAST_P, rel=1e-6) or (line(x, 3 * x).p or 0) > 0
    assert (line(x, 3 * x).p or 1) < 1e-100


@pytest.mark.parametrize(
    ("x", "y", "absent"),
    [
        ([1.0], [5.0], {"slope_low", "intercept_low", "r2", "p"}),
        ([1.0, 2.0], [5.0, 6.0], {"slope_low", "intercept_low", "p"}),
        ([1.0, 1.0, 1.0], [5.0, 6.0, 7.0], {"slope_low", "intercept_low", "r2", "p"}),
        ([1.0, 2.0, 3.0], [5.0, 5.0, 5.0], {"r2", "p"}),
        ([1.0, 1.0, 1.0, 2.0], [5.0, 6.0, 7.0, 8.0], {"slope_low", "intercept_low"}),
    ],
    ids=["one point", "two points", "one x", "constant", "a point that fixes the line"],
)
def test_what_is_not_known_is_none(x: list[float], y: list[float], absent: set[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = line(np.array(x), np.array(y))
    fields = {"slope_low", "intercept_low", "r2", "p"}
    assert {name for name in fields if getattr(found, name) is None} == absent
    assert found.maximum == max(y)


@pytest.mark.parametrize(
    ("y", "complaint"),
    [
        ([], "x has no values"),
        ([1.0, np.nan], r"y\[1\] is nan, which is not a finite number"),
        ([1.0, np.inf], r"y\[1\] is inf, which is not a finite number"),
        ([1.0], "x has 2 values and y has 1"),
    ],
)
def test_what_is_no_number_is_refused(y: list[float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        line(np.array([1.0, 2.0])[: max(len(y), 2) if y else 0], np.array(y))


@given(st.integers(0, 1000), st.floats(1e-6, 1e6), st.floats(-100, 100))
def test_scale_and_shift_only_scale_and_shift(seed: int, scale: float, shift: float) -> None:
    x, y = noisy(seed, 12)
    one, other = line(x, y), line(x, scale * y + shift)
    assert other.slope == pytest.approx(scale * one.slope, rel=1e-6, abs=1e-9)
    assert other.intercept == pytest.approx(scale * one.intercept + shift, rel=1e-5, abs=1e-4)
    order = np.random.default_rng(seed).permutation(12)
    assert line(x[order], y[order]).slope == pytest.approx(one.slope)
