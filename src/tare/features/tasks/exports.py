"""Runs for other tools: a table, a row a run; or BenchExec's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from tare.errors import UsageError
from tare.experiment import store
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
    format = "csv" if file == "-" else Path(file).suffix.lower().removeprefix(".")
    if format not in store.FORMATS:
        raise UsageError(
            f"{file} ends in none of {', '.join(f'.{one}' for one in store.FORMATS)}",
            "--file runs.csv",
        )
    store.write(_rows(runs), format, file)


def _rows(runs: Runs) -> pa.Table:
    """Return every run with what its configuration is."""
    table = runs.table
    levels = dict.fromkeys(name for one in runs.configurations for name in one.levels)
    own = runs.configurations
    places = table["configuration"].tolist()
    columns: dict[str, Any] = {
        "experiment": [own[i].experiment for i in places],
        "workload": [own[i].workload for i in places],
        **{name: [own[i].levels.get(name) for i in places] for name in levels},
        "task": [runs.tasks[i] for i in table["task"].tolist()],
        "trial": table["trial"].tolist(),
        "result": table["result"].astype(str).tolist(),
        "why": table["why"].tolist(),
    }
    numbers = ("exit_status", "cpu_ns", "wall_ns", "memory_bytes", "started_ns", "took_ns")
    for name in numbers:
        columns[name] = pa.array(table[name], pa.int64(), from_pandas=True, safe=False)
    return pa.table(columns)


def benchexec(runs: Runs, folder: Path) -> list[Path]:
    """Write BenchExec's result files, one a configuration and trial, into a folder."""
    from tare.features.tasks import benchexec

    return benchexec.write(runs, folder)
