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

from tare.errors import ExperimentError
from tare.experiment.sweep.document import Calibration, Interval
from tare.experiment.sweep.lines import FittedLine, fitted, quantile, undivided
from tare.features.calibration.mapping_document import Equal, Mapping, Piece, Side
from tare.features.calibration.mapping_messages import answer, caveats, outside, unreached
from tare.render.words import sentence, sentences, text

#: Relative error of CPUs that hundredths may bring: well within what intervals are wide.
_COARSE = 0.005


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
    on_a, on_b = _lines(a), _lines(b)
    sides = _side(a, on_a.pieces, names[0]), _side(b, on_b.pieces, names[1])
    steps = cpus or sorted(point.cpus for point in a.points)
    equals = tuple(_equal(x, a, on_a, on_b, sides) for x in steps)
    return Mapping(
        sentence=sentence(answer(equals, sides, a.workload)),
        workload=a.workload,
        work=a.work,
        a=sides[0],
        b=sides[1],
        equals=equals,
        pieces=tuple(_pieces(on_a.pieces, on_b.pieces)),
        caveats=tuple(sentences(caveats(a, b, names))),
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
        if calibration.asked.verdict == "inconclusive":
            raise ExperimentError(
                f"{name} has no line to compare by. {text(calibration.asked.sentence)}",
                "tare calibrate --windows 21 --json FILE   (replaces it; tare doctor shows whether "
                "the machine is quiet)",
            )
        if not any(line.rises for line in fitted(calibration)):
            raise ExperimentError(
                f"nowhere on {name} does more CPU surely give more speed",
                "calibrate it again while nothing else runs, with more windows or steps",
            )


@dataclass(frozen=True)
class _Lines:
    pieces: tuple[FittedLine, ...]
    #: What might be the truth instead.
    also: tuple[FittedLine, ...]


def _lines(calibration: Calibration) -> _Lines:
    one = undivided(calibration)
    return _Lines(fitted(calibration), () if one is None else (one,))


def _side(calibration: Calibration, lines: Sequence[FittedLine], name: str) -> Side:
    fastest = max(calibration.points, key=lambda p: p.rate.value)
    return Side(
        name=name,
        cpu=calibration.machine.cpu,
        platform=calibration.platform,
        measured=calibration.measured,
        by=calibration.by,
        linear=tuple((line.start, line.end) for line in lines if line.rises),
        slowest=min(p.rate.value for p in calibration.points),
        fastest=fastest.rate.value,
        fastest_at=fastest.cpus,
    )


def _equal(x: float, first: Calibration, a: _Lines, b: _Lines, sides: tuple[Side, Side]) -> Equal:
    on_a = next((line for line in a.pieces if line.holds(x)), None)
    if on_a is None or not on_a.rises:
        return Equal(cpus=x, rate=None, why=text(outside(x, first, a.pieces, sides[0].name)))
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
        return Equal(cpus=x, rate=rate, why=text(unreached(rate, sides[1], first.work)))
    told = Equal(cpus=x, rate=rate, on=tuple(y for y, _ in some))
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
    if a.errors is None or b.errors is None or b.slope <= 0:
        return None
    value = (a.at(x) - b.intercept) / b.slope
    own, other = a.variance(x), b.variance(value)
    if own + other <= 0:
        return value, value
    t = quantile((own + other) ** 2 / (own**2 / a.freedom + other**2 / b.freedom))
    first, both, second = b.errors
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
