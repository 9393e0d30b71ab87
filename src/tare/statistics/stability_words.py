"""STABILITY's comparison of two cells: lesser, higher, same or overlap.

For reproduction only: iterations are pooled as if each were a replicate, and ``same`` is the
containment of one interval in the other, nothing more.

Source: STABILITY; Buchar 2020.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import special

from tare.statistics.moments import bootstrap_moments
from tare.statistics.statistic import FloatArray

Word = Literal["lesser", "higher", "same", "overlap"]
Of = Literal["mean", "sd"]

#: As published.
RESAMPLES = 1000


def percentile_intervals(
    values: FloatArray, rng: np.random.Generator, resamples: int = RESAMPLES
) -> dict[Of, tuple[float, float]]:
    """Give the 95 % percentile bootstrap intervals of the mean and of the standard deviation.

    Both come from one set of resamples. Percentiles are those of R's ``boot.ci(type = "perc")``:
    the order statistics at (R + 1) × 0.025 and (R + 1) × 0.975, interpolated on the normal
    quantile scale.

    Parameters
    ----------
    values : array, shape (n,)
        Pooled iterations of all workers.
    """
    means, sds = (np.sort(x) for x in bootstrap_moments(values, resamples, rng))
    return {
        "mean": (_r_percentile(means, 0.025), _r_percentile(means, 0.975)),
        "sd": (_r_percentile(sds, 0.025), _r_percentile(sds, 0.975)),
    }


def word(first: tuple[float, float], second: tuple[float, float]) -> Word:
    """Name the relation of two intervals: the first is … than (or as) the second."""
    if first[0] > second[1]:
        return "higher"
    if second[0] > first[1]:
        return "lesser"
    inside = first[0] > second[0] and first[1] < second[1]
    around = first[0] < second[0] and first[1] > second[1]
    return "same" if inside or around else "overlap"


def _r_percentile(ordered: FloatArray, q: float) -> float:
    place = (len(ordered) + 1) * q
    k = int(place)
    if place == k:
        return float(ordered[k - 1])
    # boot's norm.inter: interpolation on the normal scale between neighbouring order statistics.
    below, above = (
        special.ndtri(k / (len(ordered) + 1)),
        special.ndtri((k + 1) / (len(ordered) + 1)),
    )
    share = (special.ndtri(q) - below) / (above - below)
    return float(ordered[k - 1] + share * (ordered[k] - ordered[k - 1]))
