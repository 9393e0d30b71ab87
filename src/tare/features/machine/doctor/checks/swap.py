"""Whether what is measured can be swapped out."""

from __future__ import annotations

from typing import Any

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown, warn
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import Amount, message

#: More of it in use is more than what lay idle since boot.
LIMIT = 0.05
CHANGE = message("doctor.swap.off")


def examine(view: View) -> Diagnosis:
    """Look how much is swapped out, and whether pages move at this moment."""
    memory = view.kernel.fields("/proc/meminfo")
    if "SwapTotal" not in memory:
        return unknown()
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
        return ok(message("doctor.swap.none"), **data)
    value = message(
        "doctor.swap.value",
        used=Amount(1024 * (total - free), "bytes"),
        total=Amount(1024 * total, "bytes"),
        swappiness=swappiness,
        moved=round(moved or 0),
    )
    if moved:
        return fail(
            value,
            "times", "memory", "disk",
            why=message("doctor.swap.moving"),
            change=CHANGE,
            fix={"swappiness": "0"},
            **data,
        )  # fmt: skip
    if total - free > LIMIT * total:
        return fail(
            value,
            "times",
            "memory",
            why=message("doctor.swap.short"),
            change=CHANGE,
            fix={"swappiness": "0"},
            **data,
        )
    return warn(
        value,
        "memory",
        why=message("doctor.swap.possible"),
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
    examine=examine,
)
