"""What can be judged of a trace: bursts in which data was sent, and what lies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tare.features.network.identify.joining import NOTHING, OUTAGE_S, WHOLE, joined
from tare.networks.shaping.trace import QUANTUM_BITS, Floats, Trace

#: Share of its length, and of the usual length, in which an interval must have been sending: less
#: says too little of the rate, and that nothing got through is no outage.
PARTLY = 0.5
#: Share of a piece, and of what the low rate carries, above which it is a burst that drains.
_PIECE, _DRAINS = 0.125, 0.3
#: Share of the usual interval below which a rest within a burst is none.
_MOMENT = 0.1
#: Share of an interval by which the next may begin late without a gap.
_LATE = 0.5


@dataclass(frozen=True, eq=False)
class Plateau:
    """What was carried at one rate.

    Attributes
    ----------
    bits, seconds : array, shape (n,)
        Of each interval.
    runs : int
        In how many pieces they follow each other.
    """

    bits: Floats
    seconds: Floats
    runs: int = 1

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def rates(self) -> Floats:
        """Bits a second, of each interval."""
        return np.asarray(self.bits / self.seconds)


@dataclass(frozen=True, eq=False)
class Observed:
    """A trace, taken apart.

    Attributes
    ----------
    trace : Trace
        Intervals joined (:mod:`tare.features.network.identify.joining`).
    index : int array, shape (n,)
        Intervals in which data was sent all along, and got through.
    rate : array, shape (n,)
        Their rates, bits a second.
    starts : int array, shape (bursts,)
        Indices of ``index`` at which data began to be sent, after a rest, a gap or an outage.
    outages : tuple of (float, float)
        From and to which second nothing got through, although data was to be sent.
    sent, squares : array, shape (intervals + 1,)
        Bits, and their squares, before each interval and after the last.
    unknown : array, shape (intervals + 1,)
        Bits likewise of which it is not known whether they were sent.
    """

    trace: Trace
    index: NDArray[np.int64]
    rate: Floats
    starts: NDArray[np.int64]
    outages: tuple[tuple[float, float], ...]
    sent: Floats
    squares: Floats
    unknown: Floats

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each burst ends in ``index``."""
        return np.append(self.starts[1:], len(self.index))

    @property
    def interval_s(self) -> float:
        """Length of most intervals."""
        return float(np.median(self.trace.on_s[self.index])) if len(self.index) else 0.0

    def plateau(self, those: NDArray[np.bool_]) -> Plateau:
        """Return what some of the intervals of ``index`` carried."""
        at = self.index[those]
        runs = int((np.diff(np.flatnonzero(those)) > 1).sum()) + 1
        return Plateau(self.trace.bits[at], self.trace.on_s[at], runs)

    @property
    def seconds(self) -> float:
        """Length of all intervals together; what lies in gaps was not seen."""
        return float((self.trace.end_s - self.trace.start_s).sum())


def observe(trace: Trace) -> Observed:
    """Take a trace apart."""
    usual_s = _median(trace.on_s[trace.on_s > 0])
    trace = joined(_without_moments(trace, usual_s))
    on = trace.on_s > 0
    rate = trace.rate_bps
    spoiled = np.zeros(len(trace), dtype=bool) if trace.starved is None else trace.starved
    told = on & np.isfinite(rate)
    known = told & ~spoiled
    usual = float(np.quantile(rate[known], 0.9)) if known.any() else 0.0
    if usual <= 0 and known.any():
        usual = float(rate[known].max())
    through = known & (rate > NOTHING * usual)
    tells = trace.on_s >= PARTLY * np.maximum(usual_s, trace.end_s - trace.start_s)
    index = np.flatnonzero(through & tells)
    gaps = _gaps(trace, usual_s)
    outages = _outages(trace, known & ~through & tells)
    return Observed(
        trace=trace,
        index=index,
        rate=rate[index],
        starts=_starts(trace, index, gaps, outages),
        outages=outages,
        # What had been waiting in buffers still goes through while a rest begins.
        sent=_before(np.where(np.isfinite(trace.bits), trace.bits, 0.0)),
        squares=_before(np.where(np.isfinite(trace.bits), trace.bits, 0.0) ** 2),
        unknown=_before(np.where(on & ~told, usual * trace.on_s, 0.0) + usual * gaps),
    )


def drained_at(trace: Trace, at: int, low_bps: float) -> int:
    """Return the last interval in which something of a burst that ends at one was acknowledged.

    What waits in buffers goes through while a rest begins, at the low rate. Less than that is
    other traffic, such as round trips that are measured.
    """
    first = last = at
    lasts = trace.end_s - trace.start_s
    while at + 1 < len(trace) and trace.on_s[at + 1] < PARTLY * lasts[at + 1]:
        at += 1
        if trace.on_s[at] > 0 and at > first + 1:
            # There the next burst begins.
            break
        if trace.bits[at] >= max(_PIECE * QUANTUM_BITS, _DRAINS * low_bps * float(lasts[at])):
            last = at
    return last


def _without_moments(trace: Trace, usual_s: float) -> Trace:
    """Leave out intervals of a rest that are over at once, within a burst: those are no rests.

    An end that had no CPU may look twice at the same moment.
    """
    lasts = trace.end_s - trace.start_s
    sends = trace.on_s > 0
    within = np.append(False, sends[:-1]) & np.append(sends[1:], False)
    kept = ~(within & ~sends & (lasts < _MOMENT * usual_s))
    if kept.all():
        return trace
    # Their time is the next one's.
    start = np.where(
        np.append(False, ~kept[:-1]), np.append(0.0, trace.start_s[:-1]), trace.start_s
    )
    on = trace.on_s + np.where(sends, trace.start_s - start, 0.0)
    starved = None if trace.starved is None else trace.starved[kept]
    bits = trace.bits + np.where(np.append(False, ~kept[:-1]), np.append(0.0, trace.bits[:-1]), 0.0)
    return Trace(start[kept], trace.end_s[kept], bits[kept], on[kept], trace.wire, starved)


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 0.0


def _gaps(trace: Trace, usual_s: float) -> Floats:
    """Seconds between each interval and the one before of which nothing is known.

    A gap that a rest goes over into is a rest: nobody has begun to send.
    """
    if len(trace) == 0:
        return np.empty(0)
    late = np.append(0.0, trace.start_s[1:] - trace.end_s[:-1])
    rested = np.append(False, trace.on_s[:-1] == 0)
    return np.where((late > _LATE * usual_s) & ~rested, late, 0.0)


def _starts(
    trace: Trace, index: NDArray[np.int64], gaps: Floats, outages: Sequence[tuple[float, float]]
) -> NDArray[np.int64]:
    if len(index) == 0:
        return np.empty(0, dtype=np.int64)
    lasts = trace.end_s - trace.start_s
    resting = trace.on_s < (1 - WHOLE) * lasts
    # Data was sent without CPU, too, and while nothing came back for a moment.
    breaks = (trace.on_s < PARTLY * lasts) | ~np.isfinite(trace.bits) | (gaps > 0)
    for first, last in outages:
        breaks |= (trace.start_s >= first) & (trace.end_s <= last)
    breaks[index] = gaps[index] > 0
    apart = np.diff(np.cumsum(breaks)[index]) > 0
    # The sending of a partial interval is where the sending beside it is.
    before = np.append(False, trace.on_s[:-1] > 0)
    after = np.append(trace.on_s[1:] > 0, False)
    apart |= resting[index[1:]] & (after[index[1:]] | ~before[index[1:]])
    apart |= resting[index[:-1]] & (before[index[:-1]] | ~after[index[:-1]])
    return np.flatnonzero(np.append(True, apart))


def _outages(trace: Trace, out: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    at = np.flatnonzero(out)
    if len(at) == 0:
        return ()
    parts = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
    lost = ((float(trace.start_s[p[0]]), float(trace.end_s[p[-1]])) for p in parts)
    return tuple(one for one in lost if one[1] - one[0] >= 0.99 * OUTAGE_S)


def _before(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])
