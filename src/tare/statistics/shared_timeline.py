"""Do the values inside executions share a timeline? A warm-up, a period or a drift.

The execution (trial) is the unit of replication. Contrasts of positions are compared between
trials, so that autocorrelation within a trial is no evidence.

Source: Barrett 2017 for the steady state; Westfall and Young 1993 for the largest of contrasts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tare.results.message import Change, Message, message
from tare.statistics import checked
from tare.statistics.distributions import student_cdf
from tare.statistics.permutation import permutation_p
from tare.statistics.segmentation import cut_statistics
from tare.statistics.statistic import FloatArray, IndexArray

_TIMELINE_TEXTS = {
    "warm_up": (
        "warm-up inside executions: {% if last == 1 %}the first iteration differs{% else %}"
        "iterations 1 to {last} differ{% endif %} by up to {size}, {first} to {end} are "
        "steady; it moves the median by {shift}"
    ),
    "drift": (
        "from the first iteration of every execution to the last, values drift by {size}: no "
        "part is steady"
    ),
    "period": (
        "inside executions, values recur every {period} iterations and differ by up to {size}"
        ": no part is steady"
    ),
    "positions": (
        "inside executions, values differ by up to {size} by their position: no part is steady"
    ),
}

#: Trials below which nothing is said of their inside, as a series of so few is rejected.
FEWEST = 6
#: Share of series without a shared timeline in which one is shown by chance.
_LEVEL = 0.004
#: Trials from which flipped signs can reach that level, and up to which all flips are tried.
_ENOUGH, _MOST_EXACT = 9, 12
#: Probability by chance above which a part of the timeline counts as steady.
_STEADY = 0.05
#: Factor on the place from which no timeline is shown: what decays is still there, but too small.
_MARGIN = 1.25
#: Share of the timeline that the steady part has at least, and number of positions.
_LEAST_SHARE, _LEAST = 0.25, 2
#: Random sign flips and rotations of trials, times the level, and how many there are at least.
_FLIPS, _ROTATIONS, _LEAST_DRAWS = 4, 2, 99
#: Positions of the longest timeline that is looked at one by one; of longer ones, means of blocks.
_MOST = 1024
#: Positions that are contrasted one by one; later ones in groups that grow by a quarter.
_SINGLE, _GROWTH = 24, 1.25
#: Longest period that is looked for, and recurrences that it must have.
_LONGEST_PERIOD, _RECURRENCES = 12, 3
#: Share of the mean timeline's variance that a line explains where it is called a drift, the share
#: that a parabola may add, and the positions that it takes.
_LINEAR, _CURVED, _LEAST_DRIFT = 0.5, 0.05, 5

#: Statistics that differ by no more are equal.
_ROUNDING = 1e-9
#: Share of an interval's half-width by which a bias leaves its coverage of 95 % above 94 %.
_HARMLESS = 0.15

Kind = Literal["warm-up", "drift", "period", "positions"]


@dataclass(frozen=True)
class SharedTimeline:
    """What executions have in common over their iterations.

    Attributes
    ----------
    kind : {"warm-up", "drift", "period", "positions"}
        ``warm-up``: other values first, then a steady part; ``drift``: along a line to the end;
        ``period``: recurs; ``positions``: differs otherwise, without a steady part.
    size : float
        Largest deviation, with its sign: of a warm-up from the steady value; of a drift from the
        beginning to the end; else the highest position over the lowest, less 1.
    shift : float
        Median of the means of whole trials over that of their steady parts, less 1; over the last
        quarter where there is none.
    steady_from : int or None
        Index of the first iteration of the steady part, which only a warm-up has.
    period : int or None
        Iterations of a period.
    positions : int
        Iterations that were looked at.
    p : float
        Probability of as large a contrast by chance: Student's t, Bonferroni.
    """

    kind: Kind
    size: float
    shift: float
    steady_from: int | None
    period: int | None
    positions: int
    p: float

    def is_doubtful(self, precision: float, half_width: float | None) -> bool:
        """Whether the median of trial means misleads.

        A warm-up or a drift does where it moves the median by more than the precision, or by more
        than a fifth of its interval's half-width, which then covers the steady value in less than
        94 %. A period, and other differences of positions, where they exceed the precision.

        Parameters
        ----------
        precision : float
            Relative change that matters.
        half_width : float or None
            Of the median's interval, relative to it; None: there is none.
        """
        if self.kind in ("period", "positions"):
            return abs(self.size) > precision
        limit = precision if half_width is None else min(precision, _HARMLESS * half_width)
        return abs(self.shift) > limit

    @property
    def sentence(self) -> Message:
        """Say what executions have in common, and how far it moves the median of their means."""
        begin = self.steady_from
        return message(
            _TIMELINE_TEXTS[self.kind.replace("-", "_")],
            size=Change(1 + self.size),
            shift=Change(1 + self.shift),
            last=begin,
            first=None if begin is None else begin + 1,
            end=self.positions,
            period=self.period,
        )


def shared_timeline(values: ArrayLike, trial: ArrayLike) -> SharedTimeline | None:
    """Look for a timeline that executions share.

    Parameters
    ----------
    values : array, shape (n,)
        In order of time within each trial.
    trial : array, shape (n,)
        Number of the trial of each value.

    Returns
    -------
    SharedTimeline or None
        None: no timeline is shown, fewer than 6 trials have two values, or all are equal.

    Notes
    -----
    Deviations from the level of each trial are contrasted: each position with the others, the
    first ones with those after them, along a line, and the phases of periods. The largest
    contrast, in units of its standard error over trials, must be unlike what random signs of
    whole trials give (below ten trials: Student's t, Bonferroni), and unlike what trials
    rotated in time at random give. The first holds whatever the dependence inside trials, where
    deviations are symmetric; the second whatever the distribution.
    """
    values = checked.series(values, least=0)
    rows = timelines(*checked.pair(values, trial, ("values", "trial"))) if len(values) else None
    if rows is None:
        return None
    deviations = _deviations(_blocked(rows))
    if not _is_shown(deviations):
        return None
    return _describe(rows, deviations, _student_p(deviations))


def timelines(values: FloatArray, trial: FloatArray | IndexArray) -> FloatArray | None:
    """Return the values of trials by position: one row per trial.

    Trials of unequal length are cut to the length that keeps most values of at least half of
    them; shorter trials are left out.

    Returns
    -------
    array, shape (trials, positions), or None
        None: fewer than 6 trials have two values.
    """
    order, starts, counts = _grouped(trial)
    longest = np.sort(counts)[::-1]
    kept = np.arange(1, len(counts) + 1)
    fit = (kept >= max(FEWEST, len(counts) / 2)) & (longest >= 2)
    if not fit.any():
        return None
    length = int(longest[np.argmax(np.where(fit, kept * longest, 0))])
    rows = starts[counts >= length][:, None] + np.arange(length)
    return np.asarray(values[order[rows]], dtype=float)


def places_inside(trial: IndexArray) -> IndexArray:
    """Return the index of each value among those of its trial."""
    order, starts, counts = _grouped(trial)
    places = np.empty(len(trial), dtype=np.intp)
    places[order] = np.arange(len(trial)) - np.repeat(starts, counts)
    return places


def _grouped(trial: FloatArray | IndexArray) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Return the order that groups values by trial, and where each begins and its length."""
    order = np.argsort(trial, kind="stable")
    _, starts, counts = np.unique(trial[order], return_index=True, return_counts=True)
    return order, starts, counts


def _blocked(rows: FloatArray) -> FloatArray:
    size = -(-rows.shape[1] // _MOST)
    if size == 1:
        return rows
    whole = rows.shape[1] // size
    return np.asarray(rows[:, : whole * size].reshape(len(rows), whole, size).mean(axis=2))


def _deviations(rows: FloatArray) -> FloatArray:
    """Subtract each trial's mean, and divide by it where all are above 0."""
    means = rows.mean(axis=1, keepdims=True)
    scale = means if (means > 0).all() else max(float(np.abs(means).mean()), 1e-300)
    return np.asarray((rows - means) / scale)


def _is_shown(deviations: FloatArray, level: float = _LEVEL) -> bool:
    """Whether trials share a timeline, by flipped signs and by rotations."""
    if len(deviations) < _ENOUGH:
        by_signs = _student_p(deviations)
    else:
        by_signs = _p_of_flips(_scores(deviations), level)
    contrasts = _contrasts(deviations.shape[1])
    return by_signs <= level and _p_of_rotations(deviations, contrasts, level) <= level


def _scores(deviations: FloatArray) -> FloatArray:
    """Return each trial's contrasts; the squares of each contrast sum to 1 over trials."""
    of_trials = deviations @ _contrasts(deviations.shape[1])
    norms = np.sqrt((of_trials**2).sum(axis=0))
    varies = norms > 1e-9 * float(np.abs(deviations).max())
    return np.asarray(np.divide(of_trials, norms, out=np.zeros_like(of_trials), where=varies))


def _student_p(deviations: FloatArray) -> float:
    """Return the p of the largest contrast by Student's t, times the number of contrasts."""
    scores = _scores(deviations)
    n, largest = len(scores), float(np.abs(scores.sum(axis=0)).max())
    t = largest * math.sqrt((n - 1) / max(n - largest**2, 1e-12))
    return min(1.0, 2 * int(scores.shape[1]) * student_cdf(n - 1, -t))


def _p_of_flips(scores: FloatArray, level: float) -> float:
    n, largest = len(scores), float(np.abs(scores.sum(axis=0)).max()) - _ROUNDING
    if n <= _MOST_EXACT:
        # Flipping all signs changes no size.
        bits = np.arange(1 << (n - 1))[:, None] >> np.arange(n) & 1
        return float(np.mean(np.abs((1.0 - 2 * bits) @ scores).max(axis=1) >= largest))
    rng = np.random.default_rng(1)

    def flipped() -> float:
        return float(np.abs((1.0 - 2 * rng.integers(2, size=n)) @ scores).max())

    return permutation_p(flipped, largest, _draws(_FLIPS, level), level)


def _draws(times: int, level: float) -> int:
    return max(_LEAST_DRAWS, round(times / level) - 1)


def _p_of_rotations(deviations: FloatArray, contrasts: FloatArray, level: float) -> float:
    rng = np.random.default_rng(2)
    n, positions = deviations.shape
    # A unit from each rotation alone would make contrasts large that all trials have in common.
    spectrum = (np.abs(np.fft.fft(deviations, axis=1)) ** 2).mean(axis=0)
    lags = np.real(np.fft.ifft(spectrum)) / positions
    at = np.arange(positions)
    covariance = lags[np.subtract.outer(at, at) % positions]
    squares = np.einsum("jk,jk->k", contrasts, covariance @ contrasts)
    scaled = contrasts / np.sqrt(np.maximum(squares, 1e-12 * squares.max()))
    largest = float(np.abs(deviations.sum(axis=0) @ scaled).max()) - _ROUNDING

    def rotated() -> float:
        places = np.add.outer(rng.integers(positions, size=n), at) % positions
        return float(np.abs(np.take_along_axis(deviations, places, axis=1).sum(0) @ scaled).max())

    return permutation_p(rotated, largest, _draws(_ROTATIONS, level), level)


@lru_cache(maxsize=64)
def _contrasts(positions: int) -> FloatArray:
    """Return contrasts of positions as columns: the sum of each is 0."""
    edges = _edges(positions)
    columns = []
    for begin, end in pairwise(edges):
        group = np.zeros(positions)
        group[begin:end] = 1 / (end - begin)
        columns.append(group - 1 / positions)
        if begin > 1:
            first = np.full(positions, -1 / (positions - begin))
            first[:begin] = 1 / begin
            columns.append(first)
    columns.append(np.linspace(-1, 1, positions))
    for period in range(2, min(_LONGEST_PERIOD, positions // _RECURRENCES) + 1):
        columns += _phases(positions, period)
    return np.column_stack(columns)


def _edges(positions: int) -> list[int]:
    edges = [*range(min(positions, _SINGLE))]
    while (following := max(edges[-1] + 1, math.ceil(edges[-1] * _GROWTH))) < positions:
        edges.append(following)
    return [*edges, positions]


def _phases(positions: int, period: int) -> list[FloatArray]:
    """Return the contrast of each phase with the mean of the period around it.

    A level that changes slowly cancels out.
    """
    # A moving average over a period, with half weights at the ends where it is even.
    width = period + 1 - period % 2
    around = np.full(width, 1 / period)
    if period % 2 == 0:
        around[[0, -1]] /= 2
    half = width // 2
    middles = np.arange(half, positions - half)
    found = []
    for phase in range(period):
        contrast = np.zeros(positions)
        own = middles[middles % period == phase]
        contrast[own] += 1
        for middle in own:
            contrast[middle - half : middle + half + 1] -= around
        found.append(contrast / max(len(own), 1))
    return found


def _describe(rows: FloatArray, deviations: FloatArray, p: float) -> SharedTimeline:
    """Name the kind of a timeline that is shown."""
    positions = rows.shape[1]
    block = -(-positions // _MOST)
    timeline = deviations.mean(axis=0)
    levels = rows.mean(axis=1)
    # Of a 95 % interval of the mean, roughly; relative to the level, as deviations are.
    half_width = 2 * float(levels.std()) / math.sqrt(len(rows)) / max(abs(levels.mean()), 1e-300)
    steady = _steady_from(deviations, half_width)
    if _is_line(timeline) and (steady is None or 2 * steady >= len(timeline)):
        quarter = max(1, round(_LEAST_SHARE * positions))
        line = np.linspace(-1, 1, len(timeline))
        slope = float(timeline @ line / (line @ line))
        size = 2 * slope / (1 - slope) if slope < 1 else math.inf
        return SharedTimeline(
            "drift", size, _shift(rows, positions - quarter), None, None, positions, p
        )
    if steady is not None:
        start = steady * block
        tail = 1 + float(timeline[steady:].mean())
        head = timeline[:steady]
        most = float(head[np.abs(1 + head - tail).argmax()])
        size = (1 + most) / tail - 1 if tail > 0 else math.nan
        return SharedTimeline("warm-up", size, _shift(rows, start), start, None, positions, p)
    quarter = max(1, round(_LEAST_SHARE * positions))
    shift = _shift(rows, positions - quarter)
    period = _period(deviations) if block == 1 else None
    if period is not None:
        phases = np.array([timeline[phase::period].mean() for phase in range(period)])
        size = float((1 + phases.max()) / (1 + phases.min())) - 1
        return SharedTimeline("period", size, shift, None, period, positions, p)
    size = float((1 + timeline.max()) / max(1 + timeline.min(), 1e-300)) - 1
    return SharedTimeline("positions", size, shift, None, None, positions, p)


def _is_line(timeline: FloatArray) -> bool:
    """Whether a line describes a timeline better than a step, and a parabola no better."""
    n, total = len(timeline), float(timeline @ timeline)
    if n < _LEAST_DRIFT or total == 0:
        return False
    at = np.linspace(-1, 1, n)
    left = [timeline - np.polyval(np.polyfit(at, timeline, degree), at) for degree in (1, 2)]
    line, parabola = (1 - float(one @ one) / total for one in left)
    step = float(cut_statistics(timeline).max()) ** 2 * n / (n - 1) / total
    return line > max(_LINEAR, step) and parabola - line < _CURVED


def _steady_from(deviations: FloatArray, half_width: float) -> int | None:
    """Return where the steady part begins; None: too few positions are left.

    A quarter more than the positions after which no timeline is shown are left out, or those after
    which none matters relative to the differences between trials.
    """
    positions = deviations.shape[1]
    least = max(_LEAST, math.ceil(_LEAST_SHARE * positions))
    for end in _edges(positions)[1:]:
        begin = math.ceil(_MARGIN * end)
        if positions - begin < least:
            return None
        tail = deviations[:, end:]
        tail = tail - tail.mean(axis=1, keepdims=True)
        if _is_harmless(tail.mean(axis=0), half_width) or not _is_shown(tail, _STEADY):
            return begin
    return None


def _is_harmless(timeline: FloatArray, half_width: float) -> bool:
    """Whether, relative to an interval, no position and not the last third is far from the mean."""
    last = timeline[-max(1, len(timeline) // 3) :]
    is_near = float(np.abs(timeline).max()) <= half_width
    return is_near and abs(float(last.mean())) <= _HARMLESS * half_width


def _period(deviations: FloatArray) -> int | None:
    """Return the shortest period after whose removal no timeline is left; None: there is none."""
    positions = deviations.shape[1]
    timeline = deviations.mean(axis=0)
    total = float(timeline @ timeline)
    for period in range(2, min(_LONGEST_PERIOD, positions // _RECURRENCES) + 1):
        phases = np.array([timeline[phase::period].mean() for phase in range(period)])
        explained = phases[np.arange(positions) % period]
        left = timeline - explained
        if float(left @ left) < 0.25 * total and not _is_shown(deviations - explained, _STEADY):
            return period
    return None


def _shift(rows: FloatArray, begin: int) -> float:
    whole, steady = np.median(rows.mean(axis=1)), np.median(rows[:, begin:].mean(axis=1))
    return float((whole - steady) / abs(steady)) if steady else 0.0
