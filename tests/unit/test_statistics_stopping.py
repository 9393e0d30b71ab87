"""The stopping rule: it stops where it should, not before, and says what it reached."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from said import args, templates
from scipy import stats
from scipy.signal import lfilter

from tare.results.message import Deviation, message
from tare.statistics.dependence import dependence_times
from tare.statistics.interim_analysis import Target, early_size, look, next_look
from tare.statistics.series_intervals import interval_at_stop, series_interval
from tare.statistics.stopping import (
    FIRST_LOOK,
    Decision,
    decide,
    decide_cell,
    first_look,
    looks,
    spread_target,
    together,
)


def autoregressive(rng: np.random.Generator, rho: float, n: int, cv: float) -> np.ndarray:
    noise = rng.standard_normal(n + 300) * np.sqrt(1 - rho**2)
    return 1 + cv * lfilter([1], [1, -rho], noise)[300:]


def stopping_size(values: np.ndarray, precision: float, spread: float | None = None) -> int:
    return list(looks(values, Target(precision, spread=spread)))[-1][0]


def test_never_stops_before_fifty_independent_trials() -> None:
    values = np.random.default_rng(1).normal(100, 0.001, 200)
    assert not decide_cell(values[: FIRST_LOOK - 1], Target(0.02)).stop
    assert FIRST_LOOK < stopping_size(values, 0.02) < 100


def test_asking_after_every_trial_is_asking_at_the_looks() -> None:
    values = np.random.default_rng(2).normal(100, 5, 800)
    end = stopping_size(values, 0.01)
    stops = [decide_cell(values[:n], Target(0.01)).stop for n in range(1, end + 30)]
    assert stops.index(True) + 1 == end
    assert all(stops[end - 1 :])


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    """Load the benchmark that applies the rule to many series at a time."""
    path = Path(__file__).parents[2] / "benchmarks/coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


EARLY_TARGET = Target(0.02, early=True)


def early_stop(values: np.ndarray, target: Target = EARLY_TARGET) -> int | None:
    """Return the size at which the whole rule first stops with the target reached early."""
    for n in range(1, min(len(values), FIRST_LOOK - 1) + 1):
        if decide_cell(values[:n], target).stop:
            return n
    return None


def test_narrow_series_stop_early_on_the_interval_that_is_reported() -> None:
    values = np.random.default_rng(40).normal(100, 0.2, 60)
    assert early_stop(values) == 10
    found = interval_at_stop(values[:10], early=0.02)
    assert (found.early, found.n, found.confidence) == (True, 10, 0.95)
    first = np.sort(values[:10])
    # Hazen's percentiles of ten values lie between two of them.
    p10, p90 = first[:2].mean(), first[-2:].mean()
    assert found.low == pytest.approx(np.median(first) - 3.1 * (p90 - p10), rel=1e-6)
    assert found.high == pytest.approx(np.median(first) + 3.1 * (p90 - p10), rel=1e-6)
    decision = decide_cell(values[:10], EARLY_TARGET)
    assert (decision.reason, decision.reached) == ("target", found.half_width)


def test_the_early_interval_of_more_trials_is_narrower_until_there_are_fifty() -> None:
    values = np.random.default_rng(41).normal(100, 0.2, 80)
    widths = [interval_at_stop(values[:n], early=0.02).half_width or 1 for n in (10, 20, 44)]
    assert widths == sorted(widths, reverse=True)
    assert not interval_at_stop(values, early=0.02).early
    assert not interval_at_stop(values[:10]).early
    assert not interval_at_stop(values[:10], early=0.02, fixed=True).early
    # Where so many trials have no interval of their own, the early one is left.
    dependent = np.concatenate([values[:10], 100 + np.cumsum(np.full(60, 0.05))])
    assert interval_at_stop(dependent).low is None
    assert interval_at_stop(dependent, early=0.02).early


@pytest.mark.parametrize(
    "target",
    [
        Target(0.02),
        Target(0.02, early=True, anytime=True),
        Target(0.02, early=True, quantile=0.9),
        Target(0.02, early=True, spread=0.2),
        Target(0.001, early=True),
    ],
)
def test_what_asks_for_more_than_a_median_does_not_stop_early(target: Target) -> None:
    assert early_stop(np.random.default_rng(40).normal(100, 0.2, 60), target) is None


def test_early_intervals_that_hold_together_are_wider() -> None:
    values = np.random.default_rng(42).normal(100, 0.3, 60)
    sizes = [early_stop(values, Target(0.02, early=True, family=m)) for m in (1, 4)]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert sizes[0] < sizes[1]


def test_a_coarse_clock_keeps_a_series_from_stopping_early() -> None:
    equal = np.full(40, 100.0)
    assert early_stop(equal) is None
    assert early_stop(equal, Target(0.02, early=True, tick=0.001)) == 10
    # 3.1 ranges, known to one tick, and the ends of the interval.
    assert early_stop(equal, Target(0.02, early=True, tick=0.48)) == 10
    assert early_stop(equal, Target(0.02, early=True, tick=0.5)) == 12
    found = interval_at_stop(equal[:10], early=0.02, tick=0.48)
    assert found.high == pytest.approx(100 + 3.1 * 0.48 + 0.48)


def test_one_slow_trial_delays_an_early_stop_and_does_not_prevent_it() -> None:
    values = np.random.default_rng(43).normal(100, 0.2, 60)
    values[0] = 130
    assert early_stop(values) == 15


def test_a_jump_of_more_than_half_the_target_is_no_early_stop() -> None:
    steady = np.random.default_rng(44).normal(100, 0.02, 60)
    later = np.arange(60) >= 6
    # 1.4 ranges of 1.2 % lie within the target at 31 trials.
    assert early_stop(steady + 1.2 * later) is None
    assert early_stop(steady + 0.8 * later) == 15


def test_strongly_autocorrelated_trials_that_stop_early_are_covered(coverage: ModuleType) -> None:
    for cv in (0.001, 0.003, 0.005):
        size, covered, wrong = coverage.early("AR .95", cv, 2000)
        assert (size > 0).mean() > 0.99
        assert covered.mean() > 0.96
        assert wrong.mean() < 0.01
    size, covered, wrong = coverage.early("AR .9", 0.012, 2000)
    some = size > 0
    assert 0.15 < some.mean() < 0.35
    assert covered[some].mean() > stats.binom.ppf(0.01, some.sum(), 0.94) / some.sum()


def test_average_n_is_the_published_one() -> None:
    # Simulated by the authors of the rule: 340 for a CoV of 5 % at 1 %, 78 for 2 % at 1 %.
    rng = np.random.default_rng(3)
    five = np.mean([stopping_size(rng.normal(1, 0.05, 2000), 0.01) for _ in range(60)])
    two = np.mean([stopping_size(rng.normal(1, 0.02, 2000), 0.01) for _ in range(60)])
    assert five == pytest.approx(340, rel=0.1)
    assert two == pytest.approx(78, rel=0.1)


def test_series_that_remember_take_longer_and_still_cover() -> None:
    rng = np.random.default_rng(4)
    sizes, covered = [], 0
    for _ in range(60):
        values = autoregressive(rng, 0.8, 5000, 0.02)
        n = stopping_size(values, 0.01)
        sizes.append(n)
        middle = float(np.median(values[:n]))
        covered += abs(middle - 1) <= 0.01 * middle
    assert np.mean(sizes) > 3 * 78
    assert covered >= stats.binom.ppf(0.01, 60, 0.95)


def test_gives_up_at_the_cap() -> None:
    values = np.cumsum(np.random.default_rng(5).standard_normal(400)) + 1000
    decision = decide_cell(values, Target(1e-6, cap=300))
    assert (decision.stop, decision.reason) == (True, "cap")


def test_says_how_much_is_missing() -> None:
    values = np.random.default_rng(6).normal(100, 5, 120)
    decision = decide_cell(values, Target(0.005))
    assert not decision.stop
    assert decision.reached is not None
    assert decision.more_trials is not None
    # Widths shrink with the root of n.
    expected = 120 * (decision.reached / 0.005) ** 2 - 120
    assert decision.more_trials == pytest.approx(expected, rel=0.6)


def test_few_trials_reach_nothing_and_are_told_so() -> None:
    assert series_interval(np.arange(1.0, 6.0)).half_width is None
    of_all = series_interval(np.linspace(99, 101, 7), tick=0.0)  # ranks 1, 7
    assert of_all.half_width == pytest.approx(0.01)
    decision = decide_cell(np.arange(1.0, 6.0), Target(0.02))
    assert (decision.stop, decision.reached, decision.more_trials) == (False, None, 45)
    assert decide_cell(np.array([]), Target(0.02)).more_trials == FIRST_LOOK


def test_a_series_has_the_order_statistic_interval_where_nothing_is_remembered() -> None:
    values = np.random.default_rng(7).normal(100, 5, 1000)
    ordered = np.sort(values)
    low, high = ordered[468], ordered[531]  # ranks 469 and 532 of 1000
    expected = max(high - np.median(values), np.median(values) - low) / np.median(values)
    assert series_interval(values).half_width == pytest.approx(expected, rel=0.1)


def test_a_fixed_n_that_reached_its_target_needs_no_more() -> None:
    values = np.random.default_rng(10).normal(100, 0.5, 20)
    decision = decide_cell(values, Target(0.02))
    assert decision.reached is not None
    assert decision.reached < 0.02
    assert decision.more_trials is None
    strict = decide_cell(values, Target(0.001))
    expected = 20 * ((strict.reached or 0) / 0.001) ** 2 - 20
    assert strict.more_trials == pytest.approx(expected, abs=1)
    about_spread = decide_cell(values, Target(0.02, spread=spread_target(0.5)))
    assert about_spread.more_trials is not None


def test_stability_needs_the_spread_known_too() -> None:
    values = np.random.default_rng(8).normal(100, 0.5, 2000)
    target = spread_target(0.5)
    alone, both = stopping_size(values, 0.02), stopping_size(values, 0.02, target)
    assert alone < 100 <= both < 200


def test_equal_values_are_enough_where_the_tick_is_known() -> None:
    decision = decide_cell(np.full(80, 3.0), Target(0.02, spread=spread_target(0.5), tick=0.003))
    assert (decision.stop, decision.reason) == (True, "target")
    assert decision.reached == pytest.approx(0.001)
    unknown = decide_cell(np.full(80, 3.0), Target(0.02, spread=spread_target(0.5)))
    assert (unknown.stop, unknown.reason, unknown.why) == (True, "refused", "coarse")
    assert unknown.reached is None


def test_a_tick_that_is_coarser_than_the_target_ends_it() -> None:
    values = np.round(np.random.default_rng(1).normal(10, 0.5, 400))
    decision = decide_cell(values, Target(0.02))
    assert (decision.stop, decision.reason, decision.why) == (True, "refused", "coarse")
    share = args(decision.refusal, "time more work")["share"]
    assert share.value == pytest.approx(0.1)
    assert decide_cell(values, Target(0.2)).reason == "target"


def test_every_cell_is_decided_by_itself() -> None:
    rng = np.random.default_rng(9)
    values = {0: rng.normal(100, 0.1, 100), 1: rng.normal(100, 30, 100)}
    given = {c: list(enumerate(v)) for c, v in values.items()}
    decisions = decide(given, Target(0.02))
    assert decisions[0].stop
    assert not decisions[1].stop


@pytest.mark.parametrize(
    "target",
    [
        Target(0.01),
        Target(0.01, 0.9),
        Target(0.02, 0.99, cap=1500),
        Target(0.01, anytime=True),
        Target(0.01, family=3),
        Target(0.0001, cap=300),
        Target(0.04, early=True),
    ],
)
def test_the_benchmark_measures_what_decides(coverage: ModuleType, target: Target) -> None:
    rng = np.random.default_rng(20)
    rows = np.concatenate([
        1 + 0.02 * rng.standard_normal((6, 1500)),
        [autoregressive(rng, 0.8, 1500, 0.01) for _ in range(6)],
        1 + 0.01 * rng.standard_normal((4, 1500)) + np.linspace(0, 0.1, 1500),
    ])  # fmt: skip
    target = Target(**{**vars(target), "cap": min(target.cap, 1500)})
    ends = coverage.stop(rows, target)
    for row, size, reached in zip(rows, ends.size, ends.reached, strict=True):
        if (early := early_size(row, target)) is not None:
            assert (early, True) == (size, reached)
        else:
            alone = list(looks(row, target))[-1]
            assert (alone[0], alone[1].tight) == (size, reached)
        assert decide_cell(row[: size - 1], target).stop is False
        decision = decide_cell(row, target)
        assert (decision.stop, decision.reason == "target") == (True, reached)


def test_looks_have_sizes_in_common_and_go_on_by_a_tenth_to_double() -> None:
    for size in (50, 58, 200, 1000, 4000):
        for projected in (0, size + 1, 1.5 * size, 1e9):
            after = next_look(size, int(projected), Target(0.01))
            assert min(5000, 1.1 * size) <= after <= min(5000, 2 * size * 1.04)
    assert next_look(4990, 6000, Target(0.01)) == 5000
    assert next_look(50, 400, Target(0.01, anytime=True)) == 51


def test_tails_are_looked_at_where_ten_trials_lie_beyond() -> None:
    assert [first_look(q) for q in (0.5, 0.8, 0.9, 0.95, 0.99, 0.01)] == [
        50, 50, 100, 200, 1000, 1000,
    ]  # fmt: skip
    values = np.random.default_rng(21).normal(100, 1, 400)
    assert not decide_cell(values[:199], Target(0.05, quantile=0.95)).stop
    decision = decide_cell(values, Target(0.05, quantile=0.95))
    assert (decision.stop, decision.reason) == (True, "target")
    assert decide_cell(values[:100], Target(0.05, quantile=0.95)).more_trials is not None


def test_a_tail_out_of_reach_is_refused_in_words() -> None:
    values = np.random.default_rng(22).pareto(1.0, 1200) + 1
    decision = decide_cell(values, Target(0.01, cap=1200, quantile=0.99))
    assert (decision.stop, decision.reason, decision.why) == (True, "cap", "wide")
    assert args(decision.refusal, "more than any")["trials"] > 1200


@pytest.mark.parametrize("change", [-0.03, 0.03])
def test_no_target_is_reached_on_a_series_that_drifts(change: float) -> None:
    rng = np.random.default_rng(23)
    for _ in range(20):
        values = (1 + np.linspace(0, change, 200)) * rng.normal(1, 0.003, 200)
        decision = decide_cell(values, Target(0.01))
        assert not decision.stop
        assert decision.why in ("drifts", "jumps")
        at_the_cap = decide_cell(values, Target(0.01, cap=200))
        assert (at_the_cap.stop, at_the_cap.reason) == (True, "cap")
        assert templates(at_the_cap.refusal)[0] in ("; warm up", "; find out")
    assert args(decision.refusal, "; warm up")["size"].value * change > 0


def test_no_target_is_reached_on_a_series_that_jumps() -> None:
    rng = np.random.default_rng(24)
    for _ in range(20):
        values = rng.normal(1, 0.005, 150) + np.where(np.arange(150) < 40, 0.03, 0)
        decision = decide_cell(values, Target(0.01))
        assert not decision.stop
        assert decision.why == "jumps"
        assert args(decision.refusal, "; find out")["trial"] == pytest.approx(40, abs=5)


def test_few_trials_that_drift_are_told_too() -> None:
    values = np.linspace(1, 1.1, 30) + np.random.default_rng(25).normal(0, 0.002, 30)
    assert decide_cell(values, Target(0.02)).why == "drifts"
    assert decide_cell(values[:19], Target(0.02)).why is None


def test_a_small_drift_of_no_consequence_is_let_pass() -> None:
    values = np.random.default_rng(26).normal(1, 0.003, 200) + np.linspace(0, 0.002, 200)
    assert decide_cell(values, Target(0.02)).reason == "target"


def test_a_series_that_remembers_too_much_is_refused() -> None:
    rng = np.random.default_rng(27)
    for _ in range(5):
        decision = decide_cell(autoregressive(rng, 0.98, 5000, 0.02), Target(0.01))
        assert decision.stop
        assert decision.reason in ("cap", "refused")
        assert decision.why in ("remembers", "drifts", "jumps")
        why = "dependent" if decision.why == "remembers" else decision.why
        assert templates(decision.refusal) == [
            {
                "above": "limit; give a",
                "coarse": "time more work",
                "dependent": (
                    "trials are autocorrelated: {n} count as about {effective} independent ones"
                ),
                "drifts": "; warm up",
                "jumps": "; find out",
                "ordered": ") and not",
                "wide": "more than any",
            }[why]
        ]


def test_anytime_stops_exchangeable_trials_and_refuses_others() -> None:
    rng = np.random.default_rng(28)
    decision = decide_cell(rng.normal(1, 0.02, 400), Target(0.01, anytime=True))
    assert (decision.stop, decision.reason) == (True, "target")
    assert decision.reached is not None
    remembering = decide_cell(autoregressive(rng, 0.7, 400, 0.02), Target(0.01, anytime=True))
    assert (remembering.stop, remembering.reason, remembering.why) == (True, "refused", "ordered")
    assert args(remembering.refusal, ") and not")["tau"] > 1


def test_anytime_takes_longer_than_few_looks(coverage: ModuleType) -> None:
    rows = np.random.default_rng(29).normal(1, 0.05, (30, 3000))
    sizes = coverage.stop(rows, Target(0.01, anytime=True, cap=3000)).size
    # By its authors' simulation 437; theirs looked on every trial, with another prior.
    assert 340 < np.mean(sizes) < 600


def test_several_metrics_stop_where_all_do() -> None:
    done = Decision(True, "target", 0.01)
    drifts = message(
        "this series drifts: {size} over {trials | counted('trial')}; warm up or rest longer",
        size=Deviation(0.05, "share"),
        trials=9,
    )
    going = Decision(False, None, 0.03, 120, "drifts", drifts)
    capped = Decision(
        True,
        "cap",
        0.05,
        None,
        "wide",
        message(
            "≈ {trials | counted('trial')} would reach the target, more than any series gets: "
            "relax it",
            trials=20_000,
        ),
    )
    assert together({"wall_ns": done}) is done
    both = together({"wall_ns": done, "cpu_ns": going})
    assert (both.stop, both.reason, both.reached, both.more_trials) == (False, None, 0.03, 120)
    assert both.why == "drifts"
    assert args(both.refusal, "{metric}: {why}") == {"metric": "cpu_ns", "why": drifts}
    assert together({"wall_ns": done, "cpu_ns": done}).reason == "target"
    assert together({"wall_ns": done, "cpu_ns": capped}).reason == "cap"


def test_intervals_that_hold_together_take_more_trials(coverage: ModuleType) -> None:
    rng = np.random.default_rng(30)
    rows = 1 + 0.05 * rng.standard_normal((40, 2000))
    alone = coverage.stop(rows, Target(0.01, cap=2000)).size.mean()
    of_two = coverage.stop(rows, Target(0.01, family=2, cap=2000)).size.mean()
    assert 1.1 < of_two / alone < 1.45  # (2.50 / 2.24)² = 1.24


def test_intervals_of_a_series_are_widened_for_what_it_remembers() -> None:
    rng = np.random.default_rng(31)
    values = autoregressive(rng, 0.8, 2000, 0.02)
    plain = series_interval(rng.permutation(values))
    widened = series_interval(values)
    assert plain.half_width is not None
    assert widened.half_width is not None
    (time,) = dependence_times((values <= np.median(values)).astype(float)[None])
    root = np.sqrt(time)
    assert widened.half_width / plain.half_width == pytest.approx(root, rel=0.35)
    seen = look(values[None], Target(0.01))
    assert seen.tau[0] == pytest.approx(time)
    tail = series_interval(np.cumsum(rng.standard_normal(120)), 0.95)
    assert (tail.low, tail.high) == (None, None)
    assert args(tail.refusal, "trials count as")["n"] == 120


def test_a_median_above_the_limit_stops_with_what_settles_it() -> None:
    found = decide_cell(np.full(6, np.inf), Target(0.02))
    assert (found.stop, found.reason, found.why, found.reached) == (True, "refused", "above", None)
    assert args(found.refusal, "limit; give a") == {"killed": 6, "n": 6}
    assert not decide_cell(np.full(5, np.inf), Target(0.02)).stop


def test_killed_runs_leave_a_median_known_and_an_open_one_unreached() -> None:
    values = np.random.default_rng(3).normal(100, 1, 80)
    whole = decide_cell(values, Target(0.02))
    few = decide_cell(np.where(values > 101.5, np.inf, values), Target(0.02))
    assert whole.reason == few.reason == "target"
    assert few.reached == pytest.approx(whole.reached)
    half = decide_cell(np.where(values > np.median(values), np.inf, values), Target(0.02))
    assert (half.stop, half.reached, half.more_trials) == (False, None, None)
    most = decide_cell(np.where(values > np.quantile(values, 0.2), np.inf, values), Target(0.02))
    assert (most.reason, most.why, most.reached) == ("refused", "above", None)


def test_a_quantile_far_out_is_above_the_limit_where_the_median_is_known() -> None:
    values = np.random.default_rng(4).normal(100, 1, 150)
    some = np.where(values > np.quantile(values, 0.6), np.inf, values)
    assert decide_cell(some, Target(0.02, 0.9)).why == "above"
    assert decide_cell(some, Target(0.02, 0.5)).reason == "target"
