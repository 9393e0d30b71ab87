"""Two machines: how much CPU on one is as fast as so much on the other.

For x CPUs on A with the rate a₀ + a₁x it is y = (a₀ + a₁x − b₀)/b₁ on B, with the interval of
Fieller (1954): all y for which the two rates do not differ significantly, by Student's t with the
degrees of freedom of Welch. Only what was measured counts: pieces that rise, from their first to
their last step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from tare.calibration.document import Calibration, Interval
from tare.calibration.lines import FittedLine, fitted, quantile
from tare.calibration.rates import unit_for
from tare.errors import ExperimentError

VERSION = 1


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two machines."""

    name: str
    cpu: str | None
    platform: str
    measured: str | None
    #: Where more CPU is more speed along a straight line, and the rates at both ends.
    linear: tuple[tuple[float, float], ...]
    slowest: float
    fastest: float
    #: The quota that is fastest.
    fastest_at: float


class Equal(msgspec.Struct, frozen=True, kw_only=True):
    """What on B is as fast as so many CPUs on A."""

    cpus: float
    #: The rate there, by A's line; None: outside of A's lines.
    rate: float | None
    #: CPUs on B with the same rate, the fewest first: several where B is faster with less.
    on: tuple[Interval, ...] = ()
    #: Why there are none.
    why: str | None = None


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A straight piece of the mapping: CPUs on B = intercept + slope · CPUs on A."""

    start: float
    end: float
    to_start: float
    to_end: float
    slope: float
    intercept: float


class Mapping(msgspec.Struct, frozen=True, kw_only=True):
    """Which CPU on B is as fast as which on A."""

    version: int = VERSION
    #: The answer in one sentence.
    sentence: str
    workload: str
    work: str
    a: Side
    b: Side
    #: At each step of A, or where it was asked for.
    equals: tuple[Equal, ...]
    pieces: tuple[Piece, ...]
    confidence: float = 0.95
    #: What weakens it, each a sentence.
    caveats: tuple[str, ...] = ()


def mapping(
    a: Calibration,
    b: Calibration,
    names: tuple[str, str] = ("A", "B"),
    cpus: Sequence[float] = (),
) -> Mapping:
    """Say which CPU on B is as fast as which on A.

    Parameters
    ----------
    a, b : Calibration
        Of one workload, on two machines or platforms.
    names : (str, str)
        What to call them.
    cpus : sequence of float
        CPUs on A that are asked for; none: A's steps.

    Returns
    -------
    Mapping
        With 95 % intervals, each by itself.

    Raises
    ------
    ExperimentError
        If the two cannot be compared.
    """
    _check(a, b, names)
    lines = fitted(a), fitted(b)
    sides = _side(a, lines[0], names[0]), _side(b, lines[1], names[1])
    steps = cpus or sorted(point.cpus for point in a.points)
    equals = tuple(_equal(x, lines, sides, a.work) for x in steps)
    return Mapping(
        sentence=_sentence(equals, sides, a.workload),
        workload=a.workload,
        work=a.work,
        a=sides[0],
        b=sides[1],
        equals=equals,
        pieces=tuple(_pieces(*lines)),
        caveats=tuple(_caveats(a, b, names)),
    )


def _check(a: Calibration, b: Calibration, names: tuple[str, str]) -> None:
    again = "calibrate both with the same workload: tare calibrate --json FILE"
    for what, one, other in (("workload", a.workload, b.workload), ("work", a.work, b.work)):
        if one != other:
            raise ExperimentError(
                f"the two cannot be compared: {what} is {one} on {names[0]}, and {other} on "
                f"{names[1]}",
                again,
            )
    for calibration, name in zip((a, b), names, strict=True):
        if calibration.asked.verdict == "too noisy to say":
            raise ExperimentError(
                f"{name} has no line to compare by: {calibration.asked.sentence}",
                "calibrate it again while nothing else runs, with more windows",
            )
        if not any(line.rises for line in fitted(calibration)):
            raise ExperimentError(
                f"nowhere on {name} does more CPU surely give more speed",
                "calibrate it again while nothing else runs, with more windows or steps",
            )


def _side(calibration: Calibration, lines: Sequence[FittedLine], name: str) -> Side:
    fastest = max(calibration.points, key=lambda p: p.rate.value)
    return Side(
        name=name,
        cpu=calibration.machine.cpu,
        platform=calibration.platform,
        measured=calibration.measured,
        linear=tuple((line.start, line.end) for line in lines if line.rises),
        slowest=min(p.rate.value for p in calibration.points),
        fastest=fastest.rate.value,
        fastest_at=fastest.cpus,
    )


def _equal(
    x: float,
    lines: tuple[Sequence[FittedLine], Sequence[FittedLine]],
    sides: tuple[Side, Side],
    work: str,
) -> Equal:
    on_a = next((line for line in lines[0] if line.holds(x)), None)
    if on_a is None or not on_a.rises:
        return Equal(cpus=x, rate=None, why=_outside(x, lines[0], sides[0].name))
    found = [as_fast(on_a, x, line) for line in lines[1] if line.rises]
    some = sorted((one for one in found if one is not None), key=lambda one: one.value)
    rate = on_a.at(x)
    why = None if some else _unreached(rate, sides[1], work)
    return Equal(cpus=x, rate=rate, on=tuple(some), why=why)


def as_fast(a: FittedLine, x: float, b: FittedLine) -> Interval | None:
    """Return the CPUs of line B that are as fast as x of line A; None: outside of what B covers."""
    value = (a.at(x) - b.intercept) / b.slope
    low, high = _fieller(a, x, b, value)
    # Two measurements of one machine do not end at the very same rate.
    if (high if high is not None else value) < b.start or (
        low if low is not None else value
    ) > b.end:
        return None
    return Interval(value=value, low=low, high=high)


def _fieller(
    a: FittedLine, x: float, b: FittedLine, value: float
) -> tuple[float | None, float | None]:
    """Return the y at which |a(x) − b(y)| is no more than t standard errors."""
    if a.errors is None or b.errors is None:
        return None, None
    own, other = a.variance(x), b.variance(value)
    if own + other <= 0:
        return value, value
    t = quantile((own + other) ** 2 / (own**2 / a.freedom + other**2 / b.freedom))
    first, both, second = b.errors
    c = a.at(x) - b.intercept
    # (c − b₁y)² = t² (own + first + 2 both y + second y²)
    square = b.slope**2 - t * t * second
    if square <= 0:
        return None, None
    half = c * b.slope + t * t * both
    root = half * half - square * (c * c - t * t * (own + first))
    if root < 0:
        return None, None
    return (half - math.sqrt(root)) / square, (half + math.sqrt(root)) / square


def _pieces(a: Sequence[FittedLine], b: Sequence[FittedLine]) -> Iterator[Piece]:
    for one in a:
        for other in b:
            if not (one.rises and other.rises):
                continue
            slope = one.slope / other.slope
            intercept = (one.intercept - other.intercept) / other.slope
            start = max(one.start, (other.start - intercept) / slope)
            end = min(one.end, (other.end - intercept) / slope)
            if start < end:
                yield Piece(
                    start=start,
                    end=end,
                    to_start=intercept + slope * start,
                    to_end=intercept + slope * end,
                    slope=slope,
                    intercept=intercept,
                )


def _outside(x: float, lines: Sequence[FittedLine], name: str) -> str:
    """Say why a number of CPUs is on none of A's lines."""
    flat = next((line for line in lines if line.holds(x)), None)
    if flat is not None:
        return f"{name} does not get faster there with more CPU"
    if x < lines[0].start or x > lines[-1].end:
        return f"{name} was measured from {lines[0].start:.3g} to {lines[-1].end:.3g} CPU"
    below = max(line.end for line in lines if line.end < x)
    above = min(line.start for line in lines if line.start > x)
    return f"{name} changes its speed between {below:.3g} and {above:.3g} CPU"


def _unreached(rate: float, b: Side, work: str) -> str:
    """Say why no quota of B has a rate."""
    size, unit = unit_for(work, [b.fastest])
    if rate > b.fastest:
        return (
            f"{b.name} cannot do {rate / size:.3g} {unit}: its maximum is {b.fastest / size:.3g} "
            f"at {b.fastest_at:.3g} CPU"
        )
    if rate < b.slowest:
        return f"{b.name} is faster with the least that was measured there"
    return f"no quota of {b.name} has just {rate / size:.3g} {unit}: its speed jumps past it"


def _sentence(equals: Sequence[Equal], sides: tuple[Side, Side], workload: str) -> str:
    a, b = sides
    some = [one for one in equals if one.on]
    if not some:
        why = next((one.why for one in equals if one.why), None)
        return f"No CPU on {b.name} is as fast as any asked for on {a.name}: {why}."
    # One CPU is what people reckon in; where it has no equal, what is in the middle.
    one = next((e for e in some if abs(e.cpus - 1) < 1e-6), some[len(some) // 2])
    told = f"{one.cpus:.3g} CPU on {a.name} = {_told(one.on[0])} on {b.name}, by {workload}"
    if len(one.on) > 1:
        told += f" (and {', '.join(f'{other.value:.3g}' for other in one.on[1:])}, where it jumps)"
    return f"{told}."


def _told(found: Interval) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.3g} CPU (no interval)"
    places = 2 if found.value >= 0.2 else 3
    return f"{found.value:.{places}f} CPU [{found.low:.{places}f}, {found.high:.{places}f}]"


def _caveats(a: Calibration, b: Calibration, names: tuple[str, str]) -> Iterator[str]:
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
