"""How do programs score on sets of tasks? Numbers solved, PAR2, ratios by task, and changes.

Source: Beyer, Löwe and Wendler 2019; Bonett and Price 2012; Storey 2004.

A set of tasks can be asked two questions. **On inputs like these**: the tasks are a sample of
inputs, and the replicates are tasks. **On these inputs**: the tasks are all there is, and only
their runs are random. Each estimate has an interval for either.

The first is the default, also of comparisons between two runs of one fixed set, for three reasons.
It exists with one trial a task, as most large sets have. It keeps its meaning where trials are
added. And it holds for both questions, as what varies between trials is within what varies between
tasks. The second answers whether a program has changed *on this set*: a set that is the whole
interest, such as a regression suite, with at least two trials a task.

Neither holds what all runs of one configuration have in common, such as a busy hour: runs of both
must be interleaved, in random order. [200 tasks, noise 2 %, trials that differ by an SD of 1 %
whatever the task: either interval of a ratio covers 23 to 26 %.]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tare.errors import ValuesError
from tare.results.message import Message, message
from tare.statistics import checked, phrases
from tare.statistics.comparison import require_ratios
from tare.statistics.intervals import Interval
from tare.statistics.misjudgement import CONFIDENCE, FEWEST, Shares
from tare.statistics.statistic import FloatArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

#: Share of tasks that must have two trials, before the others are taken to vary as these do.
REPEATED = 0.9
#: Replicates that are taken to have another result, beyond those that do: none seen are not none.
#: [Where up to 20 are expected: intervals cover 93.5 % with two, 94.5 % with three.]
UNSEEN = 3
#: Points of a curve: more than a picture has columns.
POINTS = 400
#: The smallest p that sums of many chances tell from 0.
LEAST_P = 1e-12
_TAIL = (1 + CONFIDENCE) / 2
_Z = float(special.ndtri(_TAIL))


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Runs of one configuration.

    Attributes
    ----------
    time : array, shape (tasks, trials)
        In any unit; NaN where not known.
    solved : bool array, shape (tasks, trials)
        Or numbers that are all 0 or 1.
    ran : bool array, shape (tasks, trials), optional
        False where a run is missing, or says nothing about the program. All by default.

    Raises
    ------
    ValuesError
        If a time is negative, a value is neither true nor false, or shapes differ.
    """

    time: FloatArray
    solved: BoolArray
    ran: BoolArray | None = None

    def __post_init__(self) -> None:
        time = checked.times(self.time)
        # The class is frozen: a plain assignment is refused.
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "solved", checked.truths(self.solved, "solved", time.shape))
        if self.ran is not None:
            object.__setattr__(self, "ran", checked.truths(self.ran, "ran", time.shape))

    @cached_property
    def counted(self) -> BoolArray:
        """Runs that say something."""
        return np.ones(self.solved.shape, dtype=bool) if self.ran is None else self.ran

    @cached_property
    def runs(self) -> IntArray:
        """Number of runs of each task."""
        return np.asarray(self.counted.sum(axis=1))

    @cached_property
    def times_solved(self) -> IntArray:
        """In how many of its runs each task is solved."""
        return np.asarray((self.solved & self.counted).sum(axis=1))

    @cached_property
    def always_solved(self) -> BoolArray:
        """Tasks that have runs, and are solved in all of them."""
        return np.asarray((self.runs > 0) & (self.times_solved == self.runs))

    def of(self, tasks: BoolArray) -> Outcomes:
        """Return the runs of some of the tasks."""
        return Outcomes(self.time[tasks], self.solved[tasks], self.counted[tasks])


@dataclass(frozen=True)
class Estimate:
    """An estimate with its two intervals; their n counts tasks.

    Attributes
    ----------
    like_these : Interval
        On inputs like these: tasks are the replicates, each with all of its trials.
    these : Interval
        On these inputs: runs are the replicates. Refused with fewer than two trials a task.
    """

    like_these: Interval
    these: Interval

    @property
    def estimate(self) -> float:
        """Which both intervals are of; NaN where no task counts."""
        return self.like_these.estimate


@dataclass(frozen=True, eq=False)
class _Cells:
    """Values by task: mean over runs, sum of squared distances from it, and number of runs."""

    mean: FloatArray
    squares: FloatArray
    runs: IntArray

    @staticmethod
    def of(values: FloatArray, counted: BoolArray) -> _Cells:
        """Reduce values, shape (tasks, trials), to those of tasks that ran."""
        ran = counted.any(axis=1)
        values, counted = values[ran], counted[ran]
        if values.shape[1] == 1:
            return _Cells(values[:, 0], np.zeros(len(values)), np.ones(len(values), dtype=int))
        runs = counted.sum(axis=1)
        mean = np.where(counted, values, 0).sum(axis=1) / runs
        squares = np.where(counted, values - mean[:, None], 0) ** 2
        return _Cells(mean, squares.sum(axis=1), runs)


@dataclass(frozen=True)
class _Error:
    """Variance of a mean over tasks that comes from trials, and its degrees of freedom."""

    variance: float
    degrees: float


def _trial_error(*sides: _Cells) -> _Error | None:
    """Add up what the trials of each side contribute; None where too few tasks have two.

    Degrees of freedom are Satterthwaite's, since tasks need not vary equally: of times, the longest
    tasks vary most.
    """
    variance = fourth = 0.0
    for cells in sides:
        again, n = cells.runs >= 2, len(cells.runs)
        if not n or again.mean() < REPEATED:
            return None
        runs = cells.runs[again]
        each = cells.squares[again] / (runs - 1) / runs / n**2
        scale = n / len(runs)
        variance += scale * float(each.sum())
        fourth += scale * float((each**2 / (runs - 1)).sum())
    return _Error(variance, max(1.0, variance**2 / fourth) if fourth else math.inf)


def _unseen(*sides: _Cells) -> float:
    """Variance of a share of tasks by runs that change its result, and were not seen to."""
    return sum(UNSEEN * float((1 / c.runs).mean() / len(c.runs)) ** 2 for c in sides)


def _t(degrees: float) -> float:
    return _Z if math.isinf(degrees) else float(special.stdtrit(degrees, _TAIL))


def _mean_bounds(values: FloatArray) -> tuple[float, float]:
    """Outer bounds of a mean by Student's t, and by Hall's transformation that takes out skew.

    Student's t alone leaves out the mean of 10 or 30 exponential values in 10 and 7 %, both
    together in 5 and 4 %. Hall's alone is too narrow under heavy tails. Together they are wider
    than Student's by 11 % (10 normal values) and 3 % (30).
    """
    n = len(values)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(n)
    t = _t(n - 1)
    if error == 0:
        return mean, mean
    third = float(((values - mean) ** 3).mean()) / float(values.std()) ** 3
    skew = third * math.sqrt(n * (n - 1)) / (n - 2)
    low, high = (_without_skew(q, skew, n) for q in (t, -t))
    return mean - error * max(t, low), mean + error * max(t, -high)


def _without_skew(q: float, skew: float, n: int) -> float:
    """Quantile of a studentised mean of skewed values, from that of values without skew."""
    if abs(skew) < 1e-6:
        return q
    root = math.cbrt(1 + skew * (q / math.sqrt(n) - skew / (6 * n)))
    return 3 * math.sqrt(n) / skew * (root - 1)


def _mean_p(values: FloatArray) -> float:
    """Two-sided p of a mean of 0: at most 1 − CONFIDENCE where ``_mean_bounds`` exclude it."""
    n = len(values)
    statistic = math.sqrt(n) * float(values.mean()) / float(values.std(ddof=1))
    third = float(((values - values.mean()) ** 3).mean()) / float(values.std()) ** 3
    skew = third * math.sqrt(n * (n - 1)) / (n - 2)
    hall = _with_skew(statistic, skew, n)
    # Each bound is the outer one of Student's t and Hall's, so each p is the larger one.
    nearest = min(abs(statistic), abs(hall)) if statistic * hall > 0 else 0.0
    return max(LEAST_P, 2 * float(special.stdtr(n - 1, -nearest)))


def _with_skew(q: float, skew: float, n: int) -> float:
    """Return the quantile of which ``_without_skew`` makes this one."""
    if abs(skew) < 1e-6:
        return q
    cube = (1 + skew * q / (3 * math.sqrt(n))) ** 3
    return math.sqrt(n) * ((cube - 1) / skew + skew / (6 * n))


def _interval(estimate: float, low: float, high: float, method: str, n: int) -> Interval:
    return Interval(estimate, low, high, CONFIDENCE, method, n)


def _refused(estimate: float, n: int, why: Message, method: str = "none") -> Interval:
    return Interval(estimate, None, None, CONFIDENCE, method, n, why)


def _once(estimate: float, n: int) -> Interval:
    return _refused(estimate, n, message("needs ≥ 2 trials per task"))


def _few(estimate: float, n: int) -> Interval:
    return _refused(estimate, n, message(phrases.FEW, n=n, needs=FEWEST))


def share_solved(outcomes: Outcomes) -> Estimate:
    """Estimate the share of tasks solved: the mean over tasks of each one's share of runs.

    Parameters
    ----------
    outcomes : Outcomes

    Returns
    -------
    Estimate
        Times ``n`` it is the number solved. Neither interval is a point where all tasks are solved
        in all of their runs, or none.

    Notes
    -----
    Like these: Clopper and Pearson's interval with tasks as the draws, which is exact with one
    trial, and too wide with several where many tasks are solved in some of their runs only: a
    share between 0 and 1 varies less than a 0 or 1. These: the normal interval of what varies
    within tasks, and of three runs more that do so unseen.
    """
    cells = _Cells.of(outcomes.solved.astype(float), outcomes.counted)
    n = len(cells.mean)
    share = float(cells.mean.mean()) if n else math.nan
    if not n:
        return Estimate(_few(share, n), _few(share, n))
    low, high = _tasks_drawn(np.array([share]), n)
    like = _interval(share, float(low[0]), float(high[0]), "Clopper–Pearson", n)
    error = _trial_error(cells)
    if error is None:
        return Estimate(like, _once(share, n))
    half = _Z * math.sqrt(error.variance + _unseen(cells))
    these = _interval(share, max(0.0, share - half), min(1.0, share + half), "normal", n)
    return Estimate(like, these)


def _tasks_drawn(shares: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Bounds of shares of tasks that are drawn from others."""
    found = Shares(shares, np.full(len(shares), float(n)))
    return found.low, found.high


@dataclass(frozen=True, eq=False)
class Curve:
    """Number of tasks solved within each of some limits: a quantile (cactus) plot.

    Each interval is of one limit. As the number never falls, the band is the same read across: of
    the time within which a number is solved.

    Attributes
    ----------
    limits : array, shape (m,)
        In the unit of the times.
    number : array, shape (m,)
        Sum over tasks of the share of runs that solve the task within the limit.
    like_these : array, shape (2, m)
        Low and high ends for as many tasks like these.
    these : array, shape (2, m), or None
        The same for these tasks; None with fewer than two trials a task.
    tasks : int
        Tasks that ran.
    untimed : int
        Runs that solve a task in a time that is not known: within no limit.
    """

    limits: FloatArray
    number: FloatArray
    like_these: FloatArray
    these: FloatArray | None
    tasks: int
    untimed: int


def solved_within(outcomes: Outcomes, limits: FloatArray | None = None) -> Curve:
    """Count the tasks solved within limits, with pointwise intervals.

    Parameters
    ----------
    outcomes : Outcomes
    limits : array, optional
        In any order. By default the times at which a task is solved: all up to 400, or 400 at
        even distances of the number, the first and the last among them.

    Returns
    -------
    Curve
        Intervals are those of :func:`share_solved`.
    """
    if limits is not None:
        limits = checked.series(limits, "limits", least=0)
    counted = outcomes.counted & outcomes.solved
    timed = counted & ~np.isnan(outcomes.time)
    runs = outcomes.runs
    n = int((runs > 0).sum())
    times, steps, spreads = _events(outcomes.time, timed, runs)
    if limits is None:
        limits = np.unique(times)
        if len(limits) > POINTS:
            limits = limits[np.linspace(0, len(limits) - 1, POINTS).round().astype(int)]
    place = np.searchsorted(times, limits, side="right")
    number = np.concatenate(([0.0], np.cumsum(steps)))[place]
    low, high = _tasks_drawn(np.minimum(1, number / max(n, 1)), max(n, 1))
    these = None
    again = int((runs > 1).sum())
    if n and again >= REPEATED * n:
        spread = np.concatenate(([0.0], np.cumsum(spreads)))[place] * n / again
        unseen = UNSEEN * float((1 / runs[runs > 0]).mean()) ** 2
        half = _Z * np.sqrt(np.maximum(0, spread) + unseen)
        these = np.stack([np.maximum(0, number - half), np.minimum(n, number + half)])
    band = n * np.stack([low, high])
    return Curve(limits, number, band, these, n, int(counted.sum() - timed.sum()))


def _events(
    time: FloatArray, timed: BoolArray, runs: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times of solved runs in order; what each adds to the number, and to its variance."""
    ordered = np.sort(np.where(timed, time, np.inf), axis=1)
    task, before = np.nonzero(np.isfinite(ordered))
    of, after = runs[task], before + 1
    # Of a share m of k runs, the variance of the mean is m (1 − m) / (k − 1).
    gained = (after * (of - after) - before * (of - before)) / of**2
    spreads = np.divide(gained, of - 1, out=np.zeros(len(of)), where=of > 1)
    times = ordered[task, before]
    order = np.argsort(times)
    return times[order], 1 / of[order], spreads[order]


def penalised_mean(outcomes: Outcomes, limit: float, factor: float = 2.0) -> Estimate:
    """Estimate the penalised average runtime: PAR2, or of another factor.

    Parameters
    ----------
    outcomes : Outcomes
        A run that solves its task later than the limit does not solve it. One that solves it in
        a time that is not known is left out.
    limit : float
        In the unit of the times.
    factor : float
        Times the limit: what a run costs that does not solve its task.

    Returns
    -------
    Estimate
        Of the mean over tasks of each one's mean over runs.

    Notes
    -----
    A mean of two kinds of values: times, and penalties, which may be few and far. Where none of n
    tasks is unsolved, 3 in n of others may be, which most of the interval then is for. Like these:
    the bounds of the share of unsolved runs by Clopper and Pearson, and those of the mean of solved
    tasks, joined as those of a sum of both (Zou and Donner 2008). These: Student's t with
    Satterthwaite's degrees of freedom, and three runs more that change unseen.
    """
    checked.above_zero(limit, "limit")
    checked.above_zero(factor, "factor")
    late = ~(outcomes.solved & ~(outcomes.time > limit))
    counted = outcomes.counted & (late | ~np.isnan(outcomes.time))
    penalty = factor * limit
    scores = np.where(late, penalty, outcomes.time)
    cells, lost = _Cells.of(scores, counted), _Cells.of(late.astype(float), counted)
    n = len(cells.mean)
    if n < FEWEST:
        score = float(cells.mean.mean()) if n else math.nan
        return Estimate(_few(score, n), _few(score, n))
    score, share = min(penalty, float(cells.mean.mean())), float(lost.mean.mean())
    solved = counted & ~late
    # What a run costs more that does not solve its task.
    step = penalty - (float(outcomes.time[solved].mean()) if solved.any() else 0.0)
    low, high = (abs(float(x[0]) - share) * step for x in _tasks_drawn(np.array([share]), n))
    times = _Cells.of(outcomes.time, solved).mean
    fast, slow = _mean_bounds(times) if len(times) >= FEWEST else (0.0, limit)
    middle = float(times.mean()) if len(times) else 0.0
    ends = ((low, fast), (high, slow))
    down, up = (math.hypot(part, (1 - share) * abs(end - middle)) for part, end in ends)
    like = _interval(score, max(0.0, score - down), min(penalty, score + up), "t", n)
    error = _trial_error(cells)
    if error is None:
        return Estimate(like, _once(score, n))
    half = _t(error.degrees) * math.sqrt(error.variance)
    unseen = _Z * step * math.sqrt(_unseen(cells))
    down, up = math.hypot(half, unseen * (share > 0)), math.hypot(half, unseen * (share < 1))
    these = _interval(score, max(0.0, score - down), min(penalty, score + up), "t", n)
    return Estimate(like, these)


@dataclass(frozen=True)
class Ratio:
    """Geometric mean over tasks of the ratio of two configurations' times.

    Attributes
    ----------
    ratio : Estimate
        Second over first.
    p : float or None
        That it is 1 on inputs like these, two-sided; below 5 % where that interval excludes 1.
        None where there is no interval.
    left_out : int
        Tasks that ran in both, and have no ratio: the next two, or a time is not known.
    unsolved_first, unsolved_second : int
        Of these, tasks that a run of the first, or of the second, did not solve.
    """

    ratio: Estimate
    p: float | None
    left_out: int
    unsolved_first: int
    unsolved_second: int


def geometric_mean_ratio(first: Outcomes, second: Outcomes) -> Ratio:
    """Compare the times of two configurations on the tasks that both solve in all of their runs.

    A task that one of them does not solve has no time, and of one that is solved now and then
    the slow runs are missing. Such tasks are left out and counted. What is left out is not alike
    on both sides where one solves more: the ratio is that of tasks easy enough for both, and
    :func:`penalised_mean` and :func:`solved_difference` say the rest.

    Parameters
    ----------
    first, second : Outcomes
        The i-th task of both is the same.

    Returns
    -------
    Ratio
        Without intervals below 6 tasks, and where no ratio differs from another: the resolution of
        the clock is then not known.

    Raises
    ------
    InputError
        If a time is 0 or below.

    Notes
    -----
    Like these: the mean of each task's difference of mean logarithms, with tasks as the replicates;
    Student's t, and Hall's bounds where they lie further out. These: runs as the replicates, with
    Welch's degrees of freedom.

    Both cover 94 to 98 % for 10 to 2,000 tasks of 1 to 10 trials, also under heavy tails, effects
    skewed as exponential ones are, and noise that differs by task. But what hits fewer tasks than
    are seen cannot be seen: where 1 in 10 tasks takes twice as long and others do not change, 10
    tasks cover the mean in 65 %, 30 in 95 %; where 3 in 100 take 1.5 times as long, 30 tasks in
    77 %, 200 in 97 %.
    """
    _same_tasks(first, second)
    both = (first.runs > 0) & (second.runs > 0)
    solved = [side.always_solved for side in (first, second)]
    timed = [~(np.isnan(side.time) & side.counted).any(axis=1) for side in (first, second)]
    used = both & solved[0] & solved[1] & timed[0] & timed[1]
    one, two = (_log_times(side.of(used)) for side in (first, second))
    logs = two.mean - one.mean
    n = len(logs)
    ratio = _mean_ratio(logs, _trial_error(one, two))
    return Ratio(
        ratio,
        None if ratio.like_these.low is None else _mean_p(logs),
        int(both.sum()) - n,
        int((both & ~solved[0]).sum()),
        int((both & ~solved[1]).sum()),
    )


def _same_tasks(first: Outcomes, second: Outcomes) -> None:
    if len(first.time) != len(second.time):
        raise ValuesError(
            f"first has {len(first.time)} tasks and second has {len(second.time)}",
            "give the same tasks of both; ran=False where a run is missing",
        )


def _log_times(outcomes: Outcomes) -> _Cells:
    times = np.where(outcomes.counted, outcomes.time, 1.0)
    if times.size:
        require_ratios(times.ravel(), times.ravel())
    return _Cells.of(np.log(times), outcomes.counted)


def _mean_ratio(logs: FloatArray, error: _Error | None) -> Estimate:
    n = len(logs)
    mean = float(logs.mean()) if n else math.nan
    ratio = math.exp(mean)
    if n < FEWEST:
        return Estimate(_few(ratio, n), _few(ratio, n))
    unresolved = _refused(ratio, n, message(phrases.UNRESOLVED, n=n))

    def between(low: float, high: float, method: str) -> Interval:
        if low == high:
            return unresolved
        return _interval(ratio, math.exp(low), math.exp(high), method, n)

    like = between(*_mean_bounds(logs), "t and Hall")
    if error is None:
        return Estimate(like, _once(ratio, n))
    half = _t(error.degrees) * math.sqrt(error.variance)
    return Estimate(like, between(mean - half, mean + half, "Welch"))


@dataclass(frozen=True)
class Chance:
    """How often chance alone makes so large a difference, towards either side.

    Attributes
    ----------
    p : float
        Twice the smaller tail; at most 1.
    mid_p : float
        The same with half the chance of exactly this difference: closer to what it claims where
        few tasks differ, at times a little above.
    """

    p: float
    mid_p: float


@dataclass(frozen=True)
class SolvedDifference:
    """By how much two configurations differ in what they solve.

    Attributes
    ----------
    share : Estimate
        Second less first, of the tasks that ran in both; times ``n`` the difference of numbers.
    only_first, only_second : float
        Sums over tasks of how much more the one solves than the other: tasks, with one trial.
    like_these : Chance
        That both are interchangeable on each task: with one trial McNemar's exact test.
    these : Chance or None
        That both solve each task equally often: the exact test of strata, a task each. None with
        fewer than two trials a task, where the two are one.
    """

    share: Estimate
    only_first: float
    only_second: float
    like_these: Chance
    these: Chance | None


def solved_difference(first: Outcomes, second: Outcomes) -> SolvedDifference:
    """Compare how many tasks two configurations solve, paired by task.

    Parameters
    ----------
    first, second : Outcomes
        The i-th task of both is the same.

    Notes
    -----
    Like these: the normal interval with three tasks added that differ, half of them each way (after
    Bonett and Price, who add two); with several trials a task differs by a share. These: that of
    what varies within tasks and of three runs on each side that differ unseen. Tests may
    contradict an interval at its edge: they suppose that there is no difference, intervals do not.
    """
    _same_tasks(first, second)
    both = (first.runs > 0) & (second.runs > 0)
    first, second = first.of(both), second.of(both)
    one, two = (_Cells.of(s.solved.astype(float), s.counted) for s in (first, second))
    d, n = two.mean - one.mean, len(one.mean)
    mean = float(d.mean()) if n else math.nan
    error = _trial_error(one, two)
    if n < FEWEST:
        share = Estimate(_few(mean, n), _few(mean, n))
    else:
        middle = float(d.sum()) / (n + UNSEEN)
        square = (float(np.square(d).sum()) + UNSEEN) / (n + UNSEEN)
        half = _Z * math.sqrt((square - middle**2) / (n + UNSEEN))
        like = _difference(mean, middle, half, "normal", n)
        these = _once(mean, n)
        if error is not None:
            half = _Z * math.sqrt(error.variance + _unseen(one, two))
            these = _difference(mean, mean, half, "normal", n)
        share = Estimate(like, these)
    x, y, k, m = first.times_solved, second.times_solved, first.runs, second.runs
    return SolvedDifference(
        share,
        float(np.abs(d[d < 0]).sum()),
        float(d[d > 0].sum()),
        interchanged(y * k - x * m),
        None if error is None else _redealt(x, x + y, k, m),
    )


def _difference(mean: float, middle: float, half: float, method: str, n: int) -> Interval:
    low, high = max(-1.0, middle - half), min(1.0, middle + half)
    return _interval(mean, min(low, mean), max(high, mean), method, n)


def interchanged(differences: IntArray) -> Chance:
    """Return the chance of the sum of differences of tasks where each has either sign.

    Parameters
    ----------
    differences : int array
        Second less first, one for each task: of solved runs, or of scores.
    """
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    if not len(sizes):
        return Chance(1.0, 1.0)
    unit = int(np.gcd.reduce(sizes))
    observed = int(differences[differences > 0].sum()) // unit
    if len(sizes) == 1:
        n = int(counts[0])
        below, above = (float(special.bdtr(k, n, 0.5)) for k in (observed, n - observed))
        at = math.exp(-special.betaln(observed + 1, n - observed + 1) - n * math.log(2)) / (n + 1)
        return _two_sided(below, above, at)
    half = np.array([0.5, 0.5])
    return _of_sum(
        ((int(c), np.array([0, s // unit]), half) for s, c in zip(sizes, counts, strict=True)),
        observed,
    )


def _redealt(x: IntArray, s: IntArray, k: IntArray, m: IntArray) -> Chance:
    """Chance of what the first solves where the solved runs of each task are dealt to both."""
    open_ = (s > 0) & (s < k + m)
    if not open_.any():
        return Chance(1.0, 1.0)
    strata, of = _kinds(s[open_], k[open_], m[open_])
    counts = np.bincount(of).tolist()
    dealt = [(c, *_deals(*stratum)) for c, stratum in zip(counts, strata, strict=True)]
    return _of_sum(dealt, int(x[open_].sum()))


def _kinds(*columns: IntArray) -> tuple[list[tuple[int, ...]], IntArray]:
    """Rows that occur, and which of them each row is; values are whole and not negative."""
    sizes = [int(c.max(initial=0)) + 1 for c in columns]
    codes, of = np.unique(np.ravel_multi_index(columns, sizes), return_inverse=True)
    rows = np.stack(np.unravel_index(codes, sizes), axis=1).tolist()
    return [tuple(row) for row in rows], of


def _deals(s: int, k: int, m: int) -> tuple[IntArray, FloatArray]:
    """Numbers of s solved runs that k of k + m runs may have, and their chances."""
    values = np.arange(max(0, s - m), min(s, k) + 1)
    chances = special.binom(k, values) * special.binom(m, s - values)
    return values, chances / chances.sum()


def _of_sum(terms: Iterable[tuple[int, IntArray, FloatArray]], observed: int) -> Chance:
    """Chance of a sum of independent whole numbers, exactly, by their characteristic functions.

    Parameters
    ----------
    terms : iterable of (count, values, chances)
        So many numbers of one distribution.
    observed : int
    """
    terms = list(terms)
    least = sum(count * int(values[0]) for count, values, _ in terms)
    size = sum(count * int(values[-1] - values[0]) for count, values, _ in terms) + 1
    # A power of two, at least 2.
    padded = 1 << size.bit_length()
    product = np.ones(padded // 2 + 1, dtype=complex)
    turn = np.exp(-2j * np.pi / padded * np.arange(padded // 2 + 1))
    for count, values, chances in terms:
        one = sum(p * turn ** int(v - values[0]) for v, p in zip(values, chances, strict=True))
        product *= one**count
    chance = np.maximum(np.fft.irfft(product, padded)[:size], 0)
    at = observed - least
    return _two_sided(float(chance[: at + 1].sum()), float(chance[at:].sum()), float(chance[at]))


def _two_sided(below: float, above: float, at: float) -> Chance:
    tail = min(below, above)
    return Chance(*(min(1.0, max(LEAST_P, 2 * t)) for t in (tail, tail - at / 2)))


@dataclass(frozen=True, eq=False)
class Changes:
    """Which tasks have another result in a second configuration; arrays over all tasks.

    Attributes
    ----------
    gained : bool array
        Solved in no run of the first, and in every run of the second.
    lost : bool array
        The other way round.
    flaky : bool array
        Solved in some runs of one configuration only: a difference may be chance.
    p : array
        Of Fisher's exact test of each task; NaN where it did not run in both.
    q : array or None
        Share of false ones among all tasks with so small a p or a smaller one. None where no task
        has runs enough to differ by more than chance, as with one trial: a task that changed and
        one that is solved now and then then look the same.
    """

    gained: BoolArray
    lost: BoolArray
    flaky: BoolArray
    p: FloatArray
    q: FloatArray | None

    @property
    def beyond_chance(self) -> BoolArray | None:
        """Tasks that changed, of which 5 % are false on average at most."""
        return None if self.q is None else self.q <= 1 - CONFIDENCE


def changed_tasks(first: Outcomes, second: Outcomes) -> Changes:
    """Find the tasks whose result changed by more than runs of a task differ by chance.

    Parameters
    ----------
    first, second : Outcomes
        The i-th task of both is the same.

    Notes
    -----
    One task of three trials each can never be shown to differ alone: all against none has p = 0.1.
    Many together can. Tasks that vary by chance would mostly be solved in some runs of both; how
    many are so says how many of those that differ throughout do so by chance (Storey's false
    discovery rate with one added, over tasks that could differ so clearly).
    """
    _same_tasks(first, second)
    x, y, k, m = first.times_solved, second.times_solved, first.runs, second.runs
    both = (k > 0) & (m > 0)
    p = np.full(len(x), np.nan)
    least = np.full(len(x), np.nan)
    p[both], least[both] = _fisher(*(c[both] for c in (x, x + y, k, m)))
    return Changes(
        both & (x == 0) & (y == m),
        both & (x == k) & (y == 0),
        both & (((x > 0) & (x < k)) | ((y > 0) & (y < m))),
        p,
        _false_shares(p, least),
    )


def _fisher(*columns: IntArray) -> tuple[FloatArray, FloatArray]:
    """Two-sided p of tables (x, s, k, m), and the least that each could have had."""
    kinds, of = _kinds(*columns)
    found = np.empty((2, len(kinds)))
    for i, (x, *stratum) in enumerate(kinds):
        values, chances = _deals(*stratum)
        at = chances[values == x][0]
        # Equal chances differ by rounding.
        found[:, i] = [chances[chances <= c * (1 + 1e-7)].sum() for c in (at, chances.min())]
    found = np.minimum(1, found)[:, of]
    return found[0], found[1]


#: P-values above which tasks are taken not to have changed.
_UNCHANGED = 0.1


def _false_shares(p: FloatArray, least: FloatArray) -> FloatArray | None:
    """Share of false ones up to each p (Storey 2004)."""
    if not (least < 1).any():
        return None
    limit = max(_UNCHANGED, float(np.nanmin(least)))
    able = least <= limit * (1 + 1e-7)
    shown = able & (p <= limit * (1 + 1e-7))
    unchanged = (1 + int(able.sum()) - int(shown.sum())) / (1 - limit)
    q = np.ones(len(p))
    places = np.flatnonzero(shown)
    order = places[np.argsort(p[places], kind="stable")]
    upto = np.searchsorted(p[order], p[order], side="right")
    q[order] = np.minimum.accumulate((unchanged * p[order] / upto)[::-1])[::-1]
    return np.minimum(1, q)
