"""Looking for a token bucket: just the phases that telling one takes, and no more.

Full speed until the rate falls or a bound is reached; then rests, each followed by full speed until
the predicted burst is over, until the intervals are narrow
(:func:`tare.features.network.identify.next_phase`
decides). One drop is not called a bucket: contention looks like it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tare.agent.record import Gap, Interval
from tare.errors import AgentError
from tare.experiment.fingerprints.network.identified import Identification
from tare.features.network.identify.identifying import identify, on_the_wire
from tare.features.network.identify.phases import Next, next_phase
from tare.features.network.measure.client import WRITE_BYTES, Ends
from tare.features.network.measure.ended import EndedError
from tare.networks.recording import starved
from tare.networks.recording.folder import carried, wire_bits
from tare.networks.recording.intervals import of_intervals
from tare.networks.recording.lines import Happening
from tare.networks.recording.starved import Lack
from tare.networks.shaping.trace import Trace
from tare.results.message import Chosen, Duration, Message, message

if TYPE_CHECKING:
    from tare.features.network.fingerprint.progress import Bar
    from tare.networks.recording.writer import Writer

#: Length of an interval, in seconds; the burst of a small bucket after a short idle period spans
#: several.
INTERVAL_S = 0.02
#: Half the width of the intervals that is aimed at, relative.
PRECISION = 0.05
#: While it sends, what to do next is asked at least so often: sent beyond need is wasted.
_LOOK_S = 5.0
#: A phase that would be shorter than this says nothing.
_LEAST_S = 0.2


@dataclass(frozen=True)
class Bounds:
    """How much a search may cost."""

    seconds: float
    #: Bits to send, on the wire; None: as many as possible in the given time.
    bits: float | None = None
    precision: float = PRECISION


@dataclass(frozen=True)
class Found:
    """What a search found."""

    #: Recorded intervals, in bits on the wire.
    trace: Trace
    #: Bits on the wire for each of payload.
    wire: float
    #: None: nothing was sent.
    shaping: Identification | None
    #: Bits sent on the wire; then seconds from the first phase to the last.
    spent_bits: float
    seconds: float
    #: Why it ended.
    ended: Message
    intervals: tuple[Interval, ...]
    #: Whether somebody pressed Ctrl-C, or the other end was lost, so that this is not all.
    cut_short: bool = False
    #: Error that ended the search early; None: it was not an error, or Ctrl-C.
    failure: AgentError | None = None
    #: Ends that had no CPU.
    lacks: tuple[Lack, ...] = ()


@dataclass
class LiveTrace:
    """Intervals of one direction, as they come."""

    direction: str = "out"
    streams: int = 1
    #: Round trips a second beside the data.
    pings: int | None = None
    #: Whether headers are those of IP version 6.
    ip6: bool = False
    intervals: list[Interval] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    _acked_bytes: int = 0
    _segment_bytes: int = 0

    def add(self, happening: Happening) -> Interval | None:
        """Take what was told; returns it where it is an interval of this direction."""
        if isinstance(happening, Gap):
            self.gaps.append(happening)
        if isinstance(happening, Interval) and happening.direction == self.direction:
            self.intervals.append(happening)
            self._acked_bytes += happening.acked_bytes
            self._segment_bytes = happening.segment_bytes or self._segment_bytes
            return happening
        return None

    @property
    def wire(self) -> float:
        """Bits on the wire for each bit of payload."""
        sizes = [one.segment_bytes for one in self.intervals if one.segment_bytes > 0]
        return wire_bits(float(np.median(sizes)) if sizes else 0.0, ip6=self.ip6)

    @property
    def spent_bits(self) -> float:
        """All that was sent, on the wire."""
        return 8 * wire_bits(self._segment_bytes, ip6=self.ip6) * self._acked_bytes

    def lacks(self) -> tuple[Lack, ...]:
        """Return the ends that had no CPU so far."""
        return lacks_of(self.intervals, self.streams)

    def trace(self) -> Trace:
        """Return what was carried so far; seconds count from the first interval."""
        return trace_of(self.intervals, self.streams, self.pings, ip6=self.ip6)

    def found(
        self,
        key: dict[str, str],
        seconds: float,
        ended: Message,
        *,
        cut_short: bool = False,
        failure: AgentError | None = None,
    ) -> Found:
        """Return what all of it says; ``key``: what the identification is named by."""
        trace, sent = self.trace(), any(one.on_ns > 0 for one in self.intervals)
        return Found(
            trace=trace,
            wire=self.wire,
            shaping=identify(trace, key) if sent else None,
            spent_bits=self.spent_bits,
            seconds=seconds,
            ended=ended,
            intervals=tuple(self.intervals),
            cut_short=cut_short,
            failure=failure,
            lacks=self.lacks(),
        )


def lacks_of(intervals: Sequence[Interval], streams: int = 1) -> tuple[Lack, ...]:
    """Return the ends that had no CPU while data was sent, the worst first."""
    work = starved.of_course(of_intervals("out", intervals), streams)
    return starved.lacks(work, starved.starved(work))


def trace_of(
    intervals: Sequence[Interval],
    streams: int = 1,
    pings: int | None = None,
    *,
    ip6: bool = False,
) -> Trace:
    """Return intervals as a trace of what was on the wire, as a bucket counts it."""
    course = of_intervals("out", intervals)
    return on_the_wire(carried(course, streams=streams, pings=pings, ip6=ip6))


def search(
    ends: Ends,
    bounds: Bounds,
    teller: Bar,
    *,
    key: dict[str, str],
    direction: str = "out",
    streams: int = 1,
    keeper: Writer | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Found:
    """Send and rest until it is known what shapes a network, or a bound is reached.

    Parameters
    ----------
    ends : Ends
        Connected, with intervals of :data:`INTERVAL_S`.
    bounds : Bounds
    teller : Bar
    key : dict
        What the identification is named by.
    direction : str
        ``out`` or ``in``.
    streams : int
    keeper : Writer, optional
        Writes everything down.
    clock : callable
        Seconds.

    Returns
    -------
    Found
        Also where it was interrupted, or the other end was lost.
    """
    course = LiveTrace(direction, streams, ends.pings, ends.ip6)
    one = _Search(ends, bounds, teller, course, keeper, clock)
    cut_short = False
    failure: AgentError | None = None
    try:
        ended = one.run()
    except KeyboardInterrupt:
        ended, cut_short = message("it was interrupted"), True
    except AgentError as error:
        if not one.course.intervals:
            raise
        ended = (
            message("{why}", why=error.message)
            if isinstance(error, EndedError)
            else message("the other end was lost: {why}", why=error.message)
        )
        cut_short, failure = True, error
    return course.found(key, one.elapsed_s, ended, cut_short=cut_short, failure=failure)


class _Search:
    def __init__(
        self,
        ends: Ends,
        bounds: Bounds,
        teller: Bar,
        course: LiveTrace,
        keeper: Writer | None,
        clock: Callable[[], float],
    ) -> None:
        self.course = course
        self._ends = ends
        self._bounds = bounds
        self._teller = teller
        self._keeper = keeper
        self._clock = clock
        self._began = clock()

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._began

    def run(self) -> Message:
        """Go from phase to phase; returns why it ended."""
        what: Next | None = None
        while True:
            left_s = self._bounds.seconds - self.elapsed_s
            if left_s < _LEAST_S:
                return message(
                    "the limit of {time} was reached", time=Duration(self._bounds.seconds)
                )
            what = what or self._next()
            if what.action == "done":
                return what.why
            if what.action == "rest" and what.seconds >= left_s:
                idle, left = Duration(what.seconds), Duration(left_s)
                return message(
                    "the next idle period takes {idle}, and {left} are left", idle=idle, left=left
                )
            self._teller.phase(what, left_s)
            if what.action == "rest":
                for _ in self._told(_whole(what.seconds), send=False):
                    pass
                what = None
            else:
                what = self._send(what, _whole(left_s))
            if self._spent:
                bits = Chosen(self._bounds.bits or 0, "bits")
                return message("the limit of {bits} was reached", bits=bits)

    @property
    def _spent(self) -> bool:
        return self._bounds.bits is not None and self.course.spent_bits >= self._bounds.bits

    def _next(self) -> Next:
        return next_phase(self.course.trace(), self._bounds.seconds, self._bounds.precision)

    def _send(self, what: Next, most_s: float) -> Next | None:
        """Send until something else is to be done, which is returned, without any pause.

        A pause would be a rest, however short: a bucket is fuller after it.
        """
        due_s, sent_s = min(what.seconds, _LOOK_S), 0.0
        then: Next | None = None
        for one in self._told(most_s, send=True):
            sent_s += (one.end_ns - one.start_ns) / 1e9
            if then is not None or (not self._spent and sent_s < due_s):
                continue
            then = self._next()
            if self._spent or then.action != "send":
                self._ends.skip()
                continue
            self._teller.phase(then, self._bounds.seconds - self.elapsed_s)
            due_s, then = sent_s + min(then.seconds, _LOOK_S), None
        return then

    def _told(self, seconds: float, *, send: bool) -> Iterator[Interval]:
        """Carry one phase out, and yield its intervals."""
        order = self._ends.order(seconds, None if send else 0.0, 0.0, WRITE_BYTES)
        if self._keeper is not None:
            self._keeper.phase(order)
        for happening in self._ends.send(order):
            if self._keeper is not None:
                self._keeper.write(happening)
            one = self.course.add(happening)
            if one is not None:
                left_s = self._bounds.seconds - self.elapsed_s
                self._teller.seen(_rate(one), self.course.spent_bits, left_s)
                yield one


def _whole(seconds: float) -> float:
    """Return whole intervals: the rate of what is left of one would be noise."""
    return max(1, round(seconds / INTERVAL_S)) * INTERVAL_S


def _rate(one: Interval) -> float | None:
    return 8e9 * one.acked_bytes / one.on_ns if one.on_ns else None
