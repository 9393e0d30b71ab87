"""Whether memory can be swapped out at all: only for whoever asks for it by its name."""

from __future__ import annotations

import subprocess

from tare.errors import ExperimentError, PlatformError
from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import Release, Saved, Setting
from tare.registry import Description

FILE = "/proc/swaps"
#: Of what is free, what swapping in may take at most.
SHARE = 0.5
KERNELS = "the kernel's"


class Swap(Setting):
    """Swap areas, which are taken out of use and back into it."""

    description = Description(
        name="swap",
        title="areas that memory is swapped out to",
        question="Can memory be swapped out at all?",
        source="swapoff(8)",
    )
    wanted = "off"

    def names(self, kernel: KernelFiles) -> list[str]:
        """Return the areas in use."""
        return list(_areas(kernel))

    def absent(self, kernel: KernelFiles) -> str:
        """Say why it cannot be changed here."""
        return "no swap area is in use"

    def check(self, kernel: KernelFiles, wanted: str) -> None:
        """See that there is something to take out of use, and room for what is in it."""
        if wanted != "off":
            raise ExperimentError(f"swap can be held off, not {wanted!r}", "swap=off")
        areas = _areas(kernel)
        if not areas:
            raise PlatformError(f"swap cannot be changed here: {self.absent(kernel)}")
        if not kernel.live:
            raise PlatformError("swap areas of another machine cannot be taken out of use")
        used = sum(int(used) for _, used in areas.values())
        available = int(kernel.fields("/proc/meminfo").get("MemAvailable", "0").split()[0])
        if used > SHARE * available:
            raise PlatformError(
                f"{used} KiB are swapped out and {available} KiB of memory are free: "
                "to swap them in could take the machine down",
                "end what needs so much memory first",
            )

    def read(self, kernel: KernelFiles) -> str | None:
        """Return on or off."""
        return None if not kernel.exists(FILE) else "on" if _areas(kernel) else "off"

    def save(self, kernel: KernelFiles, session: str) -> Saved:
        """Save the areas with their priorities."""
        return {name: priority for name, (priority, _) in _areas(kernel).items()}

    def apply(self, kernel: KernelFiles, wanted: str, session: str) -> Release | None:
        """Take every area out of use."""
        for name in _areas(kernel):
            _run("swapoff", name)
        return None

    def now(self, kernel: KernelFiles, name: str) -> str | None:
        """Return the priority of an area in use."""
        area = _areas(kernel).get(name)
        return None if area is None else area[0]

    def put(self, kernel: KernelFiles, name: str, text: str) -> None:
        """Take an area back into use; the kernel gives those below 0 itself."""
        if name not in _areas(kernel):
            _run("swapon", *([] if text == KERNELS else ["--priority", text]), name)


def _areas(kernel: KernelFiles) -> dict[str, tuple[str, str]]:
    """Return priority and KiB in use of every area."""
    found = {}
    for line in kernel.lines(FILE)[1:]:
        name, _, _, used, priority = line.rsplit(maxsplit=4)
        # Those below 0 are the kernel's own choice, in order of use.
        priority = KERNELS if priority.startswith("-") else priority
        found[name.replace("\\040", " ")] = (priority, used)
    return found


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise OSError(error.errno, f"{command[0]} is not installed") from error
    if done.returncode != 0:
        raise OSError(5, done.stderr.strip() or f"{command[0]} failed")


UNIT = Swap()
