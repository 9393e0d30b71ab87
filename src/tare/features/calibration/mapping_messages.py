"""The sentences of a mapping between two machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.experiment.sweep import numbers
from tare.experiment.sweep.document import Calibration, Interval
from tare.experiment.sweep.lines import FittedLine
from tare.features.calibration.mapping_document import Equal, Side
from tare.results.message import Amount, Chosen, Message, message


def outside(x: float, a: Calibration, lines: Sequence[FittedLine], name: str) -> Message:
    """Say where on A a number of CPUs is that is on none of its lines."""
    first, last = a.points[0].cpus, a.points[-1].cpus
    if not first <= x <= last:
        return message("calibration.equal.outside", name=name, span=numbers.span(first, last))
    top = a.asked.saturates_at
    if top is not None and x >= top:
        return message("calibration.equal.ceiling", name=name, ceiling=numbers.cpus(top))
    if any(line.holds(x) for line in lines):
        return message("calibration.equal.flat", name=name)
    below = max((line.end for line in lines if line.end < x), default=first)
    above = min((line.start for line in lines if line.start > x), default=last)
    return message(
        "calibration.equal.gap", name=name, below=numbers.step(below), above=numbers.step(above)
    )


def unreached(rate: float, b: Side, work: str) -> Message:
    """Say why no quota of B has a rate."""
    if rate > b.fastest:
        return message(
            "calibration.equal.too_slow",
            name=b.name,
            most=numbers.rate(b.fastest, work),
            cpus=numbers.cpus(b.fastest_at),
        )
    if rate < b.slowest:
        return message("calibration.equal.too_fast", name=b.name)
    return message("calibration.equal.jump", name=b.name)


def answer(equals: Sequence[Equal], sides: tuple[Side, Side], workload: str) -> Message:
    """Say the answer at one place: asked for, or that people reckon in."""
    a, b = sides
    some = [one for one in equals if one.on]
    if not some:
        one = next((e for e in equals if e.rate is not None), equals[0])
        where = numbers.cpus(one.cpus)
        if one.rate is None:
            return message("calibration.equal.nowhere", cpus=where, why=one.why)
        return message(
            "calibration.equal.none", second=b.name, cpus=where, first=a.name, why=one.why
        )
    # One CPU is what people reckon in; where it has no equal, what is in the middle.
    one = next((e for e in some if abs(e.cpus - 1) < 1e-6), some[len(some) // 2])
    return message(
        "calibration.equal.found",
        cpus=numbers.cpus(one.cpus),
        first=a.name,
        equal=share(one.on[0], "CPUs"),
        second=b.name,
        also=[share(other) for other in one.on[1:]],
        workload=workload,
    )


def share(found: Interval, unit: str = "1") -> Message:
    """Return CPUs as exactly as they are known."""
    return message("calibration.equal.share", cpus=Amount(found.value, unit, found.low, found.high))


def linear(side: Side) -> list[Message]:
    """Return where more CPU is more speed along a straight line."""
    return [numbers.span(start, end) for start, end in side.linear]


def also(one: Equal) -> Message | None:
    """Name what else on B is as fast; None: nothing."""
    if len(one.on) < 2:
        return None
    return message("calibration.equal.also", others=[share(other) for other in one.on[1:]])


def caveats(a: Calibration, b: Calibration, names: tuple[str, str]) -> Iterator[Message]:
    """Say what weakens a mapping."""
    first, second = names
    yield message("calibration.equal.sessions")
    if abs(a.period_s - b.period_s) > 1e-9:
        yield message(
            "calibration.equal.periods",
            first_period=Chosen(a.period_s, "s"),
            first=first,
            second_period=Chosen(b.period_s, "s"),
            second=second,
        )
    if a.by != b.by:
        yield message(
            "calibration.equal.by", first_by=a.by, first=first, second_by=b.by, second=second
        )
    if a.workers != b.workers:
        yield message(
            "calibration.equal.workers",
            first_workers=a.workers,
            first=first,
            second_workers=b.workers,
            second=second,
        )
