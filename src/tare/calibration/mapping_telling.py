"""The sentences of a mapping between two machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tare.calibration.document import Calibration, Interval
from tare.calibration.lines import FittedLine
from tare.calibration.mapping_document import Equal, Side
from tare.calibration.rates import unit_for


def outside(x: float, a: Calibration, lines: Sequence[FittedLine], name: str) -> str:
    """Say where on A a number of CPUs is that is on none of its lines, to follow "0.7 CPU is"."""
    first, last = a.points[0].cpus, a.points[-1].cpus
    if not first <= x <= last:
        return f"outside of what {name} was measured at ({first:.3g} to {last:.3g} CPU)"
    top = a.asked.saturates_at
    if top is not None and x >= top:
        return f"above {name}'s ceiling ({top:.3g}): every share from there on is worth the same"
    if any(line.holds(x) for line in lines):
        return f"where {name} is not surely faster with more CPU"
    below = max((line.end for line in lines if line.end < x), default=first)
    above = min((line.start for line in lines if line.start > x), default=last)
    return f"where {name} changes its speed (between {below:.3g} and {above:.3g} CPU)"


def unreached(rate: float, b: Side, work: str) -> str:
    """Say why no quota of B has a rate."""
    size, unit = unit_for(work, [b.fastest])
    if rate > b.fastest:
        return (
            f"{b.name} cannot be as fast, its maximum is {b.fastest / size:.3g} {unit} at "
            f"{b.fastest_at:.3g} CPU"
        )
    if rate < b.slowest:
        return f"{b.name} is faster with the least that was measured there"
    return f"the speed on {b.name} jumps past that"


def sentence(equals: Sequence[Equal], sides: tuple[Side, Side], workload: str) -> str:
    """Say the answer at one place: asked for, or that people reckon in."""
    a, b = sides
    some = [one for one in equals if one.on]
    if not some:
        one = next((e for e in equals if e.rate is not None), equals[0])
        where = f"{one.cpus:.3g} CPU"
        if one.rate is None:
            return f"{where} is {one.why}."
        return f"No CPU on {b.name} is as fast as {where} on {a.name}: {one.why}."
    # One CPU is what people reckon in; where it has no equal, what is in the middle.
    one = next((e for e in some if abs(e.cpus - 1) < 1e-6), some[len(some) // 2])
    found = one.on[0]
    said = f"{one.cpus:.3g} CPU on {a.name} = {cpus(found)} CPU on {b.name}{within(found)}"
    if len(one.on) > 1:
        said += f" (and {', '.join(cpus(other) for other in one.on[1:])}, where it jumps)"
    return f"{said}, by {workload}."


def cpus(found: Interval) -> str:
    """Write CPUs as exactly as they are known."""
    return f"{found.value:.{_places(found)}f}"


def within(found: Interval) -> str:
    """Write an interval of CPUs, to follow what it is of."""
    if found.low is None or found.high is None:
        return " (no interval)"
    places = _places(found)
    return f" [{found.low:.{places}f}, {found.high:.{places}f}]"


def _places(found: Interval) -> int:
    if found.low is None or found.high is None or found.high <= found.low:
        return 2
    return min(4, max(2, -math.floor(math.log10((found.high - found.low) / 2))))


def caveats(a: Calibration, b: Calibration, names: tuple[str, str]) -> Iterator[str]:
    """Say what weakens a mapping."""
    yield (
        "Intervals hold for the two sweeps as they were measured: by how much a machine differs "
        "from one session to the next is not in them."
    )
    if abs(a.period_s - b.period_s) > 1e-9:
        yield (
            f"The quota's period is {1000 * a.period_s:.3g} ms on {names[0]} and "
            f"{1000 * b.period_s:.3g} ms on {names[1]}, which matters at small quotas."
        )
    if a.by != b.by:
        yield f"CPU is given by {a.by} on {names[0]}, and by {b.by} on {names[1]}."
    if a.workers != b.workers:
        yield (
            f"{a.workers} worked at once on {names[0]}, {b.workers} on {names[1]}: what has fewer "
            "threads uses no more CPUs than it has of them."
        )
