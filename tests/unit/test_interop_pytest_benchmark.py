"""Reading pytest-benchmark's JSON: rounds of one process are no trials."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from said import args, templates

from tare import readers
from tare.errors import InputError
from tare.readers.readings import counted, mean_of

DATA = Path(__file__).parents[1] / "data" / "interop" / "pytest_benchmark"
NAMES = ["test_sort[100]", "test_sort[1000]", "test_sum"]


def test_rounds_are_iterations_of_one_process() -> None:
    found = readers.read(DATA / "data.json")
    assert found.format == "pytest-benchmark"
    assert [one.key["benchmark"].partition("::")[2] for one in found.series] == NAMES
    for one in found.series:
        assert one.trial is None
        assert (one.metric, one.unit, one.lower_is_better) == ("time", "s", True)
        assert one.reported["mean"] == pytest.approx(one.values.mean())
        assert one.reported["sd"] == pytest.approx(one.values.std(ddof=1))
        assert one.reported["n"] == len(one.values)
    assert found.series[0].notes == (mean_of([5], "iteration"),)
    said = found.specification
    rounds = [len(one.values) for one in found.series]
    repetitions = args(said.repetitions, "{sampling}")
    assert repetitions["count"] == counted(rounds, "round")
    assert isinstance(said.environment, str)
    assert "AMD EPYC" in said.environment
    assert "CPython 3.11.7" in said.environment


def test_what_was_saved_without_data_is_a_summary() -> None:
    found = readers.read(DATA / "saved.json")
    assert len(found.series) == 3
    for one in found.series:
        (defect,) = one.defects
        assert defect.kind == "summary only"
        assert templates(defect.message) == ["has no 'data',"]
        assert len(one.values) == 0
        assert one.reported["median"] > 0


def test_what_is_wrong_is_told_with_its_path(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    bench = {"fullname": "a", "stats": {"data": [1.0, None, -2.0]}}
    file.write_text(json.dumps({"machine_info": {"cpu": 3}, "benchmarks": [bench]}))
    (one,) = readers.read(file).series
    assert list(one.values) == [1]
    at = args(one.defects[0].message, "{place} is {found}")
    assert at == {"place": "benchmarks[0].stats.data[1]", "found": "None"}
    for text, complaint in [
        ('{"machine_info": {}, "benchmarks": []}', "'benchmarks' is empty"),
        ('{"machine_info": {}, "benchmarks": [{"name": "a"}]}', r"has no 'stats'"),
        ('{"machine_info": {}, "benchmarks": [{"stats": {}}]}', r"has no 'name'"),
    ]:
        file.write_text(text)
        with pytest.raises(InputError, match=complaint):
            readers.read(file)
