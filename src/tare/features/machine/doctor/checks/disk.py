"""What the disk is still busy with, and what room it has."""

from __future__ import annotations

from tare.features.machine.doctor.checks.memory_pressure import waited_for
from tare.host.check import Diagnosis, Look, fail, ok, unknown
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Amount, message

#: Pages that wait for the disk and are more than a second of its work.
DIRTY_KIB = 256 << 10
WAITED = 5.0
ROOM_BYTES = 1 << 30


def examine(view: View) -> Diagnosis:
    """Read what is still to be written, who waits for a disk, and its room."""
    memory = view.kernel.fields("/proc/meminfo")
    if "Dirty" not in memory:
        return unknown()
    pending = sum(int(memory.get(n, "0").split()[0]) for n in ("Dirty", "Writeback"))
    waited = waited_for(view, "io")
    full = [folder for folder, free in (view.room or {}).items() if free < ROOM_BYTES]
    value = message(
        "{pending} still to be written{% if waited is not none %}; tasks waited {waited} of "
        "the last 10 s{% endif %}{% if full %}; less than 1 GiB free in {full | join(', ')}"
        "{% endif %}",
        pending=Amount(1024 * pending, "bytes"),
        waited=None if waited is None else Amount(waited / 100, "share"),
        full=[*full],
    )
    if full:
        return fail(
            value,
            "disk",
            why=message("results may not fit, and a full file system fragments what is written"),
            change=message("df -h   (and make room)"),
        )
    if pending >= DIRTY_KIB or (waited or 0.0) >= WAITED:
        return fail(
            value,
            "disk",
            "times",
            why=message("earlier writes are still in progress"),
            change=message("sync"),
        )
    return ok(value)


UNIT = Look(
    description=Description(
        name="disk",
        title="disk and page cache",
        question="Is the disk done with earlier work?",
        source="Documentation/accounting/psi.rst; measured: 51 µs for a read of 4 KiB from an SSD",
    ),
    order=61,
    effect=message("a read that waits behind writes takes ms instead of 0.05 to 0.1 ms"),
    look=examine,
)
