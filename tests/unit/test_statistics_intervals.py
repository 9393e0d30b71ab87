"""Intervals of one cell against published ranks, scipy, and their own coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tare.statistics.intervals import (
    coverage_like,
    mean_interval,
    p10_p90,
    quantile_interval,
    quantile_ranks,
    range_interval,
    sd_interval,
    trials_needed,
)

series = st.lists(st.floats(1, 1000), min_size=6, max_size=60).map(np.array)


@pytest.mark.parametrize(
    ("n", "ranks"), [(6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (31, (10, 22)), (50, (18, 33))]
)
def test_ranks_of_the_median_are_the_published_ones(n: int, ranks: tuple[int, int]) -> None:
    # Le Boudec 2010, table A.1.
    assert quantile_ranks(n) == ranks


@pytest.mark.parametrize(("q", "n"), [(0.5, 6), (0.99, 368)])
def test_says_how_many_trials_a_quantile_needs(q: float, n: int) -> None:
    assert trials_needed(q) == n
    assert quantile_ranks(n - 1, q) is None


@given(series, st.sampled_from([0.25, 0.5, 0.75]))
def test_quantile_interval_covers_at_least_what_scipy_does(values: np.ndarray, q: float) -> None:
    ours = quantile_interval(values, q)
    if ours.low is None:
        assert "too small, needs ≥" in str(ours.refusal)
        return
    ranks = quantile_ranks(len(values), q)
    assert ranks is not None
    n = len(values)
    covered = stats.binom.cdf(ranks[1] - 1, n, q) - stats.binom.cdf(ranks[0] - 1, n, q)
    assert covered >= 0.95
    theirs = stats.quantile_test(values, p=q).confidence_interval(0.95)
    if not np.isnan(theirs.low) and not np.isnan(theirs.high):
        # scipy widens by at most one rank where a rank's probability is exactly met.
        ordered = np.sort(values)
        assert ordered[max(ranks[0] - 2, 0)] <= theirs.low <= ordered[ranks[0]]
        assert ordered[ranks[1] - 2] <= theirs.high <= ordered[min(ranks[1], n - 1)]


@given(series, st.floats(0.5, 4), st.floats(-100, 100))
def test_intervals_follow_scale_and_shift(values: np.ndarray, scale: float, shift: float) -> None:
    one, other = quantile_interval(values), quantile_interval(values * scale + shift)
    for a, b in ((one.low, other.low), (one.high, other.high)):
        assert a is not None
        assert b == pytest.approx(a * scale + shift, abs=1e-6)


@given(series, st.randoms())
def test_order_does_not_matter(values: np.ndarray, random: object) -> None:
    shuffled = values.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert quantile_interval(shuffled) == quantile_interval(values)


def test_refuses_instead_of_clipping() -> None:
    interval = quantile_interval(np.arange(1.0, 6.0))
    assert interval.low is None
    assert interval.half_width is None
    assert interval.refusal == "n = 5 is too small, needs ≥ 6"


def test_mean_of_few_trials_is_students_t() -> None:
    values = np.random.default_rng(1).normal(100, 5, 12)
    interval = mean_interval(values)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert (interval.low, interval.high) == (pytest.approx(low), pytest.approx(high))
    assert interval.method == "Student's t"


def test_mean_of_many_trials_is_scipys_bootstrap() -> None:
    values = np.random.default_rng(1).lognormal(0, 0.3, 60)
    interval = mean_interval(values, seed=7)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=1999, method="BCa", rng=np.random.default_rng(7)
    ).confidence_interval
    assert (interval.low, interval.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))


def test_one_trial_has_no_interval() -> None:
    assert mean_interval(np.array([1.0])).low is None
    assert sd_interval(np.array([1.0, 2.0])).low is None
    assert range_interval(np.ones(5)).low is None


def test_equal_values_have_an_interval_of_no_width() -> None:
    interval = mean_interval(np.full(30, 7.0))
    assert (interval.low, interval.high) == (7.0, 7.0)
    assert sd_interval(np.full(30, 7.0)).refusal == "all values are equal"


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_range_is_numpys_hazen(values: list[float]) -> None:
    low, high = np.quantile(values, [0.1, 0.9], method="hazen")
    assert float(p10_p90(np.array(values))) == pytest.approx(high - low, abs=1e-6)


def test_range_interval_covers() -> None:
    rng = np.random.default_rng(5)
    truth = float(np.diff(np.exp(0.5 * stats.norm.ppf([0.1, 0.9])))[0])
    covered = 0
    for _ in range(200):
        interval = range_interval(np.exp(0.5 * rng.standard_normal(50)), resamples=499)
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= truth <= interval.high
    assert covered >= stats.binom.ppf(0.01, 200, 0.92)


def test_range_draws_trials_with_all_their_workers() -> None:
    # Ten identical workers add nothing that resampling may count on.
    values = np.random.default_rng(2).normal(100, 5, 40)
    one, ten = range_interval(values), range_interval(np.tile(values[:, None], 10))
    assert one.low is not None
    assert ten.low is not None
    assert ten.half_width == pytest.approx(one.half_width, rel=0.15)


def test_coverage_of_the_sd_is_told_to_be_low_under_outliers() -> None:
    rng = np.random.default_rng(3)
    outliers = rng.normal(100, 1, 50)
    outliers[7] += 40
    assert coverage_like(outliers, "sd") < 0.8
    assert coverage_like(rng.normal(100, 1, 50), "mean") > 0.9
