"""Files that hold statistics alone are recognised, and what has the values is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from imported import DATA
from said import args

from tare import readers
from tare.errors import InputError
from tare.readers import ColumnOptions, Imported, Series
from tare.readers.readings import counted
from tare.render.words import text


def only_summary(found: Imported) -> tuple[Series, ...]:
    for one in found.series:
        assert len(one.values) == 0
        assert [defect.kind for defect in one.defects] == ["summary only"]
    return found.series


@pytest.mark.parametrize(
    ("file", "keys", "reported", "unit", "instead"),
    [
        (
            "hyperfine.csv",
            {"command": "sleep 0.001"},
            {"mean": 0.0103998, "sd": 0.00976363, "median": 0.00560512, "min": 0.00350986,
             "max": 0.0281307},
            "s",
            "hyperfine --export-json FILE",
        ),
        (
            "pytest_benchmark.csv",
            {"name": "test_x.py::test_sum"},
            {"mean": 3.475028e-05, "sd": 0.000341687, "median": 1.0405e-05, "min": 1.0325e-05,
             "max": 0.00770458, "n": 3193},
            "s",
            "pytest --benchmark-json=FILE",
        ),
        (
            "jmh.csv",
            {"Benchmark": "bench.Work.allocate", "Mode": "thrpt", "Threads": "1",
             "Param: size": "100"},
            {"mean": 6319, "n": 3},
            "1/s",
            "-rf json",
        ),
    ],
)  # fmt: skip
def test_a_csv_of_statistics_names_what_has_the_values(
    file: str, keys: dict[str, str], reported: dict[str, float], unit: str, instead: str
) -> None:
    for columns in (ColumnOptions(), ColumnOptions(value="mean")):
        found = readers.read(DATA / "summary_csv" / file, columns)
        assert found.format == "summary-csv"
        first = only_summary(found)[0]
        assert (dict(first.key), first.unit) == (keys, unit)
        assert first.reported == pytest.approx(reported, rel=1e-5)
        told = args([defect.message for defect in first.defects], "one row of")
        assert told["instead"] == instead


def test_the_report_of_jmeter_is_no_log(tmp_path: Path) -> None:
    file = tmp_path / "summary.csv"
    file.write_text(
        "Label,# Samples,Average,Median,90% Line,Min,Max,Error %,Throughput,Std. Dev.\n"
        "page,1000,200,190,300,100,900,0.00%,12.3,30.1\nTOTAL,8000,205,195,300,100,900,0.00%,98,30\n"
    )
    page, total = only_summary(readers.read(file))
    assert dict(page.key) == {"Label": "page"}
    assert page.reported == {"mean": 0.2, "min": 0.1, "max": pytest.approx(0.9), "n": 1000}
    assert dict(total.key) == {"Label": "TOTAL"}


def test_an_unknown_tools_statistics_are_not_proposed_as_values(tmp_path: Path) -> None:
    file = tmp_path / "codspeed.csv"
    file.write_text("name,mean_ns,stdev_ns,median_ns,min_ns,max_ns,rounds\nx,1,2,3,4,5,6\n")
    assert readers.read(file).format == "summary-csv"
    file.write_text("bench,avg,stddev,p99,n\na,1.5,2,3,4\nb,2.5,2,3,4\n")
    with pytest.raises(InputError, match="holds statistics: avg, stddev, p99, n") as told:
        readers.read(file)
    assert told.value.hint
    assert "--value avg" in told.value.hint


def test_a_commit_has_one_value() -> None:
    found = readers.read(DATA / "github_action_benchmark" / "data.js")
    assert found.format == "github-action-benchmark"
    (last,) = only_summary(found)
    assert dict(last.key) == {"suite": "Go", "benchmark": "BenchmarkFib"}
    assert last.reported == {"mean": pytest.approx(325e-9)}
    told = args([last.defects[0].message], "file has one")
    assert told == {"commits": counted([2], "commit"), "tool": "go"}
    parse, load = only_summary(readers.read(DATA / "github_action_benchmark" / "custom.json"))
    assert (parse.unit, parse.lower_is_better) == ("s", True)
    assert (load.unit, load.reported["mean"]) == ("bytes/s", 3.5e6)
    assert "per benchmark, no repetitions" in text(parse.defects[0].message)


@pytest.mark.parametrize(
    ("printed", "tool"),
    [
        ("Benchmark 1: sleep 1\n  Time (mean ± σ): 1.0 s ± 0.1 s\n", "hyperfine"),
        ("| Command | Mean [ms] | Min [ms] |\n|:---|---:|---:|\n", "hyperfine"),
        ("3;fio-3.33;a;0;0;1600;51612;12903\n", "fio"),
        ("a: (g=0): rw=read, bs=(R) 4096B-4096B\nfio-3.33\nStarting 1 process\n", "fio"),
        ("# JMH version: 1.37\n", "JMH"),
        ("Benchmark   Mode  Cnt  Score   Error  Units\nWork.plain  avgt  2  0.4  us/op\n", "JMH"),
        ("Running ./b\nBenchmark        Time      CPU  Iterations\n", "Google Benchmark"),
        ("..\n---- benchmark 'sort': 2 tests ----\nName (time in us)  Min\n", "pytest-benchmark"),
        (".....\nMean +- std dev: 828 ns +- 34 ns\n", "pyperf"),
        ("sum/add/100    time:   [83.954 ns 273.04 ns 411.39 ns]\n", "criterion"),
        ("running 1 test\ntest add ... bench:  12 ns/iter (+/- 3)\n", "cargo bench"),
    ],
)
def test_what_is_printed_for_people_is_refused_by_its_tool(
    tmp_path: Path, printed: str, tool: str
) -> None:
    file = tmp_path / "out.txt"
    file.write_text(printed)
    with pytest.raises(InputError, match=f"is what {tool} prints for people") as told:
        readers.read(file)
    assert told.value.hint
