"""What each stage of a fingerprint brings, and what it takes of a bucket."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from typing import Self

from tare.agent.record import Interval
from tare.experiment.fingerprints.network.document import Figure, Moment, Unit, Write
from tare.experiment.fingerprints.network.identified import Estimate, Identification
from tare.features.network.fingerprint import figures
from tare.features.network.fingerprint.search import Found

#: Settling time of a stream, in ns, which no figure includes.
_SETTLING_NS = 300_000_000
#: Beside what an identified bucket holds: it is known so well.
_SPARE = 0.1
_LOADED = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
#: Parts of a search that a picture has use for; and that a file takes.
_MOST_MOMENTS, _MOST_KEPT = 400, 1000


def of_search(found: Found, fresh: Sequence[Interval]) -> dict[str, Figure]:
    """Return base bandwidth, loaded latency, and the parameters of a bucket.

    Parameters
    ----------
    found : Found
    fresh : sequence of Interval
        Of which base bandwidth and latency are.
    """
    named: dict[str, Figure | None] = {
        "bandwidth.fresh": figures.median(figures.rates(fresh), "bits/s"),
        "retransmitted.fresh": figures.retransmitted(fresh),
    }
    named |= _latency("latency.loaded", fresh)
    named |= _latency("latency.throttled", _throttled(found))
    if found.shaping is not None and found.shaping.kind in ("bucket", "drop"):
        named |= _bucket(found.shaping)
    return {name: figure for name, figure in named.items() if figure is not None}


def _latency(stem: str, intervals: Sequence[Interval]) -> dict[str, Figure]:
    some = [one.round_trips for one in intervals]
    return figures.round_trips(some, [(f"{stem}.{name}", q) for name, q in _LOADED])


def fresh(found: Found, fresh_s: float) -> list[Interval]:
    """Return the first intervals at full speed, once it is reached, until anything changes.

    Parameters
    ----------
    found : Found
    fresh_s : float
        How much of the beginning is the base, as far as no bucket was empty before.
    """
    sent = [one for one in found.intervals if one.on_ns > 0]
    if not sent:
        return []
    start_ns = sent[0].start_ns
    until_ns = start_ns + round(1e9 * fresh_s)
    empty = _time_to_empty(found)
    if empty is not None:
        until_ns = min(until_ns, start_ns + round(1e9 * empty))
    return settled([one for one in sent if one.end_ns <= until_ns]) or sent[:1]


def settled(sent: Sequence[Interval]) -> list[Interval]:
    """Return the intervals after the first moment; all where there are no more."""
    if not sent:
        return []
    after_ns = sent[0].start_ns + _SETTLING_NS
    return [one for one in sent if one.start_ns >= after_ns] or list(sent)


def _time_to_empty(found: Found) -> float | None:
    shaping = found.shaping
    if shaping is None or shaping.kind not in ("bucket", "drop"):
        return None
    return None if shaping.time_to_empty_s is None else shaping.time_to_empty_s.value


def _throttled(found: Found) -> list[Interval]:
    """Return the intervals at the low rate, after the first drop."""
    empty, shaping = _time_to_empty(found), found.shaping
    if empty is None or shaping is None or shaping.high_gbps is None or shaping.low_gbps is None:
        return []
    between_bps = 1e9 * sqrt(max(0.0, shaping.high_gbps.value * shaping.low_gbps.value))
    first_ns = found.intervals[0].start_ns + round(1e9 * empty) + _SETTLING_NS
    return [
        one
        for one in found.intervals
        if one.on_ns > 0
        and one.start_ns >= first_ns
        and 8e9 * found.wire * one.acked_bytes / one.on_ns < between_bps
    ]


def _bucket(shaping: Identification) -> dict[str, Figure | None]:
    """Return the parameters of a bucket as it counts itself: on the wire."""

    def figure(estimate: Estimate | None, unit: Unit) -> Figure | None:
        if estimate is None:
            return None
        scale = 1e9 * shaping.wire
        low, high = (max(0.0, scale * end) for end in estimate.ci)
        value = max(0.0, scale * estimate.value)
        ci = (min(low, value), max(high, value))
        return Figure(value=value, ci=ci, unit=unit, n=shaping.intervals)

    return {
        "bucket.high": figure(shaping.high_gbps, "bits/s"),
        "bucket.low": figure(shaping.low_gbps, "bits/s"),
        "bucket.budget": figure(shaping.budget_gbit, "bits"),
        "bucket.refill": figure(shaping.refill_gbps, "bits/s"),
    }


def of_writes(size: int, intervals: Sequence[Interval], *, throttled: bool = False) -> Write | None:
    """Return what writes of one size brought; None: nothing was sent."""
    sent = [one for one in intervals if one.on_ns > 0]
    # The stream is fast already, but for its first moment.
    settled = sent[1:] or sent
    bandwidth = figures.median(figures.rates(settled), "bits/s")
    if bandwidth is None:
        return None
    trips = figures.round_trips([one.smoothed_rtt for one in settled], (("p50", 0.5),))
    return Write(
        write_bytes=size,
        bandwidth=bandwidth,
        round_trip=trips.get("p50"),
        retransmitted=figures.retransmitted(settled),
        throttled=throttled,
    )


def in_one_go(found: Found) -> tuple[float, float]:
    """Return the most bits, on the wire, and seconds that were sent without a rest or a drop."""
    empty = _time_to_empty(found)
    most = bits = seconds = 0.0
    longest = 0.0
    for one in found.intervals:
        if one.on_ns == 0:
            bits = seconds = 0.0
            continue
        bits += 8 * found.wire * one.acked_bytes
        seconds += one.on_ns / 1e9
        if bits > most:
            most, longest = bits, seconds
        if empty is not None and seconds >= empty:
            break
    return most, longest


def course(found: Found) -> tuple[Moment, ...]:
    """Return how a search went; neighbours that send, or rest, are joined to few parts."""
    some = found.intervals
    if not some:
        return ()
    size = -(-len(some) // _MOST_MOMENTS)
    moments = []
    for sends, group in groupby(some, key=lambda one: one.on_ns > 0):
        alike = list(group)
        for start in range(0, len(alike), size):
            part = alike[start : start + size]
            on_ns = sum(one.on_ns for one in part)
            bits = 8 * found.wire * sum(one.acked_bytes for one in part)
            moments.append(
                Moment(
                    at_s=(part[-1].end_ns - some[0].start_ns) / 1e9,
                    rate_bps=1e9 * bits / on_ns if sends else None,
                )
            )
    return tuple(moments[:_MOST_KEPT])


@dataclass
class Tokens:
    """What an identified bucket holds while writes of all sizes are measured."""

    high_bps: float
    refill_bps: float
    capacity_bits: float
    now_bits: float
    _clock: Callable[[], float]
    _at: float

    @classmethod
    def of(cls, shaping: Identification | None, clock: Callable[[], float]) -> Self | None:
        """Return what is known; None: there is no bucket, or not enough is known of it."""
        if shaping is None or shaping.kind not in ("bucket", "drop"):
            return None
        high, budget = shaping.high_gbps, shaping.budget_gbit
        refill = shaping.refill_gbps or shaping.low_gbps
        if high is None or budget is None or refill is None or refill.value <= 0:
            return None
        left = shaping.left_gbit
        scale = 1e9 * shaping.wire
        now = 0.0 if left is None else scale * left.value
        return cls(
            scale * high.value, scale * refill.value, scale * budget.value, now, clock, clock()
        )

    def before(self, seconds: float) -> tuple[float, float]:
        """Return how long may be sent at full speed, and the rest that it needs before."""
        self._pass(0.0)
        most_s = (1 - _SPARE) * self.capacity_bits / self.high_bps
        seconds = min(seconds, most_s)
        needed = (1 + _SPARE) * seconds * max(0.0, self.high_bps - self.refill_bps)
        return seconds, max(0.0, (needed - self.now_bits) / self.refill_bps)

    def sent(self, bits: float) -> None:
        """Take what was sent, on the wire."""
        self._pass(bits)

    def _pass(self, bits: float) -> None:
        now = self._clock()
        came = self.refill_bps * (now - self._at)
        self.now_bits = min(self.capacity_bits, max(0.0, self.now_bits + came - bits))
        self._at = now


def shuffled(sizes: Sequence[int]) -> list[int]:
    """Return the sizes in an order that is always the same, and none of theirs."""
    order = list(sizes)
    random.Random(len(order)).shuffle(order)
    return order
