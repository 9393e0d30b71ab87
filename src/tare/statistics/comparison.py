"""Is it different? Log-ratios, paired on common blocks or not, with a verdict in words.

Source: Hodges and Lehmann 1963; Holm 1979; Cliff 1993.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tare.errors import ValuesError
from tare.results.verdict import INCONCLUSIVE, Verdict, judge
from tare.statistics import checked
from tare.statistics.censored import at_least
from tare.statistics.exact import ranks
from tare.statistics.holm import holm
from tare.statistics.shift import has_ratio, paired_shift, unpaired_shift
from tare.statistics.statistic import MAX_LOG, FloatArray, Shift, exp
from tare.statistics.ticks import Tick

#: Standard normal quantile of the power that "detectable" means: 80 %.
_POWER = float(special.ndtri(0.8))
#: Largest factor by which more pairs are proposed where more than their number is in the way.
MAX_GROWTH = 100


@dataclass(frozen=True)
class Comparison:
    """What paired values say about the ratio of two cells.

    Attributes
    ----------
    ratio : float
        exp of the Hodges–Lehmann median of the log-ratios: > 1 means that the second is larger.
        NaN where values above a limit leave it open.
    low, high : float or None
        Bounds of the ratio; None where n is too small for an interval; 0 and infinite where values
        above a limit leave them open.
    confidence : float
        Nominal coverage of this one interval.
    p : float
        Two-sided, of the ratio being 1.
    p_adjusted : float
        After Holm over the family that the comparison belongs to.
    n : int
        Pairs.
    verdict : Verdict
        Of the second, relative to the first.
    more_pairs : int or None
        Where inconclusive: further pairs after which it will be, from the spread and the margin.
    detectable : float or None
        Smallest relative change that n pairs would have shown (power 80 %).
    cliffs_delta : float
        Share of pairs of values in which the second is larger minus the share in which it is
        smaller, −1 to 1.
    median_ratio : float
        Ratio of the medians; differs from ``ratio`` where there are separated modes. Infinite, 0
        or NaN where medians are above a limit.
    tick : float or None
        Of the coarser clock, relative to the median of the first; the interval allows for it. None
        where all values of one are equal, so that it cannot be seen.
    fewest : int
        Pairs below which autocorrelation keeps the interval too wide to decide anything; 0 where
        coin flips chose the order.
    gap : float
        How far values above a limit leave the logarithm of the ratio open to each side, however
        many pairs there are.
    killed : (int, int)
        Values of the first and of the second that are only known to exceed a limit.
    """

    ratio: float
    low: float | None
    high: float | None
    confidence: float
    p: float
    p_adjusted: float
    n: int
    verdict: Verdict
    more_pairs: int | None
    detectable: float | None
    cliffs_delta: float
    median_ratio: float
    tick: float | None = 0.0
    fewest: int = 0
    gap: float = 0.0
    killed: tuple[int, int] = (0, 0)


def cliffs_delta(first: ArrayLike, second: ArrayLike) -> float:
    """P(second > first) − P(second < first), from the ranks in O(n log n).

    Infinite values, which exceed a limit, rank above all others and are equal to each other.
    """
    first, second = checked.apart(first, second, above=True)
    m, n = len(first), len(second)
    u = ranks(np.concatenate([second, first])[None])[0, :n].sum() - n * (n + 1) / 2
    return float(2 * u / (m * n) - 1)


def further(n: int, log_half_width: float, margin: float, tick: float = 0.0) -> int | None:
    """Further pairs after which any effect is decided.

    An interval no wider than the margin either excludes 1 or lies inside the margin. Widths
    shrink with the root of n, but for what the clock's tick (relative to the values) has of them;
    the observed effect is not looked at.

    Returns
    -------
    int or None
        None where the tick is too coarse for any number of pairs.
    """
    room = math.log1p(margin) / 2 - tick
    if room <= 0:
        return None
    return max(1, math.ceil(n * (max(log_half_width - tick, 0.0) / room) ** 2) - n)


def pairs_for_gate(
    n: int, log_ratio: float, half_width: float, gate: float, tick: float = 0.0
) -> int | None:
    """Return how many more pairs would settle a gate if the estimate is the true ratio.

    Widths (of logs) shrink with the root of n, but for the clock's tick. None: too many to be
    worth it, as the ratio is close to the gate. An interval wider than the gate says too little
    of where the ratio is: then as many as make it that narrow.
    """
    if half_width > math.log1p(gate) / 2:
        return further(n, half_width, gate, tick)
    room = abs(log_ratio - math.log1p(gate)) - tick
    half = half_width - tick
    if room <= 0 or (half / room) ** 2 > MAX_GROWTH:
        return None
    return max(1, math.ceil(n * (half / room) ** 2) - n)


def detectable_change(log_half_width: float, confidence: float) -> float:
    """Smallest relative change shown with power 80 %, from an interval's half-width."""
    z = float(special.ndtri(0.5 + confidence / 2))
    return math.expm1(min(log_half_width * (1 + _POWER / z), MAX_LOG))


def compare(
    first: ArrayLike,
    second: ArrayLike,
    margin: float = 0.02,
    confidence: float = 0.95,
    *,
    dependence: float | None = None,
    tick: Tick = None,
    limits: checked.Limits = None,
) -> Comparison:
    """Compare two cells by the values of their trials in common blocks.

    Parameters
    ----------
    first, second : array, shape (n,)
        Positive trial values; the i-th of both belong to one block.
    margin : float
        Relative difference of practical importance.
    confidence : float
        Of the interval.
    dependence : float, optional
        Pairs that are worth one independent pair (:func:`tare.statistics.shift.pair_dependence`),
        where nobody knows whether a coin flip chose the order within each block. Below ten
        independent pairs only what no memory explains is told.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.
    limits : (array_like, array_like), optional
        What infinite values of each are known to exceed. The interval then contains that of the
        true values.

    Returns
    -------
    Comparison
        As a family of one; see :func:`compare_family`.

    Raises
    ------
    InputError
        If some values are not positive: they have a difference, but no ratio; see
        :func:`tare.statistics.shift.paired_shift`.
    """
    checked.parameters(margin=margin, confidence=confidence)
    first, second = checked.pair(first, second, above=limits is not None)
    checked.tick(tick)
    require_ratios(first, second, limits)
    shift = paired_shift(
        first, second, confidence, logs=True, dependence=dependence, tick=tick, limits=limits
    )
    return conclude(first, second, shift, margin, confidence)


def compare_unpaired(
    first: ArrayLike,
    second: ArrayLike,
    margin: float = 0.02,
    confidence: float = 0.95,
    dependence: float = 1.0,
    tick: Tick = None,
    limits: checked.Limits = None,
) -> Comparison:
    """Compare two series that share no blocks, such as those of two files.

    Whatever changed between the two measurements counts as a difference of the two: only
    interleaved trials tell them apart. Spread and shape of the two may differ.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
        Positive trial values.
    margin, confidence, tick, limits
        As for :func:`compare`.
    dependence : float
        Trials that are worth one independent trial, the larger of the two series; widens the
        interval.

    Returns
    -------
    Comparison
        Its ``n`` is the smaller of m and n, and ``more_pairs`` further trials of each.

    Raises
    ------
    InputError
        If some values are not positive.
    """
    checked.parameters(margin=margin, confidence=confidence)
    first, second = checked.apart(first, second, above=limits is not None)
    checked.tick(tick)
    require_ratios(first, second, limits)
    shift = unpaired_shift(
        first, second, confidence, logs=True, dependence=dependence, tick=tick, limits=limits
    )
    return conclude(first, second, shift, margin, confidence)


def require_ratios(first: FloatArray, second: FloatArray, limits: checked.Limits = None) -> None:
    """Refuse values that have no ratio; infinite ones need limits that they exceed."""
    if (above := checked.limits(limits, first, second)) is not None:
        first, second = at_least(first, above[0]), at_least(second, above[1])
    if not has_ratio(first, second):
        raise ValuesError(
            "a ratio needs finite values above zero, and some are not",
            "compare their differences: paired_shift(first, second), or unpaired_shift",
        )


def conclude(
    first: FloatArray, second: FloatArray, shift: Shift, margin: float, confidence: float
) -> Comparison:
    """Judge the shift between the logarithms of two samples as a ratio.

    Parameters
    ----------
    first, second : array
        Positive trial values.
    shift : Shift
        Of their logarithms.
    margin, confidence : float
        As for :func:`compare`.
    """
    low, high = (None if x is None else exp(x) for x in (shift.low, shift.high))
    half = None if shift.low is None or shift.high is None else (shift.high - shift.low) / 2
    middle, other = (float(np.median(x)) for x in (first, second))
    found = Comparison(
        ratio=exp(shift.middle),
        low=low,
        high=high,
        confidence=confidence,
        p=shift.p,
        p_adjusted=shift.p,
        n=min(len(first), len(second)),
        verdict=INCONCLUSIVE,
        more_pairs=None,
        detectable=None
        if half is None or not math.isfinite(half)
        else detectable_change(half, confidence),
        cliffs_delta=cliffs_delta(first, second),
        median_ratio=math.nan if math.isinf(middle) and math.isinf(other) else other / middle,
        tick=None if shift.tick is None else shift.tick / middle,
        fewest=shift.fewest,
        gap=shift.gap,
        killed=(int(np.isposinf(first).sum()), int(np.isposinf(second).sum())),
    )
    return adjust(found, shift.p, margin)


def compare_family(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]],
    margin: float = 0.02,
    confidence: float = 0.95,
    tick: Tick = None,
    limits: Sequence[checked.Limits] | None = None,
) -> list[Comparison]:
    """Compare many pairs of cells that answer one question, with Holm's adjustment over all.

    Parameters
    ----------
    pairs : sequence of (array, array)
    margin, confidence, tick
        As for :func:`compare`.
    limits : sequence, optional
        Of each pair, as for :func:`compare`.

    Returns
    -------
    list of Comparison
        In the same order. At most ``1 − confidence`` of such families have any verdict
        ``higher`` or ``lower`` where nothing differs.
    """
    checked.parameters(margin=margin, confidence=confidence)
    alone = [
        compare(a, b, margin, confidence, tick=tick, limits=above)
        for (a, b), above in zip(pairs, limits or [None] * len(pairs), strict=True)
    ]
    return adjust_family(alone, margin)


def adjust_family(alone: Sequence[Comparison], margin: float) -> list[Comparison]:
    """Judge comparisons anew as one family, by Holm."""
    adjusted = holm([c.p for c in alone])
    return [adjust(c, p, margin) for c, p in zip(alone, adjusted, strict=True)]


def adjust(comparison: Comparison, p_adjusted: float, margin: float) -> Comparison:
    """Judge a comparison anew with the p-value that its family leaves it."""
    c = comparison
    verdict = judge(c.low, c.high, margin, different=p_adjusted < 1 - c.confidence)
    more = c.more_pairs
    if not verdict.conclusive and c.n < c.fewest:
        # The interval's width says nothing of how narrow that of more pairs is.
        more = c.fewest - c.n
    elif not verdict.conclusive and c.low and c.high and math.isfinite(c.high / c.low):
        more = further(c.n, math.log(c.high / c.low) / 2, margin, (c.tick or 0.0) + c.gap)
        if c.gap and more is not None and more > MAX_GROWTH * c.n:
            more = None  # it is the limit that keeps the interval wide
        if not c.low <= 1 <= c.high:
            more = further_in_family(c.n, c.p, p_adjusted, c.confidence) or more
    return replace(c, p_adjusted=p_adjusted, verdict=verdict, more_pairs=more)


def further_in_family(n: int, p: float, p_adjusted: float, confidence: float) -> int | None:
    """Further pairs after which a difference that an interval shows is shown in its family, too.

    With few pairs no p-value is small enough for many comparisons: of ten, that of a sign test is
    at least .002. Standard scores grow with the root of n.

    Parameters
    ----------
    n : int
        Pairs so far.
    p, p_adjusted : float
        Alone, and in the family.
    confidence : float
        Of the family.

    Returns
    -------
    int or None
        None where p is none.
    """
    if not 0 < p <= p_adjusted:
        return None
    alone, wanted = -special.ndtri([p / 2, (1 - confidence) * p / p_adjusted / 2])
    return max(1, math.ceil(n * float(wanted / alone) ** 2) - n)
