from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tare.statistics import rank_sum
from tare.statistics.comparison import compare_unpaired
from tare.statistics.rank_sum import rank_sum_cdf, rank_sum_interval, rank_sum_p


@pytest.mark.parametrize(("m", "n"), [(3, 4), (5, 5), (1, 6)])
def test_the_distribution_is_that_of_all_orders(m: int, n: int) -> None:
    u = [sum(chosen) - m * (m - 1) // 2 for chosen in combinations(range(m + n), m)]
    counts = np.bincount(u, minlength=m * n + 1)
    assert rank_sum_cdf(m, n) == pytest.approx(np.cumsum(counts) / math.comb(m + n, m))


@pytest.mark.parametrize(("m", "n"), [(6, 8), (40, 50), (60, 30), (200, 200)])
def test_p_is_scipys(m: int, n: int) -> None:
    rng = np.random.default_rng(m)
    a, b = rng.random(m), rng.random(n) + 0.1
    method = "exact" if max(m, n) <= 50 else "asymptotic"
    assert rank_sum_p(a, b) == pytest.approx(stats.mannwhitneyu(a, b, method=method).pvalue)
    a, b = np.round(a, 1), np.round(b, 1)
    tied = stats.mannwhitneyu(a, b, method="asymptotic").pvalue
    assert rank_sum_p(a, b) == pytest.approx(tied)


@pytest.mark.parametrize("n", [8, 30, 80])
def test_the_interval_excludes_what_the_test_rejects(n: int) -> None:
    rng = np.random.default_rng(n)
    for shift in rng.normal(0, 1, 60):
        a, b = rng.standard_normal(n), rng.standard_normal(n) + shift
        found = rank_sum_interval(a, b)
        assert found is not None
        assert (not found[1] <= 0 <= found[2]) == (rank_sum_p(a, b) < 0.05)


@pytest.mark.parametrize("dependence", [1.0, 3.0])
def test_many_differences_are_searched_for_as_few_are_sorted(
    dependence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(300), rng.standard_normal(200) + 0.3
    sorted_ = rank_sum_interval(a, b, 0.95, dependence)
    monkeypatch.setattr(rank_sum, "_MOST_DIFFERENCES", 10)
    assert rank_sum_interval(a, b, 0.95, dependence) == pytest.approx(sorted_, abs=1e-12)


@given(st.integers(6, 30), st.integers(6, 30), st.floats(-5, 5))
def test_a_shift_shifts_the_interval(m: int, n: int, shift: float) -> None:
    rng = np.random.default_rng(m * 100 + n)
    a, b = rng.standard_normal(m), rng.standard_normal(n)
    here, there = rank_sum_interval(a, b), rank_sum_interval(a, b + shift)
    assert here is not None
    assert there == pytest.approx([x + shift for x in here])


def test_dependence_widens() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal(100), rng.standard_normal(100) + 0.4
    plain, wide = rank_sum_interval(a, b), rank_sum_interval(a, b, dependence=4.0)
    assert plain is not None
    assert wide is not None
    assert wide[2] - wide[1] == pytest.approx(2 * (plain[2] - plain[1]), rel=0.15)
    assert rank_sum_p(a, b, 4.0) > rank_sum_p(a, b)


def test_unpaired_comparisons_cover_the_true_ratio() -> None:
    """Nominal 95 %; lognormal, unequal n."""
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(2000):
        a = np.exp(0.1 * rng.standard_normal(15))
        b = 1.1 * np.exp(0.1 * rng.standard_normal(25))
        c = compare_unpaired(a, b)
        assert c.low is not None
        assert c.high is not None
        missed += not c.low <= 1.1 <= c.high
    assert missed <= stats.binom.ppf(0.999, 2000, 0.05)


def test_too_few_have_a_ratio_without_interval() -> None:
    c = compare_unpaired(np.array([1.0, 1.1]), np.array([2.0, 2.2]))
    assert c.ratio == pytest.approx(2)
    assert (c.low, c.high, c.verdict) == (None, None, "not decided")


def test_equal_constant_series_are_the_same() -> None:
    c = compare_unpaired(np.ones(10), np.ones(12))
    assert (c.ratio, c.low, c.high, c.p, c.verdict) == (1, 1, 1, 1, "same")
