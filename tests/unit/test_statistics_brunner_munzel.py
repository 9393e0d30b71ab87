from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tare.results.verdict import EQUIVALENT, HIGHER, INCONCLUSIVE
from tare.statistics import brunner_munzel
from tare.statistics.brunner_munzel import brunner_munzel_interval, brunner_munzel_p
from tare.statistics.comparison import compare_unpaired


@pytest.mark.parametrize(("m", "n"), [(6, 8), (40, 50), (60, 30), (200, 200)])
def test_p_without_the_correction_is_scipys(
    m: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brunner_munzel, "_CORRECTION", 0.0)
    monkeypatch.setattr(brunner_munzel, "_FAR", 0.0)
    rng = np.random.default_rng(m)
    a, b = rng.random(m), 2 * rng.random(n) - 0.3
    assert brunner_munzel_p(a, b) == pytest.approx(stats.brunnermunzel(a, b).pvalue)
    a, b = np.round(a, 1), np.round(b, 1)
    assert brunner_munzel_p(a, b) == pytest.approx(stats.brunnermunzel(a, b).pvalue)


@pytest.mark.parametrize("n", [8, 30, 80])
def test_the_interval_excludes_what_the_test_refuses(n: int) -> None:
    rng = np.random.default_rng(n)
    for shift in rng.normal(0, 1, 60):
        a, b = rng.standard_normal(n), 3 * rng.standard_normal(n) + shift
        found = brunner_munzel_interval(a, b)
        assert found is not None
        assert (not found[1] <= 0 <= found[2]) == (brunner_munzel_p(a, b) < 0.05)


def test_many_differences_are_searched_for_as_few_are_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(300), rng.standard_normal(200) + 0.3
    sorted_ = brunner_munzel_interval(a, b)
    monkeypatch.setattr(brunner_munzel, "_MOST_DIFFERENCES", 10)
    assert brunner_munzel_interval(a, b) == pytest.approx(sorted_, abs=1e-9)


@given(st.integers(6, 30), st.integers(6, 30), st.floats(-5, 5))
def test_a_shift_shifts_the_interval(m: int, n: int, shift: float) -> None:
    rng = np.random.default_rng(m * 100 + n)
    a, b = rng.standard_normal(m), rng.standard_normal(n)
    here, there = brunner_munzel_interval(a, b), brunner_munzel_interval(a, b + shift)
    assert here is not None
    assert there == pytest.approx([x + shift for x in here], abs=1e-8)


def test_dependence_widens() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal(100), rng.standard_normal(100) + 0.4
    plain, wide = brunner_munzel_interval(a, b), brunner_munzel_interval(a, b, dependence=4.0)
    assert plain is not None
    assert wide is not None
    assert wide[2] - wide[1] == pytest.approx(2 * (plain[2] - plain[1]), rel=0.15)
    assert brunner_munzel_p(a, b, 4.0) > brunner_munzel_p(a, b)


def test_a_small_sample_of_large_spread_alarms_no_more_than_another() -> None:
    """Ten values of ten times the spread beside a hundred: rank-sum 24 %. 99 % bound of 6 %."""
    rng = np.random.default_rng(3)
    alarms = sum(
        brunner_munzel_p(0.1 * rng.standard_normal(10), 0.01 * rng.standard_normal(100)) < 0.05
        for _ in range(2000)
    )
    assert alarms <= stats.binom.ppf(0.99, 2000, 0.06)


@pytest.mark.parametrize("replicates", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_unpaired_comparisons_cover_the_true_ratio(replicates: int) -> None:
    """Nominal 95 %; lognormal, unequal n."""
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(replicates):
        a = np.exp(0.1 * rng.standard_normal(15))
        b = 1.1 * np.exp(0.1 * rng.standard_normal(25))
        c = compare_unpaired(a, b)
        assert c.low is not None
        assert c.high is not None
        missed += not c.low <= 1.1 <= c.high
    assert missed <= stats.binom.ppf(0.999, replicates, 0.05)


def test_too_few_have_a_ratio_without_interval() -> None:
    c = compare_unpaired(np.array([1.0, 1.1]), np.array([2.0, 2.2]))
    assert c.ratio == pytest.approx(2)
    assert (c.low, c.high, c.verdict) == (None, None, INCONCLUSIVE)


def test_what_lies_apart_differs() -> None:
    c = compare_unpaired(np.linspace(1, 1.01, 7), np.linspace(1.5, 1.51, 8))
    assert c.verdict == HIGHER


def test_equal_constant_series_are_equal_only_where_the_tick_is_known() -> None:
    c = compare_unpaired(np.ones(10), np.ones(12))
    assert (c.low, c.high, c.p, c.verdict, c.tick) == (None, None, 1, INCONCLUSIVE, None)
    assert compare_unpaired(np.ones(10), np.ones(12), tick=0.001).verdict == EQUIVALENT


@pytest.mark.parametrize(("m", "n"), [(6, 20), (10, 100), (12, 12)])
def test_coins_decide_where_one_sample_spreads_much_farther(m: int, n: int) -> None:
    """As where the larger sample is one point, and the other lies to either side of it."""
    few, many = np.arange(1.0, m + 1), -np.linspace(0, 1e-6, n)
    assert brunner_munzel_p(few, many) == pytest.approx(min(2 ** (1.0 - m), 1))
    one_below = np.append(few[1:], -1.0)
    assert brunner_munzel_p(one_below, many) >= min(0.02, 2 * (m + 1) / 2**m)
