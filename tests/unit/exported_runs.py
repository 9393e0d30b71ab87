"""Runs for exports: every result, in two configurations that differ."""

from __future__ import annotations

from typing import Any

import columns
import numpy as np

from tare.experiment.task_sets.outcomes import RESULTS
from tare.features.tasks.runs import Configuration, Folder, Runs
from tare.features.tasks.specification import TaskSet
from tare.results.columns import objects
from tare.workloads.specification import Enforced

#: How commands end that a limit or somebody kills.
KILLED = -9.0
NO_STATUS = float("nan")
#: Results that runs of tare have.
OWN = [one for one in RESULTS if one not in ("unknown", "failed")]
#: Of each result, how its command ended.
STATUS = dict.fromkeys(OWN, KILLED) | {
    "correct": 0.0, "wrong": 0.0, "done": 0.0, "unchecked": 0.0, "crashed": 7.0,
    "lost": NO_STATUS,
}  # fmt: skip


def configuration(**given: Any) -> Configuration:
    """Make one."""
    defaults: dict[str, Any] = {
        "workload": "sort",
        "levels": {"platform": "bare"},
        "command": ("./sort", "-n", "{task}"),
        "timeout_s": 10.0,
        "enforce": Enforced(cpu_s=1.5, memory_bytes=64 << 20),
    }
    return Configuration(**defaults | given)


def folder(**given: Any) -> Folder:
    """Make one."""
    defaults: dict[str, Any] = {
        "name": "out",
        "experiment": "sorting",
        "started": "2026-11-02T08:09:10+00:00",
        "asked": TaskSet(files=("tasks/*.in",)),
    }
    return Folder(**defaults | given)


def row(place: int, task: int, result: str, **given: Any) -> dict[str, Any]:
    """Make a run, whose numbers are its own."""
    known = result != "lost"
    number = 1000 * place + task
    defaults = {
        "configuration": place,
        "task": task,
        "trial": 1,
        "result": result,
        "why": None,
        "cpu_ns": 20_123_456.0 + number if known else np.nan,
        "wall_ns": 21_987_654_321.0 + number if known else np.nan,
        "memory_bytes": 1_048_577.0 + number if known else np.nan,
        "started_ns": 1e9 * number,
        "exit_status": STATUS[result],
    }
    return defaults | given


def runs(
    rows: list[dict[str, Any]],
    tasks: tuple[str, ...],
    configurations: tuple[Configuration, ...] = (configuration(),),
    **given: Any,
) -> Runs:
    """Make a set of them."""
    table = columns.of_records(rows)
    numbers = {
        name: np.array(table[name], dtype=float)
        for name in table.names
        if name not in ("configuration", "task", "trial", "result", "why")
    }
    table = table.with_columns(why=objects(table["why"]), **numbers)
    return Runs((folder(**given),), configurations, tasks, table)


def every_result() -> Runs:
    """Return a task for each result: one configuration has them, the other has all in turn."""
    count = len(OWN)
    rows = [row(0, task, result) for task, result in enumerate(OWN)]
    rows += [row(1, task, OWN[task // 2 * 2 % count]) for task in range(count)]
    return runs(
        rows,
        tuple(f"tasks/{task:02}-{result}.in" for task, result in enumerate(OWN)),
        (configuration(), configuration(levels={"platform": "bubblewrap"})),
    )
