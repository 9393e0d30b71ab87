"""Does a series drift or jump by more than it may? A test that many looks can afford.

Source: Csörgő and Horváth 1997; thresholds chosen by simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tare.statistics.dependence import dependence_times
from tare.statistics.exact import ranks
from tare.statistics.segmentation import (
    cut_statistics,
    residuals_of_cuts,
    residuals_of_levels,
    residuals_of_lines,
)
from tare.statistics.statistic import FloatArray

#: Above this a stop has to wait for more trials [1 to 4 % of steady series, at first; what it
#: costs in n is below 2 %].
HOLD = 2.0
#: Above this a series is said to drift or jump [1 % of steady series; 2 % of AR(.9)].
SAY = 2.3
#: Power of t (1 − t) that the sums are divided by: 0 looks at the middle of a series only, ½ at
#: its ends.
_WEIGHT = 0.25
#: Share of a series, and number of trials, that a level must have at least.
_LEAST_SHARE, _LEAST = 0.05, 5


@dataclass(frozen=True)
class Change:
    """The largest change of level in a series.

    Attributes
    ----------
    kind : {"drift", "jump"}
        Whether a line or a step describes it better.
    size : float
        Relative to the quantile: from the first trial to the last, or at the jump.
    place : int
        Trials before the change; for a drift, all.
    statistic : float
        To be compared with :data:`HOLD` and :data:`SAY`.
    """

    kind: Literal["drift", "jump"]
    size: float
    place: int
    statistic: float


def change_statistics(rows: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Largest weighted sum of deviations from the mean, in units of what chance gives.

    The dependence time is that of the residuals about the best step or the best line, the smaller
    of both: otherwise a change would count as autocorrelation, and hide itself.

    Parameters
    ----------
    rows : array, shape (m, n)
        Scores of m series, such as their ranks, in order of time.

    Returns
    -------
    (array, array), both of shape (m,)
        The statistic, and the number of trials before the largest change. The statistic's
        distribution is that of no particular distribution of the values; it is simulated: see
        :data:`HOLD`.
    """
    m, n = rows.shape
    deviations = rows - rows.mean(axis=1, keepdims=True)
    scale = deviations.std(axis=1)
    least = max(_LEAST, round(_LEAST_SHARE * n))
    share = np.arange(least, n - least + 1) / n
    weights = (share * (1 - share)) ** _WEIGHT * math.sqrt(n)
    sums = cut_statistics(deviations, least, weights)
    place = sums.argmax(axis=1) + least
    tau = np.minimum(
        dependence_times(residuals_of_cuts(deviations, place)),
        dependence_times(residuals_of_lines(deviations)),
    )
    largest = sums.max(axis=1)
    statistic = np.divide(largest, scale, out=np.zeros(m), where=scale > 0) / np.sqrt(tau)
    return statistic, place


def scores(rows: FloatArray, quantile: float) -> list[FloatArray]:
    """Return what is looked at: ranks, and for a quantile far out whether values are beyond it."""
    found = [ranks(rows)]
    if quantile != 0.5:
        beyond = rows <= np.quantile(rows, quantile, axis=1, keepdims=True)
        found.append(beyond.astype(float))
    return found


def largest_change(values: FloatArray, quantile: float = 0.5) -> Change:
    """Find the largest change of level in one series, and whether it drifts or jumps.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; at least 20.
    quantile : float
        The quantile that matters; also looked at by itself where it is not the median.
    """
    best: Change | None = None
    x = np.asarray(values, dtype=float)
    for number, score in enumerate(scores(x[None], quantile)):
        statistic, place = change_statistics(score)
        found = _describe(x, score[0], 0.5 if number == 0 else quantile, int(place[0]))
        change = Change(*found, float(statistic[0]))
        if best is None or change.statistic > best.statistic:
            best = change
    assert best is not None
    return best


def _describe(
    values: FloatArray, score: FloatArray, quantile: float, place: int
) -> tuple[Literal["drift", "jump"], float, int]:
    """Return which of drift and jump leaves less squared error, its relative size and place."""
    n = len(values)
    line, step = residuals_of_lines(score - score.mean()), residuals_of_levels(score, [place])
    half = n // 2
    whole = abs(float(np.quantile(values, quantile)))
    if float(line @ line) < float(step @ step):
        return "drift", _drift(_levels(values, half, n - half, quantile), whole), n
    return "jump", _relative(*_levels(values, place, place, quantile), whole), place


def _levels(values: FloatArray, end: int, begin: int, quantile: float) -> tuple[float, float]:
    """Return the quantile of the first values and of the last ones."""
    return float(np.quantile(values[:end], quantile)), float(np.quantile(values[begin:], quantile))


def _drift(halves: tuple[float, float], whole: float) -> float:
    """Return the change from first to last that the levels of both halves show, relative."""
    first, second = halves
    if min(first, second) > 0:
        # From the middle of one half to that of the other is half of the way.
        return (second / first) ** 2 - 1
    return 2 * _relative(first, second, whole)


def _relative(before: float, after: float, whole: float) -> float:
    """Divide a change by the level, or by where it came from if that is more; 0: both are 0."""
    scale = max(whole, abs(before))
    return (after - before) / scale if scale else 0.0
