"""Histograms of many intervals at once: quantiles of each, and all together by what they are of."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

import numpy as np

from tare.network.histogram import BINS, EDGES_NS, Counts, Floats, Times
from tare.record import Histogram

#: Numbers that wait to be worked off together.
_BATCH = 1 << 17
#: More times of one bin than any interval has.
_MOST = 1 << 40


class Rows:
    """Takes one histogram an interval; memory grows by its quantiles alone.

    Parameters
    ----------
    qs : sequence of float
        Quantiles that are kept of each.

    Attributes
    ----------
    together : dict
        By what they are of: all times counted together.
    """

    def __init__(self, qs: Sequence[float]) -> None:
        self._qs = qs
        self.together: dict[tuple[int, bool | None], Times] = {}
        self._of: list[tuple[int, bool | None]] = []
        self._flat = array("q")
        self._lengths = array("q")
        self._ends = array("d")
        self._done: list[Floats] = []

    def add(self, some: Histogram, of: tuple[int, bool | None]) -> None:
        """Take the histogram of the next interval."""
        self._flat.extend(chain.from_iterable(some.bins))
        self._lengths.append(len(some.bins))
        nan = float("nan")
        self._ends.append(nan if some.min_ns is None else some.min_ns)
        self._ends.append(nan if some.max_ns is None else some.max_ns)
        self._of.append(of)
        if some.bins:
            times = self.together.setdefault(of, Times())
            times.reach(some)
        if len(self._flat) >= _BATCH:
            self._work_off()

    def quantiles(self) -> Floats:
        """Return the quantiles and the maximum of each, a row an interval; NaN: no time."""
        self._work_off()
        width = len(self._qs) + 1
        return np.concatenate(self._done) if self._done else np.empty((0, width))

    def _work_off(self) -> None:
        if not self._lengths:
            return
        flat = np.array(self._flat, dtype=np.int64).reshape(-1, 2)
        bins = np.clip(flat[:, 0], 0, BINS - 1)
        possible = (flat[:, 0] == bins) & (flat[:, 1] > 0)
        counts = np.where(possible, np.minimum(flat[:, 1], _MOST), 0)
        lengths = np.array(self._lengths, dtype=np.int64)
        self._count(bins, counts, lengths)
        ends = np.array(self._ends).reshape(-1, 2)
        self._done.append(_quantiles(bins, counts, lengths, ends, self._qs))
        self._of.clear()
        for some in (self._flat, self._lengths, self._ends):
            del some[:]

    def _count(self, bins: Counts, counts: Counts, lengths: Counts) -> None:
        numbers = {of: i for i, of in enumerate(dict.fromkeys(self._of))}
        owner = np.repeat([numbers[of] for of in self._of], lengths)
        for of, number in numbers.items():
            mine = owner == number
            if mine.any():
                added = np.bincount(bins[mine], counts[mine], BINS)
                self.together[of].counts += added.astype(np.int64)


def _quantiles(
    bins: Counts, counts: Counts, lengths: Counts, ends: Floats, qs: Sequence[float]
) -> Floats:
    found = np.full((len(lengths), len(qs) + 1), np.nan)
    found[:, -1] = ends[:, 1]
    last = np.cumsum(lengths)
    up_to = np.concatenate([[0], np.cumsum(counts)])
    base, total = up_to[last - lengths], up_to[last] - up_to[last - lengths]
    some = total > 0
    if not some.any():
        return found
    for column, q in enumerate(qs):
        wanted = base[some] + q * total[some]
        at = np.searchsorted(up_to[1:], wanted)
        # Nothing at all of a quantile 0 lies in the interval before.
        at = np.clip(at, (last - lengths)[some], last[some] - 1)
        share = (wanted - up_to[at]) / np.maximum(1, counts[at])
        low, high = EDGES_NS[bins[at]], EDGES_NS[bins[at] + 1]
        value = low + (high - low) * np.clip(share, 0.0, 1.0)
        value = np.fmin(np.fmax(value, ends[some, 0]), ends[some, 1])
        found[some, column] = value
    return found
