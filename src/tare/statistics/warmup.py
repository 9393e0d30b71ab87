"""Does a series settle? Sliding-window SD against the whole, and change points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from tare.registry import Description, Parameter
from tare.statistics.changes import change_points
from tare.statistics.order import Order, order_of
from tare.statistics.statistic import FloatArray, Statistic

Shape = Literal["flat", "warm-up", "slowdown", "no steady state", "too short"]

#: STABILITY's window.
WINDOW = 10
#: Values below which nothing is said of a series' shape.
FEWEST = 20
#: Share of the series that its last segment must cover to be called steady.
STEADY = 0.25


@dataclass(frozen=True)
class Settling:
    """How a series behaves over time.

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
    """

    shape: Shape
    changes: tuple[int, ...]
    levels: tuple[float, ...]
    steady_from: int | None


@dataclass(frozen=True)
class WarmUp:
    """How a series begins and ends, as one of Barrett's classes.

    Attributes
    ----------
    shape : str
        As in :class:`Settling`.
    changes : tuple of int
        Indices at which another level begins.
    levels : tuple of float
        Mean of each segment.
    steady_from : int or None
        Index from which the last level holds; None without a steady state.
    ok : bool or None
        Whether the series is flat; None where it is too short.
    sentence : str
        What it means.
    """

    shape: Shape
    changes: tuple[int, ...]
    levels: tuple[float, ...]
    steady_from: int | None
    ok: bool | None
    sentence: str


def warm_up(values: FloatArray, precision: float = 0.01, order: Order | None = None) -> WarmUp:
    """Classify a series as flat, warm-up, slowdown or without a steady state.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    precision : float
        Relative difference below which neighbouring levels count as one.
    order : Order, optional
        Of the same values, where it is known already.
    """
    order = order or order_of(values)
    found = settle(values, precision)
    ok = None if found.shape == "too short" else found.shape == "flat"
    return WarmUp(found.shape, found.changes, found.levels, found.steady_from, ok, _sentence(found))


def _sentence(found: Settling) -> str:
    start = 0 if found.steady_from is None else found.steady_from
    return {
        "too short": "The series is too short to show a warm-up.",
        "flat": "No warm-up: the first trials are like the last ones.",
        "warm-up": f"The first {start} trials are slower than the rest: leave them out, or warm "
        "up before measuring.",
        "slowdown": f"From trial {start + 1} on the values are higher than before: look for heat, "
        "a spent budget or growing state.",
        "no steady state": "No steady state is reached: the level still changes near the end, so "
        "measure longer.",
    }[found.shape]


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


def settle(values: FloatArray, tolerance: float = 0.01) -> Settling:
    """Find change points of the mean and classify the series by them.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    tolerance : float
        Relative difference below which neighbouring levels count as one.

    Returns
    -------
    Settling

    References
    ----------
    Barrett and others, Virtual machine warmup blows hot and cold, OOPSLA 2017, for the classes;
    Killick, Fearnhead, Eckley 2012 (PELT) for the change points.
    """
    n = len(values)
    if n < FEWEST:
        return Settling("too short", (), (float(np.mean(values)),) if n else (), None)
    changes = change_points(values)
    bounds = [0, *changes, n]
    changes = _merge(values, bounds, tolerance * abs(float(np.median(values))))
    bounds = [0, *changes, n]
    levels = tuple(float(np.mean(values[a:b])) for a, b in pairwise(bounds))
    if not changes:
        return Settling("flat", (), levels, 0)
    if n - changes[-1] < STEADY * n:
        return Settling("no steady state", tuple(changes), levels, None)
    shape: Shape = "warm-up" if levels[-1] <= min(levels) else "slowdown"
    return Settling(shape, tuple(changes), levels, changes[-1])


def _merge(values: FloatArray, bounds: list[int], least: float) -> list[int]:
    """Drop the changes between neighbouring segments whose means differ by less than ``least``."""
    kept = [0]
    for here, after in pairwise(bounds[1:]):
        before, behind = np.mean(values[kept[-1] : here]), np.mean(values[here:after])
        if abs(float(behind - before)) >= least:
            kept.append(here)
    return kept[1:]


UNIT = Statistic(
    description=Description(
        name="warmup",
        title="Sliding-window SD, change points and their classification",
        question="Does a series settle, and from where on?",
        parameters=(
            Parameter(name="window", meaning="values in a window", default=WINDOW, minimum=2),
            Parameter(
                name="tolerance",
                meaning="relative difference below which two levels are one",
                unit="1",
                default=0.01,
                minimum=0.0,
            ),
        ),
        source="STABILITY; Barrett 2017; Killick 2012",
    ),
    methods=(sliding_sd, settle, warm_up, change_points),
)
