"""An estimate and the interval beside it are of the same thing: the one lies within the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import networked
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import Behaviour, make

from tare.experiment.findings.answers import all_findings
from tare.experiment.fingerprints.machine.difference import Rule, differences
from tare.experiment.fingerprints.network import difference as network_difference
from tare.experiment.fingerprints.network import document
from tare.experiment.results import Results
from tare.experiment.specification import Stopping
from tare.features.machine.fingerprint.figures import figure
from tare.results.finding import Finding, Table
from tare.statistics.anytime import sequence_interval
from tare.statistics.comparison import compare, compare_unpaired
from tare.statistics.intervals import percentile_bounds, quantile_interval, range_interval
from tare.statistics.moments import mean_and_sd
from tare.statistics.platform_size import platform_size
from tare.statistics.sequential import compare_sequentially
from tare.statistics.series_intervals import series_interval
from tare.statistics.sessions import compare_with_sessions
from tare.statistics.spread import compare_spread, compare_spread_unpaired
from tare.statistics.watched import watched_interval
from tare.wiring import SUPPLIES

#: What series look like; see :func:`series`.
KINDS = ("smooth", "ticks", "modes", "outlier", "equal")
#: Bounds, with what lies between them; a bound is None where there is no interval.
Triple = tuple[float | None, float | None, float | None]


def inside(low: float | None, value: float | None, high: float | None) -> bool:
    if value is None or low is None or high is None:
        return True
    return low <= value <= high


@st.composite
def series(
    draw: st.DrawFn,
    least: int = 1,
    most: int = 60,
    kinds: Sequence[str] = KINDS,
    scales: Sequence[float] = (1e-9, 1.0, 1e12),
) -> np.ndarray:
    """Positive values: smooth, in ticks, of two modes, with one that is far off, or all equal."""
    n = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(kinds))
    scale = draw(st.sampled_from(scales))
    values = np.exp(0.3 * rng.standard_normal(n))
    if kind == "ticks":
        values = np.maximum(1, np.round(values * 3))
    elif kind == "modes":
        values[rng.random(n) < draw(st.sampled_from([0.1, 0.4, 0.6]))] *= 5
    elif kind == "outlier":
        values[0] *= 1e6
    elif kind == "equal":
        values = np.full(n, 1.1)
    return values * scale


@settings(max_examples=75, deadline=None)
@given(series(), st.sampled_from([0.5, 0.9, 0.99, 0.01]))
def test_of_one_series(values: np.ndarray, q: float) -> None:
    found = [
        quantile_interval(values, q),
        series_interval(values, q),
        watched_interval(values, q),
        sequence_interval(values, q),
        range_interval(values, resamples=99),
        *mean_and_sd(values, resamples=99),
    ]
    assert [i for i in found if not inside(i.low, i.estimate, i.high)] == []
    made = figure(values.tolist(), "ns")
    assert made.ci is None or inside(made.ci[0], made.value, made.ci[1])


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_of_two_series(data: st.DataObject) -> None:
    one_unit = series(scales=[data.draw(st.sampled_from([1e-9, 1.0, 1e12]))])
    first, second = data.draw(one_unit), data.draw(one_unit)
    n = min(len(first), len(second))
    sessions = [data.draw(one_unit) for _ in range(5)]
    found = [
        compare(first[:n], second[:n]),
        compare_unpaired(first, second),
        compare_sequentially(first[:n], second[:n]).comparison,
        compare_sequentially(first[:n], second[:n], final=True).comparison,
        compare_with_sessions(sessions, first),
    ]
    assert [c for c in found if not inside(c.low, c.ratio, c.high)] == []


@settings(max_examples=30, deadline=None)
@given(series(20, 40), series(20, 40))
def test_of_two_spreads(first: np.ndarray, second: np.ndarray) -> None:
    n = min(len(first), len(second))
    paired = compare_spread(first[:n], second[:n])
    assert inside(paired.low, paired.ratio, paired.high)
    apart = compare_spread_unpaired(first, second, resamples=199)
    assert inside(apart.low, apart.ratio, apart.high)


@settings(max_examples=50, deadline=None)
@given(series(6, 12), st.integers(4, 6))
def test_of_costs_over_sizes(values: np.ndarray, sizes: int) -> None:
    blocks = np.repeat(np.arange(len(values)), sizes)
    cores = np.tile(2.0 ** np.arange(sizes), len(values))
    rng = np.random.default_rng(len(values))
    bare = np.repeat(values, sizes)
    found = platform_size(
        cores, bare * np.exp(0.1 * rng.standard_normal(len(bare))), bare, blocks, 2.0**sizes
    )
    factors = [f for f in (found.pto, found.pso, *(s.ratio for s in found.sizes)) if f is not None]
    assert all(inside(f.low, f.value, f.high) for f in factors)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_of_fingerprints(data: st.DataObject) -> None:
    """Any number of takes on each side, of any numbers of rounds."""
    before, after = (
        [
            {"m": data.draw(series(1, 60, ["modes", "modes", "ticks", "equal"]))}
            for _ in range(data.draw(st.integers(1, 3)))
        ]
        for _ in range(2)
    )
    (change,) = differences(before, after, {"m": Rule(unit="ns", better="lower", margin=0.1)})
    assert inside(change.low, change.ratio, change.high)
    if change.direction is not None:
        assert (change.direction == "worse") == (change.ratio > 1)


def test_a_ratio_of_medians_is_not_set_beside_the_interval_of_something_else() -> None:
    """Two modes, of which one or the other has a few rounds more: medians jump, pairs do not."""
    slow, fast = np.linspace(1.99, 2.01, 22), np.linspace(0.99, 1.01, 18)
    before, after = np.concatenate([slow, fast]), np.concatenate([slow / 2, fast * 2])
    rules = {"m": Rule(unit="ns", better="lower", margin=0.1)}
    (change,) = differences([{"m": before.tolist()}], [{"m": after.tolist()}], rules)
    assert change.after / change.before == pytest.approx(0.5, rel=0.01)
    assert change.ratio == pytest.approx(1, rel=0.02)
    assert change.low is not None
    assert 0.9 < change.low < 1
    assert inside(change.low, change.ratio, change.high)


def test_bounds_of_a_bootstrap_reach_the_estimate() -> None:
    replicates = np.linspace(1, 2, 100)
    assert percentile_bounds(replicates, 1.5, 0.9) == pytest.approx((1.05, 1.95))
    assert percentile_bounds(replicates, 3.0, 0.9) == pytest.approx((1.05, 3.0))
    assert percentile_bounds(replicates, 0.0, 0.9) == pytest.approx((0.0, 1.95))


@settings(max_examples=50, deadline=None)
@given(series(6, 20), series(6, 20), st.sampled_from(["bit/s", "1"]))
def test_of_networks(first: np.ndarray, second: np.ndarray, unit: document.Unit) -> None:
    before, after = (
        document.Figure(value=i.estimate, ci=(i.low or 0, i.high or 0), unit=unit, n=i.n)
        for i in map(quantile_interval, (first, second))
    )
    found = network_difference.change("bandwidth", before, after)
    assert inside(found.low, found.change, found.high)


def _triples(found: Finding) -> Iterator[tuple[str, Triple]]:
    """Go over every estimate of a finding that stands beside an interval."""
    for e in found.estimates:
        yield f"{found.name}: {e.name}", (e.low, e.value, e.high)
    for table in found.tables:
        for value, low, high in _columns(table):
            for row in table.rows:
                yield f"{found.name}: {table.title}, {value}", (row[low], row[value], row[high])


def _columns(table: Table) -> Iterator[tuple[str, str, str]]:
    """Find the columns that are an estimate, where its interval begins, and where it ends."""
    some = table.columns
    for one, low, high in zip(some, some[1:], some[2:], strict=False):
        # Before the ends of an interim analysis there is its number of pairs, and no estimate.
        if low.title.endswith("from") and high.title == "to" and one.unit is not None:
            yield one.key, low.key, high.key


def _behaviour(levels: dict[str, str]) -> Behaviour:
    busy = levels["platform"] == "docker"
    return Behaviour(
        mean_ns=2e8 * (1.2 if busy else 1),
        spread=0.2 if busy else 0.01,
        outliers=0.1,
        outlier_size=3.0,
        drift=0.05,
        warmup=0.1,
        inputs=0.1,
    )


EXPERIMENTS: dict[str, Callable[[int], Results]] = {
    "platforms": lambda trials: make(
        _behaviour,
        platforms=("bare", "docker", "runc"),
        pinnings=("none", "compact"),
        trials=trials,
        iterations=3,
        inputs=3,
    ),
    "sizes": lambda trials: make(
        _behaviour, workers=(1,), sizes=("0.25c", "0.5c", "1c", "2c"), trials=trials
    ),
    "networks": lambda trials: networked.make(trials=trials),
    "one cell": lambda trials: make(_behaviour, platforms=("bare",), workers=(1,), trials=trials),
    "a comparison": lambda trials: make(
        _behaviour, workers=(1,), trials=trials, stopping=Stopping(compare="platform")
    ),
}


@pytest.mark.parametrize("trials", [1, 5, 7, 21])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_of_every_finding(name: str, trials: int) -> None:
    results = EXPERIMENTS[name](trials)
    triples = [
        triple for found in all_findings(results, SUPPLIES.findings()) for triple in _triples(found)
    ]
    assert [one for one in triples if not inside(*one[1])] == []
    assert trials < 7 or any(low is not None for _, (low, _, _) in triples)
