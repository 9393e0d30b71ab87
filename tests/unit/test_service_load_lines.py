"""What tare run says of the load of services: a table below the first, or three lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import journals
import pytest
import served
import synthetic
from said import template
from served import Served

from tare.experiment import store
from tare.experiment.findings import service_load
from tare.experiment.findings.service_cells import driven
from tare.features.measure.run import summary
from tare.render import screen
from tare.results.message import Amount, Message


def lines(folder: Path, how: Served, **options: Any) -> dict[str, Message]:
    made = served.make(None, how, platforms=("bare",), trials=5, **options)
    journals.write(made.results, folder)
    return {one.label: one.said for one in summary._load(store.load(folder))}


def test_three_lines_of_one_cell(tmp_path: Path) -> None:
    said = lines(tmp_path / "out", Served(used=0.25))
    assert list(said) == ["Load", "Tail", "Driver"]
    # Of 300 requests, three are beyond a p99.
    shown = [one.args["name"] for one in said["Tail"].args["times"]]  # type: ignore[union-attr]
    assert shown == ["p50", "p95", "longest"]
    assert said["Tail"].args["few"].args["names"] == ["p99"]  # type: ignore[union-attr]
    rate = said["Load"].args["rate"]
    assert isinstance(rate, Amount)
    assert rate.value == pytest.approx(100, rel=0.01)
    assert said["Load"].args["errors"] is None
    assert said["Driver"].args == {"used": "0.25", "own": 1, "busy": False, "late": None}


def test_a_closed_load_has_users_and_no_rate_to_reach(tmp_path: Path) -> None:
    said = lines(tmp_path / "out", Served(own_cpus=0), load="closed", arguments={"users": 3})
    assert said["Load"].args["rate"] is None
    load = said["Load"].args["load"]
    assert isinstance(load, Message)
    assert template(load) == "{% if users %},"
    assert said["Driver"].args["own"] == 0


def test_commands_and_what_never_worked_have_no_lines(tmp_path: Path) -> None:
    folder = journals.write(synthetic.make(trials=2), tmp_path / "out")
    assert not [*summary._load(store.load(folder))]
    assert not driven(synthetic.make(trials=2))
    assert lines(tmp_path / "served", Served())
    served_only = store.load(tmp_path / "served")
    failed = served_only.trial_table.with_columns(status=["failed"] * len(served_only.trial_table))
    assert not [*summary._load(replace(served_only, trial_table=failed))]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_and_has_load_errors_and_cpus_at_any_width(width: int) -> None:
    results = served.make(None, Served(own_cpus=0, fails=100)).results
    table = screen.table(service_load.table(driven(results), results), width)
    assert max(map(len, table)) <= width
    said = "\n".join(table)
    # What has no room is named.
    _, _, left_out = " ".join(table).partition("No room for ")
    assert ("p95" in left_out) == (width < 90)
    assert said.count("100 of 100/s") == said.count("1.0 %") == said.count("0.20 shared") == 2
