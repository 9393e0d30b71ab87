"""Reading pyperf's JSON: a run is a trial, its values are iterations."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyperf
import pytest
from said import args

from tare import readers
from tare.errors import InputError
from tare.readers.readings import counted, mean_of
from tare.results.message import message

DATA = Path(__file__).parents[1] / "data" / "interop" / "pyperf"


def test_a_process_is_a_trial_and_warm_up_is_left_out() -> None:
    found = readers.read(DATA / "bench.json")
    assert found.format == "pyperf"
    names = [one.key["benchmark"] for one in found.series]
    assert names == ["json_dumps", "sort"]
    for one in found.series:
        assert (one.metric, one.unit, one.lower_is_better) == ("time", "s", True)
        assert one.trial is not None
        assert list(one.trial) == [run for run in range(6) for _ in range(3)]
    assert found.series[0].notes == (
        message("{count} of warm-up left out", count=counted([6], "value")),
        mean_of([200], "loop"),
    )
    calibration = args(found.series[1].notes, "of calibration left")
    assert calibration == {"count": counted([1], "process")}
    said = found.specification
    repetitions = args(said.repetitions, "{values} per")
    assert repetitions == {"processes": counted([6], "process"), "values": counted([18], "value")}
    assert isinstance(said.environment, str)
    assert "AMD EPYC" in said.environment
    assert "cpython" in said.environment


def test_values_are_those_that_pyperf_itself_reads() -> None:
    suite = pyperf.BenchmarkSuite.load(str(DATA / "bench.json"))
    for bench, one in zip(suite, readers.read(DATA / "bench.json").series, strict=True):
        np.testing.assert_array_equal(one.values, bench.get_values())


def test_a_packed_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "command.json.gz"
    file.write_bytes(gzip.compress((DATA / "command.json").read_bytes()))
    (one,) = readers.read(file).series
    assert one.key == {"benchmark": "true"}
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InputError, match="damaged or ends early"):
        readers.read(file, format="pyperf")


def test_what_calibration_tried_out_is_no_warm_up(tmp_path: Path) -> None:
    file = tmp_path / "calibrated.json"
    runs = [
        {"warmups": [[1, 0.1], [2, 0.1], [4, 0.1]]},
        {"warmups": [[4, 0.1]], "values": [0.1, 0.1]},
        {"warmups": [[4, 0.1]], "values": [0.1, 0.1]},
    ]
    metadata = {"name": "a", "unit": "second"}
    file.write_text(
        json.dumps({"benchmarks": [{"metadata": metadata, "runs": runs}], "version": "1.0"})
    )
    (one,) = readers.read(file, format="pyperf").series
    assert one.notes == (
        message("{count} of warm-up left out", count=counted([2], "value")),
        message("{count} of calibration left out", count=counted([1], "process")),
    )


def test_memory_is_bytes(tmp_path: Path) -> None:
    runs = [{"values": [4096]}, {"values": [8192]}]
    file = tmp_path / "memory.json"
    file.write_text(
        json.dumps(
            {
                "benchmarks": [{"metadata": {"name": "a", "unit": "byte"}, "runs": runs}],
                "version": "1.0",
            }
        )
    )
    (one,) = readers.read(file).series
    assert (one.metric, one.unit, one.lower_is_better) == ("memory", "bytes", True)


def test_what_is_wrong_is_told_with_its_path(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    bench = {"metadata": {"name": "a"}, "runs": [{"values": [1.0, -1.0]}, {"values": ["x", 2.0]}]}
    file.write_text(json.dumps({"benchmarks": [bench]}))
    (one,) = readers.read(file).series
    assert list(one.values) == [1, 2]
    assert one.trial is not None
    assert list(one.trial) == [0, 1]
    assert [args(d.message, "{place} is {found}") for d in one.defects] == [
        {"place": "benchmarks[0].runs[1].values[0]", "found": "'x'"},
        {"place": "benchmarks[0].runs[0].values[1]", "found": "-1.0"},
    ]
    for text, complaint in [
        ('{"benchmarks": []}', "'benchmarks' is empty"),
        ('{"benchmarks": [{}]}', r"benchmarks\[0\]: has no 'runs'"),
        ('{"benchmarks": [{"runs": [[]]}]}', r"runs\[0\]: expected an object"),
    ]:
        file.write_text(text)
        with pytest.raises(InputError, match=complaint):
            readers.read(file, format="pyperf")
