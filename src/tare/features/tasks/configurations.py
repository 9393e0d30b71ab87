"""The configurations of task sets, with their runs as scores need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tare.experiment.findings.disturbance import without_throttling
from tare.experiment.task_sets.outcomes import RESULTS, SESSION, Measure, Result, Scored
from tare.features.tasks.file import FACTORS
from tare.features.tasks.options import Metric
from tare.features.tasks.runs import Configuration, Runs
from tare.results.columns import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Titles of the metrics.
TIMES: dict[Metric, str] = {"cpu": "CPU time", "wall": "wall time"}
#: Results of runs that were killed at the limit of a time.
_KILLED: dict[Metric, Result] = {"cpu": "cpu_time", "wall": "timeout"}


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoredRuns(Scored):
    """One configuration of a folder, with the table of its runs."""

    configuration: Configuration
    table: Columns

    @property
    def waited(self) -> float:
        """Share of their wall time for which runs waited for a CPU; 0 if not known."""
        ready, wall = self.table["wait_ns"], self.table["wall_ns"]
        waited = without_throttling(ready, self.table["throttled_ns"])
        known = ~np.isnan(waited) & ~np.isnan(wall)
        return float(waited[known].sum() / wall[known].sum()) if known.any() else 0.0


def scored(runs: Runs, metric: Metric) -> list[ScoredRuns]:
    """Return the runs of each configuration, in their order."""
    by = dict(runs.table.groups("configuration"))
    empty = runs.table.rows([])
    names = labels(runs)
    return [
        _scored(i, name, runs, by.get(i, empty), metric)
        for i, (name, _) in enumerate(zip(names, runs.configurations, strict=True))
    ]


def _scored(number: int, label: str, runs: Runs, table: Columns, metric: Metric) -> ScoredRuns:
    own = runs.configurations[number]
    shape = len(runs.tasks), int(table["trial"].max()) if len(table) else 1
    at = table["task"], table["trial"] - 1
    result = np.full(shape, -1, dtype=np.int16)
    result[at] = [RESULTS.index(one) for one in table["result"]]
    measures = [
        Measure(f"{one}_ns", title, "ns", _limit_ns(own, one), _KILLED[one])
        for one, title in TIMES.items()
    ]
    measures.sort(key=lambda one: one.key != f"{metric}_ns")
    measures.append(Measure("memory_bytes", "memory", "bytes"))
    return ScoredRuns(
        number=number,
        label=label,
        levels=_levels(own, str(own.folder)),
        session=str(own.folder),
        result=result,
        measures=tuple(measures),
        values={one.key: _array(table, one.key, shape, at) for one in measures},
        why=_reasons(table, len(runs.tasks)),
        broken=_broken(table),
        configuration=own,
        table=table,
    )


def _array(
    table: Columns,
    column: str,
    shape: tuple[int, int],
    at: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> NDArray[np.float64]:
    found = np.full(shape, np.nan)
    found[at] = table[column]
    return found


def _limit_ns(own: Configuration, metric: Metric) -> float | None:
    """Return the time in which a task is to be solved; None: nothing limits it."""
    enforced = None if own.enforce is None else own.enforce.cpu_s
    seconds = own.timeout_s if metric == "wall" or enforced is None else enforced
    return None if seconds is None else 1e9 * seconds


def _broken(table: Columns) -> str | None:
    """Return why every run crashed, where all of at least two did with one exit code."""
    rows = table.rows(table["result"] != "lost")
    statuses = set(rows["exit_status"][~np.isnan(rows["exit_status"])].tolist())
    alike = set(rows["result"]) == {"crashed"} and len(statuses) == 1
    return str(rows["why"][-1]) if len(rows) >= 2 and alike else None


def _reasons(table: Columns, tasks: int) -> list[str | None]:
    found: list[str | None] = [None] * tasks
    for task, why in zip(table["task"], table["why"], strict=True):
        found[task] = found[task] if why is None else why
    return found


def labels(runs: Runs) -> list[str]:
    """Name configurations by what they differ in, the workload where they differ in nothing."""
    parts = [_levels(one, runs.folders[one.folder].name) for one in runs.configurations]
    names = dict.fromkeys(name for one in parts for name in one)
    varied = [name for name in names if len({one.get(name) for one in parts}) > 1]
    if not varied:
        return [one["workload"] for one in parts]
    shown = [name for name in names if name in varied]
    return [" · ".join(one[name] for name in shown if name in one) for one in parts]


def _levels(one: Configuration, folder: str) -> dict[str, str]:
    levels = {f: v if f in FACTORS else f"{f}={v}" for f, v in one.levels.items()}
    return {SESSION: folder, "workload": one.workload, **levels}
