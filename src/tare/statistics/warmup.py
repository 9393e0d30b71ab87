"""Does a series settle? Sliding-window SD against the whole, and change points.

Source: STABILITY; Barrett 2017; Jackson and others 2005.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tare.results import phrases
from tare.results.message import Change, Deviation, Message, message
from tare.statistics import checked
from tare.statistics.changes import Changes, change_points, changes
from tare.statistics.downsample import MOST, fences, sample
from tare.statistics.statistic import FloatArray, median

Shape = Literal["flat", "warm-up", "slowdown", "no steady state", "too short"]

#: STABILITY's window.
WINDOW = 10
#: Values below which nothing is said of a series' shape.
FEWEST = 20
#: Values below which even a large change is nothing but chance.
FEWEST_OF_ALL = 6
#: Share of the series that its last segment must cover to be called steady.
STEADY = 0.25
#: Share of the series within which a warm-up ends.
BEGINNING = 0.25


@dataclass(frozen=True)
class WarmUp:
    """How a series begins and ends, as one of Barrett's classes.

    Attributes
    ----------
    shape : str
        ``flat``: one level; ``warm-up``: ends at its lowest level; ``slowdown``: ends at
        another; ``no steady state``: the last change is too near the end.
    changes : tuple of int
        Indices at which another level begins.
    levels : tuple of float
        Mean of each segment.
    steady_from : int or None
        Index from which the last level holds; None without a steady state.
    ok : bool or None
        Whether the series is flat; None where it is too short.
    sentence : Message
        What it means.
    """

    shape: Shape
    changes: tuple[int, ...]
    levels: tuple[float, ...]
    steady_from: int | None
    ok: bool | None
    sentence: Message


def sliding_sd(values: FloatArray, window: int = WINDOW) -> FloatArray:
    """Compute the standard deviation of each window of consecutive values.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    window : int
        Values in a window.

    Returns
    -------
    array, shape (n − window + 1,)
        Empty if the series is shorter than the window.

    References
    ----------
    STABILITY, which used windows of 10.
    """
    if len(values) < window:
        return np.empty(0)
    windows = np.lib.stride_tricks.sliding_window_view(values, window)
    return np.asarray(windows.std(axis=1, ddof=1))


def settle(values: FloatArray, tolerance: float = 0.01) -> WarmUp:
    """Find change points of the mean and classify the series by them.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    tolerance : float
        Relative difference below which neighbouring levels count as one.

    Returns
    -------
    WarmUp

    Notes
    -----
    Of exchangeable series, at most 5 % show a change, whatever their distribution.

    References
    ----------
    Barrett and others, Virtual machine warmup blows hot and cold, OOPSLA 2017, for the classes;
    Jackson and others 2005 for the change points.
    """
    if len(values) < FEWEST:
        level = (float(np.mean(values)),) if len(values) else ()
        return _shaped("too short", (), level)
    return _classify(values, change_points(values), tolerance)


def warm_up(values: ArrayLike, precision: float = 0.01, found: Changes | None = None) -> WarmUp:
    """Classify a series as flat, warm-up, slowdown or without a steady state.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; from 6 on, though so few show only what is large.
    precision : float
        Relative difference below which neighbouring levels count as one.
    found : Changes, optional
        Of the same values, where they are known already.

    Notes
    -----
    A first trial that exceeds all others and Tukey's far fence is a warm-up by itself from 20
    trials on: in steady series it comes first in 1 of n.
    """
    checked.parameters(precision=precision)
    values = checked.series(values, least=0)
    n = len(values)
    if n < FEWEST_OF_ALL or values.min() == values.max():
        level = (float(np.mean(values)),) if n else ()
        if n < FEWEST_OF_ALL:
            return _shaped("too short", (), level)
        return _shaped("flat", (), level, 0)
    found = found or changes(values, precision)
    if found.drift is not None and abs(found.drift) > precision:
        sentence = message(
            "no steady state: the values drift by {size} until the end. Measure longer, or "
            "find what changes",
            size=Deviation(found.drift, "share"),
        )
        return WarmUp("no steady state", (), (float(np.mean(values)),), None, False, sentence)
    return _classify(values, found.points, precision)


def begins_with_warm_up(values: FloatArray, precision: float = 0.01) -> bool:
    """Whether a series descends, level by level, within its first quarter, and stays there.

    A later step is a level shift like any other: half of a series is no warm-up.
    """
    found = warm_up(values, precision)
    descends = all(above > below for above, below in pairwise(found.levels))
    begin = found.steady_from or 0
    return found.shape == "warm-up" and descends and begin <= BEGINNING * len(values)


@dataclass(frozen=True)
class ColdRun:
    """A first run that took much longer than all others.

    Attributes
    ----------
    ratio : float
        Of the first run to the median of the others; infinite where that is 0.
    shift : float
        Relative change of the median by the first run.
    """

    ratio: float
    shift: float

    @property
    def sentence(self) -> Message:
        """Say how much longer the first run took."""
        return message(phrases.SERIES_WARMUP_COLD, times=Change(self.ratio))


def cold_start(values: FloatArray, precision: float = 0.01) -> ColdRun | None:
    """Return the first of at least 20 runs where it is a cold start; otherwise None.

    It exceeds all others and Tukey's far fence; in steady series, the first of n runs is the
    longest in 1 of n.
    """
    if len(values) < FEWEST:
        return None
    first, rest = float(values[0]), np.asarray(values[1:MOST])
    middle = median(rest)
    if not first > max(rest.max(), fences(rest)[1], middle + precision * abs(middle)):
        return None
    if middle <= 0:
        return ColdRun(math.inf, 0.0)
    return ColdRun(first / middle, median(np.asarray(values[:MOST])) / middle - 1)


def _shaped(
    shape: Shape, points: Sequence[int], levels: tuple[float, ...], steady_from: int | None = None
) -> WarmUp:
    ok = None if shape == "too short" else shape == "flat"
    sentence = _sentence(shape, steady_from or 0)
    return WarmUp(shape, tuple(points), levels, steady_from, ok, sentence)


def _sentence(shape: Shape, start: int) -> Message:
    match shape:
        case "too short":
            return message("the series is too short to show a warm-up")
        case "flat":
            return message("no warm-up is shown: the first trials are like the last ones")
        case "warm-up":
            return message(
                "warm-up: the first {% if n == 1 %}trial is{% else %}{n} trials are"
                "{% endif %} slower than those that follow. Leave as many out, or run them "
                "unmeasured (--warmup)",
                n=start,
            )
        case "slowdown":
            return message(
                "slowdown: from trial {trial} on the values are higher than before. Look for "
                "heat, a depleted budget or growing state",
                trial=start + 1,
            )
    return message("no steady state: the level still changes near the end. Measure longer")


def _classify(values: FloatArray, points: Sequence[int], tolerance: float) -> WarmUp:
    """Classify a series by its change points, or by its first value if that is a cold start."""
    settled = _classify_points(values, points, tolerance)
    if settled.shape == "flat" and cold_start(values, tolerance) is not None:
        settled = _classify_points(values, (1,), tolerance)
    return settled


def _classify_points(values: FloatArray, points: Sequence[int], tolerance: float) -> WarmUp:
    n = len(values)
    least = tolerance * abs(float(np.median(sample(values))))
    points = _merge(values, [0, *points, n], least)
    levels = tuple(float(np.mean(values[a:b])) for a, b in pairwise([0, *points, n]))
    if not points:
        return _shaped("flat", (), levels, 0)
    if n - points[-1] < STEADY * n:
        return _shaped("no steady state", points, levels)
    shape: Shape = "warm-up" if levels[-1] <= min(levels) + least else "slowdown"
    return _shaped(shape, points, levels, points[-1])


def _merge(values: FloatArray, bounds: list[int], least: float) -> list[int]:
    """Drop the changes between neighbouring segments whose means differ by less than ``least``."""
    kept = [0]
    for here, after in pairwise(bounds[1:]):
        before, behind = np.mean(values[kept[-1] : here]), np.mean(values[here:after])
        if abs(float(behind - before)) >= least:
            kept.append(here)
    return kept[1:]
