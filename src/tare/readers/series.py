"""What a file of results holds, whoever wrote it: series of values, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tare.experiment.task_sets.outcomes import SOLVED, Result
from tare.results.message import Amount, Message, Said, message
from tare.statistics.censored import at_least

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: In place of a column that tells executions apart: every row is one.
EACH_ROW = "row"


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns of a long table mean what; formats that say so themselves need none.

    Attributes
    ----------
    value : str or None
        The column of the values.
    group, compare : tuple of str
        Columns whose levels make the series; those of ``compare`` are compared within a group.
    order, trial, block : str or None
        Columns that give the order of time, the trial and the block of each row; ``trial`` may be
        ``EACH_ROW``, where there is no such column.
    drop_missing : bool
        Whether cells that hold nothing, such as ``NA``, are no defect.
    """

    value: str | None = None
    group: tuple[str, ...] = ()
    compare: tuple[str, ...] = ()
    order: str | None = None
    trial: str | None = None
    block: str | None = None
    drop_missing: bool = False


#: Reasons of failed runs that a sentence names.
_MOST_REASONS = 5


@dataclass(frozen=True)
class Defect:
    """What makes a series unfit to conclude from.

    Attributes
    ----------
    kind : {"corrupt", "mixed units", "summary only", "few requests", "no steady part"}
        ``corrupt``: not a number, infinite, or negative where that cannot be.
    message : Said
        With the place in the file (line, row, or path inside it) and how many.
    """

    kind: str
    message: Said


@dataclass(frozen=True)
class FailedRuns:
    """Runs, or the like, that failed, so that they are left out.

    Attributes
    ----------
    n, total : int
        How many failed, of how many.
    what : str
        What failed: ``run``, ``trial``, ``repetition``.
    reasons : tuple of (Said, int)
        Why, and how often, the most frequent first.
    because : tuple of Said
        Why, where it is not known how often.
    at : Message or None
        Where the file has them.
    """

    n: int
    total: int
    what: str
    reasons: tuple[tuple[Said, int], ...] = ()
    because: tuple[Said, ...] = ()
    at: Message | None = None

    @property
    def said(self) -> Message:
        """How many failed, and why; of many reasons the most frequent."""
        first = self.reasons[:_MOST_REASONS]
        why: list[Said] = [message("{why} ({n})", why=one, n=n) for one, n in first]
        if more := len(self.reasons) - len(first):
            why.append(message("{n | counted('other reason')}", n=more))
        return message(
            "{% if n == total %}{% if n == 1 %}the only {what}{% elif n == 2 %}both {what}s"
            "{% else %}all {n | counted(what)}{% endif %} failed{% else %}{n} of "
            "{total | counted(what)} failed and {% if n == 1 %}is{% else %}are{% endif %} "
            "left out{% endif %}{% if why %}: {why | join(', ')}{% endif %}{% if at %} ({at})"
            "{% endif %}", n=self.n, total=self.total, what=self.what,
            why=[*why, *self.because], at=self.at,
        )  # fmt: skip


@dataclass(frozen=True)
class TaskRuns:
    """How the runs of one task of a set ended.

    Attributes
    ----------
    results : tuple of str
        Of each run, one of :data:`tare.experiment.task_sets.outcomes.RESULTS`.
    values : tuple of float
        The metric of each run, whether it solved the task or not; NaN where it has none.
    limit : float or None
        Of the metric, beyond which a run was stopped; None: the file states none.
    why : str or None
        How the last run ended that did not solve the task, in the words of the file.
    expected : {"true", "false"} or None
        Whether the property to be checked holds; None: the file does not say, or nothing is
        checked.
    points : tuple of float or None
        Score of each run; None: they have none.
    """

    results: tuple[Result, ...]
    values: tuple[float, ...]
    limit: float | None = None
    why: str | None = None
    expected: str | None = None
    points: tuple[float, ...] | None = None

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.results)

    @property
    def solved(self) -> int:
        """Runs that ended with the expected result, or ended well where none is expected."""
        return sum(one in SOLVED for one in self.results)

    def __add__(self, other: TaskRuns) -> TaskRuns:
        """Return the runs of both, of one task and one metric."""
        points = None
        if self.points is not None and other.points is not None:
            points = (*self.points, *other.points)
        return TaskRuns(
            (*self.results, *other.results),
            (*self.values, *other.values),
            self.limit if self.limit == other.limit else None,
            other.why or self.why,
            self.expected if self.expected == other.expected else None,
            points,
        )


@dataclass(frozen=True, eq=False)
class Timeline:
    """Values inside one execution, in order of time.

    Attributes
    ----------
    metric : str
        What is measured: ``bandwidth received``.
    unit : str or None
        As of a series.
    values : array, shape (n,)
        Finite.
    """

    metric: str
    unit: str | None
    values: FloatArray


@dataclass(frozen=True, eq=False)
class Series:
    """Values of one metric under one set of conditions.

    Attributes
    ----------
    key : mapping of str to str
        What tells this series from the others of its file, such as ``{"command": "sleep 1"}``.
    values : array, shape (n,)
        In order of time, in ``unit``; may be a memory map. Infinite: of an execution that was
        killed at a limit, which its value is known to exceed. What else was not finite is left out
        and told as a defect.
    metric : str
        What is measured: ``time``, ``bandwidth``, the name of a column.
    unit : str or None
        ``s``, ``bytes/s``, ``bits/s``, ``1/s`` …; None where the file does not say. Times are
        seconds, whatever the file has, except where the unit is not known.
    lower_is_better : bool or None
        None where it cannot be known.
    trial : int array, shape (n,), or None
        Which execution each value comes from (a hyperfine run, a pyperf process, a JMH fork);
        None: the file does not tell executions apart, so that values may be iterations of one.
    above : array, shape (n,), or None
        Limit that each infinite value exceeds, NaN of others; None: all values are finite.
    block : int array, shape (n,), or None
        Block of each value; series that share blocks are compared in pairs.
    position : array, shape (n,), or None
        Place of each value in the order of time of the whole file, ascending; it shows which
        series were interleaved. None where the file does not say.
    at_s : array, shape (n,), or None
        When each value was measured, in seconds since 1970 (UTC); None where the file does not say.
    reported : mapping of str to float
        Statistics that the file itself states: ``mean``, ``median``, ``sd``, ``min``, ``max``,
        ``n``.
    sessions : int
        Sessions that the values are of, as far as the file states them.
    task : TaskRuns or None
        Of a series whose key ``task`` is one of a set that several configurations run.
    defects : tuple of Defect
    failed : FailedRuns or None
        Runs that are left out since they failed.
    noun : str
        What each value is of: ``run``, ``trial``.
    pooled : int
        Files of one execution each that it was joined from; 0: it was not.
    notes : tuple of Message
        What else a reader must know: values of warm-up left out.
    grouped : Message or None
        That values count as trials although several are of one execution.
    timelines : tuple of Timeline
        Of the only execution, where its values are known; otherwise none.
    """

    key: Mapping[str, str]
    values: FloatArray
    metric: str = "time"
    unit: str | None = None
    lower_is_better: bool | None = None
    trial: IntArray | None = None
    block: IntArray | None = None
    position: FloatArray | None = None
    at_s: FloatArray | None = None
    reported: Mapping[str, float] = field(default_factory=dict)
    sessions: int = 1
    task: TaskRuns | None = None
    defects: tuple[Defect, ...] = ()
    notes: tuple[Message, ...] = ()
    grouped: Message | None = None
    timelines: tuple[Timeline, ...] = ()
    above: FloatArray | None = None
    failed: FailedRuns | None = None
    noun: str = "run"
    pooled: int = 0

    @property
    def all_failed(self) -> bool:
        """Whether every run failed: there are no values."""
        return self.failed is not None and self.failed.n == self.failed.total

    @property
    def exceeded(self) -> Message | None:
        """How many values exceed a limit; None: none do."""
        if self.above is None or not (killed := np.isinf(self.values)).any():
            return None
        limits, unit = self.above[killed], self.unit or "1"
        limit = Amount(float(limits[0]), unit) if len(np.unique(limits)) == 1 else None
        n, total = int(killed.sum()), len(self.values)
        return message(
            "{n} of {total | counted(what)} exceeded {% if limit %}{limit}{% else %}their "
            "limits{% endif %} and {% if n == 1 %}counts{% else %}count{% endif %} as longer",
            n=n,
            total=total,
            what=self.noun,
            limit=limit,
        )

    @property
    def losses(self) -> tuple[Message, ...]:
        """Which files the values are of, and what they are not of: failed runs, beyond limits."""
        pooled = (
            message(
                "{files} files are taken as {files} executions of one benchmark (--group file "
                "separates them)",
                files=self.pooled,
            )
            if self.pooled
            else None
        )
        failed = None if self.failed is None else self.failed.said
        return tuple(said for said in (pooled, failed, self.exceeded) if said is not None)

    @cached_property
    def least(self) -> FloatArray:
        """Finite values: the limit of each that exceeds one, which ranks it below the true value.

        The order of values and their dependence are looked for in these.
        """
        return self.values if self.above is None else at_least(self.values, self.above)

    @property
    def ended(self) -> FloatArray:
        """Values that are known, of executions that no limit ended."""
        return self.values if self.above is None else self.values[np.isfinite(self.values)]

    @property
    def killed(self) -> int:
        """Number of values of which only a limit is known that they exceed."""
        return 0 if self.above is None else int(np.isinf(self.values).sum())

    def rows(self, kept: NDArray[Any] | slice) -> Series:
        """Keep some of the values."""
        columns = ("values", "above", "trial", "block", "position", "at_s")
        given = {name: getattr(self, name) for name in columns}
        return replace(self, **{n: one[kept] for n, one in given.items() if one is not None})


@dataclass(frozen=True)
class Specification:
    """What a file says of how its numbers came about; None where it does not.

    Each is a short phrase to be shown: "10 runs per command", "mean", "SD of the runs", "CPU
    model and kernel".

    References
    ----------
    CLOUDNET, section 2: what published results leave out.
    """

    repetitions: Said | None = None
    statistic: Said | None = None
    spread: Said | None = None
    environment: Said | None = None


@dataclass(frozen=True)
class Imported:
    """A file of results as read.

    Attributes
    ----------
    file : Path
    series : tuple of Series
        In the order of the file; none of a run that failed.
    specification : Specification
    failed : FailedRuns or None
        Runs of the whole file that are left out since they failed.
    notes : tuple of Said
        What else was left out of the file.
    is_complete : bool
        False where part of it cannot be read; the notes say which.
    is_trace : bool
        Whether it is bandwidth over time, of which ``tare net identify`` finds what shapes it.
    format : str
        Name of the format's unit; ``tare.readers.read`` adds it.
    executions : Message or None
        Of that unit; ``tare.readers.read`` adds them. Not None: the file is one execution, or
        identifies those that it holds.
    subject : tuple of str
        What the file says was measured, and where: files that differ in it do not hold
        executions of the same benchmark.
    levels : tuple of str
        Columns of a table that look like those of parameters; all, where one was not named.
    labels : tuple of str
        Columns of a table with another text in each row, such as names of benchmarks.
    rounds : str or None
        Column of a table that numbers rounds, in each of which every series has a row.
    dates : str or None
        Column of a table that has dates, where none was named as the order of the rows.
    """

    file: Path
    series: tuple[Series, ...]
    specification: Specification = Specification()
    notes: tuple[Said, ...] = ()
    is_complete: bool = True
    is_trace: bool = False
    format: str = ""
    executions: Message | None = None
    subject: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    rounds: str | None = None
    dates: str | None = None
    labels: tuple[str, ...] = ()
    failed: FailedRuns | None = None

    @property
    def said(self) -> tuple[Said, ...]:
        """What was left out of the file, in words."""
        return (*self.notes, *([] if self.failed is None else [self.failed.said]))
