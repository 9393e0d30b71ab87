"""Whether memory is short."""

from __future__ import annotations

import re

from tare.host.check import Diagnosis, Look, fail, ok, unknown
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Amount, message

#: Share of time that somebody waited for memory, over ten seconds.
WAITED = 1.0
#: Share of memory that is available.
LEAST = 0.1


def examine(view: View) -> Diagnosis:
    """Read what is available, and how long tasks waited for it."""
    memory = view.kernel.fields("/proc/meminfo")
    if "MemAvailable" not in memory or "MemTotal" not in memory:
        return unknown()
    available, total = (int(memory[n].split()[0]) for n in ("MemAvailable", "MemTotal"))
    waited = waited_for(view, "memory")
    value = message(
        "{available} of {total} available{% if waited is not none %}, tasks waited {waited} "
        "of the last 10 s{% endif %}",
        available=Amount(available * 1024, "bytes"),
        total=Amount(total * 1024, "bytes"),
        waited=None if waited is None else Amount(waited / 100, "share"),
    )
    if available < LEAST * total or (waited or 0) >= WAITED:
        return fail(
            value, "times", "memory", "disk",
            why=message("the kernel reclaims pages during the measurement"),
            change=message("end what needs the memory: ps aux --sort=-rss | head"),
        )  # fmt: skip
    return ok(value)


def waited_for(view: View, what: str) -> float | None:
    """Return the per cent of the last ten seconds in which some task waited (PSI)."""
    found = re.search(r"some avg10=([\d.]+)", view.kernel.read(f"/proc/pressure/{what}") or "")
    return float(found[1]) if found else None


UNIT = Look(
    description=Description(
        name="memory_pressure",
        title="memory",
        question="Is there room for what is measured?",
        source="Documentation/accounting/psi.rst",
    ),
    order=35,
    effect=message("every allocation may have to wait for the disk: ms instead of µs"),
    look=examine,
)
