"""Intervals of one cell against published ranks, scipy, and their own coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import templates
from scipy import stats

from tare.results.message import message
from tare.statistics.intervals import (
    extremes_interval,
    p10_p90,
    quantile_interval,
    quantile_ranks,
    range_interval,
    trials_needed,
)
from tare.statistics.ticks import tick_of

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
        assert templates(ours.refusal) == ["small, needs ≥"] or tick_of(values) is None
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
    one = quantile_interval(values, tick=0.0)
    other = quantile_interval(values * scale + shift, tick=0.0)
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
    assert interval.refusal == message("n = {n} is too small, needs ≥ {needs}", n=5, needs=6)


def test_one_trial_has_no_interval() -> None:
    assert range_interval(np.ones(5)).low is None


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


@pytest.mark.parametrize(("n", "level"), [(3, 0.75), (4, 0.875), (5, 0.9375)])
def test_the_extremes_of_few_values_cover_the_median_at_their_level(n: int, level: float) -> None:
    rng, replicates = np.random.default_rng(n), 2000
    covered = 0
    for _ in range(replicates):
        found = extremes_interval(rng.lognormal(0, 1, n))
        assert found is not None
        assert found.confidence == level
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1 <= found.high
    low, high = stats.binom.ppf([0.005, 0.995], replicates, level)
    assert low <= covered <= high


@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_other_numbers_of_values_have_no_interval_of_extremes(n: int) -> None:
    assert extremes_interval(np.arange(float(n))) is None
