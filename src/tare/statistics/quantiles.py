"""Quantiles with their intervals of very long series: exact, and without a copy of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tare.registry import Description
from tare.statistics.intervals import Interval, quantile_ranks, trials_needed
from tare.statistics.statistic import FloatArray, Statistic

#: Gives the series from its start, in parts of any length, each time it is called.
Parts = Callable[[], Iterable[FloatArray]]


def quantiles(
    values: FloatArray | Parts,
    qs: Sequence[float],
    confidence: float = 0.95,
    widening: float = 1.0,
) -> list[Interval]:
    """Exact quantiles with their order-statistic intervals, of a series of any length.

    Parameters
    ----------
    values : array, shape (n,), or callable
        An array, a memory map, or a function that gives the parts of a series anew each time it
        is called, for what no array holds.
    qs : sequence of float
        The quantiles, between 0 and 1.
    confidence : float
        Coverage of each interval is at least this for independent values.
    widening : float
        Factor on the distance of the ranks: the root of the dependence time.

    Returns
    -------
    list of Interval
        In the order of ``qs``; without bounds where n is too small.
    """
    if callable(values):
        values = np.concatenate([np.asarray(part, dtype=float) for part in values()])
    ordered = np.sort(values)
    n = len(ordered)
    found = []
    for q in qs:
        estimate = float(np.quantile(ordered, q))
        ranks = quantile_ranks(n, q, confidence, widening)
        method = "order statistics"
        if ranks is None:
            refusal = f"n = {n} is too small, needs ≥ {trials_needed(q, confidence)}"
            found.append(Interval(estimate, None, None, confidence, method, n, refusal))
            continue
        low, high = float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1])
        found.append(Interval(estimate, low, high, confidence, method, n))
    return found


UNIT = Statistic(
    description=Description(
        name="quantiles",
        title="Exact quantiles of long series with order-statistic intervals",
        question="What are the quantiles of a series that is too long to be copied?",
        source="Floyd and Rivest 1975; Le Boudec 2010, chapter 2",
    ),
    methods=(quantiles,),
)
