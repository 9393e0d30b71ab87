"""Changes of level: found where they are, told apart, and not seen where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from tare.statistics.dependence import dependence_time, dependence_times, first_correlations, lag1
from tare.statistics.steadiness import HOLD, SAY, change_statistics, largest_change, scores


@pytest.mark.parametrize("values", [np.linspace(100, 0.5, 200), np.repeat([100.0, 5.0], [20, 180])])
def test_positive_values_never_fall_by_more_than_all_of_them(values: np.ndarray) -> None:
    noise = np.random.default_rng(1).normal(1, 0.05, 200)
    assert -1 < largest_change(values * noise).size < -0.8


def test_a_drift_is_found_and_measured() -> None:
    rng = np.random.default_rng(1)
    values = (1 + np.linspace(0.015, -0.015, 200)) * rng.normal(1, 0.005, 200)
    change = largest_change(values)
    assert change.statistic > SAY
    assert (change.kind, change.place) == ("drift", 200)
    assert change.size == pytest.approx(-0.03, abs=0.006)


def test_a_jump_is_found_where_it_is() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(1, 0.01, 300) + np.where(np.arange(300) < 120, 0.0, 0.04)
    change = largest_change(values)
    assert change.kind == "jump"
    assert change.place == pytest.approx(120, abs=3)
    assert change.size == pytest.approx(0.04 / 1.02, abs=0.006)


def test_slow_first_trials_are_a_jump() -> None:
    values = np.random.default_rng(3).normal(1, 0.01, 100) + np.where(np.arange(100) < 10, 0.1, 0)
    change = largest_change(values)
    assert change.statistic > SAY
    assert (change.kind, change.place) == ("jump", 10)


def test_a_tail_that_grows_is_seen_at_its_quantile_only() -> None:
    rng = np.random.default_rng(4)
    late = np.arange(2000) >= 1000
    values = rng.normal(1, 0.01, 2000) + np.where(late & (rng.random(2000) < 0.08), 0.5, 0)
    assert largest_change(values, 0.95).statistic > SAY
    assert largest_change(values, 0.95).size > 0.3
    assert abs(largest_change(values).size) < 0.01


@pytest.mark.parametrize("kind", ["normal", "t2", "bimodal", "AR .5", "equal"])
def test_steady_series_are_held_up_rarely(kind: str) -> None:
    rng = np.random.default_rng(5)
    shape = (2000, 200)
    rows = {
        "normal": lambda: rng.standard_normal(shape),
        "t2": lambda: rng.standard_t(2, shape),
        "bimodal": lambda: rng.standard_normal(shape) + 8 * (rng.random(shape) < 0.4),
        "AR .5": lambda: lfilter([1], [1, -0.5], rng.standard_normal((2000, 300)))[:, 100:],
        "equal": lambda: np.ones(shape),
    }[kind]()
    statistic, _ = change_statistics(scores(rows, 0.5)[0])
    assert np.mean(statistic > HOLD) < 0.055
    assert np.mean(statistic > SAY) < 0.02


def test_only_the_order_of_the_values_counts() -> None:
    values = np.random.default_rng(6).lognormal(size=150)
    changed = largest_change(values)
    assert largest_change(1e9 * values).statistic == pytest.approx(changed.statistic)
    assert largest_change(1e9 * values).size == pytest.approx(changed.size)
    statistic, place = change_statistics(scores(np.log(values)[None], 0.5)[0])
    assert (statistic[0], place[0]) == (pytest.approx(changed.statistic), place[0])


@pytest.mark.parametrize("n", [50, 63, 400])
def test_dependence_of_many_rows_is_that_of_each(n: int) -> None:
    noise = np.random.default_rng(7).standard_normal((40, n + 50))
    rows = lfilter([1], [1, -0.6], noise)[:, 50:]
    rows[0] = 3.0
    for row, tau, first in zip(rows, dependence_times(rows), first_correlations(rows), strict=True):
        alone = dependence_time(row) if lag1(row) > 1 / np.sqrt(n) else 1.0
        assert tau == pytest.approx(alone * (1 + 8 * alone / n))
        assert first == pytest.approx(lag1(row), abs=1e-9)
