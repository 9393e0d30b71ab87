"""What the disk is still busy with, and what room it has."""

from __future__ import annotations

from typing import Any

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.memory_pressure import waited_for
from tare.doctor.view import View
from tare.registry import Description
from tare.units import quantity

#: Pages that wait for the disk and are more than a second of its work.
DIRTY_KIB = 256 << 10
WAITED = 5.0
ROOM_BYTES = 1 << 30
#: Not disks of their own.
OTHERS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")


def examine(view: View) -> Diagnosis:
    """Read what is still to be written, who waits for a disk, which kind it is, and its room."""
    memory = view.kernel.fields("/proc/meminfo")
    if "Dirty" not in memory:
        return hidden()
    pending = sum(int(memory.get(n, "0").split()[0]) for n in ("Dirty", "Writeback"))
    turning = [
        name.split("/")[3]
        for name in view.kernel.glob("/sys/block/*/queue/rotational")
        if view.kernel.number(name) == 1 and not name.split("/")[3].startswith(OTHERS)
    ]
    waited = waited_for(view, "io")
    full = [folder for folder, free in (view.room or {}).items() if free < ROOM_BYTES]
    parts = [f"{quantity(1024 * pending, 'bytes')} still to be written"]
    if waited is not None:
        parts.append(f"tasks waited {waited:g} % of the last 10 s")
    if turning:
        # Virtual disks say so whatever is below them.
        parts.append(
            f"{', '.join(turning)} turns" + (", says the hypervisor" * bool(view.virtual()))
        )
    data: dict[str, Any] = {
        "pending_bytes": pending * 1024,
        "waited": waited,
        "turning": turning,
        "room": view.room,
    }
    if full:
        return bad(
            f"{'; '.join(parts)}; less than 1 GiB free in {', '.join(full)}",
            "disk",
            why="results may not fit, and a full file system scatters what is written",
            change="df -h   (and make room)",
            **data,
        )
    if pending >= DIRTY_KIB or (waited or 0.0) >= WAITED:
        return bad(
            "; ".join(parts),
            "disk",
            "times",
            why="earlier writes are still on their way",
            change="sync",
            **data,
        )
    return good("; ".join(parts), **data)


UNIT = Check(
    description=Description(
        name="disk",
        title="disk and page cache",
        question="Is the disk done with earlier work?",
        source="Documentation/accounting/psi.rst; measured: 51 µs for a read of 4 KiB from an SSD",
    ),
    order=61,
    effect="a read that waits behind writes takes ms instead of 0.05 to 0.1 ms",
    examine=examine,
)
