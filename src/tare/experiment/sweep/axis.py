"""The axis of a sweep: CPU time, or memory that CPU time comes with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What the places of a sweep are: CPUs, or sizes of memory in MB.
AxisName = Literal["cpu", "memory"]
#: Bytes in an MB, as AWS Lambda counts.
MB_BYTES = 1 << 20


@dataclass(frozen=True)
class Axis:
    """How places on an axis are written.

    Attributes
    ----------
    resource : str
        What is given more or less of.
    unit : str
        Unit of places.
    per : str
        Unit that slopes are per, and how many places it has.
    """

    resource: str
    unit: str
    per: str
    places_per: float


AXES: dict[AxisName, Axis] = {
    "cpu": Axis("CPU", "CPUs", "CPU", 1.0),
    "memory": Axis("memory", "MB", "GB", 1024.0),
}
