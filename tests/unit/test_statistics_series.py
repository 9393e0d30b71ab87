"""Warm-up, groups and covariates: planted truths are found, noise is left alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import ruptures
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from tare.statistics.grouping import group_effect
from tare.statistics.segmentation import segment_ends
from tare.statistics.variance import explained
from tare.statistics.warmup import change_points, settle, sliding_sd


def test_sliding_sd_is_the_sd_of_each_window() -> None:
    values = np.random.default_rng(1).standard_normal(30)
    expected = [np.std(values[i : i + 10], ddof=1) for i in range(21)]
    assert sliding_sd(values) == pytest.approx(expected)
    assert len(sliding_sd(values[:9])) == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "shortest"), [(6, 2), (50, 5), (300, 5)])
def test_segments_are_those_of_ruptures(n: int, shortest: int, seed: int) -> None:
    rng = np.random.default_rng([n, seed])
    levels = np.repeat(3 * rng.standard_normal(n), 7)[:n]
    values = 100 + levels + rng.standard_normal(n)
    search = ruptures.KernelCPD(kernel="linear", min_size=shortest).fit(values[:, None])
    for penalty in (1.0, 10.0, 100.0):
        assert segment_ends(values, penalty, shortest) == search.predict(pen=penalty)


@pytest.mark.parametrize(
    ("steps", "shape"),
    [
        ([(100, 0)], "flat"),
        ([(20, 5), (80, 0)], "warm-up"),
        ([(60, 0), (40, 5)], "slowdown"),
        ([(85, 0), (15, 5)], "no steady state"),
        ([(15, 0)], "too short"),
    ],
)
def test_shapes(steps: list[tuple[int, float]], shape: str) -> None:
    rng = np.random.default_rng(2)
    level = np.concatenate([np.full(n, 100.0 + shift) for n, shift in steps])
    assert settle(level + rng.standard_normal(len(level))).shape == shape


def test_tells_where_the_warm_up_ends() -> None:
    rng = np.random.default_rng(3)
    found = settle(100 + 10 * (np.arange(100) < 20) + rng.standard_normal(100))
    assert found.steady_from == 20
    assert found.levels == (pytest.approx(110, abs=1), pytest.approx(100, abs=1))


@pytest.mark.parametrize(("n", "slow"), [(20, 2), (40, 4), (100, 10)])
def test_settles_after_a_short_warm_up(n: int, slow: int) -> None:
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(100):
        x = 100 + 2 * rng.standard_normal(n) + 10 * (np.arange(n) < slow)
        found += settle(x).shape == "warm-up"
    assert found >= 90


def test_levels_closer_than_the_tolerance_are_one() -> None:
    rng = np.random.default_rng(4)
    values = 100 + 0.5 * (np.arange(200) < 100) + 0.05 * rng.standard_normal(200)
    assert change_points(values) != []
    assert settle(values).shape == "flat"


@pytest.mark.parametrize("draw", ["normal", "lognormal", "standard_t"])
def test_steady_series_rarely_change(draw: str) -> None:
    rng = np.random.default_rng(5)
    arguments = {"normal": (), "lognormal": (0, 0.8), "standard_t": (3,)}[draw]
    found = sum(bool(change_points(getattr(rng, draw)(*arguments, size=60))) for _ in range(200))
    assert found <= stats.binom.ppf(0.99, 200, 0.02)


def test_series_that_remember_are_not_cut_to_pieces() -> None:
    from scipy.signal import lfilter

    rng = np.random.default_rng(6)
    series = [lfilter([1], [1, -0.7], rng.standard_normal(400))[100:] for _ in range(100)]
    assert sum(bool(change_points(s)) for s in series) <= stats.binom.ppf(0.99, 100, 0.05)


def test_equal_values_do_not_change() -> None:
    assert change_points(np.full(50, 2.0)) == []
    assert settle(np.full(50, 2.0)).shape == "flat"


@pytest.mark.parametrize("digits", [9, 0])
def test_groups_are_scipys_and_statsmodels(digits: int) -> None:
    rng = np.random.default_rng(7)
    groups = [rng.normal(100 + shift, 2, 12).round(digits) for shift in (0, 1, 3)]
    found = group_effect(groups)
    assert found is not None
    assert found.p_mean == pytest.approx(stats.kruskal(*groups).pvalue, rel=1e-10)
    assert found.p_spread == pytest.approx(stats.levene(*groups).pvalue, rel=1e-10)
    frame = pd.DataFrame({"y": np.concatenate(groups), "g": np.repeat(list("abc"), 12)})
    table = anova_lm(ols("y ~ g", frame).fit())
    between, within = table["sum_sq"]
    omega = (between - 2 * table["mean_sq"].iloc[1]) / (between + within + table["mean_sq"].iloc[1])
    assert found.share == pytest.approx(omega)
    assert float(np.ptp(found.means)) > found.range_by_chance


def test_equal_groups_lie_within_chance() -> None:
    rng = np.random.default_rng(8)
    beyond = small = 0
    for _ in range(100):
        found = group_effect([rng.lognormal(0, 0.2, 8) for _ in range(5)], permutations=199)
        assert found is not None
        beyond += float(np.ptp(found.means)) > found.range_by_chance
        small += found.p_mean < 0.05
    assert max(beyond, small) <= stats.binom.ppf(0.99, 100, 0.06)


def test_single_trials_make_no_groups() -> None:
    assert group_effect([np.array([1.0]), np.array([2.0]), np.array([3.0, 4.0])]) is None
    assert group_effect([np.ones(5), np.ones(5)]) is None


def test_the_right_covariate_is_named() -> None:
    rng = np.random.default_rng(9)
    wait, faults = rng.exponential(1, 60), rng.poisson(5, 60).astype(float)
    values = 100 + wait + 0.3 * rng.standard_normal(60)
    found = explained(values, {"faults": faults, "wait": wait, "constant": np.ones(60)})
    assert found is not None
    assert [s.name for s in found.shares] == ["wait", "faults"]
    best = found.shares[0]
    assert best.share == pytest.approx(stats.spearmanr(values, wait).statistic ** 2)
    assert best.rising
    assert best.p <= 0.01
    assert found.share > 0.7
    assert found.shares[1].p > 0.05


def test_irrelevant_covariates_explain_nothing() -> None:
    rng = np.random.default_rng(10)
    alarms, shares = 0, []
    for _ in range(100):
        found = explained(rng.lognormal(0, 1, 40), {k: rng.exponential(1, 40) for k in "abcde"})
        assert found is not None
        alarms += found.p < 0.05 or min(s.p for s in found.shares) < 0.05
        shares.append(found.share)
    assert alarms <= stats.binom.ppf(0.99, 100, 0.09)
    assert np.mean(shares) < 0.08


def test_one_extreme_trial_explains_nothing() -> None:
    rng = np.random.default_rng(11)
    values, wait = rng.normal(100, 1, 50), rng.normal(10, 1, 50)
    values[3], wait[3] = 1e6, 1e6
    found = explained(values, {"wait": wait})
    assert found is not None
    assert found.share < 0.3


def test_too_few_trials_explain_nothing() -> None:
    assert explained(np.arange(19.0), {"a": np.arange(19.0)}) is None
    assert explained(np.arange(30.0), {"a": np.ones(30)}) is None
