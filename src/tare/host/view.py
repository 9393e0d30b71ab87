"""A machine as checks see it: its kernel's files, now and a moment later, and its noise."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

from tare.host.kernel_files import KernelFiles, cpus

#: Bits of capabilities in ``CapEff``.
SYS_ADMIN, PERFMON = 21, 38
_INTERRUPT = re.compile(r"\s*(\w+):\s+(.*)")


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process, at a moment."""

    name: str
    #: Processor time so far, in ticks.
    ticks: int
    #: Ticks from boot to its start; with the pid an identity.
    started: int


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Counters of the kernel at one moment."""

    seconds: float
    #: By CPU, and of all as "cpu": ticks by what it did, in the order of ``/proc/stat``.
    ticks: dict[str, tuple[int, ...]]
    #: By interrupt: what it is, and how often on each CPU.
    interrupts: dict[str, tuple[str, tuple[int, ...]]]
    processes: dict[int, Process]
    paging: dict[str, int]
    throttled: int

    @classmethod
    def take(cls, kernel: KernelFiles, seconds: float | None = None) -> Snapshot:
        """Read the counters; of a machine's recorded files one says when it was."""
        return cls(
            seconds=time.monotonic() if seconds is None else seconds,
            ticks=_ticks(kernel),
            interrupts=_interrupts(kernel),
            processes=_processes(kernel),
            paging={
                key: int(value)
                for key, _, value in (line.partition(" ") for line in kernel.lines("/proc/vmstat"))
                if key in ("pswpin", "pswpout") and value.isdigit()
            },
            throttled=sum(kernel.number(name) or 0 for name in kernel.glob(THROTTLES)),
        )


#: How often each core, and its package, was held back for its heat.
THROTTLES = "/sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count"


@dataclass(frozen=True, kw_only=True)
class CpuNoise:
    """How often, and for how long, one CPU did something else than what it was asked to."""

    cpu: int
    #: Share of the time.
    lost: float
    #: Of one detour, in the median and at worst.
    median_ns: float | None
    longest_ns: float | None
    #: Detours a second.
    rate_hz: float | None
    #: Period of regular detours, in ns; None: detours are not regular.
    period_ns: float | None


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What the probe of the operating system's noise brought of all CPUs, over some seconds."""

    cpus: tuple[CpuNoise, ...]
    #: Why there is none, or not of all.
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class View:
    """A machine as the checks see it."""

    kernel: KernelFiles
    before: Snapshot | None = None
    after: Snapshot | None = None
    noise: Noise | None = None
    #: After the noise was listened to.
    listened: Snapshot | None = None
    #: Bytes that are free by folder.
    room: dict[str, int] | None = None

    @classmethod
    def of(cls, kernel: KernelFiles) -> View:
        """See a machine's files; what only a call tells is this machine's."""
        if not kernel.live:
            return cls(kernel=kernel)
        return cls(kernel=kernel, room=_room())

    @property
    def seconds(self) -> float | None:
        """How long rates were counted over; None: they were not."""
        if self.before is None or self.after is None:
            return None
        return self.after.seconds - self.before.seconds

    def pages_a_second(self) -> float:
        """Return how many pages were swapped in and out; 0 where that was not counted."""
        if self.before is None or self.after is None or not self.seconds:
            return 0.0
        moved = sum(self.after.paging.values()) - sum(self.before.paging.values())
        return moved / self.seconds

    def online(self) -> tuple[int, ...]:
        """Return the CPUs that run."""
        found = cpus(self.kernel.read("/sys/devices/system/cpu/online"))
        if found:
            return found
        names = (line.split()[0] for line in self.kernel.lines("/proc/stat"))
        return tuple(int(n[3:]) for n in names if re.fullmatch(r"cpu\d+", n))

    def flags(self) -> frozenset[str]:
        """Return what the first CPU can do; empty where that is not told."""
        return frozenset(self.kernel.fields("/proc/cpuinfo").get("flags", "").split())

    def virtual(self) -> bool | None:
        """Tell whether this is a virtual machine; None: it does not show."""
        if "hypervisor" in self.flags() or self.kernel.exists("/sys/hypervisor/type"):
            return True
        if self.kernel.exists("/proc/device-tree/hypervisor"):
            return True
        return False if self.flags() else None

    def root(self) -> bool:
        """Tell whether tare runs as root."""
        return self.kernel.fields("/proc/self/status").get("Uid", "1 1").split()[1] == "0"

    def capable(self, *bits: int) -> bool:
        """Tell whether tare has one of some capabilities."""
        held = int(self.kernel.fields("/proc/self/status").get("CapEff", "0"), 16)
        return any(held >> bit & 1 for bit in bits)

    def messages(self) -> list[str]:
        """Return what the kernel said since boot, as far as it keeps that; empty: not visible."""
        raw = _messages(self.kernel)
        return [line.partition(";")[2] or line for line in raw.splitlines()]


def _ticks(kernel: KernelFiles) -> dict[str, tuple[int, ...]]:
    found = {}
    for line in kernel.lines("/proc/stat"):
        name, _, words = line.partition(" ")
        numbers = _whole(words.split())
        if re.fullmatch(r"cpu\d*", name) and numbers is not None:
            found[name] = numbers
    return found


def _whole(words: list[str]) -> tuple[int, ...] | None:
    """Return whole numbers; None: some kernel, or what stands in for one, writes others."""
    try:
        return tuple(map(int, words))
    except ValueError:
        return None


def _interrupts(kernel: KernelFiles) -> dict[str, tuple[str, tuple[int, ...]]]:
    found = {}
    head, *lines = kernel.lines("/proc/interrupts") or [""]
    columns = len(head.split())
    for line in lines:
        if (parts := _INTERRUPT.match(line)) is None:
            continue
        words = parts[2].split()
        counts = [int(word) for word in words[:columns] if word.isdigit()]
        what = " ".join(words[len(counts) :])
        # A device's interrupt begins with its controller and the kind of its signal.
        name = what.split()[-1] if parts[1].isdigit() and what else what
        found[parts[1]] = (name or parts[1], tuple(counts))
    return found


def _processes(kernel: KernelFiles) -> dict[int, Process]:
    found = {}
    for name in kernel.glob("/proc/[0-9]*"):
        text = kernel.read(f"{name}/stat") or ""
        fields = text.rpartition(")")[2].split()
        numbers = _whole([*fields[11:13], *fields[19:20]])
        # It may have ended between the listing and the reading.
        if numbers is not None and len(numbers) == 3:
            found[int(name.rpartition("/")[2])] = Process(
                # Whoever named it may have put a line break in, to write a line of ours.
                name=" ".join(text.partition("(")[2].rpartition(")")[0].split()),
                ticks=numbers[0] + numbers[1],
                started=numbers[2],
            )
    return found


def _messages(kernel: KernelFiles) -> str:
    """Read the ring of the kernel's messages, each of which is one read."""
    parts: list[bytes] = []
    try:
        file = os.open(kernel.path("/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        while part := os.read(file, 1 << 16):
            parts.append(part)
    except OSError:
        pass  # the end of the ring
    finally:
        os.close(file)
    return b"".join(parts).decode(errors="replace")


def _room() -> dict[str, int]:
    found = {}
    for folder in ("/", "/tmp", os.path.curdir):
        try:
            told = os.statvfs(folder)
        except OSError:
            continue
        # Nobody's results go to where nothing can be written.
        if told.f_flag & os.ST_RDONLY:
            continue
        found[os.path.realpath(folder)] = told.f_bavail * told.f_frsize
    return found
