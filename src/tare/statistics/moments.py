"""Mean and standard deviation of one series, with intervals from one set of resamples.

Source: Efron and Tibshirani 1993.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from tare.results.message import message
from tare.statistics import checked, phrases
from tare.statistics.intervals import RESAMPLES, Interval, apart, percentile_bounds, widened
from tare.statistics.statistic import FloatArray
from tare.statistics.tails import mean_refusal

#: Below this many trials the mean's interval is Student's t (bootstraps are too narrow there).
FEW = 20
#: Values drawn at once: bounds the memory of a bootstrap, stays within a processor's cache, and
#: keeps products too small for OpenBLAS to spread over threads [from 524,288 multiplications on],
#: which on a busy machine wait for each other [40 times as long, with both of 2 cores taken].
_BLOCK = 250_000
#: Draws up to which a set of resamples is kept for the next series of the same length, as one
#: byte each; eight sets at most.
_KEPT = 4_000_000
#: Above this many values the bootstrap agrees with its expansion, and would take 0.1 s and more
#: [n = 2,001, five shapes: bounds off by at most 1 % of the width, those of 1,999 resamples by
#: 3 %].
_LIMIT = 2_000
#: Simulated samples, and resamples of each, behind a coverage.
_SAMPLES, _SAMPLE_RESAMPLES = 400, 199
#: Above this many values, so many at even ranks stand for them when coverage is simulated.
_COVERAGE_SIZE = 1000

_Counts = NDArray[np.uint8]


def mean_and_sd(
    values: ArrayLike,
    confidence: float = 0.95,
    seed: int = 1,
    resamples: int = RESAMPLES,
    tick: float | None = None,
) -> tuple[Interval, Interval]:
    """Give the intervals of the mean and of the standard deviation by the percentile bootstrap.

    Both come from the same resamples of whole values. Below 20 values the mean's interval is
    Student's t (bootstraps are too narrow there) and the SD has none; above 2,000 both are those
    of the bootstrap's Cornish–Fisher expansion. From 20 values on, neither has an interval where
    few values carry the variance or the tail is heavy; see
    :func:`tare.statistics.tails.mean_refusal`.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values.
    confidence : float
        Nominal coverage; what is reached for data like these says :func:`coverage_like`. No
        interval of the SD holds under heavy tails [n = 50: normal 91 %, lognormal 81 %,
        Student's t with three degrees of freedom 66 % of the nominal 95 %].
    seed : int
        Of the resamples. Series of the same length see the same ones.
    resamples : int
    tick : float, optional
        What is known of the clock's tick; see :func:`tare.statistics.ticks.tick_of`.

    Returns
    -------
    (Interval, Interval)
        Of the mean, and of the SD (with n − 1 in the denominator).

    Raises
    ------
    InputError
        If there are no values, or one is not finite.

    References
    ----------
    Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13. Hall, The Bootstrap
    and Edgeworth Expansion, 1992, section 3.3, for the expansion.
    """
    checked.parameters(confidence=confidence)
    values = checked.series(values)
    n = len(values)
    if n < FEW or np.ptp(values) == 0:
        mean = widened(_students_t(values, confidence), values, tick)
        return mean, _refused_sd(values, confidence)
    if (refusal := mean_refusal(values)) is not None:
        estimates = float(np.mean(values)), float(np.std(values, ddof=1))
        refused = [
            Interval(estimate, None, None, confidence, "percentile bootstrap", n, refusal)
            for estimate in estimates
        ]
        return refused[0], refused[1]
    if n > _LIMIT:
        mean, sd = _expanded(values, confidence)
        return widened(mean, values, tick), apart(sd, values, tick)
    found = []
    estimates = float(np.mean(values)), float(np.std(values, ddof=1))
    for estimate, replicates in zip(
        estimates, bootstrap_moments(values, resamples, seed), strict=True
    ):
        low, high = percentile_bounds(replicates, estimate, confidence)
        found.append(Interval(estimate, low, high, confidence, "percentile bootstrap", n))
    return widened(found[0], values, tick), apart(found[1], values, tick)


def bootstrap_moments(
    values: FloatArray, resamples: int, seed: int | np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Mean and SD of each resample of a series.

    Parameters
    ----------
    values : array, shape (n,)
        At least two.
    resamples : int
    seed : int or Generator
        An int draws the same resamples for each series of the same length, and keeps them.

    Returns
    -------
    means, sds : array, shape (resamples,)

    Notes
    -----
    What is drawn is how often each value occurs: sums and sums of squares are then two products
    with these counts, and the counts serve every series of that length.
    """
    values = np.asarray(values, dtype=float)
    n = len(values)
    # From the median outwards: sums of squares then neither cancel nor overflow.
    centre = float(np.median(values))
    moved = values - centre
    scale = float(np.max(np.abs(moved))) or 1.0
    moved /= scale
    columns = np.stack([moved, np.square(moved)], axis=1)
    if isinstance(seed, int) and n * resamples <= _KEPT:
        blocks: tuple[_Counts, ...] | Iterator[_Counts] = _kept_counts(n, resamples, seed)
    else:
        blocks = _counts(n, resamples, np.random.default_rng(seed))
    sums = np.concatenate([block.astype(float) @ columns for block in blocks])
    means = sums[:, 0] / n
    variances = np.maximum(sums[:, 1] - n * means**2, 0) / (n - 1)
    return centre + scale * means, scale * np.sqrt(variances)


def coverage_like(
    values: ArrayLike, confidence: float = 0.95, seed: int = 1
) -> tuple[float, float] | None:
    """Simulate how often both intervals would cover, were the truth distributed like these values.

    The values are taken as the population: 400 samples of the same size are drawn from it, and
    each is bootstrapped. The tail beyond the largest value seen is missing from that population:
    where that matters, there is no interval either. Of more than 1,000 values, 1,000 at even ranks
    are taken; more would be covered a little better.

    Parameters
    ----------
    values : array, shape (n,)
    confidence : float
        Nominal coverage.
    seed : int

    Returns
    -------
    (float, float) or None
        Share of the simulated intervals that cover, between 0 and 1 (standard error at most
        0.025, at 0.95 0.011), for the mean and for the SD; None where there is no bootstrap
        (below 20 values, all equal, or refused).
    """
    checked.parameters(confidence=confidence)
    values = checked.series(values)
    n = len(values)
    if n < FEW or np.ptp(values) == 0 or mean_refusal(values) is not None:
        return None
    sample = values
    if n > _COVERAGE_SIZE:
        at = (np.arange(_COVERAGE_SIZE) + 0.5) * (n / _COVERAGE_SIZE)
        sample, n = np.sort(values)[at.astype(int)], _COVERAGE_SIZE
    moved = sample - np.median(sample)
    # Single precision decides whether one number is above another twice as fast.
    population = (moved / np.max(np.abs(moved))).astype(np.float32)
    truth = float(np.mean(population)), float(np.std(population))
    samples = population[np.random.default_rng(seed).integers(0, n, (n, _SAMPLES))]
    counts = np.concatenate(_kept_counts(n, _SAMPLE_RESAMPLES, seed + 1)).astype(np.float32)
    means = _product(counts, samples) / n
    variances = _product(counts, np.square(samples)) / n - means**2
    # The SD of a sample divides by n − 1, that of the population by n.
    sds = np.sqrt(np.maximum(variances, 0) * (n / (n - 1)))
    cut = (_SAMPLE_RESAMPLES + 1) * (1 - confidence) / 2
    shares = [
        _share_around(replicates, true, cut)
        for replicates, true in zip((means, sds), truth, strict=True)
    ]
    return shares[0], shares[1]


def _product(counts: NDArray[np.float32], samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Matrix product in pieces that stay with one thread; see :data:`_BLOCK`."""
    found = np.zeros((len(counts), samples.shape[1]), dtype=np.float32)
    side = int(math.sqrt(2 * _BLOCK / len(counts)))
    for k in range(0, len(samples), side):
        for j in range(0, samples.shape[1], side):
            found[:, j : j + side] += counts[:, k : k + side] @ samples[k : k + side, j : j + side]
    return found


def _share_around(replicates: NDArray[np.float32], true: float, cut: float) -> float:
    """Share of samples (columns) with the truth between the percentiles of their replicates."""
    most = len(replicates) - math.floor(cut)
    # Equal up to rounding is neither above nor below: ties abound where values are whole numbers.
    slack = 1e-5 * abs(true) + 1e-9
    above = np.count_nonzero(replicates > true + slack, axis=0)
    below = np.count_nonzero(replicates < true - slack, axis=0)
    return float(np.mean((above <= most) & (below <= most)))


def _students_t(values: FloatArray, confidence: float) -> Interval:
    n, method = len(values), "Student's t"
    estimate = float(np.mean(values))
    if n < 2:
        refusal = message(phrases.FEW, n=n, needs=2)
        return Interval(estimate, None, None, confidence, method, n, refusal)
    half = float(
        special.stdtrit(n - 1, 0.5 + confidence / 2) * np.std(values, ddof=1) / math.sqrt(n)
    )
    return Interval(estimate, estimate - half, estimate + half, confidence, method, n)


def _refused_sd(values: FloatArray, confidence: float) -> Interval:
    n = len(values)
    estimate = float(np.std(values, ddof=1)) if n > 1 else 0.0
    few = n < FEW
    refusal = message(phrases.FEW, n=n, needs=FEW) if few else message("all values are equal")
    return Interval(estimate, None, None, confidence, "percentile bootstrap", n, refusal)


def _expanded(values: FloatArray, confidence: float) -> tuple[Interval, Interval]:
    """Percentiles of the bootstrap by its expansion up to the term of the skewness.

    The variance of a resample is the mean of squared distances from the mean of the values, less
    the squared distance of the resample's own mean from it, which is correlated with the former.
    """
    n, method = len(values), "expansion of the percentile bootstrap"
    z = np.array([-1.0, 1.0]) * special.ndtri(0.5 + confidence / 2)
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    standard = (values - mean) / sd
    squares = standard**2
    variance = float(np.mean(squares))
    skewness = float(np.mean(standard * squares))
    apart = squares - variance
    spread = math.sqrt(float(np.mean(apart**2)))
    skewness_of_squares = float(np.mean(apart**3)) / spread**3 if spread > 0 else 0.0
    shared = (skewness / spread) ** 2 if spread > 0 else 0.0
    means = mean + sd / math.sqrt(n) * (z + skewness * (z**2 - 1) / (6 * math.sqrt(n)))
    second = (spread * skewness_of_squares / 6 - shared) * (z**2 - 1) / n
    sds = sd * np.sqrt(np.maximum(variance + spread * z / math.sqrt(n) + second, 0))
    intervals = [
        Interval(estimate, min(low, estimate), max(high, estimate), confidence, method, n)
        for estimate, (low, high) in ((mean, means.tolist()), (sd, sds.tolist()))
    ]
    return intervals[0], intervals[1]


@lru_cache(maxsize=8)
def _kept_counts(n: int, resamples: int, seed: int) -> tuple[_Counts, ...]:
    return tuple(_counts(n, resamples, np.random.default_rng(seed)))


def _counts(n: int, resamples: int, rng: np.random.Generator) -> Iterator[_Counts]:
    """Draw how often each value occurs in each resample, in blocks of resamples (rows)."""
    rows = max(1, _BLOCK // n)
    for done in range(0, resamples, rows):
        many = min(rows, resamples - done)
        draws = rng.integers(0, n, (many, n))
        draws += np.arange(0, many * n, n)[:, None]
        counts = np.bincount(draws.ravel(), minlength=many * n).reshape(many, n)
        # No value is drawn 255 times out of n in the life of this universe.
        yield counts.astype(np.uint8)
