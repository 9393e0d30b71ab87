"""Private folders for leases and state, for one process of the tests and its children.

Root's folders of both are fixed: neither an option nor the environment moves them, since a caller
of sudo could then choose what `tare cleanup` removes. A mount namespace replaces them here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDERS = (Path("/run/tare"), Path("/var/lib/tare"))
#: <sched.h>
_CLONE_NEWNS = 0x20000


def is_possible() -> bool:
    """Return whether this user may make mount namespaces."""
    if os.geteuid() != 0:
        return False
    return subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


@contextlib.contextmanager
def entered() -> Iterator[None]:
    """Move this thread, and what it starts, to a mount namespace with private folders."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWNS)")
    subprocess.run(["mount", "--make-rslave", "/"], check=True)
    with tempfile.TemporaryDirectory(prefix="tests-of-tare-", dir="/var/tmp") as private:
        for folder in FOLDERS:
            replacement = Path(private, folder.parent.name)
            replacement.mkdir(mode=0o700)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", replacement, folder], check=True)
        yield
        for folder in FOLDERS:
            subprocess.run(["umount", "--lazy", folder], check=True)
