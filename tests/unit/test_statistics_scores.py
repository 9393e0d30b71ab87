"""Scores of task sets: against scipy, statsmodels and brute force, and their own coverage."""

from __future__ import annotations

import itertools
import math
import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import templates
from scipy import stats

from tare.errors import InputError, ValuesError
from tare.statistics.intervals import Interval, share_interval
from tare.statistics.scores import (
    POINTS,
    Estimate,
    Outcomes,
    changed_tasks,
    geometric_mean_ratio,
    penalised_mean,
    share_solved,
    solved_difference,
    solved_within,
)
from tare.statistics.statistic import FloatArray

Rng = np.random.Generator


def solving(rows: list[list[int]]) -> Outcomes:
    """Runs of a second each that solve their tasks, or do not."""
    solved = np.array(rows, dtype=bool)
    return Outcomes(np.ones(solved.shape), solved)


def timed(time: FloatArray) -> Outcomes:
    """Runs that solve their tasks."""
    return Outcomes(time, np.ones(time.shape, dtype=bool))


def flaky(rng: Rng, chances: FloatArray, trials: int) -> Outcomes:
    """Runs that solve each task with a chance."""
    solved = rng.random((len(chances), trials)) < chances[:, None]
    return Outcomes(rng.random(solved.shape), solved)


def covers(interval: Interval, truth: float) -> bool:
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low <= interval.estimate <= interval.high
    return interval.low - 1e-12 <= truth <= interval.high + 1e-12


# ---- numbers solved


@given(st.integers(1, 60), st.data())
def test_the_share_of_one_trial_has_the_exact_interval(n: int, data: st.DataObject) -> None:
    times = data.draw(st.integers(0, n))
    found = share_solved(solving([[i < times] for i in range(n)]))
    assert found.estimate == pytest.approx(times / n)
    low, high = share_interval(times, n)
    assert (found.like_these.low, found.like_these.high) == pytest.approx((low, high))
    assert templates(found.these.refusal) == ["needs ≥ 2"]
    assert found.these.low is None


@pytest.mark.parametrize("solved", [True, False])
def test_the_interval_of_a_share_is_never_a_point(solved: bool) -> None:
    found = share_solved(Outcomes(np.ones((20, 3)), np.full((20, 3), solved)))
    for interval in (found.like_these, found.these):
        assert covers(interval, float(solved))
        assert interval.high > interval.low
    # One run in 60 of another result is not excluded, and for other tasks 1 in 20.
    assert covers(found.these, abs(solved - 1 / 60))
    assert covers(found.like_these, abs(solved - 1 / 20))
    assert not covers(found.these, abs(solved - 1 / 10))


def test_tasks_count_alike_however_often_they_ran() -> None:
    ran = np.array([[True, True, True, True], [True, False, False, False]])
    found = share_solved(Outcomes(np.ones((2, 4)), np.array([[1, 0, 0, 0], [1, 1, 1, 1]]) > 0, ran))
    assert found.estimate == pytest.approx((1 / 4 + 1) / 2)


def test_a_few_tasks_that_ran_once_vary_as_others_do() -> None:
    rng = np.random.default_rng(12)
    runs, ran = flaky(rng, np.full(40, 0.5), 3), np.ones((40, 3), dtype=bool)
    whole = share_solved(runs).these
    ran[:4, 1:] = False
    some = share_solved(Outcomes(runs.time, runs.solved, ran)).these
    assert some.high - some.low == pytest.approx(whole.high - whole.low, rel=0.1)
    ran[4, 1:] = False
    assert share_solved(Outcomes(runs.time, runs.solved, ran)).these.low is None


@given(st.integers(0, 12), st.integers(1, 3), st.integers(0, 10_000))
def test_any_runs_have_scores_within_their_intervals(n: int, trials: int, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def some() -> Outcomes:
        time = rng.choice([0.5, 1, 2, 3, np.nan], (n, trials))
        solved, ran = (rng.random((n, trials)) < rng.choice([0, 0.9, 1]) for _ in "ab")
        return Outcomes(time, solved, ran)

    one, two = some(), some()
    for found in (
        share_solved(one),
        penalised_mean(one, 2.5),
        geometric_mean_ratio(one, two).ratio,
        solved_difference(one, two).share,
    ):
        for interval in (found.like_these, found.these):
            assert (interval.low is None) == (interval.refusal is not None)
            if interval.low is not None:
                assert covers(interval, interval.estimate)
    curve = solved_within(one)
    assert (curve.like_these[0] <= curve.number + 1e-9).all()
    assert (curve.number <= curve.like_these[1] + 1e-9).all()
    changes = changed_tasks(one, two)
    assert not (changes.gained & changes.lost).any()
    assert not (changes.flaky & (changes.gained | changes.lost)).any()


@pytest.mark.parametrize("trials", [1, 3])
def test_runs_that_say_nothing_are_as_if_they_were_not(trials: int) -> None:
    rng = np.random.default_rng(1)
    chances = rng.beta(0.5, 0.5, 40)
    one, two = (flaky(rng, chances, trials) for _ in "ab")
    wider = []
    for side in (one, two):
        time, solved = (
            np.hstack([x, x[:, :1]]) for x in (np.full(side.time.shape, np.nan), ~side.solved)
        )
        time[:, :trials], solved[:, :trials] = side.time, side.solved
        ran = np.zeros(solved.shape, dtype=bool)
        ran[:, :trials] = True
        # And a task that never ran.
        wider.append(
            Outcomes(
                *(np.vstack([x, x[:1]]) for x in (time, solved)), np.vstack([ran, ran[:1] & False])
            )
        )
    assert share_solved(one) == share_solved(wider[0])
    assert penalised_mean(one, 0.7) == penalised_mean(wider[0], 0.7)
    assert geometric_mean_ratio(one, two) == geometric_mean_ratio(*wider)
    assert solved_difference(one, two) == solved_difference(*wider)
    few, many = changed_tasks(one, two), changed_tasks(*wider)
    assert np.isnan(many.p[-1])
    np.testing.assert_array_equal(few.p, many.p[:-1])
    a, b = solved_within(one), solved_within(wider[0])
    np.testing.assert_array_equal(a.number, b.number)
    np.testing.assert_allclose(a.like_these, b.like_these)


@pytest.mark.parametrize("trials", [1, 2, 5])
def test_the_curve_counts_what_is_solved_within_each_limit(trials: int) -> None:
    rng = np.random.default_rng(2)
    runs = flaky(rng, rng.beta(0.5, 0.5, 30), trials)
    runs.time[0, 0] = np.nan
    runs.solved[0, 0] = True
    curve = solved_within(runs)
    assert curve.untimed == 1
    assert curve.tasks == 30
    assert np.isin(curve.limits, runs.time[runs.solved]).all()
    for i, limit in enumerate(curve.limits):
        within = Outcomes(runs.time, runs.solved & (runs.time <= limit))
        expected = share_solved(within)
        assert curve.number[i] == pytest.approx(30 * expected.estimate)
        assert curve.like_these[:, i] == pytest.approx(
            [30 * expected.like_these.low, 30 * expected.like_these.high]
        )
        if trials == 1:
            assert curve.these is None
        else:
            assert curve.these is not None
            assert curve.these[:, i] == pytest.approx(
                [30 * expected.these.low, 30 * expected.these.high]
            )


def test_the_curve_is_that_of_any_limits_and_has_few_points() -> None:
    time = np.arange(1.0, 10_001)[:, None]
    curve = solved_within(timed(time))
    assert len(curve.limits) == POINTS
    assert (curve.limits[0], curve.limits[-1]) == (1, 10_000)
    assert curve.number.tolist() == curve.limits.tolist()
    assert solved_within(timed(time), np.array([0.5, 99.5, 20.0])).number.tolist() == [0, 99, 20]
    nothing = solved_within(solving([[0], [0]]))
    assert len(nothing.limits) == 0


# ---- PAR2


def test_an_unsolved_task_costs_twice_the_limit() -> None:
    time = np.array([[1.0, 3.0], [5.0, 100.0], [2.0, 2.0], [9.0, np.nan], [1.0, 1.0], [0.0, 0.0]])
    solved = np.array([[1, 1], [1, 1], [1, 0], [0, 0], [1, 1], [1, 1]]) > 0
    found = penalised_mean(Outcomes(time, solved), limit=10)
    expected = np.mean([2, (5 + 20) / 2, (2 + 20) / 2, 20, 1, 0])
    assert found.estimate == pytest.approx(expected)
    assert penalised_mean(Outcomes(time, solved), 10, factor=10).estimate == pytest.approx(
        np.mean([2, (5 + 100) / 2, (2 + 100) / 2, 100, 1, 0])
    )
    assert covers(found.like_these, expected)
    assert covers(found.these, expected)


def test_a_mean_without_penalties_allows_for_unseen_ones_upwards_alone() -> None:
    time = np.random.default_rng(3).uniform(0.9, 1.1, (100, 3))
    found = penalised_mean(timed(time), limit=1000)
    for interval, runs in ((found.like_these, 100), (found.these, 300)):
        assert covers(interval, 1 + 2000 / runs)
        assert interval.low > 0.95
    nothing = penalised_mean(Outcomes(time, time < 0), limit=1000)
    assert nothing.estimate == nothing.like_these.high == nothing.these.high == 2000
    assert covers(nothing.these, 2000 - 2000 / 300)


# ---- ratios


@settings(max_examples=30)
@given(st.integers(6, 40), st.integers(1, 4), st.integers(0, 1000))
def test_the_geometric_mean_is_scipys(n: int, trials: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = np.exp(rng.standard_normal((2, n, trials)))
    found = geometric_mean_ratio(timed(a), timed(b))
    assert found.ratio.estimate == pytest.approx(
        stats.gmean(stats.gmean(b, axis=1) / stats.gmean(a, axis=1))
    )
    assert found.left_out == 0
    theirs = stats.ttest_1samp(np.log(b / a).mean(axis=1), 0).confidence_interval()
    # Skew makes one of the bounds wider.
    assert found.ratio.like_these.low <= math.exp(theirs.low) * (1 + 1e-9)
    assert found.ratio.like_these.high >= math.exp(theirs.high) * (1 - 1e-9)
    back = geometric_mean_ratio(timed(1e9 * b), timed(1e9 * a)).ratio
    for one, other in ((found.ratio.like_these, back.like_these), (found.ratio.these, back.these)):
        if one.low is not None:
            assert (1 / other.high, 1 / other.low) == pytest.approx((one.low, one.high))


def test_without_skew_the_bounds_are_students() -> None:
    logs = np.array([-3.0, -2, -1, 0, 1, 2, 3])
    found = geometric_mean_ratio(timed(np.ones((7, 1))), timed(np.exp(logs + 0.3)[:, None])).ratio
    theirs = stats.ttest_rel(logs + 0.3, np.zeros(7)).confidence_interval()
    assert (found.like_these.low, found.like_these.high) == pytest.approx(
        (math.exp(theirs.low), math.exp(theirs.high))
    )


def test_on_these_inputs_tasks_may_differ_and_only_trials_count() -> None:
    rng = np.random.default_rng(4)
    effects, trials = rng.standard_normal((50, 1)), 4
    a, b = np.exp(0.01 * rng.standard_normal((2, 50, trials)))
    found = geometric_mean_ratio(timed(a), timed(b * np.exp(effects))).ratio
    variances = [np.log(x).var(axis=1, ddof=1) / trials / 50**2 for x in (a, b)]
    total = np.sum(variances)
    degrees = total**2 / np.sum(np.square(variances) / (trials - 1))
    half = stats.t.ppf(0.975, degrees) * math.sqrt(total)
    assert found.these.high == pytest.approx(found.estimate * math.exp(half))
    assert math.log(found.like_these.high / found.like_these.low) > 50 * 2 * half


def test_tasks_without_a_ratio_are_left_out_and_counted() -> None:
    time = np.full((10, 2), 2.0)
    time[:6] = np.exp(np.random.default_rng(5).standard_normal((6, 2)))
    first, second = timed(time.copy()), timed(time[:, ::-1].copy())
    first.solved[6, 0] = False
    second.solved[7] = False
    second.solved[6] = False
    first.time[8, 1] = np.nan
    first.time[6, 0] = -1  # unsolved: not looked at
    found = geometric_mean_ratio(first, second)
    assert found.left_out == 3
    assert (found.unsolved_first, found.unsolved_second) == (1, 2)
    assert found.ratio.like_these.n == 7
    first.time[0, 0] = 0
    with pytest.raises(InputError):
        geometric_mean_ratio(first, second)


def test_too_few_tasks_and_equal_ones_have_no_interval() -> None:
    five = geometric_mean_ratio(timed(np.ones((5, 3))), timed(np.full((5, 3), 2.0))).ratio
    assert five.estimate == pytest.approx(2)
    assert templates(five.like_these.refusal) == templates(five.these.refusal) == ["small, needs ≥"]
    equal = geometric_mean_ratio(timed(np.ones((9, 3))), timed(np.full((9, 3), 2.0))).ratio
    assert (
        templates(equal.like_these.refusal) == templates(equal.these.refusal) == ["all {n} values"]
    )
    none = Outcomes(np.ones((3, 2)), np.zeros((3, 2), dtype=bool))
    assert math.isnan(geometric_mean_ratio(none, none).ratio.estimate)
    assert templates(penalised_mean(timed(np.ones((5, 1))), 9).like_these.refusal) == [
        "small, needs ≥"
    ]


# ---- differences of numbers solved


@settings(max_examples=50)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 30))
def test_one_trial_is_mcnemars_exact_test(b: int, c: int, same: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    first = solving([[0]] * b + [[1]] * c + [[1]] * same)
    second = solving([[1]] * b + [[0]] * c + [[1]] * same)
    found = solved_difference(first, second)
    theirs = mcnemar([[same, c], [b, 0]], exact=True).pvalue if b + c else 1.0
    assert found.like_these.p == pytest.approx(theirs, abs=1e-9)
    assert (found.only_first, found.only_second) == (c, b)
    assert found.these is None
    if b + c:
        assert found.like_these.p == pytest.approx(stats.binomtest(b, b + c).pvalue, abs=1e-9)
        half = stats.binom.pmf(b, b + c, 0.5)
        tail = 2 * stats.binom.cdf(min(b, c), b + c, 0.5)
        assert found.like_these.mid_p == pytest.approx(min(1, tail - half), abs=1e-9)
    else:
        assert found.like_these.mid_p == 1
    if b + c + same >= 6:
        assert covers(found.share.like_these, (b - c) / (b + c + same))


def by_hand(draws: list[float], observed: float) -> float:
    """Twice the smaller tail of equally likely draws."""
    below, above = (sum(s * d >= s * observed - 1e-9 for d in draws) for s in (-1, 1))
    return min(1.0, 2 * min(below, above) / len(draws))


def test_several_trials_have_the_exact_tests_of_all_exchanges() -> None:
    rng = np.random.default_rng(6)
    for _ in range(10):
        one, two = (rng.random((5, 2)) < 0.5 for _ in "ab")
        found = solved_difference(*(Outcomes(np.ones((5, 2)), x) for x in (one, two)))
        d = two.sum(axis=1) - one.sum(axis=1)
        signs = [float(d @ s) for s in itertools.product((-1, 1), repeat=5)]
        assert found.like_these.p == pytest.approx(by_hand(signs, float(d.sum())))
        pooled = np.hstack([one, two]).astype(int)
        pairs = [
            [row[list(i)].sum() for i in itertools.combinations(range(4), 2)] for row in pooled
        ]
        sums = np.zeros(1)
        for of_task in pairs:
            sums = np.add.outer(sums, of_task).ravel()
        assert found.these is not None
        assert found.these.p == pytest.approx(by_hand(list(sums), one.sum()))


def test_a_difference_between_tasks_is_certain_on_these_and_chance_on_others() -> None:
    first = solving([[1, 1, 1]] * 45 + [[0, 0, 0]] * 55)
    second = solving([[0, 0, 0]] * 45 + [[1, 1, 1]] * 55)
    found = solved_difference(first, second)
    assert found.share.estimate == pytest.approx(0.1)
    assert found.share.these.low > 0
    assert found.share.like_these.low < 0
    assert found.these is not None
    assert found.these.p < 0.05
    assert found.like_these.p == pytest.approx(stats.binomtest(45, 100).pvalue)


def test_unequal_numbers_of_runs_are_exact_too() -> None:
    rng = np.random.default_rng(7)
    first, second = (Outcomes(np.ones((8, 3)), rng.random((8, 3)) < p) for p in (0.7, 0.2))
    ran = np.ones((8, 3), dtype=bool)
    ran[:4, 2] = False
    found = solved_difference(Outcomes(first.time, first.solved, ran), second)
    x, y = (first.solved & ran).sum(axis=1), second.solved.sum(axis=1)
    k = ran.sum(axis=1)
    chance = np.ones(1)
    for i in range(8):
        chance = np.convolve(
            chance, stats.hypergeom.pmf(range(k[i] + 1), k[i] + 3, x[i] + y[i], k[i])
        )
    at = int(x.sum())
    assert found.these is not None
    assert found.these.p == pytest.approx(2 * min(chance[: at + 1].sum(), chance[at:].sum()))


# ---- changes by task


def test_changes_are_told_from_flaky_tasks() -> None:
    first = solving([[1, 1, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 0, 0]])
    second = solving([[1, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1], [0, 1, 0]])
    found = changed_tasks(first, second)
    assert found.lost.tolist() == [False, True, False, False, False]
    assert found.gained.tolist() == [False, False, True, False, False]
    assert found.flaky.tolist() == [False, False, False, True, True]
    theirs = [
        stats.fisher_exact([[x, 3 - x], [y, 3 - y]]).pvalue
        for x, y in zip(first.solved.sum(axis=1), second.solved.sum(axis=1), strict=True)
    ]
    assert found.p == pytest.approx(theirs)
    # Two of six runs of one task: chance makes such a pair of tasks too often.
    assert found.beyond_chance is not None
    assert not found.beyond_chance.any()


def test_with_one_trial_a_change_may_be_chance() -> None:
    found = changed_tasks(solving([[1]] * 50), solving([[0]] * 50))
    assert found.lost.all()
    assert not found.flaky.any()
    assert found.p.tolist() == [1.0] * 50
    assert found.q is None
    assert found.beyond_chance is None


def test_many_tasks_that_change_throughout_are_no_chance_unless_others_waver() -> None:
    changed = ([[1, 1, 1]] * 8, [[0, 0, 0]] * 8)
    steady = [[1, 1, 1]] * 50
    alone = changed_tasks(solving(changed[0] + steady), solving(changed[1] + steady))
    assert alone.beyond_chance is not None
    assert np.flatnonzero(alone.beyond_chance).tolist() == list(range(8))
    # Of tasks solved in 3 of 6 runs, 1 in 10 would look so.
    wavering = ([[1, 1, 0]] * 40, [[1, 0, 0]] * 40)
    among = changed_tasks(*(solving(c + w) for c, w in zip(changed, wavering, strict=True)))
    assert among.beyond_chance is not None
    assert not among.beyond_chance.any()
    assert among.q is not None
    assert among.q[0] == pytest.approx(41 / 0.9 * 0.1 / 8)


@pytest.mark.parametrize("trials", [2, 3, 10])
def test_few_of_the_changes_found_are_false(trials: int) -> None:
    rng = np.random.default_rng(8)
    false, found = [], 0
    for _ in range(100):
        chances = np.where(rng.random(200) < 0.7, 1.0, 0.0)
        wavers = rng.random(200) < 0.02
        chances[wavers] = rng.random(int(wavers.sum()))
        changes = ~wavers & (rng.random(200) < 0.1)
        second = np.where(changes, 1 - chances, chances)
        shown = changed_tasks(flaky(rng, chances, trials), flaky(rng, second, trials)).beyond_chance
        assert shown is not None
        false.append((shown & ~changes).sum() / max(1, shown.sum()))
        found += int((shown & changes).sum())
    assert np.mean(false) <= 0.05
    assert found > 0.5 * 100 * 20


# ---- coverage

Truths = Callable[[Rng, int, int], list[tuple[Estimate, float, float]]]


def ratios(spread: float, noise: float, shape: str = "normal", effects: str = "normal") -> Truths:
    """Tasks differ in how much slower the second is, runs by noise."""

    def draw(rng: Rng, n: int, trials: int) -> list[tuple[Estimate, float, float]]:
        by_task = rng.exponential(size=n) - 1 if effects == "skewed" else rng.standard_normal(n)
        size = noise * np.exp(rng.standard_normal((n, 1))) if shape == "by task" else noise
        level = rng.standard_normal((n, 1))
        logs = []
        for _ in "ab":
            z = rng.standard_normal((n, trials))
            if shape == "heavy":
                z = rng.standard_t(3, (n, trials))
            logs.append(
                level + size * z + 0.4 * (rng.random((n, trials)) < 0.05) * (shape == "slow")
            )
        second = logs[1] + spread * by_task[:, None]
        found = geometric_mean_ratio(timed(np.exp(logs[0])), timed(np.exp(second))).ratio
        return [(found, 1.0, math.exp(spread * float(by_task.mean())))]

    return draw


def shares(chances: Callable[[Rng, int], FloatArray], mean: float) -> Truths:
    """Tasks are solved with chances of some mean; those of the second move in one of ten."""

    def draw(rng: Rng, n: int, trials: int) -> list[tuple[Estimate, float, float]]:
        first = chances(rng, n)
        second = np.where(rng.random(n) < 0.1, chances(rng, n), first)
        one, two = flaky(rng, first, trials), flaky(rng, second, trials)
        found, curve = share_solved(one), solved_within(one, np.array([0.3]))
        bands = [curve.like_these, curve.like_these if curve.these is None else curve.these]
        within = Estimate(
            *(Interval(curve.number[0], float(b[0, 0]), float(b[1, 0]), 0.95, "", n) for b in bands)
        )
        return [
            (found, mean, float(first.mean())),
            (within, 0.3 * n * mean, 0.3 * float(first.sum())),
            (solved_difference(one, two).share, 0.0, float((second - first).mean())),
        ]

    return draw


def penalties(spread: float, noise: float, limit: float, crashes: float = 0.0) -> Truths:
    """Log-normal times, a limit, and runs that crash."""

    def mean(levels: FloatArray) -> float:
        d = (math.log(limit) - levels) / noise
        of_solved = np.exp(levels + noise**2 / 2) * stats.norm.cdf(d - noise)
        late = 2 * limit * stats.norm.sf(d)
        return float(((1 - crashes) * (of_solved + late)).mean()) + crashes * 2 * limit

    everywhere = mean(spread * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000))

    def draw(rng: Rng, n: int, trials: int) -> list[tuple[Estimate, float, float]]:
        levels = spread * rng.standard_normal(n)
        time = np.exp(levels[:, None] + noise * rng.standard_normal((n, trials)))
        found = penalised_mean(Outcomes(time, rng.random(time.shape) >= crashes), limit)
        return [(found, everywhere, mean(levels))]

    return draw


def fixed(share: float) -> tuple[Callable[[Rng, int], FloatArray], float]:
    """Tasks are solved always or never."""
    return lambda rng, n: (rng.random(n) < share).astype(float), share


def spread_out(a: float, b: float) -> tuple[Callable[[Rng, int], FloatArray], float]:
    """Tasks are solved now and then."""
    return lambda rng, n: rng.beta(a, b, n), a / (a + b)


SITUATIONS = {
    "equal tasks": ratios(0.0, 0.01),
    "equal tasks, much noise": ratios(0.0, 0.1),
    "different tasks": ratios(0.3, 0.05),
    "very different tasks": ratios(1.0, 0.1),
    "heavy tails": ratios(0.01, 0.05, "heavy"),
    "some slow runs": ratios(0.01, 0.02, "slow"),
    "noise by task": ratios(0.0, 0.03, "by task"),
    "skewed effects": ratios(0.5, 0.05, effects="skewed"),
    "half solved": shares(*fixed(0.5)),
    "nearly all solved": shares(*fixed(0.998)),
    "hardly any solved": shares(*fixed(0.01)),
    "wavering": shares(*spread_out(0.5, 0.5)),
    "wavering near 1": shares(*spread_out(99, 1)),
    "nearly steady": shares(*spread_out(0.02, 0.02)),
    "all within the limit": penalties(0.0, 0.01, 10),
    "long tasks": penalties(1.0, 0.1, 1000),
    "long tasks, some late": penalties(1.0, 0.05, 3),
    "most late": penalties(1.0, 0.1, 0.1),
    "some crash": penalties(1.0, 0.1, 20, 0.01),
    "most crash": penalties(0.5, 0.1, 8, 0.95),
}


def check_coverage(draw: Truths, n: int, trials: int, replicates: int) -> None:
    """Fail beyond the 99 % bound of a true 94 %, of whichever number and interval is worst."""
    rng = np.random.default_rng(n * 100 + trials)
    covered = None
    for _ in range(replicates):
        hits = [
            [
                covers(e.like_these, like),
                # The interval for inputs like these is one for these as well.
                covers(e.like_these, these),
                e.these.low is None or covers(e.these, these),
            ]
            for e, like, these in draw(rng, n, trials)
        ]
        covered = np.array(hits, dtype=int) + (0 if covered is None else covered)
    assert covered is not None
    assert covered.min() >= stats.binom.ppf(0.01 / covered.size, replicates, 0.94), covered


@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_intervals_cover(situation: str, trials: int) -> None:
    check_coverage(SITUATIONS[situation], 30, trials, 200)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [1, 2, 3, 10])
@pytest.mark.parametrize("n", [10, 30, 200, 2000])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_intervals_cover_for_every_size_of_set(situation: str, n: int, trials: int) -> None:
    check_coverage(SITUATIONS[situation], n, trials, 2000 if n < 2000 else 1000)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [2, 3, 10])
@pytest.mark.parametrize("expected", [0.5, 1, 2, 3, 4, 5, 7, 10, 20])
def test_rare_failures_are_within_intervals(expected: float, trials: int) -> None:
    """The worst of chances: so few runs, or tasks, that often none is seen."""
    rng, n, replicates = np.random.default_rng(9), 200, 4000
    covered = np.zeros(3)
    always = solving([[1] * trials] * n)
    for _ in range(replicates):
        chance = expected / n / trials
        runs = flaky(rng, np.full(n, 1 - chance), trials)
        tasks = flaky(rng, (rng.random(n) >= expected / n).astype(float), trials)
        covered += [
            covers(share_solved(runs).these, 1 - chance),
            covers(solved_difference(always, runs).share.these, -chance),
            covers(solved_difference(always, tasks).share.like_these, -expected / n),
        ]
    assert covered.min() >= stats.binom.ppf(0.003, replicates, 0.94), covered


@pytest.mark.slow
@pytest.mark.parametrize("trials", [1, 2, 3, 10])
@pytest.mark.parametrize("n", [30, 200])
def test_tests_err_as_seldom_as_they_claim(n: int, trials: int) -> None:
    rng, replicates = np.random.default_rng(10), 4000
    alarms = np.zeros(4)
    for _ in range(replicates):
        chances, other = rng.beta(0.5, 0.5, (2, n))
        one, two, like = (flaky(rng, c, trials) for c in (chances, chances, other))
        tests = [solved_difference(one, like).like_these, solved_difference(one, two).these]
        alarms += [x <= 0.05 for t in tests for x in ((t.p, t.mid_p) if t else (1, 1))]
    # The mid-p is not exact.
    assert (alarms <= stats.binom.ppf(0.998, replicates, [0.05, 0.06, 0.05, 0.06])).all(), alarms


def test_fifty_thousand_tasks_take_no_second() -> None:
    rng, n = np.random.default_rng(11), 50_000
    time = np.exp(rng.standard_normal((n, 1)) + 0.3 * rng.standard_normal((6, n, 1)))
    sides = [Outcomes(t, t < 5) for t in time]
    began = clock.process_time()
    for side in sides:
        share_solved(side)
        solved_within(side)
        penalised_mean(side, 5.0)
    for side in sides[1:]:
        geometric_mean_ratio(sides[0], side)
        solved_difference(sides[0], side)
        changed_tasks(sides[0], side)
    assert clock.process_time() - began < 1


@pytest.mark.parametrize("kind", [int, np.uint8, float, object, list])
def test_solved_given_as_numbers_scores_as_truth_values_do(kind: Any) -> None:
    time = np.linspace(0.5, 3, 40)[:, None]
    solved = time < 2
    given = solved.astype(int).tolist() if kind is list else solved.astype(int).astype(kind)
    expected = penalised_mean(Outcomes(time, solved), 4)
    assert expected.estimate == pytest.approx(float(np.where(solved, time, 8).mean()))
    assert penalised_mean(Outcomes(time, given), 4) == expected
    assert Outcomes(time, solved, given).runs.tolist() == solved.sum(axis=1).tolist()


def test_what_is_no_outcome_is_refused_by_name() -> None:
    one, true = np.ones((8, 1)), np.ones((8, 1), dtype=bool)
    for time, solved, ran, names in (
        (-one, true, None, r"time\[0, 0\] is -1"),
        (one.ravel(), true, None, "1 dimensions"),
        (one, 2 * one, None, "solved has the value 2"),
        (one, np.nan * one, None, "solved has the value nan"),
        (one, true[1:], None, "solved has the shape"),
        (one, true, true[1:], "ran has the shape"),
    ):
        with pytest.raises(ValuesError, match=names):
            Outcomes(time, solved, ran)
    outcomes = Outcomes(one, true)
    for bad in (-4, 0, np.nan, np.inf):
        with pytest.raises(ValuesError, match="limit is"):
            penalised_mean(outcomes, bad)
        with pytest.raises(ValuesError, match="factor is"):
            penalised_mean(outcomes, 4, bad)
    with pytest.raises(ValuesError, match="limits"):
        solved_within(outcomes, np.array([1, np.nan]))
    fewer = Outcomes(one[1:], true[1:])
    for compare in (geometric_mean_ratio, solved_difference, changed_tasks):
        with pytest.raises(ValuesError, match="first has 8 tasks and second has 7"):
            compare(outcomes, fewer)
