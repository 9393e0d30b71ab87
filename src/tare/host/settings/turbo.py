"""Frequencies that only last while the processor is cool and few cores are busy."""

from __future__ import annotations

import time

from tare.errors import PlatformError
from tare.host.kernel_files import KernelFiles
from tare.host.settings.frequency import FOLDER, absence
from tare.host.settings.setting import FileSetting
from tare.registry import Description
from tare.results.message import message

#: Says "no", where the others say "boost".
INTEL = "/sys/devices/system/cpu/intel_pstate/no_turbo"
#: A CPU's clock is not set to the last kilohertz.
TOLERANCE = 1.02
SPIN_S = 0.05


class Turbo(FileSetting):
    """Intel's file says the opposite of everybody else's."""

    def texts(self, kernel: KernelFiles) -> dict[str, str]:
        """Return what the file that is there means by it."""
        return {"on": "0", "off": "1"} if kernel.exists(INTEL) else self.words


def below_base(kernel: KernelFiles, wanted: str) -> None:
    """Keep the CPU busy for a moment and see that turbo does not raise it above its base.

    Raises
    ------
    PlatformError
        If it does; nothing where the CPU tells neither.
    """
    base = kernel.number(f"{FOLDER}/base_frequency".replace("*", "0"))
    if wanted != "off" or base is None:
        return
    until = time.monotonic() + SPIN_S
    while time.monotonic() < until:
        pass
    highest = max(
        (khz for file in kernel.glob(f"{FOLDER}/scaling_cur_freq") if (khz := kernel.number(file))),
        default=0,
    )
    if highest > base * TOLERANCE:
        raise PlatformError(
            f"turbo is written off, but a CPU runs at {highest} kHz, above its base of {base} kHz"
        )


UNIT = Turbo(
    description=Description(
        name="turbo",
        title="turbo",
        question="Does the speed depend on what the other cores do?",
        source="Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst (boost)",
    ),
    order=22,
    effect=message("+20 to +60 % with one busy core, less with each further one"),
    why=message(
        "the frequency depends on how many cores are busy, and on the heat of earlier work"
    ),
    wanted="off",
    files=(
        INTEL,
        "/sys/devices/system/cpu/cpufreq/boost",
        "/sys/devices/system/cpu/cpu*/cpufreq/boost",
    ),
    words={"on": "1", "off": "0"},
    good=("off",),
    bad_for=("speed", "parallel"),
    why_absent=absence,
    effect_of=below_base,
)
