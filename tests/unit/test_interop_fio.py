"""Reading fio's JSON: a run is one value, and what it states of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from said import args

from tare import readers
from tare.errors import InputError
from tare.features.audit.audit import audit
from tare.readers import ColumnOptions, json_file
from tare.readers.readings import counted
from tare.results.message import message

DATA = Path(__file__).parents[1] / "data" / "interop" / "fio"


def run(bandwidth: object, at: int = 0, elapsed: int = 5, **job: Any) -> dict[str, Any]:
    read = {"bw_bytes": bandwidth, "io_bytes": 10, "total_ios": 1}
    jobs = [{"jobname": "a", "error": 0, "elapsed": elapsed, "read": read, **job}]
    return {"fio version": "fio-3.33", "timestamp": at, "jobs": jobs}


def written(folder: Path, *runs: dict[str, Any]) -> Path:
    file = folder / "fio.json"
    file.write_text("\n".join(map(json.dumps, runs)))
    return file


def test_one_run_is_one_value_with_its_summary() -> None:
    found = readers.read(DATA / "jobs.json")
    assert found.format == "fio"
    assert [(one.key["job"], one.key["direction"]) for one in found.series] == [
        ("reader", "read"),
        ("mixed", "read"),
        ("mixed", "write"),
    ]
    assert (found.series[0].key["rw"], found.series[1].key["rw"]) == ("randread", "randrw")
    for one in found.series:
        assert (one.metric, one.unit, one.lower_is_better) == ("bandwidth", "bytes/s", False)
        assert len(one.values) == 1
        # bw_mean is in KiB/s, over samples of half a second.
        assert one.reported["mean"] == pytest.approx(one.values[0], rel=0.1)
        assert one.defects == ()
    assert found.specification.environment == "fio-3.33"
    others = message(
        "the file has other metrics (--value): {names | join(', ')}",
        names=["iops", "clat_ns", "lat_ns", "slat_ns"],
    )
    assert found.notes == (others,)


def test_latencies_have_quantiles() -> None:
    one = readers.read(DATA / "jobs.json", ColumnOptions(value="clat_ns")).series[0]
    assert (one.metric, one.unit, one.lower_is_better) == ("completion latency", "s", True)
    assert one.values[0] == pytest.approx(one.reported["mean"])
    said = one.reported
    assert said["min"] <= said["median"] <= said["p90"] <= said["p95"] <= said["p99"] <= said["max"]
    assert 1e-7 < said["median"] < 1
    assert said["n"] == int(said["n"]) > 100


def test_reports_of_one_run_are_not_runs() -> None:
    found = readers.read(DATA / "status.json")
    (one,) = found.series
    assert len(one.values) == 1
    assert args(found.notes, ": the last") == {"reports": 3, "runs": 1}


def test_runs_that_were_appended_are_trials(tmp_path: Path) -> None:
    found = readers.read(written(tmp_path, run(100, 50), run(110, 56), run(120, 62)))
    (one,) = found.series
    assert list(one.values) == [100, 110, 120]
    assert one.trial is not None
    assert list(one.trial) == [0, 1, 2]
    assert one.defects == ()
    assert len(readers.read(written(tmp_path, run(1), run(1))).series[0].values) == 2
    starts = [run(rate, job_start=start) for rate, start in [(1, 7), (2, 7), (3, 8)]]
    for more, document in enumerate(starts):
        document["jobs"][0]["read"]["io_bytes"] += more
    assert list(readers.read(written(tmp_path, *starts)).series[0].values) == [2, 3]
    assert found.specification.repetitions == counted([3], "run")


def test_short_runs_that_follow_each_other_are_no_reports_of_one(tmp_path: Path) -> None:
    # Each runs for 1 s and starts 1.4 s after the one before; whole seconds cannot tell them apart.
    runs = []
    for i in range(6):
        one = run(1000 + i, at=1000 + int(1.4 * i), elapsed=1 + i % 2, job_runtime=1000 + i)
        one["timestamp_ms"] = 1_000_000 + 1400 * i
        one["jobs"][0]["read"]["io_bytes"] = 10 + i
        runs.append(one)
    (found,) = readers.read(written(tmp_path, *runs)).series
    assert len(found.values) == 6


def latency(mean: float, **more: Any) -> dict[str, Any]:
    return {"min": mean / 2, "max": mean * 2, "mean": mean, "stddev": mean / 4, **more}


@pytest.mark.parametrize(
    ("version", "spelling", "per_second"),
    [("fio-2.2.10", "lat", 1e6), ("fio-3.1", "lat_ns", 1e9), ("fio-3.33", "lat_ns", 1e9)],
)
def test_each_version_states_bandwidth_and_latency(
    tmp_path: Path, version: str, spelling: str, per_second: float
) -> None:
    """Only since 3.2 is there bw_bytes, and before 3 times are microseconds."""
    read = {"bw": 2048, "total_ios": 9, spelling: latency(42e-6 * per_second)}
    if version == "fio-3.33":
        read["bw_bytes"] = 2048 * 1024 + 5
    file = written(tmp_path, {**run(0, read=read), "fio version": version})
    (bandwidth,) = readers.read(file).series
    exact = 5 if version == "fio-3.33" else 0
    assert (list(bandwidth.values), bandwidth.unit) == ([2048 * 1024 + exact], "bytes/s")
    (one,) = readers.read(file, ColumnOptions(value="lat_ns")).series
    assert (list(one.values), one.unit) == ([pytest.approx(42e-6)], "s")
    assert one.reported["max"] == pytest.approx(84e-6)
    complaint = f"{version} wrote no 'clat_ns' of any job"
    with pytest.raises(InputError, match=complaint):
        readers.read(file, ColumnOptions(value="clat_ns"))


@pytest.mark.parametrize("name", ["version_2", "version_3_1"])
def test_files_of_old_versions_are_read(name: str) -> None:
    """Bandwidth is what the run read, over its time."""
    file = DATA / f"{name}.json"
    (one,) = readers.read(file).series
    bandwidths = [200 * 1024 / job["runtime"] * 1e3 for job in reads(file)]
    assert list(one.values) == pytest.approx(bandwidths, rel=0.05)
    (latency,) = readers.read(file, ColumnOptions(value="lat_ns")).series
    # One job waits for each of its 50 blocks in turn.
    assert list(latency.values * 50) == pytest.approx(
        [job["runtime"] / 1e3 for job in reads(file)], rel=0.2
    )


def reads(file: Path) -> list[dict[str, Any]]:
    return [node.at("jobs").value[0]["read"] for node in json_file.load_each(file)]


def test_the_file_of_a_test_of_fdatasync() -> None:
    """Here total_ios of sync is 0, as fio writes it."""
    found = readers.read(DATA / "fdatasync.json", ColumnOptions(value="lat_ns"))
    write, sync = found.series
    assert (write.key["direction"], sync.key["direction"]) == ("write", "sync")
    assert len(sync.values) == 2
    assert (sync.values > 1e-3).all()
    assert args(found.notes, "of other text")["n"] == 59


def test_the_latency_of_sync_is_a_direction_of_its_own(tmp_path: Path) -> None:
    """``--fdatasync=1`` has it in no other place."""
    sync = {"total_ios": 0, "lat_ns": latency(2.6e6, N=5)}
    idle = {"total_ios": 0, "lat_ns": latency(0.0, N=0)}
    write = {"bw_bytes": 7, "total_ios": 9, "lat_ns": latency(42e3, N=9)}
    switched_off = {"lat_ns": latency(0.0, N=0)}
    runs = [run(1, read=idle, write={**write, **off}, sync=sync) for off in ({}, switched_off)]
    file = written(tmp_path, *runs)
    found = readers.read(file, ColumnOptions(value="lat_ns")).series
    assert [one.key["direction"] for one in found] == ["write", "sync"]
    assert list(found[1].values) == [pytest.approx(2.6e-3)] * 2
    # A latency that --disable_lat switched off is not zero.
    assert list(found[0].values) == [pytest.approx(42e-6)]
    assert [one.key["direction"] for one in readers.read(file).series] == ["write"]


def test_runs_with_other_options_are_other_series(tmp_path: Path) -> None:
    runs = [
        {**run(rate, **{"job options": {"bs": size}}), "global options": {"runtime": "1"}}
        for size, rate in (("4k", 10), ("64k", 90), ("4k", 11))
    ]
    small, large = readers.read(written(tmp_path, *runs)).series
    assert (dict(small.key)["bs"], list(small.values)) == ("4k", [10, 11])
    assert (dict(large.key)["bs"], list(large.values)) == ("64k", [90])


@pytest.mark.parametrize(("before", "after"), [(60, 0), (0, 32), (3, 2)])
def test_messages_around_the_json_are_skipped(tmp_path: Path, before: int, after: int) -> None:
    file = tmp_path / "fio.json"
    said = "fio: pid=4000, err=5/file:ioengines.c:351, func=td_io_queue, error=Input/output error\n"
    printed = [said * before + json.dumps(run(rate)) + "\n" + said * after for rate in (10, 11)]
    file.write_text("".join(printed))
    found = readers.read(file)
    assert found.format == "fio"
    assert list(found.series[0].values) == [10, 11]
    assert args(found.notes, "of other text")["n"] == 2 * (before + after)


def test_files_of_one_run_each_are_trials_if_their_options_are_alike(tmp_path: Path) -> None:
    files = []
    for n, size in enumerate(("4k", "4k", "64k", "4k")):
        file = tmp_path / f"run{n}.json"
        options = {"bs": size, "write_lat_log": f"log{n}", "output": file.name}
        file.write_text(json.dumps(run(10 + n, **{"job options": options})))
        files.append(file)
    small, large = audit(files).series
    assert (small.series.key["bs"], list(small.series.values)) == ("4k", [10, 11, 13])
    assert (large.series.key["bs"], list(large.series.values)) == ("64k", [12])


def test_jobs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    twice = run(100)
    twice["jobs"] *= 2
    found = readers.read(written(tmp_path, twice))
    name = twice["jobs"][0]["jobname"]
    assert [one.key["job"] for one in found.series] == [f"{name} (1)", f"{name} (2)"]
    assert [one.name for one in audit([written(tmp_path, twice)]).series] == [
        f"{name} (1)",
        f"{name} (2)",
    ]


def test_a_job_without_io_is_told() -> None:
    with pytest.raises(InputError, match="no job did any I/O"):
        readers.read(DATA / "failed.json")


def test_a_failed_job_is_left_out_and_told(tmp_path: Path) -> None:
    both = run(100)
    both["jobs"].append({"jobname": "b", "error": 28, "read": {"bw_bytes": 1}})
    found = readers.read(written(tmp_path, both))
    assert [one.key["job"] for one in found.series] == ["a"]
    assert args(found.notes, "failed with error") == {"job": "b", "error": "28"}


def test_what_is_wrong_is_told_with_its_path(tmp_path: Path) -> None:
    (one,) = readers.read(written(tmp_path, run("fast"))).series
    at = args(one.defects[0].message, "{place} is {found}")
    assert at == {"place": "jobs[0].read.bw_bytes", "found": "'fast'"}
    with pytest.raises(InputError, match="have no 'heat'"):
        readers.read(DATA / "jobs.json", ColumnOptions(value="heat"))
    for document, complaint in [
        ({"fio version": "3"}, "has no 'client_stats'"),
        ({"fio version": "3", "jobs": [3]}, r"jobs\[0\]: expected an object"),
        ({"fio version": "3", "jobs": [{}]}, r"jobs\[0\]: has no 'jobname'"),
        ({"fio version": "3", "jobs": []}, "no job did any I/O"),
    ]:
        with pytest.raises(InputError, match=complaint):
            readers.read(written(tmp_path, document))
