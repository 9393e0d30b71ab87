from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tare.statistics.pair_ratios import (
    FEWEST,
    likelihood_ratio,
    mean_gate_refusal,
    pair_ratio,
    pairs_for_mean,
    pairs_needed,
)


def slowed(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """Values around 1, some of them 50 % larger."""
    return (1 + 0.02 * rng.standard_normal(n)) * np.where(rng.random(n) < share, 1.5, 1.0)


def test_the_likelihood_ratio_is_statsmodels() -> None:
    from statsmodels.emplike.descriptive import DescStat

    rng = np.random.default_rng(1)
    for _ in range(5):
        values = rng.exponential(size=40)
        ours = likelihood_ratio(values - 1.1)
        theirs = DescStat(values).test_mean(1.1, result_object=False)[0]
        assert ours == pytest.approx(theirs, rel=1e-6)
    assert likelihood_ratio(np.array([1.0, 2.0])) == math.inf
    assert likelihood_ratio(np.zeros(4)) == 0


def test_what_a_few_slow_runs_do_shows_in_the_mean_and_far_out() -> None:
    rng = np.random.default_rng(2)
    first, second = slowed(rng, 300, 0.0), slowed(rng, 300, 0.2)
    mean, p90 = pair_ratio(first, second), pair_ratio(first, second, 0.9)
    for found, truth in ((mean, 1.1), (p90, 1.5)):
        assert found.low is not None
        assert found.high is not None
        assert math.log(1.03) < found.low < found.middle < found.high
        assert math.exp(found.middle) == pytest.approx(truth, rel=0.06)


def test_too_few_pairs_have_no_interval() -> None:
    rng = np.random.default_rng(3)
    values = slowed(rng, FEWEST - 1, 0.0)
    assert pair_ratio(values, values[::-1]).low is None
    assert [pairs_needed(q) for q in (None, 0.5, 0.9, 0.95, 0.99)] == [60, 60, 60, 120, 600]


def test_equal_values_are_equal_as_far_as_the_clock_tells() -> None:
    ones = np.ones(100)
    assert pair_ratio(ones, ones).low is None
    found = pair_ratio(ones, ones, tick=0.01)
    assert found.low == pytest.approx(-0.01, abs=1e-3)
    assert found.high == pytest.approx(0.01, abs=1e-3)


@pytest.mark.parametrize("replicates", [50, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("quantile", [None, 0.9])
def test_a_gate_errs_seldom_where_the_truth_is_the_gate(
    quantile: float | None, replicates: int
) -> None:
    """Each side at most 5 %: 99 % bound; a shift of 3 % of everything, and in 6 % of the runs."""
    rng, gate = np.random.default_rng(4), math.log(1.03)
    wrong = np.zeros(2)
    for i in range(replicates):
        first, second = slowed(rng, FEWEST, 0.0), 1.03 * slowed(rng, FEWEST, 0.0)
        found = pair_ratio(first, second, quantile, tick=0.0, seed=i)
        assert found.low is not None
        assert found.high is not None
        wrong += [found.low > gate, found.high < gate]
    assert wrong.max() <= stats.binom.ppf(0.99, replicates, 0.05)


def test_equal_programs_with_rare_slow_runs_do_not_fail_a_gate_on_the_mean() -> None:
    """2 % of the runs ten times as long: without a refusal 11 % of the gates failed."""
    rng, replicates, gate = np.random.default_rng(5), 200, math.log(1.03)

    def rare(n: int) -> np.ndarray:
        return (1 + 0.02 * rng.standard_normal(n)) * np.where(rng.random(n) < 0.02, 10.0, 1.0)

    found = [pair_ratio(rare(60), rare(60), tick=0.0) for _ in range(replicates)]
    assert sum(one.low is not None and one.low > gate for one in found) <= 2
    assert sum(one.low is None for one in found) > 0.8 * replicates


def test_a_refused_mean_says_how_many_pairs_give_enough_slow_runs() -> None:
    rng = np.random.default_rng(6)
    first, second = rng.normal(1, 0.01, 100), rng.normal(1, 0.01, 100)
    assert mean_gate_refusal(first, second) is None
    assert pairs_for_mean(first, second) is None
    second[[5, 50]] *= 10
    assert mean_gate_refusal(first, second) is not None
    assert pairs_for_mean(first, second) == pytest.approx(200, abs=2)
    assert pair_ratio(first, second).low is None
    assert pair_ratio(first, second, 0.9).low is not None
