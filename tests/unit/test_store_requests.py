"""The table of requests: from files that may come from elsewhere, only where somebody asks."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import columns
import journals
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import served
from served import Served

import tare
from tare.applications.requests import REQUESTS
from tare.applications.rows import LONGEST
from tare.errors import StoreError
from tare.experiment.results import Counted
from tare.experiment.store import export as exporting
from tare.experiment.store import trial_files as of_store
from tare.experiment.store.trial_files import TrialFiles
from tare.render.escaping import ORDERS

KEPT = REQUESTS.kept
GOOD = {
    "trial": [1, 1], "intended_ns": [10, 20], "start_ns": [10, 25], "duration_ns": [5, 5],
    "label": ["a", "b"], "error": [None, "no"],
}  # fmt: skip


def put(folder: Path, schema: pa.Schema = KEPT, **columns: Any) -> TrialFiles:
    (folder / "requests").mkdir(exist_ok=True)
    table = pa.table({**GOOD, **columns}, schema=schema)
    pyarrow.parquet.write_table(table, folder / "requests" / "1.parquet")
    return TrialFiles(folder, REQUESTS)


def refused(files: TrialFiles, count: int = 2, errors: int = 1) -> str:
    with pytest.raises(StoreError) as error:
        files.read(1, Counted(count, errors))
    assert "trial 1" in error.value.message
    return error.value.message.rpartition("parquet: ")[2]


def test_response_times_are_added(tmp_path):
    table = put(tmp_path).read(1, Counted(2, 1))
    assert table["response_ns"].to_pylist() == [5, 10]
    assert table["error"].to_pylist() == [None, "no"]


@pytest.mark.parametrize(
    "columns",
    [
        {"trial": [1, 2]},
        {"trial": [1, None]},
        {"start_ns": [10, 19]},
        {"intended_ns": [-1, 20]},
        {"duration_ns": [5, 1 << 62]},
        {"label": ["a", None]},
        {"label": ["a", "x" * (LONGEST + 1)]},
        {"error": [None, "x" * (LONGEST + 1)]},
    ],
)
def test_what_no_trial_can_have_made_is_refused(tmp_path, columns):
    assert refused(put(tmp_path, **columns))


def test_other_columns_are_refused(tmp_path):
    wrong = KEPT.set(1, pa.field("intended_ns", pa.float64()))
    assert "columns" in refused(put(tmp_path, wrong))
    named = pa.schema([*list(KEPT)[:-1], pa.field("why", pa.string())])
    assert "column" in refused(put(tmp_path, named, why=[None, None]))


def test_a_text_that_is_none_is_refused(tmp_path):
    broken = pa.array([b"a", b"\xff\xfe"]).view(pa.string())
    assert "UTF8" in refused(put(tmp_path, label=broken))


def test_fewer_requests_than_the_journal_has_are_refused(tmp_path):
    assert "2 of 3 requests" in refused(put(tmp_path), count=3)


def test_other_errors_than_the_journal_has_are_refused(tmp_path):
    assert refused(put(tmp_path), errors=0) == "1 of its requests failed, by the journal 0"


def test_too_many_rows_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(of_store, "MOST_ROWS", 1)
    assert "rows" in refused(put(tmp_path))
    monkeypatch.setattr(of_store, "MOST_BYTES", 10)
    assert "bytes" in refused(put(tmp_path))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 500 + b"PAR1"])
def test_damaged_files_are_refused(tmp_path, content):
    files = put(tmp_path)
    (tmp_path / "requests" / "1.parquet").write_bytes(content)
    assert refused(files)


@pytest.mark.parametrize("seed", range(20))
def test_flipped_bytes_are_refused_or_read(tmp_path, seed):
    import random

    files, chance = put(tmp_path), random.Random(seed)
    path = tmp_path / "requests" / "1.parquet"
    data = bytearray(path.read_bytes())
    for _ in range(5):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    with contextlib.suppress(StoreError):
        assert files.read(1, Counted(2, 1)).num_rows == 2


def test_links_and_pipes_are_not_followed(tmp_path):
    files = put(tmp_path)
    path = tmp_path / "requests" / "1.parquet"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert refused(files)
    path.unlink()
    os.mkfifo(path)
    assert refused(files)
    path.unlink()
    path.mkdir()
    assert refused(files)


def test_a_folder_that_is_a_link_is_not_followed(tmp_path):
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


def test_a_file_of_very_many_texts_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(of_store, "_MOST_TEXT", 50_000)
    n = 1000
    numbers = {name: list(range(n)) for name in ("intended_ns", "start_ns", "duration_ns")}
    labels = [f"{i} {'x' * 100}" for i in range(n)]
    files = put(tmp_path, trial=[1] * n, label=labels, error=[None] * n, **numbers)
    assert "label" in refused(files, n)
    few = put(tmp_path, trial=[1] * n, label=["x" * 100] * n, error=[None] * n, **numbers)
    assert few.read(1, Counted(n, 0)).num_rows == n


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
    gone = folder / "requests" / "2.parquet"
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
