"""Courses over time in as many points as a screen has: least, median and most of each bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tare.results.message import Said
from tare.statistics.statistic import FloatArray

#: Bins of one course: about one a pixel of the widest chart.
MOST_BINS = 600
#: Rests that are so many times as long as points are apart interrupt a line.
LONG_REST = 5


@dataclass(frozen=True)
class Thinned:
    """A course of values, thinned or as it is.

    Attributes
    ----------
    at_s : ndarray
        Middle of each point.
    low, middle, high : ndarray
        Least, median and most of its intervals.
    part : ndarray of int
        Which stretch without a gap it is of.
    each : int
        Most intervals in one point; 1: nothing was thinned.
    """

    at_s: FloatArray
    low: FloatArray
    middle: FloatArray
    high: FloatArray
    part: NDArray[np.int64]
    each: int

    def __len__(self) -> int:
        return len(self.at_s)


def thin(
    start_s: FloatArray,
    end_s: FloatArray,
    values: FloatArray,
    gaps: Sequence[tuple[float, float, Said]] = (),
    bins: int = MOST_BINS,
) -> Thinned:
    """Thin a course: what is not a number is left out, no bin reaches over a gap.

    Where every point is drawn, a line ends at what is left out, such as a rest, if that is long
    beside the distance of its points.

    Parameters
    ----------
    start_s, end_s, values : ndarray
        Of each interval, in order.
    gaps : sequence of (float, float, Said)
        Start, end and reason.
    bins : int
        Most points, plus one for each gap.
    """
    some = np.isfinite(values)
    at_s, values = (start_s[some] + end_s[some]) / 2, values[some]
    parts = np.searchsorted(np.array([gap[0] for gap in gaps]), at_s, side="right")
    parts = parts.astype(np.int64)
    if len(values) <= bins:
        apart = np.diff(at_s)
        long = apart > LONG_REST * np.median(apart) if len(apart) else apart > 0
        return Thinned(at_s, values, values, values, parts + np.append(0, np.cumsum(long)), 1)
    first, last = float(start_s[0]), float(end_s[-1])
    number = np.minimum(
        bins - 1, ((at_s - first) / max(last - first, 1e-9) * bins).astype(np.int64)
    )
    key = number * (len(gaps) + 1) + parts
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    ends = np.append(begins[1:], len(values))
    return Thinned(
        at_s=np.array([at_s[a:b].mean() for a, b in zip(begins, ends, strict=True)]),
        low=np.minimum.reduceat(values, begins),
        middle=np.array([np.median(values[a:b]) for a, b in zip(begins, ends, strict=True)]),
        high=np.maximum.reduceat(values, begins),
        part=parts[begins],
        each=int((ends - begins).max()),
    )
