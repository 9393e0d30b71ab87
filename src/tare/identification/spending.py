"""What was sent between moments at which a bucket was empty."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tare.identification.observed import Observed
from tare.statistics.bucket import Stretch
from tare.statistics.levels import Levels, fall_between
from tare.statistics.statistic import FloatArray

#: Intervals at the low rate alone, from which on that is known.
_FEWEST = 3
#: Share of what was sent in a stretch that may not be known.
_UNKNOWN = 0.05
#: Log-likelihood at which it is not clear whether a burst fell: half of chi-squared at 95 %.
_UNCLEAR = 1.92


@dataclass(frozen=True, eq=False)
class Spending:
    """A trace as a bucket would have it.

    Attributes
    ----------
    high, low : array
        Rates of the intervals at each level alone; ``low`` is empty where it is never seen alone.
    falls_s : float
        When the rate fell first, seconds since the trace began.
    falls_between_s : (float, float)
        Its 95 % interval.
    begin_s : float
        When data was sent first.
    first : Stretch or None
        Until it fell first; None where too much of it is not known, or it was low at once.
    refills : tuple of Stretch
        From each time it was low to the next time that it fell, what was sent and passed.
    bursts_s : tuple of float
        How long each of them sent before it fell.
    empty_s : float
        The last moment at which the rate was low.
    hidden : bool
        Whether no interval shows the low rate alone.
    """

    high: FloatArray
    low: FloatArray
    falls_s: float
    falls_between_s: tuple[float, float]
    begin_s: float
    first: Stretch | None
    refills: tuple[Stretch, ...]
    bursts_s: tuple[float, ...]
    empty_s: float
    hidden: bool


def spending(seen: Observed, levels: Levels) -> Spending:
    """Balance what was sent between moments of emptiness."""
    n = len(seen.index)
    position = np.arange(n)
    fall_of = np.repeat(levels.fall, seen.ends - seen.starts)
    low = seen.rate[position > fall_of]
    high = _settled(seen, position < fall_of)
    hidden = len(low) < _FEWEST
    books = _Books(seen, levels, _middle(high), 0.0 if hidden else _middle(low), hidden)
    dry = np.flatnonzero(levels.dry)
    moments = [books.empties(int(b)) for b in dry]
    ends = [books.over(int(b)) for b in dry]
    begin = float(seen.trace.start_s[seen.index[0]])
    refills, sending = [], []
    for k in range(1, len(dry)):
        before, b = int(dry[k - 1]), int(dry[k])
        starts = float(seen.trace.start_s[seen.index[seen.starts[b]]])
        rest = starts - ends[k - 1][0] if b == before + 1 else None
        stretch = books.stretch(ends[k - 1], moments[k], rest)
        if stretch is not None:
            refills.append(stretch)
            sending.append(moments[k][0] - starts)
    first = books.stretch((begin, float(seen.sent[seen.index[0]])), moments[0], None)
    return Spending(
        high=high,
        low=np.empty(0) if hidden else low,
        falls_s=moments[0][0],
        falls_between_s=books.between(int(dry[0])),
        begin_s=begin,
        first=first,
        refills=tuple(refills),
        bursts_s=tuple(sending),
        empty_s=ends[-1][0],
        hidden=hidden,
    )


#: A moment: seconds since the trace began, and bits sent by then.
_Moment = tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Books:
    """Answers what was sent by when."""

    seen: Observed
    levels: Levels
    high: float
    low: float
    hidden: bool

    def empties(self, burst: int) -> _Moment:
        """Return when a burst fell, where low is hidden its end."""
        if self.hidden:
            return self.over(burst)
        at = int(self.seen.index[self.levels.fall[burst]])
        trace = self.seen.trace
        share = (self.seen.rate[self.levels.fall[burst]] - self.low) / (self.high - self.low)
        fast = float(np.clip(share, 0.0, 1.0)) * float(trace.on_s[at])
        return float(trace.start_s[at]) + fast, float(self.seen.sent[at]) + self.high * fast

    def over(self, burst: int) -> _Moment:
        """Return when a burst ended."""
        at = int(self.seen.index[self.seen.ends[burst] - 1])
        trace = self.seen.trace
        return float(trace.start_s[at] + trace.on_s[at]), float(self.seen.sent[at + 1])

    def stretch(self, begin: _Moment, end: _Moment, rest: float | None) -> Stretch | None:
        """Return what lies between two moments; None where too much of it is not known."""
        edges = np.searchsorted(self.seen.trace.start_s, [begin[0], end[0]])
        a, b = int(edges[0]), int(edges[1])
        sent = end[1] - begin[1]
        unknown = float(self.seen.unknown[b] - self.seen.unknown[a])
        if end[0] <= begin[0] or unknown > _UNKNOWN * max(sent, 1.0):
            return None
        squares = max(0.0, float(self.seen.squares[b] - self.seen.squares[a]))
        noise = squares * self.levels.sd**2 * self.levels.tau
        # Of what is not known, half was sent, with the SD of a uniform share.
        error = math.sqrt(noise + unknown**2 / 12)
        return Stretch(max(0.0, sent + unknown / 2), error, end[0] - begin[0], rest)

    def between(self, burst: int) -> tuple[float, float]:
        """Return the 95 % interval of the moment at which a burst fell first."""
        seen, levels = self.seen, self.levels
        start, end = int(seen.starts[burst]), int(seen.ends[burst])
        first, last = fall_between(np.log(seen.rate), levels, start, end)
        moment = self.empties(burst)[0]
        slack = 2 * levels.sd * self.high / max(self.high - self.low, 1e-9) * seen.interval_s
        slack = min(slack, seen.interval_s)
        begin, over = seen.index[first], seen.index[last]
        one = first == last
        low = moment - slack if one else float(seen.trace.start_s[begin]) - slack
        high = moment + slack if one else float(seen.trace.end_s[over]) + slack
        return self._among(burst, low, high)

    def _among(self, burst: int, low: float, high: float) -> tuple[float, float]:
        """Widen an interval by neighbouring bursts of which it is not clear whether they fell."""
        seen, evidence = self.seen, self.levels.evidence
        earlier, later = burst, burst
        while earlier > 0 and evidence[earlier - 1] > -_UNCLEAR:
            earlier -= 1
        while evidence[later] < _UNCLEAR and later + 1 < len(evidence):
            later += 1
        if earlier < burst:
            low = float(seen.trace.end_s[seen.index[seen.ends[earlier] - 1]]) - seen.interval_s
        if later > burst:
            high = float(seen.trace.end_s[seen.index[seen.ends[later] - 1]])
        return max(0.0, low), high


def _settled(seen: Observed, those: np.ndarray) -> FloatArray:
    """Rates of some intervals, without the first of each burst where TCP was still opening up."""
    later = those.copy()
    later[seen.starts] = False
    first = those & ~later
    if later.sum() >= 10 and first.any():
        level = float(np.median(seen.rate[later]))
        if float(np.median(seen.rate[first])) < 0.98 * level:
            return np.asarray(seen.rate[later])
    return np.asarray(seen.rate[those])


def _middle(values: FloatArray) -> float:
    return float(np.median(values))
