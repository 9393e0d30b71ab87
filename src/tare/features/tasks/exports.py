"""Runs for other tools: a table, a row a run."""

from __future__ import annotations

from typing import Any

from tare.errors import Typed
from tare.experiment.store import export
from tare.features.tasks.runs import Runs
from tare.results.columns import Columns


def write(runs: Runs, file: str) -> None:
    """Write all runs, one row each, as the ending of a file says; ``-``: CSV to standard output.

    Raises
    ------
    UsageError
        If it has another ending.
    StoreError
        If it cannot be written.
    """
    format = export.format_of(file, Typed("--file runs.csv"))
    export.write(_rows(runs), format, file)


#: Columns of numbers, all of them whole.
_NUMBERS = (
    "trial", "exit_status", "cpu_ns", "wall_ns", "memory_bytes", "wait_ns", "started_ns", "took_ns",
)  # fmt: skip


def _rows(runs: Runs) -> export.TypedRows:
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
    numbers = {name: table[name] for name in _NUMBERS if name in table}
    for factor in dict.fromkeys(name for one in own for name in one.levels):
        levels = [own[i].levels.get(factor) for i in places]
        taken = factor in columns or factor in numbers
        columns[f"{factor}_level" if taken else factor] = levels
    types = {**dict.fromkeys(columns, "VARCHAR"), **dict.fromkeys(numbers, "BIGINT")}
    return export.TypedRows("runs", Columns({**columns, **numbers}), types)
