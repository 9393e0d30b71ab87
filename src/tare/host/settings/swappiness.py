"""Whether what is measured can be swapped out."""

from __future__ import annotations

from tare.host.check import Diagnosis, fail, ok, unknown, warn
from tare.host.settings.setting import FileSetting
from tare.host.view import View
from tare.registry import Description
from tare.results.message import Amount, message

MEMORY = "/proc/meminfo"
#: More of it in use is more than what lay idle since boot.
LIMIT = 0.05


class Swappiness(FileSetting):
    """A number that matters only where there is something to swap out to."""

    def examine(self, view: View) -> Diagnosis:
        """Look how much is swapped out, and whether pages move at this moment."""
        total, free = (view.kernel.size_bytes(MEMORY, n) for n in ("SwapTotal", "SwapFree"))
        if total is None or free is None:
            return unknown()
        if total == 0:
            return ok(message("none"))
        moved = view.pages_a_second()
        now = self.read(view.kernel)
        value = message(
            "{used} of {total} in use, swappiness {swappiness}{% if moved %}, {moved} pages "
            "a second{% endif %}",
            used=Amount(total - free, "bytes"),
            total=Amount(total, "bytes"),
            swappiness=now,
            moved=round(moved),
        )
        change = message("sudo swapoff -a   (if the swapped pages fit into memory)")
        fix = {} if now in (None, *self.good) else {self.description.name: self.wanted}
        if moved or total - free > LIMIT * total:
            why = message(
                "pages are swapped at this moment"
                if moved
                else "memory was short: pages that are needed again are read from the disk"
            )
            return fail(value, *self.bad_for, why=why, change=change, fix=fix)
        return warn(value, "memory", why=self.why, change=change, fix=fix)


UNIT = Swappiness(
    description=Description(
        name="swappiness",
        title="swap",
        question="Can what is measured be swapped out?",
        source="Documentation/admin-guide/sysctl/vm.rst; "
        "measured: a major fault from an SSD against a load from memory",
    ),
    order=33,
    effect=message("70 to 100 µs a page from an SSD, ms from a disk, instead of 0.1 µs"),
    why=message("measured programs can be swapped out"),
    wanted="0",
    files=("/proc/sys/vm/swappiness",),
    good=("0",),
    bad_for=("times", "memory", "disk"),
)
