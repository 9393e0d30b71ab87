"""What was seen in one direction, as columns: an interval is a number in each."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from tare.agent.record import Direction, Histogram, Interval
from tare.networks.recording.histogram import Floats, Times
from tare.networks.recording.rows import Rows

#: Share of the usual time of sending in a phase, and round trips, below which an interval is idle.
_LEAST_ON, _ROUND_TRIPS = 0.1, 3
#: Share from which on an interval is none, however late the network is.
_PARTLY = 0.5
_NAN = float("nan")
#: Quantiles that are kept of each interval's round trips.
QUANTILES = (0.5, 0.9, 0.99)
#: Of an interval whose kernel, or whose tare, reported no segments.
_NO_TIMES = Histogram(bins=(), sum_ns=0)


@dataclass(frozen=True)
class IntervalTable:
    """What was seen in one direction, interval by interval; NaN: not told.

    Attributes
    ----------
    start_s, end_s, on_s : ndarray
        Since the trace began; and how long data was to be sent.
    phase : ndarray of int
        Number of the phase.
    acked_bytes, received_bytes, segments, retransmits, segment_bytes : ndarray
    segments_left_out : ndarray
        Writes that were due for a time stamp and got none.
    min_rtt_ns, window_segments : ndarray
    busy_ns, receiver_limited_ns, buffer_limited_ns : ndarray
    sender_cpu_ns, receiver_cpu_ns : ndarray
    sender_waited_ns, receiver_waited_ns, round_trips_waited_ns : ndarray
        How long threads waited for a CPU.
    smoothed_ns, segment_rtt_ns, round_trip_ns : ndarray
        Of each interval :data:`QUANTILES` and the maximum; one row an interval.
    smoothed, segment_rtt, round_trips, idle : dict of int to Times
        By phase: its smoothed round trips; those of segments; those beside the data, while data
        was to be sent, and while none was.
    """

    direction: Direction
    start_s: Floats
    end_s: Floats
    on_s: Floats
    phase: NDArray[np.int64]
    acked_bytes: Floats
    received_bytes: Floats
    segments: Floats
    retransmits: Floats
    segment_bytes: Floats
    segments_left_out: Floats
    min_rtt_ns: Floats
    window_segments: Floats
    busy_ns: Floats
    receiver_limited_ns: Floats
    buffer_limited_ns: Floats
    sender_cpu_ns: Floats
    receiver_cpu_ns: Floats
    sender_waited_ns: Floats
    receiver_waited_ns: Floats
    round_trips_waited_ns: Floats
    smoothed_ns: Floats
    segment_rtt_ns: Floats
    round_trip_ns: Floats
    smoothed: dict[int, Times]
    segment_rtt: dict[int, Times]
    round_trips: dict[int, Times]
    idle: dict[int, Times]

    def __len__(self) -> int:
        return len(self.start_s)

    @property
    def sends(self) -> NDArray[np.bool_]:
        """Intervals in which data was to be sent for long enough to say something."""
        return sends(self.phase, self.on_s, self.min_rtt_ns / 1e9)

    @property
    def rate_bps(self) -> Floats:
        """Payload bits a second while data was to be sent; NaN in a rest."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.on_s > 0, 8 * self.acked_bytes / self.on_s, np.nan)


def sends(phase: NDArray[np.int64], on_s: Floats, round_trip_s: Floats) -> NDArray[np.bool_]:
    """Say which intervals sent for long enough; the others are rests.

    An interval of a rest may begin, or end, with a moment of sending, since both ends turn on their
    own clocks: nothing can be acknowledged in it.

    Parameters
    ----------
    phase : ndarray of int
        Number of the phase of each: one that is longer than is usual in it is only late.
    on_s : ndarray
        For how long data was to be sent.
    round_trip_s : ndarray
        The least of the network; NaN: not known.
    """
    usual_s = np.zeros(len(on_s))
    for number in np.unique(phase):
        of_it = phase == number
        some = on_s[of_it & (on_s > 0)]
        usual_s[of_it] = np.median(some) if len(some) else 0.0
    least_s = np.fmax(_LEAST_ON * usual_s, _ROUND_TRIPS * round_trip_s)
    # Where all are that short, they are all that there is.
    return np.asarray((on_s > 0) & (on_s >= np.minimum(least_s, _PARTLY * usual_s)))


#: Numbers of an interval that are columns by themselves; absent is NaN.
_PLAIN = (
    "acked_bytes", "received_bytes", "segments", "retransmits", "segment_bytes",
    "segments_left_out", "min_rtt_ns", "window_segments", "busy_ns",
    "receiver_limited_ns", "buffer_limited_ns", "sender_cpu_ns", "receiver_cpu_ns",
    "sender_waited_ns", "receiver_waited_ns", "round_trips_waited_ns",
)  # fmt: skip
_plain_of = attrgetter(*_PLAIN)


class IntervalColumns:
    """Collects the intervals of one direction."""

    def __init__(self, direction: Direction, *, round_trips: bool = True) -> None:
        """Begin without intervals; ``round_trips``: whether their histograms are kept."""
        self._direction = direction
        self._keeps_round_trips = round_trips
        # Row by row: one call appends them all.
        self._plain = array("d")
        self._phase = array("q")
        self._smoothed = Rows(QUANTILES)
        self._segments = Rows(QUANTILES)
        self._round_trips = Rows(QUANTILES)

    def add(self, start_s: float, end_s: float, one: Interval) -> None:
        """Take the next."""
        self._plain.extend([_NAN if value is None else value for value in _plain_of(one)])
        self._plain.extend((start_s, end_s, one.on_ns / 1e9))
        self._phase.append(one.id)
        if not self._keeps_round_trips:
            return
        self._smoothed.add(one.smoothed_rtt, (one.id, True))
        self._segments.add(one.segment_rtt or _NO_TIMES, (one.id, True))
        self._round_trips.add(one.round_trips, (one.id, _is_loaded(one)))

    def course(self) -> IntervalTable:
        """Return all of them."""
        names = (*_PLAIN, "start_s", "end_s", "on_s")
        rows = np.array(self._plain).reshape(-1, len(names))
        smoothed, round_trips = self._smoothed.quantiles(), self._round_trips.quantiles()
        return IntervalTable(
            direction=self._direction,
            phase=np.array(self._phase, dtype=np.int64),
            smoothed_ns=smoothed,
            segment_rtt_ns=self._segments.quantiles(),
            round_trip_ns=round_trips,
            smoothed=_of(self._smoothed, loaded=True),
            segment_rtt=_of(self._segments, loaded=True),
            round_trips=_of(self._round_trips, loaded=True),
            idle=_of(self._round_trips, loaded=False),
            **{name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(names)},
        )


def of_intervals(direction: Direction, some: Sequence[Interval]) -> IntervalTable:
    """Return intervals that an agent reported, without their round trips.

    Seconds count from the first one.
    """
    columns = IntervalColumns(direction, round_trips=False)
    origin_ns = some[0].start_ns if some else 0
    for one in some:
        columns.add((one.start_ns - origin_ns) / 1e9, (one.end_ns - origin_ns) / 1e9, one)
    return columns.course()


def _is_loaded(one: Interval) -> bool | None:
    """Say whether data was to be sent all the while; None: for a part of it."""
    if one.on_ns == 0:
        return False
    return True if 2 * one.on_ns >= one.end_ns - one.start_ns else None


def _of(rows: Rows, *, loaded: bool) -> dict[int, Times]:
    return {key[0]: times for key, times in rows.together.items() if key[1] is loaded}
