"""Does the level of a series change, and by more than the target? Drift and change points.

Source: Jackson and others 2005; thresholds by simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import Chosen, Deviation, Message, message
from tare.statistics import checked, phrases
from tare.statistics.dependence import short_dependence
from tare.statistics.downsample import Course, beside, block_means, fences
from tare.statistics.order import Order, order_of
from tare.statistics.robust import clipped
from tare.statistics.segmentation import (
    penalty,
    residuals_of_levels,
    residuals_of_lines,
    segment_ends,
    slopes,
)
from tare.statistics.statistic import FloatArray, IndexArray, median_of_ordered

#: Values in the shortest segment; two in series that are too short for that.
_SHORTEST_SEGMENT = 5
_SHORT_SERIES = 20
#: Longest series that change points are sought in value by value (the search is quadratic).
_MOST = 2048


@dataclass(frozen=True)
class Changes:
    """Changes of level over a series: a drift or steps, whichever describes it better.

    Attributes
    ----------
    drift : float or None
        Change along the fitted line from the first trial to the last. Of positive values, the line
        is fitted to their logarithms and the change is relative to its beginning: nothing falls by
        more than all of it. Of others, it is relative to the median. None: no drift is shown.
    points : tuple of int
        Indices at which another level begins; none where no change is shown.
    levels : tuple of float
        Mean of each segment, its outliers drawn in.
    largest : float or None
        Largest difference of neighbouring levels, relative to the median, with its sign.
    at : int or None
        Index at which it begins.
    ok : bool or None
        Whether neither drift nor change exceeds the precision; None where nothing can be said.
    sentence : Message
        What it means.
    steps : tuple of float
        Of each of ``points``, the difference of the levels beside it, as ``largest``.
    """

    drift: float | None
    points: tuple[int, ...]
    levels: tuple[float, ...]
    largest: float | None
    at: int | None
    ok: bool | None
    sentence: Message
    steps: tuple[float, ...] = ()

    def beyond(self, precision: float) -> list[tuple[int, float]]:
        """Return the index and the size of each change of level larger than the precision."""
        shifts = zip(self.points, self.steps, strict=True)
        return [(point, size) for point, size in shifts if abs(size) > precision]


def changes(values: ArrayLike, precision: float = 0.01, order: Order | None = None) -> Changes:
    """Look for changes of level larger than the precision.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; memory maps included.
    precision : float
        Relative change that matters: the target.
    order : Order, optional
        Of the same values, where it is known already.

    Returns
    -------
    Changes

    Notes
    -----
    Nothing is called a change unless the joint test of :mod:`tare.statistics.order` finds the
    order of the trials unlike a shuffled one.
    """
    checked.parameters(precision=precision)
    values = checked.series(values, least=0)
    n = len(values)
    order = order or order_of(values)
    if order is None:
        why = message(phrases.SERIES_FEW, n=n) if n < 6 else message(phrases.EQUAL)
        sentence = message("{why}: no level shift can be shown", why=why)
        return Changes(None, (), (), None, None, None, sentence)
    course = order.course
    x, block = course.values, course.block
    scale = abs(median_of_ordered(course.spaced[course.spaced_sorter])) or 1.0
    points = _find(order) if order.moves else []
    drift = _line(x) if order.beyond(_tau_beside_line(order))[1] else None
    if drift is not None and points and _steps_fit_better(x, points):
        drift = None
    if drift is not None:
        points = []
    levels = _levels(course, points)
    # Relative to where it came from where that was more: nothing falls by more than all of it.
    steps = np.diff(levels) / np.maximum(scale, np.abs(levels[:-1]))
    widest = int(np.abs(steps).argmax()) if len(steps) else None
    largest = None if widest is None else float(steps[widest])
    relative = None if drift is None else _relative_drift(x, drift, scale)
    return Changes(
        drift=relative,
        points=tuple(p * block for p in points),
        levels=levels,
        largest=largest,
        at=None if widest is None else points[widest] * block,
        ok=max(abs(relative or 0), abs(largest or 0)) <= precision,
        sentence=_sentence(
            relative, steps, points[widest] * block if widest is not None else 0, precision
        ),
        steps=tuple(steps.tolist()),
    )


def change_points(values: ArrayLike, order: Order | None = None) -> list[int]:
    """Find where the mean changes, with a penalty scaled by the dependence time.

    None, unless the joint test of :mod:`tare.statistics.order` finds the order unlike a shuffled
    one: in at most 5 % of steady series, whatever their distribution. Outliers are drawn in to
    three robust SDs first, since each would otherwise become a segment. The dependence time is
    that of a first-order autoregression, from differences at lags 1 and 2: unlike
    autocorrelations, these are hardly touched by the changes that are sought.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time. Above 2048 values, means of blocks are looked at.
    order : Order, optional
        Of the same values, where it is known already.

    Returns
    -------
    list of int
        Indices at which another level begins.

    Notes
    -----
    Short series that remember are cut too often all the same: AR(.7) in 37 % at n = 20, 10 % at
    100, 3 % at 400.
    """
    values = checked.series(values, least=0)
    order = order or order_of(values)
    if order is None or not order.moves:
        return []
    return [p * order.course.block for p in _find(order)]


def _find(order: Order) -> list[int]:
    """Find change points of a course, as its indices; where there is none, its clearest step."""
    x, block = block_means(clipped(order.course.values), _MOST)
    one = float(np.mean(np.diff(x) ** 2))
    if one == 0:
        return []
    tau = _tau_beside_step(order)
    variance = one * (1 + tau) / 4  # (1 − φ) is 2 / (1 + tau)
    shortest = _SHORTEST_SEGMENT if len(x) >= _SHORT_SERIES else 2
    ends = segment_ends(x, penalty(len(x), variance) * tau, shortest)
    found = [end * block for end in ends[:-1]]
    return found or ([order.at] if order.beyond(tau)[0] else [])


def _tau_beside_step(order: Order) -> float:
    """Short dependence of a course beside its clearest step; 1 where no memory is shown."""
    if not order.remembers:
        return 1.0
    return short_dependence(residuals_of_levels(clipped(order.course.values), [order.at]))


def _tau_beside_line(order: Order) -> float:
    """Short dependence of a course beside its line; 1 where no memory is shown."""
    if not order.remembers:
        return 1.0
    return short_dependence(_beside_line(order.course.values))


@dataclass(frozen=True, eq=False)
class OrderAnalysis:
    """What the order of the values of a series shows.

    Attributes
    ----------
    order : Order or None
        Result of the joint test; None for fewer than 6 values, or where all are equal.
    changes : Changes
        Drift or level shifts.
    left : Order or None
        Tests of the order after level changes are removed.
    """

    order: Order | None
    changes: Changes
    left: Order | None

    @property
    def dependence(self) -> float:
        """Trials that are worth one independent trial, beside level changes."""
        return 1.0 if self.left is None else self.left.dependence

    @property
    def is_doubtful(self) -> bool:
        """Whether the level changes by more than the precision, or the order is not random."""
        return self.changes.ok is False or (self.left is not None and self.left.kind is not None)


def analyse_order(
    values: FloatArray, precision: float = 0.01, sorter: IndexArray | None = None
) -> OrderAnalysis:
    """Look for level changes larger than the precision, and at the order beside them.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; memory maps included.
    precision : float
        Relative change that matters: the target.
    sorter : int array, shape (n,), optional
        Indices that sort the values, where they are known.
    """
    order = order_of(values, sorter)
    found = changes(values, precision, order)
    return OrderAnalysis(order, found, None if order is None else remaining(order, found))


def remaining(order: Order, found: Changes) -> Order:
    """Return the order of a series after its drift or its steps are taken out.

    A change of level is told as such; what trials remember is what they have in common beside it.
    """
    if found.drift is None and not found.points:
        return order
    course = order.course
    x = course.values
    if found.drift is not None:
        left = beside(course, x - _beside_line(x))
    else:
        bounds = [0, *(p // course.block for p in found.points), len(x)]
        left = beside(course, np.repeat(np.array(found.levels), np.diff(bounds)))
    flat = float(np.ptp(left.values)) <= 1e-9 * float(np.ptp(x))
    again = None if flat else order_of(left)
    return again or replace(
        order, remembers=False, alternates=False, recurs=False, spreads=False, tau=1.0
    )


def _line(x: FloatArray) -> float:
    """Change over the series along the line of least squares, outliers drawn in."""
    return float(slopes(np.clip(x, *fences(x)))) * (len(x) - 1)


def _relative_drift(x: FloatArray, drift: float, scale: float) -> float:
    """Divide a drift by the level, so that what cannot be negative falls by at most 100 %."""
    if (x > 0).all():
        return math.expm1(_line(np.log(x)))
    relative = drift / (scale + max(0.0, -drift / 2))
    return max(relative, -1.0) if (x >= 0).all() else relative


def _beside_line(x: FloatArray) -> FloatArray:
    return np.asarray(x - _line(x) * np.linspace(-0.5, 0.5, len(x)))


def _levels(course: Course, points: list[int]) -> tuple[float, ...]:
    x, sorter = course.values, course.sorter
    found = []
    for a, b in pairwise([0, *points, len(x)]):
        ordered = x[sorter[(sorter >= a) & (sorter < b)]]
        found.append(float(np.clip(x[a:b], *fences(ordered, ordered=True)).mean()))
    return tuple(found)


def _steps_fit_better(x: FloatArray, points: list[int]) -> bool:
    """Whether levels describe a series better than a line, by BIC; a place counts as a number."""
    y = np.clip(x, *fences(x))
    n = len(y)
    line, levels = residuals_of_lines(y - y.mean()), residuals_of_levels(y, points)
    worse = n * math.log(max(float(line @ line), 1e-300) / max(float(levels @ levels), 1e-300))
    return worse > (2 * len(points) + 1 - 2) * math.log(n)


def _sentence(drift: float | None, steps: FloatArray, at: int, precision: float) -> Message:
    if drift is not None:
        return message(
            "from the first trial to the last the values drift by {size}, {% if beyond %}"
            "more than the {target} that matter: no one number stands for all{% else %}less "
            "than the {target} that matter{% endif %}",
            size=Deviation(drift, "share"),
            target=Chosen(precision),
            beyond=abs(drift) > precision,
        )
    if len(steps):
        largest = float(steps[np.abs(steps).argmax()])
        return message(
            "at trial {trial} the level changes by {size}{% if n > 1 %} (the largest of {n})"
            "{% endif %}, {% if beyond %}more than the {target} that matter: no one number stands "
            "for all{% else %}less than the {target} that matter{% endif %}",
            n=len(steps),
            trial=at + 1,
            size=Deviation(largest, "share"),
            target=Chosen(precision),
            beyond=abs(largest) > precision,
        )
    return message("no drift and no level shift is shown")
