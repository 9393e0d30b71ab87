"""Runs as arrays of tasks and trials, by configuration: what scores are worked out from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tare.features.tasks.file import FACTORS
from tare.features.tasks.folder import AGAIN
from tare.features.tasks.runs import RESULTS, SOLVED, Configuration, Runs
from tare.results.columns import Columns
from tare.statistics.scores import Outcomes

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The time that scores are about.
Metric = Literal["cpu", "wall"]
#: Titles of the metrics.
TIMES: dict[Metric, str] = {"cpu": "CPU time", "wall": "wall time"}
METRICS: tuple[Metric, ...] = tuple(TIMES)
#: Index of the outcome of a task whose runs end differently, after those of RESULTS.
MIXED = len(RESULTS)


@dataclass(frozen=True, eq=False)
class Scored:
    """One configuration's runs.

    Attributes
    ----------
    number : int
        Its place among the configurations.
    label : str
        By what it differs from the others.
    """

    number: int
    label: str
    configuration: Configuration
    table: Columns
    tasks: int
    metric: Metric

    @cached_property
    def result(self) -> NDArray[np.int16]:
        """Result of each task's runs, shape (tasks, trials), as a place in RESULTS; -1: none."""
        found = np.full(self._shape, -1, dtype=np.int16)
        found[self._at] = [RESULTS.index(one) for one in self.table["result"]]
        return found

    @property
    def time(self) -> str:
        """What the time that scores are about is called."""
        return TIMES[self.metric]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of runs by result, in the order of RESULTS."""
        return np.bincount(self.result[self.result >= 0], minlength=len(RESULTS))

    @property
    def trials(self) -> int:
        """Runs of a task at most."""
        return int(self.result.shape[1])

    def values(self, column: str) -> NDArray[np.float64]:
        """Values of a column, shape (tasks, trials); NaN where there is none."""
        found = np.full(self._shape, np.nan)
        found[self._at] = self.table[column]
        return found

    @cached_property
    def outcomes(self) -> Outcomes:
        """Times in ns, and what is solved; runs that say nothing of the program did not run."""
        again = [RESULTS.index(one) for one in AGAIN]
        solved = np.isin(self.result, [RESULTS.index(one) for one in SOLVED])
        ran = (self.result >= 0) & ~np.isin(self.result, again)
        time = self.values(f"{self.metric}_ns")
        # Where CPU time is counted in steps, as in gVisor, short runs have none: it is not known.
        return Outcomes(np.where(time > 0, time, np.nan), solved, ran)

    @cached_property
    def broken(self) -> str | None:
        """Why every run crashed, where all of at least two did with one exit code; else None.

        A program that is not found on its platform ends so, or that misses a file there: its runs
        say nothing about how it solves tasks.
        """
        runs = self.table.rows(self.table["result"] != "lost")
        statuses = set(runs["exit_status"][~np.isnan(runs["exit_status"])].tolist())
        alike = set(runs["result"]) == {"crashed"} and len(statuses) == 1
        return str(runs["why"][-1]) if len(runs) >= 2 and alike else None

    @cached_property
    def limit_ns(self) -> float | None:
        """The time in which a task is to be solved; None: nothing limits it."""
        own = self.configuration
        enforced = None if own.enforce is None else own.enforce.cpu_s
        seconds = own.timeout_s if self.metric == "wall" or enforced is None else enforced
        return None if seconds is None else 1e9 * seconds

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

    @property
    def _shape(self) -> tuple[int, int]:
        return self.tasks, int(self.table["trial"].max()) if len(self.table) else 1

    @property
    def _at(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.table["task"], self.table["trial"] - 1


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


def scored(runs: Runs, metric: Metric) -> list[Scored]:
    """Return the runs of each configuration, in their order."""
    by = dict(runs.table.groups("configuration"))
    empty = runs.table.rows([])
    names = labels(runs)
    return [
        Scored(i, name, configuration, by.get(i, empty), len(runs.tasks), metric)
        for i, (name, configuration) in enumerate(zip(names, runs.configurations, strict=True))
    ]


def labels(runs: Runs) -> list[str]:
    """Name configurations by what they differ in, the workload where they differ in nothing."""
    parts = [_parts(one, runs.folders[one.folder].name) for one in runs.configurations]
    names = dict.fromkeys(name for one in parts for name in one)
    varied = [name for name in names if len({one.get(name) for one in parts}) > 1]
    if not varied:
        return [one["workload"] for one in parts]
    shown = [name for name in names if name in varied]
    return [" · ".join(one[name] for name in shown if name in one) for one in parts]


def _parts(one: Configuration, folder: str) -> dict[str, str]:
    levels = {f: v if f in FACTORS else f"{f}={v}" for f, v in one.levels.items()}
    return {"folder": folder, "workload": one.workload, **levels}


@dataclass(frozen=True)
class Pair:
    """Two configurations that are compared; the first is the reference."""

    first: Scored
    second: Scored

    @property
    def apart(self) -> bool:
        """Whether they ran at different times, and not in random order with each other."""
        return self.first.configuration.folder != self.second.configuration.folder


def pairs(some: Sequence[Scored]) -> list[Pair]:
    """Return which configurations are compared.

    Several folders: each configuration with the same one of the first folder. One folder: with
    those that differ from it in one thing, a workload or a level, of which they have the first.
    Where nothing differs in one thing only, all are compared with the first. One that is broken
    is compared with nothing.
    """
    some = [one for one in some if one.broken is None]
    known = [_parts(one.configuration, str(one.configuration.folder)) for one in some]
    names = dict.fromkeys(name for one in known for name in one)
    # A level that is the usual one is not named.
    parts = [{name: one.get(name) for name in names} for one in known]
    by = {tuple(part.values()): one for part, one in zip(parts, some, strict=True)}
    apart = len({one.configuration.folder for one in some}) > 1
    found = []
    for part, one in zip(parts, some, strict=True):
        for name in ["folder"] if apart else names:
            other = by.get(tuple({**part, name: parts[0][name]}.values()))
            found += [Pair(other, one)] if other not in (None, one) else []
    return found or [Pair(some[0], one) for one in some[1:]]
