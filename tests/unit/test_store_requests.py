"""The table of requests: from files that may come from elsewhere, only where somebody asks."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import os
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import columns
import journals
import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import served
from served import Served

import tare
from tare.applications.requests import REQUESTS
from tare.applications.rows import LONGEST
from tare.errors import StoreError, TareError
from tare.experiment.store import export as exporting
from tare.experiment.store import row_file
from tare.experiment.store import trial_files as of_store
from tare.experiment.store.row_file import zstd
from tare.experiment.store.trial_files import TrialFiles
from tare.experiment.tables import Counted
from tare.render.escaping import ORDERS
from tare.results.columns import Columns, column

GOOD = {
    "intended_ns": [10, 20], "start_ns": [10, 25], "duration_ns": [5, 5], "label": ["a", "b"],
    "error": [None, "no"], "bytes": [0, 7],
}  # fmt: skip
#: Types of a file of an older version.
PARQUET = {
    "trial": pa.int64(), "intended_ns": pa.int64(), "start_ns": pa.int64(),
    "duration_ns": pa.int64(), "label": pa.string(), "error": pa.string(),
}  # fmt: skip
Put = Callable[..., TrialFiles]


def now(folder: Path, **columns: Any) -> TrialFiles:
    made = Columns({name: column(values) for name, values in {**GOOD, **columns}.items()})
    row_file.write(REQUESTS, made, folder, 1)
    return TrialFiles(folder, REQUESTS)


def before(folder: Path, **columns: Any) -> TrialFiles:
    (folder / "requests").mkdir(exist_ok=True)
    values = {"trial": [1] * len(columns.get("label", GOOD["label"])), **GOOD, **columns}
    del values["bytes"]
    table = pa.table({k: pa.array(v, PARQUET.get(k)) for k, v in values.items()})
    pyarrow.parquet.write_table(table, folder / "requests" / "1.parquet")
    return TrialFiles(folder, REQUESTS)


@pytest.fixture(params=[now, before])
def put(request: pytest.FixtureRequest) -> Put:
    """Write the requests of trial 1 as this version, or an older one, does."""
    return request.param


def of_trial(folder: Path) -> Path:
    (found,) = (folder / "requests").iterdir()
    return found


def refused(files: TrialFiles, count: int = 2, errors: int = 1) -> str:
    with pytest.raises(StoreError) as error:
        files.read(1, Counted(count, errors))
    assert "trial 1" in error.value.message
    return re.split(r"(?:parquet|zst): ", error.value.message)[-1]


def test_response_times_are_added(tmp_path, put):
    rows = put(tmp_path).read(1, Counted(2, 1))
    assert rows.names == (
        "trial", "intended_ns", "start_ns", "duration_ns", "response_ns", "label", "error",
        "bytes",
    )  # fmt: skip
    assert rows["response_ns"].tolist() == [5, 10]
    assert rows["error"].tolist() == [None, "no"]


def test_bytes_are_kept_and_absent_in_files_of_earlier_versions(tmp_path):
    (tmp_path / "earlier").mkdir()
    earlier = before(tmp_path / "earlier")
    assert all(math.isnan(n) for n in earlier.read(1, Counted(2, 1))["bytes"])
    files = now(tmp_path)
    assert files.read(1, Counted(2, 1))["bytes"].tolist() == [0, 7]
    path = of_trial(tmp_path)
    stored = msgspec.msgpack.decode(zstd.decompress(path.read_bytes()))
    del stored["columns"]["bytes"]
    path.write_bytes(zstd.compress(msgspec.msgpack.encode(stored)))
    assert all(math.isnan(n) for n in files.read(1, Counted(2, 1))["bytes"])
    del stored["columns"]["error"]
    path.write_bytes(zstd.compress(msgspec.msgpack.encode(stored)))
    assert "columns are not" in refused(files)


@pytest.mark.parametrize(
    "columns",
    [
        {"start_ns": [10, 19]},
        {"intended_ns": [-1, 20]},
        {"intended_ns": [None, 20]},
        {"duration_ns": [5, 1 << 62]},
        {"label": ["a", None]},
        {"label": ["a", "x" * (LONGEST + 1)]},
        {"error": [None, "x" * (LONGEST + 1)]},
    ],
)
def test_what_no_trial_can_have_made_is_refused(tmp_path, put, columns):
    assert refused(put(tmp_path, **columns))


def test_rows_of_another_trial_are_refused(tmp_path):
    assert "another trial" in refused(before(tmp_path, trial=[1, 2]))
    (tmp_path / "requests" / "1.parquet").unlink()
    now(tmp_path)
    of_trial(tmp_path).rename(tmp_path / "requests" / "2.msgpack.zst")
    with pytest.raises(StoreError, match="another trial"):
        TrialFiles(tmp_path, REQUESTS).read(2, Counted(2, 1))


def changed(folder: Path, **fields: Any) -> TrialFiles:
    """Write the file of this version with other fields in it."""
    files = now(folder)
    path = of_trial(folder)
    stored = msgspec.msgpack.decode(zstd.decompress(path.read_bytes()))
    for name, value in fields.items():
        merged = isinstance(value, dict)
        stored[name] = {**stored[name], **value} if merged else value
    path.write_bytes(zstd.compress(msgspec.msgpack.encode(stored)))
    return files


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"columns": {"more": b""}}, "columns are not"),
        ({"columns": {"label": b"\0" * 7}}, "label has not 2 values"),
        ({"columns": {"label": b"\2\0\0\0" * 2}}, "text that is not in the file"),
        ({"columns": {"label": b"\xfe\xff\xff\xff" * 2}}, "text that is not in the file"),
        ({"columns": {"error": b"\0\0\0\0" * 2}, "texts": {"error": []}}, "text that is not"),
        ({"rows": 0}, "it has 0 rows"),
        ({"rows": -2}, "it has -2 rows"),
        ({"rows": 3}, "has not 3 values"),
        ({"rows": "2"}, "Expected `int`"),
        ({"other": 1}, "unknown field"),
        ({"version": 2}, "it is of version 2"),
        ({"texts": {"label": ["a"] * (row_file._MOST_TEXTS + 1)}}, "Expected `array` of length <="),
        ({"texts": {"label": [b"\xff"]}}, "Expected `str`"),
    ],
)
def test_other_content_is_refused(tmp_path, fields, why):
    assert why in refused(changed(tmp_path, **fields))


def test_files_that_unpack_to_more_are_refused(tmp_path, monkeypatch):
    files = now(tmp_path)
    of_trial(tmp_path).write_bytes(zstd.compress(bytes(1 << 22)))
    monkeypatch.setattr(row_file, "MOST_UNPACKED", 1 << 20)
    assert refused(files) == "unpacked, it is too large"


def test_what_is_cut_off_or_followed_by_more_is_refused(tmp_path):
    files = now(tmp_path)
    path = of_trial(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    assert refused(files) == "it is cut off"
    path.write_bytes(data + data)
    assert refused(files) == "something follows it"


def test_other_columns_of_an_older_version_are_refused(tmp_path):
    files = before(tmp_path)
    named = pa.table({**{name: pa.array([1, 1], type_) for name, type_ in PARQUET.items()
                         if type_ != pa.string()}, "why": ["a", "b"]})  # fmt: skip
    pyarrow.parquet.write_table(named, of_trial(tmp_path))
    assert "columns" in refused(files)
    floats = pa.table({**GOOD, "trial": [1, 1], "intended_ns": [1.0, 2.0]})
    pyarrow.parquet.write_table(floats.select([*PARQUET]), of_trial(tmp_path))
    assert "columns" in refused(files)


def test_a_text_of_an_older_version_that_is_not_utf_8_is_refused(tmp_path):
    broken = pa.array([b"a", b"\xff\xfe"]).view(pa.string())
    assert "UTF8" in refused(before(tmp_path, label=broken))


def test_an_older_version_needs_the_extra_that_reads_parquet(tmp_path, monkeypatch):
    files = before(tmp_path)
    monkeypatch.setattr("tare.extras.find_spec", lambda name: None)
    with pytest.raises(TareError, match="Parquet files need the extra 'tables'"):
        files.read(1, Counted(2, 1))


def test_trials_of_an_older_version_are_lost_without_the_extra(tmp_path, monkeypatch):
    files = before(tmp_path)
    monkeypatch.setattr("tare.extras.find_spec", lambda name: None)
    lost: dict[int, str] = {}
    assert list(files.each({1: Counted(2, 1)}, lost)) == []
    assert "Parquet files need the extra 'tables'" in lost[1]


def test_fewer_requests_than_the_journal_has_are_refused(tmp_path, put):
    assert "2 of 3 requests" in refused(put(tmp_path), count=3)


def test_other_errors_than_the_journal_has_are_refused(tmp_path, put):
    assert refused(put(tmp_path), errors=0) == "1 of its requests failed, by the journal 0"


def test_a_large_file_is_not_read(tmp_path, put, monkeypatch):
    monkeypatch.setattr(of_store, "MOST_BYTES", 10)
    assert "bytes" in refused(put(tmp_path))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 500 + b"PAR1"])
def test_damaged_files_are_refused(tmp_path, put, content):
    files = put(tmp_path)
    of_trial(tmp_path).write_bytes(content)
    assert refused(files)


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bytes_are_refused_or_read(tmp_path, put, seed):
    files, chance = put(tmp_path), random.Random(seed)
    path = of_trial(tmp_path)
    data = bytearray(path.read_bytes())
    for _ in range(5):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    with contextlib.suppress(StoreError):
        assert len(files.read(1, Counted(2, 1))) == 2


def test_no_flipped_bit_changes_what_is_read(tmp_path):
    files = now(tmp_path)
    path = of_trial(tmp_path)
    data = path.read_bytes()
    good = [*files.read(1, Counted(2, 1)).records()]
    for place in range(len(data)):
        wrong = bytearray(data)
        wrong[place] ^= 1 << place % 8
        path.write_bytes(wrong)
        # A frame has bits without a meaning.
        with contextlib.suppress(StoreError):
            assert [*files.read(1, Counted(2, 1)).records()] == good


def test_links_and_pipes_are_not_followed(tmp_path, put):
    files = put(tmp_path)
    path = of_trial(tmp_path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert refused(files)
    path.unlink()
    os.mkfifo(path)
    assert refused(files)
    path.unlink()
    path.mkdir()
    assert refused(files)


def test_a_folder_that_is_a_link_is_not_followed(tmp_path, put):
    files = put(tmp_path)
    (tmp_path / "requests").rename(tmp_path / "elsewhere")
    (tmp_path / "requests").symlink_to(tmp_path / "elsewhere")
    assert "link" in refused(files)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "out"
    made = served.make(tmp_path_factory.mktemp("requests"), trials=3)
    journals.write(made.results, folder)
    (made.folder / "requests").rename(folder / "requests")
    return folder, made


def exported(folder, table, format, destination):
    return exporting.export(folder, table, format, destination, lambda results: ())


def test_all_requests_are_exported(stored, tmp_path):
    folder, made = stored
    written = {format: tmp_path / f"r.{format}" for format in exporting.FORMATS}
    for format, path in written.items():
        assert exported(folder, "requests", format, path) == sum(made.counts.values())
    rows = json.loads(written["json"].read_text())
    parquet = pyarrow.parquet.read_table(written["parquet"])
    csv = pd.read_csv(written["csv"])
    assert len(rows) == parquet.num_rows == len(csv) == sum(made.counts.values())
    assert list(rows[0]) == parquet.column_names == list(csv.columns)
    # As the trials have them.
    trials = columns.frame(made.results.trial_table).set_index("trial")
    assert set(made.results.factors) <= set(csv.columns)
    assert (csv["platform"] == csv["trial"].map(trials["platform"])).all()
    assert csv["platform"].nunique() == 2
    assert (csv["response_ns"] == csv["start_ns"] + csv["duration_ns"] - csv["intended_ns"]).all()
    assert parquet["bytes"].type == pa.int64()
    received = [row["bytes"] for row in rows]
    assert set(received) == {2000}
    assert csv["bytes"].tolist() == parquet["bytes"].to_pylist() == received


def test_python_has_them_as_a_frame(stored):
    folder, made = stored
    frame = tare.open(folder).requests()
    assert frame.groupby("trial").size().to_dict() == dict(made.counts)
    assert set(frame["platform"]) == {"bare", "docker"}


def test_a_factor_has_a_column_of_its_own_also_where_it_is_called_like_one(stored):
    folder, made = stored
    trials = made.results.trial_table
    trials = trials.with_columns(label=["blue"] * len(trials))
    results = dataclasses.replace(tare.open(folder), trial_table=trials)
    frame = results.requests()
    assert set(frame["label"]) == {"home", "post"}
    assert set(frame["label_level"]) == {"blue"}


def test_what_is_missing_is_said_once_the_rest_is_written(stored, tmp_path):
    folder, made = stored
    gone = folder / "requests" / "2.msgpack.zst"
    kept = gone.read_bytes()
    gone.unlink()
    try:
        with pytest.raises(StoreError, match="1 of 6 trials"):
            exported(folder, "requests", "parquet", tmp_path / "r.parquet")
        with pytest.raises(StoreError):
            tare.open(folder).requests()
    finally:
        gone.write_bytes(kept)
    written = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    assert written.num_rows == sum(made.counts.values()) - made.counts[2]


def test_loading_reads_no_request(stored, monkeypatch):
    def read(*_: object) -> None:
        raise AssertionError("requests were read")

    monkeypatch.setattr(TrialFiles, "read", read)
    folder, made = stored
    assert tare.open(folder).request_counts() == {
        trial: Counted(count, 0) for trial, count in made.counts.items()
    }
    exported(folder, "samples", "csv", os.devnull)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_labels_order_a_terminal_nothing(tmp_path, monkeypatch, format):
    folder = tmp_path / "out"
    made = served.make(
        tmp_path, Served(labels=("\x1b[2J", "ü\x9b31m")), platforms=("bare",), trials=1
    )
    journals.write(made.results, folder)
    (tmp_path / "requests").rename(folder / "requests")
    shown, raw = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    monkeypatch.setattr(shown, "isatty", lambda: True, raising=False)
    for target in (shown, raw):
        monkeypatch.setattr(sys, "stdout", target)
        exported(folder, "requests", format, "-")
    written = shown.buffer.getvalue().decode()
    assert not ORDERS.search(written)
    assert "ü" in written
    # What a program reads stays as it is.
    assert "\x9b31m" in raw.buffer.getvalue().decode()
