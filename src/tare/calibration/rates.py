"""The unit in which the rates of a calibration are shown: GFLOPS, GB/s, executions a second."""

from __future__ import annotations

from collections.abc import Iterable

#: Units of what a kernel counts, largest first, with their size in counts a second.
_UNITS = {
    "flop": (("GFLOPS", 1e9), ("MFLOPS", 1e6), ("kFLOPS", 1e3)),
    "byte": (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)),
}
_PREFIXES = (("billion", 1e9), ("million", 1e6), ("thousand", 1e3), ("", 1.0))


def unit_for(work: str, rates: Iterable[float]) -> tuple[float, str]:
    """Choose the unit for rates that stand together, by the largest of them.

    Parameters
    ----------
    work : str
        What a rate counts: ``Calibration.work``.
    rates : iterable of float
        Counts a second, as stored.

    Returns
    -------
    (float, str)
        What to divide by, and the unit then: ``(1e9, "GFLOPS")``.
    """
    units = _UNITS.get(work) or tuple(
        (f"{prefix} {work}s/s".strip(), size) for prefix, size in _PREFIXES
    )
    largest = max((abs(rate) for rate in rates), default=0.0)
    name, size = next((u for u in units if largest >= u[1]), units[-1])
    return size, name
