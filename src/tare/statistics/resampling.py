"""Replicates of a ratio of p10–p90 ranges: as it is, and as if there were no difference."""

from __future__ import annotations

import numpy as np

from tare.statistics.intervals import p10_p90, resampled_ranges
from tare.statistics.statistic import FloatArray


def bootstrap_logs(first: FloatArray, second: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Replicate log(second / first) of the ranges, whole blocks drawn for both at once."""
    n = len(first)
    draws = np.random.default_rng(seed).integers(0, n, (resamples, n))
    return range_logs(resampled_ranges(second, draws)) - range_logs(resampled_ranges(first, draws))


def swapped_logs(first: FloatArray, second: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Replicate log(second / first) of the ranges as if the two were equal but for their medians.

    Blocks change sides by coin flips; empty where the cells differ in their numbers of workers.
    """
    if first.shape != second.shape:
        return np.empty(0)
    rng = np.random.default_rng(seed)
    a, b = (x.reshape(len(x), -1) - np.median(x) for x in (first, second))
    step = max(1, 4_000_000 // a.size)
    logs = []
    for done in range(0, resamples, step):
        many = min(step, resamples - done)
        flip = rng.random((many, len(a), 1)) < 0.5
        x, y = np.where(flip, b, a).reshape(many, -1), np.where(flip, a, b).reshape(many, -1)
        logs.append(range_logs(p10_p90(y)) - range_logs(p10_p90(x)))
    return np.concatenate(logs)


def range_logs(ranges: FloatArray) -> FloatArray:
    """Logarithms of ranges; a resample of one repeated value has none, and counts as tiny."""
    return np.asarray(np.log(np.maximum(ranges, np.finfo(float).tiny)))
