"""Values above a limit: every bound contains what the true values would have given."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from said import template
from scipy import stats

from tare.errors import ValuesError
from tare.statistics.censored import interval_above
from tare.statistics.comparison import Comparison, cliffs_delta, compare, compare_unpaired
from tare.statistics.intervals import Interval, p10_and_p90, quantile_interval
from tare.statistics.pair_ratios import mean_gate_refusal, pair_ratio
from tare.statistics.sequential import compare_sequentially
from tare.statistics.shift import paired_shift

MS = 1e6


def killed(values: np.ndarray, limit: float) -> np.ndarray:
    """Return what is known of values of which those above a limit were killed at it."""
    return np.where(values > limit, np.inf, values)


def series(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two series with a share of shared disturbances, so that both are killed together at times."""
    rng = np.random.default_rng(seed)
    block = np.exp(0.2 * rng.standard_normal(n))
    first = 50 * MS * block * np.exp(0.1 * rng.standard_normal(n))
    return first, 52 * MS * block * np.exp(0.3 * rng.standard_normal(n))


def contains(wide: Comparison, narrow: Comparison) -> bool:
    assert wide.low is not None
    assert wide.high is not None
    assert narrow.low is not None
    assert narrow.high is not None
    rounding = 1 + 1e-9
    return wide.low <= narrow.low * rounding and narrow.high <= wide.high * rounding


@pytest.mark.parametrize("limit", [100 * MS, 70 * MS, 55 * MS, 40 * MS, 10 * MS])
@pytest.mark.parametrize("n", [8, 60, 150])
@pytest.mark.parametrize("tick", [1.0, 2 * MS])
def test_the_interval_contains_that_of_the_true_values(limit: float, n: int, tick: float) -> None:
    for seed in range(5):
        first, second = series(seed, n)
        known = killed(first, limit), killed(second, limit)
        for how in (compare, compare_unpaired):
            whole = how(first, second, tick=tick)
            found = how(*known, tick=tick, limits=(limit, limit))
            if n == 8 and found.low is None:
                continue  # too few values on a side that ended
            assert contains(found, whole)
            if whole.verdict.differs and found.verdict.differs:
                assert whole.verdict.direction == found.verdict.direction


@pytest.mark.parametrize("limit", [70 * MS, 50 * MS, 40 * MS])
def test_no_interim_analysis_says_more_than_that_of_the_true_values(limit: float) -> None:
    for seed in range(10):
        first, second = series(seed, 90)
        known = killed(first, limit), killed(second, limit)
        for gate in (None, 0.03):
            whole = compare_sequentially(first, second, gate=gate, final=True, tick=1.0)
            found = compare_sequentially(
                *known, gate=gate, final=True, tick=1.0, limits=(limit, limit)
            )
            for a, b in zip(whole.looks, found.looks, strict=False):
                assert (a.n, a.level) == (b.n, b.level) or a.n != b.n
                if a.n == b.n and a.low is not None and a.high is not None:
                    assert b.low is not None
                    assert b.high is not None
                    assert b.low <= a.low
                    assert a.high <= b.high


def test_pairs_of_which_one_is_killed_have_a_direction() -> None:
    first = 50 * MS + np.arange(20.0) * 1e4
    second = np.full(20, np.inf)
    found = compare(first, second, tick=1.0, limits=(100 * MS, 100 * MS))
    assert found.verdict.direction == "higher"
    assert found.low is not None
    assert 1.9 < found.low < 2
    assert found.high == math.inf
    assert math.isnan(found.ratio)
    assert found.killed == (0, 20)
    assert found.cliffs_delta == 1


def test_pairs_of_which_both_are_killed_are_no_zeros() -> None:
    values = np.full(20, np.inf)
    found = compare(values, values, tick=1.0, limits=(100 * MS, 100 * MS))
    assert (found.low, found.high) == (0, math.inf)
    assert not found.verdict.conclusive
    assert found.cliffs_delta == 0
    assert found.more_pairs is None
    assert found.detectable is None


def test_the_estimate_is_the_middle_of_its_bounds_and_says_how_far_it_is_open() -> None:
    first, second = series(3)
    limit = 75 * MS
    known = killed(first, limit), killed(second, limit)
    found = paired_shift(*known, logs=True, tick=1.0, limits=(limit, limit))
    whole = paired_shift(first, second, logs=True, tick=1.0)
    assert 0 < found.gap < math.inf
    assert found.middle - found.gap <= whole.middle <= found.middle + found.gap


def test_an_interval_that_is_open_to_one_side_has_no_estimate() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.lognormal(np.log(40), 0.3, (50,)), rng.lognormal(np.log(76), 0.6, (50,))
    second = killed(second, 80)
    assert 10 < np.isinf(second).sum() < 25
    for how in (compare, compare_unpaired):
        found = how(first, second, tick=1e-6, limits=(80, 80))
        assert found.verdict.direction == "higher"
        assert found.low is not None
        assert 1 < found.low < 1.9
        assert found.high == math.inf
        assert math.isnan(found.ratio)
        assert found.gap == math.inf


def test_more_pairs_do_not_close_what_a_limit_leaves_open() -> None:
    first, second = series(3)
    limit = 60 * MS
    found = compare(
        killed(first, limit), killed(second, limit), margin=1e-4, tick=1.0, limits=(limit, limit)
    )
    assert found.more_pairs is None


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_the_interval_of_a_ratio_of_quantiles_contains_that_of_the_true_values(
    quantile: float,
) -> None:
    for seed in range(3):
        first, second = series(seed, 120)
        for limit in (90 * MS, 60 * MS):
            whole = pair_ratio(first, second, quantile, tick=1.0)
            known = killed(first, limit), killed(second, limit)
            found = pair_ratio(*known, quantile, tick=1.0, limits=(limit, limit))
            assert None not in (whole.low, whole.high, found.low, found.high)
            assert found.low <= whole.low + 1e-9  # type: ignore[operator]
            assert whole.high <= found.high + 1e-9  # type: ignore[operator]


def test_a_mean_with_killed_runs_is_not_known() -> None:
    first, second = series(1, 80)
    second = killed(second, 90 * MS)
    found = pair_ratio(first, second, tick=1.0, limits=(90 * MS, 90 * MS))
    assert math.isnan(found.middle)
    assert (found.low, found.high) == (None, None)
    why = mean_gate_refusal(first, second)
    assert why is not None
    assert template(why) == "mean is not"


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_a_quantile_is_above_the_limit_or_known(q: float) -> None:
    _, values = series(2, 100)
    for limit in (90 * MS, 60 * MS, 40 * MS, 20 * MS):
        whole = quantile_interval(values, q, tick=1.0)
        found = interval_above(
            lambda some, tick: quantile_interval(some, q, tick=tick),
            killed(values, limit),
            np.full(100, limit),
            1.0,
        )
        assert found.above == limit
        if np.sum(values > limit) > (1 - q) * 100 + 1:
            assert found.estimate == math.inf
            assert whole.estimate > limit
        elif np.sum(values > limit) < (1 - q) * 99 - 1:
            assert found.estimate == whole.estimate
        assert found.low is not None
        assert whole.low is not None
        assert found.low <= whole.low
        assert found.high in (whole.high, math.inf)
        assert (found.half_width is None) == (found.high == math.inf)


def test_a_range_whose_upper_end_is_killed_is_infinite() -> None:
    values = np.arange(1.0, 21.0)
    assert p10_and_p90(killed(values, 19)) == p10_and_p90(values)
    assert p10_and_p90(killed(values, 10))[1] == math.inf
    assert p10_and_p90(np.full(20, np.inf)) == (math.inf, math.inf)


def test_a_killed_value_ranks_above_all_that_ended_and_two_of_them_count_half() -> None:
    assert cliffs_delta([1.0, 2.0], [np.inf, np.inf]) == 1
    assert cliffs_delta([1.0, np.inf], [2.0, np.inf]) == pytest.approx(0.25)


@pytest.mark.parametrize(
    "limits", [None, (0.0, 0.0), (math.nan, 1.0), (1.0, math.inf), ([1.0, 2.0], 1.0)]
)
def test_an_infinite_value_without_a_limit_is_refused(limits: object) -> None:
    values = np.array([1.0, 2.0, np.inf])
    for how in (compare, compare_unpaired, compare_sequentially, pair_ratio):
        with pytest.raises(ValuesError):
            how(values, values, limits=limits)  # type: ignore[operator]


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks/killed_runs.py"
    spec = importlib.util.spec_from_file_location("killed_runs_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["lognormal", "bimodal", "one side", "blocks"])
def test_coverage_holds_and_no_verdict_is_reversed(simulation: ModuleType, kind: str) -> None:
    """With the gate at the true ratio every answer is wrong; at most 2.5 % pass, or fail."""
    draw = simulation.KINDS[kind]
    limit = simulation.limit_of(draw, 0.2)
    simulation.check(draw, limit)
    replicates = 100
    covers, _, passes, fails, *_ = simulation.paired(draw, limit, replicates)
    assert covers * replicates >= stats.binom.ppf(0.005, replicates, 0.95)
    for wrong in (passes, fails):
        assert wrong * replicates <= stats.binom.ppf(0.995, replicates, 0.025)
    covers, _, median, p90 = simulation.alone(draw, limit, replicates)
    for share_covered in (covers, median, p90):
        assert share_covered * replicates >= stats.binom.ppf(0.005, replicates, 0.94)


@pytest.mark.parametrize("limits", [21.0, (np.arange(41) % 2) + 21.0])
def test_a_median_among_runs_that_ended_after_the_limit_is_above_it(limits: object) -> None:
    values = np.array([*np.linspace(20, 20.9, 15), *np.linspace(24, 25, 10), *[np.inf] * 16])
    above = np.broadcast_to(np.asarray(limits, dtype=float), values.shape)

    def median(x: np.ndarray, tick: float | None) -> Interval:
        return quantile_interval(x, 0.5, 0.95, tick)

    found = interval_above(median, values, above, 0.0)
    # With the killed runs at 21, their median is 21; beyond all others it is 24.5.
    assert (found.estimate, found.above, found.high) == (math.inf, 21, math.inf)
    assert found.low is not None
    assert found.low <= 20.9
