"""Quantiles with their intervals of series of any length: exact, and without a copy of them.

Source: Floyd and Rivest 1975; Le Boudec 2010, chapter 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tare.errors import ValuesError
from tare.results.message import message
from tare.statistics import checked, phrases
from tare.statistics.intervals import Interval, quantile_ranks, trials_needed, widened
from tare.statistics.statistic import FloatArray, interpolate

#: Values looked at in one go: with their masks they stay in a processor's cache.
_CHUNK = 65_536
#: Values that the first pass keeps at most; no longer series needs a second pass.
SAMPLE = 1 << 20
#: Standard deviations of a rank among the sample that a bracket reaches to either side: it is
#: missed once in a million times, and then looked for again with a wider one.
_REACH = 5.0


@dataclass(frozen=True)
class Survey:
    """What the first pass found.

    Attributes
    ----------
    n : int
        Length of the series.
    sample : array
        Ascending; one value at random out of each stretch of equal length.
    complete : bool
        Whether the sample is all there is.
    """

    n: int
    sample: FloatArray
    complete: bool


@dataclass
class _Bracket:
    """Values between which some ranks are expected, with the numbers of values up to them.

    Values equal to the ends are only counted: however often a value occurs, it takes no room.
    """

    ranks: list[int]
    low: float
    high: float
    below_low: int = 0
    upto_low: int = 0
    upto_high: int = 0


def survey(values: FloatArray, seed: int = 1) -> Survey:
    """Go through a series once, and keep a sample that is spread evenly over it.

    Parameters
    ----------
    values : array, shape (n,)
        Memory maps included.
    seed : int
        Of the places in each stretch.

    Raises
    ------
    InputError
        If there are no values, or one of them is not a number.
    """
    rng = np.random.default_rng(seed)
    n = len(values)
    if n == 0:
        raise ValuesError("there are no values", "give a series of at least one")
    stretch = math.ceil(n / SAMPLE)
    kept: list[FloatArray] = []
    for chunk in _chunks(values):
        places = np.arange(0, len(chunk), stretch)
        if stretch > 1:
            places += rng.integers(0, stretch, len(places))
            places = places[places < len(chunk)]
        kept.append(chunk[places])
    sample = np.concatenate(kept)
    _ends(sample)
    sample.sort()
    return Survey(n, sample, stretch == 1)


def select(values: FloatArray, surveyed: Survey, ranks: Sequence[int]) -> dict[int, float]:
    """Find the values of given ranks.

    Each rank is bracketed by two values of the sample. The second pass counts what lies below
    the brackets, and keeps what lies inside, some thousandths of the data. A rank that turns
    out to lie outside of its bracket is looked for again in a wider one.

    Parameters
    ----------
    values : array, shape (n,)
        As it was surveyed.
    surveyed : Survey
    ranks : sequence of int
        From 1 to n.

    Returns
    -------
    dict
        Rank to value.

    Raises
    ------
    InputError
        If one of the values is not a number.

    References
    ----------
    Floyd and Rivest, Expected time bounds for selection, Communications of the ACM 18(3), 1975.
    """
    if surveyed.complete:
        return {rank: float(surveyed.sample[rank - 1]) for rank in ranks}
    found: dict[int, float] = {}
    missing, reach = sorted(set(ranks)), _REACH
    while missing:
        brackets = _brackets(surveyed, missing, reach)
        kept = _look(values, brackets)
        for bracket in brackets:
            found |= _resolve(bracket, kept)
        missing = [rank for rank in missing if rank not in found]
        reach *= 4
    return found


def _chunks(values: FloatArray) -> Iterator[FloatArray]:
    for start in range(0, len(values), _CHUNK):
        yield np.ascontiguousarray(values[start : start + _CHUNK], dtype=float)


def _brackets(surveyed: Survey, ranks: Sequence[int], reach: float) -> list[_Bracket]:
    """Bracket each rank; brackets that overlap become one."""
    sample, many = surveyed.sample, len(surveyed.sample)
    brackets: list[_Bracket] = []
    for rank in ranks:
        share = rank / surveyed.n
        spread = reach * math.sqrt(many * share * (1 - share)) + reach
        first, last = math.floor(share * many - spread), math.ceil(share * many + spread)
        low = float(sample[first]) if first >= 0 else -math.inf
        high = float(sample[last]) if last < many else math.inf
        if brackets and low <= brackets[-1].high:
            brackets[-1].ranks.append(rank)
            brackets[-1].high = max(high, brackets[-1].high)
        else:
            brackets.append(_Bracket([rank], low, high))
    return brackets


def _look(values: FloatArray, brackets: Sequence[_Bracket]) -> list[FloatArray]:
    """Count for the brackets, and return the values inside of any, chunk by chunk."""
    room = np.empty((3, _CHUNK), dtype=bool)
    kept = []
    for chunk in _chunks(values):
        n = len(chunk)
        least, most = _ends(chunk)
        above, inside, wanted = room[:, :n]
        wanted[:] = False
        for bracket in brackets:
            if least > bracket.high:
                continue
            if most < bracket.low:
                bracket.below_low += n
                bracket.upto_low += n
                bracket.upto_high += n
                continue
            bracket.below_low += int(np.count_nonzero(np.less(chunk, bracket.low, inside)))
            bracket.upto_high += int(np.count_nonzero(np.less_equal(chunk, bracket.high, inside)))
            bracket.upto_low += n - int(np.count_nonzero(np.greater(chunk, bracket.low, above)))
            wanted |= np.logical_and(above, np.less(chunk, bracket.high, inside), inside)
        kept.append(chunk[wanted])
    return kept


def _resolve(bracket: _Bracket, kept: Sequence[FloatArray]) -> dict[int, float]:
    """Values of those ranks that do lie in the bracket."""
    inside = np.concatenate([x[(x > bracket.low) & (x < bracket.high)] for x in kept])
    places = [r - bracket.upto_low - 1 for r in bracket.ranks]
    places = [p for p in places if 0 <= p < len(inside)]
    if places:
        inside.partition(places)
    found = {}
    for rank in bracket.ranks:
        if bracket.below_low < rank <= bracket.upto_low:
            found[rank] = bracket.low
        elif bracket.upto_low < rank <= bracket.upto_low + len(inside):
            found[rank] = float(inside[rank - bracket.upto_low - 1])
        elif bracket.upto_low + len(inside) < rank <= bracket.upto_high:
            found[rank] = bracket.high
    return found


def _ends(values: FloatArray) -> tuple[float, float]:
    least, most = float(values.min()), float(values.max())
    if math.isnan(least):
        raise ValuesError("a value is not a number", "leave out what was not measured")
    return least, most


def quantiles(
    values: ArrayLike,
    qs: Sequence[float],
    confidence: float = 0.95,
    widening: float = 1.0,
    tick: float | None = None,
    ordered: FloatArray | None = None,
) -> list[Interval]:
    """Find exact quantiles with their order-statistic intervals, of a series of any length.

    Parameters
    ----------
    values : array, shape (n,)
        Memory maps included. It is gone through two times, seldom more.
    qs : sequence of float
        The quantiles, between 0 and 1.
    confidence : float
        Coverage of each interval is at least this for independent values.
    widening : float
        Factor on the distance of the ranks: the root of the dependence time. Long series are
        seldom independent, and their intervals absurdly narrow without it.
    tick : float, optional
        What is known of the clock's tick; see :func:`tare.statistics.ticks.tick_of`.
    ordered : array, shape (n,), optional
        The values in ascending order, where they are known.

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
    checked.parameters(confidence=confidence)
    values = checked.series(values, finite=False)
    needs = {q: math.ceil(trials_needed(q, confidence) * widening**2) for q in qs}
    if ordered is None:
        surveyed = survey(values)
    else:
        _ends(ordered)
        surveyed = Survey(len(ordered), ordered, True)
    n = surveyed.n
    bounds = {q: quantile_ranks(n, q, confidence, widening) for q in qs}
    ranks = {rank for q in qs for rank in (*_neighbours(n, q)[:2], *(bounds[q] or ()))}
    found = select(values, surveyed, sorted(ranks))
    intervals = []
    for q in qs:
        below, above, share = _neighbours(n, q)
        estimate = interpolate(found[below], found[above], share)
        method, ends = "order statistics", bounds[q]
        if ends is None:
            refusal = message(phrases.FEW, n=n, needs=needs[q])
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
