"""Is a series periodic? Values that recur every so many trials, as pulses or as a wave.

Source: Fisher 1929; Staelin 1969 (folding); Kovács et al. 2002 (boxes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tare.statistics.distributions import student_cdf
from tare.statistics.statistic import FloatArray

#: Periods that a series must hold: with fewer, a few extremes recur by chance.
FEWEST_PERIODS = 4
#: Longest period that pulses are sought at: rarer ones explain less than 4 % of the variance of
#: normal scores, which is too little to matter.
_LONGEST = 200
#: A pulse of several trials counts as if it were found among as many more patterns as there are
#: values for each of so many [of shuffled series, such pulses exceed the limit in 0.1 %].
_VALUES_A_WIDTH = 6
#: Widths of pulses above this one are tried in such steps.
_WIDTH_STEP = 1.2
#: Frequencies between two of the discrete transform, at which a wave would else lose half.
_OVERSAMPLING = 2
#: Phases of the runs that bound the sums of all others; the last is 1.
_SHORT_RUNS = (8, 4, 2, 1)
#: Frequencies between two of these that a wave is taken out at.
_FINER = 10


@dataclass(frozen=True)
class Periodicity:
    """The clearest period of a series.

    Attributes
    ----------
    surprise : float
        −ln p of its pattern, as if that were the only one tried; 0 where the series is too short.
    period : float
        Trials from one recurrence to the next, at least 2.
    share : float
        Of the variance of the scores that the pattern explains, 0 to 1.
    """

    surprise: float
    period: float
    share: float


def periodicity(scores: FloatArray, least: float = 0.0) -> Periodicity:
    """Find the clearest period from two trials to a quarter of the series.

    At each period two patterns are correlated with the scores: some phases in a row unlike the
    others (pulses of one trial to half a period, at whole periods) and a wave of any phase. If
    trials are exchangeable, the square of such a correlation is beta-distributed: exactly for
    normal values, nearly for normal scores. That the highest or lowest values fall on these phases
    without exception has an exact probability.

    Parameters
    ----------
    scores : array, shape (n,)
        Normal scores in order of time: mean 0, variance 1.
    least : float
        Patterns whose surprise is smaller need not be found.

    Returns
    -------
    Periodicity
        The surprise of the clearest of many patterns; :mod:`tare.statistics.order` knows what
        shuffled series reach.

    References
    ----------
    Fisher, Tests of significance in harmonic analysis, Proc. R. Soc. A 125, 1929.
    """
    if len(scores) < 2 * FEWEST_PERIODS:
        return Periodicity(0.0, 2.0, 0.0)
    return max(_pulses(scores, least), _waves(scores), key=_surprise)


def _pulses(scores: FloatArray, least: float) -> Periodicity:
    """Correlate with phases that are higher or lower than all others: one, or some in a row."""
    n = len(scores)
    folds = _folds(n)
    most = _only_most(np.sort(scores))
    sums = np.concatenate(_phase_sums(scores, folds.periods))
    single = _clearest(sums, folds.phases, most)
    if not len(folds.runs.sizes):
        return single
    # A run around the period is the difference of two cumulative sums.
    whole = np.append(0.0, np.cumsum(sums[folds.twice]))
    dearer = math.log(n / _VALUES_A_WIDTH)
    surprise = max(least, single.surprise) + dearer
    least_share = min(_least_share(n, surprise), folds.runs.least_of(most))
    some = folds.runs_of(folds.largest_shares(whole) >= least_share)
    if not len(some):
        return single
    sums = whole[folds.ends[some]] - whole[folds.starts[some]]
    several = _clearest(sums, folds.runs.take(some), most)
    return max(
        single, replace(several, surprise=max(0.0, several.surprise - dearer)), key=_surprise
    )


@dataclass(frozen=True)
class _Patterns:
    """Sets of trials that pulses may stand on: how many trials each has, and of which period.

    ``weights`` make a share of the variance of the square of a sum; ``different``: sizes there are.
    """

    sizes: NDArray[np.int64]
    periods: NDArray[np.int64]
    weights: FloatArray
    different: NDArray[np.int64]

    @classmethod
    def of(cls, n: int, sizes: NDArray[np.int64], periods: NDArray[np.int64]) -> _Patterns:
        return cls(sizes, periods, 1 / (sizes * (n - sizes)), np.unique(sizes))

    def take(self, some: NDArray[np.int64]) -> _Patterns:
        """Return some of the patterns."""
        return replace(
            self, sizes=self.sizes[some], periods=self.periods[some], weights=self.weights[some]
        )

    def least_of(self, most: FloatArray) -> float:
        """Least share that a pattern without exception has; see :func:`_only_most`."""
        n, some = len(most), self.different
        return float(np.min(most[some - 1] ** 2 / (some * (n - some))))


@dataclass(frozen=True)
class _Folds:
    """What all series of a length have in common: each phase, and each run of several phases.

    ``twice``: the phases of each period, two rounds of them, one period after another. A run is
    from ``starts`` to ``ends`` in the cumulative sums of these. ``widths`` and ``heaviest`` have a
    row per period: the widths of its runs, 0 where there are no more, and the largest weight of a
    run of each width; ``groups``: where the runs of each width of each period begin, and the end.
    """

    periods: range
    phases: _Patterns
    twice: NDArray[np.int64]
    runs: _Patterns
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    widths: NDArray[np.int64]
    heaviest: FloatArray
    groups: NDArray[np.int64]

    def runs_of(self, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the indices of the runs of some widths, a row per period as in ``widths``."""
        places = np.flatnonzero(wanted[self.widths > 0])
        return np.concatenate(
            [np.arange(self.groups[i], self.groups[i + 1]) for i in places.tolist()]
            or [np.empty(0, dtype=np.int64)]
        )

    def largest_shares(self, whole: FloatArray) -> FloatArray:
        """Return bounds for the shares of the variance that runs of each width explain.

        A run is a difference of two cumulative sums of its period, so that none exceeds their
        range. It also consists of shorter runs, whose largest sums are known.

        ``whole``: the cumulative sums of all periods.
        """
        begins = np.append(0, np.cumsum(2 * np.array(self.periods)))[:-1]
        range_ = np.maximum.reduceat(whole[:-1], begins) - np.minimum.reduceat(whole[:-1], begins)
        bounds = np.broadcast_to(range_[:, None], self.widths.shape)
        joined, rest = np.zeros(bounds.shape), self.widths
        for few in _SHORT_RUNS:
            runs = np.abs(whole[few:] - whole[:-few])
            joined += rest // few * np.maximum.reduceat(runs, begins)[:, None]
            rest = rest % few
        bounds = np.minimum(bounds, joined) * (1 + 1e-9)
        return np.asarray(bounds**2 * self.heaviest)


@lru_cache(maxsize=2)
def _folds(n: int) -> _Folds:
    periods = range(2, min(n // FEWEST_PERIODS, _LONGEST) + 1)
    widths_of = [_widths(period) for period in periods]
    phases, twice, starts, ends, offset = [], [], [], [], 0
    for period, widths in zip(periods, widths_of, strict=True):
        phases.append(n // period + (np.arange(period) < n % period))
        twice.append(offset // 2 + np.tile(np.arange(period), 2))
        first = np.tile(np.arange(period), len(widths))
        starts.append(offset + first)
        ends.append(offset + first + np.repeat(widths, period))
        offset += 2 * period
    start, end, both, sizes = (np.concatenate(parts) for parts in (starts, ends, twice, phases))
    whole = np.append(0, np.cumsum(sizes[both]))
    runs = _Patterns.of(
        n, whole[end] - whole[start], np.repeat(periods, [len(one) for one in starts])
    )
    table = np.zeros((len(periods), max(map(len, widths_of))), dtype=np.int64)
    heaviest = np.zeros(table.shape)
    at = 0
    for row, (period, widths) in enumerate(zip(periods, widths_of, strict=True)):
        table[row, : len(widths)] = widths
        weights = runs.weights[at : at + period * len(widths)].reshape(-1, period)
        heaviest[row, : len(widths)] = weights.max(axis=1) if len(widths) else 0.0
        at += weights.size
    phase_patterns = _Patterns.of(n, sizes, np.repeat(periods, periods))
    groups = np.repeat(periods, [len(widths) for widths in widths_of])
    groups = np.append(0, np.cumsum(groups))
    return _Folds(periods, phase_patterns, both, runs, start, end, table, heaviest, groups)


def _least_share(n: int, surprise: float) -> float:
    """Return a share of the variance below which no correlation is that surprising.

    The squared correlation has the density x^-½ (1 − x)^(b − 1) / B(½, b) with b = (n − 2)/2, and
    the first factor is at least 1.
    """
    b = (n - 2) / 2
    constant = math.log(b) + math.lgamma(0.5) + math.lgamma(b) - math.lgamma(b + 0.5)
    return -math.expm1(-max(0.0, surprise - constant) / b)


def _clearest(sums: FloatArray, patterns: _Patterns, most: FloatArray) -> Periodicity:
    """Return the clearest pulse, by correlation or without exception.

    ``sums``: of the scores on each pattern; ``most``: see :func:`_only_most`.
    """
    n, sizes = len(most), patterns.sizes
    shares = sums**2 * patterns.weights
    at = len(shares) - 1 - int(shares[::-1].argmax())  # of the same share, the longest period
    share = min(float(shares[at]), 1 - 1e-12)
    p = 2 * student_cdf(n - 2, -math.sqrt(share * (n - 2) / (1 - share)))
    found = [(-math.log(max(p, 1e-300)), int(patterns.periods[at]), float(shares[at]))]
    # To look at all of them for such without exception is dear, and seldom has a chance.
    if shares[at] >= patterns.least_of(most):
        found += [
            (
                _log_choose(n, int(sizes[i])) - math.log(2),
                int(patterns.periods[i]),
                float(shares[i]),
            )
            for i in np.flatnonzero(np.abs(sums) >= most[sizes - 1])
        ]
    surprise, period, share = max(found)
    return Periodicity(surprise, float(period), share)


def _widths(period: int) -> NDArray[np.int64]:
    """Widths of pulses from two trials to half a period."""
    half, widths = period // 2, [2]
    while widths[-1] < half:
        widths.append(min(half, max(widths[-1] + 1, round(_WIDTH_STEP * widths[-1]))))
    return np.array(widths if half >= widths[0] else [], dtype=np.int64)


def _only_most(ordered: FloatArray) -> FloatArray:
    """Largest sum of k values up or down; infinite where ties let several sets of k reach it."""
    apart = np.append(np.diff(ordered) > 0, True)
    sums = [
        np.where(alone, np.cumsum(values), np.inf)
        for values, alone in (
            (ordered[::-1], np.append(apart[-2::-1], True)),
            (-ordered, apart),
        )
    ]
    return np.maximum(*sums) - 1e-9


def _phase_sums(scores: FloatArray, periods: range) -> list[FloatArray]:
    """Sum the scores at each phase of each period.

    Those of a short period are sums of those of its longest multiple.
    """
    n, longest = len(scores), periods[-1]
    filled = np.append(scores, np.zeros(longest))
    found: dict[int, FloatArray] = {}
    for period in reversed(periods):
        multiple = longest // period * period
        rounds = -(-n // period)
        folded = found[multiple] if multiple > period else filled[: rounds * period]
        found[period] = np.add.reduce(folded.reshape(-1, period), axis=0)
    return [found[period] for period in periods]


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _waves(scores: FloatArray) -> Periodicity:
    """Correlate with waves of any phase."""
    n = len(scores)
    size = _OVERSAMPLING * n
    power = 2 / n**2 * np.abs(np.fft.rfft(scores, size)) ** 2
    first = FEWEST_PERIODS * _OVERSAMPLING
    if size % 2 == 0:
        power[-1] /= 2  # at two trials a wave has one phase only
    at = first + int(power[first:].argmax())
    share = min(float(power[at]), 1 - 1e-12)
    return Periodicity(-(n - 3) / 2 * math.log1p(-share), size / at, share)


def _surprise(found: Periodicity) -> float:
    return found.surprise


def without_period(values: FloatArray, period: float) -> FloatArray:
    """Take a period out: the mean of each phase, or the wave near it that leaves less.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time.
    period : float
        Trials from one recurrence to the next, as :func:`periodicity` finds it.

    Returns
    -------
    array, shape (n,)
        With the same mean.
    """
    n = len(values)
    cycles = n / period + np.linspace(-1, 1, 2 * _FINER + 1) / _OVERSAMPLING
    left = [(values - _wave(values, one), 4) for one in cycles]
    if period == round(period) and 2 * period <= n:
        phases = np.arange(n) % round(period)
        means = np.bincount(phases, values) / np.bincount(phases)
        left.append((values - means[phases], len(means)))
    best, _ = min(left, key=lambda one: float(one[0] @ one[0]) / (n - one[1]))
    return np.asarray(best + values.mean())


def _wave(values: FloatArray, cycles: float) -> FloatArray:
    """Fit a wave of so many cycles, and the mean beside it."""
    angle = 2 * np.pi * cycles * np.arange(len(values)) / len(values)
    parts = np.column_stack([np.ones(len(values)), np.sin(angle), np.cos(angle)])
    return np.asarray(parts @ np.linalg.lstsq(parts, values, rcond=None)[0])
