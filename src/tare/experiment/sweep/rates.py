"""The unit in which the rates of a calibration are shown: GFLOPS, GB/s, executions a second."""

from __future__ import annotations

from collections.abc import Iterable

from tare.units import scale_for

_UNITS = {"flop": "flop/s", "byte": "B/s"}


def unit_of(work: str) -> str:
    """Return the unit of rates, as stored, by what they count: ``Calibration.work``."""
    return _UNITS.get(work) or f"{work}s/s"


def unit_for(work: str, rates: Iterable[float]) -> tuple[float, str]:
    """Choose the unit for rates that stand together: what to divide by, and its name."""
    return scale_for(rates, unit_of(work))
