"""Which sockets wait for somebody, in the network that a process is in."""

from __future__ import annotations

import contextlib
from pathlib import Path

#: States of sockets that wait, by table in /proc: of TCP, and of UDP that nobody has joined.
_STATES = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
_STATE, _INODE = 3, 9


def waiting(pid: int) -> set[str]:
    """Return a name for each socket that waits; nothing where the process is gone."""
    found = set()
    for table, state in _STATES.items():
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
            rows = [row for row in map(str.split, lines) if len(row) > _INODE]
            found |= {f"{table} {row[_INODE]}" for row in rows if row[_STATE] == state}
    return found
