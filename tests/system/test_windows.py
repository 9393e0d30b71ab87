"""Windows of time under real quotas: what is done in whole periods, by kernels and commands."""

from __future__ import annotations

import contextlib
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare import platforms
from tare.agent import record
from tare.errors import PlatformError
from tare.experiment import remnants
from tare.experiment.session.observer import Observer
from tare.host import lease

pytestmark = pytest.mark.system

PERIOD_NS = 20_000_000
PERIODS = 6
#: So little that others on the machine leave as much.
QUOTA = 0.1
#: How long a CPU may go on beyond the quota, at both edges of a window.
TICK_NS = 10_000_000

Values = dict[tuple[str, str], list[float]]


@contextlib.contextmanager
def limited(stack: str) -> Iterator[tuple[platforms.Instance, Path]]:
    """Start an instance whose workers share a tenth of a CPU."""
    if not (found := platforms.availability(stack)).works:
        pytest.skip(f"{stack}: {found.why}")
    name = lease.new_name()
    folder = Path("/dev/shm") / name
    with remnants.lease(name):
        folder.mkdir()
        folder.chmod(0o777)
        place = platforms.Place(
            name=f"{name}-0", shared=str(folder), cores=QUOTA,
            period_us=PERIOD_NS // 1000, runs_commands=stack == "bare",
        )  # fmt: skip
        try:
            instance = platforms.start(stack, place)
        except PlatformError as error:
            if "cannot be limited here" in error.message:
                pytest.skip(error.message)
            raise
        try:
            yield instance, folder
        finally:
            instance.close()
            shutil.rmtree(folder)


def trial(instance: platforms.Instance, folder: Path, workload: record.Workload) -> Values:
    """Execute one window by two workers, watched from the host; return values by metric."""
    observer = Observer(1, context_switches=False)
    try:
        assert instance.host_pid is not None
        observer.watch(1, [record.WatchedGroup(worker=None, pid=instance.host_pid)])
        speaking = instance.agent
        job = record.Trial(
            id=speaking.next_id(), trial=1, nonce=1, workload=workload,
            workers=tuple(record.Worker(worker=w, cpus=None) for w in range(2)),
            iterations=1, warmup=0, process="fresh", tail="loaded",
            rendezvous=record.Rendezvous(handout=None, parties=2),
            timeout_ns=20_000_000_000, linger_ns=1_000_000_000, observe=False, user=None,
            window=record.Window(periods=PERIODS, period_ns=PERIOD_NS, throttled=True),
        )  # fmt: skip
        told = [*speaking.ask(job, 60), *observer.collect(1)]
    finally:
        observer.close()
    assert [fault for fault in told if isinstance(fault, record.Fault)] == []
    values: Values = defaultdict(list)
    for sample in told:
        if isinstance(sample, record.Sample) and sample.phase == "measured":
            values[sample.metric, sample.source].append(sample.value)
    return values


@pytest.mark.parametrize("stack", ["bare", "docker"])
def test_solves_in_a_window_are_counted_checked_and_held_to_the_quota(stack: str) -> None:
    with limited(stack) as (instance, folder):
        solver = record.Kernel(name="linpack", parameters={"size": 200}, repetitions=1, seed=1)
        values = trial(instance, folder, solver)
    lengths, cpu = values["window_ns", "self"], values["window_cpu_ns", "self"]
    assert len(lengths) == len(cpu) == 2
    for worker, length in enumerate(lengths):
        assert length >= PERIODS * PERIOD_NS
        assert length % PERIOD_NS == 0
        assert values["start_ns", "self"][worker] + length == values["end_ns", "self"][worker]
        solve = 2 / 3 * 200**3 + 2 * 200**2
        solves = values["throughput", "self"][worker] * length / 1e9 / solve
        assert abs(solves - values["window_executions", "self"][worker]) <= 2
        assert 0 < values["residual", "self"][worker] < 16
        assert values["clock_hz", "chain"][worker] > 1e8
    assert sum(cpu) < QUOTA * lengths[0] + 2 * 2 * TICK_NS
    periods, throttled = (
        values["periods", "host_cgroup"],
        values["throttled_periods", "host_cgroup"],
    )
    assert periods[0] >= PERIODS
    assert 0 < throttled[0] <= periods[0]
    assert values["throttled_ns", "host_cgroup"][0] > 0


def test_commands_in_a_window_are_counted_by_their_ends() -> None:
    with limited("bare") as (instance, folder):
        command = record.Command(
            argv=("/bin/true",), environment={}, directory=None, input=None, capture=None
        )
        values = trial(instance, folder, command)
    for worker, length in enumerate(values["window_ns", "around"]):
        assert length >= PERIODS * PERIOD_NS
        assert length % PERIOD_NS == 0
        executions = values["window_executions", "around"][worker]
        ended = values["throughput", "around"][worker] * length / 1e9
        assert executions - 1 < ended <= executions
        assert 0 < values["window_cpu_ns", "around"][worker] <= length
    assert len(values["exit_code", "wait"]) == sum(values["window_executions", "around"])
