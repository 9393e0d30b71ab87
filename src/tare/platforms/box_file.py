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

#: Key, metric, and what one unit of it is in the metric's. A box lives as long as its agent, so
#: these are figures of the instance, not of a workload.
KEYS = (
    ("time", "instance_cpu_ns", 1_000_000_000),
    ("time-wall", "instance_wall_ns", 1_000_000_000),
    ("cg-mem", "instance_memory_bytes", 1024),
    ("max-rss", "instance_process_memory_bytes", 1024),
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
    """Return the figures of a meta file; isolate counts whole milliseconds and KiB, cut off."""
    values = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    found: list[Figure] = []
    for key, metric, scale in KEYS:
        value = values.get(key, "")
        if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", value, re.ASCII):
            found.append(Figure(metric=metric, source="isolate", value=int(Decimal(value) * scale)))
    return found


def version(text: str) -> str | None:
    """Return the version from what ``isolate --version`` prints."""
    found = re.search(r"isolator ([0-9][0-9.]{0,20})", text)
    return found.group(1) if found else None
