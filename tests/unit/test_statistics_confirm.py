"""Exact CONFIRM against enumeration, weights by log-gamma, random subsets; its figures by draws."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from tare.errors import InputError
from tare.statistics.confirm import (
    assured_runs,
    converges,
    expected_by_steps,
    expected_by_weights,
    expected_curve,
    interval_ranks,
    prefixes,
    repetitions,
    share_within,
    sizes_and_ranks,
)
from tare.statistics.intervals import quantile_interval, quantile_ranks, trials_needed

series = st.lists(st.floats(1, 1000), min_size=1, max_size=40).map(np.array)


def test_order_statistics_are_those_of_all_subsets() -> None:
    ordered = np.sort(np.random.default_rng(1).lognormal(0, 1, 10))
    for s in range(1, 11):
        every = np.array([np.sort(c) for c in combinations(ordered, s)])
        assert len(every) == comb(10, s)
        sizes, ranks = np.arange(s, 11), np.tile(np.arange(1, s + 1), (11 - s, 1))
        for expected in (expected_by_steps, expected_by_weights):
            assert expected(ordered, sizes, ranks)[0] == pytest.approx(
                every.mean(axis=0), rel=1e-13
            )


@pytest.mark.parametrize("q", [0.5, 0.25, 0.7])
def test_curve_is_that_of_all_subsets(q: float) -> None:
    values = np.random.default_rng(2).lognormal(0, 1, 10)
    curve = expected_curve(values, 0.6, q)
    assert curve.s[0] == trials_needed(q, 0.6)
    assert curve.s[-1] == 10
    for s, low, high, median in zip(curve.s, curve.low, curve.high, curve.median, strict=True):
        every = [quantile_interval(np.array(c), q, 0.6) for c in combinations(values, s)]
        assert low == pytest.approx(np.mean([i.low for i in every]))  # type: ignore[arg-type]
        assert high == pytest.approx(np.mean([i.high for i in every]))  # type: ignore[arg-type]
        assert median == pytest.approx(np.mean([i.estimate for i in every]))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("q", [0.5, 0.3, 0.99, 0.001])
def test_ranks_of_many_sizes_are_those_of_each(q: float, confidence: float) -> None:
    sizes = np.concatenate([np.arange(1, 200), [1_000, 12_345, 50_000_000]])
    low, high = interval_ranks(sizes, q, confidence)
    for s, one, other in zip(sizes, low, high, strict=True):
        expected = quantile_ranks(int(s), q, confidence)
        valid = one >= 1 and other <= s
        assert ((int(one), int(other)) if valid else None) == expected


def weighted(ordered: np.ndarray, s: int, r: int) -> float:
    """Expectation by the weights of all values, by log-gamma."""
    n = len(ordered)
    i = np.arange(r, n - s + r + 1)

    def log_comb(a: np.ndarray, b: np.ndarray | int) -> np.ndarray:
        return special.gammaln(a + 1) - special.gammaln(b + 1.0) - special.gammaln(a - b + 1)

    weights = np.exp(log_comb(i - 1, r - 1) + log_comb(n - i, s - r) - log_comb(np.array(n), s))
    assert weights.sum() == pytest.approx(1, abs=1e-8)
    return float(weights @ ordered[i - 1] / weights.sum())


@pytest.mark.parametrize("n", [300, 10_000])
def test_steps_lose_nothing_over_thousands_of_sizes(n: int) -> None:
    ordered = np.sort(np.random.default_rng(3).lognormal(0, 1, n))
    sizes = np.arange(6, n + 1)
    low, high = interval_ranks(sizes, 0.5, 0.95)
    found = expected_by_steps(ordered, sizes, np.stack([low, high], axis=1))
    for s in (6, 7, 50, 128, 299, n // 2, n - 1, n):
        k = s - 6
        assert found[k, 0] == pytest.approx(weighted(ordered, s, low[k]), rel=1e-10)
        assert found[k, 1] == pytest.approx(weighted(ordered, s, high[k]), rel=1e-10)


@pytest.mark.parametrize(("q", "error"), [(0.5, 5e-6), (0.9, 5e-6), (0.99, 5e-4)])
def test_blocks_of_values_stand_for_them(q: float, error: float) -> None:
    rng = np.random.default_rng(4)
    for values in (rng.lognormal(0, 1, 60_000), rng.normal(np.repeat([0, 50], 30_000), 1)):
        ordered = np.sort(values)
        sizes = np.array([500, 2_000, 20_000, 60_000])
        low, high = interval_ranks(sizes, q, 0.95)
        found = expected_by_weights(ordered, sizes, np.stack([low, high], axis=1))
        for k, s in enumerate(sizes):
            for rank, value in ((low[k], found[k, 0]), (high[k], found[k, 1])):
                exact = weighted(ordered, int(s), int(rank))
                assert value == pytest.approx(exact, abs=error * np.std(values))


def test_curve_is_the_mean_of_random_subsets() -> None:
    rng = np.random.default_rng(5)
    values = rng.lognormal(0, 0.3, 200)
    curve = expected_curve(values)
    for s in (10, 57, 150):
        ranks = quantile_ranks(s)
        assert ranks is not None
        drawn = np.sort(rng.permuted(np.tile(values, (20_000, 1)), axis=1)[:, :s], axis=1)
        k = int(np.flatnonzero(curve.s == s)[0])
        middle = np.median(drawn, axis=1)
        for found, exact in (
            (drawn[:, ranks[0] - 1], curve.low[k]),
            (drawn[:, ranks[1] - 1], curve.high[k]),
            (middle, curve.median[k]),
        ):
            assert abs(found.mean() - exact) < 4 * found.std() / np.sqrt(len(found))


def test_long_and_short_series_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(6).normal(100, 3, 3_000)
    targets = (0.05, 0.01, 0.005, 0.003)
    monkeypatch.setattr("tare.statistics.confirm.EVERY_SIZE", 3_000)
    every = expected_curve(values)
    whole = [repetitions(values, target).n for target in targets]
    monkeypatch.setattr("tare.statistics.confirm.EVERY_SIZE", 2_999)
    sizes_and_ranks.cache_clear()
    some = expected_curve(values)
    sizes_and_ranks.cache_clear()
    assert len(some.s) < len(every.s) / 5
    at = np.searchsorted(every.s, some.s)
    assert some.low == pytest.approx(every.low[at], abs=1e-3)
    assert some.high == pytest.approx(every.high[at], abs=1e-3)
    assert [repetitions(values, target).n for target in targets] == whole
    sizes_and_ranks.cache_clear()


@given(series, st.floats(0.5, 4), st.sampled_from([0.5, 0.25]))
@settings(deadline=None)
def test_runs_follow_no_scale_and_curves_do(values: np.ndarray, scale: float, q: float) -> None:
    one, other = repetitions(values, 0.1, q=q), repetitions(values * 2, 0.1, q=q)
    assert (one.n, one.n_assured, one.converges) == (other.n, other.n_assured, other.converges)
    curve = expected_curve(values * scale + 7, q=q)
    for name in ("low", "high", "median"):
        moved = getattr(one.curve, name) * scale + 7
        assert getattr(curve, name) == pytest.approx(moved, rel=1e-9)


@given(series, st.randoms())
def test_order_matters_for_convergence_alone(values: np.ndarray, random: object) -> None:
    shuffled = values.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = repetitions(values, 0.1), repetitions(shuffled, 0.1)
    assert (one.n, one.n_assured) == (other.n, other.n_assured)
    assert np.array_equal(one.curve.low, other.curve.low)


@given(series)
def test_curve_ends_at_the_interval_of_all_and_holds_the_median(values: np.ndarray) -> None:
    curve = repetitions(values).curve
    interval = quantile_interval(values, tick=0.0)
    if interval.low is None:
        assert len(curve.s) == 0
        return
    assert (curve.low[-1], curve.high[-1]) == (interval.low, interval.high)
    assert curve.median[-1] == pytest.approx(interval.estimate)
    slack = 1e-9 * curve.high
    assert (curve.low <= curve.median + slack).all()
    assert (curve.median <= curve.high + slack).all()


def test_n_is_the_stable_size() -> None:
    values = np.random.default_rng(7).normal(100, 3, 500)
    found = repetitions(values)
    c = found.curve
    half = np.maximum(c.high - c.median, c.median - c.low) / c.median
    inside = half <= 0.01
    assert found.n is not None
    assert inside[c.s >= found.n].all()
    assert not inside[c.s == found.n - 1].any()
    # It saw-tooths: the first size that would do is not the one after which all do.
    assert c.s[inside][0] < found.n


def test_too_few_runs_to_say() -> None:
    few = repetitions(np.array([1.0, 2.0, 3.0]))
    assert (few.n, few.n_assured, few.converges, len(few.curve.s)) == (None, None, True, 0)
    wide = repetitions(np.random.default_rng(8).lognormal(0, 1, 50))
    assert wide.n is None
    assert wide.n_assured is None
    assert len(wide.curve.s) == 45


def test_other_quantiles_confidences_and_precisions() -> None:
    values = np.random.default_rng(9).normal(100, 3, 2_000)
    base = repetitions(values)
    assert base.n is not None
    for more in ({"q": 0.9}, {"confidence": 0.99}, {"precision": 0.005}):
        found = repetitions(values, **more)
        assert found.n is not None
        assert found.n > 1.2 * base.n
    assert repetitions(values, 0.02).n < base.n  # type: ignore[operator]


@pytest.mark.parametrize("values", [np.full(50, 3.0), np.zeros(50), -np.full(50, 3.0)])
def test_equal_values_need_no_more_than_an_interval(values: np.ndarray) -> None:
    found = repetitions(values)
    assert (found.n, found.converges) == (6, True)
    assert found.n_assured == 6


def test_negative_values_count_by_their_size() -> None:
    values = np.random.default_rng(10).normal(100, 2, 300)
    assert repetitions(-values).n == repetitions(values).n


@pytest.mark.parametrize("values", [[], [1.0] * 20 + [np.nan], [1.0] * 20 + [np.inf]])
def test_refuses_what_cannot_be_ordered(values: list[float]) -> None:
    with pytest.raises(InputError):
        repetitions(np.array(values))


# How many runs make it likely


DRAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.normal(100, 2, shape),
    "skewed": lambda rng, shape: 100 * np.exp(0.03 * rng.standard_gamma(2, shape)),
    "ties": lambda rng, shape: np.round(rng.normal(100, 2, shape)),
}


@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize("draw", DRAWS)
def test_share_is_that_of_samples(draw: str, q: float) -> None:
    rng = np.random.default_rng(11)
    population = np.sort(DRAWS[draw](rng, (1, 400_000))[0])
    for s in (61, 151):
        ranks = quantile_ranks(s, q)
        assert ranks is not None
        samples = np.sort(rng.choice(population, (4_000, s)), axis=1)
        middle = np.quantile(samples, q, axis=1)
        within = (samples[:, ranks[1] - 1] <= 1.01 * middle) & (
            samples[:, ranks[0] - 1] >= 0.99 * middle
        )
        found = share_within(population, np.array([s]), 0.01, 0.95, q)[0]
        assert found == pytest.approx(within.mean(), abs=0.04)


def test_assured_is_more_than_expected_and_reaches_nine_of_ten() -> None:
    rng = np.random.default_rng(12)
    found = repetitions(rng.normal(100, 3, 2_000))
    assert found.n is not None
    assert found.n_assured is not None
    shares = []
    for s in (found.n, found.n_assured):
        low, high = quantile_ranks(s) or (1, s)
        samples = np.sort(rng.normal(100, 3, (4_000, s)), axis=1)
        middle = np.median(samples, axis=1)
        shares.append(
            np.mean(
                (samples[:, high - 1] <= 1.01 * middle) & (samples[:, low - 1] >= 0.99 * middle)
            )
        )
    assert shares[0] < 0.6
    assert shares[1] == pytest.approx(0.92, abs=0.05)


def test_assured_speaks_of_more_runs_than_there_are_but_not_of_any_number() -> None:
    rng = np.random.default_rng(13)
    beyond = repetitions(rng.normal(100, 5, 250))
    assert beyond.n_assured is not None
    assert beyond.n_assured > 250
    assert assured_runs(np.sort(rng.normal(100, 50, 250))) is None


# Do intervals converge?


def test_prefixes_are_the_intervals_of_the_first_runs() -> None:
    values = np.random.default_rng(14).lognormal(0, 1, 100)
    curve = prefixes(values)
    assert (curve.s[0], curve.s[-1]) == (6, 100)
    for s, low, high, median in zip(curve.s, curve.low, curve.high, curve.median, strict=True):
        interval = quantile_interval(values[:s])
        assert (low, high, median) == (interval.low, interval.high, interval.estimate)
    assert len(prefixes(values[:5]).s) == 0


def budget(rng: np.random.Generator, n: int) -> np.ndarray:
    """Runs that use up a token bucket, as in CLOUDNET's Figure 19: five levels, each slower."""
    return rng.normal(100, 3, n) * (1 + 0.15 * (np.arange(n) * 5 // n))


@pytest.mark.parametrize("n", [20, 50, 1000])
def test_a_bucket_that_empties_does_not_converge(n: int) -> None:
    rng = np.random.default_rng(15)
    assert not any(converges(budget(rng, n)) for _ in range(30))
    shuffled = [converges(rng.permutation(budget(rng, n))) for _ in range(100)]
    assert np.mean(shuffled) > 0.9


def test_widening_intervals_do_not_converge_though_their_median_stays() -> None:
    rng = np.random.default_rng(16)
    growing = np.geomspace(0.2, 20, 300)
    found = [converges(100 + growing * rng.standard_normal(300), 0.2) for _ in range(50)]
    assert np.mean(found) < 0.2


def test_a_drift_that_does_not_matter_is_let_be() -> None:
    rng = np.random.default_rng(17)
    values = rng.normal(100, 1, 5_000) + np.linspace(0, 0.2, 5_000)
    assert converges(values, 0.01)
    assert not converges(values, 0.0001)


@pytest.mark.parametrize("n", [6, 10, 30, 200])
@pytest.mark.parametrize("q", [0.5, 0.75])
def test_exchangeable_runs_converge(n: int, q: float) -> None:
    rng = np.random.default_rng(18)
    alarms = 0
    for _ in range(500):
        alarms += not converges(np.round(rng.lognormal(0, 1, n), 1), q=q)
    assert alarms <= stats.binom.ppf(0.999, 500, 0.05)
