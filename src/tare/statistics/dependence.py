"""Do trials remember each other? Autocorrelation, dependence time, drift.

Source: Geyer 1992; Theil 1950; Sen 1968.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tare.statistics.statistic import FloatArray

#: Longest series whose pairs are all looked at; they are n²/2.
_MOST = 1000


@dataclass(frozen=True)
class Drift:
    """A steady change from the first trial to the last.

    Attributes
    ----------
    change : float
        Of the fitted line over the whole series, relative to the median.
    low, high : float
        95 % interval of the change.
    p : float
        Of Kendall's rank correlation between value and order.
    """

    change: float
    low: float
    high: float
    p: float


def autocorrelation(values: FloatArray) -> FloatArray:
    """Autocorrelation at lags 0 … n − 1 (biased estimator); zeros if all values are equal.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    """
    n = len(values)
    x = np.asarray(values, dtype=float) - np.mean(values)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(x, size)) ** 2
    covariance = np.fft.irfft(spectrum, size)[:n]
    if covariance[0] <= 1e-12 * max(1.0, float(np.mean(np.square(values)))):
        return np.zeros(n)
    return np.asarray(covariance / covariance[0])


def lag1(values: FloatArray) -> float:
    """Autocorrelation of neighbours; 0 below 3 values."""
    return float(autocorrelation(values)[1]) if len(values) >= 3 else 0.0


def dependence_time(values: FloatArray) -> float:
    """Count the trials that are worth one independent trial (integrated autocorrelation time).

    Geyer's initial positive sequence: pairs of neighbouring autocorrelations are summed while
    their sum is positive. At least 1, so that alternation never narrows an interval.

    References
    ----------
    Geyer, Practical Markov chain Monte Carlo, Statistical Science 7(4), 1992.
    """
    rho = autocorrelation(values)
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    stop = int(ends[0]) if len(ends) else len(pairs)
    return max(1.0, float(2 * pairs[:stop].sum() - 1))


def median_dependence_time(values: FloatArray) -> float:
    """Dependence time for intervals of the median, padded for what a short series hides.

    The indicator of "at most the median" is looked at, since that is what ranks count. Where its
    neighbours correlate no more than by chance (1/√n), the time is 1; either way it is then
    multiplied by 1 + 8 time/n.
    """
    n = len(values)
    indicator = (values <= np.median(values)).astype(float)
    tau = dependence_time(indicator) if lag1(indicator) > 1 / np.sqrt(n) else 1.0
    return tau * (1 + 8 * tau / n)


def drift(values: FloatArray) -> Drift | None:
    """Steady change over a series, by the Theil–Sen line; None below 10 values.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; above 1000 values, means of blocks are looked at.
    """
    block = -(-len(values) // _MOST)
    if block > 1:
        values = values[: len(values) // block * block].reshape(-1, block).mean(axis=1)
    n = len(values)
    if n < 10:
        return None
    # Imported only where it is needed, since it takes time.
    from scipy import stats

    order = np.arange(n)
    slope, _, low, high = stats.theilslopes(values, order, 0.95)
    scale = (n - 1) / float(np.median(values))
    p = float(stats.kendalltau(order, values).pvalue) if np.ptp(values) > 0 else 1.0
    return Drift(float(slope * scale), float(low * scale), float(high * scale), p)
