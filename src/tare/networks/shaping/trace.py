"""A trace: how much a network carried, interval by interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tare.results.message import Said

Floats = NDArray[np.float64]

#: Receivers acknowledge up to so many bits of payload at once, a super-segment of 64 KiB: what was
#: carried up to any moment is known to that.
QUANTUM_BITS = 8 * 65_536


@dataclass(frozen=True)
class Trace:
    """Bandwidth over time; arrays of one length *n*, in order of time, without overlap.

    What lies between two intervals is a gap: nothing is known of it. A rest is an interval in
    which nothing was to be sent.

    Attributes
    ----------
    start_s, end_s : ndarray
        Of each interval, seconds since the trace began.
    bits : ndarray
        Carried in it; NaN: not known.
    on_s : ndarray
        How long in it data was to be sent, 0 to its length.
    wire : float
        Bits on the wire for each bit of ``bits``: headers. 1: not known, or counted already.
    starved : ndarray of bool, optional
        Intervals in which an end had no CPU, so that the rate is not the network's; their bits were
        carried all the same. None: not known.
    """

    start_s: Floats
    end_s: Floats
    bits: Floats
    on_s: Floats
    wire: float = 1.0
    starved: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def rate_bps(self) -> Floats:
        """Bits a second while data was to be sent; NaN in a rest."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.on_s > 0, self.bits / self.on_s, np.nan)


@dataclass(frozen=True, eq=False)
class Traced:
    """A trace of a file.

    Attributes
    ----------
    key : mapping of str to str
        What tells it from other traces of the file.
    trace : Trace
    notes : tuple of Said
        What was odd, and what the values are if not what the receiver got.
    """

    key: Mapping[str, str]
    trace: Trace
    notes: tuple[Said, ...]


def with_rests(trace: Trace, after: NDArray[np.int64]) -> Trace:
    """Put a rest after each of some intervals, up to the next."""
    start = np.insert(trace.start_s, after + 1, trace.end_s[after])
    end = np.insert(trace.end_s, after + 1, trace.start_s[after + 1])
    bits = np.insert(trace.bits, after + 1, 0.0)
    on = np.insert(trace.on_s, after + 1, 0.0)
    kept = end > start
    return Trace(start[kept], end[kept], bits[kept], on[kept], trace.wire)
