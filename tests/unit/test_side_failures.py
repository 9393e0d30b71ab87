"""What failed trials of either side make of a gate."""

from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic
from scipy import stats

from tare.experiment.findings.failures import Failure
from tare.experiment.findings.judgement import _without_survivors, differences
from tare.experiment.findings.side_failures import Side, SideFailures
from tare.experiment.specification import Stopping
from tare.render.words import text


def side(name: str, trials: int, **kinds: int) -> Side:
    failures = tuple(Failure(f"by {kind}", kind, n, None) for kind, n in kinds.items() if n)
    return Side(name, trials, failures)


@pytest.mark.parametrize(
    ("reference", "candidate", "gate"),
    [
        ({}, {}, None),
        ({}, {"exit": 1}, "fail"),
        ({}, {"out_of_memory": 1}, "fail"),
        ({"exit": 1}, {}, None),
        ({"exit": 1}, {"exit": 1}, None),
        ({"exit": 1}, {"signal": 12}, "fail"),
        ({}, {"timeout": 1}, "inconclusive"),
        ({"timeout": 1}, {}, "inconclusive"),
        ({"cpu_time": 1}, {"timeout": 1}, None),
        # A reference that is killed does not excuse a candidate that crashes.
        ({"timeout": 3}, {"exit": 1}, "fail"),
        ({}, {"timeout": 3, "exit": 1}, "fail"),
    ],
)
def test_a_candidate_that_alone_fails_never_passes(
    reference: dict[str, int], candidate: dict[str, int], gate: str | None
) -> None:
    failures = SideFailures(side("a", 50, **reference), side("b", 50, **candidate))
    assert failures.gate == gate


@pytest.mark.parametrize(
    ("reference", "candidate", "is_open"),
    [
        ({}, {"cpu_time": 5}, True),
        ({"timeout": 5}, {}, True),
        ({}, {"cpu_time": 5, "exit": 2}, True),
        ({}, {"exit": 2}, False),
        ({"cpu_time": 5}, {"cpu_time": 5}, False),
    ],
)
def test_times_that_one_side_lacks_leave_the_ratio_open(
    reference: dict[str, int], candidate: dict[str, int], is_open: bool
) -> None:
    faster = synthetic.make(
        lambda levels: synthetic.Behaviour((100 if levels["workload"] == "a" else 50) * 1e6, 0.01),
        workloads=("a", "b"), platforms=("bare",), workers=(1,), trials=20, metric="wall_ns",
        stopping=Stopping(compare="workload", trials=20),
    )  # fmt: skip
    (found,) = differences(faster)
    assert not isinstance(found, str)
    assert found.comparison.verdict.differs
    failures = SideFailures(side("a", 25, **reference), side("b", 25, **candidate))
    judged = _without_survivors(replace(found, failures=failures))
    assert judged.comparison.verdict.conclusive == (not is_open)
    assert ("not known" in text(judged.answer)) == is_open
    if is_open:
        assert "were killed at the time limit, none of" in text(judged.further)


@pytest.mark.parametrize("crashed", range(1, 12))
def test_more_crashes_than_chance_gives_are_those_of_fishers_test(crashed: int) -> None:
    failures = SideFailures(side("a", 60, exit=2), side("b", 40, exit=crashed))
    table = [[crashed, 40 - crashed], [2, 58]]
    p = float(stats.fisher_exact(table, alternative="greater").pvalue)
    assert failures._p_more() == pytest.approx(p)
    assert failures.gate == ("fail" if p <= 0.05 else None)


def test_the_reason_has_both_counts() -> None:
    failures = SideFailures(side("a", 60, exit=2), side("b", 40, exit=9, signal=1))
    assert text(failures.reason) == (
        "b failed in 10 of 40 trials, a in 2 of 60: by exit, and 1 other reason"
    )
    failures = SideFailures(side("a", 60, timeout=2), side("b", 40))
    assert text(failures.reason) == "2 of 60 trials of a were killed at the time limit, none of b"


def test_a_gate_that_passes_names_the_candidate_whose_trials_it_counts() -> None:
    made = synthetic.make(
        lambda levels: synthetic.Behaviour((100 if levels["workload"] == "a" else 50) * 1e6, 0.01),
        workloads=("a", "b"), platforms=("bare",), workers=(1,), trials=20, metric="wall_ns",
        stopping=Stopping(compare="workload", trials=20, gate=0.05),
    )  # fmt: skip
    (found,) = differences(made)
    assert not isinstance(found, str)
    judged = replace(found, failures=SideFailures(side("a", 21, signal=1), side("b", 20)))
    assert judged.gate(0.05) == "pass"
    assert "none of 20 trials of b failed" in text(judged.gate_answer(0.05))
