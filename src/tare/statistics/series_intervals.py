"""Intervals of a series in order of time, and those that hold where the stopping rule stopped."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import message
from tare.statistics import checked, phrases
from tare.statistics.anytime import sequence_interval
from tare.statistics.dependence import dependence_times
from tare.statistics.interim_analysis import (
    FIRST_LOOK,
    Target,
    bounds,
    early_size,
    early_widths,
    first_look,
    quantile_of,
)
from tare.statistics.intervals import Interval, quantile_interval, widened
from tare.statistics.statistic import FloatArray
from tare.statistics.ticks import tick_of
from tare.units import quantile_name


def series_interval(
    values: ArrayLike,
    quantile: float = 0.5,
    confidence: float = 0.95,
    *,
    anytime: bool = False,
    tick: float | None = None,
) -> Interval:
    """Interval of a quantile of trials in order of time, widened for what they remember.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    quantile : float
        The median by default.
    confidence : float
        Of the interval.
    anytime : bool
        Of the confidence sequence instead of order statistics.
    tick : float, optional
        As for :func:`tare.statistics.intervals.quantile_interval`.

    Returns
    -------
    Interval
        That of the exact ranks below 50 trials, which are too few to estimate a dependence from;
        without bounds, and with the refusal, where n is
        too small.
    """
    checked.parameters(confidence=confidence)
    values = checked.series(values)
    row = np.asarray(values, dtype=float)[None]
    if anytime:
        return sequence_interval(row[0], quantile, confidence, tick)
    plain = quantile_interval(row[0], quantile, confidence, tick)
    if plain.low is None or len(values) < FIRST_LOOK:
        return plain
    ordered = np.sort(row, axis=1)
    tau = dependence_times((row <= quantile_of(ordered, quantile)[:, None]).astype(float))
    low, high = (float(b[0]) for b in bounds(ordered, tau, quantile, confidence))
    method = "order statistics, widened for dependence"
    if math.isinf(low) or math.isinf(high):
        worth = len(values) / tau[0]
        refusal = message(
            phrases.DEPENDENT,
            quantile=None if quantile == 0.5 else quantile_name(quantile),
            n=len(values),
            effective=round(worth),
            needs=None,
        )
        return replace(plain, low=None, high=None, method=method, refusal=refusal)
    return widened(replace(plain, low=low, high=high, method=method), values, tick)


def interval_at_stop(
    values: FloatArray,
    quantile: float = 0.5,
    *,
    anytime: bool = False,
    family: int = 1,
    fixed: bool = False,
    tick: float | None = None,
    early: float | None = None,
) -> Interval:
    """Interval to print of a series that the rule stopped, which holds in spite of the looks.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    quantile, anytime, family
        As for :func:`tare.statistics.stopping.decide_cell`.
    fixed : bool
        Whether n was decided beforehand, so that nobody looked.
    tick : float, optional
        As for :func:`tare.statistics.intervals.quantile_interval`.
    early : float, optional
        Precision at which the series might stop early, see :class:`Target`; None: it might not.

    Returns
    -------
    Interval
        That of the rule's look, whose ranks are those of more than 95 %; of 95 % where n was fixed,
        by the user or because fewer trials fitted than a first look needs. Of a series that stopped
        early, the one that it stopped on, unless 50 trials and more give another. Its
        ``confidence`` is what it claims after all looks.
    """
    target = Target(
        1.0 if early is None else early, quantile, anytime=anytime, family=family, tick=tick,
        early=early is not None,
    )  # fmt: skip
    looked = anytime or (not fixed and len(values) >= first_look(quantile))
    claimed = 1 - 0.05 / family
    confidence = target.confidence if looked else claimed
    interval = series_interval(values, quantile, confidence, anytime=anytime, tick=tick)
    wanting = interval.low is None or len(values) < FIRST_LOOK
    if not fixed and wanting and early_size(values, target) is not None:
        interval = _early_interval(values, family, tick)
    return replace(interval, confidence=claimed)


def _early_interval(values: FloatArray, family: int, tick: float | None) -> Interval:
    tick = tick_of(values, tick)
    middle = float(np.median(values))
    half = float(early_widths(values[None], family, tick or 0.0)[0])
    method = "median and p10–p90 range, for autocorrelated trials"
    found = Interval(middle, middle - half, middle + half, 0.95, method, len(values), early=True)
    return widened(found, values, tick)
