"""Mean and standard deviation of one series, with intervals from one set of resamples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import stats

from tare.registry import Description
from tare.statistics.intervals import FEW, RESAMPLES, Interval
from tare.statistics.statistic import FloatArray, Statistic

#: Counts held at once; bounds the memory of a bootstrap (8 bytes each).
_CHUNK = 2_000_000
#: Simulated samples, and resamples of each, behind a coverage.
_SAMPLES, _SAMPLE_RESAMPLES = 400, 199
#: Above this many values, so many at even ranks stand for them when coverage is simulated.
_COVERAGE_SIZE = 1000


def mean_and_sd(
    values: FloatArray, confidence: float = 0.95, seed: int = 1, resamples: int = RESAMPLES
) -> tuple[Interval, Interval]:
    """Intervals of the mean and of the standard deviation by the percentile bootstrap.

    Both come from the same resamples of whole values. Below 20 values the mean's interval is
    Student's t (bootstraps are too narrow there) and the SD has none.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values.
    confidence : float
        Nominal coverage; what is reached for data like these says :func:`coverage_like`.
    seed : int
        Of the resamples. Series of the same length see the same ones.
    resamples : int

    Returns
    -------
    (Interval, Interval)
        Of the mean, and of the SD (with n − 1 in the denominator).
    """
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < FEW or np.ptp(values) == 0:
        return _students_t(values, confidence), _refused_sd(values, confidence)
    means, sds = _replicates(values, resamples, seed)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    method = "percentile bootstrap"
    estimates = float(np.mean(values)), float(np.std(values, ddof=1))
    mean, sd = (
        Interval(estimate, float(low), float(high), confidence, method, n)
        for estimate, (low, high) in zip(
            estimates, (np.quantile(x, tails) for x in (means, sds)), strict=True
        )
    )
    return mean, sd


def coverage_like(
    values: FloatArray, confidence: float = 0.95, seed: int = 1
) -> tuple[float, float] | None:
    """How often the intervals of mean and SD would cover, were the truth distributed like these.

    A simulation: the values are taken as the population, 400 samples of the same size are drawn
    from it and each is bootstrapped 199 times. The tail beyond the largest value seen is missing
    from that population, so that the figures are upper bounds under heavy tails.

    Returns
    -------
    (float, float) or None
        Share of the simulated intervals that cover, between 0 and 1, for the mean and for the
        SD; None where the values have no bootstrap (below 20, or all equal).
    """
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < FEW or np.ptp(values) == 0:
        return None
    if n > _COVERAGE_SIZE:
        at = (np.arange(_COVERAGE_SIZE) + 0.5) * (n / _COVERAGE_SIZE)
        values = np.sort(values)[at.astype(int)]
        n = _COVERAGE_SIZE
    population = _centred(values)[0]
    truth = np.mean(population), np.std(population, ddof=1)
    drawn = np.random.default_rng(seed).integers(0, n, (n, _SAMPLES))
    samples = population[drawn]
    counts = _counts(n, _SAMPLE_RESAMPLES, seed + 1)
    cut = int((_SAMPLE_RESAMPLES + 1) * (1 - confidence) / 2)
    shares = []
    for replicates, true in zip(_moments(counts, samples), truth, strict=True):
        below = np.count_nonzero(replicates < true, axis=0)
        shares.append(float(np.mean((below >= cut) & (below <= _SAMPLE_RESAMPLES - cut))))
    return shares[0], shares[1]


def _students_t(values: FloatArray, confidence: float) -> Interval:
    n, method = len(values), "Student's t"
    estimate = float(np.mean(values))
    if n < 2:
        refusal = f"n = {n} is too small, needs ≥ 2"
        return Interval(estimate, None, None, confidence, method, n, refusal)
    half = float(stats.t.ppf(0.5 + confidence / 2, n - 1) * stats.sem(values))
    return Interval(estimate, estimate - half, estimate + half, confidence, method, n)


def _refused_sd(values: FloatArray, confidence: float) -> Interval:
    n = len(values)
    estimate = float(np.std(values, ddof=1)) if n > 1 else 0.0
    refusal = f"n = {n} is too small, needs ≥ {FEW}" if n < FEW else "all values are equal"
    return Interval(estimate, None, None, confidence, "percentile bootstrap", n, refusal)


def _replicates(values: FloatArray, resamples: int, seed: int) -> tuple[FloatArray, FloatArray]:
    centred, centre, scale = _centred(values)
    counts = _counts(len(values), resamples, seed)
    means, sds = _moments(counts, centred[:, None])
    return centre + scale * means[:, 0], scale * sds[:, 0]


def _centred(values: FloatArray) -> tuple[FloatArray, float, float]:
    """Move and scale, so that sums of squares neither cancel nor overflow."""
    centre = float(np.median(values))
    moved = values - centre
    scale = float(np.max(np.abs(moved)))
    return moved / scale, centre, scale


def _moments(counts: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and SD of each resample (row of ``counts``) of each column."""
    n = len(columns)
    means = counts @ columns / n
    squares = counts @ np.square(columns)
    return means, np.sqrt(np.maximum(squares - n * means**2, 0) / (n - 1))


@lru_cache(maxsize=4)
def _counts(n: int, resamples: int, seed: int) -> FloatArray:
    """How often each value is drawn; shape (resamples, n)."""
    draws = np.random.default_rng(seed).integers(0, n, (resamples, n))
    draws += np.arange(resamples)[:, None] * n
    return np.bincount(draws.ravel(), minlength=resamples * n).reshape(resamples, n).astype(float)


UNIT = Statistic(
    description=Description(
        name="moments",
        title="Mean and standard deviation: percentile bootstrap, Student's t for few trials",
        question="How far can a mean and a standard deviation be trusted?",
        source="Efron and Tibshirani 1993",
    ),
    methods=(mean_and_sd, coverage_like),
)
