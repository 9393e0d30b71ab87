"""Pulses and waves, and how surprising they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal, stats

from tare.statistics.order import normal_scores, order_of
from tare.statistics.periodicity import periodicity


def noise(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal(n)


@pytest.mark.parametrize("n", [40, 97, 1000])
@pytest.mark.parametrize("period", [2, 3, 5, 10])
def test_pulses_are_found_at_their_period(period: int, n: int) -> None:
    found = periodicity(normal_scores(noise(n) + 20 * (np.arange(n) % period == 1)))
    assert found.period == period
    assert periodicity(normal_scores(noise(n) - 20 * (np.arange(n) % period == 1))).period == period


@pytest.mark.parametrize("n", [30, 40, 97])
@pytest.mark.parametrize("width", [2, 3])
def test_pulses_of_several_trials_are_found(width: int, n: int) -> None:
    found = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        on = (np.arange(n) + rng.integers(7)) % 7 < width
        order = order_of(rng.standard_normal(n) + 20 * on)
        assert order is not None
        found += order.recurs
    assert found >= 48


def test_a_perfect_pulse_has_its_exact_probability() -> None:
    n, size = 40, 4
    found = periodicity(normal_scores(noise(n) + 20 * (np.arange(n) % 10 == 0)))
    assert found.surprise == pytest.approx(-math.log(2 / math.comb(n, size)))


def test_a_weaker_pulse_has_that_of_students_t() -> None:
    n = 300
    scores = normal_scores(noise(n) + 1.5 * (np.arange(n) % 2 == 0))
    found = periodicity(scores)
    p = stats.ttest_ind(scores[::2], scores[1::2]).pvalue
    assert found.period == 2
    assert found.surprise == pytest.approx(-math.log(p), rel=1e-6)


def test_waves_are_those_of_the_periodogram() -> None:
    n = 200
    scores = normal_scores(noise(n) + 2 * np.sin(2 * np.pi * np.arange(n) / 6.25))
    found = periodicity(scores)
    _, power = signal.periodogram(scores, detrend=False, scaling="spectrum")
    assert found.period == pytest.approx(6.25)
    assert found.share == pytest.approx(float(power.max()), rel=1e-6)


@pytest.mark.parametrize("n", [2, 6, 7])
def test_a_series_of_less_than_four_periods_has_none(n: int) -> None:
    assert periodicity(normal_scores(noise(n))).surprise == 0


@pytest.mark.parametrize("n", [30, 300, 3000])
def test_only_less_surprising_patterns_are_left_out(n: int) -> None:
    """With and without a pulse: the pattern is the same wherever it reaches the least surprise."""
    rng = np.random.default_rng(n)
    for height in (0.0, 0.3, 1.0, 3.0):
        scores = normal_scores(rng.standard_normal(n) + height * (np.arange(n) % 7 < 3))
        whole = periodicity(scores)
        for least in (whole.surprise / 2, whole.surprise, whole.surprise + 1):
            found = periodicity(scores, least)
            assert found == whole if least <= whole.surprise else found.surprise < least


@pytest.mark.parametrize("n", [16, 23, 64, 97])
def test_the_clearest_pulse_is_that_of_all_runs_of_phases(n: int) -> None:
    scores = normal_scores(noise(n) + 3 * (np.arange(n) % 8 < 3))
    shares = {}
    for period in range(2, n // 4 + 1):
        for first in range(period):
            for width in range(1, period // 2 + 1):
                on = (np.arange(n) - first) % period < width
                shares[period, first, width] = scores[on].sum() ** 2 / (on.sum() * (~on).sum())
    best = max(shares.values())
    found = periodicity(scores)
    assert found.share == pytest.approx(best)
    assert (found.period, best) in {(key[0], share) for key, share in shares.items()}
