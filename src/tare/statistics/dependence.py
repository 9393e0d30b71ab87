"""Do trials remember each other? Autocorrelation and dependence time, of one series or of many.

Source: Geyer 1992.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from tare.statistics import checked
from tare.statistics.statistic import FloatArray


def autocorrelations(rows: FloatArray, most: int | None = None) -> FloatArray:
    """Autocorrelation of each row at lags 0, 1, 2, … (biased estimator); zeros if all are equal.

    Parameters
    ----------
    rows : array, shape (m, n)
        Series in order of time.
    most : int, optional
        The last lag, below n; n − 1 unless given.
    """
    n = rows.shape[1]
    lags = n if most is None else most + 1
    x = rows - rows.mean(axis=1, keepdims=True)
    # Padded with zeros, so that the end is not multiplied with the beginning.
    size = _quick_size(n + lags - 1)
    spectrum = np.fft.rfft(x, size, axis=1)
    covariance = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size, axis=1)[:, :lags]
    variance = covariance[:, :1].copy()
    least = 1e-12 * np.maximum(1.0, (rows**2).mean(axis=1, keepdims=True))
    known = variance > least
    return np.asarray(np.divide(covariance, variance, out=np.zeros_like(covariance), where=known))


@lru_cache(maxsize=64)
def _quick_size(least: int) -> int:
    """Return the next product of powers of 2, 3 and 5, at which Fourier transforms are quick."""
    size = least
    while True:
        rest = size
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return size
        size += 1


def autocorrelation(values: ArrayLike, most: int | None = None) -> FloatArray:
    """Autocorrelation of one series; see :func:`autocorrelations`."""
    values = checked.series(values)
    return np.asarray(autocorrelations(np.asarray(values, dtype=float)[None], most)[0])


def lag1(values: ArrayLike) -> float:
    """Autocorrelation of neighbours; 0 below 3 values."""
    values = checked.series(values)
    return float(autocorrelation(values)[1]) if len(values) >= 3 else 0.0


def first_correlations(rows: FloatArray) -> FloatArray:
    """Autocorrelation of neighbours in each row; 0 where all values are equal."""
    x = rows - rows.mean(axis=1, keepdims=True)
    variance = (x**2).sum(axis=1)
    products = (x[:, 1:] * x[:, :-1]).sum(axis=1)
    return np.asarray(np.divide(products, variance, out=np.zeros(len(rows)), where=variance > 0))


def dependence_time(values: ArrayLike, correlations: FloatArray | None = None) -> float:
    """Count the trials that are worth one independent trial (integrated autocorrelation time).

    At least 1, so that alternation never narrows an interval.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    correlations : array, optional
        Autocorrelations at lags 0, 1, 2, …, where they are known: seldom more than the first
        ones are needed.

    References
    ----------
    Geyer, Practical Markov chain Monte Carlo, Statistical Science 7(4), 1992.
    """
    values = checked.series(values)
    if correlations is None or not (_pairs(correlations[None]) <= 0).any():
        correlations = autocorrelation(values)
    return float(_times(correlations[None])[0])


def short_dependence(values: FloatArray) -> float:
    """Dependence time of a first-order autoregression, from differences at lags 1 and 2.

    At least 1: autocorrelations that independent values show in 5 % count as none.
    """
    one, two = np.diff(values), values[2:] - values[:-2]
    nearest = float(np.mean(one**2))
    if nearest <= 1e-18 * float(np.mean(values**2)) or len(two) == 0:
        return 1.0
    phi = float(np.mean(two**2)) / nearest - 1
    phi = min(phi, 0.95) if phi > 2.5 / math.sqrt(len(values)) else 0.0
    return (1 + phi) / (1 - phi)


def dependence_times(rows: FloatArray, certain: float = 1.0) -> FloatArray:
    """Dependence time of each row, padded for what a short series hides.

    Where neighbours correlate no more than by chance, the time is 1; either way it is then
    multiplied by 1 + 8 time/n.

    Parameters
    ----------
    rows : array, shape (m, n)
        In order of time; n at least 3.
    certain : float
        Standard errors, 1/√n each, that are chance.

    Returns
    -------
    array, shape (m,)
    """
    return padded(unpadded_times(rows, certain), rows.shape[1])


def unpadded_times(rows: FloatArray, certain: float = 1.0) -> FloatArray:
    """Dependence times as estimated; see :func:`dependence_times`."""
    rho = autocorrelations(rows)
    chance = certain / np.sqrt(rows.shape[1])
    return np.asarray(np.where(rho[:, 1] > chance, _times(rho), 1.0))


def padded(tau: FloatArray, n: int) -> FloatArray:
    """Make dependence times as long as a series of n values may hide that they are."""
    return tau * (1 + 8 * tau / n)


def _times(rho: FloatArray) -> FloatArray:
    """Sum pairs of autocorrelations up to the first that is not positive, row by row (Geyer)."""
    pairs = _pairs(rho)
    ended = np.maximum.accumulate(pairs <= 0, axis=1)
    return np.asarray(np.maximum(1.0, 2 * np.where(ended, 0.0, pairs).sum(axis=1) - 1))


def _pairs(rho: FloatArray) -> FloatArray:
    """Sum the autocorrelations at lags 0 and 1, 2 and 3, …, row by row."""
    even = rho.shape[1] // 2 * 2
    return np.asarray(rho[:, 0:even:2] + rho[:, 1:even:2])
