"""The processor: who made it, how fast its clock may run, its caches, and who stands between."""

from __future__ import annotations

import re

import msgspec

from tare.host.kernel_files import KernelFiles, cpus

_INFO = "proc/cpuinfo"
_FIRST = "sys/devices/system/cpu/cpu0"
#: Numbers of makers in an Arm processor's identity (Arm, MIDR_EL1).
_ARM_MAKERS = {0x41: "Arm", 0x43: "Cavium", 0x48: "HiSilicon", 0x51: "Qualcomm", 0x61: "Apple",
               0xC0: "Ampere"}  # fmt: skip
#: Clock sources that only guests have, and whose they are.
_GUEST_CLOCKS = {"kvm-clock": "KVM", "hyperv": "Hyper-V", "xen": "Xen"}


class Processor(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of a processor. For Arm, ``family`` is None and ``model`` is the part's number."""

    architecture: str | None
    vendor: str | None
    family: int | None
    model: int | None
    stepping: int | None
    microcode: str | None
    name: str | None
    flags: frozenset[str]


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """Frequencies that are promised."""

    #: What it keeps under load.
    base_hz: int | None
    #: The most that one core reaches.
    maximum_hz: int | None
    #: At which the time-stamp counter ticks: on processors of this century about the base.
    tsc_hz: int | None


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """One cache."""

    level: int
    size_bytes: int
    ways: int | None
    #: That share it.
    cpus: tuple[int, ...]


def processor(files: KernelFiles) -> Processor:
    """Read the processor's identity."""
    arm = files.field(_INFO, "CPU implementer")
    if arm is not None:
        return Processor(
            architecture="aarch64",
            vendor=_ARM_MAKERS.get(_whole(arm) or 0, arm),
            family=None,
            model=_whole(files.field(_INFO, "CPU part")),
            stepping=_whole(files.field(_INFO, "CPU revision")),
            microcode=None,
            name=files.field(_INFO, "model name"),
            flags=frozenset((files.field(_INFO, "Features") or "").split()),
        )
    vendor = files.field(_INFO, "vendor_id")
    return Processor(
        architecture=None if vendor is None else "x86_64",
        vendor={"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}.get(vendor or "", vendor),
        family=_whole(files.field(_INFO, "cpu family")),
        model=_whole(files.field(_INFO, "model")),
        stepping=_whole(files.field(_INFO, "stepping")),
        microcode=files.field(_INFO, "microcode"),
        name=files.field(_INFO, "model name"),
        flags=frozenset((files.field(_INFO, "flags") or "").split()),
    )


def clock(files: KernelFiles, processor: Processor) -> Clock:
    """Read the promised frequencies; of several places that tell one, the most exact."""
    named = re.search(r"@ *([\d.]+) *GHz", processor.name or "")
    megahertz = files.number(f"{_FIRST}/acpi_cppc/nominal_freq")
    base = _kilohertz(files, "cpufreq/base_frequency") or (megahertz and megahertz * 1_000_000)
    if not base and named:
        base = int(float(named[1]) * 1e9)
    maximum = (
        _kilohertz(files, "cpufreq/amd_pstate_max_freq")
        or _kilohertz(files, "cpufreq/cpuinfo_max_freq")
    )  # fmt: skip
    return Clock(base_hz=base or None, maximum_hz=maximum, tsc_hz=_tsc(files, processor))


def _kilohertz(files: KernelFiles, name: str) -> int | None:
    value = files.number(f"{_FIRST}/{name}")
    return value * 1000 if value else None


def _tsc(files: KernelFiles, processor: Processor) -> int | None:
    """With a constant TSC the kernel does not calibrate its delay loop: it takes the TSC's rate.

    ``bogomips`` is then twice that (Linux, ``calibrate_delay_is_known``).
    """
    told = files.field(_INFO, "bogomips")
    if "constant_tsc" not in processor.flags or told is None:
        return None
    try:
        return round(float(told) / 2 * 1e6)
    except ValueError:
        return None


def caches(files: KernelFiles) -> tuple[Cache, ...]:
    """Read the first CPU's caches for data, the nearest first."""
    found = []
    for kind in files.glob(f"{_FIRST}/cache/index[0-9]*/type"):
        folder = kind.removesuffix("/type")
        level = files.number(f"{folder}/level")
        size = _size(files.read(f"{folder}/size"))
        if level is None or size is None or files.read(kind) == "Instruction":
            continue
        found.append(
            Cache(
                level=level,
                size_bytes=size,
                ways=files.number(f"{folder}/ways_of_associativity"),
                cpus=cpus(files.read(f"{folder}/shared_cpu_list")),
            )
        )
    return tuple(sorted(found, key=lambda cache: cache.level))


def _size(text: str | None) -> int | None:
    found = re.fullmatch(r"(\d+)([KMG]?)", text or "")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]] if found else None


def hypervisor(files: KernelFiles, processor: Processor) -> str | None:
    """Name the hypervisor; "none" where the processor says that there is none."""
    if processor.architecture == "x86_64" and "hypervisor" not in processor.flags:
        return "none" if processor.flags else None
    told = files.read("sys/hypervisor/type")
    if told:
        return told.capitalize()
    clocks = files.read("sys/devices/system/clocksource/clocksource0/available_clocksource")
    kind = next((name for word, name in _GUEST_CLOCKS.items() if word in (clocks or "")), None)
    maker = files.read("sys/class/dmi/id/sys_vendor") or None
    if processor.architecture == "x86_64":
        named = [word for word in (kind, maker and f"({maker})" if kind else maker) if word]
        return " ".join(named) or "not told which"
    # Arm processors do not say; firmware of a guest mostly does.
    guest = maker in ("QEMU", "Google", "Amazon EC2", "Microsoft Corporation")
    return kind or (maker if guest else None)


def _whole(text: str | None) -> int | None:
    """Return a whole number; None where the text is none."""
    try:
        return None if text is None else int(text, 0 if text.startswith("0x") else 10)
    except ValueError:
        return None
