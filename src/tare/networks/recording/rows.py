"""Histograms of many intervals at once: quantiles of each, and all together by what they are of."""

from __future__ import annotations

import contextlib
import warnings
from array import array
from collections.abc import Sequence

import msgspec
import numpy as np

from tare.agent.record import Histogram
from tare.networks.recording.histogram import BINS, EDGES_NS, Counts, Floats, Times
from tare.networks.recording.lines import UnreadHistogram

#: Bytes that wait to be worked off together.
_BATCH = 1 << 20
_NAN = float("nan")
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
        self._texts: list[bytes] = []
        self._size = 0
        self._ends = array("d")
        self._done: list[Floats] = []

    def add(self, some: Histogram | UnreadHistogram, of: tuple[int, bool | None]) -> None:
        """Take the histogram of the next interval."""
        bins = some.bins
        # A raw text would keep the whole line that it is of.
        text = bytes(bins) if isinstance(bins, msgspec.Raw) else msgspec.json.encode(bins)
        self._texts.append(text.translate(None, b"[] "))
        self._size += len(text)
        self._ends.append(_NAN if some.min_ns is None else some.min_ns)
        self._ends.append(_NAN if some.max_ns is None else some.max_ns)
        self._of.append(of)
        if some.min_ns is not None:
            times = self.together.get(of)
            if times is None:
                times = self.together[of] = Times()
            times.reach(some)
        if self._size >= _BATCH:
            self._work_off()

    def quantiles(self) -> Floats:
        """Return the quantiles and the maximum of each, a row an interval; NaN: no time."""
        self._work_off()
        width = len(self._qs) + 1
        return np.concatenate(self._done) if self._done else np.empty((0, width))

    def _work_off(self) -> None:
        if not self._texts:
            return
        flat, lengths = _numbers(self._texts)
        bins = np.clip(flat[:, 0], 0, BINS - 1)
        possible = (flat[:, 0] == bins) & (flat[:, 1] > 0)
        counts = np.where(possible, np.minimum(flat[:, 1], _MOST), 0)
        self._count(bins, counts, lengths)
        ends = np.array(self._ends).reshape(-1, 2)
        self._done.append(_quantiles(bins, counts, lengths, ends, self._qs))
        self._of.clear()
        self._texts.clear()
        self._size = 0
        del self._ends[:]

    def _count(self, bins: Counts, counts: Counts, lengths: Counts) -> None:
        numbers = {of: i for i, of in enumerate(dict.fromkeys(self._of))}
        owner = np.repeat([numbers[of] for of in self._of], lengths)
        for of, number in numbers.items():
            mine = owner == number
            if mine.any():
                added = np.bincount(bins[mine], counts[mine], BINS)
                self.together.setdefault(of, Times()).counts += added.astype(np.int64)


def _numbers(texts: Sequence[bytes]) -> tuple[Counts, Counts]:
    """Read bins and counts of some rows, a pair a line, and how many each row has."""
    lengths = np.array([(text.count(b",") + 1) // 2 if text else 0 for text in texts])
    together = b",".join(text for text in texts if text)
    if not together.translate(None, b"0123456789,"):
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            # Of what is no list of numbers it returns fewer.
            warnings.simplefilter("ignore")
            flat = np.fromstring(together, dtype=np.int64, sep=",")
            if len(flat) == 2 * lengths.sum():
                return flat.reshape(-1, 2), lengths
    if len(texts) == 1:
        # One that no agent would write is none.
        return np.empty((0, 2), dtype=np.int64), np.zeros(1, dtype=np.int64)
    parts = [_numbers([text]) for text in texts]
    return np.concatenate([part[0] for part in parts]), np.concatenate([p[1] for p in parts])


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
