"""What the stopping rule sees when it looks at series: widths, memory, changes of level."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tare.statistics.anytime import sequence_ranks
from tare.statistics.dependence import dependence_times, first_correlations
from tare.statistics.exact import ranks
from tare.statistics.intervals import between_ranks, p10_p90, quantile_ranks
from tare.statistics.statistic import FloatArray
from tare.statistics.steadiness import HOLD, change_statistics, scores
from tare.statistics.ticks import tick_of

#: First look at a median; below it n is fixed beforehand. It is also the least number of
#: independent trials that a stop may rest on [without it AR(.9) at 1 % covered 88.2 %, with it
#: 95.4 %].
FIRST_LOOK = 50
#: Early analyses of a median: trials, and by how many p10–p90 ranges its interval extends to each
#: side. It is the interval of trials that follow AR(.95), of which so few trials show nothing: 1.3
#: (at 10 trials) to 1.1 times (at 44) the ratio that 95 % of such series stay below, since series
#: that look narrow by chance stop first.
EARLY = (
    (10, 3.1),
    (12, 2.8),
    (15, 2.4),
    (18, 2.1),
    (22, 1.8),
    (26, 1.6),
    (31, 1.4),
    (37, 1.25),
    (44, 1.1),
)
#: Power of the number of intervals by which an early interval widens where several hold together.
_EARLY_FAMILY = 0.3
#: Independent trials that must be expected beyond a quantile.
BEYOND = 10
#: Of the ranks at each look: what peeking costs is paid by asking for more than 95 %.
LOOK_CONFIDENCE = 0.975
#: Trials after which a series that still is not tight is given up.
CAP = 5000
#: The same of a quantile far out: its tail holds the rule up less than it does the median
#: [AR(.9), p95 at 1 %: 94.6 % with 97.5 % ranks, 97.2 % with these].
TAIL_CONFIDENCE = 0.99
#: Dependence time of the ranks beyond which no number of trials up to the cap is believed
#: [AR(.9) has 18 and is refused in 6 %, AR(.98) has 95 and always is].
MEMORY = 30.0
#: Standard errors of the ranks' first autocorrelation that are chance.
_CERTAIN = 1.25
#: Under ``anytime``, the dependence time above which trials are not exchangeable.
EXCHANGEABLE = 1.5
#: Share of the target that a change of level may have.
_PART = 0.5


@dataclass(frozen=True)
class Target:
    """What is asked of one series.

    Attributes
    ----------
    precision : float
        Relative half-width of the quantile's interval.
    quantile : float
        Between 0 and 1; the median by default.
    spread : float or None
        Half-width of the p10–p90 range's interval, in log units.
    cap : int
        Trials after which the series is given up.
    anytime : bool
        By the confidence sequence, for exchangeable trials only.
    family : int
        Intervals that have to hold together (Bonferroni): one for each metric.
    tick : float or None
        What is known of the clock's tick; see :func:`tare.statistics.ticks.tick_of`.
    early : bool
        Whether a median may also stop at the analyses of :data:`EARLY`.
    """

    precision: float
    quantile: float = 0.5
    spread: float | None = None
    cap: int = CAP
    anytime: bool = False
    family: int = 1
    tick: float | None = None
    early: bool = False

    @property
    def confidence(self) -> float:
        """Of the interval at one look."""
        at_look = LOOK_CONFIDENCE if self.quantile == 0.5 else TAIL_CONFIDENCE
        return 1 - (1 - (0.95 if self.anytime else at_look)) / self.family


@dataclass(frozen=True, eq=False)
class Looks:
    """What one look at m series of one length shows; every array has the shape (m,).

    Attributes
    ----------
    low, high : array
        Bounds of the interval that stopping rests on; infinite where there is none.
    half_width : array
        Of it, relative to the estimate.
    tau : array
        Dependence time of the quantile's indicator.
    memory : array
        Dependence time of the ranks.
    refused : array of bool
        Whether no further trial will help: the series remembers too much; under ``anytime``, its
        trials are not exchangeable.
    held : array of bool
        Whether the series may drift or jump by more than half of the target (looked at only
        where all else is reached); a longer series shows whether it does.
    tight : array of bool
        Whether the target is reached.
    projected : array of int
        Trials that it will take.
    """

    low: FloatArray
    high: FloatArray
    half_width: FloatArray
    tau: FloatArray
    memory: FloatArray
    refused: np.ndarray
    held: np.ndarray
    tight: np.ndarray
    projected: np.ndarray


def first_look(quantile: float = 0.5) -> int:
    """Trials at the rule's first look at a quantile; where fewer fit, n is fixed beforehand."""
    return max(FIRST_LOOK, math.ceil(round(BEYOND / min(quantile, 1 - quantile), 6)))


def next_look(size: int, projected: int, target: Target) -> int:
    """Return the size of the look after one at ``size``.

    Where the target is projected, at least 1.1 and at most 2 times further, rounded up to five
    binary digits, so that many series have looks in common. A confidence sequence is looked at
    as often as these digits allow.
    """
    wanted = size + 1
    if not target.anytime:
        wanted = min(max(projected, math.ceil(1.1 * size)), 2 * size)
    step = 1 << max(0, wanted.bit_length() - 6)
    return min(target.cap, -(-wanted // step) * step)


def look(rows: FloatArray, target: Target) -> Looks:
    """Look at many series of one length, except for their spread.

    Parameters
    ----------
    rows : array, shape (m, n)
        Trial values in order of time; n from :func:`first_look` on.
    target : Target
        What is asked.
    """
    n = rows.shape[1]
    q = target.quantile
    ordered = np.sort(rows, axis=1)
    middle = quantile_of(ordered, q)
    tau = dependence_times((rows <= middle[:, None]).astype(float))
    low, high = bounds(ordered, tau, q, target.confidence, anytime=target.anytime)
    half = half_widths(low, middle, high)
    memory = dependence_times(ranks(rows), _CERTAIN)
    if target.anytime:
        needed = np.zeros(len(rows))
        refused = _in_order(rows)
    else:
        # Far out, few trials show what the tail's own indicator remembers: all ranks do.
        needed = first_look(q) * np.maximum(tau, memory)
        refused = (memory > MEMORY) & (n >= needed)
    # Under anytime, what is not certain enough to be refused still has to wait.
    most = EXCHANGEABLE if target.anytime else MEMORY
    tight = (half <= target.precision) & (n >= needed) & (memory <= most) & ~refused
    held = np.zeros(len(rows), dtype=bool)
    held[tight] = _held(rows[tight], middle[tight], target)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.maximum(n * (half / target.precision) ** 2, needed)
    wanted = np.where(np.isfinite(wanted), wanted, 2.0 * n)
    projected = np.ceil(np.minimum(wanted, 1e12)).astype(np.int64)
    return Looks(low, high, half, tau, memory, refused, held, tight & ~held, projected)


def early_widths(rows: FloatArray, family: int = 1, tick: float = 0.0) -> FloatArray:
    """Half-widths of the median's early intervals, without what the clock adds to their ends.

    Parameters
    ----------
    rows : array, shape (m, n)
        Trial values in order of time; n at least that of the first of :data:`EARLY`.
    family : int
        Intervals that have to hold together.
    tick : float
        Of the clock, to which both ends of a range are known.
    """
    ranges = next(ranges for n, ranges in reversed(EARLY) if n <= rows.shape[1])
    return np.asarray(ranges * family**_EARLY_FAMILY * (p10_p90(rows) + tick))


def early_look(rows: FloatArray, target: Target) -> np.ndarray:
    """Find the series that reach a target early.

    Parameters
    ----------
    rows : array, shape (m, n)
        Trial values in order of time; n one of :data:`EARLY`.
    target : Target
        What is asked; its tick is known.

    Returns
    -------
    array of bool, shape (m,)
        Whether the early interval lies within the target, and the series neither drifts nor
        jumps by more than half of it, as far as so few trials show.
    """
    middle = np.median(rows, axis=1)
    tick = target.tick or 0.0
    half = early_widths(rows, target.family, tick) + tick
    tight = np.asarray(half <= target.precision * np.abs(middle))
    tight[tight] = ~_held(rows[tight], middle[tight], target)
    return tight


def early_size(values: FloatArray, target: Target) -> int | None:
    """Return the trials at which a series reached its target early; None: it did not.

    Parameters
    ----------
    values : array, shape (n,)
        Trial values in order of time; those after the stop change nothing.
    target : Target
        What is asked. Only medians stop early, and only where no interval of the spread and no
        confidence sequence is asked for.
    """
    if not target.early or target.anytime or target.quantile != 0.5 or target.spread is not None:
        return None
    for size, _ in EARLY:
        if size > min(len(values), target.cap):
            return None
        first = np.asarray(values[:size], dtype=float)
        tick = tick_of(first, target.tick)
        if tick is not None and early_look(first[None], replace(target, tick=tick))[0]:
            return size
    return None


def bounds(
    ordered: FloatArray, tau: FloatArray, q: float, confidence: float, *, anytime: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Bounds of a quantile's intervals, one for each of many series.

    Parameters
    ----------
    ordered : array, shape (m, n)
        Values of each series in ascending order.
    tau : array, shape (m,)
        Dependence times: ranks move apart by their root.
    q, confidence : float
        The quantile, and the confidence of its interval.
    anytime : bool
        By the confidence sequence, which is not widened.

    Returns
    -------
    (array, array), both of shape (m,)
        Infinite where there is no interval.
    """
    m, n = ordered.shape
    found = sequence_ranks(n, q, confidence) if anytime else quantile_ranks(n, q, confidence)
    if found is None:
        return np.full(m, -np.inf), np.full(m, np.inf)
    centre = n * q + 0.5
    widening = np.ones(m) if anytime else np.sqrt(tau)
    low = np.floor(centre - widening * (centre - found[0])).astype(int)
    high = np.ceil(centre + widening * (found[1] - centre)).astype(int)
    some = np.arange(m)
    exists = (low >= 1) & (high <= n)
    return (
        np.where(exists, ordered[some, np.clip(low, 1, n) - 1], -np.inf),
        np.where(exists, ordered[some, np.clip(high, 1, n) - 1], np.inf),
    )


def half_widths(low: FloatArray, middle: FloatArray, high: FloatArray) -> FloatArray:
    """Larger distance of the bounds from the estimate, relative to it; infinite without either."""
    wider = np.maximum(middle - low, high - middle)
    relative = np.full(len(middle), np.inf)
    np.divide(wider, np.abs(middle), out=relative, where=middle != 0)
    return relative


def quantile_of(ordered: FloatArray, q: float) -> FloatArray:
    """Quantile of each row of values in ascending order, interpolated as numpy does."""
    return between_ranks(ordered, (ordered.shape[1] - 1) * q)


def _in_order(rows: FloatArray) -> np.ndarray:
    """Tell which series are in an order that matters [1 % of exchangeable ones, by simulation]."""
    rank = scores(rows, 0.5)[0]
    certain = first_correlations(rank) > 3 / math.sqrt(rows.shape[1])
    return np.asarray(certain & (dependence_times(rank) > EXCHANGEABLE))


def _held(rows: FloatArray, middle: FloatArray, target: Target) -> np.ndarray:
    """Tell which series may drift or jump by more than half of the target."""
    held = np.zeros(len(rows), dtype=bool)
    if not len(rows):
        return held
    for number, score in enumerate(scores(rows, target.quantile)):
        q = 0.5 if number == 0 else target.quantile
        statistic, place = change_statistics(score)
        for i in np.flatnonzero(statistic > HOLD):
            held[i] |= _size(rows[i], int(place[i]), q) > _PART * target.precision * abs(middle[i])
    return held


def _size(values: FloatArray, place: int, q: float) -> float:
    """Absolute size of a change: the jump at a place, or twice what the halves differ by."""
    half = len(values) // 2
    parts = (values[:place], values[place:], values[:half], values[-half:])
    before, after, first, last = (float(np.quantile(part, q)) for part in parts)
    return max(abs(after - before), 2 * abs(last - first))
