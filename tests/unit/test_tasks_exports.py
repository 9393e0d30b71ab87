"""All runs as a table for other tools, a row each."""

from __future__ import annotations

import csv
from pathlib import Path

import exported_runs as made
import pyarrow.parquet as pq
import pytest

from tare.errors import UsageError
from tare.features.tasks.exports import write


def test_csv_has_every_run_with_every_number(tmp_path: Path) -> None:
    runs = made.every_result()
    write(runs, str(tmp_path / "runs.csv"))
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(runs.table)
    for row, known in zip(rows, runs.table.records(), strict=True):
        configuration = runs.configurations[known["configuration"]]
        assert row["platform"] == configuration.levels["platform"]
        assert row["experiment"] == "sorting"
        assert row["task"] == runs.tasks[known["task"]]
        assert row["result"] == known["result"]
        for name in ("cpu_ns", "wall_ns", "memory_bytes", "started_ns", "exit_status", "trial"):
            value = known[name]
            assert row[name] == ("" if value is None else f"{value:.0f}")


def test_factors_have_columns_of_their_own(tmp_path: Path) -> None:
    configurations = (
        made.configuration(levels={"platform": "bare", "result": "big"}),
        made.configuration(levels={"platform": "bare", "size": "1c"}),
    )
    rows = [made.row(0, 0, "done"), made.row(1, 0, "done")]
    write(made.runs(rows, ("a",), configurations), str(tmp_path / "runs.parquet"))
    first, second = pq.read_table(tmp_path / "runs.parquet").to_pylist()
    assert (first["result"], first["result_level"], first["size"]) == ("done", "big", None)
    assert (second["result"], second["result_level"], second["size"]) == ("done", None, "1c")


def test_another_ending_is_refused() -> None:
    with pytest.raises(UsageError):
        write(made.every_result(), "runs.xlsx")
