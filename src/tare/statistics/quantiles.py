"""Quantiles with their intervals of series of any length: exact, and without a copy of them.

Source: Floyd and Rivest 1975; Le Boudec 2010, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tare.results.message import message
from tare.statistics.intervals import Interval, quantile_ranks, trials_needed, widened
from tare.statistics.selection import Parts, select, survey
from tare.statistics.statistic import FloatArray


def quantiles(
    values: FloatArray | Parts,
    qs: Sequence[float],
    confidence: float = 0.95,
    widening: float = 1.0,
    tick: float | None = None,
) -> list[Interval]:
    """Find exact quantiles with their order-statistic intervals, of a series of any length.

    Parameters
    ----------
    values : array, shape (n,), or callable
        An array, a memory map, or a function that gives the parts of a series, as arrays, anew
        each time it is called, for what no array holds. It is called two times, seldom more.
    qs : sequence of float
        The quantiles, between 0 and 1.
    confidence : float
        Coverage of each interval is at least this for independent values.
    widening : float
        Factor on the distance of the ranks: the root of the dependence time. Long series are
        seldom independent, and their intervals absurdly narrow without it.
    tick : float, optional
        What is known of the clock's tick; see :func:`tare.statistics.ticks.tick_of`.

    Returns
    -------
    list of Interval
        In the order of ``qs``; without bounds where n is too small. Up to a million values are
        copied; of more, some thousandths are kept.

    Raises
    ------
    InputError
        If there are no values, one is not a number, or a quantile is not between 0 and 1.

    References
    ----------
    Le Boudec, Performance Evaluation of Computer and Communication Systems, 2010, chapter 2.
    """
    needs = {q: math.ceil(trials_needed(q, confidence) * widening**2) for q in qs}
    surveyed = survey(values)
    n = surveyed.n
    bounds = {q: quantile_ranks(n, q, confidence, widening) for q in qs}
    ranks = {rank for q in qs for rank in (*_neighbours(n, q)[:2], *(bounds[q] or ()))}
    found = select(values, surveyed, sorted(ranks))
    intervals = []
    for q in qs:
        below, above, share = _neighbours(n, q)
        estimate = _between(found[below], found[above], share)
        method, ends = "order statistics", bounds[q]
        if ends is None:
            refusal = message("interval.few", n=n, needs=needs[q])
            intervals.append(Interval(estimate, None, None, confidence, method, n, refusal))
        else:
            low, high = found[ends[0]], found[ends[1]]
            exact = Interval(estimate, low, high, confidence, method, n)
            intervals.append(widened(exact, surveyed.sample, tick))
    return intervals


def _neighbours(n: int, q: float) -> tuple[int, int, float]:
    """Ranks around a sample's quantile, and how far it lies between them, as numpy has them."""
    place = (n - 1) * q
    below = int(place)
    return below + 1, min(below + 2, n), place - below


def _between(below: float, above: float, share: float) -> float:
    if below == above:
        return below
    # As numpy interpolates, to the last bit.
    step = above - below
    return below + step * share if share < 0.5 else above - step * (1 - share)
