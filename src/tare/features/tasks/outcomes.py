"""Runs as arrays of tasks and trials, by configuration: what scores are worked out from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tare.features.tasks.folder import AGAIN
from tare.features.tasks.runs import RESULTS, SOLVED, Configuration, Runs
from tare.statistics.scores import Outcomes

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

#: The time that scores are about.
Metric = Literal["cpu", "wall"]
METRICS: tuple[Metric, ...] = ("cpu", "wall")


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
    table: pd.DataFrame
    tasks: int
    metric: Metric

    @cached_property
    def result(self) -> NDArray[np.int16]:
        """Result of each task's runs, shape (tasks, trials), as a place in RESULTS; -1: none."""
        found = np.full(self._shape, -1, dtype=np.int16)
        found[self._at] = self.table["result"].cat.codes
        return found

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
        return Outcomes(self.values(f"{self.metric}_ns"), solved, ran)

    @cached_property
    def limit_ns(self) -> float | None:
        """The time in which a task is to be solved; None: nothing limits it."""
        own = self.configuration
        enforced = None if own.enforce is None else own.enforce.cpu_s
        seconds = own.timeout_s if self.metric == "wall" or enforced is None else enforced
        return None if seconds is None else 1e9 * seconds

    @cached_property
    def worst(self) -> NDArray[np.int16]:
        """Result of each task: of several trials the last in the order of RESULTS; -1: none."""
        return self.result.max(axis=1) if self.result.size else np.full(self.tasks, -1, np.int16)

    @cached_property
    def judged(self) -> NDArray[np.int16]:
        """The same of the runs that say something of the program."""
        return np.asarray(np.where(self.outcomes.counted, self.result, -1).max(axis=1))

    @property
    def _shape(self) -> tuple[int, int]:
        return self.tasks, int(self.table["trial"].max()) if len(self.table) else 1

    @property
    def _at(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.table["task"].to_numpy(), self.table["trial"].to_numpy() - 1


def medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of each task's known values, shape (tasks, trials); NaN: it has none."""
    known = ~np.isnan(values).all(axis=1)
    found = np.full(len(values), np.nan)
    found[known] = np.nanmedian(values[known], axis=1)
    return found


def scored(runs: Runs, metric: Metric) -> list[Scored]:
    """Return the runs of each configuration, in their order."""
    by = dict(iter(runs.table.groupby("configuration")))
    empty = runs.table.iloc[:0]
    names = labels(runs.configurations)
    return [
        Scored(i, name, configuration, by.get(i, empty), len(runs.tasks), metric)
        for i, (name, configuration) in enumerate(zip(names, runs.configurations, strict=True))
    ]


def labels(configurations: tuple[Configuration, ...]) -> list[str]:
    """Name configurations by what they differ in, the workload where they differ in nothing."""
    parts = [
        {"folder": one.folder, "workload": one.workload, **one.levels} for one in configurations
    ]
    names = dict.fromkeys(name for one in parts for name in one)
    varied = [name for name in names if len({one.get(name) for one in parts}) > 1]
    if not varied:
        return [one["workload"] for one in parts]
    shown = [name for name in names if name in varied]
    return [" · ".join(one[name] for name in shown if name in one) for one in parts]
