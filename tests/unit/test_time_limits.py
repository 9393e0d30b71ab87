"""Trials that were killed at a time limit: values above it, of the time that it bounds."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import synthetic
from said import template

from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.cells import basis_of, cells_of
from tare.experiment.results import Results
from tare.experiment.specification import Experiment
from tare.experiment.time_limits import Kill, above_of, kill
from tare.results.message import Message
from tare.wiring import SUPPLIES
from tare.workloads.specification import Enforced, WorkloadSpec

COMMAND = WorkloadSpec(name="sort", command=("sort",), timeout_s=0.1, enforce=Enforced(cpu_s=0.05))
ASKED = Experiment(name="one", question="", workloads=(COMMAND,), factors={})
TIMEOUT = [("timeout", 0)]


def test_a_run_that_was_killed_took_longer_than_its_limit() -> None:
    assert kill(ASKED, COMMAND, 1, TIMEOUT) == Kill("timeout", 1e8)
    assert kill(ASKED, COMMAND, 1, [("cpu_time", 0)]) == Kill("cpu_time", 5e7)


@pytest.mark.parametrize(
    ("kind", "bounded", "others"),
    [("timeout", "wall_ns", "cpu_ns"), ("cpu_time", "cpu_ns", "wall_ns")],
)
def test_a_limit_bounds_the_time_that_it_is_about(kind: str, bounded: str, others: str) -> None:
    found = Kill(kind, 1.0)
    assert found.bounds(bounded)
    assert not found.bounds(others)
    assert not found.bounds("memory_bytes")


def test_the_mean_of_several_executions_is_longer_than_their_part_of_the_limit() -> None:
    asked = msgspec.structs.replace(ASKED, iterations=2)
    assert kill(asked, COMMAND, 2, TIMEOUT) == Kill("timeout", 2.5e7)
    assert above_of(asked, COMMAND, 2, "wall_ns") == 2.5e7
    assert above_of(asked, COMMAND, 2, "memory_bytes") is None


def test_another_failure_beside_it_a_warm_up_and_a_kernel_tell_nothing() -> None:
    assert kill(ASKED, COMMAND, 2, [("timeout", 0), ("exit", 0)]) is None
    assert kill(msgspec.structs.replace(ASKED, warmup=1), COMMAND, 1, TIMEOUT) is None
    assert kill(ASKED, WorkloadSpec(name="k", kernel="k", timeout_s=1.0), 1, TIMEOUT) is None
    assert kill(ASKED, COMMAND, 1, [("exit", 0)]) is None
    assert kill(ASKED, COMMAND, 1, []) is None


@pytest.fixture(scope="module")
def results() -> Results:
    made = synthetic.make(
        lambda levels: synthetic.Behaviour(200e6 if levels["platform"] == "bare" else 220e6, 0.1),
        workers=(1,),
    )
    return synthetic.with_limit(made, 240e6)


def test_a_killed_trial_has_an_infinite_value_and_its_limit(results: Results) -> None:
    found = results.values("wall_ns")
    killed = results.trial_table.where(status="killed")["trial"]
    assert 0 < len(killed) < len(results.good)
    is_killed = np.isin(found["trial"], killed)
    assert np.isinf(found["value"][is_killed]).all()
    assert (found["above"][is_killed] == 240e6).all()
    assert (found["value"][~is_killed] < 240e6).all()
    assert np.isnan(found["above"][~is_killed]).all()
    assert found["trial"].tolist() == sorted(found["trial"].tolist())
    assert len(found) == len(results.counted)


def test_other_metrics_of_a_killed_trial_are_absent(results: Results) -> None:
    assert len(results.values("cpu_ns")) == len(results.good)
    assert len(results.without_killed.values("wall_ns")) == len(results.good)


def test_cells_and_their_pairs_have_killed_trials(results: Results) -> None:
    basis = basis_of(results)
    assert not isinstance(basis, Message)
    cells = cells_of(results, basis)
    (pair,) = cells.pairs("platform")
    assert pair.n == 40
    assert sum(pair.killed) == len(results.trial_table.where(status="killed"))
    assert [cell.n for cell in cells.all] == [40, 40]
    assert pair.has_ratio
    for cell in cells.all:
        assert np.isinf(cell.trial_values).sum() == cell.killed


def test_what_needs_all_values_says_that_killed_trials_are_left_out(results: Results) -> None:
    units = SUPPLIES.findings()
    found = {one.name: one for one in all_findings(results, units)}
    killed = len(results.trial_table.where(status="killed"))
    for name, one in found.items():
        told = [c for c in one.caveats if isinstance(c, Message)]
        left_out = [c for c in told if template(c) == "and are left"]
        assert len(left_out) == (units[name].killed == "left out")
        assert all(c.args["killed"] == killed for c in left_out)
        refused = isinstance(one.answer, Message) and template(one.answer) == "so how far"
        assert refused == (units[name].killed == "refused")
        if refused:
            assert one.verdict == "nothing to compare"
    assert "stability" in found
    assert "overhead" in found
