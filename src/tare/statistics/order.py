"""Does the order of the trials tell anything? One joint test of memory, steps and drift.

If trials are exchangeable, every order of their ranks is as likely, whatever their distribution.
So all three statistics are taken of normal scores, their thresholds are known by simulation for
every n, and one budget of 5 % holds for all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from tare.registry import Description
from tare.statistics.course import Course, course_of
from tare.statistics.dependence import autocorrelation, dependence_time
from tare.statistics.statistic import FloatArray, Statistic

BoolArray = NDArray[np.bool_]

#: Trials below which order says nothing.
FEWEST = 6
#: Sizes and thresholds: 10,000 to 100,000 shuffles of normal scores at each size; the levels of
#: memory, step and drift are 2, 2.2 and 1.5 %, together 3 to 4.7 %.
_SIZES = (6, 8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 8192)
_MEMORY = (1.62, 1.83, 1.96, 2.02, 2.09, 2.29, 2.38, 2.57, 2.74, 2.83, 2.93, 2.99, 3.02, 3.07, 3.1)
_STEP = (1.89, 2.2, 2.44, 2.49, 2.66, 2.79, 2.94, 3.05, 3.23, 3.32, 3.44, 3.49, 3.55, 3.6, 3.62)
_DRIFT = (2.05, 2.15, 2.22, 2.26, 2.3, 2.33, 2.38, 2.4, 2.42, *(2.43,) * 6)
_LEVELS = np.array([0.02, 0.022, 0.015])
#: Where more than this share of the values are equal, or any of so few, what exceeds a threshold is
#: confirmed by shuffling.
_MANY_TIES = 0.5
_FEW = 20
_SHUFFLES = 499


@dataclass(frozen=True, eq=False)
class Order:
    """What the order of a series tells.

    Attributes
    ----------
    memory, step, drift : float
        Statistics in standard deviations of a shuffled series: positive autocorrelation over
        the lags where it is clearest, difference of level before and after the place where it is
        clearest, linear trend.
    remembers, steps, drifts : bool
        Whether each exceeds what all but its share of 5 % of shuffled series reach.
    at : int
        Index of the course at which the later level begins, where the step is clearest.
    tau : float
        Dependence time: trials that are worth one independent trial, at least 1.
    course : Course
        The values that were looked at.
    """

    memory: float
    step: float
    drift: float
    remembers: bool
    steps: bool
    drifts: bool
    at: int
    tau: float
    course: Course

    @property
    def matters(self) -> bool:
        """Whether the order tells anything at all: true of at most 5 % of shuffled series."""
        return self.remembers or self.steps or self.drifts

    def beyond(self, tau: float) -> tuple[bool, bool]:
        """Whether a step and a drift are shown even if ``tau`` trials are worth one."""
        if tau == 1:
            return self.steps, self.drifts
        step, drift = (x / tau**0.5 for x in (self.step, self.drift))
        n = len(self.course.values)
        return step > _threshold(_STEP, n), drift > _threshold(_DRIFT, n)


def order_of(series: FloatArray | Course) -> Order | None:
    """Test jointly for memory, a step and a drift.

    Parameters
    ----------
    series : array, shape (n,), or Course
        In order of time; memory maps included. Above 8192 values, means of 4096 blocks are
        looked at instead, see :mod:`tare.statistics.course`.

    Returns
    -------
    Order or None
        None below 6 values, or where all values are equal.

    Notes
    -----
    Assumes nothing of the distribution. Shuffled series, and so independent ones, show anything
    in at most 5 %. Where more than half of the values are equal (or any of fewer than 20), the
    thresholds of normal scores do not hold, and what exceeds them is confirmed by 499 shuffles.

    References
    ----------
    Geyer 1992 for the dependence time; Csörgő and Horváth, Limit theorems in change-point
    analysis, 1997, for the weighted scan.
    """
    course = series if isinstance(series, Course) else course_of(series)
    n = len(course.values)
    if n < FEWEST:
        return None
    scores = normal_scores(course.values)
    if not scores.any():
        return None
    found = np.array([_memory(scores), _steps(scores).max(), _drift(scores)])
    limits = np.array([_threshold(table, n) for table in (_MEMORY, _STEP, _DRIFT)])
    beyond = found > limits
    if beyond.any() and _tied(course.values):
        beyond = _confirmed(scores, found, beyond)
    tau = dependence_time(scores) if course.block == 1 or beyond[0] else 1.0
    if course.block > 1:
        tau = max(1.0, tau * course.block * float(np.var(course.values)) / course.variance)
    slow_start = _slow_start(course.values)
    return Order(
        memory=float(found[0]),
        step=float(found[1]),
        drift=float(found[2]),
        # Blocks that average enough values are independent even where their values are not.
        remembers=bool(beyond[0]) or (course.block > 1 and tau > 1.25),
        steps=bool(beyond[1]) or slow_start,
        drifts=bool(beyond[2]),
        at=2 if slow_start and not beyond[1] else int(_steps(scores).argmax()) + _shortest(n),
        tau=tau,
        course=course,
    )


def normal_scores(values: FloatArray) -> FloatArray:
    """Turn ranks into normal quantiles of mean 0 and variance 1; zeros if all values are equal."""
    n = len(values)
    scores = special.ndtri((stats.rankdata(values) - 0.5) / n)
    scores -= scores.mean()
    spread = float(scores.std())
    return np.asarray(scores / spread) if spread > 1e-9 else np.zeros(n)


def _memory(scores: FloatArray) -> float:
    """Largest standardised sum of the autocorrelations up to lags 1, 2, 4, … n/4."""
    n = len(scores)
    doublings = int(np.log2(max(1, n // 4)))
    lags = np.arange(1, 2**doublings + 1)
    chance, variance = -(n - lags) / (n * (n - 1)), (n - lags) / n**2
    excess = np.cumsum(autocorrelation(scores)[lags] - chance) / np.sqrt(np.cumsum(variance))
    return float(excess[2 ** np.arange(doublings + 1) - 1].max())


def _steps(scores: FloatArray) -> FloatArray:
    """Standardised difference of the means before and after each place but the outermost."""
    n, shortest = len(scores), _shortest(len(scores))
    before = np.arange(shortest, n - shortest + 1)
    sums = np.abs(np.cumsum(scores)[before - 1])
    return np.asarray(sums / np.sqrt(before * (n - before) / (n - 1)))


def _shortest(n: int) -> int:
    """Values on the shorter side of a step: fewer are outliers."""
    return 2 if n < 50 else 5


def _slow_start(values: FloatArray) -> bool:
    """Whether the first two values are the two largest: the scan cannot afford so short a step.

    Of 20 shuffled values they are in 0.5 %, of more in fewer.
    """
    return len(values) >= 20 and min(values[:2]) > np.max(values[2:])


def _drift(scores: FloatArray) -> float:
    n = len(scores)
    time = np.arange(n) - (n - 1) / 2
    return float(abs(scores @ time) / np.sqrt(time @ time * n / (n - 1)))


def _tied(values: FloatArray) -> bool:
    """Whether there are too many ties, or too few values with any, for the thresholds to hold."""
    n, counts = len(values), np.unique(values, return_counts=True)[1]
    return bool(counts.max() > _MANY_TIES * n or (n < _FEW and counts.max() > 1))


def _confirmed(scores: FloatArray, found: FloatArray, beyond: BoolArray) -> BoolArray:
    """Keep what shuffles of the same scores exceed no more often than its level."""
    rng = np.random.default_rng(1)
    exceeded, most = np.ones(3), _LEVELS * (_SHUFFLES + 1)
    for _ in range(_SHUFFLES):
        x = rng.permutation(scores)
        exceeded += np.array([_memory(x), _steps(x).max(), _drift(x)]) >= found - 1e-9
        if not (beyond & (exceeded <= most)).any():
            break
    return np.asarray(beyond & (exceeded <= most))


def _threshold(table: tuple[float, ...], n: int) -> float:
    return float(np.interp(np.log(n), np.log(_SIZES), table))


UNIT = Statistic(
    description=Description(
        name="order",
        title="Joint test of memory, steps and drift on normal scores",
        question="Does the order of the trials tell anything?",
        source="Geyer 1992; Csörgő and Horváth 1997; thresholds by simulation",
    ),
    methods=(order_of, normal_scores),
)
