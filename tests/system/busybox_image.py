"""An image of one program: busybox, under the names of what it stands for."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest


def make(root: Path, *programs: str) -> None:
    """Fill a folder with busybox, and links to it; skip the test where it is not installed."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("busybox is not installed")
    for name in ("bin", "etc", "usr", "application"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin" / "busybox")
    for name in programs:
        (root / "bin" / name).symlink_to("busybox")
    # One that is not static needs its libraries.
    linked = subprocess.run(["ldd", busybox], capture_output=True, text=True, check=False).stdout
    for library in re.findall(r"/\S+", linked):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost tare\n")
