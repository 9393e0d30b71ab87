"""Reading what go test -bench prints: lines of one process are no trials."""

from __future__ import annotations

from pathlib import Path

import pytest
from said import args

from tare import readers
from tare.errors import FailedRunError, InputError
from tare.readers import ColumnOptions, Imported
from tare.readers.readings import counted, mean_of
from tare.results.message import message

DATA = Path(__file__).parents[1] / "data" / "interop" / "go_benchmark"


def parsed(folder: Path, text: str, value: str | None = None) -> Imported:
    file = folder / "bench.txt"
    file.write_text(text)
    return readers.read(file, ColumnOptions(value=value))


def test_lines_of_one_process_are_no_trials() -> None:
    found = readers.read(DATA / "count.txt")
    assert found.format == "go-benchmark"
    names = [one.key["benchmark"] for one in found.series]
    assert names == ["Sort/n=100-2", "Sort/n=10000-2", "Nothing-2"]
    one = found.series[0]
    assert (one.metric, one.unit, one.lower_is_better) == ("time", "s", True)
    assert one.trial is None
    assert one.values[0] == pytest.approx(2728e-9)
    assert len(one.values) == 6
    assert one.notes == (mean_of([3332, 6370], "iteration"),)
    repetitions = args(found.specification.repetitions, "{unit} in")
    assert repetitions["count"] == counted([6], "value")
    assert repetitions["processes"] == counted([1], "process")
    assert found.specification.environment == "AMD EPYC, linux/amd64"
    others = args(found.notes, "file has other")
    assert others == {"names": ["MB/s", "items/op", "B/op", "allocs/op"]}


def test_processes_in_one_file_are_trials() -> None:
    found = readers.read(DATA / "three_runs.txt")
    assert len(found.series) == 2
    for one in found.series:
        assert one.trial is not None
        assert list(one.trial) == [0, 0, 1, 1, 2, 2]
    repetitions = args(found.specification.repetitions, "{unit} in")
    assert repetitions["count"] == counted([6], "value")
    assert repetitions["processes"] == counted([3], "process")


def test_events_say_the_same() -> None:
    found = readers.read(DATA / "events.json")
    (one,) = found.series
    assert one.key == {"benchmark": "Nothing-2"}
    assert len(one.values) == 2


def test_a_line_may_be_cut_into_events(tmp_path: Path) -> None:
    event = '{{"Action":"output","Package":"p","Output":"{}"}}\n'
    text = event.format(r"BenchmarkA  \t") + event.format(r"  100\t 5 ns/op\n")
    (one,) = parsed(tmp_path, text).series
    assert list(one.values) == [5e-9]


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("B/op", ("memory", "bytes", True, 896)),
        ("allocs/op", ("allocations", "allocs/op", True, 1)),
        ("MB/s", ("throughput", "bytes/s", False, 293.28e6)),
        ("items/op", ("items/op", "items/op", None, 100)),
    ],
)
def test_other_metrics_are_had_by_their_unit(unit: str, said: tuple[object, ...]) -> None:
    one = readers.read(DATA / "count.txt", ColumnOptions(value=unit)).series[0]
    assert (one.metric, one.unit, one.lower_is_better, pytest.approx(one.values[0])) == said


def test_settings_that_differ_tell_series_apart(tmp_path: Path) -> None:
    text = "goos: linux\ncommit: a\nBenchmarkX 9 5 ns/op\ncommit: b\nBenchmarkX 9 6 ns/op\n"
    found = parsed(tmp_path, text)
    assert [dict(one.key) for one in found.series] == [
        {"benchmark": "X", "commit": "a"},
        {"benchmark": "X", "commit": "b"},
    ]


def test_a_log_is_not_taken_for_settings(tmp_path: Path) -> None:
    log = "".join(f"key{i}: {i}\nBenchmarkX 9 5 ns/op\n" for i in range(2000))
    found = parsed(tmp_path, log)
    assert sum(len(one.values) for one in found.series) == 2000
    assert len(found.series[-1].key) == 100  # key0 is the same in all


def test_what_is_printed_between_is_passed_over(tmp_path: Path) -> None:
    text = (
        "BenchmarkA\nBenchmarkA-2 10 1 ns/op\r\nhello: World\nBenchmarkB-2 loading model\n"
        "--- FAIL: BenchmarkC-2\nBenchmarkA-2 10 2 ns/op\nPASS\n"
    )
    found = parsed(tmp_path, text)
    assert [list(one.values) for one in found.series] == [[1e-9], [2e-9]]
    assert found.series[1].key["hello"] == "World"
    assert found.notes == (
        message("{n | counted('incomplete line')} of results left out (line {line})", n=1, line=4),
        message("benchmarks that failed: {names | join(', ')}", names=["'BenchmarkC-2'"]),
    )


def test_what_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    found = parsed(tmp_path, "BenchmarkA 1 NaN ns/op\nBenchmarkA 1 -5 ns/op\nBenchmarkA 1 7 ns/op")
    (one,) = found.series
    assert list(one.values) == pytest.approx([7e-9])
    assert [args(d.message, "{place} is {found}") for d in one.defects] == [
        {"place": "line 1, ns/op", "found": "'NaN'"},
        {"place": "line 2, ns/op", "found": "-5.0"},
    ]
    with pytest.raises(InputError, match="has no line of results"):
        parsed(tmp_path, "goos: linux\nPASS\n")
    with pytest.raises(InputError, match="no values in heat"):
        parsed(tmp_path, "BenchmarkA 1 7 ns/op", value="heat")
    file = tmp_path / "latin.txt"
    file.write_bytes(b"goos: linux\nBenchmark\xe4 1 7 ns/op\n")
    with pytest.raises(InputError, match="line 2: byte"):
        readers.read(file)


def test_a_run_that_failed_says_which_benchmark(tmp_path: Path) -> None:
    file = tmp_path / "bench.txt"
    file.write_text("goos: linux\npkg: x\nBenchmarkSort-2 \t--- FAIL: BenchmarkSort-2\nFAIL\n")
    with pytest.raises(FailedRunError, match="'BenchmarkSort-2' failed"):
        readers.read(file)
