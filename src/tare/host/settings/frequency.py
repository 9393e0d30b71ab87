"""Where the settings of the frequency are, and why there are none."""

from __future__ import annotations

from tare.host.kernel_files import KernelFiles

_NO_FREQUENCY_TEXTS = {
    "setting": "the driver of this processor has no such setting",
    "hypervisor": "no cpufreq directory: the hypervisor controls the frequency",
    "sysfs": "sysfs is not visible here",
    "driver": "no cpufreq directory: there is no driver, or the firmware controls the frequency",
}

FOLDER = "/sys/devices/system/cpu/cpu*/cpufreq"


def absence(kernel: KernelFiles) -> str:
    """Return why there is nothing of the frequency to be set."""
    if kernel.glob(f"{FOLDER}/scaling_governor"):
        why = "setting"
    elif "hypervisor" in kernel.fields("/proc/cpuinfo").get("flags", "").split():
        why = "hypervisor"
    else:
        why = "driver" if kernel.exists("/sys/devices/system/cpu/cpu0") else "sysfs"
    return _NO_FREQUENCY_TEXTS[why]
