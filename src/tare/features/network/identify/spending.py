"""What was sent between moments at which a bucket was empty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tare.features.network.identify.bursts import Observed, Plateau, drained_at
from tare.features.network.identify.estimates import level
from tare.networks.shaping.trace import QUANTUM_BITS
from tare.statistics.bucket import Stretch
from tare.statistics.levels import Levels, fall_between
from tare.statistics.robust import robust_sd

#: Intervals at the low rate alone, from which on that is known.
_FEWEST = 3
#: Share of what was sent in a stretch that may not be known.
_UNKNOWN = 0.05
#: Relative difference by which the first intervals of bursts have another rate than the others, and
#: how many of these there must be.
_OPENING, _SOME = 0.02, 10
#: Log-likelihood at which it is not clear whether a burst fell: half of chi-squared at 95 %.
_UNCLEAR = 1.92


@dataclass(frozen=True, eq=False)
class Balance:
    """A trace as a bucket would have it.

    Attributes
    ----------
    high, low : Plateau
        The intervals at each level alone; ``low`` is empty where it is never seen alone.
    high_bps, low_bps : float
        The rates of these; ``low_bps`` is 0 where it is never seen alone.
    noise : float
        Of high intervals, as in :class:`tare.features.network.identify.estimates.Level`.
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
    meanwhile : tuple of float
        Bits that went through in the rests of each of them, such as round trips that are measured.
    agreed : tuple of Stretch
        The same, with errors no larger than rests differ from each other.
    empty_s : float
        The last moment at which the rate was low.
    hidden : bool
        Whether no interval shows the low rate alone.
    """

    high: Plateau
    low: Plateau
    high_bps: float
    low_bps: float
    noise: float
    falls_s: float
    falls_between_s: tuple[float, float]
    begin_s: float
    first: Stretch | None
    refills: tuple[Stretch, ...]
    meanwhile: tuple[float, ...]
    agreed: tuple[Stretch, ...]
    empty_s: float
    hidden: bool


def spending(seen: Observed, levels: Levels) -> Balance:
    """Balance what was sent between moments of emptiness."""
    n = len(seen.index)
    position = np.arange(n)
    fall_of = np.repeat(levels.fall, seen.ends - seen.starts)
    low = seen.plateau(position > fall_of)
    high = seen.plateau(_settled(seen, position < fall_of))
    hidden = len(low) < _FEWEST
    fast = level(high)
    high_bps, low_bps = fast.value, 0.0 if hidden else level(low).value
    books = _Books(seen, levels, high_bps, low_bps, hidden, fast.noise)
    dry = np.flatnonzero(levels.dry)
    moments = [books.empties(int(b)) for b in dry]
    ends = [books.over(int(b)) for b in dry]
    # Also where nothing is known of the rate yet, as without a CPU, tokens were spent; but none
    # while TCP opens up, slower than they come back to a full bucket.
    sends = np.flatnonzero(seen.trace.on_s > 0)
    spends = seen.trace.bits[sends] >= low_bps * seen.trace.on_s[sends]
    begun_at = int(sends[np.argmax(spends)])
    begin = float(seen.trace.start_s[begun_at])
    refills: list[Stretch] = []
    meanwhile: list[float] = []
    resting = np.where(seen.trace.on_s == 0, np.nan_to_num(seen.trace.bits), 0.0)
    for k in range(1, len(dry)):
        before, b = int(dry[k - 1]), int(dry[k])
        at = books.begins(b)
        starts = books.sends_from(at)
        rest = starts - ends[k - 1][0] if b == before + 1 else None
        stretch = books.stretch(ends[k - 1], moments[k], rest)
        if stretch is not None:
            refills.append(stretch)
            since = int(np.searchsorted(seen.trace.start_s, ends[k - 1][0]))
            meanwhile.append(float(resting[since:at].sum()))
    first = books.stretch((begin, float(seen.sent[begun_at])), moments[0], None)
    share = _scatter(refills, low_bps)
    return Balance(
        high=high,
        low=Plateau(np.empty(0), np.empty(0)) if hidden else low,
        high_bps=high_bps,
        noise=fast.noise,
        low_bps=low_bps,
        falls_s=moments[0][0],
        falls_between_s=books.between(int(dry[0])),
        begin_s=begin,
        first=first and _no_worse(first, share),
        refills=tuple(refills),
        meanwhile=tuple(meanwhile),
        agreed=tuple(_no_worse(one, share) for one in refills),
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
    #: Noise of each interval, as in :class:`tare.features.network.identify.estimates.Level`.
    noise: float

    def empties(self, burst: int) -> _Moment:
        """Return when a burst fell, where low is hidden its end."""
        if self.hidden:
            return self.over(burst)
        at = int(self.seen.index[self.levels.fall[burst]])
        trace = self.seen.trace
        share = (self.seen.rate[self.levels.fall[burst]] - self.low) / (self.high - self.low)
        fast = float(np.clip(share, 0.0, 1.0)) * float(trace.on_s[at])
        return self.sends_from(at) + fast, float(self.seen.sent[at]) + self.high * fast

    def sends_from(self, at: int) -> float:
        """Return when an interval began to send: after a rest, a partial one sends at its end."""
        trace = self.seen.trace
        rested = at > 0 and trace.on_s[at - 1] == 0
        return float(trace.end_s[at] - trace.on_s[at] if rested else trace.start_s[at])

    def begins(self, burst: int) -> int:
        """Return the interval in which a burst began, which may say nothing of its rate."""
        at = int(self.seen.index[self.seen.starts[burst]])
        before = int(self.seen.index[self.seen.ends[burst - 1] - 1]) if burst else -1
        while at - 1 > before and self.seen.trace.on_s[at - 1] > 0:
            at -= 1
        return at

    def over(self, burst: int) -> _Moment:
        """Return when the last of a burst was through, what had waited in buffers included."""
        at = int(self.seen.index[self.seen.ends[burst] - 1])
        trace = self.seen.trace
        drained = drained_at(trace, at, self.low)
        if drained == at:
            return self.sends_from(at) + float(trace.on_s[at]), float(self.seen.sent[at + 1])
        lasts = float(trace.end_s[drained] - trace.start_s[drained])
        took = float(trace.bits[drained]) / self.low if self.low > 0 else lasts
        ends = float(trace.start_s[drained]) + min(lasts, took)
        return ends, float(self.seen.sent[drained + 1])

    def stretch(self, begin: _Moment, end: _Moment, rest: float | None) -> Stretch | None:
        """Return what lies between two moments; None where too much of it is not known."""
        edges = np.searchsorted(self.seen.trace.start_s, [begin[0], end[0]])
        a, b = int(edges[0]), int(edges[1])
        sent = end[1] - begin[1]
        unknown = float(self.seen.unknown[b] - self.seen.unknown[a])
        if end[0] <= begin[0] or unknown > _UNKNOWN * max(sent, 1.0):
            return None
        squares = max(0.0, float(self.seen.squares[b] - self.seen.squares[a]))
        noise = squares * self.noise
        # Of what is not known, half was sent, with the SD of a uniform share.
        error = math.sqrt(noise + unknown**2 / 12 + QUANTUM_BITS**2 / 6)
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


def _scatter(refills: Sequence[Stretch], low_bps: float) -> float:
    """Return by which share what rests brought back may be off, as far as they agree on one rate.

    A sender that now and then is slower spends its tokens later, not fewer of them: then the noise
    of the rate is none of what was sent in all.
    """
    rested = [one for one in refills if one.rest_s]
    if len(rested) < 2:
        return math.inf
    rest = np.array([one.rest_s for one in rested])
    sent = np.array([one.beyond(low_bps) for one in rested]) + low_bps * rest
    rates = sent / rest
    middle = float(np.mean(rates))
    if middle <= 0:
        return math.inf
    free = len(rates) - 1
    spread = float(np.sqrt(((rates / middle - 1) ** 2).sum() / free))
    # The upper end of its 90 % interval: few rests agree by chance.
    return spread * math.sqrt(free / float(special.chdtri(free, 0.95)))


def _no_worse(one: Stretch, share: float) -> Stretch:
    return replace(one, error=min(one.error, math.hypot(share * one.sent, QUANTUM_BITS)))


def _settled(seen: Observed, those: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Leave out the first intervals of bursts where they have another rate than the others.

    TCP is still opening up then, or an emulator has gathered more than it should have.
    """
    later = those.copy()
    later[seen.starts] = False
    first = those & ~later
    if later.sum() < _SOME or not first.any():
        return those
    usual = float(np.median(seen.rate[later]))
    spread = robust_sd(seen.rate[later], usual)
    opening = usual - max(_OPENING * usual, 3 * spread)
    kept = later if abs(float(np.median(seen.rate[first])) / usual - 1) > _OPENING else those.copy()
    for start, end in zip(seen.starts, seen.ends, strict=True):
        below = seen.rate[start:end] < opening
        slow = len(below) if below.all() else int(np.argmin(below))
        kept[start : start + slow] = False
    return kept if kept.sum() >= _SOME else those
