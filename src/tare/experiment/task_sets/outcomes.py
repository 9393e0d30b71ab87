"""Runs of a set of tasks as arrays of tasks and trials, one object per configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from tare.statistics.scores import Outcomes

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Result of a run. ``done``: ended well, without an expected output to compare. ``timeout`` (wall
#: time), ``cpu_time``, ``out_of_memory``, ``output`` and ``processes``: killed for exceeding that
#: limit. ``crashed``: ended by a signal or with a non-zero exit code. ``killed``: by SIGKILL from
#: outside. ``unchecked``: the checker failed. ``lost``: the platform failed, which says nothing
#: about the program. Of imported files only, ``unknown``: the program gave no answer; ``failed``:
#: the file does not say how.
Result = Literal[
    "correct", "wrong", "done", "timeout", "cpu_time", "out_of_memory", "output", "processes",
    "crashed", "killed", "unchecked", "lost", "unknown", "failed",
]  # fmt: skip
RESULTS: tuple[Result, ...] = get_args(Result)
#: Results of a run that solved its task.
SOLVED: frozenset[Result] = frozenset({"correct", "done"})
#: Results of a run that was killed at a limit.
LIMITED: frozenset[Result] = frozenset({
    "timeout", "cpu_time", "out_of_memory", "output", "processes",
})  # fmt: skip
#: Results that say nothing of the program: on resuming, such runs are done again.
AGAIN: frozenset[Result] = frozenset({"lost", "unchecked"})
#: Index of the outcome of a task whose runs end differently, after those of RESULTS.
MIXED = len(RESULTS)
#: Level of a configuration that names its session: the folder or file that it was read from.
SESSION = "folder"


@dataclass(frozen=True)
class Measure:
    """What is measured of each run.

    Attributes
    ----------
    key : str
    title : str
        For readers: ``CPU time``.
    unit : str
        As stored: ``ns``, ``s``, ``bytes``.
    limit : float or None
        The value beyond which no run solves its task, in the same unit; None: no such limit.
    killed : str or None
        Result of runs that were killed at this limit, whose values would have been larger.
    """

    key: str
    title: str
    unit: str
    limit: float | None = None
    killed: Result | None = None

    @property
    def is_time(self) -> bool:
        """Whether less of it is faster."""
        return self.unit in ("s", "ns")


@dataclass(frozen=True, eq=False)
class Scored:
    """One configuration's runs.

    Attributes
    ----------
    number : int
        Its place among the configurations.
    label : str
        By what it differs from the others.
    levels : mapping
        Level of each factor by which configurations may differ, :data:`SESSION` among them.
    session : str
        Configurations of one session were run interleaved, in random order.
    result : int array, shape (tasks, trials)
        A place in RESULTS; -1: no run.
    measures : tuple of Measure
        The first is the one that scores are about.
    values : mapping of arrays, shape (tasks, trials)
        By the key of a measure; NaN where there is none.
    why : tuple of (str or None)
        Reason of each task's last run that was not solved.
    broken : str or None
        Why every run crashed alike. A program that is not found on its platform ends so, or that
        misses a file there: its runs say nothing about how it solves tasks.
    kinds : mapping of int
        Number of runs by answer and expected answer, as in "wrong true"; empty where no answer was
        expected to be true or false.
    points : array, shape (tasks, trials), or None
        Score of each run, 0 where there is none; None where files give no scores.
    """

    number: int
    label: str
    levels: Mapping[str, str | None]
    session: str
    result: NDArray[np.int16]
    measures: tuple[Measure, ...]
    values: Mapping[str, NDArray[np.float64]]
    why: Sequence[str | None] = ()
    broken: str | None = None
    kinds: Mapping[str, int] = field(default_factory=dict)
    points: NDArray[np.float64] | None = None

    @property
    def score(self) -> float | None:
        """Sum of the points of all runs; None where they have none."""
        return None if self.points is None else float(self.points.sum())

    @property
    def time(self) -> Measure:
        """What scores are about."""
        return self.measures[0]

    @property
    def tasks(self) -> int:
        """Number of tasks of all configurations."""
        return len(self.result)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of runs by result, in the order of RESULTS."""
        return np.bincount(self.result[self.result >= 0], minlength=len(RESULTS))

    @property
    def trials(self) -> int:
        """Runs of a task at most."""
        return int(self.result.shape[1])

    @cached_property
    def outcomes(self) -> Outcomes:
        """The scored time of each run, and what is solved."""
        return self.outcomes_by(self.time)

    def outcomes_by(self, measure: Measure) -> Outcomes:
        """Return the values of a measure; runs that say nothing of the program did not run."""
        again = [RESULTS.index(one) for one in AGAIN]
        solved = np.isin(self.result, [RESULTS.index(one) for one in SOLVED])
        ran = (self.result >= 0) & ~np.isin(self.result, again)
        value = self.values.get(measure.key, np.full(self.result.shape, np.nan))
        # Where CPU time is counted in steps, as in gVisor, short runs have none: it is not known.
        return Outcomes(np.where(value > 0, value, np.nan), solved, ran)

    def with_killed(self, measure: Measure) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what each task takes in all of its runs, also of those killed at the limit.

        Returns
        -------
        values : array, shape (tasks,)
            Geometric mean over the runs; infinite where one of them was killed at the limit. NaN
            where one ended otherwise without solving the task, or a value is not known.
        least : array, shape (tasks,)
            The same with the limit in place of the values of killed runs.
        """
        outcomes = self.outcomes_by(measure)
        is_killed = np.zeros(self.result.shape, dtype=bool)
        if measure.killed is not None and measure.limit is not None:
            is_killed = self.result == RESULTS.index(measure.killed)
        values = np.where(outcomes.solved, outcomes.time, np.nan)
        found = []
        for above in (np.inf, measure.limit or np.nan):
            logs = np.log(np.where(is_killed, above, values))
            sums = np.where(outcomes.counted, logs, 0.0).sum(axis=1)
            found.append(np.exp(sums / np.where(outcomes.runs > 0, outcomes.runs, np.nan)))
        return found[0], found[1]

    @cached_property
    def judged(self) -> NDArray[np.int16]:
        """How the runs of each task end that say something of the program.

        As a place in RESULTS, or MIXED; -1: it has none.
        """
        return _alike(self.result, self.outcomes.counted)

    @cached_property
    def ends(self) -> NDArray[np.int16]:
        """The same, and how the others end where a task has no such runs; -1: it has none."""
        others = _alike(self.result, self.result >= 0)
        return np.asarray(np.where(self.judged >= 0, self.judged, others))


def _alike(result: NDArray[np.int16], counted: NDArray[np.bool_]) -> NDArray[np.int16]:
    """Return what the counted results of each row are, or that they differ."""
    if not result.size:
        return np.full(len(result), -1, np.int16)
    last = np.where(counted, result, -1).max(axis=1)
    first = np.where(counted, result, MIXED).min(axis=1)
    return np.asarray(np.where((last < 0) | (first == last), last, MIXED), dtype=np.int16)


def medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of each task's known values, shape (tasks, trials); NaN: it has none."""
    known = ~np.isnan(values).all(axis=1)
    found = np.full(len(values), np.nan)
    found[known] = np.nanmedian(values[known], axis=1)
    return found


def several(some: Sequence[Scored]) -> bool:
    """Return whether any configuration ran a task more than once."""
    return any(one.trials > 1 for one in some)


@dataclass(frozen=True)
class Pair:
    """Two configurations that are compared; the first is the reference."""

    first: Scored
    second: Scored

    @property
    def apart(self) -> bool:
        """Whether they ran at different times, and not in random order with each other."""
        return self.first.session != self.second.session

    @property
    def numbers(self) -> set[int]:
        """Places of the two among the configurations."""
        return {self.first.number, self.second.number}

    def with_first(self, is_reference: Callable[[Scored], bool]) -> Pair | None:
        """Return the pair with the reference as its first; None: neither is the reference."""
        if is_reference(self.first):
            return self
        return Pair(self.second, self.first) if is_reference(self.second) else None

    @property
    def both(self) -> NDArray[np.bool_]:
        """Tasks that ran in both."""
        return np.asarray((self.first.judged >= 0) & (self.second.judged >= 0))

    @property
    def different(self) -> NDArray[np.bool_]:
        """Tasks that end differently in both."""
        return np.asarray(self.both & (self.first.judged != self.second.judged))


def pairs(some: Sequence[Scored]) -> list[Pair]:
    """Return which configurations are compared by the design of the set.

    Several sessions: each configuration with the same one of the first session. One session: with
    those that differ from it in one thing, a workload or a level, of which they have the first.
    Where nothing differs in one thing only, all are compared with the first. One that is broken
    is compared with nothing.
    """
    some = [one for one in some if one.broken is None]
    names = dict.fromkeys(name for one in some for name in one.levels)
    # A level that is the usual one is not named.
    parts = [{name: one.levels.get(name) for name in names} for one in some]
    by = {tuple(part.values()): one for part, one in zip(parts, some, strict=True)}
    apart = len({one.session for one in some}) > 1
    found = []
    for part, one in zip(parts, some, strict=True):
        for name in [SESSION] if apart and SESSION in names else names:
            other = by.get(tuple({**part, name: parts[0][name]}.values()))
            found += [Pair(other, one)] if other not in (None, one) else []
    return found or [Pair(some[0], one) for one in some[1:]]


def all_pairs(some: Sequence[Scored]) -> Iterator[Pair]:
    """Return every two configurations that are not broken, in their order."""
    sound = [one for one in some if one.broken is None]
    return (Pair(first, second) for first, second in combinations(sound, 2))
