"""One series of an audit: its trials, its figures, its verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from said import args, templates

from tare.errors import InputError
from tare.features.audit import messages
from tare.features.audit.question import Question
from tare.features.audit.series import (
    MOST,
    SeriesAudit,
    audit_series,
    counted,
    thinned,
    trials_of,
    worst,
)
from tare.readers import Defect, Series
from tare.results.message import message
from tare.statistics.intervals import quantile_interval
from tare.statistics.trust import PRECISION

RNG = np.random.default_rng(7)


def audited(
    values: np.ndarray, name: str = "s", precision: float = PRECISION, **more: object
) -> SeriesAudit:
    series = Series(key={"name": name}, values=values, **{"trial": np.arange(len(values)), **more})
    question = Question(precision=precision)
    part = counted(series, question)
    return audit_series((Path("file.csv"),), part, {"name": name}, name, question)


def test_bytes_are_pages_where_all_are_whole_pages() -> None:
    pages = 4096.0 * RNG.integers(100, 120, 40)
    assert audited(pages, unit="bytes").tick == 4096
    assert audited(np.full(40, 8192.0), unit="bytes").tick == 4096
    assert audited(RNG.integers(1000, 5000, 40).astype(float), unit="bytes").tick == 1
    assert audited(np.full(40, 1500.0), unit="bytes").tick is None


def test_a_trial_counts_by_its_mean_in_order_of_time() -> None:
    series = Series(
        key={},
        values=np.array([5.0, 7.0, 1.0, 3.0, 9.0]),
        trial=np.array([8, 8, 2, 2, 5]),
        block=np.array([1, 1, 0, 0, 2]),
        position=np.array([0.0, 1.0, 2.0, 3.0, 4.0]),
    )
    trials = trials_of(series)
    assert trials.values.tolist() == [6.0, 2.0, 9.0]
    assert trials.block is not None
    assert trials.block.tolist() == [1, 0, 2]
    assert trials.position is not None
    assert trials.position.tolist() == [0.0, 2.0, 4.0]
    assert trials.trial is not None


def test_values_that_became_means_are_told() -> None:
    values = RNG.normal(1, 0.01, 15)
    found = audited(values, trial=np.repeat(np.arange(5), 3))
    assert found.notes == (
        message(
            "{values} values of {trials | counted('trial')}: each trial counts as the mean of "
            "{% if first > 1 %}iterations {first}{% if last %} to {last}{% else %} and later"
            "{% endif %}{% else %}all{% if last %} {last}{% else %} its{% endif %} iterations"
            "{% endif %}",
            values=15,
            trials=5,
            first=1,
            last=3,
        ),
    )
    assert audited(values).notes == ()


def test_values_without_trials_are_taken_as_they_are_and_doubted() -> None:
    found = audited(RNG.normal(1, 0.01, 50), trial=None)
    assert found.n == 50
    assert found.trust.verdict == "DOUBT"
    assert templates(found.trust.reasons) == ["row is an"]


def test_clean_trials_are_trusted_with_exact_intervals() -> None:
    values = np.random.default_rng(3).normal(1, 0.01, 400)
    found = audited(values)
    assert found.trust.verdict == "TRUST"
    assert found.dependence == 1
    for q, interval in found.quantiles:
        exact = quantile_interval(values, q)
        assert (interval.low, interval.high) == (exact.low, exact.high)
    assert [q for q, _ in found.quantiles] == [0.5, 0.9, 0.95, 0.99]
    assert found.cov == pytest.approx(values.std(ddof=1) / values.mean())
    assert found.cov_robust == pytest.approx(found.cov, rel=0.15)
    assert found.coverage is not None
    assert found.coverage[0] > 0.9


def test_a_quantile_that_n_is_too_small_for_says_what_it_needs() -> None:
    found = audited(np.random.default_rng(3).normal(1, 0.01, 100))
    refusals = {q: i.refusal for q, i in found.quantiles}
    assert refusals[0.5] is None
    assert refusals[0.99] == message("n = {n} is too small, needs ≥ {needs}", n=100, needs=368)


def test_memory_widens_intervals_and_is_told_in_refusals() -> None:
    rng = np.random.default_rng(5)
    values = np.empty(400)
    values[0] = 0
    for i in range(1, 400):
        values[i] = 0.9 * values[i - 1] + rng.normal(0, 0.01)
    values += 1
    found = audited(values)
    naive = quantile_interval(values)
    assert found.trust.verdict == "DOUBT"
    assert found.dependence > 3
    assert found.median.low is not None
    assert naive.low is not None
    assert found.median.low < naive.low
    said = args(dict(found.quantiles)[0.99].refusal, "as these are")
    assert said["effective"] == pytest.approx(400 / found.dependence, abs=0.5)
    assert said["needed"] > 368


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_too_few_values_are_rejected_without_a_crash(n: int) -> None:
    found = audited(np.full(n, 1.5) + np.arange(n) * 0.01)
    assert found.trust.verdict == "REJECT"
    assert found.median.low is None
    assert found.repetitions.n is None


def test_counts_are_no_ticks_of_a_clock() -> None:
    """Poisson counts with a mean of 5: the interval is that of the counts, 5 or 6 at n = 1,000."""
    counts = np.random.default_rng(5).poisson(5, 1000).astype(float)
    found = audited(counts, metric="page faults", unit=None)
    assert (found.tick, found.median.low, found.median.high) == (0.0, 5.0, 5.0)
    assert not found.clock_too_coarse
    for metric, unit in (("time", None), ("value", None), ("faults", "s")):
        assert audited(counts, metric=metric, unit=unit).tick == 1
    # A column called "value" holds counts or times: the clock is not blamed, the tick is kept.
    unnamed = audited(counts, metric="value", unit=None)
    assert (unnamed.clock_too_coarse, unnamed.may_be_counts) == (True, True)
    assert messages.runs(unnamed).args["counts"]
    assert not messages.runs(audited(counts, metric="time", unit=None)).args["counts"]
    # Tens are not counted one by one, and equal values may be anything.
    assert audited(10 * counts, metric="faults", unit=None).tick == 10
    assert audited(np.full(30, 7.0), metric="faults", unit=None).tick is None


def test_constant_values_have_a_verdict_and_no_spread() -> None:
    found = audited(np.full(30, 2.5))
    assert found.trust.verdict == "DOUBT"
    assert templates(found.trust.reasons) == ["Time more work"]
    assert (found.median.estimate, found.median.low) == (2.5, None)
    assert found.cov == 0
    assert found.sd.low is None


def test_corrupt_values_reject_the_series() -> None:
    defect = Defect("corrupt", "2 of 32 values left out: negative (lines 4 and 9).")
    found = audited(RNG.normal(1, 0.01, 30), defects=(defect,))
    assert found.trust.verdict == "REJECT"
    assert args(found.trust.reasons, "the file or")["said"] == defect.message


@pytest.mark.parametrize(("tick", "needed"), [(0.0, 30), (0.002, 60), (0.012, None), (0.05, None)])
def test_runs_make_no_clock_finer(tick: float, needed: int | None) -> None:
    """Ticks that most values share assure nothing: what they hide stays hidden."""
    values = np.random.default_rng(3).normal(1.003, 0.02, 400)
    found = audited(np.round(values / tick) * tick if tick else values, precision=0.01)
    assert found.median.tick == pytest.approx(tick, abs=1e-6)
    assert found.clock_too_coarse is (needed is None)
    if needed is None:
        assert found.reached is False
        assert (found.runs_needed, found.repetitions.n) == (None, None)
        assert found.repetitions.n_assured is None
    else:
        assert found.reached
        assert found.runs_needed == pytest.approx(needed, rel=0.5)
        assert found.repetitions.n_assured > found.repetitions.n


def test_values_around_zero_have_no_coefficient_of_variation() -> None:
    found = audited(np.random.default_rng(1).normal(-1, 0.01, 30))
    assert found.cov is None
    assert found.cov_robust is None


def test_long_series_are_exact_where_they_can_be() -> None:
    values = np.random.default_rng(2).lognormal(0, 0.1, 3 * MOST)
    found = audited(values)
    assert found.used == MOST
    assert found.mean.estimate == pytest.approx(values.mean(), rel=1e-12)
    assert found.sd.estimate == pytest.approx(values.std(ddof=1), rel=1e-9)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert found.mean.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert found.median.estimate == pytest.approx(np.median(values), rel=1e-12)


def test_thinning_keeps_the_ends_of_time() -> None:
    thin = thinned(np.arange(100_000.0), 1000)
    assert len(thin) <= 1000
    assert thin[0] == 0
    assert thin[-1] > 99_000


def test_the_worst_come_first_but_keep_their_order() -> None:
    good = [audited(np.random.default_rng(i).normal(1, 0.01, 40), f"g{i}") for i in (1, 3)]
    bad = audited(np.ones(2), "few")
    doubted = audited(np.random.default_rng(9).normal(1, 0.01, 40), "d", trial=None)
    assert [s.name for s in worst([good[0], doubted, good[1], bad], 2)] == ["d", "few"]


@pytest.mark.parametrize(
    "wrong", [{"precision": 0.0}, {"confidence": 1.5}, {"quantiles": (0.5, 1.0)}]
)
def test_impossible_questions_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Question(**wrong)


def test_no_number_of_runs_is_given_where_more_do_not_help() -> None:
    values = RNG.normal(1, 0.01, 60)
    steady, shifted = audited(values), audited(values + 0.2 * (np.arange(60) >= 30))
    assert steady.more_runs_help
    assert steady.runs_needed is not None
    assert not shifted.more_runs_help
    assert (shifted.runs_needed, shifted.runs_assured) == (None, None)
    assert args(messages.runs(shifted), "none: unsteady")["unsteady"]


def test_no_number_of_runs_reaches_a_relative_precision_around_zero() -> None:
    found = audited(np.where(RNG.random(100) < 0.6, 0.0, RNG.poisson(3, 100)))
    assert found.median.estimate == 0
    assert found.runs_needed is None
