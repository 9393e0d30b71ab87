"""The stages of ``make test``: order, outcomes, accounting, and warnings about growth."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "gate.py"


@pytest.fixture(scope="module")
def gate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gate", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["gate"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_stage_waits_for_what_it_needs_and_is_not_run_where_that_failed(
    gate: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mark = tmp_path / "mark"
    done, last_line = gate.run_stages(
        (
            gate.Stage("reads", f"cat {mark} && echo closing", needs=("writes",), live=True),
            gate.Stage("writes", f"sleep 0.2 && echo written >{mark}"),
            gate.Stage("fails", "echo broken && exit 3"),
            gate.Stage("never", f"rm {mark}", needs=("fails",)),
            gate.Stage("anyway", "true", after=("never",)),
        )
    )
    assert {name: stage["outcome"] for name, stage in done.items()} == {
        "reads": "passed", "writes": "passed", "fails": "failed (3)", "never": "not run",
        "anyway": "passed",
    }  # fmt: skip
    assert mark.exists()
    printed = capfd.readouterr().out.splitlines()
    assert "broken" in printed
    assert "written" in printed
    # The caller prints it after its tables.
    assert last_line == "closing"
    assert "closing" not in printed


def test_cpu_time_is_that_of_all_processes_of_a_stage(gate: ModuleType) -> None:
    burn = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.3: pass'"
    done, _ = gate.run_stages((gate.Stage("burns", f"({burn}); true"), gate.Stage("idle", "true")))
    assert done["burns"]["cpu_s"] >= 0.3
    assert done["idle"]["cpu_s"] < 0.3


def run(**cpu_s: float) -> dict[str, Any]:
    stages = {
        name: {"outcome": "passed", "began_s": 0.0, "wall_s": cpu, "cpu_s": cpu}
        for name, cpu in cpu_s.items()
    }
    file = {"passed": 3, "failed": 1, "skipped": {"no docker": 2}, "wall_s": 1.5, "cpu_s": 2.5}
    return {"wall_s": 9.0, "stages": stages, "tests": {"tests/test_x.py": file | {"stage": "slow"}}}


def test_growth_of_a_fifth_is_warned_of(gate: ModuleType) -> None:
    before = run(slow=10, same=10, short=1)
    after = run(slow=12.1, same=11.9, short=4, new=50)
    assert gate.growth(before, after) == ["warning: slow: 12.1 s of CPU time, 10.0 s before"]
    assert "10.0 → 12.1" in gate.compare(before, after)
    assert "warning: slow" in gate.compare(before, after)


def test_tables_have_stages_files_and_reasons_of_skips(gate: ModuleType) -> None:
    result = run(slow=10)
    rows = [line.split() for line in gate.table(result).splitlines()]
    assert ["slow", "0.0", "10.0", "10.0"] in rows
    assert ["all", "9.0", "10.0"] in rows
    assert ["tests/test_x.py", "4", "1.5", "2.5"] in rows
    lines = gate.outcomes(result).splitlines()
    assert "| slow | 10 | 10 | 3 | 1 | 2 |" in lines
    assert "- skipped 2: no docker" in lines


def test_no_file_of_costs_is_mistaken_for_a_file_of_tests() -> None:
    """Apart from its option, an existing file would count as tests, and hide tests/conftest.py."""
    lines = TOOL.parents[1].joinpath("Makefile").read_text().replace("\\\n", " ").splitlines()
    runs = [line for line in lines if "--costs" in line]
    assert len(runs) == 7
    assert all("--costs=.costs/" in line for line in runs)
