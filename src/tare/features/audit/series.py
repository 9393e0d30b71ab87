"""One series: what it says, and how far that can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tare.features.audit import phrases
from tare.features.audit.naming import in_order
from tare.features.audit.question import Question
from tare.readers import Series
from tare.readers.series import Defect, FailedRuns
from tare.readers.units import may_be_count, says_nothing
from tare.results.columns import group_means
from tare.results.message import Message, Said, message
from tare.statistics.censored import interval_above
from tare.statistics.changes import Changes, OrderAnalysis, analyse_order
from tare.statistics.confirm import Repetitions, converges, repetitions
from tare.statistics.downsample import sample
from tare.statistics.intervals import Interval, trials_for, trials_needed
from tare.statistics.moments import coverage_like, mean_and_sd
from tare.statistics.quantiles import quantiles
from tare.statistics.robust import robust_sd
from tare.statistics.shared_timeline import SharedTimeline, places_inside, shared_timeline
from tare.statistics.statistic import FloatArray
from tare.statistics.ticks import tick_of
from tare.statistics.time_of_day import TimeOfDay
from tare.statistics.trust import BesideCycles, Trust, Verdict, beside_cycles, trust
from tare.statistics.warmup import FEWEST_OF_ALL, warm_up

if TYPE_CHECKING:
    from tare.statistics.assumptions import Assumptions

#: Verdicts from the best to the worst; the place is the exit code.
VERDICTS: tuple[Verdict, ...] = ("TRUST", "DOUBT", "REJECT")
#: Values beyond which what depends on order, and what is resampled, rests on a part of them.
MOST = 20_000
#: Longest series of which all values are sorted, once for all that needs it.
_MOST_SORTED = 1 << 16
#: Share of the precision that a clock's tick may take for any number of runs to reach it.
_MOST_OF_ROOM = 0.9
#: Share of failed runs above which the values of the others may mislead: the smallest that moves
#: the p1 to p99 quantiles at all.
_MOST_FAILED = 0.01
_PAGE_BYTES = 4096.0
_DAY_S = 86_400.0


def recorded_tick(series: Series) -> float | None:
    """Find the tick that values were recorded with, before they are averaged to trials.

    What an average smooths is the noise of rounding, not what cutting off takes from every value.
    Bytes that are all whole pages were counted in pages. Counts are exact, but what a name leaves
    open is taken for ticks: the interval is too wide then rather than too narrow.
    """
    values = series.ended
    counts = may_be_count(series.metric, series.unit) and not says_nothing(series.metric)
    if counts and _are_counts(values):
        return 0.0
    paged = series.unit == "bytes" and len(values) > 0 and not np.any(np.mod(values, _PAGE_BYTES))
    return tick_of(values, _PAGE_BYTES if paged else None)


def _are_counts(values: FloatArray) -> bool:
    """Whether values are whole numbers that differ and have no common divisor, as counts have."""
    some = sample(values, MOST)
    if len(some) == 0 or np.any(some < 0) or np.any(np.mod(some, 1)) or np.ptp(some) == 0:
        return False
    return float(some.max()) < 2**53 and int(np.gcd.reduce(some.astype(np.int64))) == 1


def trials_of(series: Series) -> Series:
    """Reduce a series to the values of its trials: the mean over each trial's values."""
    return series if series.trial is None else averaged(series, series.trial)


def averaged(series: Series, groups: np.ndarray) -> Series:
    """Reduce the values of each group, such as a trial or a block, to one: their mean."""
    first, means = group_means(groups, series.values)
    if len(first) == len(series.values):
        return series
    order = np.argsort(first)
    # A mean is at least that of the limits in place of the values that exceed them.
    above = None if series.above is None else group_means(groups, series.least)[1][order]
    return replace(series.rows(first[order]), values=means[order], above=above)


@dataclass(frozen=True, eq=False)
class Counted:
    """The values of a series that count: all, or those without its warm-up.

    Attributes
    ----------
    series : Series
        The series reduced to its steady values; the whole one without a steady part.
    timeline : SharedTimeline or None
        What trials have in common over their iterations, warm-up included.
    begin : int or None
        Index of the first iteration in each trial, or of the first trial where each is one value;
        None: all values count, since --steady was not given.
    refusal : Said or None
        Reason that no steady part was found; None: one was found, or --steady was not given.
    """

    series: Series
    timeline: SharedTimeline | None
    begin: int | None = None
    refusal: Said | None = None


def counted(series: Series, question: Question) -> Counted:
    """Leave the warm-up out where only the steady part counts.

    That is the warm-up of each trial, or the first trials where each is one value.
    """
    timeline = None
    if series.trial is not None and (inside := has_iterations(series)):
        timeline = shared_timeline(series.least, series.trial)
        places = places_inside(series.trial)
    else:
        inside, places = False, np.arange(len(series.values))
    if not question.steady:
        return Counted(series, timeline)
    found = timeline if inside else warm_up(series.least, question.precision)
    begin: int | None = 0
    if found is not None and (inside or len(series.values) >= FEWEST_OF_ALL):
        begin = found.steady_from
    if begin is None:
        return Counted(series, timeline, 0, None if found is None else found.sentence)
    return Counted(series.rows(places >= begin), timeline, begin)


def has_iterations(series: Series) -> bool:
    """Whether trials have several values."""
    return series.trial is not None and len(np.unique(series.trial)) < len(series.values)


@dataclass(frozen=True, eq=False)
class SeriesAudit:
    """What an audit says of one series.

    The verdict and the quantiles are computed at once. Everything else is computed when it is
    read: the terminal shows a few series of many, and few of their figures.

    Attributes
    ----------
    files : tuple of Path
        Those that it was read from; several where each is one execution.
    counted : Counted
        The values that count.
    key : dict of str to str
        What tells it from all others of the audit: with its file, where there are several.
    name : str
        The same in words, without what all have in common.
    question : Question
    trials : Series
        One value per trial, the mean over its values; each value where trials are not known.
    quantiles : tuple of (float, Interval)
        The median first.
    analysis : OrderAnalysis
        What the order of the values shows, without the cycles that cause a doubt.
    trust : Trust
    others : tuple of Path
        Further files, where each has one of the trials.
    machine : str
        Host or processor that all files name; empty where they name none, or several.
    ordered : array, shape (n,), or None
        The values of the trials in ascending order; None of a long series.
    over_time : TimeOfDay or None
        Medians per unit of time; None without times of values, and for fewer than 6 units. Daily
        cycles of all series of a metric and unit are tested together.
    beside : BesideCycles or None
        The values of the trials without daily and weekly cycles, where these cause a doubt.
    """

    files: tuple[Path, ...]
    counted: Counted
    key: dict[str, str]
    name: str
    question: Question
    trials: Series
    quantiles: tuple[tuple[float, Interval], ...]
    analysis: OrderAnalysis
    trust: Trust
    others: tuple[Path, ...] = ()
    machine: str = ""
    ordered: FloatArray | None = None
    over_time: TimeOfDay | None = None
    beside: BesideCycles | None = None

    @property
    def series(self) -> Series:
        """The series, without its warm-up where only the steady part counts."""
        return self.counted.series

    @property
    def timeline(self) -> SharedTimeline | None:
        """What trials have in common over their iterations, warm-up included."""
        return self.counted.timeline

    @property
    def changes(self) -> Changes:
        """Drift or level shifts."""
        return self.analysis.changes

    @property
    def notes(self) -> tuple[Said, ...]:
        """What is to be known besides the verdict: of the trials, and of how they were read."""
        means = () if (said := self.value_of_trial) is None else (said,)
        return (*self.trust.remarks, *means, *self.losses, *self.series.notes)

    @property
    def losses(self) -> tuple[Message, ...]:
        """Notes on failed runs, values above limits and joined files; reasons are not repeated."""
        is_reason = any(one.kind in ("failed", "some_failed") for one in self.trust.grounds)
        return (replace(self.series, failed=None) if is_reason else self.series).losses

    @property
    def value_of_trial(self) -> Message | None:
        """Say which values a trial's value is the mean of; None where each is one value."""
        begin = self.counted.begin or 0
        if self.series.trial is None or not has_iterations(self.series):
            # Trials of one iteration each may be what is left of several.
            return (
                message(
                    "the first {% if n == 1 %}value is{% else %}{n} values are{% endif %} left "
                    "out (--steady)",
                    n=begin,
                )
                if begin
                else None
            )
        counts = np.unique(self.series.trial, return_counts=True)[1]
        return message(
            "{values} values of {trials | counted('trial')}: each trial counts as the mean "
            "of {% if first > 1 %}iterations {first}{% if last %} to {last}{% else %} and "
            "later{% endif %}{% else %}all{% if last %} {last}{% else %} its{% endif %} "
            "iterations{% endif %}",
            values=len(self.series.values),
            trials=self.n,
            first=begin + 1,
            last=begin + int(counts[0]) if np.ptp(counts) == 0 else None,
        )

    @property
    def failed(self) -> bool:
        """Whether every run failed: the series has no values."""
        return self.series.all_failed

    @property
    def partly_failed(self) -> FailedRuns | None:
        """The failed runs if they are more than 1 % of all; None otherwise."""
        return _partly_failed(self.series)

    @property
    def is_one_process(self) -> bool:
        """Whether the tool that wrote the file takes all values in one process."""
        return any(reason.kind == "executions" for reason in self.trust.grounds)

    @property
    def trials_known(self) -> bool:
        """Whether the file states each value's trial; otherwise each value counts as a trial."""
        return self.series.trial is not None

    @property
    def n(self) -> int:
        """Number of trials, or of values where the file states no trials."""
        return len(self.trials.values)

    @property
    def median(self) -> Interval:
        """The median with its interval."""
        return self.quantiles[0][1]

    @cached_property
    def tick(self) -> float | None:
        """Of the clock, before values were averaged to trials; None where it is not known."""
        return recorded_tick(self.series)

    @property
    def reached(self) -> bool | None:
        """Whether the median's interval is within the precision; None where there is none."""
        half = self.median.half_width
        return None if half is None else half <= self.question.precision

    @property
    def clock_too_coarse(self) -> bool:
        """Whether the clock's tick exceeds the precision, which no number of runs then reaches."""
        room = self.question.precision * abs(self.median.estimate)
        return room > 0 and self.median.tick > _MOST_OF_ROOM * room

    @property
    def may_be_counts(self) -> bool:
        """Whether whole numbers may be counts, so that their steps need not be a clock's ticks."""
        whole = not any(np.any(np.mod(p, 1)) for p in _pieces(self.series.ended))
        return whole and may_be_count(self.series.metric, self.series.unit)

    @property
    def more_runs_help(self) -> bool:
        """Whether intervals narrow as runs are added, about one level."""
        return self.converges and self.changes.ok is not False

    @property
    def runs_assured(self) -> int | None:
        """Runs with which 90 % of samples reach the precision; None as of ``runs_needed``."""
        if not self.reached or self.runs_needed is None:
            return None
        assured = self.repetitions.n_assured
        if assured is None:
            return None
        return math.ceil(assured * self.dependence)

    @property
    def runs_needed(self) -> int | None:
        """Runs for the precision; None without an interval, and where none suffice.

        None suffice where the clock is too coarse, or where more runs do not help.

        CONFIRM's where the precision was reached, times the dependence time. Otherwise widths are
        taken to fall as the root of the number of runs.
        """
        if self.reached is None or self.clock_too_coarse or not self.more_runs_help:
            return None
        if self.reached and self.repetitions.n is not None:
            return math.ceil(self.repetitions.n * self.dependence)
        return trials_for(self.median, self.question.precision)

    @property
    def dependence(self) -> float:
        """Trials that are worth one independent trial; 1 where no autocorrelation is shown."""
        return self.analysis.dependence

    @cached_property
    def mean_estimate(self) -> float:
        """Mean of all values; not known where one exceeds a limit."""
        if self.trials.killed:
            return math.nan
        pieces = _pieces(self.trials.values)
        return sum(float(np.sum(p)) for p in pieces) / self.n if self.n else math.nan

    @cached_property
    def sd_estimate(self) -> float:
        """Standard deviation of all values; 0 of a single one."""
        mean, n = self.mean_estimate, self.n
        squares = sum(float(np.sum((p - mean) ** 2)) for p in _pieces(self.trials.values))
        return math.sqrt(squares / (n - 1)) if n > 1 else 0.0

    @property
    def mean(self) -> Interval:
        """Mean with its bootstrap interval."""
        return self._moments[0]

    @property
    def sd(self) -> Interval:
        """Standard deviation with its bootstrap interval."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[Interval, Interval]:
        """Mean and SD with bootstrap intervals.

        For a long series both estimates are exact; the intervals are those of a part of it,
        narrowed as the root of the number of values.
        """
        question, part, n = self.question, self.part, self.n
        if n == 0:
            return self.median, self.median
        if self.trials.killed:
            refusal = message(
                "{n | counted('value')} {% if n == 1 %}is{% else %}are{% endif %} only known "
                "to exceed a limit",
                n=self.trials.killed,
            )
            unknown = Interval(math.nan, None, None, question.confidence, "none", n, refusal)
            return unknown, unknown
        found = mean_and_sd(part, question.confidence, question.seed, tick=self.tick)
        if len(part) == n:
            return found
        narrowing = math.sqrt(len(part) / n)

        def narrowed(i: Interval, estimate: float) -> Interval:
            if i.low is None or i.high is None:
                return replace(i, estimate=estimate, n=n)
            return replace(
                i,
                estimate=estimate,
                low=estimate - narrowing * (i.estimate - i.low),
                high=estimate + narrowing * (i.high - i.estimate),
                method=f"{i.method} of {len(part):,} values, narrowed to all",
                n=n,
            )

        return narrowed(found[0], self.mean_estimate), narrowed(found[1], self.sd_estimate)

    @cached_property
    def coverage(self) -> tuple[float, float] | None:
        """Simulated coverage of the intervals of mean and SD for values like these."""
        question = self.question
        if self.n == 0 or self.trials.killed:
            return None
        return coverage_like(self.part, question.confidence, question.seed)

    @cached_property
    def assumptions(self) -> Assumptions:
        """Tests of what conclusions from the series take for granted."""
        # Only the page and the JSON have them.
        from tare.statistics.assumptions import assumptions

        return assumptions(self.trials.least, self.question.precision, self.analysis)

    @cached_property
    def converges(self) -> bool:
        """Whether intervals narrow about one median as runs are added in order of time."""
        if self.beside is not None:
            part = thinned(self.beside.values)
            return converges(part, self._room, self.question.confidence)
        return self.n == 0 or converges(
            self.part, self._room, self.question.confidence, ordered=self.ordered_part
        )

    @cached_property
    def repetitions(self) -> Repetitions:
        """CONFIRM's count of runs for the median, with room for the clock's tick.

        No number of runs suffices where the clock is too coarse. CONFIRM uses recorded values
        alone, which agree the better the coarser the clock is.
        """
        precision, level = self.question.precision, self.question.confidence
        if self.n == 0:
            return Repetitions(precision, level, 0.5, None, None, True, np.empty(0))
        found = repetitions(
            self.part, self._room, level, settled=self.converges, ordered=self.ordered_part
        )
        found = replace(found, precision=precision)
        is_possible = self._room_beside_tick > 0
        return found if is_possible else replace(found, n=None, n_assured=None)

    @property
    def _room_beside_tick(self) -> float:
        """Precision without what the clock's tick takes of it."""
        middle = abs(self.median.estimate)
        return self.question.precision - (self.median.tick / middle if middle > 0 else 0.0)

    @property
    def _room(self) -> float:
        room = self._room_beside_tick
        return room if room > 0 else self.question.precision

    @property
    def used(self) -> int:
        """Trials that order-based and resampled figures rest on: all, or ``MOST`` of them."""
        return len(self.part)

    @cached_property
    def cov(self) -> float | None:
        """Coefficient of variation: SD / mean; None where it has no meaning."""
        if self.n < 2 or self.trials.killed or self.mean_estimate <= 0:
            return None
        return self.sd_estimate / self.mean_estimate

    @cached_property
    def cov_robust(self) -> float | None:
        """1.4826 × the median absolute deviation / median."""
        middle = self.median.estimate
        if self.n < 2 or self.trials.killed or middle <= 0:
            return None
        return robust_sd(self.ordered_part, middle, ordered=True) / middle

    @cached_property
    def part(self) -> FloatArray:
        """The trials' values, thinned evenly where there are very many; limits for larger ones."""
        return thinned(self.trials.least)

    @cached_property
    def ordered_part(self) -> FloatArray:
        """``part`` in ascending order."""
        if self.ordered is not None and len(self.part) == self.n:
            return self.ordered
        return np.sort(self.part)


def worst(some: Sequence[SeriesAudit], most: int) -> list[SeriesAudit]:
    """Choose the series that ask most for a look, by verdict, reasons and spread."""

    def weight(i: int) -> tuple[int, int, float]:
        s = some[i]
        place = VERDICTS.index(s.trust.verdict)
        return -place, -len(s.trust.reasons), -(s.cov_robust or 0.0)

    kept = sorted(sorted(range(len(some)), key=weight)[:most])
    return in_order([some[i] for i in kept], lambda s: s.key)


def thinned(values: FloatArray, most: int = MOST) -> FloatArray:
    """Keep every k-th value of a long series, so that at most so many are left."""
    return np.ascontiguousarray(sample(values, most))


def _pieces(values: FloatArray) -> Iterator[FloatArray]:
    """Cut a series, so that a memory map is not loaded whole."""
    step = 1 << 17
    for start in range(0, len(values), step):
        yield values[start : start + step]


def _quantiles(
    trials: Series,
    qs: Sequence[float],
    confidence: float,
    dependence: float,
    tick: float | None,
    ordered: FloatArray | None,
) -> list[Interval]:
    """Quantiles with intervals adjusted for autocorrelation; a refusal has the trials needed."""
    widening, n = math.sqrt(dependence), len(trials.values)
    if n == 0:
        refusal = message(phrases.REFUSAL_EMPTY)
        return [Interval(math.nan, None, None, confidence, "none", 0, refusal)] * len(qs)
    if trials.killed and trials.above is not None:
        above = trials.above

        def among(q: float) -> Interval:
            def compute(some: FloatArray, known: float | None) -> Interval:
                return quantiles(some, [q], confidence, widening, known)[0]

            return interval_above(compute, trials.values, above, tick)

        found = [among(q) for q in qs]
    else:
        found = quantiles(trials.least, qs, confidence, widening, tick, ordered)
    if dependence == 1:
        return found
    return [
        i
        if i.low is not None
        else replace(
            i,
            refusal=message(
                "n = {n} is too small, as these are worth about {effective} independent "
                "ones; needs ≥ {needed}",
                n=n,
                effective=round(n / dependence),
                needed=math.ceil(trials_needed(q, confidence) * dependence),
            ),
        )
        for q, i in zip(qs, found, strict=True)
    ]


def _partly_failed(series: Series) -> FailedRuns | None:
    """Return the failed runs where they are more than 1 %.

    None for a task of a set that is not judged alone, as it may be hard.
    """
    if series.task is not None and series.task.runs < trials_needed(0.5):
        return None
    failed = series.failed
    if failed is None or series.all_failed or failed.n <= _MOST_FAILED * failed.total:
        return None
    return failed


def audit_series(
    files: tuple[Path, ...],
    part: Counted,
    key: dict[str, str],
    name: str,
    question: Question,
    executions: Message | None = None,
    over_time: TimeOfDay | None = None,
) -> SeriesAudit:
    """Conclude from one series.

    Parameters
    ----------
    files : tuple of Path
        Where it was read from.
    part : Counted
    key : dict of str to str
    name : str
    question : Question
    executions : Message or None
        Why the values are not executions of their own, where the format explains it.
    over_time : TimeOfDay or None
        Medians per unit of time. A daily or weekly cycle of a series whose order is doubtful is the
        reason: what else the order shows, and how many independent trials these are, is looked
        for without it.
    """
    series, precision = part.series, question.precision
    trials, partly = trials_of(series), _partly_failed(series)
    values, wanted = trials.least, tuple(dict.fromkeys((0.5, *question.quantiles)))
    sorter = np.argsort(values) if len(values) <= _MOST_SORTED else None
    ordered = None if sorter is None else values[sorter]
    analysis = analyse_order(values, precision, sorter)
    beside = None
    if analysis.is_doubtful:
        beside = beside_cycles(over_time, trials.at_s, values, precision)
    left = analysis if beside is None else beside.analysis
    tick = recorded_tick(series) if len(values) else None
    intervals = _quantiles(trials, wanted, question.confidence, left.dependence, tick, ordered)
    made = SeriesAudit(
        files=files,
        counted=part,
        key=key,
        name=name,
        question=question,
        trials=trials,
        quantiles=tuple(zip(wanted, intervals, strict=True)),
        analysis=left,
        trust=Trust("TRUST", ()),
        ordered=ordered,
        over_time=over_time,
        beside=beside,
    )
    return replace(
        made,
        trust=trust(
            values,
            trials_known=made.trials_known,
            precision=precision,
            defects=[*series.defects, *_unsteady(part)],
            tick=tick,
            median=made.median,
            narrows=made.reached is not False or made.more_runs_help,
            sessions=_sessions_of(series, trials, files),
            analysis=analysis,
            beside=beside,
            executions=executions,
            failed=series.failed.said if series.failed is not None and series.all_failed else None,
            partly_failed=None if partly is None else partly.said,
            sorter=sorter,
            timeline=None if question.steady else part.timeline,
            grouped=series.grouped,
        ),
    )


def _sessions_of(series: Series, trials: Series, files: Sequence[Path]) -> int:
    """Count the sessions that the trials are of, as far as files, dates and blocks show them.

    Blocks count where each has several trials of the series one after another; those that pair
    the trials of series, such as items, are not of other times.
    """
    found = [series.sessions, len(files)]
    if trials.at_s is not None:
        found.append(len(np.unique(np.floor(trials.at_s / _DAY_S))))
    if trials.block is not None and len(trials.block):
        blocks, sizes = np.unique(trials.block, return_counts=True)
        in_turn = np.count_nonzero(np.diff(trials.block)) == len(blocks) - 1
        found.append(len(blocks) if sizes.min() > 1 and in_turn else 1)
    return max(found)


def _unsteady(part: Counted) -> Iterator[Defect]:
    if part.refusal is not None:
        yield Defect("no steady part", part.refusal)
