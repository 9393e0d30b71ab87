"""BenchExec itself on exported runs: its classes, its table-generator's tables and summaries."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import exported_runs as made
import numpy as np
import pandas as pd
import pytest

from tare.features.tasks import benchexec
from tare.features.tasks.runs import Runs
from tare.readers import read

pytest.importorskip("benchexec", reason="BenchExec is not installed")
pytestmark = pytest.mark.system

#: What a tool-info module that compares the output with the expected one would say.
VERDICTS = {"correct": "true", "wrong": "false", "unchecked": "unknown"}
#: What its executor gives as the reason for which it killed a run.
REASONS = {
    "timeout": "walltime", "cpu_time": "cputime", "out_of_memory": "memory",
    "output": "files-size", "processes": "processes", "lost": "failed",
}  # fmt: skip
CATEGORIES = {"correct": "correct", "wrong": "wrong", "done": "missing", "unchecked": "unknown"}
#: Titles of its columns, with ours and how many of our units are one of its.
NUMBERS = {
    "cputime (s)": ("cpu_ns", 9),
    "walltime (s)": ("wall_ns", 9),
    "memory (MB)": ("memory_bytes", 6),
}
#: The command ``table-generator``, wherever it is installed.
GENERATOR = [sys.executable, "-c", "from benchexec.tablegenerator import main; main()"]


def classified(result: str, exit_status: float) -> dict[str, str]:
    """Return what BenchExec's own code makes of a run that ends so, as columns."""
    from benchexec import model
    from benchexec.result import ExpectedResult, Property
    from benchexec.util import ProcessExitCode

    tool = SimpleNamespace(determine_result=lambda _: VERDICTS.get(result, "done"))
    limits = SimpleNamespace(cputime=None, walltime=None)
    run = object.__new__(model.Run)
    run.__dict__ |= {
        "values": {},
        "columns": [],
        "log_file": "/dev/null",
        "_cmdline": ["./program"],
        "properties": [Property("output.prp", False, "output")],
        "expected_results": {"output.prp": ExpectedResult(True, None)},
        "runSet": SimpleNamespace(benchmark=SimpleNamespace(tool=tool, rlimits=limits)),
    }
    values: dict[str, Any] = {}
    if result in REASONS:
        values["terminationreason"] = REASONS[result]
    if not np.isnan(exit_status):
        code, signal = max(int(exit_status), 0), max(-int(exit_status), 0)
        values["exitcode"] = ProcessExitCode.create(
            **{"signal": signal} if signal else {"value": code}
        )
    run.set_result(values)
    hidden = {title.removeprefix("@"): str(value) for title, value in run.values.items()}
    return {"status": run.status, "category": run.category, **hidden}


@pytest.mark.parametrize(
    ("result", "exit_status"),
    [
        *made.STATUS.items(),
        *(("crashed", status) for status in (1.0, 127.0, 255.0, -4.0, -6.0, -8.0, -11.0, -15.0)),
    ],
)
def test_benchexec_gives_the_same_status_and_category(
    tmp_path: Path, result: str, exit_status: float
) -> None:
    rows = [made.row(0, 0, result, exit_status=exit_status)]
    (path,) = benchexec.write(made.runs(rows, ("a",)), tmp_path)
    from benchexec.tablegenerator import parse_results_file

    run = parse_results_file(str(path)).find("run")
    found = {column.get("title"): column.get("value") for column in run.findall("column")}
    for title in ("cputime", "walltime", "memory"):
        found.pop(title, None)
    assert found == classified(result, exit_status)


def tables(paths: list[Path], out: Path) -> None:
    """Let table-generator make all that it makes, which says nothing of concern."""
    command = [*GENERATOR, "--quiet", "--name", "made"]
    for format in ("csv", "html", "statistics-tex"):
        command += ["--format", format]
    command += ["--outputpath", str(out), "--dump", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (out / "counts").write_text(done.stdout)


def random_runs(count: int) -> Runs:
    """Return runs of all kinds, of two configurations, one of which lacks some tasks."""
    random = np.random.default_rng(3)
    rows = []
    for place in range(2):
        for task in random.permutation(count - 7 * place):
            result = str(random.choice(made.OWN))
            known = result != "lost"
            numbers = {
                "cpu_ns": float(random.integers(0, 10 ** int(random.integers(1, 14)))),
                "wall_ns": float(random.integers(0, 10 ** int(random.integers(1, 14)))),
                "memory_bytes": float(random.integers(0, 1 << 40)),
            }
            given = numbers if known else {}
            if result == "crashed":
                given["exit_status"] = float(random.choice([1, 2, 139, -6, -8, -11]))
            rows.append(made.row(place, int(task), result, **given))
    configurations = (
        made.configuration(),
        made.configuration(levels={"platform": "bubblewrap", "memory": "64 MiB"}),
    )
    return made.runs(rows, tuple(f"set/a/{n:03}.in" for n in range(count)), configurations)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runs, Path]:
    """Return runs, and the folder of what table-generator makes of both configurations."""
    runs, folder = random_runs(150), tmp_path_factory.mktemp("tables")
    tables(benchexec.write(runs, folder / "runs"), folder)
    return runs, folder


def of(runs: Runs, place: int) -> pd.DataFrame:
    """Return the runs of a configuration by the place of their tasks."""
    table = runs.table.where(configuration=place)
    return table.frame().set_index("task").sort_index()


def category(result: str) -> str:
    return CATEGORIES.get(result, "error")


def exact(value: float, places: int) -> Decimal | None:
    return None if np.isnan(value) else Decimal(int(value)).scaleb(-places)


def test_its_csv_has_every_number(both: tuple[Runs, Path]) -> None:
    runs, folder = both
    with (folder / "made.table.csv").open(newline="") as file:
        tool, names, titles, *rows = csv.reader(file, dialect="excel-tab")
    assert tool[1:] == ["sort "] * 8
    assert names[1:] == ["sort bare"] * 4 + ["sort bubblewrap memory=64 MiB"] * 4
    assert titles == ["set/a/", *["status", *NUMBERS] * 2]
    assert [f"set/a/{row[0]}" for row in rows] == list(runs.tasks)
    for place in range(2):
        ours = of(runs, place)
        for task, row in enumerate(rows):
            cells = dict(zip(["status", *NUMBERS], row[1 + 4 * place : 5 + 4 * place], strict=True))
            if task not in ours.index:
                assert set(cells.values()) == {""}
                continue
            one = ours.loc[task]
            assert cells["status"] == classified(one["result"], one["exit_status"])["status"]
            for title, (name, places) in NUMBERS.items():
                known = exact(one[name], places)
                assert cells[title] == "" if known is None else Decimal(cells[title]) == known


def test_its_differences_are_the_tasks_that_ended_otherwise(both: tuple[Runs, Path]) -> None:
    runs, folder = both
    with (folder / "made.diff.csv").open(newline="") as file:
        _, _, _, *rows = csv.reader(file, dialect="excel-tab")
    ends: list[dict[int, str]] = []
    for place in range(2):
        ours = of(runs, place)
        ends.append({
            task: classified(result, status)["status"]
            for task, result, status in zip(
                ours.index, ours["result"], ours["exit_status"], strict=True
            )
        })  # fmt: skip
    # A task that one of them has not run is a difference, too.
    different = [n for n in range(len(runs.tasks)) if ends[0].get(n) != ends[1].get(n)]
    assert [f"set/a/{row[0]}" for row in rows] == [runs.tasks[task] for task in different]
    assert 0 < len(different) < len(runs.tasks)


def page(file: Path) -> dict[str, Any]:
    """Return the data that one of its pages shows."""
    found = re.search(r"const data = (\{.*?\n\});\nwindow\.data", file.read_text(), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_its_page_has_every_class_and_number(both: tuple[Runs, Path]) -> None:
    runs, folder = both
    data = page(folder / "made.table.html")
    assert [row["id"] for row in data["rows"]] == [[f"{n:03}.in"] for n in range(len(runs.tasks))]
    for place in range(2):
        ours = of(runs, place)
        for task, row in enumerate(data["rows"]):
            found = row["results"][place]
            if task not in ours.index:
                assert found["category"] == "empty"
                continue
            one = ours.loc[task]
            assert found["category"] == category(one["result"])
            for cell, (name, places) in zip(found["values"][1:], NUMBERS.values(), strict=True):
                known = exact(one[name], places)
                assert ("raw" in cell) == (known is not None)
                assert known is None or Decimal(cell["raw"]) == known
    (limits, width), = data["head"]["limit"]["content"]  # fmt: skip
    assert (limits, width) == ("timelimit: 1.5 s, memlimit: 67 MB, CPU core limit: 1", 8)


def test_its_summary_has_our_counts(both: tuple[Runs, Path]) -> None:
    runs, folder = both
    stats = {row["id"]: row["content"] for row in page(folder / "made.table.html")["stats"]}
    *_, first, second = (folder / "counts").read_text().splitlines()
    for place, counted in enumerate((first, second)):
        counts = of(runs, place)["result"].value_counts()
        correct, wrong = int(counts["correct"]), int(counts["wrong"])
        found = {name: content[place][0]["sum"] for name, content in stats.items()}
        assert found == {
            "total": int(counts.sum()),
            "correct": correct,
            "correct_true": correct,
            "correct_false": 0,
            "wrong": wrong,
            "wrong_true": 0,
            "wrong_false": wrong,
        }
        errors = sum(n for result, n in counts.items() if category(str(result)) == "error")
        assert counted == f"{correct} {wrong} {errors + counts['unchecked']}"


def test_its_summary_has_our_sums(both: tuple[Runs, Path]) -> None:
    runs, folder = both
    text = (folder / "made.table.statistics.tex").read_text()
    found = {
        tuple(re.findall(r"\{([^{}]*)\}", line)[1:-1]): re.findall(r"\{([^{}]*)\}", line)[-1]
        for line in text.splitlines()
        if line.startswith("\\StoreBenchExecResult")
    }
    names = list(dict.fromkeys(key[0] for key in found))
    assert len(names) == 2
    for place, name in enumerate(names):
        ours = of(runs, place)
        for title, (column, places) in (
            ("Cputime", NUMBERS["cputime (s)"]),
            ("Walltime", NUMBERS["walltime (s)"]),
            ("Memory", NUMBERS["memory (MB)"]),
        ):
            for kind, those in {
                "All": ours,
                "Correct": ours[ours["result"] == "correct"],
                "Wrong": ours[ours["result"] == "wrong"],
            }.items():
                values = sorted(int(value) for value in those[column].dropna())
                middle = values[(len(values) - 1) // 2] + values[len(values) // 2]
                want = {
                    "Sum": Decimal(sum(values)),
                    "Min": Decimal(values[0]),
                    "Max": Decimal(values[-1]),
                    "Median": Decimal(middle) / 2,
                }
                for figure, value in want.items():
                    got = Decimal(found[name, title, kind, "", figure])
                    assert got == value.scaleb(-places), (name, title, kind, figure)


def test_the_trials_of_a_task_are_columns(tmp_path: Path) -> None:
    rows = [
        made.row(0, task, "correct", trial=trial, cpu_ns=1e9 * trial + task)
        for task in range(3)
        for trial in (1, 2, 3)
    ]
    tables(benchexec.write(made.runs(rows, ("a", "b", "c")), tmp_path / "runs"), tmp_path)
    with (tmp_path / "made.table.csv").open(newline="") as file:
        _, names, _, *found = csv.reader(file, dialect="excel-tab")
    assert names[1::4] == [f"sort bare trial {trial}" for trial in (1, 2, 3)]
    assert [row[2::4] for row in found] == [
        [f"{trial}.00000000{task}" for trial in (1, 2, 3)] for task in range(3)
    ]


def test_results_of_two_folders_are_joined_by_task(tmp_path: Path) -> None:
    paths = []
    for name in ("old", "new"):
        rows = [made.row(0, task, "correct" if name == "old" else "done") for task in range(3)]
        runs = made.runs(rows, ("a.yml", "b.yml", "c.yml"), experiment=name)
        paths += benchexec.write(runs, tmp_path / name / "runs")
    tables(paths, tmp_path)
    rows_found = page(tmp_path / "made.table.html")["rows"]
    assert [len(row["results"]) for row in rows_found] == [2] * 3
    assert [[one["category"] for one in row["results"]] for row in rows_found] == [
        ["correct", "missing"]
    ] * 3


def test_names_that_would_break_its_tables_do_not(tmp_path: Path) -> None:
    tasks = (
        "a\tb", "a\nb", "a\rb", "a\x00b", "a\udcffb", 'a"b', "a'b", "]]>", "<b>&amp;", "a\\x09b",
        "://", "*?[a]", "$HOME",
    )  # fmt: skip
    hostile = made.configuration(
        workload="a\tb\n<c>", levels={"platform": "bare", "size": '"]]>\x00'}
    )
    rows = [made.row(0, task, "crashed", why=name) for task, name in enumerate(tasks)]
    tables(
        benchexec.write(made.runs(rows, tasks, (hostile,), experiment="a/b*"), tmp_path / "runs"),
        tmp_path,
    )
    lines = (tmp_path / "made.csv").read_text().splitlines()
    assert len(lines) == 3 + len(tasks)
    assert len({line.split("\t")[0] for line in lines[3:]}) == len(tasks)
    assert {line.count("\t") for line in lines} == {4}


def test_a_real_run_of_benchexec_and_ours_are_one_table(tmp_path: Path) -> None:
    """What BenchExec wrote itself stands next to ours, and tare reads both alike."""
    theirs = Path(__file__).parents[1] / "data/interop/benchexec/repeated.xml.bz2"
    ours = benchexec.write(made.every_result(), tmp_path / "runs")
    command = [*GENERATOR, "-f", "csv", "-n", "made", "-o", tmp_path, theirs, *ours]
    subprocess.run(command, check=True, capture_output=True)
    with (tmp_path / "made.table.csv").open(newline="") as file:
        _, _, titles, *_ = csv.reader(file, dialect="excel-tab")
    assert titles[1:].count("cputime (s)") == 3
    units = {
        (series.metric, series.unit) for path in (theirs, *ours) for series in read(path).series
    }
    assert units == {("cputime", "s"), ("walltime", "s"), ("memory", "bytes")}
