"""Context switches: where they are recorded, and what recording them takes."""

from __future__ import annotations

import msgspec
import pytest
from said import args
from synthetic import Behaviour, make

from tare.experiment import pipeline
from tare.experiment.findings import disturbance
from tare.experiment.results import Results
from tare.experiment.specification import Experiment, Limit, WindowSpec
from tare.workloads.specification import WorkloadSpec

COMMAND = WorkloadSpec(name="true", command=("true",))
KERNEL = WorkloadSpec(name="sort", kernel="sort")


def asked(workload: WorkloadSpec = COMMAND, **others: object) -> Experiment:
    plain = Experiment(
        name="a", question="?", workloads=(workload,), factors={"platform": ("bare",)}
    )
    return msgspec.structs.replace(plain, **others)


@pytest.mark.parametrize(
    ("experiment", "used"),
    [
        (asked(), True),
        (asked(context_switches=False), False),
        (asked(KERNEL), False),
        (asked(metric="cpu_ns"), False),
        (asked(metric="cpu_ns", factors={"platform": ("bare", "unshare")}), True),
        (asked(metric="cpu_ns", limit=(Limit(of="wall", value=1e9),)), True),
        (asked(window=WindowSpec()), False),
    ],
    ids=["wall", "off", "kernel", "cpu", "platforms", "limit", "window"],
)
def test_switches_are_recorded_where_a_result_uses_them(experiment: Experiment, used: bool) -> None:
    assert pipeline.uses_switches(experiment) is used


def test_a_caller_that_reports_waiting_uses_them_too() -> None:
    assert pipeline.uses_switches(asked(metric="cpu_ns"), disturbances=True)
    assert not pipeline.uses_switches(asked(KERNEL), disturbances=True)
    assert not pipeline.uses_switches(asked(context_switches=False), disturbances=True)


def measured(cpu_ns: float, lost: float = 0.0, **switches: float) -> Results:
    sources = {"switches_preempted": "perf_cpu", "switches_blocked": "perf_cpu"}
    return make(
        Behaviour(mean_ns=cpu_ns),
        platforms=("bare",),
        workers=(1,),
        trials=8,
        without={"bare": ["cgroup", "rusage"]},
        more=lambda levels: {
            **({disturbance.LOST: lost} if lost else {}),
            **{(name, sources.get(name, "rusage")): n for name, n in switches.items()},
        },
    )


def test_what_recording_takes_follows_from_the_number_of_switches() -> None:
    found = disturbance.switch_records(
        measured(1e9, switches_preempted=40_000.0, switches_blocked=60_000.0)
    )
    told = args(found, "in an experiment file")
    assert told["switches"].value == 100_000
    assert told["least"].value == pytest.approx(0.017, rel=0.05)
    assert told["most"].value == pytest.approx(0.09, rel=0.05)


def test_switches_of_lost_records_are_those_that_the_kernel_counted() -> None:
    found = disturbance.switch_records(
        measured(1e9, lost=5.0, involuntary_switches=1e5, voluntary_switches=1e5)
    )
    assert args(found, "in an experiment file")["switches"].value == 200_000


def test_at_most_one_percent_is_not_reported() -> None:
    few = measured(1e9, switches_preempted=1000.0, switches_blocked=10_000.0)
    assert disturbance.switch_records(few) is None
    assert disturbance.switch_records(measured(1e9)) is None
