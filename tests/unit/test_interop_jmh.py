"""Reading JMH's JSON: a fork is a trial."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from said import args, templates

from tare import readers
from tare.errors import InputError
from tare.readers import ColumnOptions
from tare.readers.readings import counted
from tare.results.message import message

DATA = Path(__file__).parents[1] / "data" / "interop" / "jmh"


def written(folder: Path, **metric: Any) -> Path:
    file = folder / "jmh-result.json"
    primary = {"scoreUnit": "ns/op", "score": 2.0, **metric}
    result = {"jmhVersion": "1.37", "benchmark": "a.B.c", "mode": "avgt", "forks": 1}
    file.write_text(json.dumps([{**result, "primaryMetric": primary}]))
    return file


def test_a_fork_is_a_trial_in_every_mode() -> None:
    found = readers.read(DATA / "modes.json")
    assert found.format == "jmh"
    names = [(one.key["benchmark"], one.key["size"], one.key["mode"]) for one in found.series]
    assert names == [
        (f"bench.Sorting.{name}", size, mode)
        for name, mode in (("throughput", "thrpt"), ("average", "avgt"), ("once", "ss"))
        for size in ("64", "1024")
    ]
    for one in found.series:
        assert one.trial is not None
        assert list(one.trial) == [0] * 4 + [1] * 4 + [2] * 4
        assert one.reported["mean"] == pytest.approx(one.values.mean())
        assert one.reported["max"] == pytest.approx(one.values.max())
        assert not one.defects
    rate, time = found.series[0], found.series[2]
    assert (rate.metric, rate.unit, rate.lower_is_better) == ("throughput", "1/s", False)
    assert (time.metric, time.unit, time.lower_is_better) == ("time", "s", True)
    assert 1e-8 < np.median(time.values) < 1e-3
    assert 1e3 < np.median(rate.values) < 1e8
    repetitions = args(found.specification.repetitions, "{iterations}")
    assert repetitions == {"iterations": counted([4], "iteration"), "forks": counted([3], "fork")}
    assert isinstance(found.specification.environment, str)
    assert "OpenJDK" in found.specification.environment


def test_sampled_times_are_reduced_to_their_iterations() -> None:
    (one,) = readers.read(DATA / "sampled.json").series
    assert one.key == {"benchmark": "bench.Sorting.sampled", "size": "64"}
    assert one.trial is not None
    assert list(one.trial) == [0, 0, 0, 1, 1, 1]
    # The score is the mean of all samples, so that iterations weigh as much as they have.
    (result,) = json.loads((DATA / "sampled.json").read_text())
    weights = [
        sum(count for _, count in iteration)
        for fork in result["primaryMetric"]["rawDataHistogram"]
        for iteration in fork
    ]
    assert one.notes == (
        message(
            "{n | counted('sampled time')}, whose order JMH does not keep: each value is the "
            "mean of an iteration",
            n=sum(weights),
        ),
    )
    assert np.average(one.values, weights=weights) == pytest.approx(one.reported["mean"], rel=1e-3)


def test_a_histogram_is_weighed_by_how_often(tmp_path: Path) -> None:
    raw = [[[[1.0, 3], [5.0, 1]], [[4.0, 1]]]]
    (one,) = readers.read(written(tmp_path, rawDataHistogram=raw)).series
    assert list(one.values) == pytest.approx([2e-9, 4e-9])
    assert one.notes == (
        message(
            "{n | counted('sampled time')}, whose order JMH does not keep: each value is the "
            "mean of an iteration",
            n=5,
        ),
    )


def test_without_forks_there_is_one_execution() -> None:
    (one,) = readers.read(DATA / "not_forked.json").series
    assert one.trial is None
    assert templates(one.notes) == ["in JMH's own"]


def test_without_raw_data_there_is_only_a_summary() -> None:
    (one,) = readers.read(DATA / "no_raw_data.json").series
    assert [d.kind for d in one.defects] == ["summary only"]
    assert one.reported["mean"] > 0


def test_a_secondary_metric_is_had_by_its_name() -> None:
    (one,) = readers.read(
        DATA / "not_forked.json", ColumnOptions(value="gc.alloc.rate.norm")
    ).series
    assert (one.metric, one.unit, one.lower_is_better) == ("gc.alloc.rate.norm", "bytes", True)
    (one,) = readers.read(DATA / "not_forked.json", ColumnOptions(value="gc.alloc.rate")).series
    assert one.unit == "bytes/s"
    with pytest.raises(InputError, match="no benchmark has a secondary metric 'heat'"):
        readers.read(DATA / "not_forked.json", ColumnOptions(value="heat"))


def test_a_metric_of_some_benchmarks_is_read_of_these(tmp_path: Path) -> None:
    """A profiler has times of collections only where there were any."""
    times = {"scoreUnit": "ms", "score": 4.0, "rawData": [[3.0, 4.0], [5.0, 4.0]]}
    primary = {"scoreUnit": "ns/op", "score": 2.0, "rawData": [[1.0, 2.0], [3.0, 2.0]]}
    file = tmp_path / "gc.json"
    results = [
        {"benchmark": f"a.B.{name}", "mode": "avgt", "forks": 2, "params": {"size": None},
         "primaryMetric": primary, "secondaryMetrics": secondary}
        for name, secondary in (("alloc", {"·gc.time": times}), ("none", {}))
    ]  # fmt: skip
    file.write_text(json.dumps(results))
    for metric in ("gc.time", "·gc.time"):
        found = readers.read(file, ColumnOptions(value=metric))
        (one,) = found.series
        assert (one.key["benchmark"], one.key["size"]) == ("a.B.alloc", "null")
        assert (list(one.values), one.unit) == (pytest.approx([3e-3, 4e-3, 5e-3, 4e-3]), "s")
        without = {"names": ["a.B.none avgt null"], "more": 0}
        assert args(found.notes, "they have no") == without
    found = readers.read(file)
    assert len(found.series) == 2
    assert found.notes == (
        message("the file has other metrics (--value): {names | join(', ')}", names=["·gc.time"]),
    )
    with pytest.raises(InputError, match="no benchmark has a secondary metric 'heat'") as told:
        readers.read(file, ColumnOptions(value="heat"))
    assert told.value.hint == "name one with --value: ·gc.time"


def test_the_methods_of_a_group_are_metrics() -> None:
    found = readers.read(DATA / "groups.json")
    assert [one.key["benchmark"].rpartition(".")[2] for one in found.series] == [
        "allocate",
        "counter",
        "plain",
    ]
    (one,) = readers.read(DATA / "groups.json", ColumnOptions(value="increment")).series
    assert (one.key["benchmark"], one.unit) == ("bench.Work.counter", "s")
    assert one.trial is not None
    assert list(one.trial) == [0, 0, 0, 1, 1, 1]
    (time,) = readers.read(DATA / "groups.json", ColumnOptions(value="gc.time")).series
    assert (time.key["benchmark"], time.unit) == ("bench.Work.allocate", "s")


def test_one_iteration_is_one_value() -> None:
    (one,) = readers.read(DATA / "one.json").series
    assert len(one.values) == 1


def test_what_is_wrong_is_told_with_its_path(tmp_path: Path) -> None:
    (one,) = readers.read(written(tmp_path, rawData=[[1.0, "NaN", -1.0]])).series
    assert list(one.values) == [1e-9]
    assert [args(d.message, "{place} is {found}") for d in one.defects] == [
        {"place": "[0].primaryMetric.rawData[0][1]", "found": "'NaN'"},
        {"place": "[0].primaryMetric.rawData[0][2]", "found": "-1.0"},
    ]
    for metric, complaint in [
        ({"rawData": [3]}, r"rawData\[0\]: expected a list, found 3"),
        ({"rawData": {}}, r"rawData: expected a list, found an object"),
        ({"rawDataHistogram": [[[[1, 2, 3]]]]}, r"\[0\]\[0\]\[0\]: expected a time and how often"),
        ({"scoreUnit": None}, r"\[0\].primaryMetric: has no 'scoreUnit'"),
    ]:
        with pytest.raises(InputError, match=complaint):
            readers.read(written(tmp_path, **metric))
    file = tmp_path / "empty.json"
    file.write_text("[]")
    with pytest.raises(InputError, match="holds no benchmark"):
        readers.read(file, format="jmh")
