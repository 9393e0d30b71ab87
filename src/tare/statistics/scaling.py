"""How y follows x: along one straight line, along several, or up to a ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special

from tare.registry import Description
from tare.statistics.regression import Line, line
from tare.statistics.segments import Model, Pieces
from tare.statistics.statistic import FloatArray, Statistic
from tare.statistics.telling import percent

#: What can be said of a sweep.
Verdict = Literal["linear", "piecewise", "saturating", "too noisy to say"]

#: Relative error of one line that matters.
MATTERS = 0.03
#: Fewest steps from which anything is concluded.
FEWEST = 5
#: Steps of the grid that the interval of a bend is read from.
_GRID = 1000


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One straight piece: from its first to its last x."""

    start: float
    end: float
    slope: float
    intercept: float


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """How y scales with x."""

    verdict: Verdict
    #: One sentence: the verdict with its ranges, and what would help where it is too noisy.
    sentence: str
    #: Where a piece ends and the next begins, between two measured x; the place of saturation is
    #: not among them.
    breaks: tuple[float, ...]
    #: One piece where it is linear; a flat one last where it saturates.
    segments: tuple[Segment, ...]
    #: One straight line through all points, as CALIBRATE fits it.
    line: Line
    #: The x from which more gives nothing, with its 95 % interval; None: there is none.
    saturates_at: float | None = None
    saturates_low: float | None = None
    saturates_high: float | None = None
    #: Largest relative error of the single line at any x (of its mean).
    largest_error: float | None = None


@dataclass(frozen=True)
class _Steps:
    """One value at each x, and how many were measured there."""

    x: FloatArray
    y: FloatArray
    counts: NDArray[np.int64]


def scaling(x: FloatArray, y: FloatArray, steps: FloatArray | None = None) -> Scaling:
    """Tell whether y follows x along one line.

    Parameters
    ----------
    x, y : array, shape (n,)
        Points in any order, repeated ones as they are; x above 0.
    steps : array, shape (n,), optional
        What each point was measured at, where x is itself measured (CPU time delivered): x and y
        are then averaged over each step.

    Returns
    -------
    Scaling

    Raises
    ------
    ValueError
        If there are no points, some are not finite, or an x is not above 0.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    whole = line(x, y)
    if x.min() <= 0:
        raise ValueError("x is to be above 0")
    at = _steps(x, y, x if steps is None else np.asarray(steps, dtype=float))
    if len(at.x) < FEWEST:
        return _few(at, whole)
    pieces = Pieces(at.x, at.y, 1 / at.x**2)
    models = pieces.best()
    best = min(models, key=lambda model: model.criterion)
    error = _largest_error(pieces)
    if best is not models[0] and error <= MATTERS:
        best = models[0]
    return _told(pieces, best, whole, error)


def _steps(x: FloatArray, y: FloatArray, steps: FloatArray) -> _Steps:
    _, where, counts = np.unique(steps, return_inverse=True, return_counts=True)
    mean_x = np.bincount(where, weights=x) / counts
    mean_y = np.bincount(where, weights=y) / counts
    order = np.argsort(mean_x)
    return _Steps(mean_x[order], mean_y[order], counts[order])


def _largest_error(pieces: Pieces) -> float:
    slope, intercept = pieces.fit(0, pieces.n)
    with np.errstate(all="ignore"):
        errors = np.abs((slope * pieces.x + intercept) / pieces.y - 1)
    return float(np.nanmax(errors))


def _told(pieces: Pieces, model: Model, whole: Line, error: float) -> Scaling:
    segments = _segments(pieces, model)
    tops = model.end != "line"
    breaks = tuple(
        round(float(pieces.x[i - 1] + pieces.x[i]) / 2, 12)
        for i in (model.starts[1:-1] if model.end == "flat" else model.starts[1:])
    )
    at = low = high = None
    if model.end == "bend":
        at = model.bend
        low, high = _bend_interval(pieces, model)
    elif model.end == "flat":
        low, high = (float(v) for v in pieces.x[model.starts[-1] - 1 : model.starts[-1] + 1])
        at = (low + high) / 2
    verdict: Verdict = "piecewise" if breaks else "saturating" if tops else "linear"
    return Scaling(
        verdict=verdict,
        sentence=_sentence(verdict, segments, error, at),
        breaks=breaks,
        segments=segments,
        line=whole,
        saturates_at=at,
        saturates_low=low,
        saturates_high=high,
        largest_error=error,
    )


def _segments(pieces: Pieces, model: Model) -> tuple[Segment, ...]:
    found = []
    for i, j in zip(model.starts, (*model.starts[1:], pieces.n), strict=True):
        last = j == pieces.n
        start, end = float(pieces.x[i]), float(pieces.x[j - 1])
        if last and model.end == "flat":
            found.append(_flat(pieces, i, start))
        elif last and model.bend is not None:
            slope, intercept = pieces.bent_line(i, model.bend)
            found.append(Segment(start=start, end=model.bend, slope=slope, intercept=intercept))
            level = intercept + slope * model.bend
            found.append(Segment(start=model.bend, end=end, slope=0.0, intercept=level))
        else:
            slope, intercept = (float(v) for v in pieces.fit(i, j))
            found.append(Segment(start=start, end=end, slope=slope, intercept=intercept))
    return tuple(found)


def _flat(pieces: Pieces, i: int, start: float) -> Segment:
    level = float(np.average(pieces.y[i:], weights=pieces.w[i:]))
    return Segment(start=start, end=float(pieces.x[-1]), slope=0.0, intercept=level)


def _bend_interval(pieces: Pieces, model: Model) -> tuple[float, float]:
    """Read the bend's interval from the profile of its likelihood."""
    i = model.starts[-1]
    grid = np.linspace(pieces.x[i + 1], pieces.x[-2], _GRID)
    free = max(1, pieces.n - model.parameters)
    limit = model.rss * (1 + float(special.fdtri(1, free, 0.95)) / free)
    inside = grid[pieces.bent(i, grid) <= limit]
    at = model.bend or 0.0
    return float(min(at, *inside[:1])), float(max(at, *inside[-1:]))


def _few(at: _Steps, whole: Line) -> Scaling:
    start, end = float(at.x[0]), float(at.x[-1])
    return Scaling(
        verdict="too noisy to say",
        sentence=f"{len(at.x)} steps are too few to tell a line from a bend: at least {FEWEST}.",
        breaks=(),
        segments=(Segment(start=start, end=end, slope=whole.slope, intercept=whole.intercept),),
        line=whole,
    )


def _sentence(
    verdict: Verdict, segments: tuple[Segment, ...], error: float, saturates: float | None
) -> str:
    ranges = [f"{s.start:g} to {s.end:g}" for s in segments if s.slope != 0]
    if verdict == "linear":
        return f"Linear from {ranges[0]}: one line is off by at most {percent(error)}."
    ceiling = "" if saturates is None else f", flat from {saturates:.3g} on"
    if verdict == "saturating":
        return f"Linear from {ranges[0]}{ceiling}: more gives nothing."
    return (
        f"Not one line but {len(ranges)}: {', '.join(ranges)}{ceiling}. "
        f"A single line is off by up to {percent(error)}."
    )


UNIT = Statistic(
    description=Description(
        name="scaling",
        title="One line, several, or a ceiling",
        question="Does twice the x give twice the y everywhere?",
        source="Schwarz 1978 (BIC); weight of a parameter and margin by simulation",
    ),
    methods=(scaling,),
)
