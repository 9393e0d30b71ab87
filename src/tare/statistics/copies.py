"""Were values copied? Stretches of a series that occur in it twice, beyond what ties explain.

Source: Karp, Miller, Rosenberg 1972 (numbering by doubling); union bound, by simulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tare.statistics import checked
from tare.statistics.statistic import FloatArray, IndexArray

#: p-value from which a repeated stretch counts as copied: a copy leaves no doubt, and so takes
#: next to nothing of the budget of all tests of a series.
LEVEL = 0.001
#: Longest series that is looked at whole; of longer ones, the beginning.
MOST = 1 << 16
#: Odd factor that hashes are multiplied by, modulo 2⁶⁴: 2⁶⁴ over the golden ratio.
_FACTOR = 0x9E3779B97F4A7C15


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


def copied(values: ArrayLike, sorter: IndexArray | None = None) -> Copy | None:
    """Find the longest stretch that occurs twice, if chance does not explain it.

    Two given stretches of exchangeable values agree with the probability of a tie for each of
    their values, and there are so many pairs of stretches. A rounded series has many ties and so
    must repeat more. The probability of a tie is that of any two values, or of two neighbours
    where these agree more often: a clock's ticks that change slowly repeat without being copied.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; memory maps included. Above 65,536 values the first are looked at.
    sorter : int array, shape (n,), optional
        Indices that sort the values, where they are known.

    Returns
    -------
    Copy or None
        None where p exceeds 0.001.
    """
    values = checked.series(values, least=0)
    x = np.asarray(values[:MOST], dtype=float) + 0.0  # one zero, without a sign
    n = len(x)
    if sorter is None or n < len(sorter):
        sorter = np.argsort(x)
    ordered = x[sorter]
    ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, n)
    if n < 4 or len(ends) in (1, n):
        return None
    counts = np.diff(ends, prepend=0)
    ties = float(np.sum(counts * (counts - 1.0))) / (n * (n - 1))
    ties = max(ties, float(np.mean(x[1:] == x[:-1])))
    # Every value of a repeated stretch occurs twice.
    is_single = np.empty(n, dtype=bool)
    is_single[sorter] = np.repeat(counts == 1, counts)
    longest = int(np.diff(np.flatnonzero(is_single), prepend=-1, append=n).max()) - 1
    # Bounds for every length, which fall. Of n values of which j pairs are taken, any one has at
    # least one partner left.
    lengths = np.arange(1, min(longest, n // 2) + 1)
    left = np.maximum(n - 2.0 * lengths + 1, 1)
    places = (n - 2.0 * lengths + 1) * (n - 2 * lengths + 2) / 2
    bounds = places * np.exp(np.cumsum(np.log(np.maximum(ties, 1 / left))))
    enough = np.flatnonzero(bounds <= LEVEL)
    if not len(enough):
        return None
    if not _may_repeat(x, int(lengths[enough[0]])):
        return None
    length, first, second = _longest(np.unique(x, return_inverse=True)[1])
    p = min(1.0, float(bounds[length - 1])) if length else 1.0
    return Copy(length, first, second, p) if p <= LEVEL else None


def _may_repeat(values: FloatArray, length: int) -> bool:
    """Whether a stretch of this length may occur twice: equal stretches have equal hashes."""
    # Of stretches of 1, 2, 4, … values; those that the length is the sum of are joined.
    doubled, size = values.view(np.uint64) * np.uint64(_FACTOR), 1
    doubled ^= doubled >> np.uint64(29)
    hashes, factor, done = np.zeros(len(values), np.uint64), _FACTOR, 0
    while True:
        if length & size:
            n = len(values) - done - size + 1
            hashes = hashes[:n] * np.uint64(factor) + doubled[done : done + n]
            done += size
        if done == length:
            break
        n = len(doubled) - size
        doubled = doubled[:n] * np.uint64(factor) + doubled[size:]
        size, factor = 2 * size, factor * factor % 2**64
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


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
