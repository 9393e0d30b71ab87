"""Which of two cells is more stable? The ratio of their p10–p90 ranges, on common blocks or not.

Source: Efron and Tibshirani 1993; chosen among four intervals by simulation; Rényi 1953 for order
statistics as sums of gaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import ArrayLike

from tare.results.verdict import INCONCLUSIVE, Verdict, judge
from tare.statistics import checked
from tare.statistics.comparison import detectable_change, further, further_in_family
from tare.statistics.dependence import padded, unpadded_times
from tare.statistics.exact import ranks
from tare.statistics.holm import holm
from tare.statistics.intervals import FEWEST_FOR_RANGE, p10_p90, percentile_bounds, resampled_ranges
from tare.statistics.statistic import FloatArray, exp
from tare.statistics.ticks import Tick, ticks_of

#: P-value below which a family's finer one is worked out; a larger one counts in no family.
FINER = 0.02
#: Independent values that a range takes at least.
_FEWEST_INDEPENDENT = 10
#: Values of common blocks of two cells, each of shape (n,) or (n, workers).
Pair = tuple[FloatArray, FloatArray]
#: Replicates of a log-ratio: as it is, and, where they are needed, as if nothing differed.
Replicates = tuple[FloatArray, Callable[[], FloatArray]]
#: Resamples where the values are few, and where there are many of them.
_RESAMPLES = 4999
_RESAMPLES_OF_MANY = 1999
_MANY = 2000
#: Values that are drawn for a family's finer p-value at most.
_MOST_DRAWN = 20_000_000
#: Resamples of a family of one; a larger family needs a finer p-value.
_RESAMPLES_UNPAIRED = 9999
_MOST_RESAMPLES = 199_999
#: Below this many values the bootstrap's far tail is too light, and values are shuffled as well.
_SHUFFLED_BELOW = 40
_SHUFFLES = 4999
#: Resamples for each comparison of a family: a p-value of 2 in so many for each is below 5 %.
_FOR_ONE = 50


def bootstrap_logs(first: FloatArray, second: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Replicate log(second / first) of the ranges, whole blocks drawn for both at once."""
    n = len(first)
    draws = np.random.default_rng(seed).integers(0, n, (resamples, n))
    return range_logs(resampled_ranges(second, draws)) - range_logs(resampled_ranges(first, draws))


def swapped_logs(first: FloatArray, second: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Replicate log(second / first) of the ranges as if the two were equal but for their medians.

    Blocks change sides by coin flips; empty where the cells differ in their numbers of workers.
    """
    if first.shape != second.shape:
        return np.empty(0)
    rng = np.random.default_rng(seed)
    a, b = (x.reshape(len(x), -1) - np.median(x) for x in (first, second))
    step = max(1, 4_000_000 // a.size)
    logs = []
    for done in range(0, resamples, step):
        many = min(step, resamples - done)
        flip = rng.random((many, len(a), 1)) < 0.5
        x, y = np.where(flip, b, a).reshape(many, -1), np.where(flip, a, b).reshape(many, -1)
        logs.append(range_logs(p10_p90(y)) - range_logs(p10_p90(x)))
    return np.concatenate(logs)


def range_logs(ranges: FloatArray) -> FloatArray:
    """Logarithms of ranges; a resample of one repeated value has none, and counts as tiny."""
    return np.asarray(np.log(np.maximum(ranges, np.finfo(float).tiny)))


@dataclass(frozen=True)
class SpreadComparison:
    """What common blocks say about the ratio of two spreads.

    Attributes
    ----------
    first, second : float
        p10–p90 ranges, in the unit of the values.
    ratio : float or None
        second / first; None where the first is 0.
    low, high : float or None
        Bounds of the ratio; None where n is too small.
    confidence : float
        Nominal coverage of this one interval.
    p, p_adjusted : float
        Two-sided, of the ratio being 1; after Holm over the family.
    n : int
        Common blocks.
    margin : float
        Relative growth of practical importance, which the verdict speaks of.
    verdict : Verdict
        ``higher``: the second is less stable.
    more_pairs : int or None
        Where inconclusive: further blocks after which it will be.
    detectable : float or None
        Smallest relative growth that n blocks would have shown (power 80 %).
    """

    first: float
    second: float
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    p: float
    p_adjusted: float
    n: int
    margin: float
    verdict: Verdict
    more_pairs: int | None
    detectable: float | None


def judged(
    first: float,
    second: float,
    logs: FloatArray,
    p: float,
    n: int,
    margin: float,
    confidence: float,
    slack: float = 0.0,
    dependence: float = 1.0,
) -> SpreadComparison:
    """Judge two ranges by resamples of the logarithm of their ratio, as a family of one.

    Parameters
    ----------
    first, second : float
        The ranges, above 0.
    logs : array, shape (resamples,)
        Log-ratios of the resamples, whose percentiles are the interval.
    p : float
        Of the ratio being 1.
    n : int
        What the resamples are of.
    margin, confidence : float
        As for :func:`tare.statistics.spread.compare_spread`.
    slack : float
        By how much the clock leaves the log-ratio open; see :func:`clock_slack`.
    dependence : float
        Values that are worth one independent value, which widens the interval.
    """
    observed = math.log(second / first)
    log_low, log_high = percentile_bounds(widened(logs, observed, dependence), observed, confidence)
    log_low, log_high = log_low - slack, log_high + slack
    if log_low <= 0 <= log_high and slack:
        p = 1.0
    half, low, high = (log_high - log_low) / 2, exp(log_low), exp(log_high)
    verdict = judge(low, high, margin, different=p < 1 - confidence)
    return SpreadComparison(
        first=first,
        second=second,
        ratio=min(max(second / first, low), high),  # as rounded as its bounds
        low=low,
        high=high,
        confidence=confidence,
        p=p,
        p_adjusted=p,
        n=n,
        margin=margin,
        verdict=verdict,
        more_pairs=further(n, half, margin) if not verdict.conclusive else None,
        detectable=detectable_change(half, confidence),
    )


def widened(logs: FloatArray, observed: float, dependence: float) -> FloatArray:
    """Move resamples from what was observed by as much as so few independent values would be."""
    if dependence == 1:
        return logs
    return np.asarray(observed + math.sqrt(dependence) * (logs - observed))


def range_dependence(first: FloatArray, second: FloatArray, *, paired: bool) -> float:
    """Count the values that are worth one independent value for the ratio of two ranges.

    What a range owes to each value is looked at: those below its lower end and above its upper end
    lengthen it, by as much as values are rare there. They are less alike than the values: of a
    first-order autoregression by the square of its correlation, which tells more of few values.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
        In order of time; where paired, the i-th of both belong together.
    paired : bool

    Returns
    -------
    float
        At least 1.
    """
    some = (first, second)
    owed = [_owed(x) for x in some]
    rows = [(second - first, owed[1] - owed[0])] if paired else list(zip(some, owed, strict=True))
    found = 1.0
    for values, owing in rows:
        level = float(unpadded_times(ranks(values[None]))[0])
        tau = max(float(unpadded_times(owing[None])[0]), (level + 1 / level) / 2)
        # The padding of independent values is not told from chance.
        found = max(found, float(padded(np.array(tau), len(values))) if tau > 1 else 1.0)
    return found


def _owed(values: FloatArray) -> FloatArray:
    """Return what the logarithm of the p10–p90 range owes to each value, but for a constant."""
    below, p10, inside_low, inside_high, p90, above = np.quantile(
        values, [0.05, 0.1, 0.15, 0.85, 0.9, 0.95]
    )
    low, high = (values < p10) * (inside_low - below), (values > p90) * (above - inside_high)
    length = p90 - p10
    # A range of nothing owes nothing to anybody, and has no ratio either.
    return np.asarray((low + high) / length if length > 0 else np.zeros(len(values)))


def clock_slack(first: FloatArray, second: FloatArray, tick: Tick = None) -> float | None:
    """Tell by how much the log-ratio of two ranges is open, each end being known to one tick.

    Parameters
    ----------
    first, second : array
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.

    Returns
    -------
    float or None
        None where a range is no wider than its tick, or a tick is not known.
    """
    some = first.ravel(), second.ravel()
    ticks = ticks_of(*some, tick)
    if ticks is None:
        return None
    open_by = []
    for tick_of_one, values in zip(ticks, some, strict=True):
        length = float(p10_p90(values))
        if not tick_of_one < length:
            return None
        open_by.append(tick_of_one / length)
    a, b = open_by
    return max(math.log1p(a) - math.log1p(-b), math.log1p(b) - math.log1p(-a))


def fewest(dependence: float) -> int:
    """Count the values that a verdict on their range takes."""
    return math.ceil(max(FEWEST_FOR_RANGE, _FEWEST_INDEPENDENT * dependence))


def undecided(
    a: float, b: float, n: int, margin: float, confidence: float, dependence: float = 1.0
) -> SpreadComparison:
    """Two ranges of too few values for a verdict, or of which one is 0."""
    return SpreadComparison(
        first=a,
        second=b,
        ratio=b / a if a > 0 else None,
        low=None,
        high=None,
        confidence=confidence,
        p=1.0,
        p_adjusted=1.0,
        n=n,
        margin=margin,
        verdict=INCONCLUSIVE,
        more_pairs=max(fewest(dependence) - n, 0) or None,
        detectable=None,
    )


def adjust_spreads(
    comparisons: Sequence[SpreadComparison], margin: float
) -> list[SpreadComparison]:
    """Judge comparisons anew as one family, by Holm."""
    adjusted = holm([c.p for c in comparisons])
    return [_adjust(c, p, margin) for c, p in zip(comparisons, adjusted, strict=True)]


def _adjust(c: SpreadComparison, p_adjusted: float, margin: float) -> SpreadComparison:
    verdict = judge(c.low, c.high, margin, different=p_adjusted < 1 - c.confidence)
    more = c.more_pairs
    if not verdict.conclusive and c.low and c.high and math.isfinite(c.high / c.low):
        more = further(c.n, math.log(c.high / c.low) / 2, margin)
        if not c.low <= 1 <= c.high:
            more = further_in_family(c.n, c.p, p_adjusted, c.confidence) or more
    return replace(c, p_adjusted=p_adjusted, margin=margin, verdict=verdict, more_pairs=more)


def two_sided(logs: FloatArray) -> float:
    """P-value of a ratio of 1, by the resamples on its other side."""
    below = (1 + int(np.sum(logs <= 0))) / (1 + len(logs))
    above = (1 + int(np.sum(logs >= 0))) / (1 + len(logs))
    return min(1.0, 2 * min(below, above))


def beyond(null: FloatArray, observed: float) -> float:
    """P-value of a log-ratio beside those where nothing differs; 0 where there are none."""
    if not len(null):
        return 0.0
    return (1 + int(np.sum(np.abs(null) >= abs(observed) - 1e-12))) / (1 + len(null))


def compare_spread(
    first: ArrayLike,
    second: ArrayLike,
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
    *,
    dependence: float = 1.0,
    tick: Tick = None,
    resamples: int = _RESAMPLES,
) -> SpreadComparison:
    """Compare the p10–p90 ranges of two cells.

    The interval is the percentile bootstrap of the log-ratio over whole blocks, both cells
    drawn together, so that what disturbed a block disturbs both. Simulated on equal cells
    (n = 20, 40, 80; normal, lognormal, Student's t, 3 % outliers, two modes) it excluded 1 in
    1.0–4.5 % where 5 % are allowed; the basic and the normal bootstrap in up to 41 and 15 %.

    The p-value is the bootstrap's; where that is below ``1 − confidence``, the larger of it,
    whose far tail is too light below 40 blocks, and of a permutation test that swaps the
    median-centred cells within blocks.

    Parameters
    ----------
    first, second : array, shape (n,) or (n, workers)
        Values of common blocks. With workers the range is that of single workers' values, so
        that cells of different numbers of workers can be compared; blocks are still the
        unit that is drawn.
    margin : float
        Relative growth of practical importance.
    confidence : float
        Of the interval.
    seed : int
        Of the resampling.
    dependence : float
        Blocks that are worth one independent block, where tare did not draw them: see
        :func:`tare.statistics.spread.range_dependence`.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.
    resamples : int
        Where the blocks are few, and the first so many leave it open whether more would count in
        a large family.

    Returns
    -------
    SpreadComparison
        As a family of one; see :func:`compare_spreads`.
    """
    checked.parameters(margin=margin, confidence=confidence)
    first, second = checked.pair(first, second, most_dimensions=2)
    checked.tick(tick)

    def drawn(many: int) -> SpreadComparison:
        replicates = _replicate(first, second, seed, dependence, tick, many)
        return _conclude([(first, second)], [replicates], margin, confidence, dependence, tick)

    found = drawn(_RESAMPLES)
    if found.p >= FINER or resamples <= _RESAMPLES or first.size * resamples > _MOST_DRAWN:
        return found
    return drawn(resamples)


def compare_spreads(
    pairs: Sequence[Pair],
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
    groups: Sequence[str] = (),
) -> tuple[list[SpreadComparison], dict[str, SpreadComparison]]:
    """Compare many pairs of cells that answer one question; Holm holds the error of all.

    Parameters
    ----------
    pairs : sequence of (array, array)
        As for :func:`compare_spread`.
    groups : sequence of str
        What each pair belongs to, such as a platform; none by default.

    Returns
    -------
    single : list of SpreadComparison
        Pair by pair.
    whole : dict of str to SpreadComparison
        By group, the geometric mean of its pairs' ratios: one number for a platform over all
        workloads and loads. It is known far better than each cell's, and says nothing of the
        single cell. At most ``1 − confidence`` of such families, pairs and groups together,
        have any difference where there is none.
    """
    replicates = [_replicate(a, b, seed) for a, b in pairs]
    single = [
        _conclude([p], [r], margin, confidence) for p, r in zip(pairs, replicates, strict=True)
    ]
    members = {g: [i for i, other in enumerate(groups) if other == g] for g in groups}
    if len(members) == len(pairs):  # each pair is its own whole: to count it twice only costs
        judged = adjust_spreads(single, margin)
        return judged, {g: judged[i] for g, (i,) in members.items()}
    wholes = [
        _conclude([pairs[i] for i in some], [replicates[i] for i in some], margin, confidence)
        for some in members.values()
    ]
    judged = adjust_spreads([*single, *wholes], margin)
    return judged[: len(pairs)], dict(zip(members, judged[len(pairs) :], strict=True))


def _replicate(
    first: FloatArray,
    second: FloatArray,
    seed: int,
    dependence: float = 1.0,
    tick: Tick = None,
    resamples: int = _RESAMPLES,
) -> Replicates | None:
    """Replicate a pair's log-ratio; None where it has too few blocks, or no spread."""
    if len(first) < fewest(dependence) or clock_slack(first, second, tick) is None:
        return None
    if max(first.size, second.size) > _MANY:
        resamples = _RESAMPLES_OF_MANY
    # Pairs of as many blocks are drawn alike, so that what a block does to all cells is kept.
    logs = bootstrap_logs(first, second, resamples, seed)
    return logs, cache(partial(swapped_logs, first, second, resamples, seed))


def _range(values: FloatArray) -> float:
    return float(p10_p90(values.ravel()))


def _conclude(
    pairs: Sequence[Pair],
    replicates: Sequence[Replicates | None],
    margin: float,
    confidence: float,
    dependence: float = 1.0,
    tick: Tick = None,
) -> SpreadComparison:
    """Turn the replicates of one pair, or the mean of several pairs', into a comparison."""
    usable = [(p, r) for p, r in zip(pairs, replicates, strict=True) if r is not None]
    if not usable:
        a, b = (_range(x) for x in pairs[0]) if len(pairs) == 1 else (0.0, 0.0)
        n = min((len(a) for a, _ in pairs), default=0)
        return undecided(a, b, n, margin, confidence, dependence)
    least = min(len(logs) for _, (logs, _) in usable)
    logs = np.mean([logs[:least] for _, (logs, _) in usable], axis=0)
    ranges = [[_range(a), _range(b)] for (a, b), _ in usable]
    first, second = (float(m) for m in np.exp(np.mean(np.log(ranges), axis=0)))
    observed = math.log(second / first)
    p = two_sided(widened(logs, observed, dependence))
    # A larger p would change no verdict.
    if p < 1 - confidence:
        nulls = [swapped()[:least] for _, (_, swapped) in usable]
        null = np.mean(nulls, axis=0) if all(len(x) for x in nulls) else np.empty(0)
        p = max(p, beyond(null, observed / math.sqrt(dependence)))
    n = min(len(a) for (a, _), _ in usable)
    slack = float(np.mean([clock_slack(a, b, tick) or 0.0 for (a, b), _ in usable]))
    return judged(first, second, logs, p, n, margin, confidence, slack, dependence)


def resampled_range(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """p10–p90 range of each resample, without drawing one.

    A resample's order statistics are those of as many uniform numbers, looked up among the
    sorted values; four of them make the range, and they are sums of exponential gaps. So a
    resample costs the same for twenty values and for millions.

    Parameters
    ----------
    values : array, shape (n,)
        At least 20.
    resamples, seed : int

    Returns
    -------
    array, shape (resamples,)
    """
    ordered = np.sort(values)
    n = len(ordered)
    low, high = n * 0.1 - 0.5, n * 0.9 - 0.5
    ranks = [int(low) + 1, int(low) + 2, int(high) + 1, int(high) + 2]
    steps = np.diff([0, *ranks, n + 1]).astype(float)
    gaps = np.random.default_rng(seed).standard_gamma(steps, (resamples, 5))
    uniform = np.cumsum(gaps, axis=1)
    at = np.minimum((n * uniform[:, :4] / uniform[:, 4:]).astype(np.int64), n - 1)
    four = ordered[at]
    p10 = four[:, 0] + (low - int(low)) * (four[:, 1] - four[:, 0])
    p90 = four[:, 2] + (high - int(high)) * (four[:, 3] - four[:, 2])
    return np.asarray(p90 - p10)


def compare_spread_unpaired(
    first: ArrayLike,
    second: ArrayLike,
    margin: float = 0.5,
    confidence: float = 0.95,
    seed: int = 1,
    resamples: int = _RESAMPLES_UNPAIRED,
    *,
    dependence: float = 1.0,
    tick: Tick = None,
) -> SpreadComparison:
    """Compare the p10–p90 ranges of two series that share no blocks.

    Parameters
    ----------
    first : array, shape (m,)
    second : array, shape (n,)
        Independent trial values.
    margin : float
        Relative growth of practical importance.
    confidence : float
        Of the percentile bootstrap's interval.
    seed, resamples : int
    dependence : float
        Values that are worth one independent value, see :func:`range_dependence`.
    tick : optional
        What is known of the clock's ticks; see :func:`tare.statistics.ticks.ticks_of`.

    Returns
    -------
    SpreadComparison
        As a family of one; its ``n`` is the smaller of m and n. Inconclusive below 20 values.
    """
    checked.parameters(margin=margin, confidence=confidence)
    first, second = checked.apart(first, second, most_dimensions=2)
    checked.tick(tick)
    n = min(len(first), len(second))
    a, b = (float(p10_p90(x)) if len(x) else 0.0 for x in (first, second))
    slack = None if n < fewest(dependence) else clock_slack(first, second, tick)
    if slack is None:
        return undecided(a, b, n, margin, confidence, dependence)
    observed = math.log(b / a)
    logs, p = np.empty(0), 0.0
    # The finer p-value of a family is worked out only where it may count.
    for many in sorted({min(resamples, _RESAMPLES_UNPAIRED), resamples}):
        if p < FINER:
            logs = _log_ratios(first, second, many, seed)
            p = two_sided(widened(logs, observed, dependence))
    if n < _SHUFFLED_BELOW and p < 1 - confidence:
        p = max(p, _shuffled_p(first, second, observed / math.sqrt(dependence), seed))
    return judged(a, b, logs, p, n, margin, confidence, slack, dependence)


def _log_ratios(first: FloatArray, second: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Log-ratio of the ranges of each resample of both."""
    logs = range_logs(resampled_range(second, resamples, seed + 1))
    return np.asarray(logs - range_logs(resampled_range(first, resamples, seed)))


def resamples_for(family: int) -> int:
    """Resamples with which the smallest p-value still counts after Holm over a family."""
    return min(_MOST_RESAMPLES, max(_RESAMPLES_UNPAIRED, _FOR_ONE * family))


def _shuffled_p(first: FloatArray, second: FloatArray, observed: float, seed: int) -> float:
    """P-value of the log-ratio where median-centred values may belong to either series."""
    pooled = np.concatenate([first - np.median(first), second - np.median(second)])
    rng = np.random.default_rng(seed)
    mixed = rng.permuted(np.tile(pooled, (_SHUFFLES, 1)), axis=1)
    logs = range_logs(p10_p90(mixed[:, len(first) :])) - range_logs(p10_p90(mixed[:, : len(first)]))
    return beyond(logs, observed)
