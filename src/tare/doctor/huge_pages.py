"""Whether memory comes in huge pages by luck."""

from __future__ import annotations

from tare.doctor.check import Check
from tare.doctor.diagnosis import Diagnosis, bad, good, hidden
from tare.doctor.view import View
from tare.registry import Description

FILE = "/sys/kernel/mm/transparent_hugepage/enabled"


def examine(view: View) -> Diagnosis:
    """Read the policy."""
    policy = view.kernel.value(FILE)
    if policy is None:
        return hidden()
    if policy == "always":
        return bad(
            policy,
            "memory",
            why="whether a run gets huge pages depends on how scattered free memory is just then",
            change=f"echo madvise | sudo tee {FILE}",
            fix={"huge_pages": "madvise"},
        )
    return good(f"{policy}: only where a program asks" if policy == "madvise" else policy)


UNIT = Check(
    description=Description(
        name="huge_pages",
        title="huge pages",
        question="Does memory come in pages of one size, every time?",
        source="Documentation/admin-guide/mm/transhuge.rst; "
        "measured: 167 ns against 201 ns a load at 256 MiB on a virtual EPYC",
    ),
    order=31,
    effect="about 20 % of the latency of memory beyond the caches",
    examine=examine,
)
