"""Figures that no probe measures: found in its curves, round by round."""

from __future__ import annotations

from collections.abc import Mapping

from tare.fingerprint.document import Problem

#: Points of one metric in one round.
Points = Mapping[tuple[int, ...], float]

#: What is found in the curves of a probe, with its unit.
_FOUND = {
    "memory.latency": {
        "memory.latency.l1": "ns",
        "memory.latency.l2": "ns",
        "memory.latency.l3": "ns",
        "memory.latency.dram": "ns",
        "memory.cache.l1": "bytes",
        "memory.cache.l2": "bytes",
        "memory.cache.l3": "bytes",
    }
}


def names(probe: str) -> tuple[str, ...]:
    """Return the figures that may be found in the curves of a probe."""
    return tuple(_FOUND.get(probe, ()))


def unit(metric: str) -> str:
    """Return the unit of a figure that is found in a curve."""
    return next(of[metric] for of in _FOUND.values() if metric in of)


def find(
    probe: str, rounds: Mapping[str, list[Points]]
) -> tuple[dict[str, list[float]], list[Problem]]:
    """Find figures in the curves of a probe.

    Parameters
    ----------
    probe : str
    rounds : mapping
        Curve to its points in each round.

    Returns
    -------
    dict
        Figure to its value in each round.
    list of Problem
        What could not be found, and why.
    """
    return {}, []
