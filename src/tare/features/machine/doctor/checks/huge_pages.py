"""Whether memory comes in huge pages by luck."""

from __future__ import annotations

from tare.features.machine.doctor.check import Check
from tare.features.machine.doctor.diagnosis import Diagnosis, fail, ok, unknown
from tare.features.machine.doctor.view import View
from tare.registry import Description
from tare.results.message import message

FILE = "/sys/kernel/mm/transparent_hugepage/enabled"


def examine(view: View) -> Diagnosis:
    """Read the policy."""
    policy = view.kernel.value(FILE)
    if policy is None:
        return unknown()
    if policy == "always":
        return fail(
            message("doctor.huge_pages.value", policy=policy),
            "memory",
            why=message("doctor.huge_pages.chance"),
            change=message("doctor.huge_pages.set", file=FILE),
            fix={"huge_pages": "madvise"},
        )
    if policy == "madvise":
        return ok(message("doctor.huge_pages.madvise"))
    return ok(message("doctor.huge_pages.value", policy=policy))


UNIT = Check(
    description=Description(
        name="huge_pages",
        title="huge pages",
        question="Does memory come in pages of one size, every time?",
        source="Documentation/admin-guide/mm/transhuge.rst; "
        "measured: 167 ns against 201 ns a load at 256 MiB on a virtual EPYC",
    ),
    order=31,
    examine=examine,
)
