"""Whether what is measured can be swapped out."""

from __future__ import annotations

from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden, note
from tare.doctor.view import View
from tare.registry import Description
from tare.units import quantity

#: More of it in use is more than what lay idle since boot.
LIMIT = 0.05
CHANGE = "sudo swapoff -a   (if what is swapped out fits into memory)"


def examine(view: View) -> Diagnosis:
    """Look how much is swapped out, and whether pages move at this moment."""
    memory = view.kernel.fields("/proc/meminfo")
    if "SwapTotal" not in memory:
        return hidden()
    total, free = (int(memory.get(n, "0").split()[0]) for n in ("SwapTotal", "SwapFree"))
    swappiness = view.kernel.number("/proc/sys/vm/swappiness")
    moved = _moved(view)
    data: dict[str, Any] = {
        "total_bytes": total * 1024,
        "used_bytes": (total - free) * 1024,
        "swappiness": swappiness,
        "pages_a_second": moved,
    }
    if total == 0:
        return good("none", **data)
    used, all_of_it = (quantity(1024 * kib, "bytes") for kib in (total - free, total))
    told = f"{used} of {all_of_it} in use, swappiness {swappiness}"
    if moved:
        return bad(
            f"{told}, {moved:.0f} pages a second",
            "times", "memory", "disk",
            why="pages are swapped at this moment",
            change=CHANGE,
            fix={"swappiness": "0"},
            **data,
        )  # fmt: skip
    if total - free > LIMIT * total:
        return bad(
            told,
            "times",
            "memory",
            why="memory was short: what is needed again has to be read from the disk",
            change=CHANGE,
            fix={"swappiness": "0"},
            **data,
        )
    return note(
        told,
        "memory",
        why="what is measured could be swapped out",
        change=CHANGE,
        fix={"swappiness": "0"} if swappiness else None,
        **data,
    )


def _moved(view: View) -> float | None:
    if view.before is None or view.after is None or not view.seconds:
        return None
    return (sum(view.after.paging.values()) - sum(view.before.paging.values())) / view.seconds


UNIT = Check(
    description=Description(
        name="swap",
        title="swap",
        question="Can what is measured be swapped out?",
        source="measured: a major fault from an SSD against a load from memory",
    ),
    order=33,
    effect="70 to 100 µs a page from an SSD, ms from a disk, instead of 0.1 µs",
    examine=examine,
)
