"""Intervals in which an end had no CPU, so that their rate says nothing of the network.

A thread that waits for a CPU does no harm while the kernel's buffers keep the network busy. It is
to blame where the streams ran dry meanwhile, where the receiver's window closed, and where the rate
differs from that of its neighbours by no more than what the wait explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tare.networks.recording.histogram import Floats
from tare.networks.recording.intervals import IntervalTable
from tare.networks.shaping.trace import QUANTUM_BITS
from tare.results.message import Amount, Chosen, Message, message

End = Literal["sender", "receiver"]
Mask = NDArray[np.bool_]

#: Share of an interval that has to be missing, so that it is more than noise: of a quiet machine,
#: intervals of 100 ms differ by 2 %, and the kernel counts in ticks of 4 or 10 ms.
_RATE, _DRY = 0.04, 0.1
#: Share of what is missing that waiting has to explain, and of a dip without more to show for it:
#: it may be that of a bucket that ran dry. The kernel counts a wait when it ends, and
#: what was late is caught up with in the interval after.
_EXPLAINS, _EXPLAINS_DIP = 0.5, 0.8
#: Intervals to each side whose median a rate is compared with.
_NEIGHBOURS = 10
#: Share of the intervals from which on an end's lack of CPU is reported.
_REPORTED = 0.05
#: Share of the time from which on waiting threads say that the kernel's own work was late, too.
_WAITED = 0.1
#: Share of their own time that round trips waited for a CPU from which on they say little.
_LATE = 0.25
#: Of each round trip, what two threads take to wake up on an idle machine: 8 µs where there is no
#: network between them.
_WAKING_NS = 10_000


@dataclass(frozen=True)
class Work:
    """What both ends did in each interval of one direction; arrays of one length, NaN: not known.

    Attributes
    ----------
    on_s, rate_bps : ndarray
        Seconds in which data was to be sent, and the bits a second in them.
    dry, limited : ndarray
        Share of that time for which nothing was under way, and for which the receiver's window held
        the streams back.
    sender, receiver : ndarray
        Share for which each thread of that end waited for a CPU.
    """

    on_s: Floats
    rate_bps: Floats
    dry: Floats
    limited: Floats
    sender: Floats
    receiver: Floats


@dataclass(frozen=True)
class Starved:
    """By end: intervals whose rate says nothing of the network, since that end had no CPU."""

    sender: Mask
    receiver: Mask

    @property
    def either(self) -> Mask:
        """Intervals that either end spoiled."""
        return self.sender | self.receiver


class Lack(msgspec.Struct, frozen=True, kw_only=True):
    """An end that had no CPU while data was to be sent."""

    end: End
    #: Share of the time for which each of its threads waited for a CPU.
    waited: float
    #: Share of the intervals whose rate says nothing of the network for it.
    intervals: float


def of_course(course: IntervalTable, streams: int) -> Work:
    """Return what the ends of a measurement did."""
    with np.errstate(divide="ignore", invalid="ignore"):
        on_ns = np.where(course.on_s > 0, 1e9 * course.on_s, np.nan)
        busy, limited, sender, receiver = (
            column / (on_ns * streams)
            for column in (
                course.busy_ns,
                course.receiver_limited_ns,
                course.sender_waited_ns,
                course.receiver_waited_ns,
            )
        )
        rate_bps = 8e9 * course.acked_bytes / on_ns
        return Work(course.on_s, rate_bps, 1 - busy, limited, sender, receiver)


def starved(work: Work) -> Starved:
    """Say in which intervals an end had no CPU, so that their rate is not the network's.

    Where the kernel does not report how long threads waited, there are none.
    """
    n = len(work.on_s)
    waits = [_around(wait) for wait in (work.sender, work.receiver)]
    sender, receiver = waits
    dry = (work.dry > _DRY) & (sender >= _EXPLAINS * work.dry)
    shut = (work.limited > _DRY) & (receiver >= _EXPLAINS * work.limited)
    level = _level(work, dry | shut)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(work.rate_bps / level - 1)
        # One piece more or less is how the kernel counts, and those with more are no slower.
        piece = QUANTUM_BITS / (level * work.on_s)
    late = (off > _RATE + piece) & (np.fmax(sender, receiver) >= _EXPLAINS_DIP * off)
    late &= np.isfinite(off) if n else False
    return Starved(dry | (late & (sender >= receiver)), shut | (late & (receiver > sender)))


def _around(wait: Floats) -> Floats:
    """Return the longest wait of each interval and of those next to it; not known is none."""
    known = np.nan_to_num(wait, nan=0.0)
    padded = np.concatenate([[0.0], known, [0.0]])
    return np.asarray(np.maximum(np.maximum(padded[:-2], padded[1:-1]), padded[2:]))


def _level(work: Work, spoiled: Mask) -> Floats:
    """Return the median rate around each interval; NaN where nothing is known."""
    used = np.flatnonzero(~spoiled & np.isfinite(work.rate_bps))
    level = np.full(len(work.on_s), np.nan)
    if not len(used):
        return level
    width = 2 * _NEIGHBOURS + 1
    rates = work.rate_bps[used]
    if len(rates) <= width:
        level[:] = np.median(rates)
        return level
    windows = np.lib.stride_tricks.sliding_window_view(rates, width)
    medians = np.median(windows, axis=1)
    place = np.searchsorted(used, np.arange(len(level)))
    level[:] = medians[np.clip(place - _NEIGHBOURS, 0, len(medians) - 1)]
    return level


def lacks(work: Work, found: Starved, among: Mask | None = None) -> tuple[Lack, ...]:
    """Return the ends without CPU, the worst first; ``among``: of these intervals alone."""
    sends = np.nan_to_num(work.on_s) > 0
    if among is not None:
        sends &= among
    if not sends.any():
        return ()
    ends: tuple[tuple[End, Mask, Floats], ...] = (
        ("sender", found.sender, work.sender),
        ("receiver", found.receiver, work.receiver),
    )
    some = []
    for end, mask, waits in ends:
        share = float(mask[sends].mean())
        if share >= _REPORTED:
            known = sends & np.isfinite(waits)
            some.append(Lack(end=end, waited=_mean(waits, work, known), intervals=share))
    return tuple(sorted(some, key=lambda one: -one.intervals))


def waited(work: Work) -> dict[End, float]:
    """Return the ends that waited for a CPU for so long that round trips may be late for it.

    The kernel sends and acknowledges on CPUs that others want, too, whose wait nobody counts.
    """
    ends: dict[End, Floats] = {"sender": work.sender, "receiver": work.receiver}
    found: dict[End, float] = {}
    for end, waits in ends.items():
        known = np.isfinite(waits) & (work.on_s > 0)
        if known.any():
            share = _mean(waits, work, known)
            if share >= _WAITED:
                found[end] = share
    return found


def _mean(waits: Floats, work: Work, known: Mask) -> float:
    """Return the share of all their time; no thread waits for longer, whatever a peer has told."""
    return min(1.0, float(np.average(waits[known], weights=work.on_s[known])))


def late_share(waited_ns: float, round_trips_ns: float, n: int) -> float | None:
    """Return the share of their own time that round trips waited for a CPU; None: of no account.

    Parameters
    ----------
    waited_ns : float
        Of the threads at both ends that send and return them.
    round_trips_ns : float
        Sum of the round trips.
    n : int
        How many they are.
    """
    if round_trips_ns <= 0:
        return None
    share = min(1.0, (waited_ns - n * _WAKING_NS) / round_trips_ns)
    return share if share >= _LATE else None


def rule() -> Message:
    """Say which intervals an end without CPU spoils."""
    return message(
        "an interval does not show the network if nothing was in flight, or the window "
        "closed, for over {dry} of it. Nor does it if its rate changed by over {rate} for "
        "lack of CPU",
        dry=Chosen(_DRY),
        rate=Chosen(_RATE),
    )


def no_cpu(lack: Lack) -> Message:
    """Say that an end had no CPU, and what that spoils."""
    return message(
        "the {end} had no CPU for {waited} of the time ({intervals} of the intervals show "
        "that instead of the network)",
        end=lack.end,
        waited=Amount(lack.waited, "share"),
        intervals=Amount(lack.intervals, "share"),
    )
