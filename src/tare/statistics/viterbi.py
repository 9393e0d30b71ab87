"""What paths of bursts through two levels cost: where each falls, whether it goes up again."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tare.statistics.statistic import FloatArray

Ints = NDArray[np.int64]
#: Two levels and the SD that values are judged by.
Fit = tuple[float, float, float]

#: Most that one value may speak against a level: an outage of a second is no change.
MOST = 12.0
#: What one mixed value costs, between the last at the high level and the first at the low one.
MIXED = 1.0
#: What changing costs: the level within a burst; whether bursts end at the low one; not to fall
#: where others do, as after a longer rest.
FALL, REGIME, SPARED = 8.0, 8.0, 3.0
#: Going up again within a burst: what it costs, and how much better it must describe the values.
_RETURN, _BETTER = 40.0, 20.0
#: How much better bursts must fall forwards than backwards.
_FORWARDS = 2.5


def costs(x: FloatArray, level: float, sd: float) -> FloatArray:
    """Return how much each value speaks against a level."""
    return np.asarray(np.minimum(((x - level) / sd) ** 2 / 2, MOST))


def profile(x: FloatArray, fit: Fit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the cost of a fall at each index, up to what is the same for its whole burst."""
    high, low, sd = fit
    above, below = costs(x, high, sd), costs(x, low, sd)
    mixed = np.where((x < high) & (x > low), MIXED, MOST)
    sum_above = np.concatenate([[0.0], np.cumsum(above)])
    sum_below = np.concatenate([[0.0], np.cumsum(below)])
    return sum_above[:-1] + np.minimum(below, mixed) - sum_below[1:], sum_above, sum_below


def each_burst(
    x: FloatArray, starts: Ints, ends: Ints, fit: Fit
) -> tuple[FloatArray, FloatArray, Ints]:
    """Return of each burst what it costs to stay and to fall, and where it falls best."""
    at, sum_above, sum_below = profile(x, fit)
    least = np.minimum.reduceat(at, starts)
    hits = np.where(at == np.repeat(least, ends - starts), np.arange(len(x)), len(x))
    first = np.minimum.reduceat(hits, starts)
    stays = sum_above[ends] - sum_above[starts]
    falls = least - sum_above[starts] + sum_below[ends]
    return stays, falls, first


def regime(stays: FloatArray, falls: FloatArray) -> tuple[NDArray[np.bool_], float]:
    """Whether each burst falls: the cheapest path, where changing its ways costs."""
    if len(stays) == 1:
        dry = bool(falls[0] + FALL < stays[0])
        return np.array([dry]), float(min(falls[0] + FALL, stays[0]))
    one, other = 0.0, REGIME
    chosen: list[tuple[bool, bool]] = []
    for stay, fall in zip(stays.tolist(), falls.tolist(), strict=True):
        from_other, from_one = other + REGIME < one, one + REGIME < other
        chosen.append((from_other, from_one))
        one, other = (
            (other + REGIME if from_other else one) + stay,
            (one + REGIME if from_one else other) + fall,
        )
    state = other < one
    path = np.zeros(len(chosen), dtype=bool)
    for at in range(len(chosen) - 1, -1, -1):
        path[at] = state
        from_other, from_one = chosen[at]
        state = (state and not from_one) or (not state and from_other)
    return path, min(one, other)


def returns_within(x: FloatArray, starts: Ints, fit: Fit, tau: float) -> bool:
    """Whether going up again within bursts describes them much better than falling once."""
    high, low, sd = fit
    stays, falls, _ = each_burst(x, starts, np.append(starts[1:], len(x)), fit)
    once = float(np.minimum(stays, falls).sum()) / tau
    above = (costs(x, high, sd) / tau).tolist()
    below = (costs(x, low, sd) / tau).tolist()
    begins = np.zeros(len(x), dtype=bool)
    begins[starts] = True
    a = b = 0.0
    for up, down, new in zip(above, below, begins.tolist(), strict=True):
        a, b = min(a, b + (0.0 if new else _RETURN)) + up, min(a, b) + down
    return bool(min(a, b) + _BETTER < once)


def line_is_better(x: FloatArray, beside: FloatArray) -> bool:
    """Whether a steady change describes values better than two levels do."""
    time = np.arange(len(x)) - (len(x) - 1) / 2
    y = x - x.mean()
    line = y - time * float(time @ y) / float(time @ time)
    return float(line @ line) < float(beside @ beside)


def as_well_backwards(x: FloatArray, starts: Ints, fit: Fit) -> bool:
    """Whether bursts fall no better than they would backwards, as noise does.

    The first value of each is left out, where a connection may still open up.
    """
    lengths = np.diff(np.append(starts, len(x)))
    if len(starts) == 1 or float(np.median(lengths)) < 3:
        return False
    index = np.arange(len(x)) - np.repeat(starts, lengths)
    kept = (index > 0) | np.repeat(lengths < 3, lengths)
    of = np.repeat(np.arange(len(starts)), lengths)[kept]
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    ends = np.append(begins[1:], len(of))
    forwards = x[kept]
    # The place of each value in its burst, counted from the burst's other end.
    mirrored = begins[of] + ends[of] - 1 - np.arange(len(of))
    gains = []
    for values in (forwards, forwards[mirrored]):
        stays, falls, _ = each_burst(values, begins, ends, fit)
        below = np.add.reduceat(costs(values, fit[1], fit[2]), begins)
        gains.append(float(np.maximum(0.0, np.minimum(stays, below) - falls).sum()))
    chance = 3 * math.sqrt(MOST * (gains[0] + gains[1]))
    return gains[0] < max(_FORWARDS * gains[1], gains[1] + chance)
