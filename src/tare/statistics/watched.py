"""Intervals of a quantile that somebody watches while it is measured, and may stop at any time.

Source: error spending over the random walk of the sign test; Lan and DeMets 1983.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import message
from tare.statistics import checked, phrases
from tare.statistics.dependence import dependence_times
from tare.statistics.exact import ranks as in_order
from tare.statistics.interim_analysis import CAP, quantile_of
from tare.statistics.intervals import Interval, widened
from tare.statistics.statistic import FloatArray
from tare.units import quantile_name

#: Of all intervals up to ``CAP`` independent trials together.
ERROR = 0.05
#: What the first one takes of it: smallest and largest of 6 values.
FIRST_ERROR = 1 / 32
#: Trials whose order says how much neighbours resemble each other.
_FEWEST_FOR_TIME = 6


class _Boundary:
    """Ranks for every n, found one after the other.

    The number of values below a quantile is a random walk. Its paths that have left what the ranks
    allow are taken out as it goes on, so that what is left out is exactly the error so far.
    """

    def __init__(self, q: float) -> None:
        self._q = q
        self._paths = np.ones(1)
        self.first = next(n for n in range(2, 100_000) if self._ends(n) <= FIRST_ERROR)
        self._missed = [0.0, 0.0]
        self.ranks: list[tuple[int, int] | None] = [None]

    def _ends(self, n: int) -> float:
        """Probability that all of n values are on one side of the quantile."""
        return float(self._q**n + (1 - self._q) ** n)

    def _allowed(self, n: int) -> float:
        passed = math.log(n / self.first) / math.log(max(CAP, 2 * self.first) / self.first)
        return FIRST_ERROR + (ERROR - FIRST_ERROR) * min(1.0, passed)

    def extend(self) -> None:
        """Find the ranks of one more trial."""
        n = len(self.ranks)
        stay, up = self._paths * (1 - self._q), self._paths * self._q
        self._paths = np.append(stay, 0.0)
        self._paths[1:] += up
        if n < self.first:
            self.ranks.append(None)
            return
        each = self._allowed(n) / 2
        below = self._taken(0, self._paths, each)
        above = self._taken(1, self._paths[::-1], each)
        self._paths[:below] = 0.0
        self._paths[n + 1 - above :] = 0.0
        self.ranks.append((below, n + 1 - above) if below and above else None)

    def _taken(self, side: int, paths: FloatArray, allowed: float) -> int:
        """Take out paths at one end, as many as the error allows; return at how many places."""
        sums = np.cumsum(paths)
        count = int(np.searchsorted(sums, allowed - self._missed[side], side="right"))
        if count:
            self._missed[side] += float(sums[count - 1])
        return count


@lru_cache(maxsize=16)
def _boundary(q: float) -> _Boundary:
    return _Boundary(q)


def watched_ranks(n: int, q: float = 0.5) -> tuple[int, int] | None:
    """Ranks of the two order statistics that enclose a quantile, at every n together.

    Parameters
    ----------
    n : int
        Number of independent values.
    q : float
        The quantile, between 0 and 1.

    Returns
    -------
    (int, int) or None
        Ranks from 1 to n; None if n is too small. That the quantile lies outside of them at any n
        up to ``CAP`` has the probability ``ERROR`` at most, for any continuous distribution.
    """
    boundary = _boundary(q)
    n = min(n, CAP)
    while len(boundary.ranks) <= n:
        boundary.extend()
    return boundary.ranks[n]


def watched_interval(values: ArrayLike, q: float = 0.5, tick: float | None = None) -> Interval:
    """Interval of a quantile to be shown while it is measured.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time.
    q : float
        The quantile; the median by default.
    tick : float, optional
        As for :func:`tare.statistics.intervals.quantile_interval`.

    Returns
    -------
    Interval
        Without bounds, and with the refusal, while there are too few independent trials. It holds
        together with all that were shown before, whatever made somebody stop.
    """
    checked.parameters(q=q)
    values = checked.series(values, least=0)
    n = len(values)
    method = "order statistics at every n"
    if n == 0:
        return Interval(math.nan, None, None, 1 - ERROR, method, n, message("there are no trials"))
    shown = watched_bounds(np.asarray(values, dtype=float)[None], q)
    estimate, worth = float(shown.middle[0]), int(shown.worth[0])
    if math.isfinite(shown.low[0]):
        bounds = float(shown.low[0]), float(shown.high[0])
        return widened(Interval(estimate, *bounds, 1 - ERROR, method, n), values, tick)
    needs = _boundary(q).first
    refusal = message(phrases.FEW, n=n, needs=needs)
    if worth < n:
        refusal = message(
            phrases.DEPENDENT,
            quantile=None if q == 0.5 else quantile_name(q),
            n=n,
            effective=worth,
            needs=needs,
        )
    return Interval(estimate, None, None, 1 - ERROR, method, n, refusal)


@dataclass(frozen=True, eq=False)
class Watched:
    """Intervals of m series of one length; every array has the shape (m,).

    Attributes
    ----------
    low, middle, high : array
        Estimates, and bounds, which are infinite where there is no interval.
    worth : array of int
        Effective sample sizes.
    """

    low: FloatArray
    middle: FloatArray
    high: FloatArray
    worth: np.ndarray


def watched_bounds(rows: FloatArray, q: float = 0.5) -> Watched:
    """Bounds of many series at once, as simulations need them.

    Parameters
    ----------
    rows : array, shape (m, n)
        Trial values in order of time.
    q : float
        The quantile.

    Notes
    -----
    Of values that depend on each other, the ranks of as many independent ones as they are worth
    are moved apart in proportion.
    """
    m, n = rows.shape
    ordered = np.sort(rows, axis=1)
    middle = quantile_of(ordered, q)
    tau = np.ones(m)
    if n >= _FEWEST_FOR_TIME:
        tau = np.maximum(
            dependence_times((rows <= middle[:, None]).astype(float)),
            # Few trials show less of it by their side of the median than by their order.
            dependence_times(in_order(rows)),
        )
    worth = np.minimum(n / tau, CAP).astype(int)
    low, high = np.full(m, -np.inf), np.full(m, np.inf)
    for size in np.unique(worth):
        ranks = watched_ranks(int(size), q)
        if ranks is None:
            continue
        first, last = (_moved(rank, int(size), n, q) for rank in ranks)
        if first >= 1 and last <= n:
            alike = np.flatnonzero(worth == size)
            low[alike], high[alike] = ordered[alike, first - 1], ordered[alike, last - 1]
    return Watched(low, middle, high, worth)


def _moved(rank: int, worth: int, n: int, q: float) -> int:
    """Return the rank among n values for one among fewer, as far from the quantile in SDs."""
    if worth == n:
        return rank
    away = (rank - (worth * q + 0.5)) * n / worth
    return math.floor(n * q + 0.5 + away) if away < 0 else math.ceil(n * q + 0.5 + away)
