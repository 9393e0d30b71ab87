"""Spreads of series without common blocks: the bootstrap without drawing, and its errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from tare.results.verdict import HIGHER, INCONCLUSIVE, LOWER
from tare.statistics.intervals import p10_p90
from tare.statistics.spread import (
    adjust_spreads,
    compare_spread,
    compare_spread_unpaired,
    range_dependence,
    resampled_range,
    resamples_for,
)


@pytest.mark.parametrize("n", [20, 37, 200])
def test_resampled_ranges_are_those_of_drawn_resamples(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.lognormal(0, 0.5, n)
    drawn = p10_p90(values[rng.integers(0, n, (20_000, n))])
    quick = resampled_range(values, 20_000, 1)
    for q in (0.025, 0.25, 0.5, 0.75, 0.975):
        # Both are samples of one distribution over the values: shares below agree to 4 errors.
        at = np.quantile(drawn, q)
        assert np.mean(quick <= at) == pytest.approx(np.mean(drawn <= at), abs=0.02)


def test_a_wider_series_is_less_stable_and_scale_is_kept() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(10, 1, 150), rng.normal(10, 4, 90)
    found = compare_spread_unpaired(first, second)
    assert found.verdict == HIGHER
    assert found.ratio == pytest.approx(4, rel=0.3)
    scaled = compare_spread_unpaired(1e-6 * first, 1e-6 * second)
    assert scaled.ratio == pytest.approx(found.ratio)
    assert (scaled.low, scaled.high) == (pytest.approx(found.low), pytest.approx(found.high))
    back = compare_spread_unpaired(second, first)
    assert back.verdict == LOWER


def test_equal_spreads_differ_in_no_more_than_five_per_cent() -> None:
    rng = np.random.default_rng(3)
    alarms = sum(
        compare_spread_unpaired(
            rng.lognormal(0, 0.5, 30), rng.lognormal(0, 0.5, 45), resamples=999
        ).p
        < 0.05
        for _ in range(200)
    )
    assert alarms <= 19  # of 200 at 5 %: more in less than 1 %


def test_few_values_and_no_spread_are_not_decided() -> None:
    rng = np.random.default_rng(4)
    few = compare_spread_unpaired(rng.normal(1, 1, 12), rng.normal(1, 1, 50))
    assert (few.verdict, few.more_pairs, few.low) == (INCONCLUSIVE, 8, None)
    flat = compare_spread_unpaired(np.ones(50), rng.normal(1, 1, 50))
    assert (flat.verdict, flat.ratio) == (INCONCLUSIVE, None)


@pytest.mark.parametrize(("dependence", "least"), [(1.0, 20), (5.0, 50)])
def test_the_fewest_values_that_are_enough_have_an_interval(dependence: float, least: int) -> None:
    first, second = np.random.default_rng(10).normal(10, 1, (2, 80))
    enough = compare_spread_unpaired(first[:least], second, dependence=dependence)
    assert enough.n == least
    assert enough.low is not None
    assert enough.high is not None
    assert enough.low < enough.ratio < enough.high
    few = compare_spread_unpaired(first[: least - 1], second, dependence=dependence)
    assert (few.low, few.more_pairs) == (None, 1)


def test_a_large_family_still_finds_what_is_there() -> None:
    rng = np.random.default_rng(5)
    family = 300
    resamples = resamples_for(family)
    wide = compare_spread_unpaired(
        rng.normal(1, 1, 200), rng.normal(1, 5, 200), resamples=resamples
    )
    same = compare_spread_unpaired(rng.normal(1, 1, 200), rng.normal(1, 1, 200))
    judged = adjust_spreads([wide, *[same] * (family - 1)], 0.5)
    assert judged[0].verdict == HIGHER


def test_a_coarse_clock_beside_a_fine_one_makes_no_spread() -> None:
    rng, alarms = np.random.default_rng(6), 0
    for _ in range(60):
        fine = rng.normal(10, 0.4, 100)
        coarse = np.floor(rng.normal(10, 0.4, 100))
        alarms += compare_spread_unpaired(fine, coarse, resamples=999).verdict.differs
    assert alarms == 0


@pytest.mark.parametrize("paired", [False, True])
def test_series_that_remember_have_fewer_values(paired: bool) -> None:
    rng, alarms = np.random.default_rng(7), 0
    compared = compare_spread if paired else compare_spread_unpaired
    for _ in range(60):
        noise = rng.standard_normal((2, 300))
        first, second = lfilter([1], [1, -0.9], noise)[:, 200:] + 100
        dependence = range_dependence(first, second, paired=paired)
        alarms += compared(first, second, resamples=999, dependence=dependence).verdict.differs
    assert alarms <= 7  # of 60 at 5 %: more in 1 %; without it 20
    few = compared(first[:40], second[:40], resamples=999, dependence=5.0)
    assert (few.verdict, few.more_pairs) == (INCONCLUSIVE, 10)


def test_a_range_of_nothing_owes_nothing() -> None:
    few_levels = np.where(np.arange(60) % 30 == 0, 12.0, 10.0)
    fine = np.random.default_rng(9).normal(10, 1, 60)
    with np.errstate(all="raise"):
        assert range_dependence(few_levels, fine, paired=False) >= 1
        assert range_dependence(few_levels, fine, paired=True) >= 1


def test_independent_values_are_worth_one_each() -> None:
    rng = np.random.default_rng(8)
    some = [range_dependence(*rng.standard_normal((2, 50)), paired=False) for _ in range(100)]
    assert np.median(some) == 1
    assert np.mean(some) < 1.5
