"""Runs for other tools: a table, a row a run."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tare.experiment.store import export
from tare.features.tasks.runs import Runs


def write(runs: Runs, file: str) -> None:
    """Write all runs, one row each, as the ending of a file says; ``-``: CSV to standard output.

    Raises
    ------
    UsageError
        If it has another ending.
    StoreError
        If it cannot be written.
    """
    format = export.format_of(file, "--file runs.csv")
    export.write(_rows(runs), format, file)


#: Columns of numbers, all of them whole.
_NUMBERS = (
    "trial", "exit_status", "cpu_ns", "wall_ns", "memory_bytes", "wait_ns", "started_ns", "took_ns",
)  # fmt: skip


def _rows(runs: Runs) -> pa.Table:
    """Return every run with what its configuration is; a factor of a taken name is NAME_level."""
    table, own = runs.table, runs.configurations
    places = table["configuration"].tolist()
    columns: dict[str, Any] = {
        "experiment": [runs.folder(i).experiment for i in places],
        "folder": [runs.folder(i).name for i in places],
        "workload": [own[i].workload for i in places],
        "task": [runs.tasks[i] for i in table["task"].tolist()],
        "result": table["result"].tolist(),
        "why": table["why"].tolist(),
    }
    for name in _NUMBERS:
        if name in table:
            columns[name] = pa.array(table[name], pa.int64(), from_pandas=True, safe=False)
    for factor in dict.fromkeys(name for one in own for name in one.levels):
        levels = [own[i].levels.get(factor) for i in places]
        columns[f"{factor}_level" if factor in columns else factor] = pa.array(levels, pa.string())
    return pa.table(columns)
