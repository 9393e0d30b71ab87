"""What isolate writes of a box: ``key:value`` lines in any order, any of them missing.

What runs in the box can write the file as well, so nothing in it is believed to be well formed.
"""

from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path

from tare.platforms.layer import Figure

#: More than all keys that there are.
LIMIT = 1 << 16

#: Keys, each with a metric and its units per unit of isolate's.
Keys = tuple[tuple[str, str, int], ...]
#: Of a box that the agent is in: its life is the instance's, not that of a program.
OF_INSTANCE: Keys = (
    ("time", "instance_cpu_ns", 1_000_000_000),
    ("time-wall", "instance_wall_ns", 1_000_000_000),
    ("cg-mem", "instance_memory_bytes", 1024),
    ("max-rss", "instance_process_memory_bytes", 1024),
)
#: Of a run of one program.
OF_PROGRAM: Keys = (
    ("time", "cpu_ns", 1_000_000_000),
    ("time-wall", "wall_ns", 1_000_000_000),
    ("max-rss", "memory_bytes", 1024),
)


def read(path: Path) -> str:
    """Return the text of a small regular file, or nothing."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, LIMIT).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(file)


def figures(text: str) -> list[Figure]:
    """Return the figures of a box that the agent was in."""
    found = _values(text, OF_INSTANCE)
    return [Figure(metric=m, source="isolate", value=value) for m, value in found.items()]


def program(text: str) -> dict[str, int]:
    """Return the figures of a program's run, by metric.

    The program may have written such lines before isolate did: of several, the last counts.
    """
    return _values(text, OF_PROGRAM)


def failure(text: str) -> str | None:
    """Return how a program's run failed; None if it ended well, or isolate does not say."""
    values = _entries(text)
    for key, name in (("exitsig", "signal"), ("exitcode", "exit code")):
        number = values.get(key, "")
        if re.fullmatch(r"[0-9]{1,3}", number, re.ASCII) and number != "0":
            return f"{name} {number}"
    return "isolate's time limit" if values.get("status") == "TO" else None


def _entries(text: str) -> dict[str, str]:
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def _values(text: str, keys: Keys) -> dict[str, int]:
    """Return the values of a meta file; isolate truncates to whole milliseconds and KiB."""
    values = _entries(text)
    return {
        metric: int(Decimal(value) * scale)
        for key, metric, scale in keys
        if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", value := values.get(key, ""), re.ASCII)
    }


def version(text: str) -> str | None:
    """Return the version from what ``isolate --version`` prints."""
    found = re.search(r"isolator ([0-9][0-9.]{0,20})", text)
    return found.group(1) if found else None
