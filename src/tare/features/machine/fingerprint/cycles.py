"""Times in clock cycles, by the frequency of a busy core as measured in the same session."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tare.experiment.fingerprints.machine.document import Curve, Figure, Point
from tare.features.machine.fingerprint.expectation import FREQUENCY

_Timed = TypeVar("_Timed", Figure, Point)


def count(metrics: dict[str, Figure], curves: dict[str, Curve]) -> None:
    """Set the cycles of every time, in place; none where the frequency was not measured."""
    frequency = metrics.get(FREQUENCY)
    if frequency is None:
        return
    hz = frequency.value
    for name, figure in metrics.items():
        if figure.unit == "ns":
            metrics[name] = _counted(figure, hz)
    for name, curve in curves.items():
        if curve.unit == "ns":
            points = tuple(_counted(point, hz) for point in curve.points)
            curves[name] = msgspec.structs.replace(curve, points=points)


def _counted(timed: _Timed, hz: float) -> _Timed:
    return msgspec.structs.replace(timed, cycles=timed.value * hz * 1e-9)
