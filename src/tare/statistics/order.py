"""Does the order of the trials tell anything? One joint test with one error budget.

If trials are exchangeable, every order of their ranks is as likely, whatever their distribution.
So all statistics are taken of normal scores, their thresholds are known by simulation for every n,
and one budget of 5 % holds for all of them together: autocorrelation (positive, and negative as
alternation), periods, a step, a drift, and a spread that changes over time.

Source: Geyer 1992; Csörgő and Horváth 1997; thresholds by simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from tare.statistics.dependence import autocorrelation, dependence_time, first_correlations
from tare.statistics.distributions import normal_quantiles
from tare.statistics.downsample import Course, course_of
from tare.statistics.periodicity import Periodicity, periodicity
from tare.statistics.permutation import permutation_p
from tare.statistics.segmentation import cut_statistics
from tare.statistics.statistic import FloatArray, IndexArray, median_of_ordered

#: Trials below which order says nothing.
FEWEST = 6
#: Dependence time of a first-order autoregression of .2, from which on dependence matters …
MOST_TAU = 1.5
#: … and its correlation of neighbours; a period matters where it explains as much variance.
_LEAST_CORRELATION = 0.2
#: Ratio of the spreads before and after a place from which on their difference matters.
LEAST_SPREAD_RATIO = 1.5
#: Sizes and thresholds: 4,000 to 100,000 shuffles of normal scores at each size.
_SIZES = (6, 8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 8192)
#: Shares of shuffled series that exceed each threshold; any of them, 2.4 to 4.8 %. At n = 20
#: alternation has 1 %, taken from periods and spread, which so few trials hardly show.
_LEVELS = {
    "memory": 0.015,
    "alternation": 0.006,
    "step": 0.017,
    "drift": 0.011,
    "period": 0.004,
    "spread memory": 0.003,
    "spread step": 0.003,
}
_LIMITS = {
    "memory": (
        1.65, 1.9, 2.07, 2.14, 2.19, 2.42, 2.51, 2.73, 2.9, 3.03, 3.11, 3.16, 3.2, 3.26, 3.29,
    ),
    "alternation": (
        1.76, 1.97, 2.07, 2.17, 2.22, 2.15, 2.32, 2.42, 2.47, 2.5, *(2.51,) * 5,
    ),
    "step": (
        1.89, 2.2, 2.45, 2.58, 2.66, 2.81, 2.99, 3.11, 3.28, 3.39, 3.49, 3.58, 3.65, 3.71, 3.74,
    ),
    "drift": (
        2.12, 2.23, 2.29, 2.34, 2.37, 2.44, 2.48, 2.49, 2.51, *(2.54,) * 6,
    ),
    "period": (
        0, 4.56, 6.26, 6.83, 7.61, 9.2, 9.2, 10, 11, 12.4, 14, 15.4, 15.7, 16.1, 16.4,
    ),
    "spread memory": (
        2.01, 2.36, 2.51, 2.66, 2.78, 3.35, 3.27, 3.42, 3.76, 3.85, 3.95, 4.05, 4.1, 4.18, 4.22,
    ),
    "spread step": (
        2, 2.3, 2.51, 2.73, 2.92, 3.3, 3.33, 3.51, 3.75, 3.86, 3.95, 4.02, 4.08, 4.14, 4.2,
    ),
}  # fmt: skip
#: How thresholds grow with the number m of series that are tested together, so that all of them
#: exceed one as seldom as a single series does: by g log m (autocorrelation), or to the root of
#: limit² + 2 g log m. From the tails of 30,000 to 300,000 shuffles at each size, for 10 and 100
#: series; log m for periods, whose statistic is the logarithm of a probability.
_FAMILIES = (10, 100)
_GROWTH_SIZES = (8, 10, 15, 20, 30, 50, 100, 300, 1000)
_GROWTH = {
    "memory": (
        (0.16, 0.23, 0.34, 0.39, 0.44, 0.55, 0.54, 0.54, 0.54),
        (0.1, 0.18, 0.3, 0.37, 0.43, 0.51, 0.56, 0.56, 0.56),
    ),
    "step": (
        (0.05, 0.05, 0.37, 0.49, 0.61, 0.77, 0.9, 1, 1.2),
        (0.05, 0.05, 0.24, 0.41, 0.56, 0.73, 0.9, 1, 1.1),
    ),
    "drift": (
        (0.25, 0.34, 0.53, 0.69, 0.77, 0.81, 0.87, 0.87, 1.03),
        (0.18, 0.28, 0.47, 0.57, 0.69, 0.78, 0.95, 0.95, 1),
    ),
}
#: Where more than this share of the values are equal, or any of so few, what exceeds a threshold is
#: confirmed by shuffling.
_MANY_TIES = 0.3
_FEW = 20
_SHUFFLES = 499
#: Statistics that differ by no more are equal.
_ROUNDING = 1e-9

#: What makes trials depend on each other, or their spread on time.
Kind = Literal["autocorrelation", "alternation", "period", "spread"]


@dataclass(frozen=True)
class SpreadChange:
    """How the spread of the values changes over time.

    Attributes
    ----------
    memory, step : float
        Of distances from the median, as those of the values: their autocorrelation, and their
        clearest step.
    at : int
        Index at which the later spread begins, where a step of it is clearest.
    ratio : float
        Median distance from the median after it over that before.
    tau : float
        Dependence time of the distances.
    """

    memory: float
    step: float
    at: int
    ratio: float
    tau: float

    @property
    def size(self) -> float:
        """The ratio or its inverse, whichever is at least 1."""
        return max(self.ratio, 1 / self.ratio if self.ratio > 0 else np.inf)


@dataclass(frozen=True, eq=False)
class Order:
    """What the order of a series tells.

    Attributes
    ----------
    memory, alternation, step, drift : float
        Statistics in standard deviations of a shuffled series: positive autocorrelation over
        the lags where it is clearest, negative correlation of neighbours, difference of level
        before and after the place where it is clearest, linear trend.
    period : Periodicity
    spread : SpreadChange
    remembers, alternates, recurs, steps, drifts, spreads : bool
        Whether each exceeds what all but its share of 5 % of shuffled series reach.
    at : int
        Index of the course at which the later level begins, where the step is clearest.
    tau : float
        Dependence time: trials that are worth one independent trial, at least 1.
    neighbours : float
        Correlation of neighbouring normal scores.
    course : Course
        The values that were looked at.
    """

    memory: float
    alternation: float
    step: float
    drift: float
    period: Periodicity
    spread: SpreadChange
    remembers: bool
    alternates: bool
    recurs: bool
    steps: bool
    drifts: bool
    spreads: bool
    at: int
    tau: float
    neighbours: float
    course: Course

    @property
    def moves(self) -> bool:
        """Whether the level may have changed: it does where trials are autocorrelated, too."""
        return self.remembers or self.steps or self.drifts

    @property
    def kind(self) -> Kind | None:
        """What is both shown and large enough to matter; the first of several."""
        if self.remembers and self.tau > MOST_TAU:
            return "autocorrelation"
        alternates = self.alternates and self.neighbours < -_LEAST_CORRELATION
        if (
            self.recurs
            and self.period.share > (self.neighbours if alternates else _LEAST_CORRELATION) ** 2
        ):
            return "period"
        if alternates:
            return "alternation"
        if self.spreads and (self.spread.size > LEAST_SPREAD_RATIO or self.spread.tau > MOST_TAU):
            return "spread"
        return None

    @property
    def dependence(self) -> float:
        """Trials that are worth one independent trial; 1 where no autocorrelation is shown.

        An estimated time is above 1 by chance as well: to widen by it always would only blur.
        """
        return self.tau if self.kind == "autocorrelation" else 1.0

    def beyond(self, tau: float) -> tuple[bool, bool]:
        """Whether a step and a drift are shown even if ``tau`` trials are worth one."""
        if tau == 1:
            return self.steps, self.drifts
        step, drift = (x / tau**0.5 for x in (self.step, self.drift))
        n = len(self.course.values)
        return step > _limit("step", n), drift > _limit("drift", n)

    def holds_among(self, series: int) -> bool:
        """Whether something is shown that at most 5 % of so many shuffled series show together."""
        n, single = len(self.course.values), self.course.stretch
        shown = (
            ("memory", self.remembers, self.memory, n),
            ("alternation", self.alternates, self.alternation, len(single)),
            ("step", self.steps, self.step, n),
            ("drift", self.drifts, self.drift, n),
            ("period", self.recurs, self.period.surprise, len(single)),
            ("spread memory", self.spreads, self.spread.memory, len(self.course.spaced)),
            ("spread step", self.spreads, self.spread.step, len(self.course.spaced)),
        )
        return any(is_shown and x > _limit_among(name, n, series) for name, is_shown, x, n in shown)


def order_of(series: FloatArray | Course, sorter: IndexArray | None = None) -> Order | None:
    """Test jointly for autocorrelation of either sign, periods, a step, a drift, a changing spread.

    Parameters
    ----------
    series : array, shape (n,), or Course
        In order of time; memory maps included. Above 8192 values, means of 4096 blocks are
        looked at instead, periods in the 8192 values in the middle, the spread in values evenly
        spaced: see :mod:`tare.statistics.downsample`.
    sorter : int array, shape (n,), optional
        Indices that sort the series, where they are known.

    Returns
    -------
    Order or None
        None below 6 values, or where all values are equal.

    Notes
    -----
    Assumes nothing of the distribution. Shuffled series, and so independent ones, show anything
    in at most 5 %. Where more than 30 % of the values are equal (or any of fewer than 20), the
    thresholds of normal scores do not hold, and what exceeds them is confirmed by 499 shuffles.

    References
    ----------
    Geyer 1992 for the dependence time; Csörgő and Horváth, Limit theorems in change-point
    analysis, 1997, for the weighted scan.
    """
    course = series if isinstance(series, Course) else course_of(series, sorter)
    n = len(course.values)
    if n < FEWEST:
        return None
    single = normal_scores(course.stretch, course.stretch_sorter)
    scores = single if course.block == 1 else normal_scores(course.values, course.sorter)
    if not scores.any():
        return None
    distances, distance_sorter = _distances(course)
    spreads = normal_scores(distances, distance_sorter)
    correlations, steps = _first_correlations(scores), _steps(scores)
    found = {
        "memory": _memory(correlations, n),
        "step": float(steps.max()),
        "drift": drift(scores),
    }
    alternates, ordered = alternation(single), single[course.stretch_sorter]
    period = periodicity(single, _limit("period", len(single)), ordered)
    spread = _spread_change(distances, distance_sorter, spreads)
    shown = {
        "memory": _exceeds("memory", found["memory"], memory, scores),
        "alternation": _exceeds("alternation", alternates, alternation, single),
        "step": _exceeds("step", found["step"], step, scores),
        "drift": _exceeds("drift", found["drift"], drift, scores),
        "period": _exceeds("period", period.surprise, _surprise_from(period.surprise), single),
        "spread": _exceeds("spread memory", spread.memory, memory, spreads)
        or _exceeds("spread step", spread.step, step, spreads),
    }
    tau = 1.0
    if course.block == 1 or shown["memory"]:
        tau = dependence_time(scores, correlations)
    if course.block > 1:
        tau = max(1.0, tau * course.block * float(np.var(course.values)) / course.variance)
    slow_start = _slow_start(course.values)
    return Order(
        **found,
        alternation=alternates,
        period=period,
        spread=spread,
        # Blocks that average enough values are independent even where their values are not.
        remembers=shown["memory"] or (course.block > 1 and tau > 1.25),
        alternates=shown["alternation"],
        recurs=shown["period"],
        steps=shown["step"] or slow_start,
        drifts=shown["drift"],
        spreads=shown["spread"],
        at=2 if slow_start and not shown["step"] else int(steps.argmax()) + _shortest(n),
        tau=tau,
        neighbours=float(first_correlations(single[None])[0]),
        course=course,
    )


def normal_scores(values: FloatArray, sorter: IndexArray | None = None) -> FloatArray:
    """Turn ranks into normal quantiles of mean 0 and variance 1; zeros if all values are equal.

    Parameters
    ----------
    values : array, shape (n,)
    sorter : int array, shape (n,), optional
        Indices that sort the values, where they are known.
    """
    n = len(values)
    at = np.argsort(values) if sorter is None else sorter
    ordered = values[at]
    rises = ordered[1:] != ordered[:-1]
    scores = np.empty(n)
    if rises.all():
        scores[at] = _distinct_scores(n)
        return scores
    ends = np.append(np.flatnonzero(rises) + 1, n)
    counts = np.diff(ends, prepend=0)
    # The mean of equal values' ranks, less ½, is the middle of their places.
    scores[at] = np.repeat(_normal_quantiles(n)[2 * ends - counts - 1], counts)
    return _standardised(scores)


@lru_cache(maxsize=16)
def _distinct_scores(n: int) -> FloatArray:
    """Return the normal scores of n different values, ascending."""
    return _standardised(normal_quantiles((np.arange(n) + 0.5) / n))


@lru_cache(maxsize=16)
def _normal_quantiles(n: int) -> FloatArray:
    """Return the normal quantiles of 1/2n, 2/2n, … (2n − 1)/2n, for ranks and means of two."""
    return normal_quantiles(np.arange(1, 2 * n) / (2 * n))


def _standardised(scores: FloatArray) -> FloatArray:
    scores = scores - scores.mean()
    deviation = float(scores.std())
    return np.asarray(scores / deviation) if deviation > 1e-9 else np.zeros(len(scores))


def _distances(course: Course) -> tuple[FloatArray, IndexArray]:
    """Return the distances of spaced values from their median, and the indices that sort them."""
    spaced, sorter = course.spaced, course.spaced_sorter
    middle = median_of_ordered(spaced[sorter])
    distances = np.abs(spaced - middle)
    below = int(np.searchsorted(spaced, middle, sorter=sorter))
    # A stable sort merges what is ascending already: to either side of the median.
    outwards = np.concatenate([sorter[:below][::-1], sorter[below:]])
    return distances, outwards[np.argsort(distances[outwards], kind="stable")]


def memory(scores: FloatArray) -> float:
    """Largest standardised sum of the autocorrelations up to lags 1, 2, 4, … n/4."""
    return _memory(_first_correlations(scores), len(scores))


def _first_correlations(scores: FloatArray) -> FloatArray:
    """Autocorrelations up to the last lag that ``memory`` looks at."""
    return autocorrelation(scores, max(1, len(scores) // 4))


def _memory(correlations: FloatArray, n: int) -> float:
    doublings = int(np.log2(max(1, n // 4)))
    ends = 2 ** np.arange(doublings + 1)
    sums = np.cumsum(correlations[1 : ends[-1] + 1])[ends - 1]
    # Of shuffled series, the mean and the variance of a sum of n − 1, n − 2, … products.
    products = ends * n - ends * (ends + 1) / 2
    return float(((sums + products / (n * (n - 1))) / np.sqrt(products / n**2)).max())


def alternation(scores: FloatArray) -> float:
    """Standardised negative correlation of neighbours.

    Further lags, whose signs alternate with it, add more noise than evidence in short series.
    """
    n = len(scores)
    return float(-(scores[1:] @ scores[:-1] / n + 1 / n) * n / np.sqrt(n - 1))


def step(scores: FloatArray) -> float:
    """Largest standardised difference of the means before and after a place."""
    return float(_steps(scores).max())


def _steps(scores: FloatArray) -> FloatArray:
    """Standardised difference of the means before and after each place but the outermost."""
    return cut_statistics(scores, _shortest(len(scores)))


def _shortest(n: int) -> int:
    """Values on the shorter side of a step: fewer are outliers."""
    return 2 if n < 50 else 5


def _slow_start(values: FloatArray) -> bool:
    """Whether the first two values are the two largest: the scan cannot afford so short a step.

    Of 20 shuffled values they are in 0.5 %, of more in fewer.
    """
    return len(values) >= 20 and min(values[:2]) > np.max(values[2:])


def drift(scores: FloatArray) -> float:
    """Standardised linear trend."""
    n = len(scores)
    time = np.arange(n) - (n - 1) / 2
    return float(abs(scores @ time) / np.sqrt(time @ time * n / (n - 1)))


def _spread_change(distances: FloatArray, sorter: IndexArray, scores: FloatArray) -> SpreadChange:
    steps = _steps(scores)
    at = int(steps.argmax()) + _shortest(len(scores))
    early = sorter < at
    before, after = (median_of_ordered(distances[sorter[some]]) for some in (early, ~early))
    ratio = after / before if before > 0 else np.inf if after > 0 else 1.0
    correlations = _first_correlations(scores)
    tau = dependence_time(scores, correlations)
    return SpreadChange(_memory(correlations, len(scores)), float(steps.max()), at, ratio, tau)


def _surprise_from(least: float) -> Callable[[FloatArray], float]:
    return lambda scores: periodicity(scores, least - _ROUNDING).surprise


def _exceeds(
    name: str, found: float, statistic: Callable[[FloatArray], float], scores: FloatArray
) -> bool:
    """Whether a statistic, found of some scores, exceeds its threshold.

    With many ties also, whether it exceeds what shuffles of these scores reach.
    """
    if not found > _limit(name, len(scores)):
        return False
    return not _tied(scores) or _confirmed(statistic, scores, found, _LEVELS[name])


def _tied(scores: FloatArray) -> bool:
    """Whether there are too many ties, or too few values with any, for the thresholds to hold."""
    n, ordered = len(scores), np.sort(scores)
    if n < _FEW:
        return bool((ordered[1:] == ordered[:-1]).any())
    # More than so many equal values reach from one place to another that far away.
    reach = int(_MANY_TIES * n)
    return bool((ordered[reach:] == ordered[: n - reach]).any())


def _confirmed(
    statistic: Callable[[FloatArray], float], scores: FloatArray, found: float, level: float
) -> bool:
    """Whether shuffles of the same scores exceed the statistic no more often than its level."""
    rng = np.random.default_rng(1)
    p = permutation_p(
        lambda: statistic(rng.permutation(scores)), found - _ROUNDING, _SHUFFLES, level
    )
    return p <= level


@lru_cache(maxsize=64)
def _limit(name: str, n: int) -> float:
    return float(np.interp(np.log(n), np.log(_SIZES), _LIMITS[name]))


def _limit_among(name: str, n: int, series: int) -> float:
    """Threshold of a statistic where so many series of length n are tested together."""
    limit, log = _limit(name, n), float(np.log(series))
    if name == "period":
        return limit + log
    kind = name.removeprefix("spread ")
    growth = [
        np.interp(np.log(n), np.log(_GROWTH_SIZES), row)
        for row in _GROWTH["drift" if kind == "alternation" else kind]
    ]
    g = float(np.interp(log, np.log(_FAMILIES), growth))
    return limit + g * log if kind == "memory" else float(np.sqrt(limit**2 + 2 * g * log))
