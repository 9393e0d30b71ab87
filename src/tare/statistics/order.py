"""Does the order of the trials tell anything? One joint test of memory, steps and drift.

If trials are exchangeable, every order of their ranks is as likely, whatever their distribution.
So all three statistics are taken of normal scores, their thresholds are known by simulation for
every n, and one budget of 5 % holds for all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from tare.registry import Description
from tare.statistics.dependence import autocorrelation, dependence_time
from tare.statistics.statistic import FloatArray, Statistic

#: Trials below which order says nothing.
FEWEST = 6
#: Longest series that is looked at value by value; longer ones are averaged over blocks.
MOST = 8192
_BLOCKS = 4096
#: Sizes and thresholds: 10,000 to 100,000 shuffles of normal scores at each size; the levels of
#: memory, step and drift are 2, 2.2 and 1.5 %, together 3 to 4.7 %.
_SIZES = (6, 8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 8192)
_MEMORY = (1.62, 1.83, 1.96, 2.02, 2.09, 2.29, 2.38, 2.57, 2.74, 2.83, 2.93, 2.99, 3.02, 3.07, 3.1)
_STEP = (1.89, 2.2, 2.44, 2.49, 2.66, 2.79, 2.94, 3.05, 3.23, 3.32, 3.44, 3.49, 3.55, 3.6, 3.62)
_DRIFT = (2.05, 2.15, 2.22, 2.26, 2.3, 2.33, 2.38, 2.4, 2.42, *(2.43,) * 6)


@dataclass(frozen=True)
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
        Index at which the later level begins, where the step is clearest.
    tau : float
        Dependence time: trials that are worth one independent trial.
    block : int
        Values averaged before looking; 1 up to ``MOST`` values.
    """

    memory: float
    step: float
    drift: float
    remembers: bool
    steps: bool
    drifts: bool
    at: int
    tau: float
    block: int

    @property
    def matters(self) -> bool:
        """Whether the order tells anything at all: true of at most 5 % of shuffled series."""
        return self.remembers or self.steps or self.drifts


def order_of(values: FloatArray) -> Order | None:
    """Test jointly for memory, a step and a drift.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; memory maps included. Above 8192 values, means of 4096 blocks of
        values drawn in to Tukey's far fences are looked at instead.

    Returns
    -------
    Order or None
        None below 6 values, or where all values are equal.

    Notes
    -----
    Assumes nothing of the distribution. Shuffled series, and so independent ones, show anything
    in at most 5 %.

    References
    ----------
    Geyer 1992 for the dependence time; Csörgő and Horváth, Limit theorems in change-point
    analysis, 1997, for the weighted scan.
    """
    n = len(values)
    if n < FEWEST:
        return None
    blocks, block = condense(values)
    scores = normal_scores(blocks)
    if not scores.any():
        return None
    m = len(scores)
    memory, (step, at), drift = _memory(scores), _step(scores), _drift(scores)
    tau = dependence_time(scores)
    if block > 1:
        tau = max(1.0, block * float(np.var(blocks)) / float(np.var(sample(values))))
    return Order(
        memory=memory,
        step=step,
        drift=drift,
        remembers=(memory > _threshold(_MEMORY, m)) if block == 1 else tau > 1.25,
        steps=step > _threshold(_STEP, m),
        drifts=drift > _threshold(_DRIFT, m),
        at=at * block,
        tau=tau,
        block=block,
    )


def condense(values: FloatArray) -> tuple[FloatArray, int]:
    """Average blocks of a long series, after drawing its outliers in.

    Returns
    -------
    blocks : array
        The values as they are up to ``MOST`` of them; means of at most 4096 blocks otherwise.
    block : int
        Values in a block; the incomplete last block is left out.
    """
    n = len(values)
    if n <= MOST:
        return np.asarray(values, dtype=float), 1
    low, high = fences(sample(values))
    block = -(-n // _BLOCKS)
    starts = range(0, n - block + 1, block)
    means = [float(np.clip(values[i : i + block], low, high).mean()) for i in starts]
    return np.array(means), block


def sample(values: FloatArray, most: int = MOST) -> FloatArray:
    """Evenly spaced values of a long series; all values of a short one."""
    step = max(1, len(values) // most)
    return np.asarray(values[::step][:most] if step > 1 else values, dtype=float)


def fences(values: FloatArray) -> tuple[float, float]:
    """Tukey's far fences: three interquartile ranges beyond the quartiles.

    All values where the quartiles are equal: more than half of them are then ties.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    if low == high:
        return float(np.min(values)), float(np.max(values))
    return float(low - 3 * (high - low)), float(high + 3 * (high - low))


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
    lags = np.arange(1, 2 ** int(np.log2(max(1, n // 4))) + 1)
    chance, variance = -(n - lags) / (n * (n - 1)), (n - lags) / n**2
    excess = np.cumsum(autocorrelation(scores)[lags] - chance) / np.sqrt(np.cumsum(variance))
    return float(excess[2 ** np.arange(int(np.log2(len(lags))) + 1) - 1].max())


def _step(scores: FloatArray) -> tuple[float, int]:
    """Largest standardised difference of the means before and after, and where."""
    n = len(scores)
    shortest = 2 if n < 50 else 5
    before = np.arange(shortest, n - shortest + 1)
    sums = np.abs(np.cumsum(scores)[before - 1])
    standardised = sums / np.sqrt(before * (n - before) / (n - 1))
    best = int(standardised.argmax())
    return float(standardised[best]), int(before[best])


def _drift(scores: FloatArray) -> float:
    n = len(scores)
    time = np.arange(n) - (n - 1) / 2
    return float(abs(scores @ time) / np.sqrt(time @ time * n / (n - 1)))


def _threshold(table: tuple[float, ...], n: int) -> float:
    return float(np.interp(np.log(n), np.log(_SIZES), table))


UNIT = Statistic(
    description=Description(
        name="order",
        title="Joint test of memory, steps and drift on normal scores",
        question="Does the order of the trials tell anything?",
        source="Geyer 1992; Csörgő and Horváth 1997; thresholds by simulation",
    ),
    methods=(order_of, condense, normal_scores),
)
