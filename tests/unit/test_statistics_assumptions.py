"""Each assumption against its reference, and as a sentence that a reader can use."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from said import args, template, templates
from scipy import stats
from scipy.signal import lfilter
from statsmodels.sandbox.stats.runs import runstest_1samp
from statsmodels.stats.diagnostic import acorr_ljungbox, normal_ad
from statsmodels.stats.stattools import medcouple as medcouple_reference
from statsmodels.tsa.adfvalues import mackinnonp
from statsmodels.tsa.stattools import adfuller
from statsmodels.tsa.stattools import kpss as kpss_reference

from tare.render.words import sentence
from tare.results.message import Chosen, Deviation, Message, message
from tare.statistics import order as ordered
from tare.statistics.assumptions import assumptions
from tare.statistics.changes import changes
from tare.statistics.downsample import MOST, course_of
from tare.statistics.independence import independence, ljung_box, runs_p
from tare.statistics.modes import dip, modes, spread_ties
from tare.statistics.normality import anderson_darling, normality, shapiro_wilk
from tare.statistics.order import alternation, drift, memory, normal_scores, order_of, step
from tare.statistics.outliers import medcouple, outliers
from tare.statistics.stationarity import dickey_fuller, dickey_fuller_p, kpss, stationarity
from tare.statistics.warmup import warm_up

PARTS = ("normality", "independence", "stationarity", "modes", "outliers", "changes", "warmup")

#: Size of a standard normal sample, which is also its seed, to its dip as diptest 0.12 has it.
DIPS = {6: 0.08333333333333333, 20: 0.04805843604427482, 100: 0.028309356907856204,
        500: 0.011401673933530447}  # fmt: skip


def steady(n: int = 100, seed: int = 1) -> np.ndarray:
    return 100 + np.random.default_rng(seed).standard_normal(n)


@st.composite
def samples(draw: st.DrawFn) -> np.ndarray:
    """Draw values that are symmetric, skewed, tied, or large with small differences."""
    n = draw(st.integers(10, 101))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    values = draw(
        st.sampled_from(
            (
                rng.standard_normal(n),
                rng.lognormal(-14, 1.5, n),
                rng.integers(0, 5, n).astype(float),
                100 + rng.choice([0, 0.1], n),
                1e9 + rng.standard_normal(n).round(1),
                np.append(rng.standard_normal(n) * 1e-9, 1.0),
            )
        )
    )
    values[:2] = values.min(), values.max() + 1e-3 * abs(values).max()
    return np.asarray(values)


def remembering(n: int, rho: float, seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(n + 300)
    return 100 + np.asarray(lfilter([1], [1, -rho], noise)[300:])


def test_a_steady_normal_series_is_well_in_every_respect() -> None:
    found = assumptions(steady())
    assert found.n == 100
    assert not found.constant
    assert {part: getattr(found, part).ok for part in PARTS} == dict.fromkeys(PARTS, True)


#: A few words of each sentence of a part.
PHRASES = {
    "changes": [
        "shift can be",
        "no drift and",
        "drift by {size}, {% if beyond %}",
        "changes by {size}, {% if beyond %}",
    ],
    "independence": [
        ": whether trials",
        ": these are",
        "ones (dependence time",
        ": trials are",
        "ones a little",
        "period or copied",
    ],
    "modes": [": modes cannot", "(so few values", ": the program", "{at} ({share})"],
    "normality": ["a test of", "Rely on the", ": mean ±", "are not normally"],
    "outliers": ["of them an", "is no spread", "reach of the", "and look for"],
    "stationarity": [
        "no level can",
        ", KPSS",
        "and its end",
        "do not make",
        "a step or",
        "one can be",
    ],
    "warmup": [
        "to show a",
        "are like the",
        "or run them",
        "as long: a",
        "for heat, a",
        "near the end.",
        "until the end.",
    ],
}


@pytest.mark.parametrize(
    "values",
    [[], [1.0], [1.0, 2.0], [2.0] * 5, [2.0] * 40, list(range(6)), [0.0] * 20 + [1.0]],
    ids=["none", "one", "two", "five equal", "equal", "six", "one differs"],
)
def test_every_part_says_something_of_every_series(values: list[float]) -> None:
    found = assumptions(np.array(values, dtype=float))
    for part in PARTS:
        said = getattr(found, part).sentence
        assert template(said) in PHRASES[part]
        assert sentence(said)


def test_equal_values_are_told_apart_from_steady_ones() -> None:
    found = assumptions(np.full(30, 2.0))
    assert found.constant
    assert found.normality.ok is None
    assert found.normality.sentence == message(
        "all values are equal: the clock may be coarser than the spread. Rely on the median"
    )


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-9, 1e9), st.integers(6, 60))
def test_the_unit_of_the_values_does_not_matter(seed: int, scale: float, n: int) -> None:
    x = np.random.default_rng(seed).lognormal(0, 0.5, n)
    one, other = assumptions(x), assumptions(x * scale)
    for part in PARTS:
        assert getattr(one, part).ok == getattr(other, part).ok


def test_figures_are_plain_numbers() -> None:
    plain = dataclasses.asdict(assumptions(remembering(200, 0.8)))
    for part in PARTS:
        for figure in plain[part].values():
            assert type(figure) in (float, int, bool, str, tuple, Message, type(None)), (
                part,
                figure,
            )


# Normality


def test_normality_is_scipys() -> None:
    x = np.random.default_rng(1).lognormal(0, 0.3, 80)
    found = normality(x)
    expected = stats.shapiro(x)
    assert found.shapiro == pytest.approx(expected.statistic)
    assert found.shapiro_p == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.skew == pytest.approx(stats.skew(x))
    assert found.ok is False
    assert args(found.sentence, "are not normally")["tail"] == "high"


def test_anderson_has_the_published_critical_value() -> None:
    """Stephens 1974: 0.752 / (1 + 0.75/n + 2.25/n²) is exceeded in 5 %."""
    rng, n = np.random.default_rng(2), 50
    found = [normality(rng.standard_normal(n)) for _ in range(200)]
    critical = 0.752 / (1 + 0.75 / n + 2.25 / n**2)
    assert all(f.anderson is not None and f.anderson_p is not None for f in found)
    assert 0 < sum(f.anderson > critical for f in found) < 20
    for f in found:
        if abs(f.anderson - critical) > 0.01:
            assert (f.anderson > critical) == (f.anderson_p < 0.05)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@given(samples())
def test_anderson_darling_is_statsmodels(x: np.ndarray) -> None:
    assert anderson_darling(x) == pytest.approx(normal_ad(x), rel=1e-10, abs=1e-10)


def test_anderson_darling_of_a_value_beyond_floats_is_infinite() -> None:
    x = np.append(-1.0, np.random.default_rng(1).standard_normal(3000) * 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert anderson_darling(x) == (np.inf, 0.0)


@pytest.mark.parametrize("n", [8, 11, 12, 60, 5000])
@pytest.mark.parametrize("shape", ["normal", "exponential", "ties"])
def test_shapiro_is_that_of_scipy(n: int, shape: str) -> None:
    rng = np.random.default_rng(n)
    values = {
        "normal": rng.normal(size=n),
        "exponential": rng.exponential(size=n),
        "ties": np.r_[1.0, np.zeros(n - 1)] + rng.integers(2, size=n),
    }[shape]
    expected = stats.shapiro(values)
    assert shapiro_wilk(values) == pytest.approx(
        (expected.statistic, expected.pvalue), rel=1e-6, abs=1e-300
    )


def test_long_series_are_sampled_for_shapiro() -> None:
    found = normality(steady(20_000))
    assert found.used <= 5000
    assert found.ok


# Independence


def test_ljung_box_and_runs_are_statsmodels() -> None:
    x = remembering(60, 0.3)
    q, p = ljung_box(x, 10)
    expected = acorr_ljungbox(x, [10])
    assert q == pytest.approx(expected["lb_stat"].iloc[0])
    assert p == pytest.approx(expected["lb_pvalue"].iloc[0])
    # statsmodels corrects for continuity below 50 values only
    assert runs_p(x[:40]) == pytest.approx(runstest_1samp(x[:40], "median")[1])


def test_memory_is_found_with_its_cost() -> None:
    found = independence(remembering(1000, 0.8))
    assert found.ok is False
    assert found.tau == pytest.approx(9, rel=0.4)
    assert found.effective == pytest.approx(1000 / found.tau)
    assert found.lags == 10
    assert found.ljung_box_p < 1e-6
    assert found.runs_p < 1e-6
    said = args(found.sentence, "ones (dependence time")
    assert said["effective"] == pytest.approx(1000 / found.tau, abs=0.5)
    assert said["times"] == pytest.approx(np.sqrt(found.tau))


def test_a_step_is_not_called_memory() -> None:
    found = assumptions(steady(200) + 5 * (np.arange(200) >= 100))
    assert found.independence.ok
    assert found.changes.points == (100,)


@pytest.mark.parametrize(
    ("values", "kind", "period"),
    [
        (remembering(100, -0.8), "alternation", None),
        (np.tile([1.0, 2.0], 50) + 0.01 * steady(), "period", 2),
        (steady() + 20 * (np.arange(100) % 5 == 3), "period", 5),
        (
            steady() + 5 * np.sin(2 * np.pi * np.arange(100) / 3.3),
            "period",
            pytest.approx(3.3, 0.02),
        ),
    ],
)
def test_dependence_that_is_no_positive_autocorrelation_is_found(
    values: np.ndarray, kind: str, period: float | None
) -> None:
    found = independence(values)
    assert (found.ok, found.kind, found.period) == (False, kind, period)
    assert found.ljung_box_p < 1e-6
    kinds = {"alternation": "high and low", "period": "trials, which explains"}
    assert templates(found.sentence) == [": trials are", kinds[kind]]


def test_a_copy_is_no_independent_trial() -> None:
    found = independence(np.tile(steady(30), 3))
    assert found.ok is False
    assert found.copy is not None
    assert (found.copy.length, found.copy.first, found.copy.second) == (30, 0, 60)
    assert template(found.sentence) == ": these are"
    copy = {"first": 1, "first_end": 30, "second": 61, "second_end": 90}
    assert args(found.sentence, "the values of") == copy


@pytest.mark.parametrize("shape", [lambda x: x, np.round, np.sign])
def test_each_counts_as_one_where_nothing_is_shown(
    shape: Callable[[np.ndarray], np.ndarray],
) -> None:
    found = independence(shape(steady(200) - 100))
    assert (found.ok, found.kind, found.copy) == (True, None, None)
    assert found.sentence == message(
        "no autocorrelation, period or copied stretch is shown{% if few %}, though so few "
        "would show only a strong one{% endif %}: each trial counts as one of {n}",
        few=False,
        n=200,
    )


def test_a_spread_that_changes_is_found_and_placed() -> None:
    values = 100 + (steady() - 100) * np.where(np.arange(100) < 50, 1, 20)
    order = order_of(values)
    assert order is not None
    assert order.kind == "spread"
    assert order.spread.at == pytest.approx(50, abs=5)
    assert order.spread.ratio == pytest.approx(20, rel=0.5)


def test_long_series_show_short_periods_and_late_spread() -> None:
    x = steady(60_000)
    recurring = order_of(x + 10 * (np.arange(60_000) % 10 == 0))
    assert recurring is not None
    assert (recurring.kind, recurring.period.period) == ("period", 10)
    spreading = order_of(100 + (x - 100) * np.where(np.arange(60_000) < 50_000, 1, 5))
    assert spreading is not None
    assert spreading.kind == "spread"


def test_periods_beside_a_drift_are_seen() -> None:
    x = steady(60_000) + np.linspace(0, 50, 60_000) + 10 * (np.arange(60_000) % 10 == 0)
    found = assumptions(x)
    assert found.changes.drift is not None or found.changes.points
    assert found.independence.kind == "period"


# Stationarity


@pytest.mark.parametrize("n", [12, 30, 300])
def test_dickey_fuller_is_statsmodels(n: int) -> None:
    x = np.random.default_rng(n).standard_normal(n).cumsum()
    x = (x - x.mean()) / x.std()
    lags = int((n - 1) ** (1 / 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of the form that it returns
        expected = adfuller(x, maxlag=lags, autolag=None)
    assert dickey_fuller(x, lags) == pytest.approx(float(expected[0]), rel=1e-6)


def test_dickey_fuller_p_is_statsmodels() -> None:
    for statistic in (-30, *np.linspace(-19, 4, 400), -18.83, -1.61, 2.74):
        assert dickey_fuller_p(statistic) == pytest.approx(mackinnonp(statistic), abs=1e-12)


@given(samples(), st.integers(0, 9))
def test_kpss_is_statsmodels(x: np.ndarray, lags: int) -> None:
    x = (x - x.mean()) / x.std()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # p is clipped; the form of the result will change
        expected = kpss_reference(x, nlags=lags)[:2]
    assert kpss(x, lags) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_both_tests_make_one_verdict() -> None:
    assert stationarity(steady(200)).verdict == "stationary"
    assert stationarity(np.random.default_rng(1).standard_normal(500).cumsum()).ok is False
    assert stationarity(steady(15)).ok is None or stationarity(steady(15)).ok
    stepping = stationarity(steady(1000) + 1.5 * (np.arange(1000) >= 500))
    assert stepping.verdict in ("contradictory", "not stationary")
    assert stepping.clipped
    assert args(stepping.sentence, ", KPSS")["kpss"] == "p ≤ 0.01"


# Modes


def test_the_dip_is_that_of_the_reference_implementation() -> None:
    for n, expected in DIPS.items():
        x = np.random.default_rng(n).standard_normal(n)
        assert dip(np.sort(x)) == pytest.approx(expected, abs=1e-12)
    x = np.random.default_rng(1).standard_normal(60)
    x[:25] += 5
    assert dip(np.sort(x)) == pytest.approx(0.10723012540610698, abs=1e-12)
    assert dip(np.arange(40.0)) == pytest.approx(1 / 80)


@given(st.lists(st.floats(-100, 100), min_size=12, max_size=60, unique=True))
def test_the_dip_of_the_mirror_image_is_the_same(values: list[float]) -> None:
    x = np.sort(np.array(values))
    if np.diff(x).min() < 1e-6:
        return
    assert dip(x) == pytest.approx(dip(np.sort(-x)), abs=1e-9)


def test_modes_are_found_where_they_are() -> None:
    rng = np.random.default_rng(1)
    x = np.where(rng.random(200) < 0.4, 110.0, 100.0) + rng.standard_normal(200)
    found = modes(x)
    assert found.ok is False
    assert [m.at for m in found.modes] == [pytest.approx(100, abs=1), pytest.approx(110, abs=1)]
    assert [m.share for m in found.modes] == [
        pytest.approx(0.6, abs=0.08),
        pytest.approx(0.4, abs=0.08),
    ]
    three = modes(np.choose(rng.integers(0, 3, 300), [0, 8, 16]) + rng.standard_normal(300))
    assert len(three.modes) == 3


@pytest.mark.parametrize(
    ("n", "replicates"),
    [(20, 200), (100, 200), (1000, 60), pytest.param(1000, 200, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("draw", ["normal", "lognormal", "t3", "rounded", "counts"])
def test_one_mode_is_not_called_two(draw: str, n: int, replicates: int) -> None:
    """With 60 replicates, an error rate of 20 % fails in 93 % of seeds."""
    rng = np.random.default_rng(3)
    draws = {
        "normal": lambda: rng.standard_normal(n),
        "lognormal": lambda: rng.lognormal(0, 0.5, n),
        "t3": lambda: rng.standard_t(3, n),
        "rounded": lambda: np.round(2 * rng.standard_normal(n)) / 2,
        "counts": lambda: rng.poisson(3, n).astype(float),
    }
    alarms = sum(modes(draws[draw]()).ok is False for _ in range(replicates))
    assert alarms <= stats.binom.ppf(0.99, replicates, 0.05)


def test_ties_are_spread_within_one_tick() -> None:
    spread = spread_ties(np.array([1.0, 1, 1, 2, 2, 4]))
    assert np.all(np.diff(spread) > 0)
    assert np.abs(spread - [1, 1, 1, 2, 2, 4]).max() <= 0.5


# Outliers


def test_outliers_are_counted_and_weighed() -> None:
    x = steady(100)
    x[[3, 50]] = 200
    found = outliers(x)
    assert (found.below, found.above) == (0, 2)
    rest = np.delete(x, [3, 50]).mean()
    assert found.effect == pytest.approx(x.mean() / rest - 1)
    assert found.ok is False
    assert outliers(x, precision=0.05).ok


@given(samples())
def test_medcouple_is_statsmodels(x: np.ndarray) -> None:
    expected = float(medcouple_reference(x))
    assert medcouple(x) == pytest.approx(expected, abs=1e-10)
    assert medcouple(-x) == pytest.approx(-expected, abs=1e-10)


@pytest.mark.parametrize("many", [6, 10, 11])
def test_medcouple_where_the_median_is_an_extreme(many: int) -> None:
    x = np.append(np.arange(5.0), [9.0] * many)
    assert medcouple(x) == -1 == float(medcouple_reference(x))
    assert medcouple(-x) == 1 == float(medcouple_reference(-x))


def test_a_long_tail_is_no_outlier() -> None:
    rng = np.random.default_rng(4)
    assert sum(outliers(rng.lognormal(0, 0.4, 200)).above for _ in range(50)) < 10


# Changes and warm-up


def test_a_drift_and_a_step_are_told_apart() -> None:
    drifting = changes(steady(200) + np.linspace(0, 8, 200))
    assert drifting.drift == pytest.approx(0.08 / 1.04, abs=0.01)
    assert drifting.points == ()
    stepping = changes(steady(200) + 5 * (np.arange(200) >= 120))
    assert stepping.drift is None
    assert stepping.points == (120,)
    assert stepping.at == 120
    assert stepping.largest == pytest.approx(0.05, abs=0.005)
    said = args(stepping.sentence, "changes by {size}")
    assert (said["trial"], said["beyond"]) == (121, True)
    assert said["size"] == Deviation(stepping.largest, "share")


@pytest.mark.parametrize("change", [8, -8])
def test_a_drift_is_said_up_and_down(change: float) -> None:
    found = changes(steady(200) + np.linspace(0, change, 200))
    said = args(found.sentence, "drift by {size}, {% if beyond %}")
    assert (said["target"], said["beyond"]) == (Chosen(0.01), True)
    assert said["size"] == Deviation(found.drift, "share")
    assert found.drift == pytest.approx(change / 100, abs=0.01)


def test_sizes_are_beside_the_target() -> None:
    x = 100 + 0.1 * (steady(100) - 100) + 0.5 * (np.arange(100) >= 50)
    assert changes(x, precision=0.01).ok
    assert changes(x, precision=0.002).ok is False


@pytest.mark.parametrize(("n", "slow"), [(20, 2), (40, 4), (100, 10)])
def test_short_warm_ups_are_found(n: int, slow: int) -> None:
    rng, found = np.random.default_rng(5), 0
    for _ in range(100):
        x = 100 + rng.standard_normal(n) + 5 * (np.arange(n) < slow)
        found += warm_up(x).shape == "warm-up"
    assert found >= 80


def test_a_single_slow_start_is_a_warm_up() -> None:
    x = steady(30)
    x[0] = 150
    found = warm_up(x)
    assert found.shape == "warm-up"
    assert found.steady_from == 1
    assert found.sentence == message(
        "warm-up: the first {% if n == 1 %}trial is{% else %}{n} trials are{% endif %} "
        "slower than those that follow. Leave as many out, or run them unmeasured "
        "(--warmup)",
        n=1,
    )
    x[[0, 7]] = x[[7, 0]]
    assert warm_up(x).shape == "flat"


@pytest.mark.parametrize("times", [0.5, 3.0])
def test_a_drift_of_positive_values_is_a_ratio_of_last_to_first(times: float) -> None:
    noise = np.exp(0.2 * (steady(200) - 100))
    found = changes(times ** np.linspace(0, 1, 200) * noise)
    assert found.drift == pytest.approx(times - 1, rel=0.1)


def test_positive_values_never_fall_by_more_than_all_of_them() -> None:
    noise = 1 + 0.1 * (steady(200) - 100)
    found = changes(np.linspace(100, 0.5, 200) * noise)
    assert found.drift is not None
    assert -1 < found.drift < -0.9


def test_a_drift_has_no_steady_state() -> None:
    found = warm_up(steady(100) + np.linspace(0, 10, 100))
    assert found.shape == "no steady state"
    assert found.ok is False


# Order and course


def test_order_does_not_see_the_distribution() -> None:
    x = steady(50)
    one, other = order_of(x), order_of(np.exp(x - 100))
    assert one is not None
    assert other is not None
    assert (one.memory, one.step, one.drift) == (other.memory, other.step, other.drift)


@pytest.mark.parametrize("replicates", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_shuffled_series_show_order_in_less_than_five_per_cent(n: int, replicates: int) -> None:
    rng = np.random.default_rng(6)
    found = [order_of(rng.standard_normal(n)) for _ in range(replicates)]
    alarms = sum(
        o is not None and (o.moves or o.alternates or o.recurs or o.spreads) for o in found
    )
    assert alarms <= stats.binom.ppf(0.99, replicates, 0.05)
    assert alarms > 0


@pytest.mark.parametrize("statistic", [memory, alternation, step, drift])
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_shuffled_series_exceed_each_threshold_in_its_share(
    n: int, statistic: Callable[[np.ndarray], float]
) -> None:
    """All of them have 5 %, so that a wrong threshold hides among the others."""
    rng, replicates = np.random.default_rng(1), 1000
    name = statistic.__name__
    scores, limit = normal_scores(np.arange(float(n))), ordered._limit(name, n)
    found = sum(statistic(rng.permutation(scores)) > limit for _ in range(replicates))
    # Shares are rounded, and of few values some have more.
    share = ordered._LEVELS[name]
    least, most = stats.binom.ppf([0.001, 0.999], replicates, [share / 3, 1.5 * share])
    assert least <= found <= most


@pytest.mark.parametrize("n", [30, 9000, 21_000])
@pytest.mark.parametrize("decimals", [1, 12])
def test_the_order_of_a_sorted_series_is_that_of_the_series(n: int, decimals: int) -> None:
    x = steady(n).round(decimals) + (np.arange(n) > n / 2)
    found, known = order_of(x), order_of(x, np.argsort(x))
    assert found is not None
    assert known is not None
    for field in dataclasses.fields(found):
        if field.name != "course":
            assert getattr(known, field.name) == getattr(found, field.name)
    for values in ("values", "stretch", "spaced"):
        one = getattr(known.course, values)
        assert np.array_equal(one, getattr(found.course, values))
        sorter = getattr(known.course, "sorter" if values == "values" else f"{values}_sorter")
        assert np.array_equal(one[sorter], np.sort(one))


def test_long_series_are_condensed_in_one_reading() -> None:
    x = steady(100_000)
    x[7] = 1e9
    course = course_of(x)
    assert course.block == 25
    assert len(course.values) == 4000
    assert course.values.max() < 105
    assert course_of(x[:MOST]).block == 1


def test_memory_of_long_series_is_as_that_of_short_ones() -> None:
    order = order_of(remembering(100_000, 0.8))
    assert order is not None
    assert order.remembers
    assert order.tau == pytest.approx(9, rel=0.25)
    clean = order_of(steady(100_000))
    assert clean is not None
    assert clean.tau < 1.2


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e200])
def test_very_small_and_very_large_values_are_values(size: float) -> None:
    values = np.random.default_rng(1).normal(1, 0.05, 60)
    assert assumptions(size * values, 0.01).stationarity.verdict == (
        assumptions(values, 0.01).stationarity.verdict
    )


def test_modes_of_equal_huge_values_do_not_overflow() -> None:
    values = np.concatenate([np.full(30, 1e40), 1e39 * np.arange(1.0, 31)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = modes(values)
    assert sum(mode.share for mode in found.modes) == pytest.approx(1)
