"""What the tasks of distributed jobs say of the hosts of each cell, trial by trial.

A host slows a job in two ways. Its own tasks take longer than those of others; or the others wait
for what it sends, as its bucket is empty: then their tasks take longer, and not its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from tare.errors import TareError
from tare.experiment.findings.network_cells import FACTOR, levels_of
from tare.experiment.results import Results
from tare.networks.shaping.specification import Bucket, parse
from tare.results.columns import Columns
from tare.results.message import Levels
from tare.statistics.holm import holm
from tare.statistics.statistic import FloatArray, median
from tare.statistics.stragglers import chance, fewest_trials, leaders

#: Least ratio of a straggler's time to the median of the other hosts.
BEYOND = 1.25
#: Least share of the other hosts' waiting that is due to the host, and least share of their time
#: that they wait.
LEAST_BLAMED, LEAST_WAITING = 0.25, 0.1
#: A host that sends so much of all bytes may be waited for, also if it runs no task.
_SENDS = 0.05


@dataclass(frozen=True, eq=False)
class TaskTrial:
    """The hosts of one trial; what is of hosts is by their number.

    Attributes
    ----------
    tasks, failed : int
    own_ns : dict
        How long a task of each stage takes on a host, without waiting: sums of medians.
    waiting : dict
        Share of the time of a host's tasks in which they wait; empty: it is not known.
    blamed : dict
        Share of the other hosts' waiting that was while the host's bucket was empty.
    empty : dict
        Share of the time of stages that read in which it was.
    sent_bytes : dict
    """

    trial: int
    tasks: int
    failed: int
    own_ns: dict[int, float]
    waiting: dict[int, float]
    blamed: dict[int, float]
    empty: dict[int, float]
    sent_bytes: dict[int, float]


class Among(NamedTuple):
    """Hosts that may be stragglers in one way.

    Attributes
    ----------
    places : tuple of int
        Of those that have a score in some trial.
    fewest : int
        How many have one in the trial with the fewest, of those that can have a leader; 0: none.
    """

    places: tuple[int, ...]
    fewest: int


def _among(scores: FloatArray) -> Among:
    known = ~np.isnan(scores)
    several = known.sum(axis=1)
    places = tuple(int(place) for place in np.flatnonzero(known.any(axis=0)))
    return Among(places, int(min(several[several > 1], default=0)))


@dataclass(frozen=True, eq=False)
class TaskCell:
    """All trials of a cell.

    Attributes
    ----------
    levels : Levels or None
        Where it is among the others; None: there is no other.
    bucket : bool
        Whether hosts have buckets there.
    """

    cell: int
    levels: Levels | None
    bucket: bool
    trials: tuple[TaskTrial, ...]

    @property
    def n(self) -> int:
        """Trials."""
        return len(self.trials)

    @cached_property
    def hosts(self) -> tuple[int, ...]:
        """Those that run tasks, or send much."""
        running = {host for one in self.trials for host in one.own_ns}
        sent: Counter[int] = Counter()
        for one in self.trials:
            sent.update(one.sent_bytes)
        much = {host for host, n in sent.items() if n > _SENDS * sum(sent.values())}
        return tuple(sorted(running | much))

    def by_host(self, name: str) -> FloatArray:
        """Return a value of hosts: a row a trial, a column a host, NaN where it is unknown."""
        rows = [[getattr(t, name).get(h, np.nan) for h in self.hosts] for t in self.trials]
        return np.array(rows, dtype=float).reshape(self.n, len(self.hosts))

    @cached_property
    def with_own_time(self) -> Among:
        """Who may be the slowest: one that runs no task has no time of its own."""
        return _among(self.by_host("own_ns"))

    @cached_property
    def with_bucket(self) -> Among:
        """Who may be waited for."""
        return _among(self.by_host("blamed"))

    def among(self, *, sends: bool) -> Among:
        """Who may be a straggler in one of the ways."""
        return self.with_bucket if sends else self.with_own_time

    @cached_property
    def slowest(self) -> np.ndarray:
        """The place of the host whose own tasks take longest, in each trial."""
        return leaders(self.by_host("own_ns"), BEYOND)

    @cached_property
    def waited_for(self) -> np.ndarray:
        """The place of the host that others wait for, in each trial."""
        return leaders(self.by_host("blamed"), BEYOND, LEAST_BLAMED)


@dataclass(frozen=True)
class Straggler:
    """A host in its cell, in one of the ways of being a straggler.

    Attributes
    ----------
    place : int
        Of the host among those of the cell.
    sends : bool
        Whether others wait for what it sends; else its own tasks take longer.
    times : int
        Trials in which it is the straggler.
    p : float
        That chance gives as many, after Holm over all hosts, cells and both ways.
    """

    cell: TaskCell
    place: int
    sends: bool
    times: int
    p: float

    @property
    def host(self) -> int:
        """Its number."""
        return self.cell.hosts[self.place]

    @property
    def trials(self) -> np.ndarray:
        """In which trials of the cell it is the straggler."""
        return np.flatnonzero(_led(self.cell, sends=self.sends) == self.place)


@dataclass
class TasksSeen:
    """What was read.

    Attributes
    ----------
    cells : tuple of TaskCell
    lost : dict
        Trials whose tasks cannot be read, and why.
    """

    cells: tuple[TaskCell, ...] = ()
    lost: dict[int, str] = field(default_factory=dict)

    @cached_property
    def tested(self) -> tuple[Straggler, ...]:
        """Each host of each cell, in both ways."""
        some = [
            (cell, place, sends, int((_led(cell, sends=sends) == place).sum()))
            for cell in self.cells
            # What has no bucket is never empty.
            for sends in ((False, True) if cell.bucket else (False,))
            if cell.among(sends=sends).fewest
            for place in cell.among(sends=sends).places
        ]
        p = holm(
            [
                chance(times, cell.n, cell.among(sends=sends).fewest)
                for cell, _, sends, times in some
            ]
        )
        return tuple(Straggler(*one, adjusted) for one, adjusted in zip(some, p, strict=True))

    def fewest(self, cell: TaskCell) -> int:
        """Return how many trials a cell must have for a straggler to be shown."""
        hosts = [cell.among(sends=sends).fewest for sends in (False, True)]
        return fewest_trials(min(filter(None, hosts), default=2), len(self.tested))


def _led(cell: TaskCell, *, sends: bool) -> np.ndarray:
    return cell.waited_for if sends else cell.slowest


@lru_cache(maxsize=2)
def tasks_seen(results: Results) -> TasksSeen:
    """Read the tasks of all good trials; nothing where jobs leave none."""
    found = TasksSeen()
    counts = results.task_counts()
    if results.task_files is None or not counts:
        return found
    rows = {row["trial"]: row for row in results.trial_table.records()}
    logs = dict(results.network_log.groups("trial"))
    uses = dict(results.network_use.groups("trial"))
    buckets = {level: _bucket(results, level) for level in _levels(results)}
    trials: dict[int, list[TaskTrial]] = {}
    for tasks in results.task_files.each(counts, found.lost):
        trial = int(tasks["trial"][0])
        bucket = buckets.get(str(rows[trial].get(FACTOR)))
        log = logs.get(trial, results.network_log.rows([]))
        one = _trial(trial, tasks, uses.get(trial), empty_times(log, bucket))
        trials.setdefault(rows[trial]["cell"], []).append(one)
    found.cells = tuple(_cells(results, rows, trials, buckets))
    return found


def _cells(
    results: Results,
    rows: Mapping[int, Mapping[str, Any]],
    trials: dict[int, list[TaskTrial]],
    buckets: dict[str, Bucket | None],
) -> Iterator[TaskCell]:
    texts = results.levels(FACTOR) if FACTOR in results.factors else ()
    names = levels_of(map(str, texts), results.experiment.networks)
    for cell, of_cell in sorted(trials.items()):
        first = rows[of_cell[0].trial]
        levels = {factor: str(first[factor]) for factor in results.varied}
        bucket = buckets.get(str(first.get(FACTOR)))
        if FACTOR in levels:
            levels[FACTOR] = names[levels[FACTOR]].name
        at = Levels(levels) if levels else None
        yield TaskCell(cell, at, bucket is not None, tuple(of_cell))


def _levels(results: Results) -> Sequence[str]:
    return [str(level) for level in results.experiment.factors.get(FACTOR, ())]


def _bucket(results: Results, level: str) -> Bucket | None:
    """Return the bucket of a level; what is no longer understood has none."""
    try:
        shaping = parse(results.experiment.shaped(level))
    except TareError:
        return None
    return shaping if isinstance(shaping, Bucket) else None


@dataclass(frozen=True, eq=False)
class EmptyTime:
    """How long a host's bucket was empty until each moment of a trial."""

    at_ns: FloatArray
    until_ns: FloatArray

    def between(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Return how long it was empty between moments."""
        at = np.interp([start, end], self.at_ns, self.until_ns)
        found: FloatArray = at[1] - at[0]
        return found


def empty_times(log: Columns, bucket: Bucket | None) -> dict[int, EmptyTime]:
    """Return for each host of a trial's log when its bucket was empty: it sent at the low rate."""
    if bucket is None:
        return {}
    found = {}
    for host, rows in log.groups("host"):
        at = rows["at_ns"].astype(float)
        # NaN, as fast as it goes, is not less.
        low = rows["rate_bps"] < bucket.high_bps
        lasting = np.where(low[:-1], np.diff(at), 0.0)
        found[host] = EmptyTime(at, np.concatenate([[0.0], np.cumsum(lasting)]))
    return found


def _trial(
    trial: int, rows: Columns, use: Columns | None, empty: dict[int, EmptyTime]
) -> TaskTrial:
    good = rows.where(failed=False)
    waits = good.rows(~np.isnan(good["wait_ns"]))
    lasted = waits.reduced("host", "duration_ns", np.sum)
    waited = waits.reduced("host", "wait_ns", np.sum)
    sent = {} if use is None else dict(zip(use["host"], use["sent_bytes"], strict=True))
    return TaskTrial(
        trial=trial,
        tasks=len(rows),
        failed=len(rows) - len(good),
        own_ns=_own(good),
        waiting={h: float(waited[h] / lasted[h]) for h in lasted if lasted[h] > 0},
        blamed=_blamed(waits, empty),
        empty=_empty(good, empty),
        sent_bytes={int(host): float(sent_bytes) for host, sent_bytes in sent.items()},
    )


def _own(good: Columns) -> dict[int, float]:
    """Return how long a task of each stage takes on each host, without waiting, in all."""
    # How much a task that reads waits must be known.
    known = good.rows(~np.isnan(good["wait_ns"]) | ~(good["read_bytes"] > 0))
    own = np.maximum(known["duration_ns"] - np.nan_to_num(known["wait_ns"]), 0)
    totals: dict[int, float] = dict.fromkeys(known.distinct("host"), 0.0)
    for _, rows in known.with_columns(own=own).groups("stage"):
        medians = rows.reduced("host", "own", median)
        if len(medians) > 1:
            # A stage that a host has no task of says nothing of it.
            middle = median(np.array([*medians.values()]))
            for host in totals:
                totals[host] += medians.get(host, middle)
    return totals if any(totals.values()) else {}


def _blamed(waits: Columns, empty: dict[int, EmptyTime]) -> dict[int, float]:
    """Return how much of the other hosts' waiting was while each host's bucket was empty."""
    start, lasted, wait = (waits[n].astype(float) for n in ("start_ns", "duration_ns", "wait_ns"))
    found = {}
    for host, times in empty.items():
        others = (waits["host"] != host) & (lasted > 0)
        total = wait[others].sum()
        if total <= 0 or total < LEAST_WAITING * lasted[others].sum():
            found[host] = 0.0
            continue
        share = times.between(start, start + lasted)[others] / lasted[others]
        found[host] = float((wait[others] * share).sum() / total)
    return found


def _empty(good: Columns, empty: dict[int, EmptyTime]) -> dict[int, float]:
    """Return in which share of the time of stages that read each host's bucket was empty."""
    some = good.rows((good["read_bytes"] > 0) | (good["wait_ns"] > 0)) or good
    some = some.with_columns(end_ns=some["start_ns"] + some["duration_ns"])
    first, last = (
        np.array([*some.reduced("stage", name, how).values()], dtype=float)
        for name, how in (("start_ns", np.min), ("end_ns", np.max))
    )
    whole = (last - first).sum()
    if whole <= 0:
        return {}
    return {host: float(times.between(first, last).sum() / whole) for host, times in empty.items()}
