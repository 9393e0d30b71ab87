"""Comparisons against published tables, scipy and statsmodels, and what they promise."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tare.results.verdict import HIGHER, INCONCLUSIVE, LOWER
from tare.statistics.comparison import (
    adjust,
    cliffs_delta,
    compare,
    compare_family,
    detectable_change,
    further,
)
from tare.statistics.holm import holm
from tare.statistics.signed_rank import (
    fewest_pairs,
    hodges_lehmann,
    signed_rank_cdf,
    signed_rank_interval,
    signed_rank_p,
)

ratios = st.lists(st.floats(-2, 2).filter(lambda x: abs(x) > 1e-3), min_size=6, max_size=20)

#: Hollander and Wolfe, table 3.1: Hamilton depression scale factor IV of nine patients.
BEFORE = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
AFTER = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])


@pytest.mark.parametrize(
    ("n", "critical"), [(6, 0), (7, 2), (8, 3), (10, 8), (15, 25), (20, 52), (25, 89)]
)
def test_critical_values_are_wilcoxons(n: int, critical: int) -> None:
    cdf = signed_rank_cdf(n)
    assert cdf[critical] <= 0.025 < cdf[critical + 1]


def test_hollander_and_wolfes_example() -> None:
    d = BEFORE - AFTER
    interval = signed_rank_interval(d, 0.95)
    assert interval is not None
    assert interval == (pytest.approx(0.010, abs=5e-4), pytest.approx(0.786, abs=5e-4))
    assert hodges_lehmann(d) == pytest.approx(0.46, abs=5e-3)
    assert signed_rank_p(d) == pytest.approx(0.0390625)


@settings(max_examples=40)
@given(ratios)
def test_p_is_scipys_where_there_are_no_ties(values: list[float]) -> None:
    d = np.array(values)
    if len(np.unique(np.abs(d))) < len(d):
        return
    assert signed_rank_p(d) == pytest.approx(stats.wilcoxon(d, method="exact").pvalue)


@given(st.lists(st.integers(-3, 3).map(float), min_size=6, max_size=30).map(np.array))
def test_interval_excludes_zero_exactly_where_p_is_small(d: np.ndarray) -> None:
    interval = signed_rank_interval(d)
    assert interval is not None
    assert (interval[0] > 0 or interval[1] < 0) == (signed_rank_p(d) <= 0.05)


def test_large_samples_go_over_smoothly() -> None:
    d = np.random.default_rng(1).normal(0.01, 0.05, 301)
    exact, approximate = signed_rank_interval(d[:300]), signed_rank_interval(d)
    assert exact is not None
    assert approximate is not None
    assert approximate == (pytest.approx(exact[0], abs=5e-4), pytest.approx(exact[1], abs=5e-4))
    assert signed_rank_p(d) == pytest.approx(stats.wilcoxon(d).pvalue, rel=0.02)


def test_below_six_pairs_there_is_no_interval() -> None:
    c = compare(np.arange(1.0, 6.0), np.arange(2.0, 7.0))
    assert (c.low, c.high, c.verdict, c.more_pairs) == (None, None, INCONCLUSIVE, None)


@given(
    st.lists(st.integers(0, 20).map(float), min_size=1, max_size=30).map(np.array),
    st.lists(st.integers(0, 20).map(float), min_size=1, max_size=30).map(np.array),
)
def test_cliffs_delta_is_its_definition(a: np.ndarray, b: np.ndarray) -> None:
    brute = float(np.mean(np.sign(b[:, None] - a[None, :])))
    assert cliffs_delta(a, b) == pytest.approx(brute)


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_statsmodels(p: list[float]) -> None:
    # multipletests collects garbage on every call, which takes 0.4 s in a large process.
    with mock.patch("gc.collect"):
        expected = multipletests(p, method="holm")[1]
    assert holm(p) == pytest.approx(list(expected))
    assert holm([]) == []


def test_drift_and_disturbed_blocks_cancel_in_pairs() -> None:
    rng = np.random.default_rng(4)
    block = np.linspace(100, 200, 30) * np.exp(0.3 * rng.standard_normal(30))
    first = block * np.exp(0.005 * rng.standard_normal(30))
    second = 1.05 * block * np.exp(0.005 * rng.standard_normal(30))
    c = compare(first, second)
    assert c.verdict == HIGHER
    assert c.ratio == pytest.approx(1.05, abs=0.004)


def test_the_other_way_round_is_the_inverse() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(100, 2, 40), rng.normal(103, 2, 40)
    there, back = compare(a, b), compare(b, a)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.low == pytest.approx(1 / (back.high or 0))
    assert (there.verdict, back.verdict) == (HIGHER, LOWER)
    assert there.cliffs_delta == pytest.approx(-back.cliffs_delta)


def test_further_pairs_come_from_the_spread_not_from_the_effect() -> None:
    rng = np.random.default_rng(7)
    noise = 0.05 * rng.standard_normal(20)
    first = np.full(20, 100.0)
    needed = [
        compare(first, first * np.exp(noise + e), tick=0.0).more_pairs for e in (0.0, 0.005, 0.01)
    ]
    assert None not in needed
    assert len(set(needed)) == 1


def test_the_further_pairs_decide_whatever_the_effect() -> None:
    rng = np.random.default_rng(8)
    for effect in np.linspace(0, 0.04, 9):
        interval = signed_rank_interval(effect + 0.05 * rng.standard_normal(60))
        assert interval is not None
        more = further(60, (interval[1] - interval[0]) / 2, 0.02)
        n = 60 + int(1.5 * more)  # the spread of 60 is itself uncertain
        c = compare(np.ones(n), np.exp(effect + 0.05 * rng.standard_normal(n)), tick=0.0)
        assert c.verdict != INCONCLUSIVE


def test_further_and_detectable_are_consistent_with_the_normal_theory() -> None:
    # Width 2 h = margin: nothing more is needed (the least is 1).
    assert further(50, math.log1p(0.02) / 2, 0.02) == 1
    assert further(50, math.log1p(0.02), 0.02) == 150
    # Half-width 1.96 s; power 80 % needs (1.96 + 0.84) s.
    assert detectable_change(1.96 * 0.01, 0.95) == pytest.approx(math.expm1(0.028), rel=1e-3)


def test_detectable_change_is_detected_with_the_stated_power() -> None:
    rng = np.random.default_rng(9)
    base = [
        compare(np.ones(40), np.exp(0.03 * rng.standard_normal(40)), tick=0.0) for _ in range(50)
    ]
    change = float(np.mean([c.detectable or 0 for c in base]))
    found = sum(
        compare(np.ones(40), (1 + change) * np.exp(0.03 * rng.standard_normal(40)), tick=0.0).p
        < 0.05
        for _ in range(300)
    )
    assert stats.binom.ppf(0.005, 300, 0.76) <= found <= stats.binom.ppf(0.995, 300, 0.84)


def test_a_family_of_equal_cells_rarely_has_a_difference() -> None:
    rng = np.random.default_rng(10)
    alarms = 0
    for _ in range(200):
        pairs = [(rng.lognormal(0, 0.05, 20), rng.lognormal(0, 0.05, 20)) for _ in range(6)]
        alarms += any(c.verdict.differs for c in compare_family(pairs))
    assert alarms <= stats.binom.ppf(0.99, 200, 0.05)


def test_holm_can_take_a_difference_back() -> None:
    rng = np.random.default_rng(11)
    a = rng.lognormal(0, 0.05, 30)
    b = a * np.exp(rng.normal(0.019, 0.05, 30))
    noise = [(rng.lognormal(0, 0.05, 30), rng.lognormal(0, 0.05, 30)) for _ in range(30)]
    alone, family = compare(a, b), compare_family([(a, b), *noise])[0]
    assert alone.p < 0.05 < family.p_adjusted
    assert (alone.verdict, family.verdict) == (HIGHER, INCONCLUSIVE)
    assert family.more_pairs is not None


def test_what_an_interval_shows_needs_few_more_pairs_to_be_shown_in_a_family() -> None:
    rng = np.random.default_rng(3)
    slow = [(a, a * 2) for a in rng.normal(100, 1, (66, 10))]
    noisy = [(a, a * b) for a, b in zip(*rng.normal(1, 0.2, (2, 5, 10)), strict=True)]

    found = compare_family(slow)

    # 66 × 2 × 2⁻¹⁰ is .129: ten pairs show nothing; 66 × 2 × 2⁻¹² is .032.
    assert {c.verdict for c in found} == {INCONCLUSIVE}
    assert {c.more_pairs for c in found} == {2}
    assert {
        c.verdict
        for c in compare_family([(np.tile(a, 2)[:12], np.tile(b, 2)[:12]) for a, b in slow])
    } == {HIGHER}
    # Where nothing is shown, the observed effect is not looked at.
    assert all(c.more_pairs > 100 for c in compare_family(noisy) if c.more_pairs)


def test_few_pairs_that_depend_on_each_other_say_how_many_it_takes() -> None:
    first, second = np.random.default_rng(6).lognormal(0, 0.03, (2, 30))
    found = compare(first, second, dependence=5.0)
    assert found.verdict == INCONCLUSIVE
    assert found.fewest > found.n
    judged = adjust(found, found.p, 0.02)
    assert found.more_pairs == judged.more_pairs == found.fewest - found.n


def test_a_scatter_of_many_orders_of_magnitude_has_finite_bounds() -> None:
    rng = np.random.default_rng(1)
    first, second = 10 ** rng.uniform(0, 300, (2, 7))
    found = compare(first, second, dependence=0.9)
    assert found.low is not None
    assert found.high is not None
    assert found.detectable is not None
    assert 0 <= found.low < found.ratio < found.high < math.inf
    assert math.isfinite(found.detectable)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.995])
def test_an_interval_exists_from_the_fewest_pairs_on(confidence: float) -> None:
    n = fewest_pairs(1 - confidence)
    assert signed_rank_interval(np.arange(1.0, n + 1), confidence) is not None
    assert signed_rank_interval(np.arange(1.0, n), confidence) is None
