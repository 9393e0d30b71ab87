"""Were values copied? Stretches of a series that occur in it twice, beyond what ties explain.

Source: Karp, Miller, Rosenberg 1972 (numbering by doubling); union bound, by simulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tare.statistics.statistic import FloatArray

#: p-value from which a repeated stretch counts as copied: a copy leaves no doubt, and so takes
#: next to nothing of the budget of all tests of a series.
LEVEL = 0.001
#: Longest series that is looked at whole; of longer ones, the beginning.
MOST = 1 << 16


@dataclass(frozen=True)
class Copy:
    """A stretch that occurs twice.

    Attributes
    ----------
    length : int
        Values in the stretch.
    first, second : int
        Indices at which its two occurrences begin; they do not overlap.
    p : float
        Bound on the probability that a shuffled series repeats a stretch as long.
    """

    length: int
    first: int
    second: int
    p: float


def copied(values: FloatArray) -> Copy | None:
    """Find the longest stretch that occurs twice, if chance does not explain it.

    Two given stretches of exchangeable values agree with the probability of a tie for each of
    their values, and there are so many pairs of stretches. A rounded series has many ties and so
    must repeat more. The probability of a tie is that of any two values, or of two neighbours
    where these agree more often: a clock's ticks that change slowly repeat without being copied.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; memory maps included. Above 65,536 values the first are looked at.

    Returns
    -------
    Copy or None
        None where p exceeds 0.001.
    """
    x = np.asarray(values[:MOST], dtype=float)
    n = len(x)
    ids, counts = np.unique(x, return_inverse=True, return_counts=True)[1:]
    if n < 4 or len(counts) in (1, n):
        return None
    ties = float(np.sum(counts * (counts - 1.0))) / (n * (n - 1))
    ties = max(ties, float(np.mean(x[1:] == x[:-1])))
    length, first, second = _longest(ids)
    if length == 0:
        return None
    # Of n values of which j pairs are taken, any one has at least one partner left.
    left = np.maximum(n - 2.0 * np.arange(length) - 1, 1)
    places = (n - 2 * length + 1) * (n - 2 * length + 2) / 2
    p = min(1.0, places * float(np.exp(np.sum(np.log(np.maximum(ties, 1 / left))))))
    return Copy(length, first, second, p) if p <= LEVEL else None


def _longest(ids: NDArray[np.intp]) -> tuple[int, int, int]:
    """Length and beginnings of the longest stretch that occurs twice without overlap.

    Stretches of 2, 4, 8, … values are numbered by the numbers of their halves; lengths between are
    found by bisection, since any part of a repeated stretch is repeated too.
    """
    n = len(ids)
    known = {1: ids}
    size, best = 1, _twice(ids, 1)
    if best is None:
        return 0, 0, 0
    low, high = 1, n // 2 + 1
    while 2 * size < high:
        numbers = _numbers(known[size], known[size], size)
        found = _twice(numbers, 2 * size)
        if found is None:
            high = 2 * size
            break
        size *= 2
        known[size], low, best = numbers, size, found
    while high - low > 1:
        middle = (low + high) // 2
        found = _twice(_numbers(known[size], known[size], middle - size), middle)
        if found is None:
            high = middle
        else:
            low, best = middle, found
    return low, *best


def _numbers(first: NDArray[np.intp], second: NDArray[np.intp], shift: int) -> NDArray[np.intp]:
    """Give equal numbers to equal pairs of stretches that begin ``shift`` apart."""
    n = len(first) - shift
    pairs = first[:n].astype(np.int64) * (int(second.max()) + 1) + second[shift:]
    return np.asarray(np.unique(pairs, return_inverse=True)[1])


def _twice(numbers: NDArray[np.intp], length: int) -> tuple[int, int] | None:
    """Beginnings of the first and last occurrence of a stretch, if at least its length apart."""
    at = np.arange(len(numbers))
    first = np.full(int(numbers.max()) + 1, len(numbers))
    last = np.zeros_like(first)
    np.minimum.at(first, numbers, at)
    np.maximum.at(last, numbers, at)
    widest = int((last - first).argmax())
    apart = int(last[widest] - first[widest])
    return (int(first[widest]), int(last[widest])) if apart >= length else None
