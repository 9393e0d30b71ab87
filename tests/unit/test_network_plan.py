"""Rests between trials: arithmetic with a bucket, and what trials spend."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs
from said import args
from simulated_network import Network, measured

from tare.errors import ExperimentError, StoreError
from tare.experiment.specification import Cell
from tare.features.network.fingerprint import search
from tare.features.network.plan import command, rests, spending
from tare.features.network.plan.rests import Bucket, TrialTraffic
from tare.render.tables import lay
from tare.results.columns import Columns
from tare.results.message import message
from tare.workloads.specification import WorkloadSpec

#: As CLOUDNET found it on c5.xlarge, with a round budget.
BUCKET = Bucket(high_bps=10e9, low_bps=1e9, budget_bits=5000e9, refill_bps=1e9)


def spends(*gbit: float, seconds: float | None = 100.0) -> list[TrialTraffic]:
    return [
        TrialTraffic(cell=f"w{i}", bits=1e9 * one, seconds=seconds, source="given")
        for i, one in enumerate(gbit)
    ]


def simulated(bucket: Bucket, drawn: list[float], n: int, rest_s: float) -> list[float]:
    """Return the tokens with which trials begin, dearest first."""
    tokens, begun = bucket.budget_bits, []
    for bits in sorted(drawn, reverse=True) * n:
        begun.append(tokens)
        tokens = min(bucket.budget_bits, max(0.0, tokens - bits) + bucket.refill_bps * rest_s)
    return begun


def test_small_experiments_need_no_rest() -> None:
    made = rests.plan(BUCKET, spends(50, 20), n=10)
    assert made.verdict == "ample"
    assert made.rest_s == 0
    assert made.total_s == pytest.approx(10 * 200)


def test_rest_fills_the_bucket_before_every_trial() -> None:
    made = rests.plan(BUCKET, spends(1000, 100), n=10)
    assert made.verdict == "rests"
    # 1000 Gbit in 100 s at 10 Gbit/s, of which 100 came back meanwhile.
    assert made.rest_s == pytest.approx(900)
    begun = simulated(BUCKET, [one.draws_bits or 0 for one in made.trials], 10, made.rest_s)
    assert all(tokens == BUCKET.budget_bits for tokens in begun)


def test_least_rest_lets_none_run_dry() -> None:
    made = rests.plan(BUCKET, spends(1000, 100), n=10)
    assert made.least_rest_s is not None
    assert made.least_rest_s < made.rest_s
    drawn = [one.draws_bits or 0 for one in made.trials]
    begun = simulated(BUCKET, drawn, 10, made.least_rest_s)
    assert all(t >= bits for t, bits in zip(begun, sorted(drawn, reverse=True) * 10, strict=True))


def test_trial_beyond_the_budget_is_told() -> None:
    made = rests.plan(BUCKET, spends(9000), n=3)
    assert made.verdict == "dry"
    assert made.trials[0].suffices is False
    assert made.rest_s == pytest.approx(5000)


def test_without_a_bucket_only_what_was_looked_at_is_known() -> None:
    assert rests.plan(None, spends(10), n=10, seen_bits=200e9).verdict == "unseen"
    assert rests.plan(None, spends(10), n=100, seen_bits=200e9).verdict == "beyond"
    assert rests.plan(None, spends(10), n=None, seen_bits=200e9).verdict == "beyond"


def test_cells_of_the_same_values_are_one_row_and_columns_without_values_are_left_out() -> None:
    some = spends(10, 10, 20)
    names = ("a, workers 1", "a, workers 2", "b")
    some = [structs.replace(one, cell=cell) for one, cell in zip(some, names, strict=True)]
    without = lay(command._table(rests.plan(None, some, n=10, seen_bits=200e9)))
    assert list(without.rows) == [("a (2 cells)", "10 Gbit", "given"), ("b", "20 Gbit", "given")]
    laid = lay(command._table(rests.plan(BUCKET, some, n=10)))
    assert len(laid.heads) == 6
    assert [row[1:4] for row in laid.rows] == [
        ("10 Gbit", "9 Gbit", "yes"),
        ("20 Gbit", "18 Gbit", "yes"),
    ]
    (all_cells,) = lay(command._table(rests.plan(BUCKET, some[:2], n=10))).rows
    assert all_cells[0] == "all 2 cells"


def test_trial_lasts_as_the_bucket_lets_it() -> None:
    made = rests.plan(BUCKET, spends(1000, seconds=None), n=2)
    assert made.trials[0].seconds == pytest.approx(100)
    slow = rests.plan(BUCKET, spends(9000, seconds=None), n=2)
    assert slow.trials[0].seconds is not None
    assert slow.trials[0].seconds > 900


def test_one_drop_is_planned_with_as_if_it_was_a_bucket() -> None:
    # Longer than a rest would be waited for: one fall is all that is seen.
    network = Network(high=400e6, low=100e6, capacity=3000e6)
    found = measured(network, search.Bounds(seconds=12))
    assert found.shaping is not None
    assert found.shaping.kind == "drop"
    bucket = rests.bucket_of(found)
    assert bucket is not None
    assert bucket.budget_bits == pytest.approx(3000e6, rel=0.05)
    assert bucket.refill_bps == pytest.approx(100e6, rel=0.05)
    assert (
        message("budget unknown: assumed to be what was sent before the drop, beyond the low rate")
        in bucket.doubts
    )
    assert rests.plan(bucket, spends(0.5), n=10, seen_bits=1e9).verdict == "rests"


def cells(*names: str) -> list[Cell]:
    return [
        Cell(cell=i, workload=WorkloadSpec(name=name, command=("true",)), network="rate 1Gbit")
        for i, name in enumerate(names)
    ]


def test_amounts_are_given_by_workload() -> None:
    found = spending.given(cells("a", "b"), {"": 1e9, "b": 2e9})
    assert [one.bits for one in found] == [1e9, 2e9]
    with pytest.raises(ExperimentError, match="no workload of that name"):
        spending.given(cells("a"), {"c": 1e9})
    with pytest.raises(ExperimentError, match="is not given"):
        spending.given(cells("a", "b"), {"a": 1e9})


def results(**columns: list[Any]) -> Any:
    use = Columns({"trial": [1, 1, 2, 2], "host": [1, 2, 1, 2], "sent_bytes": [10, 90, 20, 30]})
    trials = Columns(
        {
            "trial": [1, 2],
            "status": ["ok", "ok"],
            "workload": ["a", "a"],
            "network": ["none", "rate 1Gbit"],
            "duration_ns": [2e9, 4e9],
        }
    ).with_columns(**columns)
    return SimpleNamespace(network_use=use, trial_table=trials, good=trials.where(status="ok"))


def test_earlier_session_counts_by_its_busiest_host() -> None:
    (one,) = spending.measured(cells("a"), results(), "earlier")
    assert one.bits == 8 * 90
    assert one.seconds == pytest.approx(3)
    assert args(one.source, "of {session}") == {"n": 2, "session": "earlier"}


def test_earlier_session_without_counts_is_refused() -> None:
    empty = SimpleNamespace(network_use=Columns({}), trial_table=Columns({}), good=Columns({}))
    with pytest.raises(StoreError, match="did not count"):
        spending.measured(cells("a"), empty, "earlier")  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="no good trial of b"):
        spending.measured(cells("b"), results(), "earlier")
    with pytest.raises(StoreError, match="no good trial of a"):
        spending.measured(cells("a"), results(status=["failed", "failed"]), "earlier")
