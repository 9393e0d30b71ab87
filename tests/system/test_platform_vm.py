"""Virtual machines of QEMU's, booted for real; under emulation, so that no time is a measure."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tare import platforms
from tare.agent import record
from tare.errors import PlatformError
from tare.experiment import remnants
from tare.host import lease, processes, programs

MIB = 1 << 20
PATH = os.defpath
QEMU = f"qemu-system-{platform.machine()}"

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(shutil.which(QEMU) is None, reason=f"{QEMU} is not installed"),
    pytest.mark.skipif(not list(Path("/boot").glob("vmlinuz-*")), reason="there is no kernel"),
]


@contextlib.contextmanager
def session() -> Iterator[str]:
    """A session with its shared directory; nothing of it may be left at its end."""
    name = lease.new_name()
    folder = Path("/dev/shm") / name
    with remnants.lease(name):
        folder.mkdir()
        try:
            yield name
            left = [one.what for one in remnants.found() if lease.session_of(one.name) == name]
            assert left == [f"directory {folder}"]
        finally:
            shutil.rmtree(folder)


def place(name: str, number: int = 0, **given: Any) -> platforms.Place:
    options = {"accelerator": "tcg"} | given.pop("options", {})
    return platforms.Place(
        name=f"{name}-{number}",
        shared=f"/dev/shm/{name}",
        options={"vm": options},
        **given,
    )


class Guest:
    """A guest of two processors, 300 MiB, pinned, with a shell in it."""

    def __init__(self, instance: platforms.Instance, name: str) -> None:
        self.instance = instance
        self.name = name
        self.agent = instance.agent

    def execute(
        self, workload: record.Workload, workers: int = 1, **changes: Any
    ) -> list[record.Record]:
        job = {
            "iterations": 1,
            "warmup": 0,
            "process": "fresh",
            "tail": "stop",
            "linger_ns": 0,
            "timeout_ns": 60_000_000_000,
            "observe": True,
        } | changes
        number = self.agent.next_id()
        many = tuple(record.Worker(worker=worker) for worker in range(workers))
        trial = record.Trial(
            id=number, trial=number, nonce=1, workload=workload, workers=many, **job
        )
        return self.agent.ask(trial, timeout_s=90)

    def shell(self, script: str, **changes: Any) -> list[record.Record]:
        capture = record.Capture(limit_bytes=4096)
        argv = ("/bin/sh", "-c", script)
        return self.execute(
            record.Command(argv=argv, environment={"PATH": PATH}, capture=capture), **changes
        )

    def output(self, script: str) -> str:
        """What a script prints: evidence of a command that fails."""
        (fault,) = [r for r in self.shell(f"({script}) >&2; exit 1") if isinstance(r, record.Fault)]
        assert fault.evidence, fault
        return fault.evidence


CPUS = sorted(os.sched_getaffinity(0))[:2]


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    given: dict[str, Any] = {
        "cpus": tuple(CPUS),
        "memory_bytes": 300 * MIB,
        "files": tuple(str(programs.find(name)) for name in ("sh", "sleep", "cat", "nproc")),
    }
    with session() as name:
        instance = platforms.start("vm", place(name, **given))
        try:
            yield Guest(instance, name)
        finally:
            instance.close()


def faults(records: list[record.Record]) -> list[str]:
    return [one.kind for one in records if isinstance(one, record.Fault)]


def values(records: list[record.Record], metric: str) -> list[float]:
    return [
        one.value
        for one in records
        if isinstance(one, record.Sample) and one.metric == metric and one.phase == "measured"
    ]


def qemu(name: str) -> processes.Process:
    (found,) = [p for p in processes.named() if p.name == name and QEMU in p.argv[0]]
    return found


def test_a_guest_is_another_machine_and_says_that_it_is_emulated(guest: Guest) -> None:
    told = {name: value for name, value, _, _ in guest.instance.facts}
    assert told["emulated"] is True
    assert told["vm_accelerator"] == "tcg"
    assert guest.instance.host_pid is None
    assert not guest.instance.shares_memory
    own = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert guest.agent.hello.boot_id != own
    assert told["vm_kernel"] in guest.output("cat /proc/version")


def test_a_guest_has_the_size_that_was_asked(guest: Guest) -> None:
    assert guest.output("nproc").strip() == str(len(CPUS))
    total = next(x for x in guest.output("cat /proc/meminfo").splitlines() if "MemTotal" in x)
    # What the kernel's own code and tables take is not in it.
    assert 200 * MIB < int(total.split()[1]) * 1024 < 300 * MIB


def test_each_processor_is_pinned_to_a_cpu_of_its_own(guest: Guest) -> None:
    tasks = Path(f"/proc/{qemu(f'{guest.name}-0').pid}/task")
    held = [tuple(sorted(os.sched_getaffinity(int(task.name)))) for task in tasks.iterdir()]
    assert set(held) <= {tuple(CPUS), *((cpu,) for cpu in CPUS)}
    assert all((cpu,) in held for cpu in CPUS)


def test_the_clock_of_a_guest_goes_as_the_hosts(guest: Guest) -> None:
    def offset_ns() -> float:
        best = None
        for _ in range(5):
            before = time.monotonic_ns()
            (said,) = guest.agent.ask(record.ReadClocks(id=guest.agent.next_id()), 30)
            after = time.monotonic_ns()
            assert isinstance(said, record.Clocks)
            found = (after - before, said.monotonic_ns - (before + after) / 2)
            best = found if best is None else min(best, found)
        assert best is not None
        return best[1]

    began, first = time.monotonic_ns(), offset_ns()
    guest.shell("sleep 2")
    span = time.monotonic_ns() - began
    # Whatever is to be measured in a guest: within a twentieth, its seconds are those of the host.
    assert abs(offset_ns() - first) < 0.05 * span


def test_kernels_and_commands_are_executed_and_told(guest: Guest) -> None:
    kernel = record.Kernel(name="null", parameters={}, repetitions=1, seed=1)
    records = guest.execute(kernel, iterations=3)
    assert not faults(records)
    assert len(values(records, "wall_ns")) >= 3
    records = guest.shell("exit 0", iterations=2)
    assert not faults(records)
    assert min(values(records, "wall_ns")) > 0


def test_what_goes_wrong_inside_is_told_and_the_guest_goes_on(guest: Guest) -> None:
    assert "exit" in faults(guest.shell("exit 3"))
    assert "signal" in faults(guest.shell("kill -KILL $$"))
    assert "timeout" in faults(guest.shell("sleep 100", timeout_ns=500_000_000))
    assert "launch" in faults(guest.execute(record.Command(argv=("/none",), environment={})))
    assert not faults(guest.shell("exit 0"))


def test_two_workers_of_one_guest_meet_in_it(guest: Guest) -> None:
    met = record.Rendezvous(handout=None, parties=2)
    kernel = record.Kernel(name="null", parameters={}, repetitions=1, seed=1)
    records = guest.execute(kernel, workers=2, iterations=2, rendezvous=met)
    assert not faults(records)
    assert {r.worker for r in records if isinstance(r, record.Sample)} >= {0, 1}


def test_a_kernel_that_panics_is_told_with_its_last_words() -> None:
    # What it starts first is none of its files.
    given = {"options": {"append": "rdinit=/tare/guest.json"}}
    with session() as name, pytest.raises(PlatformError, match="Kernel panic") as caught:
        platforms.start("vm", place(name, **given))
    assert caught.value.message.startswith("vm ")


def test_a_guest_that_hangs_is_not_waited_for_longer_than_told() -> None:
    given = {"options": {"append": "rdinit=/bin/sleep", "start_s": 1.0}}
    with session() as name, pytest.raises(PlatformError, match="did not answer within 1 s"):
        platforms.start("vm", place(name, **given))


def test_a_root_of_its_own_and_a_part_of_a_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("groups are made by root alone")
    if shutil.which("mke2fs") is None:
        pytest.skip("mke2fs is not installed")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = tmp_path / "tree"
    tree.mkdir()
    for path in programs.closure([programs.find("sh"), programs.find("cat")]):
        inside = tree / path.relative_to("/")
        if path.is_symlink():
            inside.symlink_to(path.readlink())
        elif path.is_dir():
            inside.mkdir()
        else:
            shutil.copy(path, inside)
    (tree / "data").write_text("disk ")
    given = {"cores": 1.5, "options": {"root": str(tree)}}
    with session() as name:
        instance = platforms.start("vm", place(name, **given))
        try:
            told = {name: value for name, value, _, _ in instance.facts}
            assert told["quota_period_ns"] == 100_000_000
            assert f"{name}-0" in Path(f"/proc/{qemu(f'{name}-0').pid}/cgroup").read_text()
            guest = Guest(instance, name)
            # What is written goes to memory: the disk is only read.
            read = guest.output("cat /data; echo more >>/data; cat /data")
            assert read == "disk disk more"
            seen = guest.agent.ask(record.MeasureSelf(id=guest.agent.next_id()), 60)
            facts = {one.name: one.value for one in seen if isinstance(one, record.Fact)}
            assert facts["cpus_visible"] == 2
        finally:
            instance.close()
        assert not [p for p in processes.named() if p.name == f"{name}-0"]
    assert (tree / "data").read_text() == "disk "


def test_nothing_is_left_when_tare_is_killed() -> None:
    """A guest that hangs does not see it; what is around QEMU does."""
    name = lease.new_name()
    folder = Path("/dev/shm") / name
    script = (
        "from tare import platforms\n"
        "options = {'vm': {'accelerator': 'tcg', 'append': 'rdinit=/bin/sleep'}}\n"
        f"place = platforms.Place(name='{name}-0', shared='{folder}', folder='{folder}', "
        "options=options)\n"
        "platforms.start('vm', place)\n"
    )
    folder.mkdir()
    try:
        front = subprocess.Popen([sys.executable, "-c", script])
        deadline = time.monotonic() + 30
        while not [p for p in processes.named() if p.name == f"{name}-0"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        front.send_signal(signal.SIGKILL)
        front.wait()
        while [p for p in processes.named() if p.name == f"{name}-0"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        shutil.rmtree(folder)
        for one in remnants.found():
            if lease.session_of(one.name) == name:
                one.remove()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cores": 4096.0}, "4096 processors was asked"),
        ({"memory_bytes": 1 << 50}, "MiB was asked, and this machine has"),
        ({"memory_bytes": 1 << 20}, "needs 128 MiB for its kernel"),
        ({"runs_commands": True}, "does not know which files"),
        ({"options": {"kernel": "/none"}}, "no file /none"),
        ({"options": {"kernel": "/bin/sh"}}, "does not say its version"),
        ({"options": {"root": "/none"}}, "neither a directory nor a .tar"),
        ({"files": ("/none/such",)}, "cannot be packed"),
    ],
)
def test_what_cannot_be_is_said_before_anything_boots(given: dict[str, Any], words: str) -> None:
    with session() as name, pytest.raises(PlatformError, match=words):
        platforms.start("vm", place(name, **given))
