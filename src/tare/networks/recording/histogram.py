"""Round trip times as the agent counts them: bins of a constant share of their value."""

from __future__ import annotations

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tare.agent.record import Histogram
from tare.networks.recording.lines import UnreadHistogram

#: Bins of each power of two; a time beyond the last bin (some 500 years) is none.
_PER_OCTAVE = 64
BINS = 59 * _PER_OCTAVE

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def _edges() -> Floats:
    exponent, part = np.divmod(np.arange(BINS + 1, dtype=np.float64), _PER_OCTAVE)
    wide = (_PER_OCTAVE + part) * 2.0 ** (exponent - 1)
    return np.where(exponent > 0, wide, part)


#: Where each bin begins, in nanoseconds, and where the last ends.
EDGES_NS = _edges()


class Times:
    """Times counted together, of any number of histograms, in memory that does not grow.

    Attributes
    ----------
    counts : ndarray
        Of each of :data:`BINS` bins.
    min_ns, max_ns : int or None
        Exactly; None where there is no time.
    sum_ns : int
    """

    def __init__(self) -> None:
        self.counts: Counts = np.zeros(BINS, dtype=np.int64)
        self.min_ns: int | None = None
        self.max_ns: int | None = None
        self.sum_ns = 0

    def __len__(self) -> int:
        return int(self.counts.sum())

    def add(self, some: Histogram) -> None:
        """Count the times of a histogram as well; bins that cannot be are left out."""
        bins, counts = pairs(some)
        np.add.at(self.counts, bins, counts)
        if len(bins):
            self.reach(some)

    def reach(self, some: Histogram | UnreadHistogram) -> None:
        """Take the ends and the sum of a histogram, whose bins are counted otherwise."""
        self._reach(some.min_ns, some.max_ns, some.sum_ns)

    def _reach(self, min_ns: int | None, max_ns: int | None, sum_ns: int) -> None:
        if min_ns is not None:
            self.min_ns = min_ns if self.min_ns is None else min(self.min_ns, min_ns)
        if max_ns is not None:
            self.max_ns = max_ns if self.max_ns is None else max(self.max_ns, max_ns)
        self.sum_ns += sum_ns

    def join(self, other: Times) -> None:
        """Count what another has counted as well."""
        self.counts += other.counts
        self._reach(other.min_ns, other.max_ns, other.sum_ns)

    def quantile_ns(self, q: float) -> float | None:
        """Return a quantile; None where there is no time."""
        bins = np.flatnonzero(self.counts)
        return _quantile(bins, self.counts[bins], q, self.min_ns, self.max_ns)


def pairs(some: Histogram) -> tuple[Counts, Counts]:
    """Return bins and counts as arrays, without those that no agent would send."""
    flat = np.fromiter(
        chain.from_iterable(some.bins), dtype=np.int64, count=2 * len(some.bins)
    ).reshape(-1, 2)
    good = (flat[:, 0] >= 0) & (flat[:, 0] < BINS) & (flat[:, 1] > 0)
    return flat[good, 0], flat[good, 1]


def quantile_ns(some: Histogram, q: float) -> float | None:
    """Return a quantile of a histogram, right within a 64th; None where it holds no time."""
    bins, counts = pairs(some)
    return _quantile(bins, counts, q, some.min_ns, some.max_ns)


def _quantile(
    bins: Counts, counts: Counts, q: float, min_ns: int | None, max_ns: int | None
) -> float | None:
    if not len(bins):
        return None
    up_to = np.cumsum(counts)
    wanted = q * up_to[-1]
    at = min(int(np.searchsorted(up_to, wanted)), len(bins) - 1)
    low, high = EDGES_NS[bins[at]], EDGES_NS[bins[at] + 1]
    before = up_to[at] - counts[at]
    value = low + (high - low) * min(1.0, max(0.0, (wanted - before) / counts[at]))
    # The ends are known exactly.
    if min_ns is not None:
        value = max(value, min_ns)
    if max_ns is not None:
        value = min(value, max_ns)
    return float(value)
