"""Dependence times of many series of one length at once, as simulations and looks need them."""

from __future__ import annotations

import numpy as np

from tare.statistics.statistic import FloatArray


def dependence_times(rows: FloatArray, certain: float = 1.0) -> FloatArray:
    """Dependence time of each row, padded for what a short series hides.

    Where neighbours correlate no more than by chance, the time is 1; either way it is then
    multiplied by 1 + 8 time/n. See :func:`tare.statistics.dependence.dependence_time`.

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


def padded(tau: FloatArray, n: int) -> FloatArray:
    """Make dependence times as long as a series of n values may hide that they are."""
    return tau * (1 + 8 * tau / n)


def unpadded_times(rows: FloatArray, certain: float = 1.0) -> FloatArray:
    """Dependence times as estimated; see :func:`dependence_times`."""
    m, n = rows.shape
    rho = _autocorrelations(rows)
    pairs = rho[:, : n // 2 * 2].reshape(m, -1, 2).sum(axis=2)
    # Geyer's initial positive sequence: up to the first pair that is not positive.
    ended = np.maximum.accumulate(pairs <= 0, axis=1)
    times = np.maximum(1.0, 2 * np.where(ended, 0.0, pairs).sum(axis=1) - 1)
    return np.asarray(np.where(rho[:, 1] > certain / np.sqrt(n), times, 1.0))


def first_correlations(rows: FloatArray) -> FloatArray:
    """Autocorrelation of neighbours in each row; 0 where all values are equal."""
    x = rows - rows.mean(axis=1, keepdims=True)
    variance = (x**2).sum(axis=1)
    products = (x[:, 1:] * x[:, :-1]).sum(axis=1)
    found = np.divide(products, variance, out=np.zeros(len(rows)), where=variance > 0)
    return np.asarray(found)


def _autocorrelations(rows: FloatArray) -> FloatArray:
    n = rows.shape[1]
    x = rows - rows.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 2).bit_length()
    spectrum = np.fft.rfft(x, size, axis=1)
    covariance = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size, axis=1)[:, :n]
    variance = covariance[:, :1].copy()
    least = 1e-12 * np.maximum(1.0, (rows**2).mean(axis=1, keepdims=True))
    known = variance > least
    return np.asarray(np.divide(covariance, variance, out=np.zeros_like(covariance), where=known))
