"""The steady part of tare's own trials: iterations, or trials, without their warm-up."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from synthetic import MS, Behaviour, make

from tare.errors import TrialError
from tare.experiment.findings import trusted
from tare.experiment.results import Results
from tare.experiment.samples import Key
from tare.experiment.steady import steady_part

WORK = ("kernel_cpu_ns", "driver")


def measured(**how: float) -> Results:
    behaviour = Behaviour(spread=0.02, within=0.005, **how)
    return make(behaviour, platforms=("bare",), workers=(2,), trials=24, iterations=20)


def source(results: Results) -> tuple[str, str]:
    return "kernel_cpu_ns", results.sources("kernel_cpu_ns")[0]


def with_values(results: Results, change: np.ndarray) -> Results:
    """Multiply the values of trials, in order of time."""
    key = Key(*source(results))
    part = results.sample_table.of(*key[:2])
    _, place = np.unique(part["trial"], return_inverse=True)
    changed = part.with_columns(value=part["value"] * change[place])
    return dataclasses.replace(results, sample_table=results.sample_table.with_part(key, changed))


def test_values_are_means_of_the_iterations_after_the_warm_up() -> None:
    results = measured(warmup=0.3)
    whole = results.values(*source(results))["value"]
    timeline = results.timeline(*source(results), results.good["trial"].tolist())
    assert timeline is not None
    assert timeline.kind == "warm-up"
    steady = steady_part(results)
    part = steady.values(*source(results))["value"]
    assert len(part) == len(whole) == 24
    assert np.median(part) == pytest.approx(200 * MS, rel=0.01)
    assert np.median(whole) > 1.02 * np.median(part)
    assert steady.steady is not None
    assert steady.steady.args["first"] == (timeline.steady_from or 0) + 1
    # Nothing is left of it inside the steady part, and the original has all.
    trials = steady.good["trial"].tolist()
    assert steady.timeline(*source(results), trials) is None
    assert len(results.values(*source(results))["value"]) == 24


def test_a_warm_up_inside_trials_makes_their_median_doubtful() -> None:
    results = measured(warmup=0.3)
    ((_, doubtful),) = trusted.judged(results).doubted
    assert doubtful.grounds[0].kind == "timeline"
    assert not trusted.judged(steady_part(results)).doubted
    assert not trusted.judged(measured()).doubted


def test_without_a_warm_up_all_counts() -> None:
    results = measured()
    steady = steady_part(results)
    assert np.array_equal(
        steady.values(*source(results))["value"], results.values(*source(results))["value"]
    )


def test_the_first_trials_are_left_out_where_each_is_one_execution() -> None:
    results = make(platforms=("bare", "docker"), workers=(1,), trials=30)
    trials = results.trial_table["trial"]
    bare = results.trial_table["platform"] == "bare"
    first = trials == trials[bare].min()
    cold = with_values(results, np.where(first, 20.0, 1.0))
    steady = steady_part(cold)
    # The block is left out whole: the other platform's trial in it has no partner.
    assert [len(own) for _, own in steady.good.groups("cell")] == [29, 29]
    assert steady.steady is not None
    assert steady.steady.args["trial"] == 2


def test_what_never_settles_is_refused() -> None:
    results = make(platforms=("bare",), workers=(1,), trials=40)
    rising = with_values(results, np.linspace(1, 2, 40))
    with pytest.raises(TrialError, match="no steady"):
        steady_part(rising)
