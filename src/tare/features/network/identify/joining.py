"""Intervals joined until what they carried says a rate: acknowledgements come in large pieces."""

from __future__ import annotations

import numpy as np

from tare.networks.shaping.trace import QUANTUM_BITS, Floats, Trace

#: Pieces that an interval must have carried: its rate is then known to some 5 %.
_PIECES = 8
#: More intervals than these say nothing more of a trace.
_MOST = 20_000
#: Share of an interval by which sending may be shorter: files round.
WHOLE = 1e-3
#: Share of the usual rate, and for how long, that is an outage: that is not joined to what follows.
NOTHING, OUTAGE_S = 3e-4, 1.0
#: Share of its time in which an end had no CPU from which on an interval says nothing.
_SPOILED = 0.25


def joined(trace: Trace) -> Trace:
    """Return a trace whose intervals carried so much that pieces of 64 KiB do not show.

    Only neighbours in which data was to be sent all the time are joined, and no more of them than
    it takes, so that a change of rate stays where it was.
    """
    on = np.isfinite(trace.bits) & (trace.on_s >= (1 - WHOLE) * (trace.end_s - trace.start_s))
    if not on.any():
        return trace
    least_s = float(trace.on_s[on].sum()) / _MOST
    enough = (trace.bits >= _PIECES * QUANTUM_BITS) & (trace.end_s - trace.start_s >= least_s)
    if enough[on].all():
        return trace
    begins = _begins(trace, on & ~_outages(trace, on), least_s)
    last = np.append(begins[1:], len(trace)) - 1
    starved = None
    if trace.starved is not None:
        spoiled = np.add.reduceat(np.where(trace.starved, trace.on_s, 0.0), begins)
        starved = spoiled > _SPOILED * np.add.reduceat(trace.on_s, begins)
    return Trace(
        trace.start_s[begins],
        trace.end_s[last],
        np.add.reduceat(trace.bits, begins),
        np.add.reduceat(trace.on_s, begins),
        trace.wire,
        starved,
    )


def _outages(trace: Trace, on: np.ndarray) -> np.ndarray:
    """Whether each interval is of an outage of a second or more."""
    rate = np.where(on, trace.bits / (trace.end_s - trace.start_s), np.inf)
    nothing = rate <= NOTHING * float(np.quantile(rate[on], 0.9))
    edges = np.flatnonzero(np.diff(nothing.astype(int), prepend=0, append=0))
    outages = np.zeros(len(trace), dtype=bool)
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        if trace.end_s[after - 1] - trace.start_s[first] >= OUTAGE_S:
            outages[first:after] = True
    return outages


def _begins(trace: Trace, may: np.ndarray, least_s: float) -> np.ndarray:
    """Return where joined intervals begin."""
    follows = np.append(False, may[1:] & may[:-1] & (_apart(trace) <= 1e-6))
    begins: list[int] = []
    #: Bits and seconds of the current run of intervals, and whether the run before it is similar.
    bits = seconds = 0.0
    has_before = False
    lengths = trace.end_s - trace.start_s
    for at, (more, one, lasts) in enumerate(
        zip(follows.tolist(), trace.bits.tolist(), lengths.tolist(), strict=True)
    ):
        whole = bits >= _PIECES * QUANTUM_BITS and seconds >= least_s
        if more and not whole:
            bits, seconds = bits + one, seconds + lasts
            continue
        if not more and has_before and not whole:
            # What is left over at the end of a burst goes with what is before it.
            begins.pop()
        begins.append(at)
        has_before = more
        bits, seconds = one, lasts
    if has_before and not (bits >= _PIECES * QUANTUM_BITS and seconds >= least_s):
        begins.pop()
    return np.array(begins)


def _apart(trace: Trace) -> Floats:
    return trace.start_s[1:] - trace.end_s[:-1]
