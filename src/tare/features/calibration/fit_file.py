"""What ``tare calibrate fit`` writes as JSON, and ``tare calibrate compare`` reads of it."""

from __future__ import annotations

import msgspec
import numpy as np

from tare.experiment.sweep import messages, numbers
from tare.experiment.sweep.axis import AxisName
from tare.experiment.sweep.document import Fit
from tare.render.words import sentence, text
from tare.results.message import message
from tare.results.report import VERSION
from tare.statistics.regression import Line
from tare.statistics.scaling import Reason, Scaling, Segment, Verdict, scaling
from tare.units import chosen, significant

#: Before fits were in a report, their files were of version 1.
_VERSIONS = (1, VERSION)
#: The unit that machines are compared in, and the work that it counts.
UNIT, WORK, SCALE = "GFLOPS", "flop", 1e9

#: Share by which scatter may leave the largest value below the line.
_BELOW = 0.1

Ends = tuple[float, float]


class Piece(msgspec.Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """A straight piece: from one place to another."""

    start: float
    end: float
    slope: float
    intercept: float


class FitFile(msgspec.Struct, frozen=True, kw_only=True):
    """A fit as data; slope, r2 and p are those of one line through all points.

    Slopes are in ``unit`` per CPU, or per MB where ``axis`` is ``memory``.
    """

    version: int = VERSION
    axis: AxisName
    unit: str
    workload: str
    #: Null where only the line was published.
    verdict: Verdict | None
    reason: Reason | None
    sentence: str
    breaks: tuple[float, ...]
    segments: tuple[Piece, ...]
    r2: float | None
    slope: float
    slope_interval: Ends | None
    intercept: float
    intercept_interval: Ends | None
    p: float | None
    max_gflops: float
    saturates_at: float | None
    saturates_interval: tuple[float | None, float | None] | None
    largest_error: float | None
    would_see: float | None
    curved: bool
    quotas: int
    #: Number of values; null where they were not published.
    n: int | None
    #: Each place with its values; null where they were not published.
    points: tuple[tuple[float, tuple[float, ...]], ...] | None


def published(
    slope: float,
    intercept: float,
    r2: float | None,
    maximum: float | None,
    ends: Ends,
    axis: AxisName,
) -> Scaling:
    """Return a published line as a model: straight, since nothing else is known of it.

    Raises
    ------
    ValueError
        If the maximum is clearly below what the line reaches.
    """
    reached = intercept + slope * ends[1]
    if maximum is not None and maximum < (1 - _BELOW) * reached:
        raise ValueError(
            f"{chosen(maximum, '1')} is below what the line reaches at "
            f"{text(numbers.place(ends[1], axis))}, {significant(reached)}"
        )
    whole = Line(
        slope=slope,
        slope_low=None,
        slope_high=None,
        intercept=intercept,
        intercept_low=None,
        intercept_high=None,
        r2=r2,
        p=None,
        maximum=reached if maximum is None else maximum,
        # The values behind it were not published.
        n=0,
    )
    piece = Segment(start=ends[0], end=ends[1], slope=slope, intercept=intercept)
    said = message(
        "published line from {span}{% if r2 is not none %}, R² = {r2 | r_squared}{% endif %}"
        ". Without its points it cannot be judged",
        span=numbers.span(*ends, axis),
        r2=r2,
    )
    return Scaling(verdict="linear", sentence=said, breaks=(), segments=(piece,), line=whole)


def to_file(fit: Fit, unit: str) -> FitFile:
    """Return what is written of a fit, whose rates are in ``unit``."""
    found, line, top = fit.asked, fit.asked.line, fit.asked.saturates_at
    return FitFile(
        axis=fit.axis,
        unit=unit,
        workload=fit.workload,
        verdict=None if fit.published else found.verdict,
        reason=found.reason,
        sentence=sentence(messages.of_fit(fit, unit)),
        breaks=found.breaks,
        segments=tuple(
            Piece(start=s.start, end=s.end, slope=s.slope, intercept=s.intercept)
            for s in found.segments
        ),
        r2=line.r2,
        slope=line.slope,
        slope_interval=_interval(line.slope_low, line.slope_high),
        intercept=line.intercept,
        intercept_interval=_interval(line.intercept_low, line.intercept_high),
        p=line.p,
        max_gflops=line.maximum,
        saturates_at=top,
        saturates_interval=None if top is None else (found.saturates_low, found.saturates_high),
        largest_error=found.largest_error,
        would_see=found.would_see,
        curved=found.curved,
        quotas=len(fit.steps),
        n=None if fit.published else line.n,
        points=fit.steps or None,
    )


def _interval(low: float | None, high: float | None) -> Ends | None:
    return None if low is None or high is None else (low, high)


def from_file(found: FitFile) -> Fit:
    """Return the fit that a file holds, with rates as :class:`Calibration` has them.

    Raises
    ------
    ValueError
        If it cannot be compared with a calibration; the message says why.
    """
    if found.version not in _VERSIONS:
        raise ValueError(f"it is of version {found.version}, and this tare reads {VERSION}")
    if found.unit != UNIT:
        raise ValueError(f"its speeds are in {found.unit}, and calibrations are in {UNIT}")
    if found.points is None:
        if len(found.segments) != 1:
            raise ValueError("it has neither points nor one published line")
        line = found.segments[0]
        if not 0 < line.start < line.end or found.slope <= 0:
            raise ValueError("its published line does not rise over a range above 0")
        asked = published(
            SCALE * found.slope,
            SCALE * found.intercept,
            found.r2,
            SCALE * found.max_gflops,
            (line.start, line.end),
            found.axis,
        )
        return Fit(axis=found.axis, workload=found.workload, work=WORK, steps=(), asked=asked)
    places = [place for place, _ in found.points]
    if places != sorted({*places}):
        raise ValueError("its points are not in ascending order")
    steps = tuple((x, tuple(SCALE * y for y in values)) for x, values in found.points)
    return fit_of(found.axis, found.workload, WORK, steps)


def fit_of(
    axis: AxisName,
    workload: str,
    work: str,
    steps: tuple[tuple[float, tuple[float, ...]], ...],
) -> Fit:
    """Fit lines to values at places.

    Raises
    ------
    ValueError
        If there are none, or some are not finite and above 0.
    """
    x = np.array([place for place, values in steps for _ in values], dtype=float)
    y = np.array([value for _, values in steps for value in values], dtype=float)
    if len(x) == 0 or not (np.isfinite(x).all() and np.isfinite(y).all() and (y > 0).all()):
        raise ValueError("it has no points above 0")

    return Fit(axis=axis, workload=workload, work=work, steps=steps, asked=scaling(x, y))
