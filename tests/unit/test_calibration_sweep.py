"""From what is asked to an experiment, and how long it takes."""

from __future__ import annotations

import msgspec
import pytest

from tare.errors import ExperimentError
from tare.experiment import plan
from tare.experiment.placement import Machine
from tare.experiment.specification import Experiment
from tare.experiment.sweep.document import By
from tare.features.calibration import steps, sweep
from tare.registry import Description, Parameter
from tare.workloads.specification import WorkloadSpec

KERNELS = {
    "linpack": Description(
        name="linpack",
        title="Ax = b",
        question="?",
        parameters=(
            Parameter(name="size", meaning="n", default=1000, minimum=10, maximum=50000),
            Parameter(name="leading_dimension", meaning="LDA", default=0, minimum=0, maximum=50000),
            Parameter(name="threads", meaning="of one", default=1, minimum=1, maximum=64),
        ),
        work="flop",
    ),
    "qsort": Description(name="qsort", title="sorts", question="?"),
}
HERE = Machine(
    spread=(0, 1), compact=(0, 1), steps=(1, 2), cores=2, packages=1, memory_bytes=8 << 30
)


def asked(by: By = "quota", **other: object) -> Experiment:
    cpus = {"quota": (0.1, 1.0, 2.0), "cpuset": (1.0, 2.0), "memory": (0.5, 1.0)}[by]
    mib = (884, 1769) if by == "memory" else ()
    workload = sweep.kernel("linpack", KERNELS)
    given = {"by": by, "workloads": (workload,), "cpus": cpus, "memory_mib": mib, "threads": 2}
    return sweep.experiment(**{**given, **other})  # type: ignore[arg-type]


def test_each_quota_is_a_cell_with_all_threads_in_one_instance() -> None:
    found = asked()
    cells = plan.cells(found, HERE)
    assert [(c.quota, c.workers) for c in cells] == [(0.1, 2), (1.0, 2), (2.0, 2)]
    assert found.instances == "shared"
    assert found.window is not None
    assert (found.window.periods, found.quota_period_s) == (20, 0.1)
    assert (found.stopping.trials, found.stopping.budget_s) == (7, None)
    assert found.order == "blocks"
    assert not found.fingerprint


def test_whole_cpus_and_memory_are_sizes() -> None:
    found = asked("cpuset")
    assert [found.limits(name).cpuset for name in found.factors["size"]] == [1, 2]
    assert sweep.by(found) == "cpuset"
    found = asked("memory")
    limits = [found.limits(name) for name in found.factors["size"]]
    assert [(one.cores, one.memory_bytes) for one in limits] == [
        (0.5, 884 * steps.MIB),
        (1.0, 1769 * steps.MIB),
    ]
    assert sweep.by(found) == "memory"
    assert sweep.given_cpus(found) == [0.5, 1.0]
    assert sweep.by(asked()) == "quota"


def test_one_lu_is_one_worker_with_all_threads() -> None:
    found = asked(workloads=(sweep.kernel("linpack:threads=2", KERNELS),), threads=1)
    assert found.factors["workers"] == (1,)
    assert sweep.threads(found) == 2


def test_it_survives_being_written() -> None:
    found = asked("memory", platform="docker", image="alpine")
    assert found.platforms == {"docker": {"image": "alpine"}}
    assert msgspec.json.decode(msgspec.json.encode(found), type=Experiment) == found


def test_kernels_are_read_with_their_parameters() -> None:
    assert sweep.kernel("linpack:size=500,threads=2", KERNELS).parameters == {
        "size": 500,
        "leading_dimension": 0,
        "threads": 2,
    }
    assert sweep.kernel("qsort", KERNELS).repetitions == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("linpak", "no kernel 'linpak'"),
        ("", "no kernel ''"),
        ("linpack:n=5", "has no 'n'"),
        ("linpack:size", "'size' is not possible"),
        ("linpack:size=x", "'size=x' is not possible"),
        ("linpack:size=5", "size = 5 is not a whole number from 10"),
        ("qsort:size=100", "has no 'size'"),
    ],
)
def test_kernels_that_are_not_there_are_refused(text: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        sweep.kernel(text, KERNELS)


def test_a_window_lasts_as_long_as_an_execution_of_its_share() -> None:
    found = asked()
    short, long = sweep.seconds(found, [0.02]), sweep.seconds(found, [2.0])
    assert 3 * 2.0 < short < 3 * 2.0 + 1
    # A twentieth of a CPU each: 40 s and more of wall time at the least quota.
    assert long > 40


def test_several_workloads_take_the_sum_of_their_times() -> None:
    found = asked()
    both = sweep.seconds(found, [0.02, 2.0])
    assert both == pytest.approx(sweep.seconds(found, [0.02]) + sweep.seconds(found, [2.0]))


def test_memory_counts_the_leading_dimension_of_one_of_both_matrices() -> None:
    def check(leading: int, room: int) -> None:
        workload = sweep.kernel(f"linpack:size=10000,leading_dimension={leading}", KERNELS)
        sweep.check_memory(workload, 1, room, "this machine")

    needed = 8 * 10_000 * (10_000 + 25_000) + (24 << 20)
    check(25_000, needed)
    with pytest.raises(ExperimentError, match="25000 apart, take 2,670 MiB") as told:
        check(25_000, needed - 1)
    fitting = int((told.value.hint or "").split("leading_dimension=")[1].split()[0])
    check(fitting, needed - 1)
    with pytest.raises(ExperimentError):
        check(fitting + 1, needed - 1)
    with pytest.raises(ExperimentError) as told:
        check(25_000, 1 << 30)
    assert "leading_dimension" not in (told.value.hint or "")


def test_windows_are_as_many_as_fit_the_budget() -> None:
    assert sweep.windows(100.0, 10.0) == 10
    assert sweep.windows(25.0, 10.0) == 2
    assert sweep.windows(1.0, 10.0) == 0


def test_matrices_that_do_not_fit_are_refused_with_what_does() -> None:
    workload = sweep.kernel("linpack:size=10000", KERNELS)
    with pytest.raises(ExperimentError, match="two GiB has 2,048 MiB") as told:
        sweep.check_memory(workload, 2, 2 << 30, "two GiB")
    size = int((told.value.hint or "").split()[1].removeprefix("linpack:size="))
    sweep.check_memory(sweep.kernel(f"linpack:size={size}", KERNELS), 2, 2 << 30, "two GiB")
    with pytest.raises(ExperimentError):
        sweep.check_memory(
            sweep.kernel(f"linpack:size={size + 20}", KERNELS), 2, 2 << 30, "two GiB"
        )
    with pytest.raises(ExperimentError) as told:
        sweep.check_memory(workload, 2, 1 << 20, "one MiB")
    assert "--threads" in (told.value.hint or "")
    assert "size=" not in (told.value.hint or "")
    sweep.check_memory(WorkloadSpec(name="x", command=("true",)), 2, 0, "nothing")
