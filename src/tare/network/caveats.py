"""What cannot be concluded from a measurement of a network, and what it lacks."""

from __future__ import annotations

from collections.abc import Sequence

from tare.network.ended import describe
from tare.network.folder import Measured
from tare.network.summary import Summary
from tare.units import quantity

#: Intervals without which the outermost percentiles are single intervals.
_FOR_PERCENTILES = 100
_HOUR_S, _DAY_S, _WEEK_S = 3600.0, 86_400.0, 604_800.0
#: Of these many, each has its sentence.
_LIMITS = 3
#: Facts that decide what was measured.
_NEEDED = ("congestion", "mtu", "qdisc")


def caveats(measured: Measured, some: Sequence[Summary]) -> tuple[str, ...]:
    """Return what weakens a measurement, a sentence each: most serious first."""
    told = [*_ended(measured), *blamed(some), *_gaps(measured), *measured.notes]
    limits = [one for one in some if one.limit is not None and not one.lacks]
    told += _limited(limits)
    told += _short(some)
    changed = _changed(measured)
    if changed:
        told.append(f"While it was measured, {changed} changed.")
    return tuple(told)


def blamed(some: Sequence[Summary]) -> tuple[str, ...]:
    """Return what is to blame before the network: ends that had no CPU."""
    told = _limited([one for one in some if one.lacks])
    for shares, name in (
        ([one.loaded_late for one in some], "under load"),
        ([one.idle_late for one in some], "idle"),
    ):
        share = max((share for share in shares if share is not None), default=None)
        if share is not None:
            told.append(
                f"Round trips {name} waited for a CPU for {100 * share:.0f} % of their time: the "
                "network's own are shorter."
            )
    return tuple(told)


def _limited(limits: Sequence[Summary]) -> list[str]:
    told = [
        f"{one.pattern}, writes of {one.write_bytes:,} bytes, {one.direction}: {one.limit}; the "
        "network may carry more."
        for one in limits[:_LIMITS]
    ]
    if len(limits) > _LIMITS:
        told.append(f"So it was for {len(limits) - _LIMITS} more.")
    return told


def _gaps(measured: Measured) -> list[str]:
    if not measured.gaps:
        return []
    lost = sum(end - start for start, end, _ in measured.gaps)
    reasons = ", ".join(dict.fromkeys(why for _, _, why in measured.gaps[:20]))
    n = len(measured.gaps)
    return [f"{n} gap{'s' * (n > 1)}, {lost:.1f} s: {reasons}."]


def _ended(measured: Measured) -> list[str]:
    if measured.ended is None:
        return []
    return [f"Not complete: {describe(measured.ended)}."]


def _short(some: Sequence[Summary]) -> list[str]:
    if not some:
        return ["No data was sent in any interval."]
    longest = max(some, key=lambda one: one.seconds)
    fewest = min(some, key=lambda one: one.intervals)
    sent: dict[str, float] = {}
    for one in some:
        sent[one.direction] = sent.get(one.direction, 0.0) + one.sent_bytes
    told = []
    if fewest.intervals < _FOR_PERCENTILES:
        n = fewest.intervals
        told.append(f"{n} interval{'s' * (n > 1)}: p1 and p99 are about the minimum and maximum.")
    if longest.seconds < _DAY_S:
        # Each direction has a bucket of its own.
        most = " and ".join(
            quantity(8 * bits, "bits") + (f" ({direction})" if len(sent) > 1 else "")
            for direction, bits in sent.items()
        )
        told.append(f"A token bucket larger than the {most} that were sent would not show.")
    if _HOUR_S <= longest.seconds < _WEEK_S:
        span = "a day" if longest.seconds < _DAY_S else "a week"
        told.append(f"Measured for less than {span}: changes within {span} are unknown.")
    return [" ".join(told)] if told else []


def _changed(measured: Measured) -> str:
    """Return the facts that were not the same at every connection."""
    seen: dict[str, set[str]] = {}
    for _, one in measured.connected:
        for where, facts in (("here", one.here), ("there", one.there)):
            for fact in facts:
                if fact.name in _NEEDED or fact.name in ("kernel", "interface", "tso", "gro"):
                    seen.setdefault(f"{fact.name} {where}", set()).add(fact.value)
    return ", ".join(name for name, values in seen.items() if len(values) > 1)
