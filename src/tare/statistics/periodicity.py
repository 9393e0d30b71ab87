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


def periodicity(
    scores: FloatArray, least: float = 0.0, ordered: FloatArray | None = None
) -> Periodicity:
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
    ordered : array, shape (n,), optional
        The scores in ascending order, where they are known.

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
    if ordered is None:
        ordered = np.sort(scores)
    return max(_pulses(scores, least, ordered), _waves(scores), key=_surprise)


def _pulses(scores: FloatArray, least: float, ordered: FloatArray) -> Periodicity:
    """Correlate with phases that are higher or lower than all others: one, or some in a row."""
    n = len(scores)
    folds = _folds(n)
    most = _only_most(ordered, folds.largest)
    sizes = np.arange(folds.smallest, folds.largest + 1)
    least_exact = float(np.min(most[sizes - 1] ** 2 / (sizes * (n - sizes))))
    sums = _phase_sums(scores, folds.periods)
    single = _clearest(n, sums, folds.phases, most, least_exact)
    # Scores sum to 0 over each period, so that the cumulative sum begins anew with the next.
    before = np.zeros(len(sums))
    np.cumsum(sums[:-1], out=before[1:])
    dearer = math.log(n / _VALUES_A_WIDTH)
    surprise = max(least, single.surprise) + dearer
    least_share = min(_least_share(n, surprise), least_exact)
    wanted = (folds.widths > 0) & (folds.largest_shares(before) >= least_share)
    if not wanted.any():
        return single
    starts, ends, runs = folds.runs(wanted)
    several = _clearest(n, before[ends] - before[starts], runs, most, least_exact)
    return max(
        single, replace(several, surprise=max(0.0, several.surprise - dearer)), key=_surprise
    )


@dataclass(frozen=True)
class _Patterns:
    """Sets of trials that pulses may stand on: how many trials each has, and of which period.

    ``weights`` make a share of the variance of the square of a sum.
    """

    sizes: NDArray[np.int64]
    periods: NDArray[np.int64]
    weights: FloatArray

    @classmethod
    def of(cls, n: int, sizes: NDArray[np.int64], periods: NDArray[np.int64]) -> _Patterns:
        return cls(sizes, periods, 1 / (sizes * (n - sizes)))


@dataclass(frozen=True)
class _Folds:
    """What all series of a length have in common: each phase, and each run of several phases.

    Attributes
    ----------
    n : int
        Length of the series.
    periods : range
    phases : _Patterns
        Each phase of each period, one period after another.
    begins, long : int array
        Of each period: the index of its first phase, and how many phases, from the first, have
        one trial more than the others.
    around : int array
        Indices of the phases of each period, followed by its first ones once more: runs go on
        from the last phase to the first.
    edges : int array
        Of each period: where its phases begin in ``around``, and where they begin once more.
    widths, heaviest : array
        A row per period: the widths of its runs, 0 where there are no more, and the largest
        weight of a run of each width.
    short_runs : list of array
        For each of ``_SHORT_RUNS``: how many runs of so many phases are in a run of each width.
    smallest, largest : int
        Trials of a pattern, at least and at most.
    """

    n: int
    periods: range
    phases: _Patterns
    begins: NDArray[np.int64]
    long: NDArray[np.int64]
    around: NDArray[np.int64]
    edges: NDArray[np.int64]
    widths: NDArray[np.int64]
    heaviest: FloatArray
    short_runs: list[FloatArray]
    smallest: int
    largest: int

    def runs(
        self, wanted: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], _Patterns]:
        """Return the runs of some widths: the phases that they begin at and end before.

        ``wanted`` has a row per period, as ``widths``.
        """
        rows, columns = np.nonzero(wanted)
        found = rows + self.periods.start
        of_runs = found, self.begins[rows], self.long[rows], self.widths[rows, columns]
        periods, begins, long, widths = (np.repeat(some, found) for some in of_runs)
        first = np.concatenate([np.arange(period) for period in found.tolist()])
        end = first + widths
        beyond = end - periods
        sizes = widths * (self.n // periods)
        sizes += np.minimum(end, long) - np.minimum(first, long)
        sizes += np.minimum(np.maximum(beyond, 0), long)
        runs = _Patterns.of(self.n, sizes, periods)
        return begins + first, begins + np.where(beyond < 0, end, beyond), runs

    def largest_shares(self, before: FloatArray) -> FloatArray:
        """Return bounds for the shares of the variance that runs of each width explain.

        A run is a difference of two cumulative sums of its period, so that none exceeds their
        range. It also consists of shorter runs, whose largest sums are known.

        ``before``: the cumulative sums of the phases before each.
        """
        range_ = np.maximum.reduceat(before, self.begins) - np.minimum.reduceat(before, self.begins)
        bounds = np.broadcast_to(range_[:, None], self.widths.shape)
        joined = np.zeros(bounds.shape)
        around = before[self.around]
        room = np.empty_like(around)
        for few, times in zip(_SHORT_RUNS, self.short_runs, strict=True):
            runs = np.subtract(around[few:], around[:-few], out=room[few:])
            np.abs(runs, out=runs)
            joined += times * np.maximum.reduceat(runs, self.edges)[::2, None]
        bounds = np.minimum(bounds, joined) * (1 + 1e-9)
        return np.asarray(bounds**2 * self.heaviest)


@lru_cache(maxsize=2)
def _folds(n: int) -> _Folds:
    periods = np.arange(2, min(n // FEWEST_PERIODS, _LONGEST) + 1)
    rounds, long = n // periods, n % periods
    begins = np.append(0, np.cumsum(periods)[:-1])
    sizes = np.concatenate(
        [
            full + (np.arange(period) < longer)
            for period, full, longer in zip(periods, rounds, long, strict=True)
        ]
    )
    more = _SHORT_RUNS[0] + 1
    first = begins + more * np.arange(len(periods))
    around = np.concatenate(
        [
            begin + np.arange(period + more) % period
            for period, begin in zip(periods, begins, strict=True)
        ]
    )
    widths_of = [_widths(period) for period in periods.tolist()]
    widths = np.zeros((len(periods), max(map(len, widths_of))), dtype=np.int64)
    for row, some in enumerate(widths_of):
        widths[row, : len(some)] = some
    short_runs, rest = [], widths
    for few in _SHORT_RUNS:
        short_runs.append((rest // few).astype(float))
        rest = rest % few
    # Of the longer phases a run has as few or as many as its place allows.
    full, short = widths * rounds[:, None], periods - long
    fewest = full + np.maximum(0, widths - short[:, None])
    most = full + np.minimum(widths, long[:, None])
    heaviest = np.zeros(widths.shape)
    for some in (fewest, most):
        np.maximum(heaviest, 1 / np.where(widths > 0, some * (n - some), np.inf), out=heaviest)
    return _Folds(
        n,
        range(2, len(periods) + 2),
        _Patterns.of(n, sizes, np.repeat(periods, periods)),
        begins,
        long,
        around,
        np.column_stack([first, first + periods]).ravel(),
        widths,
        heaviest,
        short_runs,
        int(sizes.min()),
        int(max(sizes.max(), most.max(initial=0))),
    )


def _least_share(n: int, surprise: float) -> float:
    """Return a share of the variance below which no correlation is that surprising.

    The squared correlation has the density x^-½ (1 − x)^(b − 1) / B(½, b) with b = (n − 2)/2, and
    the first factor is at least 1.
    """
    b = (n - 2) / 2
    constant = math.log(b) + math.lgamma(0.5) + math.lgamma(b) - math.lgamma(b + 0.5)
    return -math.expm1(-max(0.0, surprise - constant) / b)


def _clearest(
    n: int, sums: FloatArray, patterns: _Patterns, most: FloatArray, least_exact: float
) -> Periodicity:
    """Return the clearest pulse, by correlation or without exception.

    ``sums``: of the scores on each pattern; ``most``: see :func:`_only_most`; ``least_exact``: a
    share below which no pattern is without exception.
    """
    shares = sums**2 * patterns.weights
    at = len(shares) - 1 - int(shares[::-1].argmax())  # of the same share, the longest period
    share = min(float(shares[at]), 1 - 1e-12)
    p = 2 * student_cdf(n - 2, -math.sqrt(share * (n - 2) / (1 - share)))
    found = [(-math.log(max(p, 1e-300)), int(patterns.periods[at]), float(shares[at]))]
    # To look at all of them for such without exception is dear, and seldom has a chance.
    if shares[at] >= least_exact:
        sizes = patterns.sizes
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


def _only_most(ordered: FloatArray, largest: int) -> FloatArray:
    """Largest sums of 1, 2, … values up or down; infinite where ties let several sets reach it.

    ``largest``: up to so many values.
    """
    sums = [
        np.where(values[:-1] != values[1:], np.cumsum(values[:-1]), np.inf)
        for values in (ordered[: -largest - 2 : -1], -ordered[: largest + 1])
    ]
    return np.maximum(*sums) - 1e-9


def _phase_sums(scores: FloatArray, periods: range) -> FloatArray:
    """Sum the scores at each phase of each period, one period after another.

    The sums of a short period are those of two phases each of twice the period.
    """
    n, longest = len(scores), periods[-1]
    filled, ones = np.append(scores, np.zeros(longest)), np.ones(-(-n // 2))
    found: dict[int, FloatArray] = {}
    for period in reversed(periods):
        if 2 * period <= longest:
            double = found[2 * period]
            found[period] = double[:period] + double[period:]
        else:
            rounds = -(-n // period)
            found[period] = ones[:rounds] @ filled[: rounds * period].reshape(-1, period)
    return np.concatenate([found[period] for period in periods])


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _waves(scores: FloatArray) -> Periodicity:
    """Correlate with waves of any phase."""
    n = len(scores)
    size = _OVERSAMPLING * n
    spectrum = np.fft.rfft(scores, size)
    power = 2 / n**2 * (spectrum.real**2 + spectrum.imag**2)
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
