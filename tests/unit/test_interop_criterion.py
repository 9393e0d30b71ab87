"""Reading what criterion.rs keeps: samples of one process, estimates, changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from said import args, templates

from tare import readers
from tare.errors import InputError

DATA = Path(__file__).parents[1] / "data" / "interop" / "criterion" / "Fibonacci"


def test_a_sample_is_time_by_iterations() -> None:
    found = readers.read(DATA / "recursive_plain" / "10" / "new" / "sample.json")
    assert found.format == "criterion"
    (one,) = found.series
    assert one.key == {
        "group": "Fibonacci",
        "function": "recursive/plain",
        "value": "10",
        "baseline": "new",
    }
    assert (one.metric, one.unit, one.trial) == ("time", "s", None)
    assert len(one.values) == 30
    assert one.reported["mean"] == pytest.approx(one.values.mean())
    assert one.reported["sd"] == pytest.approx(one.values.std(ddof=1))
    assert templates(one.notes) == ["means of more"]
    repetitions = args(found.specification.repetitions, "{sampling}")
    assert (repetitions["count"].args["high"], repetitions["sampling"]) == (30, "linear")
    assert templates(found.notes) == ["do not state"]


def test_a_folder_is_all_of_its_benchmarks() -> None:
    found = readers.read(DATA.parent)
    assert [one.key["function"] for one in found.series] == ["flat", "recursive/plain"]
    repetitions = args(found.specification.repetitions, "{sampling}")
    assert repetitions["count"].args == {"low": 30, "high": 30, "noun": "sample"}
    assert repetitions["sampling"] is None
    assert templates(found.notes) == ["do not state"]
    assert readers.read(DATA / "flat").series[0].key == found.series[0].key
    with pytest.raises(InputError, match="has no samples of criterion"):
        readers.read(DATA / "flat" / "new", format="criterion")


def test_flat_sampling_needs_no_remark() -> None:
    (one,) = readers.read(DATA / "flat" / "new" / "sample.json").series
    assert one.notes == ()
    assert one.key == {"group": "Fibonacci", "function": "flat", "baseline": "new"}


def test_estimates_are_a_summary() -> None:
    found = readers.read(DATA / "flat" / "new" / "estimates.json")
    (one,) = found.series
    (defect,) = one.defects
    assert defect.kind == "summary only"
    assert args(defect.message, "has estimates, no") == {"samples": "sample.json"}
    assert set(one.reported) == {"mean", "median", "sd"}


def test_a_change_is_no_measurement() -> None:
    with pytest.raises(InputError, match="a change between two measurements"):
        readers.read(DATA / "flat" / "change" / "estimates.json")


def test_without_an_identity_the_folders_name_the_benchmark(tmp_path: Path) -> None:
    folder = tmp_path / "target" / "criterion" / "sort" / "big" / "base"
    folder.mkdir(parents=True)
    file = folder / "sample.json"
    file.write_text('{"iters": [1.0, 2.0], "times": [10.0, 30.0]}')
    (one,) = readers.read(file).series
    assert one.key == {"benchmark": "sort/big", "baseline": "base"}
    assert list(one.values) == pytest.approx([10e-9, 15e-9])


def test_what_is_wrong_beside_the_samples_takes_nothing_from_them(tmp_path: Path) -> None:
    (tmp_path / "estimates.json").write_text('{"mean": 3}')
    (tmp_path / "benchmark.json").write_text("[")
    file = tmp_path / "sample.json"
    file.write_text(json.dumps({"sampling_mode": "Flat", "iters": [2.0], "times": [4.0]}))
    (one,) = readers.read(file).series
    assert list(one.values) == [2e-9]
    assert one.reported == {}


@pytest.mark.parametrize(
    ("sample", "place", "value"),
    [
        ({"iters": [0, 1], "times": [4.0, 5.0]}, "iters[0]", "0"),
        ({"iters": [None, 1], "times": [4.0, 5.0]}, "iters[0]", "None"),
        ({"iters": [1, 1], "times": [-4.0, 5.0]}, "times[0]", "-4.0"),
    ],
)
def test_a_broken_sample_is_a_defect(
    tmp_path: Path, sample: object, place: str, value: str
) -> None:
    file = tmp_path / "sample.json"
    file.write_text(json.dumps(sample))
    (one,) = readers.read(file, format="criterion").series
    assert list(one.values) == [5e-9]
    found = args(one.defects[0].message, "{place} is {found}")
    assert found == {"place": place, "found": value}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"iters": [1], "times": []}', "0 times for 1 counts"),
        ('{"times": [1]}', "has no 'iters'"),
        ("[[1]]", "expected an object"),
        ("{}", "neither samples nor a mean"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "sample.json"
    file.write_text(text)
    with pytest.raises(InputError, match=complaint):
        readers.read(file, format="criterion")


def test_the_samples_of_a_csv_are_times_of_an_iteration(tmp_path: Path) -> None:
    file = tmp_path / "raw.csv"
    file.write_text(
        "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,"
        "iteration_count\nsum,add,10,100,elements,300.0,ns,2\nsum,add,10,100,elements,800.0,ns,4\n"
        "sum,add,20,,,1000.0,cycles,0\nsum,add,20,,,1000.0,cycles,10\n"
    )
    found = readers.read(file)
    assert found.format == "criterion"
    small, large = found.series
    assert dict(small.key) == {"group": "sum", "function": "add", "value": "10"}
    assert (list(small.values), small.unit) == (pytest.approx([150e-9, 200e-9]), "s")
    assert (list(large.values), large.unit, len(large.defects)) == ([100.0], "cycles", 1)
    of_folder = tmp_path / "criterion" / "sum" / "new"
    of_folder.mkdir(parents=True)
    file.rename(of_folder / "raw.csv")
    assert readers.recognise(tmp_path / "criterion") == "criterion"
    assert len(readers.read(tmp_path / "criterion").series) == 2
