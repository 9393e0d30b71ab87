"""What cannot be concluded from a measurement of a network, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.features.network.measure.ended import describe
from tare.features.network.measure.summary import Summary
from tare.networks.recording.folder import Measured
from tare.networks.recording.starved import rule
from tare.render.words import text
from tare.results.message import Amount, Chosen, Duration, Message, message

_ADVICE_TEXTS = {
    "lacks": (
        "measure again with both ends idle{% if streams > 1 %} and fewer --streams, each of "
        "which needs a CPU at both{% else %}, or with more CPUs{% endif %}"
    ),
    "sender_cpu": "measure again with more --streams, at most one per CPU",
    "receiver_cpu": "measure again with more --streams, at most one per CPU",
    "buffer": (
        "measure again with larger buffers at the sender: its third value of sysctl "
        "net.ipv4.tcp_wmem"
    ),
    "window": (
        "measure again with larger windows at the receiver: its third value of sysctl "
        "net.ipv4.tcp_rmem"
    ),
    "idle": "measure again with an idle sender",
}

#: Intervals without which the outermost percentiles are single intervals.
_FOR_PERCENTILES = 100
_DAY_S = 86_400.0
#: Most limits that get a sentence each; more are summarised.
_LIMITS = 3
#: Facts that decide what was measured.
_NEEDED = ("congestion", "mtu", "qdisc")


def caveats(measured: Measured, some: Sequence[Summary]) -> tuple[Message, ...]:
    """Return what weakens a measurement: most serious first."""
    return (
        *_ended(measured),
        *blamed(some),
        *_gaps(measured),
        *measured.notes,
        *_limited([one for one in some if one.limit is not None and not one.lacks]),
        *_short(some),
        *_without_segments(measured),
        *_left_out(some),
        *_changed(measured),
    )


def _without_segments(measured: Measured) -> tuple[Message, ...]:
    """Return why round trips of segments are absent: a sender's kernel refuses its time stamps."""
    sides = {"out": ("here",), "in": ("there",), "both": ("here", "there")}
    refused = (
        (side, measured.facts[side].get("segment_rtt_refused"))
        for side in sides[measured.asked.direction]
    )
    return tuple(
        message(
            "round trips of segments are absent: the kernel of {% if here %}this host"
            "{% else %}the other end{% endif %} does not report them ({why})",
            here=side == "here",
            why=why,
        )
        for side, why in refused
        if why is not None
    )


def _left_out(some: Sequence[Summary]) -> Iterator[Message]:
    """Yield the largest share of segments without a round trip, since too many were under way."""
    if share := max((one.segments_left_out or 0 for one in some), default=0):
        yield message(
            "round trips of single segments leave out {share} of the segments chosen for a time "
            "stamp, since 1,024 of the stream were under way already",
            share=Amount(share, "share"),
        )


def blamed(some: Sequence[Summary]) -> tuple[Message, ...]:
    """Return what is to blame before the network: ends that had no CPU."""
    return (*starved(some), *late(some))


def starved(some: Sequence[Summary]) -> tuple[Message, ...]:
    """Return which rates are not the network's, since an end had no CPU, and by which rule."""
    found = _limited([one for one in some if one.lacks])
    return (*found, rule()) if found else ()


def late(some: Sequence[Summary]) -> tuple[Message, ...]:
    """Return which round trips are not the network's, since they waited for a CPU."""
    found = []
    for shares, loaded in (
        ([one.loaded_late for one in some], True),
        ([one.idle_late for one in some], False),
    ):
        share = max((share for share in shares if share is not None), default=None)
        if share is not None:
            found.append(
                message(
                    "round trips {% if loaded %}under load{% else %}without load{% endif %} "
                    "waited for a CPU for {share} of their time: the network's own are shorter",
                    loaded=loaded,
                    share=Amount(share, "share"),
                )
            )
    return tuple(found)


def advice(some: Sequence[Summary], streams: int) -> Message | None:
    """Return how to measure again, without the limit that was not the network; None: there is none.

    Parameters
    ----------
    some : sequence of Summary
    streams : int
        Per direction.
    """
    limits = [one.limit for one in some if one.lacks] or [one.limit for one in some]
    limit = next((one for one in limits if one is not None), None)
    if limit is None:
        return None
    return message(_ADVICE_TEXTS[limit.kind], streams=streams)


def _limited(limits: Sequence[Summary]) -> list[Message]:
    found = [
        message(
            "the network may carry more than {pattern} got (writes of {size}, {direction}): "
            "{limit}",
            pattern=one.pattern,
            size=Chosen(one.write_bytes, "bytes"),
            direction=one.direction,
            limit=None if one.limit is None else one.limit.said,
        )
        for one in limits[:_LIMITS]
    ]
    if len(limits) > _LIMITS:
        found.append(message("likewise for {n} more", n=len(limits) - _LIMITS))
    return found


def _gaps(measured: Measured) -> Iterator[Message]:
    if measured.gaps:
        yield message(
            "{n | counted('gap')}, {time} in all: {reasons | join(', ')}",
            n=len(measured.gaps),
            time=Duration(sum(end - start for start, end, _ in measured.gaps)),
            reasons=[*dict.fromkeys(text(why) for _, _, why in measured.gaps[:20])],
        )


def _ended(measured: Measured) -> Iterator[Message]:
    if measured.ended is not None:
        yield message("not complete: {why}", why=describe(measured.ended))


def _short(some: Sequence[Summary]) -> Iterator[Message]:
    if not some:
        yield message("no data was sent in any interval")
        return
    longest = max(some, key=lambda one: one.seconds)
    fewest = min(some, key=lambda one: one.intervals)
    sent: dict[str, float] = {}
    for one in some:
        sent[one.direction] = sent.get(one.direction, 0.0) + one.sent_bytes
    if fewest.intervals < _FOR_PERCENTILES:
        yield message(
            "{n | counted('interval')}: p1 and p99 are about the minimum and maximum",
            n=fewest.intervals,
        )
    if longest.seconds < _DAY_S:
        # Each direction has a bucket of its own.
        most = [
            message(
                "{sent}{% if direction %} ({direction}){% endif %}",
                sent=Amount(8 * bytes_, "bits"),
                direction=direction if len(sent) > 1 else None,
            )
            for direction, bytes_ in sent.items()
        ]
        yield message(
            "a token bucket larger than the {sent | listing} that were sent would not show",
            sent=most,
        )


def _changed(measured: Measured) -> Iterator[Message]:
    """Name the facts that were not the same at every connection."""
    seen: dict[str, set[str]] = {}
    for _, one in measured.connected:
        for where, facts in (("here", one.here), ("there", one.there)):
            for fact in facts:
                if fact.name in _NEEDED or fact.name in ("kernel", "interface", "tso", "gro"):
                    seen.setdefault(f"{fact.name} {where}", set()).add(fact.value)
    if changed := [name for name, values in seen.items() if len(values) > 1]:
        yield message("changed during the measurement: {facts | listing}", facts=changed)
