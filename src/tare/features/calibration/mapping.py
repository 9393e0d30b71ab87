"""Two machines: how much CPU on one is as fast as so much on the other.

For x CPUs on A with the rate a₀ + a₁x it is y = (a₀ + a₁x − b₀)/b₁ on B, with the interval of
Fieller (1954): all y for which the two rates do not differ significantly, by Student's t with the
degrees of freedom of Welch. Only what was measured counts: pieces that rise, from their first to
their last step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from tare.errors import ExperimentError, Typed
from tare.experiment.sweep import numbers
from tare.experiment.sweep.axis import AXES, AxisName
from tare.experiment.sweep.document import By, Calibration, Fit, Interval
from tare.experiment.sweep.lines import FittedLine, fitted, quantile, undivided
from tare.features.calibration import steps as sizes
from tare.render.words import sentence, sentences, text
from tare.results.message import Amount, Chosen, Message, Said, message

_EQUAL_TEXTS = {
    "published": "published line, {workload}",
    "table": "table of others, {workload}",
}

#: Intervals between the rows for a published line, which has no measured steps.
_PLACES = 10
#: Relative error of CPUs that hundredths may bring: well within what intervals are wide.
_COARSE = 0.005
#: Fewest digits of a value without an interval.
_DIGITS = 3


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two machines."""

    name: str
    cpu: str | None
    platform: str
    measured: str | None
    #: Resource limit that was swept; None: not measured by tare.
    by: By | None
    axis: AxisName = "cpu"
    #: Whether a line was published without its points: it ends with its range.
    published: bool = False
    #: Ranges of places on which the speed rises linearly, then the lowest and highest rate.
    linear: tuple[tuple[float, float], ...]
    slowest: float
    fastest: float
    #: The quota that is fastest.
    fastest_at: float


class Equal(msgspec.Struct, frozen=True, kw_only=True):
    """What on B is as fast as a place on A."""

    #: CPUs, or MB, as ``Side.axis`` of A says.
    at: float
    #: The rate there, by A's line; None: outside of A's lines.
    rate: float | None
    #: Places on B with the same rate, the fewest first: several where B is faster with less.
    on: tuple[Interval, ...] = ()
    #: The first for ``docker run``, and by which share its speed is off by the rounding; None
    #: where B was not given quotas.
    flag: str | None = None
    flag_error: float | None = None
    #: Why there are none.
    why: str | None = None


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A straight piece of the mapping: place on B = intercept + slope · place on A."""

    start: float
    end: float
    to_start: float
    to_end: float
    slope: float
    intercept: float


class Mapping(msgspec.Struct, frozen=True, kw_only=True):
    """Which CPU on B is as fast as which on A."""

    #: The answer in one sentence.
    sentence: str
    workload: str
    work: str
    a: Side
    b: Side
    #: Equal places on B, at each step of A or at the requested places.
    equals: tuple[Equal, ...]
    pieces: tuple[Piece, ...]
    confidence: float = 0.95
    #: Caveats of the answer, each a sentence.
    caveats: tuple[str, ...] = ()


def mapping(
    a: Calibration | Fit,
    b: Calibration | Fit,
    names: tuple[str, str] = ("A", "B"),
    places: Sequence[float] = (),
) -> Mapping:
    """Say which CPU on B is as fast as which on A.

    Parameters
    ----------
    a, b : Calibration or Fit
        Of one workload, on two machines or platforms; where others measured one of them, by an
        implementation of their own.
    names : (str, str)
        What to call them.
    places : sequence of float
        CPUs, or MB, on A that are asked for; none: A's steps.

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
    on_a, on_b = _lines(a), _lines(b)
    sides = _side(a, on_a.pieces, names[0]), _side(b, on_b.pieces, names[1])
    steps = places or [place for place, _ in a.steps] or _places(a)
    equals = tuple(_equal(x, a, on_a, on_b, sides) for x in steps)
    workload = text(_workloads(a, b, names))
    return Mapping(
        sentence=sentence(answer(equals, sides, workload, _unknown_errors(a, b, names))),
        workload=workload,
        work=a.work,
        a=sides[0],
        b=sides[1],
        equals=equals,
        pieces=tuple(_pieces(on_a.pieces, on_b.pieces)),
        caveats=tuple(sentences(caveats(a, b, names))),
    )


def _places(published: Calibration | Fit) -> list[float]:
    """Return places on a published line: sizes of AWS Lambda, or shares of the range."""
    start, end = published.asked.segments[0].start, published.asked.segments[-1].end
    if published.axis == "memory":
        return [float(size) for size in sizes.LAMBDA_SIZES if start <= size <= end]
    return [start + (end - start) * i / _PLACES for i in range(_PLACES + 1)]


def _workloads(a: Calibration | Fit, b: Calibration | Fit, names: tuple[str, str]) -> Said:
    if a.workload == b.workload:
        return a.workload
    return message(
        "{first_workload} on {first} and {second_workload} on {second}",
        first_workload=a.workload,
        first=names[0],
        second_workload=b.workload,
        second=names[1],
    )


def _unknown_errors(
    a: Calibration | Fit, b: Calibration | Fit, names: tuple[str, str]
) -> str | None:
    """Return which machine's error alone the intervals have; None: that of both, or of none."""
    published = [isinstance(one, Fit) and one.published for one in (a, b)]
    return names[published.index(False)] if sum(published) == 1 else None


def _check(a: Calibration | Fit, b: Calibration | Fit, names: tuple[str, str]) -> None:
    again = "calibrate both with the same workload"
    measured = isinstance(a, Calibration) and isinstance(b, Calibration)
    for what, one, other in (("workload", a.workload, b.workload), ("work", a.work, b.work)):
        # Others have implementations of their own, which the answer names.
        if one != other and (measured or what == "work"):
            raise ExperimentError(
                f"the two cannot be compared: {what} is {one} on {names[0]}, and {other} on "
                f"{names[1]}",
                again,
            )
    for calibration, name in zip((a, b), names, strict=True):
        if calibration.asked.verdict == "inconclusive":
            raise ExperimentError(
                f"{name} has no line to compare by. {sentence(calibration.asked.sentence)}",
                Typed(
                    "tare calibrate --windows 21 --json calibration.json   "
                    "(to replace it; tare doctor shows whether the machine is quiet)"
                )
                if isinstance(calibration, Calibration)
                else "add values to the table, at more places",
            )
        if not any(line.rises for line in fitted(calibration)):
            raise ExperimentError(
                f"nowhere on {name} does more CPU surely give more speed",
                "calibrate it again while nothing else runs, with more windows or steps"
                if isinstance(calibration, Calibration)
                else "fit it again, with the right columns: --quota and --value of tare "
                "calibrate fit",
            )


@dataclass(frozen=True)
class _Lines:
    pieces: tuple[FittedLine, ...]
    #: Alternative fits that the data do not exclude; intervals span them.
    also: tuple[FittedLine, ...]


def _lines(calibration: Calibration | Fit) -> _Lines:
    one = undivided(calibration)
    return _Lines(fitted(calibration), () if one is None else (one,))


def _side(calibration: Calibration | Fit, lines: Sequence[FittedLine], name: str) -> Side:
    linear = tuple((line.start, line.end) for line in lines if line.rises)
    if isinstance(calibration, Fit):
        means = [(sum(rates) / len(rates), place) for place, rates in calibration.steps]
        # Of a published line, its ends.
        rates = means or [(line.at(x), x) for line in lines for x in (line.start, line.end)]
        kind = "published" if calibration.published else "table"
        return Side(
            name=name,
            cpu=None,
            platform=text(message(_EQUAL_TEXTS[kind], workload=calibration.workload)),
            measured=None,
            by=None,
            axis=calibration.axis,
            published=calibration.published,
            linear=linear,
            slowest=min(rates)[0],
            fastest=max(rates)[0],
            fastest_at=max(rates)[1],
        )
    fastest = max(calibration.points, key=lambda p: p.rate.value)
    return Side(
        name=name,
        cpu=calibration.machine.cpu,
        platform=calibration.platform,
        measured=calibration.measured,
        by=calibration.by,
        axis=calibration.axis,
        linear=linear,
        slowest=min(p.rate.value for p in calibration.points),
        fastest=fastest.rate.value,
        fastest_at=calibration.place(fastest),
    )


def _equal(
    x: float, first: Calibration | Fit, a: _Lines, b: _Lines, sides: tuple[Side, Side]
) -> Equal:
    on_a = next((line for line in a.pieces if line.holds(x)), None)
    if on_a is None or not on_a.rises:
        return Equal(at=x, rate=None, why=text(outside(x, first, a.pieces, sides[0].name)))
    rate = on_a.at(x)
    some = sorted(
        (
            (found, line)
            for line in b.pieces
            if line.rises and (found := as_fast((on_a, *a.also), x, (line, *b.also))) is not None
        ),
        key=lambda one: one[0].value,
    )
    if not some:
        return Equal(at=x, rate=rate, why=text(unreached(rate, sides[1], first.work)))
    told = Equal(at=x, rate=rate, on=tuple(y for y, _ in some))
    if sides[1].by != "quota":
        return told
    flag = rounded(*some[0])
    error = some[0][1].at(flag) / rate - 1
    return msgspec.structs.replace(told, flag=f"--cpus={flag:g}", flag_error=error)


def rounded(found: Interval, line: FittedLine) -> float:
    """Round CPUs for ``--cpus``: to hundredths, where these are not too coarse."""
    wanted = min(max(found.value, line.start), line.end)
    places = next(p for p in (2, 3, 5) if abs(round(wanted, p) / wanted - 1) <= _COARSE or p == 5)
    return round(wanted, places)


def as_fast(a: Sequence[FittedLine], x: float, b: Sequence[FittedLine]) -> Interval | None:
    """Return the CPUs on B that are as fast as x on A; None: outside of what B's line covers.

    The first line of each is what holds; the interval spans those of others that might.
    """
    value = (a[0].at(x) - b[0].intercept) / b[0].slope
    bounds = [_fieller(one, x, other) for one in a for other in b]
    if any(bound is None for bound in bounds):
        low = high = None
    else:
        low = min(bound[0] for bound in bounds if bound)
        high = max(bound[1] for bound in bounds if bound)
    # Two measurements of one machine do not end at the very same rate.
    below = (value if high is None else high) < b[0].start
    if below or (value if low is None else low) > b[0].end:
        return None
    return Interval(value=value, low=low, high=high)


def _fieller(a: FittedLine, x: float, b: FittedLine) -> tuple[float, float] | None:
    """Return the y at which |a(x) − b(y)| is no more than t standard errors; None: no bounds."""
    known = [line for line in (a, b) if line.errors is not None]
    others = [line for line in (a, b) if line.errors is None]
    # A published line brings no error of its own: what is left is that of the other.
    if not known or not all(line.published for line in others) or b.slope <= 0:
        return None
    value = (a.at(x) - b.intercept) / b.slope
    own, other = a.variance(x), b.variance(value)
    if own + other <= 0:
        return value, value
    t = quantile((own + other) ** 2 / (own**2 / a.freedom + other**2 / b.freedom))
    first, both, second = b.errors or (0.0, 0.0, 0.0)
    c = a.at(x) - b.intercept
    # (c − b₁y)² = t² (own + first + 2 both y + second y²)
    square = b.slope**2 - t * t * second
    if square <= 0:
        return None
    half = c * b.slope + t * t * both
    root = half * half - square * (c * c - t * t * (own + first))
    if root < 0:
        return None
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


def outside(x: float, a: Calibration | Fit, lines: Sequence[FittedLine], name: str) -> Message:
    """Say where on A a number of CPUs is that is on none of its lines."""
    places = [place for place, _ in a.steps] or [lines[0].start, lines[-1].end]
    first, last = min(places), max(places)
    resource = AXES[a.axis].resource
    if not first <= x <= last:
        return message(
            "outside the range of {name}, {span}", name=name, span=numbers.span(first, last, a.axis)
        )
    top = a.asked.saturates_at
    if top is not None and x >= top:
        return message(
            "above the ceiling of {name} ({ceiling}): more {resource} gives no more speed",
            name=name,
            ceiling=numbers.place(top, a.axis),
            resource=resource,
        )
    if any(line.holds(x) for line in lines):
        return message(
            "where more {resource} on {name} may give no more speed", name=name, resource=resource
        )
    below = max((line.end for line in lines if line.end < x), default=first)
    above = min((line.start for line in lines if line.start > x), default=last)
    return message(
        "where the speed of {name} changes (from {span})",
        name=name,
        span=numbers.span(below, above, a.axis),
    )


def unreached(rate: float, b: Side, work: str) -> Message:
    """Say why no quota of B has a rate."""
    if rate > b.fastest:
        return message(
            "the published line of {name} ends at {most}, {place}"
            if b.published
            else "{name} is slower at its maximum, {most} at {place}",
            name=b.name,
            most=numbers.rate(b.fastest, work),
            place=numbers.place(b.fastest_at, b.axis),
        )
    if rate < b.slowest:
        return message(
            "{name} is faster {% if published %}where its published line begins{% else %}at "
            "the smallest step that was measured{% endif %}",
            name=b.name,
            published=b.published,
        )
    return message("the speed on {name} jumps past that", name=b.name)


def answer(
    equals: Sequence[Equal], sides: tuple[Side, Side], workload: str, alone: str | None = None
) -> Message:
    """Say the answer at one place: asked for, or that people reckon in."""
    a, b = sides
    some = [one for one in equals if one.on]
    if not some:
        one = next((e for e in equals if e.rate is not None), equals[0])
        where = numbers.place(one.at, a.axis, exact=True)
        if one.rate is None:
            return message("{place}: {why}", place=where, why=one.why)
        return message(
            "no {resource} on {second} is as fast as {place} on {first}: {why}",
            second=b.name,
            resource=AXES[b.axis].resource,
            place=where,
            first=a.name,
            why=one.why,
        )
    # One CPU is what people reckon in; where it has no equal, what is in the middle.
    one = next((e for e in some if abs(e.at - 1) < 1e-6), some[len(some) // 2])
    return message(
        "{place} on {first} = {equal} on {second}{% if alone %} (interval of {alone} alone)"
        "{% endif %}{% if also %} (and {also | listing}, where the speed jumps){% endif %}, "
        "by {workload}",
        place=numbers.place(one.at, a.axis, exact=True),
        first=a.name,
        equal=share(one.on[0], one.at, AXES[b.axis].unit),
        second=b.name,
        also=[share(other, one.at) for other in one.on[1:]],
        workload=workload,
        alone=alone if one.on[0].low is not None else None,
    )


def share(found: Interval, at: float, unit: str = "1") -> Message:
    """Return what is as fast as ``at``, to as many digits as its interval, or else ``at``, has."""
    known = found.low is not None
    digits = max(_DIGITS, len(f"{at:.6g}".replace(".", "").strip("0")))
    like = Chosen(float(f"{found.value:.{digits}g}"), unit)
    return message(
        "{cpus}{% if not known %} (no interval){% endif %}",
        cpus=Amount(found.value, unit, found.low, found.high) if known else like,
        known=known,
    )


def linear(side: Side) -> list[Message]:
    """Return where more CPU is more speed along a straight line."""
    return [numbers.span(start, end, side.axis) for start, end in side.linear]


def also(one: Equal) -> Message | None:
    """Name what else on B is as fast; None: nothing."""
    if len(one.on) < 2:
        return None
    return message(
        "also {others | join(', ')}", others=[share(other, one.at) for other in one.on[1:]]
    )


def caveats(
    a: Calibration | Fit, b: Calibration | Fit, names: tuple[str, str]
) -> Iterator[Message]:
    """Say what weakens a mapping."""
    first, second = names
    if not (isinstance(a, Calibration) and isinstance(b, Calibration)):
        for one, name in ((a, first), (b, second)):
            if isinstance(one, Fit) and one.published:
                yield message(
                    "{name} is a published line without its points: its error and its spread "
                    "are not in the intervals",
                    name=name,
                )
        if a.workload != b.workload:
            yield message(
                "the two speeds are from different implementations: {first_workload} on "
                "{first}, {second_workload} on {second}. On one machine their GFLOPS may "
                "differ, by an unknown factor",
                first_workload=a.workload,
                first=first,
                second_workload=b.workload,
                second=second,
            )
        return
    yield message(
        "intervals hold for these two sweeps. How much each machine differs between sessions "
        "is not included"
    )
    if abs(a.period_s - b.period_s) > 1e-9:
        yield message(
            "the quota period is {first_period} on {first}, {second_period} on {second}. "
            "This matters at small quotas",
            first_period=Chosen(a.period_s, "s"),
            first=first,
            second_period=Chosen(b.period_s, "s"),
            second=second,
        )
    if a.by != b.by:
        yield message(
            "CPU is limited by {first_by} on {first}, by {second_by} on {second}",
            first_by=a.by,
            first=first,
            second_by=b.by,
            second=second,
        )
    if a.workers != b.workers:
        yield message(
            "{first_workers | counted('worker')} on {first}, {second_workers} on {second}. "
            "Fewer workers cannot use more CPUs than there are threads",
            first_workers=a.workers,
            first=first,
            second_workers=b.workers,
            second=second,
        )
