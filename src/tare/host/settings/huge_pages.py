"""Pages of 2 MiB where a program did not ask for them."""

from __future__ import annotations

import mmap

from tare.errors import PlatformError
from tare.host.kernel_files import KernelFiles
from tare.host.settings.setting import FileSetting
from tare.registry import Description

#: Room for a huge page wherever the area begins.
AREA_BYTES = 8 << 20


def eligible(kernel: KernelFiles, wanted: str) -> None:
    """See that fresh memory, for which nothing was asked, may or may not have huge pages.

    Raises
    ------
    PlatformError
        If the kernel says otherwise of an area than what was set.
    """
    before = _areas(kernel)
    with mmap.mmap(-1, AREA_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        # What is next to it can have been there: an area that is new or has grown is it.
        after = {start: got for start, got in _areas(kernel).items() if before.get(start) != got}
        area[0] = 1
    said = {got[1] for got in after.values() if got[1] is not None}
    if said and (True in said) != (wanted == "always"):
        raise PlatformError(f"huge_pages is {wanted}, but fresh memory says otherwise in smaps")


def _areas(kernel: KernelFiles) -> dict[str, tuple[str, bool | None]]:
    """Return every area of this process: its end, and whether it may have huge pages."""
    found: dict[str, tuple[str, bool | None]] = {}
    start = end = ""
    for line in kernel.lines("/proc/self/smaps"):
        word = line.split(maxsplit=1)[0]
        if not word.endswith(":"):
            start, _, end = word.partition("-")
            found[start] = (end, None)
        elif word == "THPeligible:":
            found[start] = (end, line.split()[1] == "1")
    return found


UNIT = FileSetting(
    description=Description(
        name="huge_pages",
        title="huge pages where a program did not ask for them",
        question="Does memory come in huge pages, or in small ones, or as luck has it?",
        source="Documentation/admin-guide/mm/transhuge.rst",
    ),
    wanted="madvise",
    files=("/sys/kernel/mm/transparent_hugepage/enabled",),
    words={"always": "always", "madvise": "madvise", "never": "never"},
    effect=eligible,
)
