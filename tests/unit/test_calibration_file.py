"""Calibrations as files: read as they were written, refused where they are something else."""

from __future__ import annotations

import journals
import pytest
import sweeps

from tare.errors import StoreError
from tare.experiment.sweep import analysis
from tare.features.calibration import file


@pytest.fixture(scope="module")
def found():
    return analysis.calibrations(sweeps.make(platforms=("bare", "docker")))


def test_one_or_several_are_read_as_they_were_written(found, tmp_path):
    for some in (found[:1], found):
        file.write(some, tmp_path / "c.json")
        assert file.load(tmp_path / "c.json") == some
    assert list(tmp_path.iterdir()) == [tmp_path / "c.json"]


def test_a_folder_of_results_holds_calibrations_too(tmp_path):
    results = sweeps.make(quotas=(0.5, 1.0, 1.5, 2.0), trials=3)
    folder = journals.write(results, tmp_path / "out")
    (read,) = file.load(folder)
    assert [p.cpus for p in read.points] == [0.5, 1.0, 1.5, 2.0]
    assert read.points[0].rates == pytest.approx(analysis.calibration(results).points[0].rates)


def test_a_folder_without_one_says_why(tmp_path):
    folder = journals.write(sweeps.make(quotas=(1.0, 2.0), trials=3), tmp_path / "out")
    with pytest.raises(StoreError, match="2 steps of CPU") as told:
        file.load(folder)
    assert "tare calibrate" in told.value.hint


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (None, "", "is no calibration"),
        (None, "[]", "it holds none"),
        (None, "{}", "version"),
        (None, "[" * 100_000, "is no calibration"),
        (None, '{"version": 99}', "another tare"),
        (None, '{"version": 1, "sentence": "Linear."}', "calibrate fit"),
        ('"n": 7', '"n": 8', "one value for each"),
        ('"cpus": 0.1', '"cpus": -0.1', "without CPUs"),
        ('"cpus": 0.1,', '"cpus": 0.2,', "order"),
        ('"workers": 2', '"workers": 0', "workers"),
        ('"verdict": "linear"', '"verdict": "curly"', "curly"),
        ('"r2": 0', '"r2": 1e300, "r3": 0', "not of this world"),
        ('"by": "quota"', '"by": "luck"', "luck"),
    ],
)
def test_what_is_none_is_refused(found, tmp_path, old, new, why):
    path = tmp_path / "c.json"
    text = file.encoded(found[:1]).decode()
    path.write_text(new if old is None else text.replace(old, new, 1))
    with pytest.raises(StoreError, match=why) as told:
        file.read(path)
    assert told.value.hint


def test_what_cannot_be_read_or_written_says_so(found, tmp_path):
    with pytest.raises(StoreError, match="No such file"):
        file.read(tmp_path / "none.json")
    with pytest.raises(StoreError, match="cannot write"):
        file.write(found, tmp_path / "none" / "c.json")
