"""What processes a process has started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def children(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the processes that a process has started, each with its command line."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            status = (path / "stat").read_text().rpartition(")")[2].split()
            line = (path / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if int(status[1]) == pid:
            yield int(path.name), line
