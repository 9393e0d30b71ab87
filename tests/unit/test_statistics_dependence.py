"""Dependence and drift against statsmodels, scipy and known processes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter
from statsmodels.tsa.stattools import acf

from tare.statistics.dependence import (
    autocorrelation,
    dependence_time,
    drift,
    lag1,
    median_dependence_time,
)


@given(st.lists(st.floats(-100, 100), min_size=10, max_size=80))
def test_autocorrelation_is_statsmodels(values: list[float]) -> None:
    x = np.array(values)
    if np.std(x) < 1e-3:
        return
    assert autocorrelation(x) == pytest.approx(acf(x, nlags=len(x) - 1, fft=True), abs=1e-8)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_dependence_time_of_an_autoregression(rho: float) -> None:
    rng = np.random.default_rng(1)
    truth = (1 + rho) / (1 - rho)
    noise = rng.standard_normal((20, 5000))
    times = [dependence_time(lfilter([1], [1, -rho], row)) for row in noise]
    assert np.mean(times) == pytest.approx(truth, rel=0.15)


def test_constant_and_alternating_series_remember_nothing() -> None:
    assert lag1(np.full(20, 5.0)) == 0
    assert dependence_time(np.full(20, 5.0)) == 1
    assert dependence_time(np.tile([0.0, 1.0], 20)) == 1


def test_the_medians_time_is_padded_for_short_series() -> None:
    values = np.random.default_rng(2).standard_normal(100)
    assert median_dependence_time(values) == pytest.approx(1.08)


def test_drift_is_found_with_its_size() -> None:
    rng = np.random.default_rng(3)
    found = drift(100 + np.linspace(0, 10, 60) + rng.standard_normal(60))
    assert found is not None
    assert found.low < 0.1 / 1.05 < found.high
    assert found.p < 1e-6
    assert drift(np.ones(9)) is None
    long = drift(100 + np.linspace(0, 10, 60_000) + rng.standard_normal(60_000))
    assert long is not None
    assert long.change == pytest.approx(0.1 / 1.05, rel=0.02)


def test_steady_series_rarely_drift() -> None:
    rng = np.random.default_rng(4)
    found = [drift(rng.lognormal(0, 0.3, 40)) for _ in range(400)]
    alarms = sum(d is not None and d.p < 0.05 for d in found)
    assert alarms <= stats.binom.ppf(0.99, 400, 0.05)
