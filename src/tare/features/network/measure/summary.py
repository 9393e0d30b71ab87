"""A measurement in short: how much, how steady, how late, and what was the limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tare.agent.record import Direction
from tare.networks.recording.folder import Measured, groups, sending
from tare.networks.recording.histogram import Floats, Times
from tare.networks.recording.intervals import IntervalTable
from tare.networks.recording.lines import Phase, pattern
from tare.networks.recording.starved import Lack, lacks, late_share, no_cpu, of_course, starved
from tare.render.words import text
from tare.results.message import Amount, Message, message

#: Percentiles of the boxes in CLOUDNET's figures.
PERCENTILES = (1, 25, 50, 75, 99)
#: Share of the time beyond which a buffer, or a CPU, was the limit.
_HELD, _FULL = 0.5, 0.9
#: Share of the time below which streams that always have data to send were not written to in time;
#: the kernel counts in ticks of up to 10 ms.
_BUSY = 0.8


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Round trips, in nanoseconds."""

    n: int
    p50_ns: float
    p90_ns: float
    p99_ns: float
    max_ns: float


class Limit(msgspec.Struct, frozen=True):
    """What kept a rate below that of the network, and the same in words."""

    kind: Literal["lacks", "sender_cpu", "receiver_cpu", "buffer", "window", "idle"]
    said: Message


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern in one direction; None: not known."""

    pattern: str
    write_bytes: int
    direction: Direction
    #: That sent for as long as the pattern lets them, mostly; all that follows is of them.
    intervals: int
    #: For which was measured, rests included, and in which data was to be sent.
    seconds: float
    on_seconds: float
    #: Payload that was acknowledged, in all.
    sent_bytes: float
    #: Percentiles of bandwidth, by their names: p1, p25, …
    bandwidth_bps: dict[str, float]
    mean_bps: float | None
    coefficient_of_variation: float | None
    #: Between consecutive intervals, as a share of the earlier.
    largest_change: float | None
    retransmits: int
    #: Share of retransmitted segments; where the kernel does not count segments, of those that the
    #: payload needs.
    retransmit_share: float | None
    #: Smallest round trip of the data streams themselves that the kernel saw.
    min_rtt_ns: float | None = msgspec.field(name="min_rtt_ns")
    #: Latency of small messages while data was sent, and while the network was idle.
    loaded: Latency | None
    idle: Latency | None
    #: Smoothed round-trip time (SRTT) as TCP_INFO reports it.
    smoothed: Latency | None
    #: Round-trip times of single segments of the data streams; None: no sending kernel reported
    #: them.
    segment_rtt: Latency | None
    #: Share of the segments chosen for it that are not in it: too many were under way.
    segments_left_out: float | None
    #: CPUs that were busy with sending and receiving while data was sent.
    sender_cpus: float | None
    receiver_cpus: float | None
    #: Share of the time for which the streams had data under way, as the kernel saw it.
    busy: float | None
    #: Share of that time in which the sender's buffer, and the receiver's window, limited the
    #: stream.
    buffer_limited: float | None
    receiver_limited: float | None
    #: Ends that had no CPU, so that some intervals say nothing of the network; the worst first.
    lacks: tuple[Lack, ...]
    #: Share of their own time for which small messages waited for a CPU at either end, under load
    #: and idle, where it is so much that they say little of the network.
    loaded_late: float | None
    idle_late: float | None
    #: Bottleneck; None: as far as both ends can see, the network itself.
    limit: Limit | None


def figures(measured: Measured, some: Sequence[Summary]) -> dict[str, Any]:
    """Return the numbers of a measurement for scripts; None: not known."""
    asked = measured.asked
    return {
        "host": asked.host,
        "begun_ns": measured.begun_ns,
        "seconds": measured.end_s,
        "streams": asked.streams,
        "interval_ns": asked.interval_ns,
        "complete": not measured.left_ns(),
        "ended": None if measured.ended is None else msgspec.to_builtins(measured.ended),
        "summaries": [
            {
                **msgspec.to_builtins(msgspec.structs.replace(one, limit=None)),
                "limit": one.limit and text(one.limit.said),
            }
            for one in some
        ],
        "ends": measured.facts,
        "gaps": [{"start_s": a, "end_s": b, "why": text(why)} for a, b, why in measured.gaps],
    }


def summaries(measured: Measured) -> tuple[Summary, ...]:
    """Return a measurement in short, by pattern, size of writes and direction."""
    found = []
    for course in measured.courses.values():
        for phases in groups(measured):
            one = _summary(measured, course, phases)
            if one is not None:
                found.append(one)
    return tuple(found)


def largest_change(rates: Floats, start_s: Floats, end_s: Floats) -> float | None:
    """Return the largest change from one interval to the next, as a share; None: no two."""
    # Rests lie between those of a pattern; gaps are longer than any of these.
    lengths = np.diff(start_s)
    near = lengths <= 1.5 * np.median(lengths) if len(lengths) else np.zeros(0, bool)
    before, after = rates[:-1][near], rates[1:][near]
    some = before > 0
    if not some.any():
        return None
    return float(np.max(np.abs(after[some] / before[some] - 1)))


def _summary(measured: Measured, course: IntervalTable, phases: Sequence[Phase]) -> Summary | None:
    used = sending(course, phases)
    if not used.any():
        return None
    mine = np.isin(course.phase, [phase.id for phase in phases])
    rates = course.rate_bps[used]
    first, ids = phases[0], [phase.id for phase in phases]
    mean = float(np.average(rates, weights=course.on_s[used]))
    held = [
        _share(course, mine, course.buffer_limited_ns),
        _share(course, mine, course.receiver_limited_ns),
    ]
    busy = _busy(course, mine, measured.asked.streams)
    work = of_course(course, measured.asked.streams)
    lacking = lacks(work, starved(work), used)
    cpus = [_cpus(course, mine, some) for some in (course.sender_cpu_ns, course.receiver_cpu_ns)]
    return Summary(
        pattern=pattern(first.on_ns, first.off_ns),
        write_bytes=first.write_bytes,
        direction=course.direction,
        intervals=int(used.sum()),
        seconds=float((course.end_s - course.start_s)[mine].sum()),
        on_seconds=float(course.on_s[mine].sum()),
        sent_bytes=float(course.acked_bytes[mine].sum()),
        bandwidth_bps={
            f"p{p}": float(v)
            for p, v in zip(PERCENTILES, np.percentile(rates, PERCENTILES), strict=True)
        },
        mean_bps=mean,
        coefficient_of_variation=_variation(rates),
        largest_change=largest_change(rates, course.start_s[used], course.end_s[used]),
        retransmits=int(course.retransmits[mine].sum()),
        retransmit_share=_retransmit_share(course, mine),
        min_rtt_ns=_least(course.min_rtt_ns[mine]),
        loaded=_latency(course.round_trips, ids),
        # Rests of any phase are as idle as those of the pattern.
        idle=_latency(course.idle, list(course.idle)),
        smoothed=_latency(course.smoothed, ids),
        segment_rtt=(segment_rtt := _latency(course.segment_rtt, ids)),
        segments_left_out=_left_out(course, mine, segment_rtt),
        sender_cpus=cpus[0],
        receiver_cpus=cpus[1],
        busy=busy,
        buffer_limited=held[0],
        receiver_limited=held[1],
        lacks=lacking,
        loaded_late=_late(course, mine & (course.on_s > 0), course.round_trips, ids),
        idle_late=_late(course, course.on_s == 0, course.idle, list(course.idle)),
        limit=Limit(
            "lacks", message("{lacks | join('; ')}", lacks=[no_cpu(lack) for lack in lacking])
        )
        if lacking
        else _limit(held, cpus, busy, measured.asked.streams),
    )


def _left_out(course: IntervalTable, mine: NDArray[np.bool_], seen: Latency | None) -> float | None:
    counts = course.segments_left_out[mine]
    left_out = float(np.nansum(counts))
    if np.isnan(counts).all() or (seen is None and not left_out):
        return None
    return left_out / (left_out + (seen.n if seen else 0))


def _variation(rates: Floats) -> float | None:
    mean = float(rates.mean())
    return float(rates.std(ddof=1)) / mean if len(rates) > 1 and mean > 0 else None


def _retransmit_share(course: IntervalTable, mine: NDArray[np.bool_]) -> float | None:
    segments = float(np.nansum(course.segments[mine]))
    if not segments:
        with np.errstate(divide="ignore", invalid="ignore"):
            made = course.acked_bytes[mine] / course.segment_bytes[mine]
        segments = float(made[np.isfinite(made)].sum())
    return min(1.0, float(course.retransmits[mine].sum()) / segments) if segments else None


def _least(values: Floats) -> float | None:
    known = values[np.isfinite(values) & (values > 0)]
    return float(known.min()) if len(known) else None


def _latency(by_phase: dict[int, Times], ids: Sequence[int]) -> Latency | None:
    together = Times()
    for one in ids:
        if one in by_phase:
            together.join(by_phase[one])
    p50, p90, p99 = (together.quantile_ns(q) for q in (0.5, 0.9, 0.99))
    if p50 is None or p90 is None or p99 is None:
        return None
    return Latency(
        n=len(together), p50_ns=p50, p90_ns=p90, p99_ns=p99, max_ns=float(together.max_ns or p99)
    )


def _late(
    course: IntervalTable, mine: NDArray[np.bool_], by_phase: dict[int, Times], ids: Sequence[int]
) -> float | None:
    some = [by_phase[one] for one in ids if one in by_phase]
    together_ns, n = sum(one.sum_ns for one in some), sum(len(one) for one in some)
    # Not known is none: of the last interval, the other end may not have told.
    return late_share(float(np.nansum(course.round_trips_waited_ns[mine])), together_ns, n)


def _share(course: IntervalTable, mine: NDArray[np.bool_], held_ns: Floats) -> float | None:
    known = mine & np.isfinite(held_ns) & np.isfinite(course.busy_ns)
    busy = float(course.busy_ns[known].sum())
    return min(1.0, float(held_ns[known].sum()) / busy) if busy > 0 else None


def _cpus(course: IntervalTable, mine: NDArray[np.bool_], cpu_ns: Floats) -> float | None:
    known = mine & np.isfinite(cpu_ns)
    on_ns = 1e9 * float(course.on_s[known].sum())
    return float(cpu_ns[known].sum()) / on_ns if on_ns > 0 else None


def _busy(course: IntervalTable, mine: NDArray[np.bool_], streams: int) -> float | None:
    known = mine & np.isfinite(course.busy_ns)
    on_ns = 1e9 * float(course.on_s[known].sum()) * streams
    return min(1.0, float(course.busy_ns[known].sum()) / on_ns) if on_ns > 0 else None


def _limit(
    held: Sequence[float | None],
    cpus: Sequence[float | None],
    busy: float | None,
    streams: int,
) -> Limit | None:
    buffer, window = (share or 0.0 for share in held)
    sender, receiver = (used or 0.0 for used in cpus)
    # Each stream is sent by a thread of its own.
    if sender >= _FULL * streams and sender >= receiver:
        said = message(
            "the sender's CPU was the limit ({cpus} CPUs for {streams | counted('stream')})",
            cpus=sender,
            streams=streams,
        )
        return Limit("sender_cpu", said)
    if receiver >= _FULL * streams:
        said = message(
            "the receiver's CPU was the limit ({cpus} CPUs for {streams | counted('stream')})",
            cpus=receiver,
            streams=streams,
        )
        return Limit("receiver_cpu", said)
    if buffer >= _HELD:
        return Limit(
            "buffer",
            message(
                "the sender's buffer was the limit (full for {share} of the time)",
                share=Amount(buffer, "share"),
            ),
        )
    if window >= _HELD:
        return Limit(
            "window",
            message(
                "the receiver's window was the limit (for {share} of the time)",
                share=Amount(window, "share"),
            ),
        )
    if busy is not None and busy < _BUSY:
        return Limit(
            "idle",
            message(
                "the sender was the limit: nothing was in flight for {share} of the time, since "
                "its CPU was slow or had other work",
                share=Amount(1 - busy, "share"),
            ),
        )
    return None
