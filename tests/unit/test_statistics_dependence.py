"""Dependence against statsmodels and known processes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from statsmodels.tsa.stattools import acf

from tare.statistics.dependence import (
    autocorrelation,
    dependence_time,
    dependence_times,
    lag1,
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


def test_the_time_of_rows_is_padded_for_short_series() -> None:
    values = np.random.default_rng(2).standard_normal(100)
    below = (values <= np.median(values)).astype(float)
    assert dependence_times(below[None]) == pytest.approx(1.08)
