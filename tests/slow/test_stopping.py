"""The stopping rule's guarantee by simulation: coverage at the stop, refusals, changes of level.

The rule is applied to many series at a time by ``benchmarks/coverage.py``, which a unit test holds
to be what decides; its table has every kind of series at every spread and quantile.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from simulation import REPLICATES, at_most

from tare.statistics.interim_analysis import Target, early_size
from tare.statistics.series_intervals import interval_at_stop

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def _load() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks/coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


coverage = _load()
SCENARIOS = {s.name: s for s in coverage.SCENARIOS}


def ends(name: str, cv: float, target: Target, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each series reached its target, and whether the interval held the truth."""
    standard = coverage.Standard(SCENARIOS[name])
    truth = standard.truth(target.quantile, cv)
    rng = np.random.default_rng(6)
    reached, covered = [], []
    for _ in range(0, replicates, 500):
        rows = standard.scaled(SCENARIOS[name].draw(rng, 500, target.cap), cv)
        found = coverage.stop(rows, target)
        reached.append(found.reached)
        covered.append((found.low <= truth) & (truth <= found.high))
    return np.concatenate(reached), np.concatenate(covered)


@pytest.mark.parametrize(
    ("name", "cv", "claim"),
    [
        ("normal", 0.05, 0.97),
        ("bimodal 60/40", 0.05, 0.96),
        ("AR .5", 0.02, 0.95),
        ("AR .8", 0.02, 0.94),
        ("AR .9", 0.01, 0.94),
        ("ours: AR .5, t3", 0.02, 0.95),
        ("ours: daily pattern", 0.02, 0.94),
        ("ours: switching levels", 0.02, 0.94),
    ],
)
def test_medians_are_covered_at_the_stop(name: str, cv: float, claim: float) -> None:
    reached, covered = ends(name, cv, Target(0.01), REPLICATES)
    assert reached.mean() > 0.9
    assert at_most(int((reached & ~covered).sum()), 1 - claim, int(reached.sum()))


@pytest.mark.parametrize("q", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("name", ["normal", "AR .5", "ours: slow mode 3 %"])
def test_tails_are_covered_at_the_stop(name: str, q: float) -> None:
    reached, covered = ends(name, 0.02, Target(0.01, q), 2000)
    assert reached.mean() > 0.8
    assert at_most(int((reached & ~covered).sum()), 0.06, int(reached.sum()))


def test_a_series_that_remembers_too_much_reaches_nothing() -> None:
    reached, _ = ends("AR .98", 0.02, Target(0.01), 1000)
    assert at_most(int(reached.sum()), 0.002, 1000)


@pytest.mark.parametrize("name", ["normal", "AR .5", "bimodal 60/40", "t2"])
def test_steady_series_are_not_refused(name: str) -> None:
    reached, _ = ends(name, 0.05, Target(0.01), 2000)
    assert at_most(int((~reached).sum()), 0.02, 2000)


@pytest.mark.parametrize("name", coverage.EARLY_SERIES)
def test_medians_that_stop_early_are_covered(name: str) -> None:
    """Of each spread at which 5 % stop early; AR(.95) up to a quarter of the target."""
    most = 0.05 if name.startswith("AR") else 0.02
    for cv in coverage.EARLY_CV:
        if name == "AR .95" and cv > 0.005:
            continue
        size, covered, wrong = coverage.early(name, cv, REPLICATES)
        early = size > 0
        if early.mean() < 0.05:
            continue
        assert at_most(int((early & ~covered).sum()), 0.06, int(early.sum())), cv
        assert at_most(int((early & wrong).sum()), most, int(early.sum())), cv


def test_series_that_are_narrow_stop_at_once_and_wide_ones_do_not() -> None:
    narrow, *_ = coverage.early("normal", 0.002, REPLICATES)
    assert (narrow > 0).mean() > 0.999
    assert narrow.mean() < 12
    wide, *_ = coverage.early("normal", 0.014, REPLICATES)
    assert (wide > 0).mean() < 0.001


@pytest.mark.parametrize("name", ["normal", "lognormal tail"])
@pytest.mark.parametrize("fitted", [15, 25, 40])
def test_all_that_is_reported_where_few_trials_fit_is_covered(name: str, fitted: int) -> None:
    """Early intervals, and those of the n that fits the budget where none stopped early."""
    target = Target(0.02, early=True)
    for cv in (0.002, 0.005, 0.007, 0.01, 0.02):
        rows, truth = coverage.EARLY_SERIES[name](np.random.default_rng(4), 4000, cv)
        found = [
            interval_at_stop(
                row[: early_size(row, target) or fitted], early=target.precision, tick=0.0
            )
            for row in rows[:, :fitted]
        ]
        missed = sum(not (i.low <= truth <= i.high) for i in found)
        assert at_most(missed, 0.06, len(found)), cv


@pytest.mark.parametrize(("kind", "times"), [("drift", 5), ("jump", 3)])
@pytest.mark.parametrize("n", [100, 400])
def test_changes_beyond_the_target_are_not_called_reached(kind: str, times: float, n: int) -> None:
    """Series as noisy as the target just allows for at n, drifting by five targets or jumping."""
    rng = np.random.default_rng(8)
    replicates = 4000
    half = 2.5 * 1.2533 / np.sqrt(n)  # of the median's interval, in SDs
    rows = rng.standard_normal((replicates, n))
    if kind == "drift":
        rows += times * half * np.linspace(0, 1, n)
    else:
        place = rng.uniform(0.2, 0.8, (replicates, 1)) * n
        rows += times * half * (np.arange(n) >= place)
    seen = coverage.look(1 + 0.01 * rows, Target(0.01 * half))
    assert at_most(int(seen.tight.sum()), 0.05, replicates)


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_the_confidence_sequence_covers_wherever_it_stops(q: float) -> None:
    reached, covered = ends("normal", 0.02, Target(0.01, q, cap=2000, anytime=True), 4000)
    assert reached.mean() > 0.98
    assert at_most(int((reached & ~covered).sum()), 0.05, int(reached.sum()))


def test_the_confidence_sequence_refuses_trials_in_an_order_that_matters() -> None:
    reached, _ = ends("AR .8", 0.02, Target(0.01, cap=2000, anytime=True), 2000)
    assert reached.mean() < 0.02


@pytest.mark.parametrize("name", ["normal", "AR .8"])
def test_two_metrics_are_covered_together(name: str) -> None:
    """Two independent metrics, each with half of the error; both must hold."""
    replicates = 4000
    one = ends(name, 0.02, Target(0.01, family=2), replicates)
    missed = one[0] & ~one[1]
    pairs = missed.reshape(2, -1).any(axis=0)
    assert at_most(int(pairs.sum()), 0.06, len(pairs))
