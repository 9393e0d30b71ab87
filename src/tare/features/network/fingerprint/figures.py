"""From intervals to figures: medians and quantiles, with what parts of the time say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tare.agent.record import Histogram, Interval
from tare.experiment.fingerprints.network.document import Figure, Unit
from tare.networks.recording.histogram import BINS, EDGES_NS, pairs
from tare.statistics.intervals import percentile_bounds, quantile_interval

#: Parts that a stretch of time is divided into.
PARTS = 12
#: Below so many, parts say nothing of an interval: as a median's.
_FEWEST = 6
_CONFIDENCE = 0.95
_RESAMPLES = 400
_SEED = 1

Floats = NDArray[np.float64]
_T = TypeVar("_T")


def median(values: Sequence[float] | Floats, unit: Unit) -> Figure | None:
    """Return the median of the parts of a stretch, with its exact interval; None: there are none.

    Values that are no numbers are left out.
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not len(known):
        return None
    found = quantile_interval(known, tick=0.0)
    ci = None if found.low is None or found.high is None else (found.low, found.high)
    return Figure(value=found.estimate, ci=ci, unit=unit, n=len(known))


def rates(intervals: Sequence[Interval]) -> Floats:
    """Return the bits a second that were sent in each part of a stretch.

    Parameters
    ----------
    intervals : sequence of Interval
        In order; those in which nothing was to be sent are left out.
    """
    parts = _divided([one for one in intervals if one.on_ns > 0])
    sums = [(sum(one.acked_bytes for one in p), sum(one.on_ns for one in p)) for p in parts]
    return np.array([8e9 * acked_bytes / on_ns for acked_bytes, on_ns in sums if on_ns])


def _divided(some: Sequence[_T]) -> list[list[_T]]:
    """Divide a stretch into :data:`PARTS` about equally long parts."""
    groups = np.array_split(np.arange(len(some)), min(PARTS, len(some)) or 1)
    return [[some[i] for i in group] for group in groups]


def retransmitted(intervals: Sequence[Interval]) -> Figure | None:
    """Return the share of segments that were sent again; None: segments were not told."""
    told = [one for one in intervals if one.segments is not None and one.on_ns > 0]
    shares = []
    for part in _divided(told):
        if segments := sum(one.segments or 0 for one in part):
            shares.append(sum(one.retransmits for one in part) / segments)
    every = sum(one.segments or 0 for one in told)
    if not shares or not every:
        return None
    # Bursts are rare: their median is 0, so that the share of all is told.
    value = sum(one.retransmits for one in told) / every
    ci = (
        percentile_bounds(_resampled_means(np.array(shares)), value, _CONFIDENCE)
        if len(shares) >= _FEWEST
        else None
    )
    return Figure(value=value, ci=ci, unit="1", n=len(shares))


def _resampled_means(values: Floats) -> Floats:
    draws = np.random.default_rng(_SEED).integers(0, len(values), (_RESAMPLES, len(values)))
    return np.asarray(values[draws].mean(axis=1))


def round_trips(
    histograms: Iterable[Histogram], quantiles: Sequence[tuple[str, float]]
) -> dict[str, Figure]:
    """Return quantiles of round trips of all parts together, with what the parts say of them.

    Parameters
    ----------
    histograms : iterable of Histogram
        In order of time; they are joined to :data:`PARTS` parts, which are resampled whole: round
        trips of one moment are alike.
    quantiles : sequence of (str, float)
        Name and quantile; 0 and 1 are the exact ends, of which the last has no interval.
    """
    parts = _parts([one for one in histograms if one.bins])
    if not len(parts.counts):
        return {}
    n = len(parts.counts)
    draws = np.random.default_rng(_SEED).integers(0, n, (_RESAMPLES, n))
    weights = np.apply_along_axis(np.bincount, 1, draws, minlength=n)
    resampled = weights @ parts.counts
    every = parts.counts.sum(axis=0, keepdims=True)
    found = {}
    for name, q in quantiles:
        if q >= 1:
            found[name] = Figure(value=float(parts.max_ns.max()), ci=None, unit="ns", n=n)
            continue
        if q <= 0:
            value, again = float(parts.min_ns.min()), parts.min_ns[draws].min(axis=1)
        else:
            value, again = float(parts.quantile(every, q)[0]), parts.quantile(resampled, q)
        ci = percentile_bounds(again, value, _CONFIDENCE) if n >= _FEWEST else None
        found[name] = Figure(value=value, ci=ci, unit="ns", n=n)
    return found


class _Parts:
    """Counts of each part over the bins that any of them has."""

    def __init__(self, groups: Sequence[Sequence[Histogram]]) -> None:
        whole = np.zeros((len(groups), BINS), dtype=np.int64)
        for row, group in zip(whole, groups, strict=True):
            for one in group:
                bins, counts = pairs(one)
                np.add.at(row, bins, counts)
        used = np.flatnonzero(whole.sum(axis=0))
        self.counts = whole[:, used]
        self._low, self._high = EDGES_NS[used], EDGES_NS[used + 1]
        self.min_ns = np.array([_end(group, "min_ns", min) for group in groups], dtype=float)
        self.max_ns = np.array([_end(group, "max_ns", max) for group in groups], dtype=float)

    def quantile(self, counts: NDArray[np.int64], q: float) -> Floats:
        """Return a quantile of each row of counts."""
        up_to = counts.cumsum(axis=1)
        wanted = q * up_to[:, -1:]
        at = np.minimum((up_to < wanted).sum(axis=1), counts.shape[1] - 1)
        rows = np.arange(len(counts))
        inside = np.maximum(counts[rows, at], 1)
        share = (wanted[:, 0] - (up_to[rows, at] - counts[rows, at])) / inside
        value = self._low[at] + (self._high - self._low)[at] * np.clip(share, 0, 1)
        return np.asarray(np.clip(value, self.min_ns.min(), self.max_ns.max()))


def _parts(some: Sequence[Histogram]) -> _Parts:
    return _Parts(_divided(some) if some else [])


def _end(group: Sequence[Histogram], name: str, chosen: Callable[[list[float]], float]) -> float:
    told = [value for one in group if (value := getattr(one, name)) is not None]
    return float(chosen(told)) if told else float("nan")
