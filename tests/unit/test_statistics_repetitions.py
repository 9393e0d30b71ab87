"""The stopping rule: it stops where it should, not before, and says what it reached."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from tare.statistics.repetitions import (
    FIRST_LOOK,
    decide,
    decide_cell,
    looks,
    reached_precision,
    spread_target,
)


def autoregressive(rng: np.random.Generator, rho: float, n: int, cv: float) -> np.ndarray:
    noise = rng.standard_normal(n + 300) * np.sqrt(1 - rho**2)
    return 1 + cv * lfilter([1], [1, -rho], noise)[300:]


def stopping_size(values: np.ndarray, precision: float, spread: float | None = None) -> int:
    return list(looks(values, precision, spread))[-1][0]


def test_never_stops_before_fifty_independent_trials() -> None:
    values = np.random.default_rng(1).normal(100, 0.001, 200)
    assert not decide_cell(values[: FIRST_LOOK - 1], 0.02).stop
    assert FIRST_LOOK < stopping_size(values, 0.02) < 100


def test_asking_after_every_trial_is_asking_at_the_looks() -> None:
    values = np.random.default_rng(2).normal(100, 5, 800)
    end = stopping_size(values, 0.01)
    stops = [decide_cell(values[:n], 0.01).stop for n in range(1, end + 30)]
    assert stops.index(True) + 1 == end
    assert all(stops[end - 1 :])


def test_average_n_is_the_published_one() -> None:
    # Simulated by the authors of the rule: 340 for a CoV of 5 % at 1 %, 78 for 2 % at 1 %.
    rng = np.random.default_rng(3)
    five = np.mean([stopping_size(rng.normal(1, 0.05, 2000), 0.01) for _ in range(60)])
    two = np.mean([stopping_size(rng.normal(1, 0.02, 2000), 0.01) for _ in range(60)])
    assert five == pytest.approx(340, rel=0.1)
    assert two == pytest.approx(78, rel=0.1)


def test_series_that_remember_take_longer_and_still_cover() -> None:
    rng = np.random.default_rng(4)
    sizes, covered = [], 0
    for _ in range(60):
        values = autoregressive(rng, 0.8, 5000, 0.02)
        n = stopping_size(values, 0.01)
        sizes.append(n)
        reached = reached_precision(values[:n])
        assert reached is not None
        middle = float(np.median(values[:n]))
        covered += abs(middle - 1) <= 0.01 * middle
    assert np.mean(sizes) > 3 * 78
    assert covered >= stats.binom.ppf(0.01, 60, 0.95)


def test_gives_up_at_the_cap() -> None:
    values = np.cumsum(np.random.default_rng(5).standard_normal(400)) + 1000
    decision = decide_cell(values, 1e-6, cap=300)
    assert (decision.stop, decision.reason) == (True, "cap")


def test_says_how_much_is_missing() -> None:
    values = np.random.default_rng(6).normal(100, 5, 120)
    decision = decide_cell(values, 0.005)
    assert not decision.stop
    assert decision.reached is not None
    assert decision.more_trials is not None
    # Widths shrink with the root of n.
    expected = 120 * (decision.reached / 0.005) ** 2 - 120
    assert decision.more_trials == pytest.approx(expected, rel=0.6)


def test_few_trials_reach_nothing_and_are_told_so() -> None:
    assert reached_precision(np.arange(1.0, 6.0)) is None
    assert reached_precision(np.linspace(99, 101, 7)) == pytest.approx(0.01)  # ranks 1 and 7
    decision = decide_cell(np.arange(1.0, 6.0), 0.02)
    assert (decision.stop, decision.reached, decision.more_trials) == (False, None, 45)
    assert decide_cell(np.array([]), 0.02).more_trials == FIRST_LOOK


def test_reached_precision_is_the_order_statistic_interval_where_nothing_is_remembered() -> None:
    values = np.random.default_rng(7).normal(100, 5, 1000)
    ordered = np.sort(values)
    low, high = ordered[468], ordered[531]  # ranks 469 and 532 of 1000
    expected = max(high - np.median(values), np.median(values) - low) / np.median(values)
    assert reached_precision(values) == pytest.approx(expected, rel=0.1)


def test_a_fixed_n_that_reached_its_target_needs_no_more() -> None:
    values = np.random.default_rng(10).normal(100, 0.5, 20)
    decision = decide_cell(values, 0.02)
    assert decision.reached is not None
    assert decision.reached < 0.02
    assert decision.more_trials is None
    strict = decide_cell(values, 0.001)
    expected = 20 * ((strict.reached or 0) / 0.001) ** 2 - 20
    assert strict.more_trials == pytest.approx(expected, abs=1)
    about_spread = decide_cell(values, 0.02, spread_target(0.5))
    assert about_spread.more_trials is not None


def test_stability_needs_the_spread_known_too() -> None:
    values = np.random.default_rng(8).normal(100, 0.5, 2000)
    target = spread_target(0.5)
    alone, both = stopping_size(values, 0.02), stopping_size(values, 0.02, target)
    assert alone < 100 <= both < 200


def test_equal_values_are_enough() -> None:
    decision = decide_cell(np.full(80, 3.0), 0.02, spread_target(0.5))
    assert (decision.stop, decision.reached) == (True, 0.0)


def test_every_cell_is_decided_by_itself() -> None:
    rng = np.random.default_rng(9)
    values = {0: rng.normal(100, 0.1, 100), 1: rng.normal(100, 30, 100)}
    given = {c: list(enumerate(v)) for c, v in values.items()}
    decisions = decide(given, 0.02)
    assert decisions[0].stop
    assert not decisions[1].stop
