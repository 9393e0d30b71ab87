"""Settings that the kernel takes when it starts: the driver of the frequency, and its mode.

Sources: Documentation/admin-guide/kernel-parameters.txt, pm/intel_pstate.rst, pm/amd-pstate.rst.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tare.errors import ExperimentError, PlatformError, TareError
from tare.host.kernel_files import KernelFiles
from tare.host.settings.frequency import absence

#: Values by name; ``hwp`` is Intel's, ``guided`` AMD's.
NAMES: dict[str, tuple[str, ...]] = {
    "driver": ("active", "passive", "guided", "disabled"),
    "hwp": ("on", "off"),
}
GRUB = "/etc/default/grub"
_LINE = "GRUB_CMDLINE_LINUX_DEFAULT"
_PARAMETER = {"Intel": "intel_pstate", "AMD": "amd_pstate"}
_VENDORS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}


def divided(settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what needs a start of the machine, and what can be set while it runs."""
    boot = {name: value for name, value in settings.items() if name in NAMES}
    return boot, {name: value for name, value in settings.items() if name not in NAMES}


def obstacle(wanted: Mapping[str, str], kernel: KernelFiles) -> TareError | None:
    """Tell what keeps this machine from values, however it is started; None: nothing."""
    for name, value in wanted.items():
        if value not in NAMES[name]:
            return ExperimentError(
                f"{name} cannot be {value!r}", f"one of: {', '.join(NAMES[name])}"
            )
    why = _impossible(wanted, kernel) if wanted else None
    return None if why is None else PlatformError(why)


def _impossible(wanted: Mapping[str, str], kernel: KernelFiles) -> str | None:
    """Return why values cannot be had on this machine, or together."""
    vendor, flags = _vendor(kernel), kernel.fields("/proc/cpuinfo").get("flags", "").split()
    driver, hwp = wanted.get("driver"), wanted.get("hwp")
    reasons = {
        "driver and hwp are settings of processors by Intel and AMD": vendor is None,
        f"driver and hwp cannot be chosen here: {absence(kernel)}": (
            "hypervisor" in flags and _driver(kernel) is None
        ),
        "driver=guided is a mode of amd_pstate, and this processor is Intel's": (
            driver == "guided" and vendor == "Intel"
        ),
        "hwp is Intel's, and this processor is AMD's": hwp is not None and vendor == "AMD",
        "this processor has no hardware-managed P-states (HWP)": (
            hwp == "on" and "hwp" not in flags
        ),
        "hwp=on needs intel_pstate, which driver=disabled turns off": (
            hwp == "on" and driver == "disabled"
        ),
    }
    return next((why for why, so in reasons.items() if so), None)


def fits(wanted: Mapping[str, str], kernel: KernelFiles) -> bool:
    """Tell whether the machine was started so, by its driver and what the kernel was told."""
    if "driver" in wanted and mode(kernel) != wanted["driver"]:
        return False
    return "hwp" not in wanted or _hwp(kernel) == wanted["hwp"]


def mode(kernel: KernelFiles) -> str:
    """Return how the vendor's driver works: active, passive, guided or disabled."""
    parameter = _PARAMETER[_vendor(kernel) or "Intel"]
    status = kernel.read(f"/sys/devices/system/cpu/{parameter}/status")
    if status in ("active", "passive", "guided"):
        return status
    # Older kernels tell the driver, not its mode.
    by_driver = {"intel_pstate": "active", "intel_cpufreq": "passive",
                 "amd-pstate-epp": "active", "amd-pstate": "passive"}  # fmt: skip
    return by_driver.get(_driver(kernel) or "", "disabled") if status is None else "disabled"


def _hwp(kernel: KernelFiles) -> str:
    flags = kernel.fields("/proc/cpuinfo").get("flags", "").split()
    told = (kernel.read("/proc/cmdline") or "").split()
    off = "hwp" not in flags or "intel_pstate=no_hwp" in told or mode(kernel) == "disabled"
    return "off" if off else "on"


def parameters(wanted: Mapping[str, str], kernel: KernelFiles) -> tuple[str, ...]:
    """Return what the kernel is to be told at its start; hwp=on is told by nothing."""
    name = _PARAMETER[_vendor(kernel) or "Intel"]
    found = []
    if "driver" in wanted:
        found.append(f"{name}={wanted['driver'].replace('disabled', 'disable')}")
    if wanted.get("hwp") == "off" and wanted.get("driver") != "disabled":
        found.append(f"{name}=no_hwp")
    return tuple(found)


def instructions(boot: tuple[str, ...], kernel: KernelFiles) -> list[str]:
    """Return what to do so that the machine starts with parameters: lines for a person.

    Parameters
    ----------
    boot : tuple of str
        From :func:`parameters`; empty: without any of their kind.
    kernel : KernelFiles
        Has the present line of GRUB, of which the rest is kept.
    """
    line = re.search(rf"^{_LINE}=(['\"]?)(.*?)\1\s*$", kernel.read(GRUB) or "", re.MULTILINE)
    kept = [word for word in (line[2] if line else "").split() if not _is_ours(word)]
    words = " ".join([*kept, *boot])
    return [
        f'in {GRUB}:  {_LINE}="{words}"',
        "sudo update-grub   (elsewhere: sudo grub2-mkconfig -o /boot/grub2/grub.cfg)",
        "sudo reboot",
    ]


def _is_ours(word: str) -> bool:
    return word.partition("=")[0] in _PARAMETER.values()


def _vendor(kernel: KernelFiles) -> str | None:
    return _VENDORS.get(kernel.fields("/proc/cpuinfo").get("vendor_id", ""))


def _driver(kernel: KernelFiles) -> str | None:
    return kernel.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver")
