"""Ranks and binomial quantiles without scipy, which a session would hold in memory throughout.

The stopping rule is asked between trials: what it loads stays [scipy.stats: 75 MB of the front's
120; without, it has 45].
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tare.statistics.statistic import FloatArray

#: More trials than a session has; of so many, sums of logarithms are neither quick nor exact.
_SESSION = 10_000


def ranks(rows: FloatArray) -> FloatArray:
    """Rank the values of each row from 1; equal ones share the mean of their ranks.

    Parameters
    ----------
    rows : array, shape (m, n)

    Returns
    -------
    array, shape (m, n)
    """
    m, n = rows.shape
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    place = np.arange(n)
    new = np.ones((m, n), dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    ends = np.ones((m, n), dtype=bool)
    ends[:, :-1] = new[:, 1:]
    last = np.minimum.accumulate(np.where(ends, place, n)[:, ::-1], axis=1)[:, ::-1]
    found = np.empty((m, n))
    np.put_along_axis(found, order, (first + last) / 2 + 1, axis=1)
    return found


def standard_ranks(values: FloatArray) -> FloatArray:
    """Rank values as :func:`ranks` does, to mean 0 and length 1."""
    centred = ranks(values[None])[0] - (len(values) + 1) / 2
    return np.asarray(centred / np.linalg.norm(centred))


@lru_cache(maxsize=4096)
def binomial_quantile(p: float, n: int, q: float) -> int:
    """Return the least k of which P(X ≤ k) is p or more, of n draws that succeed with q."""
    if n > _SESSION:
        return int(binomial_quantiles(p, np.array([n]), q)[0])
    log_factorial = _log_factorials(n)
    k = np.arange(n + 1)
    chosen = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
    reached = np.cumsum(np.exp(chosen + k * np.log(q) + (n - k) * np.log1p(-q)))
    return min(n, int(np.searchsorted(reached, p, side="left")))


def binomial_quantiles(p: float, sizes: NDArray[np.int64], q: float) -> NDArray[np.int64]:
    """Return what :func:`binomial_quantile` does for each of many numbers of draws."""
    from scipy import special

    # From the normal quantile step by step, which is quicker than to invert the distribution.
    normal = sizes * q + special.ndtri(p) * np.sqrt(sizes * q * (1 - q))
    near = np.clip(np.rint(normal - 0.5), 0, sizes).astype(np.int64)
    while (high := (near > 0) & (special.bdtr(np.maximum(near - 1, 0), sizes, q) >= p)).any():
        near -= high
    while (low := special.bdtr(near, sizes, q) < p).any():
        near += low
    return np.asarray(near)


@lru_cache(maxsize=64)
def _log_factorials(n: int) -> FloatArray:
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=float)))))
