"""CONFIRM, exactly: how many runs would have been enough, by all subsets of the runs at hand.

Source: Maricq et al., OSDI 2018; CLOUDNET; Figure 19 there; Smirnov 1939; David and Nagaraja 2003,
section 2.5: order statistics are a Markov chain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tare.errors import ValuesError
from tare.statistics import checked
from tare.statistics.exact import binomial_quantiles
from tare.statistics.intervals import quantile_interval, quantile_ranks, trials_needed
from tare.statistics.statistic import FloatArray, quantiles_of

IntArray = NDArray[np.int64]

#: Up to so many values the curve has every size of subset [1,000: 4 ms, 10,000: 50 ms], above it
#: sizes 5 % apart.
EVERY_SIZE = 1_000
_STEP = 1.05
#: Ranks, or blocks of ranks, that carry an expectation where not every size is gone through. The
#: blocks are then a sixtieth of the rank's standard deviation wide [error below 3e-6 of the SD of
#: the values at the median, below 5e-4 for the very last ranks of skewed ones].
_BLOCKS = 1024
#: The same where only the least size is sought [of 216 numbers of runs, 213 are the same as by
#: every size; the others, by up to 2 %, are of values of which many are equal].
_SEARCH_BLOCKS = 256
#: −log of what the weights outside of them may sum up to.
_OUTSIDE = 35.0
#: The sizes that the least one is looked for among: first so far apart, then so many at once.
_FIRST_STEP, _AT_ONCE = 1.5, 12
#: Intervals of neighbouring sizes differ by up to so many of their ranks, as ranks are whole.
_RANKS_APART = 2.0
#: Share of samples that are to reach the precision.
ASSURANCE = 0.9
#: Fewer values than these within the precision of the quantile say too little of its density.
_FEWEST_NEAR = 20
#: More runs than this multiple of those at hand are not spoken of.
_FURTHEST = 10
#: Positions of the quantile that are averaged over, and sizes looked at in one round.
_NODES, _SIZES = 32, 24
#: False alarms allowed on exchangeable runs, shared by the two tests.
_ALARMS = 0.05
#: Prefixes that a picture needs.
_PREFIXES = 64


@lru_cache(maxsize=16)
def sizes_and_ranks(n: int, q: float, confidence: float) -> tuple[IntArray, IntArray, IntArray]:
    """Sizes of subset to look at, with the ranks of the quantile's interval for each.

    Returns
    -------
    sizes, low, high : int array, shape (k,)
        Ascending, from the first that has an interval to n; empty where n has none.
    """
    least = trials_needed(q, confidence)
    sizes = np.arange(least, n + 1)
    if n > EVERY_SIZE:
        steps = 1 + math.ceil(math.log(n / least) / math.log(_STEP))
        sizes = np.unique(np.geomspace(least, n, steps).round().astype(int))
    low, high = interval_ranks(sizes, q, confidence)
    return sizes, low, high


def interval_ranks(sizes: IntArray, q: float, confidence: float) -> tuple[IntArray, IntArray]:
    """Ranks as :func:`tare.statistics.intervals.quantile_ranks` has them, for many sizes."""
    tail = (1 - confidence) / 2
    low, high = (binomial_quantiles(p, sizes, q) for p in (tail, 1 - tail))
    return low, high + 1


def expected_by_steps(ordered: FloatArray, sizes: IntArray, ranks: IntArray) -> FloatArray:
    """Find expected order statistics for every size of subset, by taking one value away at a time.

    Parameters
    ----------
    ordered : array, shape (n,)
        Ascending.
    sizes : int array, shape (k,)
        Every size from the least one to n.
    ranks : int array, shape (k, m)
        From 1 to the size.

    Returns
    -------
    array, shape (k, m)

    Notes
    -----
    Taking one value at random out of a subset of s leaves its r-th smallest in place with
    probability (s − r)/s; otherwise the next one takes its place. So the expectations for s − 1
    are weighted means of neighbouring ones for s, and those for n are the values: nothing
    cancels, nothing overflows, and no weight is ever computed.
    """
    n = len(ordered)
    expected = ordered.copy()
    ramp = np.arange(1.0, n + 1)
    step = np.empty(n)
    found = np.empty(ranks.shape)
    indices = ranks - 1
    least = int(sizes[0])
    for s in range(n, least - 1, -1):
        found[s - least] = expected[indices[s - least]]
        stay, step = expected[:-1], step[: s - 1]
        np.subtract(expected[1:], stay, step)
        np.multiply(step, ramp[: s - 1], step)
        np.multiply(step, 1 / s, step)
        expected = np.add(stay, step, stay)
    return found


def expected_by_weights(
    ordered: FloatArray, sizes: IntArray, ranks: IntArray, blocks: int = _BLOCKS
) -> FloatArray:
    """Find expected order statistics for any sizes of subset, by the weights of all values.

    As :func:`expected_by_steps`, for any sizes. The r-th smallest of s is the i-th of all n with
    probability C(i−1, r−1) C(n−i, s−r) / C(n, s). Where that spreads over more ranks than
    ``blocks``, means of blocks of values stand for them.
    """
    n = len(ordered)
    middle = float(ordered[n // 2])
    moved = ordered - middle
    sums, moments = (
        np.concatenate([[0.0], np.cumsum(x)]) for x in (moved, moved * np.arange(1, n + 1))
    )
    rows = [_by_weights(sums, moments, sizes, rank, blocks) for rank in ranks.T]
    return np.stack(rows, axis=1) + middle


def _by_weights(
    sums: FloatArray, moments: FloatArray, sizes: IntArray, ranks: IntArray, blocks: int
) -> FloatArray:
    n, r, s = len(sums) - 1, ranks[:, None], sizes[:, None]
    # Drawing without replacement spreads less than with it, which the beta distribution describes;
    # its tails are bounded by Bernstein's inequality (Skorski 2023).
    middle = r / (s + 1)
    reach = np.sqrt(2 * _OUTSIDE * middle * (1 - middle) / (s + 2))
    skew = 2 * (s + 1 - 2 * r) / ((s + 1) * (s + 3)) * _OUTSIDE
    first = np.floor(n * (middle - reach - np.maximum(-skew, 0))).astype(int) - 1
    last = np.ceil(n * (middle + reach + np.maximum(skew, 0))).astype(int) + 1
    first, last = np.maximum(first, r - 1), np.minimum(last, n - s + r)
    width = -((first - last) // blocks)
    edges = np.minimum(first + width * np.arange(blocks + 1), last)
    many = np.diff(edges)
    doubled = edges[:, :-1] + edges[:, 1:] + 1
    centre = doubled / 2
    log_gamma = _log_gammas(n)
    log_weight = (
        log_gamma[doubled]
        - log_gamma[doubled - 2 * r + 2]
        + log_gamma[2 * n - doubled + 2]
        - log_gamma[np.maximum(2 * n - doubled - 2 * s + 2 * r + 2, 1)]
    )
    log_weight[many == 0] = -np.inf
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    inside = np.diff(sums[edges])
    # Within a block the weight changes by the ratio of neighbours, as the values do.
    i = np.minimum(centre, last) - 0.5
    ratio = i * (n - i - s + r) / ((i - r + 1) * (n - i))
    tilted = np.log(ratio) * (np.diff(moments[edges]) - centre * inside)
    return np.asarray(np.sum(weight * (inside + tilted), axis=1) / np.sum(weight * many, axis=1))


@lru_cache(maxsize=4)
def _log_gammas(n: int) -> FloatArray:
    """Logarithms of the gamma function at ½, 1, 1½, … n + 1; at index 0 none."""
    return np.concatenate([[np.nan], special.gammaln(np.arange(1, 2 * n + 3) / 2)])


def assured_runs(
    ordered: FloatArray, precision: float = 0.01, confidence: float = 0.95, q: float = 0.5
) -> int | None:
    """Give the number of runs with which nine of ten samples have an interval within the precision.

    A sample does if both bounds of its own interval are within the precision of its own
    quantile. The population is the values at hand, joined by straight lines, so that sizes
    beyond n can be spoken of.

    Parameters
    ----------
    ordered : array, shape (n,)
        Ascending.
    precision, confidence, q : float
        As for :func:`tare.statistics.confirm.repetitions`.

    Returns
    -------
    int or None
        None where too few values lie near the quantile to say (below 20), or more than ten
        times the runs at hand would be needed.
    """
    n = len(ordered)
    middle = float(np.quantile(ordered, q))
    near = precision * abs(middle)
    count = np.searchsorted(ordered, middle + near, side="right") - np.searchsorted(
        ordered, middle - near
    )
    least = trials_needed(q, confidence)
    if count < _FEWEST_NEAR or n < least:
        return None
    sizes = np.unique(np.geomspace(least, _FURTHEST * n, _SIZES).round().astype(int))
    while True:
        share = share_within(ordered, sizes, precision, confidence, q)
        last = np.flatnonzero(share < ASSURANCE)
        if not len(last):
            return int(sizes[0])
        if last[-1] == len(sizes) - 1:
            return None
        low, high = int(sizes[last[-1]]), int(sizes[last[-1] + 1])
        if high - low == 1:
            return high
        sizes = np.unique(np.linspace(low, high, _SIZES).round().astype(int))


def share_within(
    ordered: FloatArray, sizes: IntArray, precision: float, confidence: float, q: float
) -> FloatArray:
    """Share of samples whose interval is within the precision of their quantile.

    Where the sample's quantile is at the level v of the population, the values above it are
    independent of those below, and each side is counted by a binomial. v itself is
    beta-distributed, and averaged over 32 of its quantiles.

    Parameters
    ----------
    ordered : array, shape (n,)
        Ascending.
    sizes : int array, shape (k,)

    Returns
    -------
    array, shape (k,)
    """
    n = len(ordered)
    low, high = (x[:, None] for x in interval_ranks(sizes, q, confidence))
    s = sizes[:, None]
    k = np.clip(np.rint((s - 1) * q).astype(int) + 1, low, high)
    level = special.betaincinv(k, s - k + 1, (np.arange(_NODES) + 0.5) / _NODES)
    at = np.interp(level, (np.arange(n) + 0.5) / n, ordered)
    near = precision * np.abs(at)
    # Of equal values the last one counts from below, and the first one from above.
    up = _level(at + near, ordered)
    down = 1 - _level(near - at, -ordered[::-1])
    above = np.clip((up - level) / (1 - level), 0, 1)
    below = np.clip((level - down) / level, 0, 1)
    enough_above = np.where(high > k, special.betainc(high - k, s - high + 1, above), 1.0)
    enough_below = np.where(k > low, special.betainc(k - low, low, below), 1.0)
    return np.asarray(np.mean(enough_above * enough_below, axis=1))


def _level(values: FloatArray, ordered: FloatArray) -> FloatArray:
    """Share of the population up to each value."""
    n = len(ordered)
    inner = np.interp(values, ordered, (np.arange(n) + 0.5) / n)
    return np.where(values < ordered[-1], inner, 1.0)


@dataclass(frozen=True)
class Curve:
    """What intervals become as runs are added.

    Attributes
    ----------
    s : int array, shape (k,)
        Numbers of runs, ascending.
    low, high : array, shape (k,)
        Bounds of the quantile's interval with s runs; NaN where there is no interval.
    median : array, shape (k,)
        The quantile itself with s runs.
    """

    s: IntArray
    low: FloatArray
    high: FloatArray
    median: FloatArray

    @classmethod
    def empty(cls) -> Curve:
        """Return the curve of too few values."""
        nothing = np.empty(0)
        return cls(np.empty(0, dtype=np.int64), nothing, nothing, nothing)


def prefixes(
    values: ArrayLike, confidence: float = 0.95, q: float = 0.5, points: int = _PREFIXES
) -> Curve:
    """Give the interval of the first s runs as they came, for growing s.

    Beside the expected interval of s runs drawn at random, this shows what CLOUDNET's Figure 19
    does: runs that use something up have intervals that widen, and early ones that are wrong.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    confidence, q : float
        Of the order-statistic interval, and the quantile.
    points : int
        At most so many sizes, evenly spaced in the logarithm.

    Returns
    -------
    Curve
        Empty where n is too small for an interval.
    """
    checked.parameters(confidence=confidence, q=q)
    values = checked.series(values)
    n, least = len(values), trials_needed(q, confidence)
    if n < least:
        return Curve.empty()
    sizes = np.unique(np.geomspace(least, n, points).round().astype(int))
    found = [quantile_interval(values[:s], q, confidence) for s in sizes]
    low, high, middle = (
        np.array([getattr(x, name) for x in found], dtype=float)
        for name in ("low", "high", "estimate")
    )
    return Curve(sizes, low, high, middle)


def converges(
    values: ArrayLike,
    precision: float = 0.01,
    confidence: float = 0.95,
    q: float = 0.5,
    ordered: FloatArray | None = None,
) -> bool:
    """Tell whether intervals shrink about one quantile as runs are added in order of time.

    The first k runs are a random subset of all n if order means nothing. Then the share of them
    that lies below the quantile of all, and the share that lies near it, stay close to the shares
    in all n, by known odds: were the first k below it more often than the interval of k runs
    allows for, their interval would be wrong; were they nearer to it, the interval would widen
    later. Both are Kolmogorov–Smirnov tests of the times at which these values came. A deviation
    counts only where it matters: the quantile still moved by more than the precision after the
    first quarter of the runs, or the interval has not become narrower since then.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    precision : float
        Movement of the quantile, relative to it, that does not matter.
    confidence, q : float
        Of the order-statistic interval, and the quantile.
    ordered : array, shape (n,), optional
        The values in ascending order, where they are known.

    Returns
    -------
    bool
        False in at most 5 % of exchangeable series. True also where n is too small to tell.

    References
    ----------
    CLOUDNET, Figure 19; Hodges, The significance probability of the Smirnov two-sample test,
    1958.
    """
    checked.parameters(precision=precision, confidence=confidence, q=q)
    values = checked.series(values)
    if ordered is None:
        ordered = np.sort(values)
    if len(values) < trials_needed(q, confidence) or ordered[0] == ordered[-1]:
        return True
    lower, middle, upper = quantiles_of(ordered, q / 2, q, (1 + q) / 2, ordered=True)
    below = values <= middle
    if below.all():
        below = values < middle
    near = (values >= lower) & (values <= upper)
    if min(_timing_p(below), _timing_p(near)) > _ALARMS / 2:
        return True
    return not _unsettled(values, precision, confidence, q)


def _timing_p(marked: np.ndarray) -> float:
    """P of the marked values having come at random times (limiting distribution: conservative)."""
    n, places = len(marked), np.flatnonzero(marked)
    c = len(places)
    if c in (0, n):
        return 1.0
    # The counts are farthest from what is expected at a marked value, or right before one.
    before = np.arange(c) - c / n * places
    farthest = max(np.max(before) + 1 - c / n, -np.min(before))
    return float(special.kolmogorov(farthest / math.sqrt(c * (n - c) / n)))


def _unsettled(values: FloatArray, precision: float, confidence: float, q: float) -> bool:
    n = len(values)
    *late, middle = (
        quantiles_of(values[: math.ceil(share * n)], q)[0] for share in (0.25, 0.375, 0.5, 0.75, 1)
    )
    if max(abs(x - middle) for x in late) > precision * abs(middle):
        return True
    early = values[: n // 4]
    if quantile_ranks(len(early), q, confidence) is None:
        return False
    return _width(early, confidence, q) <= _width(values, confidence, q)


def _width(values: FloatArray, confidence: float, q: float) -> float:
    interval = quantile_interval(values, q, confidence)
    return (interval.high or 0.0) - (interval.low or 0.0)


@dataclass(frozen=True, eq=False)
class Repetitions:
    """How many runs a precision takes.

    Attributes
    ----------
    precision : float
        Asked for: both bounds of the interval within this of the quantile, relative to it.
    confidence : float
        Of the interval.
    q : float
        The quantile.
    n : int or None
        Runs from which on the expected interval is within the precision. It is an expectation:
        less than half of all samples of that size are within it [medians: 37 to 52 %]. None
        where the runs at hand are too few to say.
    n_assured : int or None
        Runs with which 90 % of samples are within the precision; None where that cannot be said.
    converges : bool
        False where intervals do not shrink as they should when runs are added in order of time:
        the runs are then not independent, and neither figure holds.
    ordered : array, shape (m,)
        The runs at hand, ascending.
    """

    precision: float
    confidence: float
    q: float
    n: int | None
    n_assured: int | None
    converges: bool
    ordered: FloatArray

    @cached_property
    def curve(self) -> Curve:
        """The expected interval of s of these runs, chosen at random."""
        return (
            _expected(self.ordered, self.confidence, self.q) if len(self.ordered) else Curve.empty()
        )


def repetitions(
    values: ArrayLike,
    precision: float = 0.01,
    confidence: float = 0.95,
    q: float = 0.5,
    settled: bool | None = None,
    ordered: FloatArray | None = None,
) -> Repetitions:
    """Say how many of these runs would have been enough, had any subset of them been taken.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    precision : float
        Relative distance of both bounds from the quantile.
    confidence : float
        Of the order-statistic interval.
    q : float
        The quantile; the median by default.
    settled : bool, optional
        Result of :func:`converges`, where it is known.
    ordered : array, shape (n,), optional
        The values in ascending order, where they are known.

    Returns
    -------
    Repetitions

    References
    ----------
    Maricq et al., Taming Performance Variability, OSDI 2018.
    """
    checked.parameters(precision=precision, confidence=confidence, q=q)
    values = checked.series(values)
    values = np.asarray(values, dtype=float)
    if ordered is None:
        ordered = np.sort(values)
    n = _stable(ordered, precision, confidence, q)
    assured = assured_runs(ordered, precision, confidence, q)
    if assured is not None:
        # What not even one sample of all the runs reached is not assured by fewer.
        assured = max(assured, len(values) + 1 if n is None else n)
    if settled is None:
        settled = converges(values, precision, confidence, q, ordered)
    return Repetitions(precision, confidence, q, n, assured, settled, ordered)


def expected_curve(values: ArrayLike, confidence: float = 0.95, q: float = 0.5) -> Curve:
    """Average interval and quantile over all subsets of one size, for the sizes up to n.

    Parameters
    ----------
    values : array, shape (n,)
    confidence, q : float
        As for :func:`repetitions`.

    Returns
    -------
    Curve
        For every size up to n = 1,000, above it for sizes 5 % apart; empty where n is too small
        for an interval.
    """
    checked.parameters(confidence=confidence, q=q)
    values = checked.series(values)
    return _expected(np.sort(np.asarray(values, dtype=float)), confidence, q)


def _expected(ordered: FloatArray, confidence: float, q: float) -> Curve:
    n = _require_finite(ordered)
    return _at(ordered, q, *sizes_and_ranks(n, q, confidence))


def _require_finite(ordered: FloatArray) -> int:
    n = len(ordered)
    if not (n and np.isfinite(ordered[[0, -1]]).all()):
        raise ValuesError(
            "there are no values" if not n else "a value is not finite",
            "leave out what was not measured",
        )
    return n


def _at(
    ordered: FloatArray,
    q: float,
    sizes: IntArray,
    low: IntArray,
    high: IntArray,
    blocks: int = _BLOCKS,
) -> Curve:
    """Return the expected interval and quantile for sizes whose ranks are known."""
    if not len(sizes):
        return Curve.empty()
    place = (sizes - 1) * q
    below = np.minimum(place.astype(int), sizes - 2)
    ranks = np.stack([low, high, below + 1, below + 2], axis=1)
    if len(ordered) <= EVERY_SIZE:
        found = expected_by_steps(ordered, sizes, ranks)
    else:
        found = expected_by_weights(ordered, sizes, ranks, blocks)
    middle = found[:, 2] + (place - below) * (found[:, 3] - found[:, 2])
    return Curve(sizes, found[:, 0], found[:, 1], middle)


def _stable(ordered: FloatArray, precision: float, confidence: float, q: float) -> int | None:
    """First size from which on both bounds stay within the precision of the quantile.

    Above :data:`EVERY_SIZE` values, sizes are looked at only where the answer may lie. As ranks
    are whole, the width of an interval does not fall steadily with the size: only where it is
    smaller than the precision by more than a rank's worth, no larger size fails.
    """
    n, least = _require_finite(ordered), trials_needed(q, confidence)
    if n < least:
        return None
    if n <= EVERY_SIZE:
        curve = _expected(ordered, confidence, q)
        fails = _farthest(curve) > precision * np.abs(curve.median)
        if fails[-1]:
            return None
        return int(curve.s[np.flatnonzero(np.concatenate([[True], fails]))[-1]])
    steps = 2 + math.ceil(math.log(n / least) / math.log(_FIRST_STEP))
    sizes = np.unique(np.geomspace(least, n, steps).round().astype(int))
    seen, fails, safe = np.empty(0, dtype=int), np.empty(0, dtype=bool), np.empty(0, dtype=bool)
    while True:
        ranks = interval_ranks(sizes, q, confidence)
        found = _at(ordered, q, sizes, *ranks, _SEARCH_BLOCKS)
        room, width = precision * np.abs(found.median), _farthest(found)
        far = 1 + _RANKS_APART / np.sqrt(sizes)
        seen, fails, safe = (
            np.concatenate(both)
            for both in ((seen, sizes), (fails, width > room), (safe, width * far <= room))
        )
        order = np.argsort(seen)
        seen, fails, safe = seen[order], fails[order], safe[order]
        if fails[-1]:
            return None
        last = int(np.flatnonzero(fails)[-1]) if fails.any() else -1
        unsafe = int(np.flatnonzero(~safe)[-1]) if not safe.all() else -1
        begin, end = seen[max(last, 0)], seen[min(max(last, unsafe) + 1, len(seen) - 1)]
        between = np.setdiff1d(np.arange(begin, end), seen)
        if not len(between):
            return int(seen[last + 1])
        step = -(-len(between) // _AT_ONCE)
        sizes = between[step // 2 :: step] if len(between) > 3 * _AT_ONCE else between


def _farthest(curve: Curve) -> FloatArray:
    """Larger distance of the two bounds from the quantile, for each size."""
    return np.maximum(curve.median - curve.low, curve.high - curve.median)
