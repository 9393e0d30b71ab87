"""What the tasks of distributed jobs say of the hosts of each cell, trial by trial.

A host slows a job in two ways. Its own tasks take longer than those of others; or the others wait
for what it sends, as its bucket is empty: then their tasks take longer, and not its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from tare.errors import TareError
from tare.experiment.findings.network_cells import FACTOR, levels_of
from tare.experiment.results import Results
from tare.networks.shaping.specification import Bucket, parse
from tare.results.message import Levels
from tare.statistics.comparison import holm
from tare.statistics.statistic import FloatArray
from tare.statistics.stragglers import chance, fewest_trials, leaders

if TYPE_CHECKING:
    import pyarrow as pa

#: By which a straggler is beyond the median of the other hosts.
BEYOND = 1.25
#: Of the others' waiting, what a host must be blamed for; and of their time, what they must wait.
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
        sent = pd.DataFrame([one.sent_bytes for one in self.trials]).sum()
        much = {int(host) for host in sent.index[sent > _SENDS * sent.sum()]}
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
    rows = results.trial_table.set_index("trial")
    logs = dict(tuple(results.network_log.groupby("trial")))
    uses = dict(tuple(results.network_use.groupby("trial")))
    buckets = {level: _bucket(results, level) for level in _levels(results)}
    trials: dict[int, list[TaskTrial]] = {}
    for table in results.task_files.each(counts, found.lost):
        trial = table["trial"][0].as_py()
        bucket = buckets.get(str(rows[FACTOR][trial])) if FACTOR in rows else None
        log = logs.get(trial, results.network_log.iloc[:0])
        one = _trial(trial, table, uses.get(trial), empty_times(log, bucket))
        trials.setdefault(int(rows["cell"][trial]), []).append(one)
    found.cells = tuple(_cells(results, rows, trials, buckets))
    return found


def _cells(
    results: Results,
    rows: pd.DataFrame,
    trials: dict[int, list[TaskTrial]],
    buckets: dict[str, Bucket | None],
) -> Iterator[TaskCell]:
    names = levels_of(map(str, rows[FACTOR]), results.experiment.networks) if FACTOR in rows else {}
    for cell, of_cell in sorted(trials.items()):
        first = rows.loc[of_cell[0].trial]
        levels = {factor: str(first[factor]) for factor in results.varied}
        bucket = buckets.get(str(first[FACTOR])) if FACTOR in rows else None
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


def empty_times(log: pd.DataFrame, bucket: Bucket | None) -> dict[int, EmptyTime]:
    """Return for each host of a trial's log when its bucket was empty: it sent at the low rate."""
    if bucket is None or log.empty:
        return {}
    found = {}
    for host, rows in log.groupby("host"):
        at = rows["at_ns"].to_numpy(dtype=float)
        low = rows["rate_bps"].to_numpy(dtype=float, na_value=np.inf) < bucket.high_bps
        lasting = np.where(low[:-1], np.diff(at), 0.0)
        found[int(str(host))] = EmptyTime(at, np.concatenate([[0.0], np.cumsum(lasting)]))
    return found


def _trial(
    trial: int, table: pa.Table, use: pd.DataFrame | None, empty: dict[int, EmptyTime]
) -> TaskTrial:
    rows = table.to_pandas()
    good = rows[~rows["failed"]]
    waits = good[good["wait_ns"].notna()]
    time_of = waits.groupby("host")["duration_ns"].sum()
    waiting = waits.groupby("host")["wait_ns"].sum() / time_of.where(time_of > 0)
    sent = {} if use is None else dict(zip(use["host"], use["sent_bytes"], strict=True))
    return TaskTrial(
        trial=trial,
        tasks=len(rows),
        failed=int(rows["failed"].sum()),
        own_ns=_own(good),
        waiting={int(h): float(w) for h, w in waiting.dropna().items()},
        blamed=_blamed(waits, empty),
        empty=_empty(good, empty),
        sent_bytes={int(host): float(sent_bytes) for host, sent_bytes in sent.items()},
    )


def _own(good: pd.DataFrame) -> dict[int, float]:
    """Return how long a task of each stage takes on each host, without waiting, in all."""
    # How much a task that reads waits must be known.
    known = good[good["wait_ns"].notna() | ~(good["read_bytes"] > 0)]
    own = (known["duration_ns"] - known["wait_ns"].fillna(0)).clip(lower=0)
    medians = own.groupby([known["stage"].astype(str), known["host"]]).median().unstack()
    shared = medians[medians.notna().sum(axis=1) > 1]
    # A stage that a host has no task of says nothing of it.
    filled = shared.apply(lambda stage: stage.fillna(stage.median()), axis=1)
    return {int(host): float(total) for host, total in filled.sum().items()}


def _blamed(waits: pd.DataFrame, empty: dict[int, EmptyTime]) -> dict[int, float]:
    """Return how much of the other hosts' waiting was while each host's bucket was empty."""
    start = waits["start_ns"].to_numpy(dtype=float)
    lasted = waits["duration_ns"].to_numpy(dtype=float)
    wait = waits["wait_ns"].to_numpy(dtype=float)
    found = {}
    for host, times in empty.items():
        others = (waits["host"] != host).to_numpy() & (lasted > 0)
        total = wait[others].sum()
        if total <= 0 or total < LEAST_WAITING * lasted[others].sum():
            found[host] = 0.0
            continue
        share = times.between(start, start + lasted)[others] / lasted[others]
        found[host] = float((wait[others] * share).sum() / total)
    return found


def _empty(good: pd.DataFrame, empty: dict[int, EmptyTime]) -> dict[int, float]:
    """Return in which share of the time of stages that read each host's bucket was empty."""
    reads = good[(good["read_bytes"] > 0) | (good["wait_ns"] > 0)]
    some = good if reads.empty else reads
    ends = (some["start_ns"] + some["duration_ns"]).groupby(some["stage"].astype(str)).max()
    starts = some["start_ns"].groupby(some["stage"].astype(str)).min()
    first, last = starts.to_numpy(dtype=float), ends.to_numpy(dtype=float)
    whole = (last - first).sum()
    if whole <= 0:
        return {}
    return {host: float(times.between(first, last).sum() / whole) for host, times in empty.items()}
