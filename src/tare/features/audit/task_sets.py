"""Sets of tasks, such as BenchExec's: what each configuration solves, and its times by task.

Most such files have one run per task. No task has an interval then; the set has one, with the tasks
as its replicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tare.features.audit.comparison import ComparisonAudit, level
from tare.features.audit.naming import named, varied
from tare.features.audit.pairing import FEWEST
from tare.features.audit.question import Question
from tare.features.audit.series import SeriesAudit, audit_series
from tare.readers import TaskRuns
from tare.statistics.scores import Outcomes, SolvedDifference, solved_difference
from tare.statistics.trust import Trust

#: Key of a series whose levels are tasks.
TASK = "task"


@dataclass(frozen=True, eq=False)
class TaskSet:
    """The runs of one configuration.

    Attributes
    ----------
    key : dict of str to str
        What sets it apart, without the task.
    name : str
        The same in words.
    tasks : dict of str to TaskRuns
        By the name of the task.
    series : tuple of SeriesAudit
        One per metric: the mean of each task's successful runs, with the task as its block.
    is_single : bool
        Whether every task has fewer runs than an interval needs.
    """

    key: dict[str, str]
    name: str
    tasks: dict[str, TaskRuns]
    series: tuple[SeriesAudit, ...]
    is_single: bool

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(one.runs for one in self.tasks.values())

    @property
    def solved(self) -> int:
        """Number of runs that solve their task."""
        return sum(one.solved for one in self.tasks.values())


@dataclass(frozen=True)
class SolvedComparison:
    """By how much two configurations differ in what they solve, on the tasks that both ran.

    Attributes
    ----------
    key : dict of str to str
        Levels that both have.
    levels : str
        Those that other comparisons do not have, in words.
    a, b : str
        Level of the compared columns of the first and the second.
    tasks : int
    found : SolvedDifference
    """

    key: dict[str, str]
    levels: str
    a: str
    b: str
    tasks: int
    found: SolvedDifference


def task_sets(series: Sequence[SeriesAudit], question: Question) -> tuple[TaskSet, ...]:
    """Collect the series of each configuration that runs tasks.

    Parameters
    ----------
    series : sequence of SeriesAudit
        All of the audit.
    question : Question
    """
    sets: dict[tuple[tuple[str, str], ...], list[SeriesAudit]] = {}
    for s in series:
        if s.series.task is not None:
            key = tuple((name, value) for name, value in s.key.items() if name != TASK)
            sets.setdefault(key, []).append(s)
    codes = {task: i for i, task in enumerate(dict.fromkeys(s.key.get(TASK, "") for s in series))}
    apart = varied(map(dict, sets))
    return tuple(_task_set(dict(key), apart, some, codes, question) for key, some in sets.items())


def _task_set(
    key: dict[str, str],
    apart: Sequence[str],
    some: Sequence[SeriesAudit],
    codes: Mapping[str, int],
    question: Question,
) -> TaskSet:
    by_metric: dict[tuple[str, str | None], list[SeriesAudit]] = {}
    for s in some:
        if s.n:
            by_metric.setdefault((s.series.metric, s.series.unit), []).append(s)
    name = named(key, apart) or next(iter(key.values()), "")
    return TaskSet(
        key=key,
        name=name,
        tasks={s.key[TASK]: s.series.task for s in some if s.series.task is not None},
        series=tuple(_over_tasks(key, name, of, codes, question) for of in by_metric.values()),
        is_single=all(s.n < FEWEST for s in some),
    )


def _over_tasks(
    key: dict[str, str],
    name: str,
    some: Sequence[SeriesAudit],
    codes: Mapping[str, int],
    question: Question,
) -> SeriesAudit:
    """Make a series of the tasks' means.

    Tasks differ by nature, so tests of drift and autocorrelation do not apply to their order.
    """
    series = replace(
        some[0].series,
        key=key,
        values=np.array([s.trials.values.mean() for s in some]),
        trial=np.arange(len(some)),
        block=np.array([codes[s.key[TASK]] for s in some]),
        reported={},
        defects=tuple(defect for s in some for defect in s.series.defects),
        notes=(),
    )
    files = tuple(dict.fromkeys(file for s in some for file in s.files))
    found = audit_series(files, series, key, name, question)
    return replace(found, trust=Trust("TRUST", ())) if not series.defects else found


def comparable(
    series: Sequence[SeriesAudit], sets: Sequence[TaskSet], columns: Sequence[str]
) -> list[SeriesAudit]:
    """Return what is compared: sets of enough common tasks, and tasks with enough runs.

    A task with few runs is compared by itself only where its set is not.
    """
    pairs = list(_pairs(sets, columns))
    enough = {id(one) for pair in pairs if len(_common(*pair)) >= FEWEST for one in pair}
    over = [s for one in sets if id(one) in enough for s in one.series]
    single = {tuple(one.key.items()) for one in sets if id(one) in enough and one.is_single}
    own = (tuple((name, value) for name, value in s.key.items() if name != TASK) for s in series)
    alone = [
        s for s, key in zip(series, own, strict=True) if s.series.task is None or key not in single
    ]
    return [*over, *alone]


def compare_solved(
    sets: Sequence[TaskSet], compared: Sequence[ComparisonAudit]
) -> tuple[SolvedComparison, ...]:
    """Compare how many tasks two sets solve whose times are compared."""
    by_key = {_frozen(one.key): one for one in sets}
    pairs = {
        (_frozen(c.first.key), _frozen(c.second.key)): c
        for c in reversed(compared)
        if c.first.is_over_tasks
    }
    found = []
    for (first, second), c in reversed(pairs.items()):
        one, two = by_key[first], by_key[second]
        common = _common(one, two)
        difference = solved_difference(_outcomes(one, common), _outcomes(two, common))
        found.append(SolvedComparison(c.key, c.levels, c.a, c.b, len(common), difference))
    return tuple(found)


def _pairs(sets: Sequence[TaskSet], columns: Sequence[str]) -> Iterator[tuple[TaskSet, TaskSet]]:
    for first, second in combinations(sets, 2):
        if all(c in first.key and c in second.key for c in columns) and level(
            first.key, columns
        ) != level(second.key, columns):
            yield first, second


def _common(first: TaskSet, second: TaskSet) -> list[str]:
    return [task for task in first.tasks if task in second.tasks]


def _outcomes(one: TaskSet, tasks: Sequence[str]) -> Outcomes:
    """Return which runs of some tasks solve them; of their times nothing."""
    runs = [one.tasks[task] for task in tasks]
    places = np.arange(max((r.runs for r in runs), default=1))
    ran = places < np.array([r.runs for r in runs])[:, None]
    solved = places < np.array([r.solved for r in runs])[:, None]
    return Outcomes(np.full(ran.shape, np.nan), solved, ran)


def _frozen(key: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(key.items())
