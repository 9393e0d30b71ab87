"""Whether pages of the same content are merged."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description

FOLDER = "/sys/kernel/mm/ksm"


def examine(view: View) -> Diagnosis:
    """Read whether the daemon scans, and what it has merged."""
    run, merged = view.kernel.number(f"{FOLDER}/run"), view.kernel.number(f"{FOLDER}/pages_sharing")
    if run is None:
        return hidden()
    if run == 1:
        return bad(
            f"on, {merged or 0} pages merged",
            "memory",
            "strangers",
            why="a first write to a merged page copies it, which also tells who has the same page",
            change=f"echo 0 | sudo tee {FOLDER}/run",
            fix={"ksm": "off"},
            pages_merged=merged,
        )
    return good("off", pages_merged=merged)


UNIT = Check(
    description=Description(
        name="ksm",
        title="merged pages (KSM)",
        question="Do writes meet pages that have to be copied first?",
        source="Documentation/admin-guide/mm/ksm.rst; measured: a copy on write takes 1.8–2.0 µs",
    ),
    order=34,
    effect="about 2 µs at the first write to each merged page, and a daemon that scans memory",
    examine=examine,
)
