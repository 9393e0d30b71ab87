"""A new session beside stored ones: one more draw from what sessions are on this machine.

Source: Hahn and Meeker 1991.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from tare.results.verdict import judge
from tare.statistics.censored import at_least, interval_above
from tare.statistics.comparison import Comparison, cliffs_delta, detectable_change
from tare.statistics.intervals import Interval, quantile_interval
from tare.statistics.statistic import FloatArray, exp

#: Sessions below which nobody knows how much sessions differ.
FEWEST_SESSIONS = 5


def compare_with_sessions(
    sessions: Sequence[FloatArray],
    new: FloatArray,
    margin: float = 0.02,
    confidence: float = 0.95,
    limits: tuple[Sequence[FloatArray], FloatArray] | None = None,
) -> Comparison:
    """Compare the trials of a new session with those of stored sessions of another version.

    Equal facts are not equal sessions: each has a level of its own, by memory layout, placement
    and neighbours. So the unit is the session, its value the log of its median; the interval is
    Student's prediction interval of one more draw. Were trials pooled over sessions that differ
    by an SD of 1 %, 51 % of comparisons of equal versions would alarm.

    Simulated with equal versions, two-sided at 95 %: 5.0 % where the sessions' levels are normal,
    5 to 7 % where they are skewed, heavy-tailed or of two modes, for 5 to 20 sessions.

    Parameters
    ----------
    sessions : sequence of array
        Positive trial values of each stored session, in any unit.
    new : array, shape (n,)
        Those of the new one, in the same unit.
    margin : float
        Relative difference of practical importance.
    confidence : float
        Of the interval.
    limits : (sequence of array, array), optional
        What infinite values of the stored sessions and of the new one are known to exceed.

    Returns
    -------
    Comparison
        Of new over stored. Its ``n`` counts stored sessions; without an interval where they are
        fewer than five, or the median of one is above its limit. Where that of the new session is,
        the upper bound is infinite and the ratio NaN. ``more_pairs`` is None: more trials of the
        new session decide nothing.

    References
    ----------
    Hahn and Meeker, Statistical Intervals, 1991, section 4.8.
    """
    stored, above = limits or (sessions, new)
    levels = np.log([float(np.median(s)) for s in sessions])
    # A median that is known is the same whatever the values above the limit are.
    is_known = math.isfinite(float(np.median(new)))
    shift = math.log(float(np.median(at_least(new, above)))) - float(levels.mean())
    half = None
    if np.isfinite(levels).all():
        errors = [_error(s, limit) for s, limit in zip(sessions, stored, strict=True)]
        half = _half_width(sessions, new, levels, confidence, (errors, _error(new, above)))
    low, high = (None, None) if half is None else (exp(shift - half), exp(shift + half))
    if high is not None and not is_known:
        high = math.inf
    different = low is not None and high is not None and (low > 1 or high < 1)
    pooled = np.concatenate(list(sessions))
    p = 1.0 if half is None else _p(shift, half, len(levels), confidence)
    return Comparison(
        ratio=exp(shift) if is_known and np.isfinite(levels).all() else math.nan,
        low=low,
        high=high,
        confidence=confidence,
        p=p,
        p_adjusted=p,
        n=len(levels),
        verdict=judge(low, high, margin, different=different),
        more_pairs=None,
        detectable=None if half is None else detectable_change(half, confidence),
        cliffs_delta=cliffs_delta(pooled, new),
        median_ratio=float(np.median(new) / np.median(pooled)) if is_known else math.nan,
        killed=(int(np.isposinf(pooled).sum()), int(np.isposinf(new).sum())),
    )


def _half_width(
    sessions: Sequence[FloatArray],
    new: FloatArray,
    levels: FloatArray,
    confidence: float,
    errors: tuple[Sequence[float], float],
) -> float | None:
    """Half-width of the log-ratio's interval; None where it is not known.

    ``errors``: standard errors of the log-medians of the sessions, and of the new one.
    """
    if len(levels) < FEWEST_SESSIONS:
        return None
    t = float(special.stdtrit(len(levels) - 1, 0.5 + confidence / 2))
    # A shorter session knows its own level less well than the stored ones did theirs.
    extra = 0.0
    if len(new) < float(np.median([len(s) for s in sessions])):
        stored = float(np.mean(np.square(errors[0])))
        extra = max(0.0, errors[1] ** 2 - (stored if math.isfinite(stored) else 0.0))
    variance = float(levels.var(ddof=1)) * (1 + 1 / len(levels)) + extra
    return t * math.sqrt(variance) if math.isfinite(variance) else None


def _error(values: FloatArray, limits: FloatArray) -> float:
    """Estimate the standard error of a log-median; infinite where there are too few trials.

    By the lower side of the interval where a time limit leaves the upper one open.
    """
    least = at_least(values, limits)
    found = interval_above(_median, values, limits)
    if found.low is None or found.high is None:
        return math.inf if len(values) == 1 or float(np.ptp(least)) > 0 else 0.0
    if math.isinf(found.high):
        return math.log(float(np.median(least)) / found.low) / 1.96
    return math.log(found.high / found.low) / 2 / 1.96


def _median(values: FloatArray, tick: float | None) -> Interval:
    return quantile_interval(values, tick=tick or 0.0)


def _p(shift: float, half: float, sessions: int, confidence: float) -> float:
    if half == 0:
        return 0.0 if shift else 1.0
    t = float(special.stdtrit(sessions - 1, 0.5 + confidence / 2))
    return float(2 * special.stdtr(sessions - 1, -abs(shift) / half * t))
