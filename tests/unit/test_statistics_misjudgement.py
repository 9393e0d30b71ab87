"""How often a limit misjudges: intervals of shares, and the factor that few exceed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from tare.statistics import misjudgement
from tare.statistics.intervals import share_interval
from tare.statistics.misjudgement import (
    BEST_OF_2,
    MEDIAN_OF_3,
    ONCE,
    least_factor,
    shares_above,
)
from tare.statistics.statistic import FloatArray

Draw = Callable[[np.random.Generator, int], FloatArray]


def alone(rng: np.random.Generator, n: int) -> FloatArray:
    """Most runs take a little more, one of twenty a lot."""
    slow = rng.random(n) < 0.05
    return np.asarray((1.02 + 0.01 * rng.standard_normal(n) + 0.3 * slow)[:, None])


def together(rng: np.random.Generator, n: int) -> FloatArray:
    """Both workers are disturbed in the same trials."""
    return np.repeat(alone(rng, n), 2, axis=1)


def apart(rng: np.random.Generator, n: int) -> FloatArray:
    """Each of two workers is disturbed alone."""
    return np.hstack([alone(rng, n), alone(rng, n)])


def remembered(rng: np.random.Generator, n: int) -> FloatArray:
    """A disturbance lasts for several trials."""
    state = lfilter([np.sqrt(0.75)], [1, -0.5], rng.standard_normal(n))
    return np.asarray(np.where(state > stats.norm.ppf(0.95), 1.3, 1.02)[:, None])


def test_independent_values_have_the_exact_interval() -> None:
    values = np.where(np.arange(40) % 8 == 0, 2.0, 1.0)[:, None]
    found = shares_above(values, np.array([1.5, 3.0]))
    assert found.estimate.tolist() == [0.125, 0.0]
    assert found.worth.tolist() == [40, 40]
    assert (found.low[0], found.high[0]) == pytest.approx(share_interval(5, 40))
    assert (found.low[1], found.high[1]) == pytest.approx(share_interval(0, 40))
    assert found.bound[1] == pytest.approx(1 - 0.05 ** (1 / 40))


def test_workers_that_are_disturbed_together_count_once() -> None:
    rng = np.random.default_rng(1)
    found = [shares_above(draw(rng, 4000), np.array([1.1])).worth[0] for draw in (together, apart)]
    assert found[0] == pytest.approx(4000, rel=0.02)
    assert found[1] == pytest.approx(8000, rel=0.05)
    # None is above: it cannot be seen whether they would be together.
    assert shares_above(apart(rng, 40), np.array([9.0])).worth[0] == 40


@pytest.mark.parametrize("replicates", [200, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("draw", [alone, together, apart, remembered])
def test_intervals_cover_the_true_share(draw: Draw, replicates: int) -> None:
    """With 200 replicates, a coverage of 85 % fails in 97 % of seeds."""
    rng = np.random.default_rng(2)
    covered = above = predicted = 0
    for _ in range(replicates):
        values = draw(rng, 300)
        found = shares_above(values, np.array([1.15]))
        covered += found.low[0] <= 0.05 <= found.high[0]
        above += found.bound[0] >= 0.05
        low, high = found.next(2000, values.size)
        share = (draw(rng, 2000 // values.shape[1]) > 1.15).mean()
        predicted += low[0] <= share <= high[0]
    # The chance of fewer is below 1 % at a true 94 %.
    least = stats.binom.ppf(0.01, replicates, 0.94)
    assert min(covered, above, predicted) >= least


@pytest.mark.parametrize("replicates", [100, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rule", misjudgement.RULES)
@pytest.mark.parametrize("chance", [0.01, 0.05])
def test_few_judgements_lie_above_the_bound(
    rule: misjudgement.Rule, chance: float, replicates: int
) -> None:
    """With 100 replicates, a confidence of 84 % fails in 89 % of seeds."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(replicates):
        values = 1 + 0.1 * rng.lognormal(size=(400, 1))
        bound = least_factor(values, chance, rule).bound
        assert bound is not None
        held += rule.share(float(stats.lognorm.sf((bound - 1) / 0.1, 1))) <= chance
    assert held >= stats.binom.ppf(0.01, replicates, 0.95)


def test_rules_are_what_their_names_say() -> None:
    rng = np.random.default_rng(4)
    over = rng.random((200_000, 3)) < 0.2
    assert BEST_OF_2.share(0.2) == pytest.approx(over[:, :2].all(axis=1).mean(), abs=0.003)
    assert MEDIAN_OF_3.share(0.2) == pytest.approx((over.sum(axis=1) >= 2).mean(), abs=0.003)


def test_too_few_trials_have_no_bound_and_say_how_many_are_needed() -> None:
    values = np.linspace(1, 1.1, 298)[:, None]
    assert least_factor(values, 0.01).bound is None
    assert least_factor(values, 0.01).needs == 299
    assert least_factor(np.linspace(1, 1.1, 299)[:, None], 0.01).bound == 1.1
    assert least_factor(values, 0.01, BEST_OF_2).needs == 29
    assert least_factor(values, 0.001, ONCE).needs == 2995


def test_a_stopped_run_is_above_any_factor() -> None:
    values = np.ones((400, 1))
    values[np.random.default_rng(6).choice(400, 40, replace=False)] = np.inf
    assert least_factor(values, 0.05).estimate is None
    assert least_factor(values, 0.2).bound == 1.0
    assert shares_above(values, np.array([1e9])).estimate[0] == 0.1
