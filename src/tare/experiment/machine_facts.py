"""What this machine is: read from the kernel's files, changed nowhere."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec

from tare.agent import client
from tare.decoding import builtins
from tare.errors import AgentError
from tare.experiment.journal import MachineFact
from tare.host import cloud, state
from tare.host.kernel_files import KernelFiles
from tare.host.settings import turbo

_HERE = KernelFiles()
_MEMORY = "/proc/meminfo"
_FREQUENCY = "/sys/devices/system/cpu/cpu0/cpufreq"


def topology() -> dict[str, Any]:
    """Return packages, caches, cores and the orders in which workers take CPUs.

    Returns
    -------
    dict
        What ``tare-agent topology`` prints.

    Raises
    ------
    AgentError
        If the agent cannot read the topology.
    """
    command = [str(client.binary()), "topology"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AgentError(f"the machine's topology cannot be read: {done.stderr.strip()}")
    parsed: dict[str, Any] = builtins(done.stdout)
    return parsed


def own_age_s() -> float:
    """Seconds since this process was started."""
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


def boot_id() -> str | None:
    """Return the identity of this boot: stamps of other boots are never subtracted."""
    return _HERE.read("/proc/sys/kernel/random/boot_id")


def facts(found: dict[str, Any]) -> list[MachineFact]:
    """Return what a result must say of the machine that it comes from.

    Parameters
    ----------
    found : dict
        The machine's topology.

    Returns
    -------
    list of MachineFact
        Only what could be read: what is absent here is not known.
    """
    read = _HERE.read
    told: dict[str, tuple[bool | int | float | str | None, str | None, str]] = {
        "kernel": (platform.release(), None, "uname"),
        "architecture": (platform.machine(), None, "uname"),
        "system": (_os_release(), None, "/etc/os-release"),
        "cpu": (_HERE.field("/proc/cpuinfo", "model name"), None, "/proc/cpuinfo"),
        "cpus": (len(os.sched_getaffinity(0)), None, "sched_getaffinity"),
        "cores": (found.get("cores"), None, "sysfs"),
        "packages": (found.get("packages"), None, "sysfs"),
        "memory_bytes": (found.get("memory_bytes"), "bytes", "/proc/meminfo"),
        "hypervisor": (_hypervisor(), None, "/proc/cpuinfo"),
        **{name: (value, None, source) for name, (value, source) in cloud.facts(_HERE).items()},
        "clock_source": (
            read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            None,
            "sysfs",
        ),
        "governor": (read(f"{_FREQUENCY}/scaling_governor"), None, "sysfs"),
        "driver": (read(f"{_FREQUENCY}/scaling_driver"), None, "sysfs"),
        "driver_mode": (_driver_mode(), None, "sysfs"),
        "hwp": (_hwp(), None, "/proc/cpuinfo"),
        "turbo": (turbo.UNIT.read(_HERE), None, "sysfs"),
        "smt": (read("/sys/devices/system/cpu/smt/control"), None, "sysfs"),
        "huge_pages": (_HERE.value("/sys/kernel/mm/transparent_hugepage/enabled"), None, "sysfs"),
        "address_randomization": (read("/proc/sys/kernel/randomize_va_space"), None, "procfs"),
        "cgroup": (_cgroup(), None, "/proc/mounts"),
        "autogroup": (read("/proc/sys/kernel/sched_autogroup_enabled"), None, "procfs"),
        "swap_bytes": (_HERE.size_bytes(_MEMORY, "SwapTotal"), "bytes", "/proc/meminfo"),
        "load_average": (os.getloadavg()[0], None, "/proc/loadavg"),
        "user": (os.geteuid(), None, "geteuid"),
    }
    known = [
        MachineFact(name=name, value=value, unit=unit, source=source)
        for name, (value, unit, source) in told.items()
        if value not in (None, "")
    ]
    own = (
        MachineFact(name=fact.name, value=fact.value, unit=fact.unit, source="tare selftest")
        for fact in selftest_facts()
    )
    return [*known, *own]


def selftest_facts() -> tuple[state.Fact, ...]:
    """Return what the last self-test found, where it was of this agent on this kernel."""
    kept = state.read(state.SELFTEST) or {}
    if (kept.get("agent_digest"), kept.get("kernel")) != (client.digest(), platform.release()):
        return ()
    try:
        found = msgspec.convert(kept.get("facts"), tuple[state.Fact, ...])
    except msgspec.ValidationError:
        return ()  # of another tare, or damaged
    return tuple({fact.name: fact for fact in found}.values())


def now() -> str:
    """Return the moment, UTC, to the minute."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")


def available_bytes() -> int | None:
    """Return the memory that can be had without swapping; None: the kernel does not tell."""
    return _HERE.size_bytes(_MEMORY, "MemAvailable")


def _os_release() -> str | None:
    for line in _HERE.lines("/etc/os-release"):
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


def _driver_mode() -> str | None:
    """Return how the vendor's driver works: active, passive or guided."""
    folders = (f"/sys/devices/system/cpu/{name}" for name in ("intel_pstate", "amd_pstate"))
    return next((mode for folder in folders if (mode := _HERE.read(f"{folder}/status"))), None)


def _hwp() -> str | None:
    """Return whether the processor chooses its frequency by itself; only where one is to be seen.

    The kernel shows the flag whether it uses it or not: only an active driver does.
    """
    if _HERE.read(f"{_FREQUENCY}/scaling_driver") != "intel_pstate":
        return None
    return "on" if "hwp" in (_HERE.field("/proc/cpuinfo", "flags") or "").split() else "off"


def _cgroup() -> str | None:
    """Return the version of the control groups that hold CPU quotas."""
    mounts = [line.split() for line in _HERE.lines("/proc/mounts")]
    for _, path, kind, options, *_ in (m for m in mounts if len(m) >= 4):
        if kind == "cgroup" and "cpu" in options.split(","):
            return "1"
        if kind == "cgroup2" and "cpu" in (_HERE.read(f"{path}/cgroup.controllers") or "").split():
            return "2"
    return None


def _hypervisor() -> str | None:
    flags = (_HERE.field("/proc/cpuinfo", "flags") or "").split()
    if not flags:
        return None
    vendor = _HERE.read("/sys/class/dmi/id/sys_vendor")
    return f"yes ({vendor or 'vendor not told'})" if "hypervisor" in flags else "none"
