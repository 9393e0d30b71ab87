"""The confidence sequence: a martingale by hand, its ranks, and what it covers at all n at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from said import args
from scipy import stats

from tare.statistics.anytime import PRIOR_TRIALS, sequence_interval, sequence_ranks
from tare.statistics.intervals import quantile_ranks


def ratio(k: int, n: int, q: float) -> float:
    """Mixture likelihood over that of q, by products instead of beta functions."""
    a, b = PRIOR_TRIALS * q, PRIOR_TRIALS * (1 - q)
    found = 1.0
    for i in range(k):
        found *= (a + i) / q
    for i in range(n - k):
        found *= (b + i) / (1 - q)
    for i in range(n):
        found /= a + b + i
    return found


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_the_likelihood_ratio_is_one_on_average(n: int, q: float) -> None:
    k = np.arange(n + 1)
    average = float(np.dot(stats.binom.pmf(k, n, q), [ratio(i, n, q) for i in k]))
    assert average == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "q"), [(30, 0.5), (60, 0.5), (90, 0.9)])
def test_ranks_are_those_where_the_ratio_stays_below_one_over_alpha(n: int, q: float) -> None:
    ranks = sequence_ranks(n, q, 0.95)
    assert ranks is not None
    possible = [k for k in range(n + 1) if ratio(k, n, q) < 20]
    assert ranks == (possible[0], possible[-1] + 1)


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_covers_at_all_n_at_once(q: float) -> None:
    rng = np.random.default_rng(1)
    series, longest = 2000, 400
    below = np.cumsum(rng.random((series, longest)) <= q, axis=1)
    missed = np.zeros(series, dtype=bool)
    peeked = np.zeros(series, dtype=bool)
    for n in range(20, longest + 1):
        k = below[:, n - 1]
        sequence, once = sequence_ranks(n, q), quantile_ranks(n, q)
        if sequence is not None:
            missed |= (k < sequence[0]) | (k >= sequence[1])
        if once is not None:
            peeked |= (k < once[0]) | (k >= once[1])
    assert missed.sum() <= stats.binom.ppf(0.99, series, 0.05)
    # The same series, looked at as often, fail the ranks that are meant for one look.
    assert peeked.mean() > 0.15


def test_is_wider_than_one_look_and_narrows_with_n() -> None:
    widths = []
    for n in (50, 200, 1000, 5000):
        sequence, once = sequence_ranks(n), quantile_ranks(n)
        assert sequence is not None
        assert once is not None
        assert sequence[0] <= once[0]
        assert once[1] <= sequence[1]
        widths.append((sequence[1] - sequence[0]) / n)
    assert widths == sorted(widths, reverse=True)
    # As of the law of the iterated logarithm, up to its constant: no wider than 1.8 times one look.
    assert widths[-1] < 1.8 * 2 * 1.96 * 0.5 / math.sqrt(5000)


def test_interval_takes_its_values_from_the_series() -> None:
    values = np.random.default_rng(2).permutation(np.arange(1.0, 101.0))
    interval = sequence_interval(values, tick=0.0)
    ranks = sequence_ranks(100)
    assert ranks is not None
    assert (interval.low, interval.high) == ranks
    assert interval.estimate == 50.5
    scaled = sequence_interval(3 * values, tick=0.0)
    assert (scaled.low, scaled.high) == (3 * ranks[0], 3 * ranks[1])


def test_too_few_trials_are_told_how_many_there_must_be() -> None:
    interval = sequence_interval(np.arange(5.0))
    assert (interval.low, interval.high) == (None, None)
    assert interval.refusal is not None
    needs = args(interval.refusal, "small, needs ≥")["needs"]
    assert sequence_ranks(needs) is not None
    assert sequence_ranks(needs - 1) is None
    assert sequence_interval(np.array([])).refusal is not None
