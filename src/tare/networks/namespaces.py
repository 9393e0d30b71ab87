"""Network namespaces of this process's threads."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from tare.errors import PlatformError, Typed

_CLONE_NEWNET = 0x40000000


def enter(namespace: Path | str) -> None:
    """Move this thread into a network namespace, as a path in /run/netns or /proc names it.

    Threads and processes that it starts from then on are in it as well.

    Raises
    ------
    PlatformError
        If there is none, or no right to enter it.
    """
    try:
        with Path(namespace).open("rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error))
    except OSError as error:
        raise PlatformError(f"cannot enter {namespace}: {error.strerror}", Typed("sudo")) from error


@contextlib.contextmanager
def inside(namespace: Path | str) -> Iterator[None]:
    """Have this thread in a network namespace until the end of the context."""
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        enter(namespace)
        try:
            yield
        finally:
            enter(f"/proc/self/fd/{before.fileno()}")
