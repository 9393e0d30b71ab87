"""Do trials use up what later ones need, and how often is that said where they do not?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tare.statistics.depletion import depletion, early, follows
from tare.statistics.intervals import share_interval


def test_values_that_rise_with_a_cause_follow_it() -> None:
    rng = np.random.default_rng(1)
    cause = rng.random(30)
    found = follows(cause + 0.1 * rng.standard_normal(30), cause)
    assert found is not None
    assert found.p < 0.01
    assert found.correlation > 0.8
    other_way = follows(-cause, cause)
    assert other_way is not None
    assert other_way.p > 0.99


def test_rank_correlation_is_scipys() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 20))
    found = follows(x, y)
    reference = stats.spearmanr(x, y, alternative="greater")
    assert found is not None
    assert found.correlation == pytest.approx(reference.statistic)
    assert found.p == pytest.approx(reference.pvalue)
    exact = follows(x[:8], y[:8])
    assert exact is not None
    by_t = stats.spearmanr(x[:8], y[:8], alternative="greater")
    assert exact.p == pytest.approx(by_t.pvalue, abs=0.03)


@pytest.mark.parametrize(
    ("values", "cause"),
    [([1.0] * 5, range(5)), ([1.0] * 10, range(10)), (range(10), [3.0] * 10)],
    ids=["few", "values alike", "causes alike"],
)
def test_nothing_follows_where_nothing_is_to_be_seen(values: list[float], cause: list[int]) -> None:
    assert follows(np.array(values, dtype=float), np.array(cause, dtype=float)) is None


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 100), st.integers(0, 2**32 - 1))
def test_neither_scale_nor_unit_matters(scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, tokens = np.exp(rng.standard_normal(20)), rng.random(20)
    one, other = depletion(values, tokens), depletion(scale * values, 1000 * tokens)
    assert one is not None
    assert other is not None
    assert one.following.p == pytest.approx(other.following.p)
    assert one.ratio == pytest.approx(other.ratio)


def test_a_bucket_that_empties_half_way_is_seen_however_clear_the_step() -> None:
    rng = np.random.default_rng(3)
    tokens = np.maximum(20 - np.arange(30), 0) * 1e9
    values = np.where(tokens > 3e9, 1.0, 5.0) * np.exp(0.01 * rng.standard_normal(30))
    found = depletion(values, tokens)
    assert found is not None
    assert found.following.p < 0.001
    assert found.low is not None
    assert found.high is not None
    assert found.low < 5 < found.high


@pytest.mark.parametrize("replicates", [400, pytest.param(2000, marks=pytest.mark.slow)])
def test_trials_that_do_not_mind_are_seldom_said_to(replicates: int) -> None:
    """Independent values, whatever their distribution, and a budget that falls."""
    rng = np.random.default_rng(12)
    fallen, alarms = np.arange(20.0), 0
    for kind in range(replicates):
        noise = rng.standard_t(2, 20) if kind % 2 else rng.standard_normal(20)
        found = follows(noise, fallen)
        alarms += found is not None and found.p <= 0.05
    assert alarms <= stats.binom.ppf(0.99, replicates, 0.05)


def test_the_first_trials_mislead_where_the_budget_ends_later() -> None:
    rng = np.random.default_rng(5)
    values = np.where(np.arange(40) < 15, 10.0, 20.0) + rng.standard_normal(40)
    found = early(values)
    assert found is not None
    assert found.missed
    assert found.off > 0.5
    assert found.narrowing > 1


def test_more_trials_narrow_the_interval_of_independent_ones() -> None:
    found = early(10 + np.random.default_rng(6).standard_normal(100))
    assert found is not None
    assert not found.missed
    assert found.narrowing < 1
    assert early(np.arange(11.0)) is None


def test_shares_have_the_exact_interval() -> None:
    reference = stats.binomtest(13, 20).proportion_ci(0.95, method="exact")
    assert share_interval(13, 20) == pytest.approx((reference.low, reference.high))
    assert share_interval(0, 20)[0] == 0.0
    assert share_interval(20, 20)[1] == 1.0
