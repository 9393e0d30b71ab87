"""Where a program's memory is, drawn anew at every start: only then its bias averages out."""

from __future__ import annotations

import subprocess

from tare.errors import PlatformError, Typed
from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import FileSetting
from tare.registry import Description
from tare.results.message import message

#: Programs that are looked at: two agree by chance on one of some 2^22 places of the stack.
STARTS = 3


def drawn(kernel: KernelFiles, wanted: str) -> None:
    """Start a program some times and see whether its stack is where it was.

    Raises
    ------
    PlatformError
        If it moves although it should not, or the other way about.
    """
    places = set()
    for _ in range(STARTS):
        done = subprocess.run(
            ["cat", "/proc/self/maps"], capture_output=True, text=True, check=False
        )
        places |= {line.split()[0] for line in done.stdout.splitlines() if line.endswith("[stack]")}
    if places and (len(places) > 1) != (wanted != "off"):
        moves = "moves" if len(places) > 1 else "does not move"
        raise PlatformError(
            f"address_randomization is {wanted}, but the stack {moves} from start to start",
            Typed("setarch -R true   (whether the shell's own personality decides)"),
        )


UNIT = FileSetting(
    description=Description(
        name="address_randomization",
        title="address randomisation",
        question="Do executions draw their layout in memory anew?",
        source="Documentation/admin-guide/sysctl/kernel.rst; "
        "Mytkowicz et al., Producing wrong data without doing anything obviously wrong, 2009",
    ),
    order=32,
    effect=message("some per cent in either direction, the same in every repetition"),
    why=message("executions share a layout, and its bias looks like a property of the program"),
    wanted="on",
    files=("/proc/sys/kernel/randomize_va_space",),
    words={"off": "0", "partial": "1", "on": "2"},
    good=("on",),
    bad_for=("times", "speed", "strangers"),
    effect_of=drawn,
)
