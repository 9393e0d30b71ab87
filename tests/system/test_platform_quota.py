"""Quotas and CPU sets on real platforms: what the kernel counts while workers are busy."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tare import platforms
from tare.agent import record
from tare.errors import PlatformError
from tare.experiment import remnants
from tare.host import lease, processes
from tare.platforms import groups, quota

pytestmark = pytest.mark.system

#: Short, so that half a second holds many and the first one's whole quota weighs little.
PERIOD_US = 20_000
#: Longer than anybody looks; nobody waits for its end.
BUSY = record.Kernel(
    name="exp_float", parameters={"size": 65536, "terms": 4096}, repetitions=10_000, seed=1
)


@contextlib.contextmanager
def busy(stack: str, **given: object) -> Iterator[tuple[platforms.Instance, str]]:
    """Start an instance, and two workers in it that have work for minutes."""
    if not (found := platforms.availability(stack)).works:
        pytest.skip(f"{stack}: {found.why}")
    name = lease.new_name()
    folder = Path("/dev/shm") / name
    with remnants.lease(name):
        folder.mkdir()
        folder.chmod(0o777)
        cpus = given.get("cpus")
        place = platforms.Place(name=f"{name}-0", shared=str(folder), period_us=PERIOD_US)
        try:
            instance = platforms.start(stack, msgspec.structs.replace(place, **given))
        except PlatformError as error:
            if "cannot be limited here" in error.message:
                pytest.skip(error.message)
            raise
        try:
            speaking = instance.agent
            speaking.submit(job(speaking.next_id(), cpus))
            yield instance, name
        finally:
            # Who is busy does not see the end of its input.
            for process in processes.named():
                if process.name.startswith(name):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process.pid, 9)
            instance.close()
            shutil.rmtree(folder)
    assert [one.what for one in remnants.found() if lease.session_of(one.name) == name] == []


def job(number: int, cpus: object) -> record.Trial:
    return record.Trial(
        id=number,
        trial=1,
        nonce=1,
        workload=BUSY,
        workers=tuple(record.Worker(worker=w, cpus=cpus) for w in range(2)),
        iterations=1,
        warmup=0,
        process="fresh",
        tail="stop",
        rendezvous=None,
        timeout_ns=None,
        linger_ns=0,
        observe=False,
        user=None,
        window=None,
    )


def counted_ns(pid: int) -> int:
    """CPU time of everything in the group of an instance, of whichever version."""
    for hierarchy in groups.hierarchies():
        group = groups.of(hierarchy, pid)
        if "cpuacct" in hierarchy.controllers:
            return int((group / "cpuacct.usage").read_text())
        if hierarchy.version == 2 and "cpu" in hierarchy.controllers:
            group = next(held.group for held in quota.held(pid))
            return 1000 * int((group / "cpu.stat").read_text().split()[1])
    pytest.skip("no control group counts CPU time here")


@pytest.mark.parametrize("stack", ["bare", "docker", "unshare"])
def test_all_workers_together_get_the_quota_and_no_more(stack: str) -> None:
    with busy(stack, cores=0.2) as (instance, _):
        pid = instance.host_pid
        assert pid is not None
        (held, *_) = quota.held(pid)
        assert (held.quota_us, held.period_us, held.burst_us or 0) == (4_000, PERIOD_US, 0)
        began, before = time.monotonic_ns(), None
        deadline = began + 20_000_000_000
        while time.monotonic_ns() < deadline:
            time.sleep(0.1)
            now, used = time.monotonic_ns(), counted_ns(pid)
            if before is None:
                # Its input is made, and both are at work.
                before, began = used, now
            elif now - began > 500_000_000:
                break
        assert before is not None
        assert (used - before) / (now - began) == pytest.approx(0.2, rel=0.2)
        facts = {name: value for name, value, _, _ in instance.facts}
        assert facts["quota_cgroup_version"] == held.version
        assert facts["quota_period_ns"] == PERIOD_US * 1000


@pytest.mark.parametrize("stack", ["bare", "docker"])
def test_workers_stay_on_the_cpus_of_the_set(stack: str) -> None:
    last = max(os.sched_getaffinity(0))
    with busy(stack, cpus=(last,), cores=0.5) as (instance, _):
        assert instance.host_pid is not None
        (held, *_) = quota.held(instance.host_pid)
        seen: list[set[int]] = []
        deadline = time.monotonic() + 20
        while len(seen) < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
            members = [
                int(pid)
                for listed in held.group.rglob("cgroup.procs")
                for pid in listed.read_text().split()
            ]
            seen += [os.sched_getaffinity(pid) for pid in members if ran(pid)]
        assert len(seen) >= 10
        assert all(cpus == {last} for cpus in seen)


def ran(pid: int) -> bool:
    """Whether a process is busy: on a CPU, or waiting for one."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "R"
    return False
