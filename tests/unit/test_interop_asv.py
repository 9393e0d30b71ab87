"""Reading asv's results: samples where they were recorded, statistics otherwise."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from said import args, templates

from tare import readers
from tare.errors import InputError

DATA = Path(__file__).parents[1] / "data" / "interop" / "asv"


def written(folder: Path, **changes: Any) -> Path:
    file = folder / "results.json"
    file.write_text(json.dumps({**json.loads((DATA / "samples.json").read_text()), **changes}))
    return file


def test_samples_are_values_of_each_combination() -> None:
    found = readers.read(DATA / "samples.json")
    assert found.format == "asv"
    keys = [tuple(one.key.values()) for one in found.series]
    assert keys == [
        ("b.Sorting.time_sort", "100", "'up'"),
        ("b.Sorting.time_sort", "100", "'down'"),
        ("b.Sorting.time_sort", "1000", "'down'"),
        ("b.time_sum",),
    ]
    for one in found.series:
        assert len(one.values) == one.reported["n"] == 12
        assert (one.metric, one.unit, one.lower_is_better) == ("time", "s", True)
        assert np.median(one.values) == pytest.approx(one.reported["median"])
        # Samples of several processes follow each other without a mark.
        assert one.trial is None
        assert one.defects == ()
    assert args(found.notes, "since they failed:")["names"] == ["b.time_bad"]
    without = args(found.notes, "one value of")["names"]
    assert without == ["b.Sorting.peakmem_sort", "b.mem_list", "b.track_len"]


def test_parameters_are_named_by_the_file_above(tmp_path: Path) -> None:
    (tmp_path / "machine").mkdir()
    file = tmp_path / "machine" / "1.json"
    shutil.copy(DATA / "samples.json", file)
    assert list(readers.read(file).series[0].key) == ["benchmark", "parameter 1", "parameter 2"]
    benchmarks = {"b.Sorting.time_sort": {"param_names": ["n", "order"]}, "version": 2}
    (tmp_path / "benchmarks.json").write_text(json.dumps(benchmarks))
    assert list(readers.read(file).series[0].key) == ["benchmark", "n", "order"]


def test_without_samples_there_are_only_statistics() -> None:
    found = readers.read(DATA / "statistics.json")
    assert len(found.series) == 9
    for one in found.series:
        assert [d.kind for d in one.defects] == ["summary only"]
        assert one.reported["median"] > 0
    memory = found.series[0]
    assert (memory.metric, memory.unit) == ("peak memory", "bytes")
    assert "one value of" not in templates(found.notes)


def test_what_is_wrong_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is of version 1") as told:
        readers.read(written(tmp_path, result_columns=None, params={}))
    assert told.value.hint == "let asv update it: asv update"
    for results, complaint in [
        ({"b.time": [[1.0, 2.0], [["1"]]]}, "results.'b.time': 2 results for 1 combinations"),
        ({"b.time": [None, []]}, "results: no benchmark ended well"),
        ({"b.time": 3}, "results.'b.time': expected a list, found 3"),
    ]:
        with pytest.raises(InputError, match=complaint):
            readers.read(written(tmp_path, results=results))


def test_the_folder_of_results_names_the_newest_file_in_it(tmp_path: Path) -> None:
    machine = tmp_path / "results" / "vm"
    machine.mkdir(parents=True)
    for name in ("machine.json", "0a1b2c3d-env.json", "ffffffff-env.json"):
        (machine / name).write_text("{}")
    (machine.parent / "benchmarks.json").write_text('{"b.time_a": {}, "version": 2}')
    os.utime(machine / "ffffffff-env.json", (1, 1))
    newest = str(machine / "0a1b2c3d-env.json")
    beside = (machine.parent, machine.parent / "benchmarks.json", machine, machine / "machine.json")
    for named in beside:
        with pytest.raises(InputError) as refused:
            readers.read(named)
        assert f"tare audit {newest}" in (refused.value.hint or "")
    with pytest.raises(InputError) as refused:
        readers.read(tmp_path)
    assert "--format" in (refused.value.hint or "")
