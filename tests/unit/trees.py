"""Machines that were written down: the kernel's files of each as one text."""

from __future__ import annotations

import re
from pathlib import Path

from tare.host.kernel_files import KernelFiles
from tare.host.view import Snapshot, View

FOLDER = Path(__file__).parents[1] / "data/doctor"
MACHINES = sorted(path.stem for path in FOLDER.glob("*.tree"))
#: What is different a second later.
LATER = "later:"


def grow(machine: str, root: Path) -> KernelFiles:
    """Write a machine's files below a folder; those of a second later beside it."""
    for head, body in re.findall(
        r"^=== (\S+)\n(.*?)(?=^=== |\Z)", (FOLDER / f"{machine}.tree").read_text(), re.M | re.S
    ):
        place = root / "later" if head.startswith(LATER) else root / "now"
        for name in _names(head.removeprefix(LATER)):
            path = place / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
    return KernelFiles(root / "now")


def seen(machine: str, root: Path) -> View:
    """Return a machine as it is seen over a second."""
    kernel = grow(machine, root)
    return View(
        kernel=kernel,
        before=Snapshot.take(kernel, 10.0),
        after=Snapshot.take(KernelFiles(root / "later"), 11.0),
    )


def _names(pattern: str) -> list[str]:
    found = re.search(r"\{([\d,]+)\}", pattern)
    if found is None:
        return [pattern]
    return [pattern.replace(found[0], number) for number in found[1].split(",")]
