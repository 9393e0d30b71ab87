"""Accounting by control groups of version 2, in a guest that has no others."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from guest import Guest, missing

from tare.agent import record
from tare.agent.client import Agent

if TYPE_CHECKING:
    from collections.abc import Iterator

SPIN = Path(__file__).parents[2] / "benchmarks/spin.c"
MB = 1 << 20
PLATFORM = "/sys/fs/cgroup/platform"

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(180),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    folder = tmp_path_factory.mktemp("guest")
    spin = folder / "spin"
    subprocess.run(["gcc", "-O2", "-static", "-o", spin, SPIN], check=True)
    guest = Guest(folder, {"spin": spin})
    try:
        yield Agent(guest, timeout_s=60)
    finally:
        guest.close()


class Answer:
    """What a trial brought: values by metric and source, and what went wrong."""

    def __init__(self, records: list[record.Record]) -> None:
        self.faults = [r for r in records if isinstance(r, record.Fault)]
        self._values: dict[tuple[str, str], list[float]] = defaultdict(list)
        for sample in records:
            if isinstance(sample, record.Sample) and sample.phase == "measured":
                self._values[sample.metric, sample.source].append(sample.value)

    def all(self, metric: str, source: str) -> list[float]:
        return self._values[metric, source]

    def value(self, metric: str, source: str) -> float:
        (value,) = self._values[metric, source]
        return value


def execute(
    agent: Agent,
    shell: str,
    *,
    workers: tuple[record.Worker, ...] = (record.Worker(worker=0),),
    **changes: Any,
) -> Answer:
    """One iteration of a shell command line in the guest."""
    job = {
        "iterations": 1,
        "warmup": 0,
        "process": "fresh",
        "tail": "stop",
        "linger_ns": 10_000_000_000,
        "timeout_ns": 60_000_000_000,
        "observe": True,
    } | changes
    number = agent.next_id()
    return Answer(
        agent.ask(
            record.Trial(
                id=number,
                trial=number,
                nonce=1,
                workload=record.Command(
                    argv=("/bin/sh", "-c", shell),
                    environment={"PATH": "/bin"},
                    capture=record.Capture(limit_bytes=4096),
                ),
                workers=workers,
                **job,
            ),
            timeout_s=90,
        )
    )


def output(agent: Agent, shell: str) -> str:
    """What a command line of the guest prints: evidence of a command that fails."""
    answer = execute(agent, f"({shell}) >&2; exit 1")
    (fault,) = answer.faults
    return fault.evidence or ""


def test_the_launched_process_starts_in_a_group_of_its_own(agent: Agent) -> None:
    group = output(agent, "cat /proc/self/cgroup").strip()
    assert group.startswith("0::/platform/")
    assert output(agent, "cat /proc/$PPID/cgroup").strip() != group


def test_a_daemon_that_nobody_waits_for_is_accounted(agent: Agent) -> None:
    answer = execute(agent, "spin 300 /tmp/daemon & exit 0")
    # The daemon is named, and that is all.
    assert [fault.outlived.names for fault in answer.faults if fault.outlived] == [("spin",)]
    assert len(answer.faults) == 1
    own_ns = int(output(agent, "cat /tmp/daemon").split()[1])
    assert own_ns >= 300_000_000
    # The shell's own cost, emulated, is a good part of what is above the daemon's.
    assert own_ns <= answer.value("cpu_ns", "cgroup") < own_ns + 250_000_000
    assert answer.value("cpu_ns", "rusage") < own_ns / 2


def test_memory_is_the_peak_of_the_trial_and_not_of_the_one_before(agent: Agent) -> None:
    large = execute(agent, "exec dd if=/dev/zero of=/dev/null bs=64M count=1")
    small = execute(agent, "exec true")
    assert 64 * MB < large.value("memory_bytes", "cgroup") < 80 * MB
    assert 0 < small.value("memory_bytes", "cgroup") < 8 * MB


def test_descendants_that_outlive_their_time_are_killed_and_told(agent: Agent) -> None:
    answer = execute(agent, "sleep 1234 & (setsid sleep 1234 &) ; exit 0", linger_ns=0)
    assert [fault.kind for fault in answer.faults] == ["warning"]
    assert "sleep 1234" not in output(agent, "ps | grep -v grep")


@pytest.mark.parametrize(
    ("shell", "limits", "kind"),
    [
        ("exec spin 5000 /tmp/limited", record.Limits(cpu_ns=200_000_000), "cpu_time"),
        (
            "exec dd if=/dev/zero of=/dev/null bs=64M count=1",
            record.Limits(memory_bytes=16 * MB),
            "out_of_memory",
        ),
        ("sleep 9 & sleep 9 & sleep 9 & wait", record.Limits(processes=3), "processes"),
        ("exec yes", record.Limits(output_bytes=1000), "output"),
    ],
)
def test_what_exceeds_a_limit_is_killed_and_the_next_is_sound(
    agent: Agent, shell: str, limits: record.Limits, kind: str
) -> None:
    answer = execute(agent, shell, limits=limits, linger_ns=0)
    assert [fault.kind for fault in answer.faults if fault.kind != "warning"] == [kind]
    assert not execute(agent, "exec dd if=/dev/zero of=/dev/null bs=64M count=1").faults
    assert not execute(agent, "exec spin 50 /tmp/within", limits=limits).faults


def test_workers_on_one_cpu_feel_its_pressure(agent: Agent) -> None:
    on_one = (record.Worker(worker=0, cpus=(0,)), record.Worker(worker=1, cpus=(0,)))
    answer = execute(agent, "exec spin 500 /tmp/pressed", workers=on_one)
    assert not answer.faults
    pressure_ns = answer.all("cpu_pressure_ns", "group")
    assert len(pressure_ns) == 2
    # Each of them runs for 500 ms, and while both do, one waits; they begin some 100 ms apart where
    # the machine is emulated and its host has other work.
    assert sum(pressure_ns) > 300_000_000
    assert answer.all("throttled_ns", "cgroup") == [0, 0]


def test_time_without_a_cpu_by_quota_is_told(agent: Agent) -> None:
    quota = f"echo 20000 100000 > {PLATFORM}/cpu.max"
    answer = execute(agent, f"{quota}; spin 100 /tmp/held; echo max > {PLATFORM}/cpu.max")
    assert not answer.faults
    # 100 ms at a fifth of a CPU: four periods of 80 ms without one, at least.
    assert answer.value("throttled_ns", "cgroup") > 200_000_000


def test_the_groups_of_all_workers_are_below_the_quota_of_their_instance(agent: Agent) -> None:
    limited = execute(agent, f"echo 20000 100000 > {PLATFORM}/cpu.max")
    two = (record.Worker(worker=0), record.Worker(worker=1))
    answer = execute(agent, "exec spin 100 /tmp/shared", workers=two)
    freed = execute(agent, f"echo max > {PLATFORM}/cpu.max")
    assert not [*limited.faults, *answer.faults, *freed.faults]
    span_ns = max(answer.all("end_ns", "around")) - min(answer.all("start_ns", "around"))
    used_ns = sum(answer.all("cpu_ns", "cgroup"))
    assert used_ns >= 200_000_000
    # What the first period and the last hold comes on top of a fifth of the time.
    assert used_ns <= 0.2 * span_ns + 2 * 20_000_000


def test_a_process_killed_for_want_of_memory_is_told_from_other_signals(agent: Agent) -> None:
    limit = f"echo 48M > {PLATFORM}/memory.max"
    starved = execute(agent, f"{limit}; exec dd if=/dev/zero of=/dev/null bs=64M count=1")
    freed = execute(agent, f"echo max > {PLATFORM}/memory.max")
    killed = execute(agent, "kill -KILL $$")
    assert [fault.kind for fault in starved.faults] == ["out_of_memory"]
    assert starved.value("oom_killed", "wait") == 1
    assert not freed.faults
    assert [fault.kind for fault in killed.faults] == ["signal"]
    assert killed.value("oom_killed", "wait") == 0
