"""Sets of tasks, such as BenchExec's: which configuration is best, over all tasks that it ran.

Most such files have one run per task. No task has an interval then; the set has one, with the tasks
as its replicates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from tare.experiment.task_sets.answers import KINDS, findings
from tare.experiment.task_sets.outcomes import RESULTS, Measure, Pair, Result, Scored, all_pairs
from tare.experiment.task_sets.ranking import Ranking, rank
from tare.features.audit.comparison import (
    FILE,
    conditions,
    level_of,
    require_few,
    require_keys,
    require_level,
)
from tare.features.audit.naming import named, varied
from tare.features.audit.pairing import FEWEST
from tare.features.audit.question import Question
from tare.features.audit.series import SeriesAudit
from tare.readers import Series, TaskRuns
from tare.readers.roles import TASKS
from tare.results.finding import Finding
from tare.statistics.statistic import FloatArray
from tare.statistics.trust import Verdict

#: Key of a series whose levels are tasks.
TASK = "task"
#: Titles of metrics, and which of them scores are about, the first that there is.
_TITLES = {"cputime": "CPU time", "walltime": "wall time"}
#: Pairs up to which tables have all of them where none of the configurations is best.
_MOST_SHOWN = 6
#: Results of runs that were killed at the limit of a metric.
_KILLED: dict[str, Result] = {"cputime": "cpu_time", "walltime": "timeout"}


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskSet(Scored):
    """The runs of one configuration of files, of all metrics.

    Attributes
    ----------
    given : int
        Tasks that the files have of it.
    is_single : bool
        Whether every task has fewer runs than an interval needs.
    machine : str
        Host or processor that its files name; empty where they name none, or several.
    """

    levels: Mapping[str, str]
    given: int
    is_single: bool
    machine: str

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class TaskSets:
    """All configurations of an audit that run tasks, and how they compare.

    Attributes
    ----------
    sets : tuple of TaskSet
    names : tuple of str
        Of all tasks.
    ranking : Ranking or None
        Of all pairs that are compared; None where there are none.
    compared : tuple of Pair
        Each configuration with the reference or the best one.
    """

    sets: tuple[TaskSet, ...]
    names: tuple[str, ...]
    ranking: Ranking | None
    compared: tuple[Pair, ...]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Which configuration is best, and the other answers."""
        return tuple(findings(self.sets, self.names, self.ranking, self.compared))

    @property
    def in_order(self) -> tuple[Scored, ...]:
        """The runs of each configuration, the best first and the broken last."""
        order = self.ranking.order if self.ranking is not None else ()
        ranked = {one.number for one in order}
        return (*order, *(one for one in self.sets if one.number not in ranked))

    @property
    def are_enough(self) -> bool:
        """Whether there are the tasks that an interval over tasks needs."""
        return len(self.names) >= FEWEST

    @property
    def are_single(self) -> bool:
        """Whether single tasks say nothing and their sets do."""
        return self.are_enough and all(one.is_single for one in self.sets)

    @property
    def verdict(self) -> Verdict:
        """DOUBT where one is broken, has too few tasks, or two differ in limits or in all tasks."""
        short = any(one.given < FEWEST for one in self.sets)
        broken = any(one.broken is not None for one in self.sets)
        versus = self.ranking.versus if self.ranking is not None else ()
        apart = any(not one.tasks for one in versus)
        doubtful = broken or short or apart or len(self.limits) > 1
        return "DOUBT" if doubtful else "TRUST"

    @property
    def limits(self) -> frozenset[float | None]:
        """Time limits that configurations had."""
        return frozenset(one.time.limit for one in self.sets)


def with_tasks(series: Sequence[Series]) -> list[Series]:
    """Return the series of a table as tasks, where its columns are a task and what runs it.

    That is so where a column is called like tasks, has the levels that an interval needs, another
    column has several levels, and no level of both has the runs that an interval needs.
    """
    keys = [one.key for one in series]
    names = [name for name in varied(keys) if name.lower() in TASKS]
    if any(one.task is not None for one in series) or not names or len(varied(keys)) < 2:
        return [*series]
    column = min(names, key=lambda name: TASKS.index(name.lower()))
    tasks = [_task_runs(one) for one in series]
    levels = {key.get(column) for key in keys}
    if None in levels or len(levels) < FEWEST or any(one.runs >= FEWEST for one in tasks):
        return [*series]
    return [
        replace(
            one,
            task=runs,
            key={TASK: one.key[column], **{k: v for k, v in one.key.items() if k != column}},
        )
        for one, runs in zip(series, tasks, strict=True)
    ]


def _task_runs(one: Series) -> TaskRuns:
    """Count the rows of a series that succeeded and failed."""
    bad = 0 if one.failed is None else one.failed.n
    results: list[Result] = ["done" for _ in one.values]
    results += ["failed" for _ in range(bad)]
    return TaskRuns(tuple(results), (*one.values.tolist(), *[float("nan")] * bad))


def task_sets(series: Sequence[SeriesAudit], question: Question) -> TaskSets | None:
    """Collect the series of each configuration that runs tasks, and compare them.

    Parameters
    ----------
    series : sequence of SeriesAudit
        All of the audit.
    question : Question

    Returns
    -------
    TaskSets or None
        None where no series is a task's.

    Raises
    ------
    InputError
        If there are too many pairs to compare.
    """
    found: dict[tuple[tuple[str, str], ...], list[SeriesAudit]] = {}
    for s in series:
        if s.series.task is not None:
            key = tuple((name, value) for name, value in s.key.items() if name != TASK)
            found.setdefault(key, []).append(s)
    if not found:
        return None
    names = dict.fromkeys(s.key[TASK] for some in found.values() for s in some)
    places = {task: place for place, task in enumerate(names)}
    keys = [dict(key) for key in found]
    apart = _telling(keys)
    sets = tuple(
        _task_set(i, key, apart, some, places)
        for i, (key, some) in enumerate(zip(keys, found.values(), strict=True))
    )
    pairs = _pairs(sets, question)
    require_few(pairs)
    ranking = rank(pairs) if pairs else None
    return TaskSets(sets, tuple(names), ranking, _with_reference(pairs, ranking, question))


def _telling(keys: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys that name configurations: one that separates all, files only as the last."""
    names = [name for name in dict.fromkeys(n for key in keys for n in key) if name != FILE]
    for name in names:
        if len({key.get(name) for key in keys}) == len(keys):
            return [name]
    without = [{k: v for k, v in key.items() if k != FILE} for key in keys]
    distinct = len({tuple(key.items()) for key in without}) == len(keys)
    return varied(without if distinct else keys)


def _task_set(
    number_: int,
    key: dict[str, str],
    apart: Sequence[str],
    some: Sequence[SeriesAudit],
    places: Mapping[str, int],
) -> TaskSet:
    by_metric: dict[str, dict[str, TaskRuns]] = {}
    units: dict[str, str] = {}
    for s in some:
        if s.series.task is not None:
            by_metric.setdefault(s.series.metric, {})[s.key[TASK]] = s.series.task
            units[s.series.metric] = s.series.unit or "1"
    order = sorted(by_metric, key=lambda one: (_rank_of(one, units[one]), one))
    first = by_metric[order[0]]
    shape = len(places), max(one.runs for one in first.values())
    result = np.full(shape, -1, dtype=np.int16)
    why: list[str | None] = [None] * len(places)
    for task, runs in first.items():
        result[places[task], : runs.runs] = [RESULTS.index(one) for one in runs.results]
        why[places[task]] = runs.why
    measures = tuple(
        Measure(one, _TITLES.get(one, one), units[one], _limit(by_metric[one]), _KILLED.get(one))
        for one in order
    )
    return TaskSet(
        number=number_,
        label=named(key, apart) or next(iter(key.values()), ""),
        levels=key,
        session=str(some[0].files[0]),
        result=result,
        measures=measures,
        values={one: _array(by_metric[one], "values", places, shape, np.nan) for one in order},
        why=tuple(why),
        broken=_broken(first),
        kinds=_kinds(first),
        points=_array(first, "points", places, shape, 0.0)
        if all(one.points is not None for one in first.values())
        else None,
        given=len(first),
        is_single=all(s.n < FEWEST for s in some),
        machine=some[0].machine,
    )


def _rank_of(metric: str, unit: str) -> int:
    """Order metrics: CPU time, wall time, other times, others."""
    if metric in _TITLES:
        return [*_TITLES].index(metric)
    return len(_TITLES) + (unit != "s")


def _limit(tasks: Mapping[str, TaskRuns]) -> float | None:
    """Return the limit that all tasks have."""
    limits = {one.limit for one in tasks.values()}
    return limits.pop() if len(limits) == 1 else None


def _array(
    tasks: Mapping[str, TaskRuns],
    attribute: Literal["values", "points"],
    places: Mapping[str, int],
    shape: tuple[int, int],
    missing: float,
) -> FloatArray:
    found = np.full(shape, missing)
    for task, runs in tasks.items():
        row = getattr(runs, attribute)
        found[places[task], : len(row)] = row
    return found


def _broken(tasks: Mapping[str, TaskRuns]) -> str | None:
    """Return why every run crashed, where all of at least two did alike."""
    ends = {(one, runs.why) for runs in tasks.values() for one in runs.results}
    if len(ends) > 1 or sum(one.runs for one in tasks.values()) < 2:
        return None
    ((result, why),) = ends
    return why or "" if result == "crashed" else None


def _kinds(tasks: Mapping[str, TaskRuns]) -> dict[str, int]:
    """Count answers by whether the property holds; empty where no file says so."""
    found = Counter[str]()
    known = False
    for runs in tasks.values():
        if runs.expected is not None:
            known = True
            other = "false" if runs.expected == "true" else "true"
            for one in runs.results:
                if one in ("correct", "wrong"):
                    found[f"{one} {runs.expected if one == 'correct' else other}"] += 1
    return {kind: found[kind] for kind in KINDS} if known else {}


def _pairs(sets: Sequence[TaskSet], question: Question) -> list[Pair]:
    """Return every two that are compared: that differ in what ``--compare`` names, else all."""
    sound = [one for one in sets if one.broken is None]
    columns = question.columns.compare
    if not columns:
        return [*all_pairs(sound)]
    require_keys([one.levels for one in sets], columns)
    some = [one for one in sound if all(column in one.levels for column in columns)]
    if question.sizing.reference is not None:
        require_level([one.levels for one in some], columns, question.sizing.reference)
    given = conditions([one.levels for one in some], columns, question.columns.group)
    return [
        Pair(a, b)
        for (a, of_a), (b, of_b) in combinations(zip(some, given, strict=True), 2)
        if of_a == of_b and level_of(a.levels, columns) != level_of(b.levels, columns)
    ]


def _with_reference(
    pairs: Sequence[Pair], ranking: Ranking | None, question: Question
) -> tuple[Pair, ...]:
    """Choose what tables compare: all with the named level or the best one; a few as are."""
    columns, reference = question.columns.compare, question.sizing.reference
    if ranking is None or len(ranking.order) < 3:
        return tuple(pairs)
    if reference is not None:
        turned = [pair.with_first(lambda one: _level(one, columns) == reference) for pair in pairs]
        return tuple(pair for pair in turned if pair is not None)
    if len(ranking.tiers[0]) > 1 and len(pairs) <= _MOST_SHOWN:
        return tuple(pairs)
    best = ranking.order[0]
    with_best = [pair.with_first(lambda one: one.number == best.number) for pair in pairs]
    chosen = [pair for pair in with_best if pair is not None]
    # In groups, most are not compared with the best of all.
    return tuple(chosen if len(chosen) == len(ranking.order) - 1 else pairs)


def _level(one: Scored, columns: Sequence[str]) -> str:
    return ", ".join(one.levels.get(column) or "" for column in columns)
