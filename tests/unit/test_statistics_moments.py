"""Mean and SD: the bootstrap against scipy's, few trials against Student, coverage simulated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import templates
from scipy import stats

from tare.errors import InputError
from tare.results.message import message
from tare.statistics import moments
from tare.statistics.moments import bootstrap_moments, coverage_like, mean_and_sd

series = st.lists(st.floats(1, 1000), min_size=20, max_size=60).map(np.array)


def sd(values: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.std(values, ddof=1, axis=axis))


@pytest.mark.parametrize("n", [20, 60, 1000, 5000])
def test_is_scipys_percentile_bootstrap(n: int) -> None:
    values = np.random.default_rng(1).lognormal(0, 0.3, n)
    ours = mean_and_sd(values, seed=7, resamples=19_999)
    for interval, of in zip(ours, (np.mean, sd), strict=True):
        theirs = stats.bootstrap(
            (values,),
            of,
            n_resamples=19_999,
            method="percentile",
            batch=500,
            rng=np.random.default_rng(7),
        ).confidence_interval
        assert interval.low is not None
        assert interval.high is not None
        # The 2.5 % point of 19,999 replicates is known to 0.04 of their SD.
        error = 0.04 * (theirs.high - theirs.low) / 3.92 * 4
        assert abs(interval.low - theirs.low) < error
        assert abs(interval.high - theirs.high) < error
        assert interval.estimate == of(values, axis=0)


@given(series, st.integers(0, 100))
def test_moments_of_resamples_are_numpys(values: np.ndarray, seed: int) -> None:
    n = len(values)
    means, sds = bootstrap_moments(values, 5, seed)
    drawn = values[np.random.default_rng(seed).integers(0, n, (5, n))]
    scale = np.ptp(values) + 1e-12 * np.abs(values).max()
    assert means == pytest.approx(drawn.mean(axis=1), abs=1e-9 * scale + 1e-9)
    assert sds == pytest.approx(drawn.std(axis=1, ddof=1), abs=1e-6 * scale + 1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e9])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_neither_cancels_nor_overflows(offset: float, scale: float) -> None:
    values = np.random.default_rng(2).standard_normal(50)
    plain = bootstrap_moments(values, 100, 1)
    moved = bootstrap_moments((values + offset) * scale, 100, 1)
    assert moved[0] == pytest.approx((plain[0] + offset) * scale, rel=1e-9)
    assert moved[1] == pytest.approx(plain[1] * scale, rel=1e-6)


def test_an_outlier_leaves_the_rest_its_spread() -> None:
    values = np.random.default_rng(3).standard_normal(50)
    values[7] = 1e9
    drawn = np.random.default_rng(1).integers(0, 50, (400, 50))
    _, sds = bootstrap_moments(values, 400, 1)
    without = ~(drawn == 7).any(axis=1)
    assert without.sum() > 50
    assert sds[without] == pytest.approx(values[drawn[without]].std(axis=1, ddof=1), rel=1e-6)


def test_kept_and_passing_resamples_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(4).lognormal(0, 1, 300)
    kept = mean_and_sd(values, seed=3)
    monkeypatch.setattr(moments, "_KEPT", 0)
    assert mean_and_sd(values, seed=3) == kept


@given(series, st.floats(0.5, 4), st.floats(-100, 100))
@settings(deadline=None)
def test_intervals_follow_scale_and_shift(values: np.ndarray, scale: float, shift: float) -> None:
    (m0, s0), (m1, s1) = (
        mean_and_sd(values, tick=0.0),
        mean_and_sd(values * scale + shift, tick=0.0),
    )
    if s0.low is None or s1.low is None:
        return
    for name in ("estimate", "low", "high"):
        assert getattr(m1, name) == pytest.approx(getattr(m0, name) * scale + shift, abs=1e-6)
        assert getattr(s1, name) == pytest.approx(getattr(s0, name) * scale, abs=1e-6)


def test_order_matters_no_more_than_chance() -> None:
    values = np.random.default_rng(5).lognormal(0, 0.5, 200)
    for one, other in zip(mean_and_sd(values), mean_and_sd(np.sort(values)), strict=True):
        assert one.low is not None
        assert one.high is not None
        assert other.low == pytest.approx(one.low, abs=0.15 * (one.high - one.low))
        assert other.high == pytest.approx(one.high, abs=0.15 * (one.high - one.low))


def test_mean_of_few_trials_is_students_t() -> None:
    values = np.random.default_rng(1).normal(100, 5, 12)
    mean, spread = mean_and_sd(values)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert (mean.low, mean.high) == (pytest.approx(low), pytest.approx(high))
    assert mean.method == "Student's t"
    assert (spread.low, spread.refusal) == (
        None,
        message("n = {n} is too small, needs ≥ {needs}", n=12, needs=20),
    )


def test_one_trial_has_no_interval() -> None:
    mean, spread = mean_and_sd(np.array([1.0]))
    assert (mean.estimate, mean.low, spread.low) == (1.0, None, None)
    assert mean.refusal == message("n = {n} is too small, needs ≥ {needs}", n=1, needs=2)


def test_equal_values_say_nothing_of_the_clock() -> None:
    mean, spread = mean_and_sd(np.full(30, 7.0))
    assert (mean.estimate, mean.low, mean.high) == (7.0, None, None)
    assert templates(mean.refusal) == ["all {n} values"]
    assert spread.refusal == message("all values are equal")
    assert coverage_like(np.full(30, 7.0)) is None


@pytest.mark.parametrize("shape", ["lognormal", "exponential"])
def test_the_expansion_is_what_the_bootstrap_tends_to(shape: str) -> None:
    rng = np.random.default_rng(6)
    values = rng.lognormal(0, 0.6, 2_001) if shape == "lognormal" else rng.exponential(size=2_001)
    drawn = bootstrap_moments(values, 8_000, rng)
    for replicates, found in zip(drawn, mean_and_sd(values), strict=True):
        low, high = np.quantile(replicates, [0.025, 0.975])
        assert found.method == "expansion of the percentile bootstrap"
        assert found.low == pytest.approx(low, abs=0.02 * (high - low))
        assert found.high == pytest.approx(high, abs=0.02 * (high - low))


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([], "values has no values"),
        ([1.0, np.nan], r"values\[1\] is nan, which is not a finite number"),
        ([1.0, np.inf], r"values\[1\] is inf, which is not a finite number"),
    ],
)
def test_refuses_what_has_no_mean(values: list[float], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        mean_and_sd(np.array(values))


def simulated(values: np.ndarray, repeats: int = 1000) -> tuple[float, float]:
    """Coverage by drawing and bootstrapping, one by one."""
    rng = np.random.default_rng(9)
    truth = values.mean(), values.std()
    hits = np.zeros(2)
    for _ in range(repeats):
        sample = values[rng.integers(0, len(values), len(values))]
        for k, replicates in enumerate(bootstrap_moments(sample, 399, rng)):
            low, high = np.quantile(replicates, [0.025, 0.975])
            hits[k] += low <= truth[k] <= high
    return hits[0] / repeats, hits[1] / repeats


SHAPES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(100, 1, 50),
    "lognormal": lambda rng: rng.lognormal(0, 0.7, 100),
    "outliers": lambda rng: np.append(rng.normal(100, 1, 40), np.full(8, 140.0)),
    "coin": lambda rng: (rng.random(40) < 0.3).astype(float),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_coverage_is_what_simulation_one_by_one_finds(shape: str) -> None:
    values = SHAPES[shape](np.random.default_rng(10))
    found = coverage_like(values)
    assert found is not None
    # Both are simulations: standard errors of up to 0.025 and 0.016.
    assert found == pytest.approx(simulated(values), abs=0.08)


def test_coverage_of_the_sd_is_low_where_it_is_skewed() -> None:
    rng = np.random.default_rng(10)
    found, clean = coverage_like(SHAPES["lognormal"](rng)), coverage_like(rng.normal(100, 1, 50))
    assert found is not None
    assert clean is not None
    assert found[1] < clean[0]
    assert clean[0] > 0.9
    assert coverage_like(rng.normal(100, 1, 19)) is None


def test_a_mean_that_few_values_carry_has_no_interval() -> None:
    rng = np.random.default_rng(3)
    outliers = rng.normal(100, 1, 50)
    outliers[7] += 40
    for interval in mean_and_sd(outliers):
        assert (interval.low, interval.high) == (None, None)
        assert interval.refusal == message(
            "{few} of {n} values {% if few == 1 %}carries{% else %}carry{% endif %} the "
            "mean's error",
            few=1,
            n=50,
        )
    assert mean_and_sd(outliers)[0].estimate == outliers.mean()
    assert coverage_like(outliers) is None
    # Eight slow runs of a hundred are enough, however slow they are.
    enough = rng.normal(100, 1, 100)
    enough[:8] *= 10
    assert mean_and_sd(enough)[0].low is not None


def test_coverage_of_long_series_is_bounded_and_nominal() -> None:
    found = coverage_like(np.random.default_rng(11).normal(100, 1, 200_000))
    assert found is not None
    assert min(found) > 0.91
