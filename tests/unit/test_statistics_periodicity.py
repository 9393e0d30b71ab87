"""Pulses and waves, and how surprising they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal, stats

from tare.statistics.order import normal_scores
from tare.statistics.periodicity import periodicity


def noise(n: int) -> np.ndarray:
    return np.random.default_rng(n).standard_normal(n)


@pytest.mark.parametrize("n", [40, 97, 1000])
@pytest.mark.parametrize("period", [2, 3, 5, 10])
def test_pulses_are_found_at_their_period(period: int, n: int) -> None:
    found = periodicity(normal_scores(noise(n) + 20 * (np.arange(n) % period == 1)))
    assert found.period == period
    assert periodicity(normal_scores(noise(n) - 20 * (np.arange(n) % period == 1))).period == period


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
