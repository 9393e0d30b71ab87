"""Where does each burst of data fall from a high rate to a low one? Two levels, fitted together.

Source: Viterbi 1967; two-level path with a cut squared distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tare.statistics.dependence import short_dependence
from tare.statistics.robust import robust_sd
from tare.statistics.segmentation import best_cut, residuals_of_lines
from tare.statistics.statistic import FloatArray

Ints = NDArray[np.int64]
#: Lower level, upper level, and the SD that deviations are scaled by.
Fit = tuple[float, float, float]

#: Largest cost of one value's deviation, so an outage of a second is not a level shift.
MOST = 12.0
#: Cost of one mixed value, between the last value at the high level and the first at the low one.
MIXED = 1.0
#: Costs of changes: of the level within a burst; of whether bursts end at the low level; of not
#: falling where other bursts do, as after a longer idle period.
FALL, REGIME, SPARED = 8.0, 8.0, 3.0
#: Rising again within a burst: its cost, and by how much it must improve the fit.
_RETURN, _BETTER = 40.0, 20.0
#: Least improvement by which bursts must fall in the order of time rather than in reverse.
_FORWARDS = 2.5
#: Least ratio of two levels that are told apart, as a logarithm: 15 %.
_NEAREST = math.log(1.15)
#: Least SD that values are judged by: as a logarithm, and as a share of the levels' distance. What
#: carries 5.017 Gbit/s for an hour is no less steady for a second of 4.9.
_LEAST_SD, _LEAST_SHARE = 0.02, 0.1
#: How much better a fall must describe a burst than none.
_SURE = 2.0
#: Standard errors by which levels must differ.
_CLEAR = 6.0
#: SDs of what is beside the levels by which these are two for sure.
_PARTED = 5.0
#: Values at the low level, below which a fall may be an end.
_FEWEST = 3
_ROUNDS = 6


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
    line = residuals_of_lines(x - x.mean())
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


@dataclass(frozen=True)
class Levels:
    """Two levels, and where each burst falls from the high one to the low one.

    Attributes
    ----------
    high, low : float
        Medians of the logarithms.
    fall : int array, shape (bursts,)
        Index at which each burst is no longer at the high level, its end where it stays there. The
        value there may be a mixture of both.
    dry : bool array, shape (bursts,)
        Whether it falls.
    evidence : array, shape (bursts,)
        How much falling describes each burst better than staying, as log-likelihood.
    sd : float
        Of the logarithms beside their level.
    tau : float
        Dependence time of what is beside the level.
    returns : bool
        Whether values go up again within bursts, better than by chance.
    """

    high: float
    low: float
    fall: Ints
    dry: NDArray[np.bool_]
    evidence: FloatArray
    sd: float
    tau: float
    returns: bool


def two_levels(log_rate: FloatArray, starts: Ints) -> Levels | None:
    """Describe bursts by two levels, each burst beginning at the high one and falling at most once.

    Parameters
    ----------
    log_rate : array, shape (n,)
        Logarithms of the rate, in order of time; finite.
    starts : int array, shape (bursts,)
        Index at which each burst begins; the first is 0.

    Returns
    -------
    Levels or None
        None where one level is enough.

    Notes
    -----
    The fall within each burst minimises a squared distance that is cut at a limit, so that outages
    are no changes; whether bursts fall at all lasts (a Viterbi path over bursts), so that many
    bursts that carry a little less add up.
    """
    x = np.asarray(log_rate, dtype=float)
    if len(x) < 2 * _FEWEST:
        return None
    ends = np.append(starts[1:], len(x))
    noise = _noise(x, starts)
    best: tuple[float, Levels] | None = None
    for high, low in _candidates(x):
        found = _settled(x, starts, ends, (high, low), noise)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    return None if best is None else best[1]


def _noise(x: FloatArray, starts: Ints) -> float:
    """SD by neighbours within bursts, robust; by all neighbours where bursts are single values."""
    apart = np.diff(x)
    within = np.ones(len(apart), dtype=bool)
    within[starts[1:] - 1] = False
    kept = apart[within] if within.sum() >= len(apart) / 4 else apart
    return robust_sd(kept, 0.0) / math.sqrt(2)


def _candidates(x: FloatArray) -> list[tuple[float, float]]:
    """Pairs of levels to begin with: before and after one change, and parted by value."""
    pairs = []
    for values in (x, np.sort(x)):
        at = best_cut(np.maximum(values, float(np.median(values)) - 5.0))
        a, b = float(np.median(values[:at])), float(np.median(values[at:]))
        pairs.append((max(a, b), min(a, b)))
    return [*pairs, (float(np.quantile(x, 0.98)), float(np.quantile(x, 0.02)))]


def _settled(
    x: FloatArray, starts: Ints, ends: Ints, levels: tuple[float, float], noise: float
) -> tuple[float, Levels] | None:
    """Fit falls and levels in turn; None where the levels are not two."""
    high, low = levels
    lengths = ends - starts
    fall = ends
    for _ in range(_ROUNDS):
        if high - low < _NEAREST:
            return None
        sd = max(noise, _LEAST_SD, _LEAST_SHARE * (high - low))
        before = fall
        stays, falls, first = each_burst(x, starts, ends, (high, low, sd))
        dry, cost = regime(stays, np.minimum(falls, stays + SPARED))
        # Of bursts of one value, what those around them do says more.
        dry &= np.where(lengths > 1, falls + _SURE, falls - SPARED) < stays
        fall = np.where(dry, first, ends)
        at_high, at_low = _at_levels(np.repeat(fall, lengths), len(starts))
        if at_high.sum() < 2 or at_low.sum() < _FEWEST:
            return None
        high, low = float(np.median(x[at_high])), float(np.median(x[at_low]))
        beside = np.concatenate([x[at_high] - high, x[at_low] - low])
        noise = robust_sd(beside, 0.0)
        if np.array_equal(before, fall):
            break
    beside = np.clip(beside, -4 * sd, 4 * sd)
    tau = short_dependence(beside)
    spread = float(beside.std())
    fit = (high, low, max(sd, spread))
    error = spread * math.sqrt(tau * (1 / at_high.sum() + 1 / at_low.sum()))
    if high - low < max(_NEAREST, _CLEAR * error) or _is_noise(x, starts, beside, fit):
        return None
    returns = returns_within(x, starts, fit, tau)
    found = Levels(high, low, fall, dry, (stays - falls) / tau, spread, tau, returns)
    return cost + math.log(sd) * len(x), found


def _at_levels(fall: Ints, bursts: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which values are at the high level and at the low one; ``fall`` of each value."""
    index = np.arange(len(fall))
    # The first below may be a mixture, unless bursts are no longer than that.
    at_low = index > fall
    if at_low.sum() < _FEWEST and len(fall) < 2 * bursts:
        at_low = index >= fall
    return index < fall, at_low


def _is_noise(x: FloatArray, starts: Ints, beside: FloatArray, fit: Fit) -> bool:
    if line_is_better(x, beside):
        return True
    # Levels far apart with hardly anything between them are no spread of one.
    apart = fit[0] - fit[1] >= _PARTED * float(beside.std())
    return not apart and as_well_backwards(x, starts, fit)


def fall_between(log_rate: FloatArray, levels: Levels, start: int, end: int) -> tuple[int, int]:
    """Return the first and the last index at which a burst may have fallen, with 95 %.

    Parameters
    ----------
    log_rate : array, shape (n,)
        As it was given to :func:`two_levels`.
    levels : Levels
    start, end : int
        Of the burst.
    """
    sd = max(levels.sd, _LEAST_SD, _LEAST_SHARE * (levels.high - levels.low))
    at, _, _ = profile(log_rate[start:end], (levels.high, levels.low, sd))
    # What a mixed value costs more than one at a level, and half of chi-squared with one degree.
    near = np.flatnonzero(at <= at.min() + MIXED + 1.92 * levels.tau)
    return start + int(near[0]), start + int(near[-1])
