"""Is it different? Log-ratios, paired on common blocks or not, with a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import stats

from tare.registry import Description, Parameter
from tare.statistics.rank_sum import rank_sum_interval, rank_sum_p
from tare.statistics.signed_rank import hodges_lehmann, signed_rank_interval, signed_rank_p
from tare.statistics.statistic import FloatArray, Statistic

Verdict = Literal[
    "slower", "faster", "same", "slower by less than the margin", "faster by less than the margin",
    "not decided",
]  # fmt: skip

#: An interval of the Hodges–Lehmann median: (log-ratios, confidence) → bounds, or None where n is
#: too small. :func:`signed_rank_interval` is the one for a fixed n; a sequential one fits here too.
PairedInterval = Callable[[FloatArray, float], tuple[float, float] | None]

#: Standard normal quantile of the power that "detectable" means: 80 %.
_POWER = float(stats.norm.ppf(0.8))


@dataclass(frozen=True)
class Comparison:
    """What paired values say about the ratio of two cells.

    Attributes
    ----------
    ratio : float
        exp of the Hodges–Lehmann median of the log-ratios: > 1 means that the second is larger.
    low, high : float or None
        Bounds of the ratio; None where n is too small for an interval.
    confidence : float
        Nominal coverage of this one interval.
    p : float
        Two-sided, of the ratio being 1.
    p_adjusted : float
        After Holm over the family that the comparison belongs to.
    n : int
        Pairs.
    verdict : str
        See :func:`judge`.
    more_pairs : int or None
        Where not decided: further pairs after which it will be, from the spread and the margin.
    detectable : float or None
        Smallest relative change that n pairs would have shown (power 80 %).
    cliffs_delta : float
        Share of pairs of values in which the second is larger minus the share in which it is
        smaller, −1 to 1.
    median_ratio : float
        Ratio of the medians; differs from ``ratio`` where there are separated modes.
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


def cliffs_delta(first: FloatArray, second: FloatArray) -> float:
    """P(second > first) − P(second < first), from the ranks in O(n log n)."""
    u = stats.mannwhitneyu(second, first, method="asymptotic").statistic
    return float(2 * u / (len(first) * len(second)) - 1)


def holm(p: Sequence[float]) -> list[float]:
    """P-values adjusted by Holm over the family that they make.

    statsmodels has it too, but collects garbage in every call [40 to 60 ms].
    """
    order = np.argsort(p)
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.asarray(p, dtype=float)[order] * factors)
    return [float(x) for x in np.minimum(adjusted, 1.0)]


def judge(low: float | None, high: float | None, margin: float, *, different: bool) -> Verdict:
    """Put an interval of a ratio into words.

    Parameters
    ----------
    low, high : float or None
        Bounds of the ratio, where there is an interval.
    margin : float
        Relative difference below which two ratios are the same for all practical purposes.
    different : bool
        Whether "the ratio is 1" is rejected, after adjustment over the family.

    Returns
    -------
    Verdict
        ``slower`` and ``faster`` need the rejection, ``same`` needs both bounds inside the
        margin: a claim that several cells are the same holds at the level of each, because
        all of them must be shown to be.
    """
    if low is None or high is None:
        return "not decided"
    same = low > 1 / (1 + margin) and high < 1 + margin
    if different and low > 1:
        return "slower by less than the margin" if same else "slower"
    if different and high < 1:
        return "faster by less than the margin" if same else "faster"
    return "same" if same else "not decided"


def further(n: int, log_half_width: float, margin: float) -> int:
    """Further pairs after which any effect is decided.

    An interval no wider than the margin either excludes 1 or lies inside the margin. Widths
    shrink with the root of n; the observed effect is not looked at.
    """
    needed = n * (2 * log_half_width / math.log1p(margin)) ** 2
    return max(1, math.ceil(needed) - n)


def detectable_change(log_half_width: float, confidence: float) -> float:
    """Smallest relative change shown with power 80 %, from an interval's half-width."""
    z = float(stats.norm.ppf(0.5 + confidence / 2))
    return math.expm1(log_half_width * (1 + _POWER / z))


def compare(
    first: FloatArray,
    second: FloatArray,
    margin: float = 0.02,
    confidence: float = 0.95,
    interval: PairedInterval = signed_rank_interval,
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
    interval : callable
        How the interval of the log-ratios' Hodges–Lehmann median is made.

    Returns
    -------
    Comparison
        As a family of one; see :func:`compare_family`.
    """
    # A clock that counts in ticks sees nothing of what is shorter: of that there is no ratio.
    seen = (first > 0) & (second > 0)
    if seen.any():
        first, second = first[seen], second[seen]
    d = np.log(second) - np.log(first)
    shift = hodges_lehmann(d)
    bounds = interval(d, confidence)
    return _conclude(first, second, shift, bounds, signed_rank_p(d), margin, confidence)


def compare_unpaired(
    first: FloatArray,
    second: FloatArray,
    margin: float = 0.02,
    confidence: float = 0.95,
    dependence: float = 1.0,
) -> Comparison:
    """Compare two series that share no blocks, such as those of two files.

    Whatever changed between the two measurements counts as a difference of the two: only
    interleaved trials tell them apart.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
        Positive trial values.
    margin, confidence : float
        As for :func:`compare`.
    dependence : float
        Trials that are worth one independent trial, the larger of the two series; widens the
        interval.

    Returns
    -------
    Comparison
        Its ``n`` is the smaller of m and n, and ``more_pairs`` further trials of each.
    """
    found = rank_sum_interval(np.log(first), np.log(second), confidence, dependence)
    p = rank_sum_p(first, second, dependence)
    if found is None:
        shift, bounds = float(np.median(np.subtract.outer(np.log(second), np.log(first)))), None
    else:
        shift, bounds = found[0], found[1:]
    return _conclude(first, second, shift, bounds, p, margin, confidence)


def _conclude(
    first: FloatArray,
    second: FloatArray,
    shift: float,
    bounds: tuple[float, float] | None,
    p: float,
    margin: float,
    confidence: float,
) -> Comparison:
    n = min(len(first), len(second))
    low, high = (None, None) if bounds is None else (math.exp(bounds[0]), math.exp(bounds[1]))
    half = None if bounds is None else (bounds[1] - bounds[0]) / 2
    verdict = judge(low, high, margin, different=p < 1 - confidence)
    undecided = verdict == "not decided" and half is not None and math.isfinite(half)
    return Comparison(
        ratio=math.exp(shift),
        low=low,
        high=high,
        confidence=confidence,
        p=p,
        p_adjusted=p,
        n=n,
        verdict=verdict,
        more_pairs=further(n, half, margin) if undecided and half is not None else None,
        detectable=None if half is None else detectable_change(half, confidence),
        cliffs_delta=cliffs_delta(first, second),
        median_ratio=float(np.median(second) / np.median(first)),
    )


def compare_family(
    pairs: Sequence[tuple[FloatArray, FloatArray]],
    margin: float = 0.02,
    confidence: float = 0.95,
) -> list[Comparison]:
    """Compare many pairs of cells that answer one question; Holm holds the error of all.

    Parameters
    ----------
    pairs : sequence of (array, array)
        As for :func:`compare`.

    Returns
    -------
    list of Comparison
        In the same order. At most ``1 − confidence`` of such families have any verdict
        ``slower`` or ``faster`` where nothing differs.
    """
    alone = [compare(a, b, margin, confidence) for a, b in pairs]
    adjusted = holm([c.p for c in alone])
    return [adjust(c, p, margin) for c, p in zip(alone, adjusted, strict=True)]


def adjust(comparison: Comparison, p_adjusted: float, margin: float) -> Comparison:
    """Judge a comparison anew with the p-value that its family leaves it."""
    c = comparison
    verdict = judge(c.low, c.high, margin, different=p_adjusted < 1 - c.confidence)
    more = c.more_pairs
    if verdict == "not decided" and c.low and c.high and math.isfinite(c.high / c.low):
        more = further(c.n, math.log(c.high / c.low) / 2, margin)
    return replace(c, p_adjusted=p_adjusted, verdict=verdict, more_pairs=more)


UNIT = Statistic(
    description=Description(
        name="comparison",
        title="Hodges–Lehmann median of paired log-ratios, verdict with a practical margin",
        question="Is it different, and by how much?",
        parameters=(
            Parameter(
                name="margin",
                meaning="relative difference below which two cells are the same",
                unit="1",
                default=0.02,
                minimum=0.0,
            ),
        ),
        source="Hodges and Lehmann 1963; Holm 1979; Cliff 1993",
    ),
    methods=(compare, compare_unpaired, compare_family, judge, cliffs_delta, holm),
)
