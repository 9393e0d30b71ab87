"""Reading Google Benchmark's JSON: repetitions of one process are no trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from said import args, templates

from tare import readers
from tare.errors import InputError
from tare.readers import ColumnOptions
from tare.readers.readings import counted, mean_of
from tare.readers.series import FailedRuns

DATA = Path(__file__).parents[1] / "data" / "interop" / "google_benchmark"


def written(folder: Path, *benchmarks: dict[str, Any]) -> Path:
    file = folder / "out.json"
    context = {"date": "today", "num_cpus": 8, "library_build_type": "release"}
    file.write_text(json.dumps({"context": context, "benchmarks": list(benchmarks)}))
    return file


def test_repetitions_are_iterations_of_one_process() -> None:
    found = readers.read(DATA / "repetitions.json")
    assert found.format == "google-benchmark"
    by_name = {one.key["benchmark"]: one for one in found.series}
    assert list(by_name) == [
        "BM_Sort/64",
        "BM_Sort/1024",
        "BM_Copy/4096/real_time/threads:2",
    ]
    one = by_name["BM_Sort/1024"]
    assert len(one.values) == 8
    assert one.trial is None
    assert (one.metric, one.unit, one.lower_is_better) == ("time", "s", True)
    assert one.reported["mean"] == pytest.approx(one.values.mean())
    assert one.reported["sd"] == pytest.approx(one.values.std(ddof=1))
    assert one.reported["n"] == 8
    runs = json.loads((DATA / "repetitions.json").read_text())["benchmarks"]
    loops = [r["iterations"] for r in runs if r["name"] == "BM_Sort/1024"]
    assert one.notes == (mean_of(loops, "iteration"),)
    repetitions = args(found.specification.repetitions, "{sampling}")
    assert repetitions["count"] == counted([8], "repetition")
    environment = args(found.specification.environment, "frequency scaling")
    assert environment == {"cpus": "2", "mhz": "2596", "scaling": False}
    assert templates(found.notes) == [
        "since they failed:",
        "was built for",
        "file has other",
    ]
    assert args(found.notes, "since they failed:")["names"] == ["BM_Skip (no such device)"]
    others = args(found.notes, "file has other")["names"]
    assert {"cpu_time", "items_per_second", "rounds"} <= set(others)


def test_of_a_file_of_failures_alone_each_is_a_series_without_values(tmp_path: Path) -> None:
    entries = json.loads((DATA / "repetitions.json").read_text())["benchmarks"]
    file = written(tmp_path, *(one for one in entries if one["name"] == "BM_Skip"))
    (one,) = readers.read(file).series
    assert len(one.values) == 0
    assert one.failed == FailedRuns(8, 8, "repetition", because=("no such device",))


def test_units_of_time_become_seconds_and_others_are_told(tmp_path: Path) -> None:
    runs = [
        {"name": "a", "real_time": 2.0, "time_unit": unit, "iterations": 1}
        for unit in ("s", "ms", "us", "ns")
    ]
    (one,) = readers.read(written(tmp_path, *runs)).series
    assert list(one.values) == pytest.approx([2, 2e-3, 2e-6, 2e-9])
    assert not one.defects
    runs.append({"name": "a", "real_time": 2.0, "time_unit": "min", "iterations": 1})
    (one,) = readers.read(written(tmp_path, *runs)).series
    assert one.unit is None
    (defect,) = one.defects
    assert defect.kind == "mixed units"
    unknown = args(defect.message, "in an unknown")
    assert (unknown["n"], unknown["total"]) == (1, 5)
    assert unknown["at"].args == {"place": "benchmarks[4].time_unit", "found": "'min'"}


def test_aggregates_alone_are_a_summary() -> None:
    found = readers.read(DATA / "aggregates.json")
    assert len(found.series) == 3
    for one in found.series:
        assert len(one.values) == 0
        assert [d.kind for d in one.defects] == ["summary only"]
        assert one.reported["n"] == 5
        assert one.reported["median"] > 0
    repetitions = args(found.specification.repetitions, "{sampling}")
    assert repetitions["count"] == counted([5], "repetition")


def test_statistics_of_old_versions_are_known_by_their_names(tmp_path: Path) -> None:
    """Before 1.5 neither run_type nor aggregate_name tells them from repetitions."""
    times = {"BM_a": 10.0, "BM_a_mean": 11.0, "BM_a_stddev": 1.0, "BM_compute_mean": 7.0}
    entries = [
        {"name": name, "real_time": time, "time_unit": "ns", "iterations": 1}
        for name, time in [("BM_a", 12.0), *times.items()]
    ]
    one, other = readers.read(written(tmp_path, *entries)).series
    assert (one.key["benchmark"], list(one.values)) == ("BM_a", pytest.approx([12e-9, 10e-9]))
    assert one.reported == {"mean": pytest.approx(11e-9), "sd": pytest.approx(1e-9)}
    assert (other.key["benchmark"], list(other.values)) == (
        "BM_compute_mean",
        [pytest.approx(7e-9)],
    )
    (alone,) = readers.read(written(tmp_path, *entries[2:4])).series
    assert [d.kind for d in alone.defects] == ["summary only"]


def test_what_was_not_skipped_counts(tmp_path: Path) -> None:
    entry = {"name": "a", "real_time": 2.0, "time_unit": "s", "balance": -3.5}
    entries = [{**entry, "skipped": flag, "error_occurred": flag} for flag in (False, True)]
    file = written(tmp_path, *entries)
    (one,) = readers.read(file).series
    assert list(one.values) == [2.0]
    assert one.failed == FailedRuns(1, 2, "repetition")
    (counter,) = readers.read(file, ColumnOptions(value="balance")).series
    assert (list(counter.values), counter.defects) == ([-3.5], ())


def test_other_metrics_are_had_by_name() -> None:
    cpu = readers.read(DATA / "repetitions.json", ColumnOptions(value="cpu_time")).series[0]
    assert (cpu.metric, cpu.unit) == ("CPU time", "s")
    rate = readers.read(DATA / "repetitions.json", ColumnOptions(value="items_per_second")).series[
        0
    ]
    assert (rate.unit, rate.lower_is_better) == ("1/s", False)
    assert rate.reported["mean"] == pytest.approx(rate.values.mean())


def test_a_counter_of_some_benchmarks_is_read_of_these(tmp_path: Path) -> None:
    run = {"real_time": 2.0, "time_unit": "ns", "iterations": 1}
    file = written(tmp_path, {"name": "a", **run, "hits": 5}, {"name": "b", **run})
    found = readers.read(file, ColumnOptions(value="hits"))
    (one,) = found.series
    assert (one.key["benchmark"], list(one.values)) == ("a", [5])
    assert args(found.notes, "they have no") == {"names": ["b"], "more": 0}
    with pytest.raises(InputError, match="no benchmark has a metric 'misses'") as told:
        readers.read(file, ColumnOptions(value="misses"))
    assert told.value.hint == "name one with --value: real_time, hits"


def test_its_csv_is_refused_with_what_to_write(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    file.write_text(
        "2026-11-29T13:36:10+00:00\nRunning ./b\n"
        "name,iterations,real_time,cpu_time,time_unit,label\n"
        '"BM_a",10,2.5,2.5,ns,\n"BM_a_mean",10,2.5,2.5,ns,\n'
    )
    with pytest.raises(InputError, match="mixes repetitions with statistics") as told:
        readers.read(file)
    assert told.value.hint
    assert "--benchmark_out_format=json" in told.value.hint


def test_complexity_is_no_measurement() -> None:
    found = readers.read(DATA / "once.json")
    assert [one.key["benchmark"] for one in found.series] == ["BM_Sort/64", "BM_Sort/1024"]
    assert all(len(one.values) == 1 for one in found.series)


def test_what_is_wrong_is_told_with_its_path(tmp_path: Path) -> None:
    entry = {"name": "a", "real_time": "fast", "time_unit": "ns"}
    (one,) = readers.read(written(tmp_path, entry)).series
    at = args(one.defects[0].message, "{place} is {found}")
    assert at == {"place": "benchmarks[0].real_time", "found": "'fast'"}
    for benchmark, complaint in [
        ({}, r"benchmarks\[0\]: has no 'name'"),
        ({"name": 3}, r"benchmarks\[0\].name: expected a text, found 3"),
    ]:
        with pytest.raises(InputError, match=complaint):
            readers.read(written(tmp_path, benchmark))
    with pytest.raises(InputError, match="'benchmarks' is empty"):
        readers.read(written(tmp_path))
