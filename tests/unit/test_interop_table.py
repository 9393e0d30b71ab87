"""Long tables: what becomes a series, what is told, what is refused; at any size."""

from __future__ import annotations

import bz2
import gzip
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from said import Phrase, args, template, templates

from tare import extras
from tare.errors import AgentError, InputError, TareError
from tare.readers import (
    ColumnOptions,
    Imported,
    Series,
    blocks,
    cells,
    compression,
    csv_rows,
    gathering,
    growing_columns,
    read,
)
from tare.readers.dates import Times
from tare.readers.parsing import Parsed, Parser
from tare.readers.readings import left_out
from tare.readers.rows import Quantities
from tare.render.words import text
from tare.results.message import Message, message

DATA = Path(__file__).parents[1] / "data" / "interop" / "table"


def made(folder: Path, data: str | bytes, **columns: Any) -> Imported:
    file = folder / "results.csv"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read(file, ColumnOptions(**columns), "table")


def only(folder: Path, data: str | bytes, **columns: Any) -> Series:
    (series,) = made(folder, data, **columns).series
    return series


def lines(*places: int, more: int = 0) -> Message:
    return message(
        "{place}{% if more or places | length > 1 %}s{% endif %} {% if more %}"
        "{places | join(', ')} and {more} more{% else %}{places | listing}{% endif %}",
        place="line",
        places=[*places],
        more=more,
    )


def keyed(imported: Imported) -> dict[tuple[str, ...], list[float]]:
    return {tuple(one.key.values()): one.values.tolist() for one in imported.series}


def test_levels_make_series_in_order_of_appearance() -> None:
    columns = ColumnOptions(group=("cores", "mode"), compare=("platform",))
    imported = read(DATA / "facenet.tsv", columns)
    assert imported.format == "table"
    assert [dict(one.key) for one in imported.series[:2]] == [
        {"cores": "16", "mode": "pinned", "platform": "CN"},
        {"cores": "16", "mode": "pinned", "platform": "VM"},
    ]
    assert {len(one.values) for one in imported.series} == {30}
    (worst,) = [one for one in imported.series if tuple(one.key.values()) == ("2", "vanilla", "CN")]
    # What the authors found: 2 cores and no pinning, mean 374.8 s.
    assert np.mean(worst.values) == pytest.approx(374.8, abs=0.05)
    assert (worst.metric, worst.unit, worst.lower_is_better) == ("exec_time", "s", True)
    assert args(imported.notes, ", the only") == {"column": "'exec_time_s'"}
    assert args(imported.notes, "are pooled (--group") == {"columns": ["'item'"]}


def test_parquet_says_the_same_as_text() -> None:
    columns = ColumnOptions(value="bandwidth_gbps", group=("instance", "epoch"), order="second")
    text, parquet = (read(DATA / f"c5.{kind}", columns) for kind in ("csv", "parquet"))
    assert keyed(text) == keyed(parquet)
    assert [dict(one.key) for one in text.series] == [dict(one.key) for one in parquet.series]
    assert text.series[0].unit == parquet.series[0].unit == "Gbit/s"
    assert text.series[0].lower_is_better is False
    assert text.series[0].position is not None
    assert text.series[0].position[:3].tolist() == [0, 1, 2]


def test_without_keys_all_is_one_series(tmp_path: Path) -> None:
    assert only(tmp_path, "time\n1\n2\n3\n").values.tolist() == [1, 2, 3]


def test_order_sorts_within_a_series_and_keeps_ties(tmp_path: Path) -> None:
    text = "k,t,v,n\na,2,20,1\nb,9,90,2\na,1,10,3\na,1,11,4\nb,8,80,5\n"
    imported = made(tmp_path, text, value="v", group=("k",), order="t", trial="n")
    assert keyed(imported) == {("a",): [10, 11, 20], ("b",): [80, 90]}
    assert imported.series[0].trial is not None
    assert imported.series[0].trial.tolist() == [3, 4, 1]


def test_order_may_be_dates(tmp_path: Path) -> None:
    text = "at,v\n2026-01-01T00:00:02Z,3\n2026-01-01T00:00:00.5Z,1\n2026-01-01T00:00:01Z,2\n"
    series = only(tmp_path, text, value="v", order="at")
    assert series.values.tolist() == [1, 2, 3]
    assert series.position is not None
    assert np.diff(series.position).tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("unit", "per_second"),
    [("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6), ("nanoseconds", 10**9)],
)
def test_numbers_since_1970_are_times_by_their_size(
    tmp_path: Path, unit: str, per_second: int
) -> None:
    begin = 1_777_852_800
    rows = "".join(f"{(begin + 60 * i) * per_second},{i}\n" for i in range(9))
    imported = made(tmp_path, f"t,v\n{rows}", value="v", order="t")
    (series,) = imported.series
    assert series.at_s is not None
    # A double has nanoseconds since 1970 to about 256 ns.
    assert series.at_s == pytest.approx(begin + 60.0 * np.arange(9), abs=1e-6)
    assert (
        message("numbers of {name} are taken as {unit} since 1970 (UTC)", name="t", unit=unit)
        in imported.notes
    )


@pytest.mark.parametrize("first", [0, 5_000_000_000])
def test_other_numbers_are_an_order_and_no_times(tmp_path: Path, first: int) -> None:
    rows = "".join(f"{first + 1_777_852_800 * i},{i}\n" for i in range(9))
    imported = made(tmp_path, f"t,v\n{rows}", value="v", order="t")
    assert imported.series[0].at_s is None
    assert Phrase("since 1970 (UTC)") not in {template(note) for note in imported.notes}


@pytest.mark.parametrize(
    ("zone", "is_noted"), [("", True), ("Z", False), ("+02:00", False), (" +0200", False)]
)
def test_dates_without_a_zone_are_taken_as_utc_and_noted(
    tmp_path: Path, zone: str, is_noted: bool
) -> None:
    text = "at,v\n" + "".join(f"2026-01-01T00:00:0{i}{zone},{i}\n" for i in range(3))
    imported = made(tmp_path, text, value="v", order="at")
    assert (Phrase("as UTC (a") in {template(note) for note in imported.notes}) is is_noted
    (series,) = imported.series
    assert series.at_s is not None
    east_s = 7200 if "02" in zone else 0
    assert series.at_s[0] == 1_767_225_600 - east_s


def test_trials_and_blocks_become_whole_numbers(tmp_path: Path) -> None:
    text = "v,run,day\n1,7,mon\n2,7,mon\n3,8,tue\n4,8,mon\n"
    series = only(tmp_path, text, value="v", trial="run", block="day")
    assert series.trial is not None
    assert series.trial.tolist() == [7, 7, 8, 8]
    assert series.block is not None
    assert (series.block == series.block[0]).tolist() == [True, True, False, True]
    assert series.block.dtype == np.int64


def test_one_column_may_be_level_and_block(tmp_path: Path) -> None:
    series = made(tmp_path, "v,b\n1,x\n2,x\n3,7\n", value="v", group=("b",), block="b").series
    assert [list(one.block) for one in series if one.block is not None][1] == [7]
    assert series[0].block is not None
    assert series[0].block[0] == series[0].block[1] != 7


def test_rows_without_trial_are_left_out_and_told(tmp_path: Path) -> None:
    imported = made(tmp_path, "v,run\n1,7\n2,\n3,8\n", value="v", trial="run")
    assert imported.series[0].values.tolist() == [1, 3]
    assert args(imported.notes, "trial or block") == {"n": 1, "place": "line", "first": 3}


def test_every_row_may_be_a_trial(tmp_path: Path) -> None:
    series = only(tmp_path, "time\n1\n1\n2\n", trial="row")
    assert series.trial is not None
    assert len(set(series.trial.tolist())) == 3
    # A column of that name is meant where there is one.
    series = only(tmp_path, "time,row\n1,7\n1,7\n", value="time", trial="row")
    assert series.trial is not None
    assert series.trial.tolist() == [7, 7]


GROUPS = "".join(f"{fork},{i},{fork + i}.5\n" for fork in (1, 2, 3) for i in (1, 2))


def test_rows_that_come_in_groups_are_told_where_each_is_to_be_a_trial(tmp_path: Path) -> None:
    series = only(tmp_path, f"fork,iteration,time_s\n{GROUPS}", value="time_s", trial="row")
    assert series.grouped == message(
        "{rows} rows come in {n} groups by {column}: they are not executions of their "
        "own (--trial {option})",
        column="fork",
        n=3,
        rows=6,
        option="fork",
    )
    without = "".join(f"{line.split(',', 1)[1]}\n" for line in GROUPS.splitlines())
    series = only(tmp_path, f"iteration,time_s\n{without}", value="time_s", trial="row")
    assert series.grouped == message(
        "{rows} rows come in {n} groups by {column}: they are not executions of their "
        "own (--trial {option})",
        column="iteration",
        n=3,
        rows=6,
        option="iteration",
    )
    # Rows of a block are pairs that are meant.
    series = only(tmp_path, f"run,i,t_s\n{GROUPS}", value="t_s", trial="row", block="run")
    assert series.grouped is None


def test_executions_begin_where_iterations_begin_anew(tmp_path: Path) -> None:
    text = "iteration,time_s\n1,5\n2,6\n3,7\n1,5\n2,4\n1,3\n"
    series = only(tmp_path, text, value="time_s", trial="iteration")
    assert series.trial is not None
    assert series.trial.tolist() == [0, 0, 0, 1, 1, 2]
    # Without a restart, a number is an execution.
    series = only(tmp_path, "round,t_s\n1,5\n1,6\n2,7\n2,5\n", value="t_s", trial="round")
    assert series.trial is not None
    assert series.trial.tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("unit", ["", " ms"])
def test_missing_values_may_be_left_out(unit: str, tmp_path: Path) -> None:
    cells = [f"1{unit}", "NA", f"2{unit}", "-", "nan" if not unit else "junk"]
    text = "\n".join(["k,t", *(f"a,{cell}" for cell in cells)]) + "\n"
    (defect,) = only(tmp_path, text, group=("k",), value="t").defects
    assert defect == left_out(3, 5, "not_finite", lines(3, 5, 6))
    series = only(tmp_path, text, group=("k",), value="t", drop_missing=True)
    assert series.notes == (
        message("{n | counted('cell')} without a value left out ({at})", n=2, at=lines(3, 5)),
    )
    # What is there and is no number is a defect all the same.
    (defect,) = series.defects
    assert defect == left_out(1, 3, "not_finite", lines(6))
    assert len(series.values) == 2


@pytest.mark.parametrize("block_bytes", [1 << 20, 4])
def test_cells_before_and_after_a_flow_may_be_blank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    cells = {"a": ["", "", "1", "2", "", ""], "b": ["", "3", "", "", "4", "5"], "c": ["6"] * 6}
    rows = [f"{k},{cell}" for of_time in zip(*cells.values(), strict=True)
            for k, cell in zip(cells, of_time, strict=True)]  # fmt: skip
    data = "\n".join(["k,v", *rows]) + "\n"
    a, b, c = made(tmp_path, data, group=("k",), value="v").series
    assert [list(one.values) for one in (a, b, c)] == [[1, 2], [3, 4, 5], [6] * 6]
    assert a.notes == (
        message(
            "{n | counted('cell')} without a value, before the first or after the last one, "
            "left out ({at})",
            n=4,
            at=lines(2, 5, 14, 17),
        ),
    )
    assert b.notes == (
        message(
            "{n | counted('cell')} without a value, before the first or after the last one, "
            "left out ({at})",
            n=1,
            at=lines(3),
        ),
    )
    # What is missing between two values is a defect, and so is what is missing of trials.
    assert b.defects == (left_out(2, 5, "not_finite", lines(9, 12)),)
    assert a.defects == c.defects == c.notes == ()
    a, *_ = made(tmp_path, data, group=("k",), value="v", trial="row").series
    assert a.defects == (left_out(4, 6, "not_finite", lines(2, 5, 14, 17)),)


def test_a_file_of_flent_is_sound() -> None:
    imported = read(DATA / "flent.csv", ColumnOptions(value="TCP upload", order="up"))
    (series,) = imported.series
    assert (len(series.values), series.defects) == (40, ())
    assert args(series.notes, "the first or")["n"] == 50


def test_a_bandwidth_over_time_is_a_trace() -> None:
    assert read(DATA / "c5.csv", ColumnOptions(value="bandwidth_gbps")).is_trace
    assert not read(DATA / "c5.csv", ColumnOptions(value="bandwidth_gbps", trial="row")).is_trace
    assert not read(DATA / "c5.csv", ColumnOptions(value="second")).is_trace


RECURRING = "command,day,remark,time\na,2026-01-01,x,1\nb,2026-01-01,y,5\na,2026-01-01,z,2\n"
RECURRING += "b,2026-01-01,w,6\n"


def test_names_that_nobody_named_are_not_pooled(tmp_path: Path) -> None:
    imported = made(tmp_path, RECURRING)
    assert keyed(imported) == {("a",): [1, 2], ("b",): [5, 6]}
    assert args(imported.notes, "are separated by") == {"columns": ["'command'"]}
    # Of one command there is nothing to say.
    assert len(made(tmp_path, "command,time\na,1\na,2\n").notes) == 1


def test_names_that_are_pooled_are_told(tmp_path: Path) -> None:
    imported = made(tmp_path, RECURRING, group=("day",))
    assert keyed(imported) == {("2026-01-01",): [1, 5, 2, 6]}
    assert args(imported.notes, "are pooled (--group") == {"columns": ["'command'"]}


@pytest.mark.parametrize(
    ("name", "cells", "values", "unit"),
    [
        ("wall_ms", ["1500", "2"], [1.5, 0.002], "s"),
        ("wall (us)", ["5"], [5e-6], "s"),
        ("latency [ns]", ["5"], [5e-9], "s"),
        ("t", ["12.5 ms", "3s", "4us"], [0.0125, 3.0, 4e-6], "s"),
        ("wall_ms", ["12", "12ms", "3 s"], [0.012, 0.012, 3.0], "s"),
        ("rss_bytes", ["12"], [12], "bytes"),
        ("rss_mb", ["12"], [12], "MB"),
        ("rss", ["12 MiB"], [12 * 2**20], "bytes"),
        ("link_gbps", ["4.5"], [4.5], "Gbit/s"),
        ("link", ["4.5 Gbit/s", "4 Gbit/s"], [4.5e9, 4e9], "bits/s"),
        ("load", ["50%"], [50], "%"),
        ("score", ["3"], [3], None),
        ("requests_per_second", ["3"], [3], "1/s"),
        ("requests/s", ["3"], [3], "1/s"),
        ("read_mb_per_s", ["3"], [3], "MB/s"),
        ("s", ["3"], [3], None),
        ("ms", ["3"], [0.003], "s"),
        ("seconds", ["3"], [3], "s"),
        ("MB", ["3"], [3], "MB"),
        ("minute", ["3"], [3], None),
    ],
)
def test_units_are_found(
    tmp_path: Path, name: str, cells: list[str], values: list[float], unit: str | None
) -> None:
    series = only(tmp_path, "\n".join([name, *cells]), value=name)
    assert series.values.tolist() == pytest.approx(values)
    assert series.unit == unit
    mixed = any(defect.kind == "mixed units" for defect in series.defects)
    assert mixed == (len({cell.lstrip("0123456789. ") for cell in cells} - {""}) > 1)


def test_mixed_units_are_a_defect_of_their_series_alone(tmp_path: Path) -> None:
    text = "k,t\na,1 ms\na,2 ms\nb,1 ms\nb,1 s\nc,5\nc,5 ms\nd,5 ms\nd,7 MB\n"
    series = {one.key["k"]: one for one in made(tmp_path, text, value="t", group=("k",)).series}
    assert series["a"].defects == ()
    (told,) = series["b"].defects
    assert told.kind == "mixed units"
    parts = args(told.message, "values have different")["parts"]
    assert [one.args for one in parts] == [{"n": 1, "unit": "ms"}, {"n": 1, "unit": "s"}]
    assert series["b"].values.tolist() == [0.001, 1.0]
    assert series["b"].unit == "s"
    parts = args(series["c"].defects[0].message, "values have different")["parts"]
    assert [one.args for one in parts] == [{"n": 1, "unit": None}, {"n": 1, "unit": "ms"}]
    assert series["c"].unit is None
    assert series["d"].unit is None


def test_what_is_no_finite_number_is_left_out_with_its_lines(tmp_path: Path) -> None:
    cells = ["1"] * 20
    for i, bad in ((2, "NaN"), (7, "text"), (15, ""), (17, "inf"), (18, "1e999"), (19, "-inf")):
        cells[i] = bad
    series = only(tmp_path, "\n".join(["k,v", *(f"a,{cell}" for cell in cells)]), value="v")
    assert series.defects == (left_out(6, 20, "not_finite", lines(4, 9, 17, 19, 20, more=1)),)
    assert series.values.tolist() == [1] * 14


def test_what_nothing_measures_is_left_out(tmp_path: Path) -> None:
    cells = ["1"] * 20
    for i, bad in ((2, "1e308"), (7, "1e-308"), (9, "5e-324")):
        cells[i] = bad
    series = only(tmp_path, "\n".join(["k,v", *(f"a,{cell}" for cell in cells)]), value="v")
    assert series.defects == (left_out(3, 20, "immeasurable", lines(4, 9, 11)),)
    assert series.values.tolist() == [1] * 17


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    data = '# made by hand\n\n"name",v\n"two\nlines",1\n\nb,x\n"c\n\nd",2\ne,nan\n'
    imported = made(tmp_path, data, value="v")
    at = args(imported.series[0].defects[0].message, "{fault} (")["at"]
    assert at == lines(7, 11)
    assert text(at) == "lines 7 and 11"
    assert text(lines(7)) == "line 7"
    assert text(lines(7, 1100, more=3)) == "lines 7, 1,100 and 3 more"


@pytest.mark.parametrize(
    ("name", "corrupt"),
    [
        ("elapsed_ms", True), ("wall time", True), ("bandwidth_gbps", True), ("rss_bytes", True),
        ("delta_ms", False), ("temperature", False), ("score", False), ("clock offset (ns)", False),
    ],
)  # fmt: skip
def test_only_what_cannot_be_negative_must_not_be(tmp_path: Path, name: str, corrupt: bool) -> None:
    series = only(tmp_path, f"{name}\n1\n-2\n3\n", value=name)
    assert len(series.values) == (2 if corrupt else 3)
    found = left_out(1, 3, "negative", lines(3))
    assert series.defects == ((found,) if corrupt else ())


@pytest.mark.parametrize(
    ("data", "values"),
    [
        ("a;b\nx;1,5\ny;2,25\n", [1.5, 2.25]),
        ("a\tb\nx\t1.5\n", [1.5]),
        ("a|b\nx|1.5\n", [1.5]),
        ('a,b\n"x, y",1.5\n', [1.5]),
        ("a;b\nx;1,5 ms\n", [0.0015]),
        ("a,b\nx,1:14.77\ny,0:05.10\n", [74.77, 5.1]),
        ("a,b\r\nx,1.5\r\n", [1.5]),
        ("a,b\rx,1.5\ry,2\r", [1.5, 2]),
        ("\ufeffa,b\nx,1.5\n", [1.5]),
        ('a,b\nx," 1.5 "\n', [1.5]),
        ("a;b\nx;1.221,14\ny;950,5\nz;1.200\n", [1221.14, 950.5, 1200]),
        ('a,b\nx,"1,221.14"\ny,950.5\n1.200,"12,345"\n', [1221.14, 950.5, 12345]),
        ("a\tb\nx\t1,221.14\r\ny\t1,200\n", [1221.14, 1200]),
        ("a;b\nx;1.221.000\ny;950\n", [1221000, 950]),
        # Each column has marks of its own, and texts have none.
        ('a,b\n"0.001,64",905.123\n"0.010,12",1102.8\n', [905.123, 1102.8]),
        ("a;b\n1.234,50;0.812\n2.234,50;0.950\n", [0.812, 0.95]),
    ],
)
def test_dialects(tmp_path: Path, data: str, values: list[float]) -> None:
    assert only(tmp_path, data, value="b").values.tolist() == pytest.approx(values)


def test_levels_with_points_and_commas_stay_as_they_are(tmp_path: Path) -> None:
    rows = [f"{v};{n},5" for v in ("1.100", "1100", "1.234,50", "192.168.100.101") for n in "1234"]
    imported = made(tmp_path, "\n".join(["version;ms", *rows]), value="ms", group=("version",))
    assert [one.key["version"] for one in imported.series] == [
        "1.100", "1100", "1.234,50", "192.168.100.101",
    ]  # fmt: skip


def test_what_is_odd_is_told(tmp_path: Path) -> None:
    commas = made(tmp_path, "a;b\nx;1,5\n")
    assert "numbers have a" in templates(commas.notes)
    quoted = made(tmp_path, 'a,b\nx,"1,5"\nx,"1,250"\nx,2\n')
    assert keyed(quoted) == {("x",): [1.5, 1.25, 2]}
    latin = made(tmp_path, "k,b\nä,1\n".encode("latin-1"), group=("k",), value="b")
    assert latin.series[0].key == {"k": "ä"}
    assert args(latin.notes, "is not UTF-8:") == {"line": 2}
    nameless = made(tmp_path, "x,1\ny,2\n", group=("c1",), value="c2")
    assert keyed(nameless) == {("x",): [1], ("y",): [2]}
    assert args(nameless.notes, "is no header:") == {"first": "c1", "last": "c2"}


@pytest.mark.parametrize(
    ("first", "named"),
    [("2nd_run,95th", True), ("2 ms,x", False), ("x,1", False), ("x,-1e3", False), ("1a,b", True)],
)
def test_a_header_is_a_line_without_numbers(tmp_path: Path, first: str, named: bool) -> None:
    imported = made(tmp_path, f"{first}\n1,2\n", group=("c1",) if not named else (), value=(
        "c2" if not named else first.split(",")[1]
    ))  # fmt: skip
    assert sum(len(one.values) for one in imported.series) + sum(
        len(one.defects) for one in imported.series
    ) == (1 if named else 2)


def test_a_long_cell_is_no_number_and_takes_no_time(tmp_path: Path) -> None:
    long = "1 x" + " " * 100_000 + "y z"
    assert only(tmp_path, f"a,b\n{long},2\n").values.tolist() == [2]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings_are_told_apart(tmp_path: Path, encoding: str) -> None:
    series = only(tmp_path, "naïve_ms,b\n1500,ü\n".encode(encoding), value="naïve_ms")
    assert series.values.tolist() == [1.5]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, compression.zstd.compress])
def test_packed_tables_are_read(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    assert only(tmp_path, compress(b"v\n1\n2\n")).values.tolist() == [1, 2]
    whole = compress(b"v\n" + b"".join(b"%d\n" % i for i in range(100_000)))
    damaged = bytearray(whole)
    damaged[len(whole) // 2 :] = random.Random(1).randbytes(len(whole) - len(whole) // 2)
    for data in (whole[: len(whole) // 2], bytes(damaged), whole[:10]):
        with pytest.raises(InputError, match="damaged or ends early"):
            made(tmp_path, data)


@pytest.mark.parametrize(
    ("heads", "likeliest"),
    [
        ("end_us,bits,on_us,starved", "bits"),
        ("begin,end,a,b", "a"),
        ("n,wall_ms,note", "wall_ms"),
        ("start,end", "start"),
    ],
)
def test_the_column_that_a_hint_names_looks_like_values(
    tmp_path: Path, heads: str, likeliest: str
) -> None:
    row = ",".join("1" for _ in heads.split(","))
    with pytest.raises(InputError) as told:
        made(tmp_path, f"{heads}\n{row}\n")
    assert told.value.hint is not None
    assert f"--value {likeliest}" in told.value.hint


@pytest.mark.parametrize(
    ("data", "columns", "complaint"),
    [
        ("a,b\n1,2\n", {}, "several columns of numbers: a, b"),
        ("a,b\nx,y\n", {}, "no column of numbers"),
        ("a,b\nx,y\nz,w\n", {"value": "b"}, "line 2: column 'b' holds no number"),
        ("plat,b\n1,2\n", {"value": "b", "group": ("platt",)}, "no column 'platt'"),
        ("a,a\n1,2\n", {"value": "a"}, "2 columns 'a'"),
        ("a,b\n1,2\n", {"value": "a", "group": ("a",)}, "'a' cannot be two things"),
        ("a,b\n1,2\n", {"value": "a", "trial": "a"}, "'a' cannot be two things"),
        ("a,b\n", {}, "a header and no rows"),
        ("a,b\n1,2\n3\n", {"value": "b"}, "line 3 has 1 value, but there are 2 columns"),
        ("a,b\n1,2\n3,4,5\n", {"value": "b"}, "line 3 has 3 values, but"),
        ('a,b\n1,2\n3,"4\n5,6\n', {"value": "a"}, "line 3: a quotation mark is never closed"),
        ('a,b\n1,2\n3",4\n"5,6\n', {"value": "a"}, "line 4: a quotation mark is never closed"),
        ("a,b\nx,1,5\nx,2,5\n", {}, "line 2 has 3 values, but"),
        ('a,b\nx,"1,500"\n', {}, "commas in its numbers: b"),
        ("a;b\n1,5;1.234\n2,5;1.240\n", {"value": "b"}, "point in 1.234 may be of decimals or"),
        ("a;b\nx;1.027\ny;946\nz;1.103\n", {}, "point in 1.027 may be of decimals or"),
        ("a,b\n1,x\n2,y\n", {"value": "a", "order": "b"}, "line 2: 'b' holds neither numbers"),
        (b"a,b\n1,\x002\n", {"value": "b"}, "near line 2: a zero byte"),
        ("a,b\n" + "1,2\n" * 3000 + "1,\x002\n", {"value": "b"}, "near line 3002: a zero byte"),
    ],
)
def test_refusals_name_the_place_and_what_there_is(
    tmp_path: Path, data: str | bytes, columns: Mapping[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as told:
        made(tmp_path, data, **columns)
    assert told.value.hint
    if "two things" not in complaint:
        assert "results.csv" in told.value.message


@pytest.mark.parametrize(
    ("mark", "how"),
    [(b"PK\x03\x04", "zip"), (b"\xfd7zXZ\x00", "xz"), (b"\x04\x22\x4d\x18", "lz4")],
)
def test_other_packings_are_named(tmp_path: Path, mark: bytes, how: str) -> None:
    with pytest.raises(InputError, match=f"packed as {how}"):
        made(tmp_path, mark + b"1,2\n")


def test_sorting_needs_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_columns, "available", lambda: 20)
    assert only(tmp_path, "t,v\n1,5\n2,6\n", value="v", order="t").values.tolist() == [5, 6]
    with pytest.raises(InputError, match="not in order of time, and too large"):
        made(tmp_path, "t,v\n2,5\n1,6\n", value="v", order="t")


def test_a_near_name_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(InputError) as told:
        made(tmp_path, "platform,b\n1,2\n", value="b", group=("plattform",))
    assert told.value.hint is not None
    assert "'platform'" in told.value.hint
    assert told.value.hint.endswith(": platform, b")


def test_a_million_columns_are_refused_from_the_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks.Text, "blocks", None)
    names = ",".join(f"c{i}" for i in range(1_000_000))
    with pytest.raises(InputError, match="line 1 has more than 10,000 columns"):
        made(tmp_path, f"{names}\n{names}\n")


def test_a_quotation_mark_that_never_closes_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "MOST_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 18)
    endless = '1,"' + "x" * (4 << 20)
    with pytest.raises(InputError, match="line 2 is longer than 1 MiB, or a quotation mark"):
        made(tmp_path, "a,b\n" + endless, value="a")
    with pytest.raises(InputError, match="line 1002 is longer than 1 MiB, or a quotation mark"):
        made(tmp_path, "a,b\n" + "1,2\n" * 1000 + endless, value="a")


def test_too_many_series_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "MOST_SERIES", 100)
    text = "k,v\n" + "".join(f"{i},1\n" for i in range(101))
    with pytest.raises(InputError, match="more than 100 series"):
        made(tmp_path, text, value="v", group=("k",))


def interleaved(rows: int, groups: int) -> str:
    body = "".join(f"k{i % groups},{i},t{i % 7},{i // 9}\n" for i in range(rows))
    return "k,v,t,at\n" + body


@pytest.mark.parametrize("bound", [1 << 30, 5_000, 0])
@pytest.mark.parametrize("groups", [1, 3])
def test_where_values_are_kept_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: int, groups: int
) -> None:
    monkeypatch.setattr(growing_columns, "MOST_RESIDENT_BYTES", bound)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spool"))
    (tmp_path / "spool").mkdir()
    columns = {"value": "v", "group": ("k",), "order": "at", "block": "t"}
    imported = made(tmp_path, interleaved(3000, groups), **columns)
    for g, one in enumerate(imported.series):
        assert one.values.tolist() == list(range(g, 3000, groups))
        assert one.block is not None
        # Each name has a number of its own, the same wherever it stands.
        of_name = dict(
            zip([i % 7 for i in range(g, 3000, groups)], one.block.tolist(), strict=True)
        )
        assert len(set(of_name.values())) == 7
        assert max(of_name.values()) < 0
        assert one.block.tolist() == [of_name[i % 7] for i in range(g, 3000, groups)]
        assert isinstance(one.values, np.memmap) == (bound < 1 << 30)
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_folder_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_columns, "MOST_RESIDENT_BYTES", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    with pytest.raises(InputError, match=r"do not fit into memory, nor into .*absent"):
        made(tmp_path, "v\n1\n")


def test_latin_text_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8)
    data = "k,b\na,1\n" + "ä,1\nö,2\n" * 9
    latin = made(tmp_path, data.encode("latin-1"), group=("k",), value="b")
    assert {key: len(values) for key, values in keyed(latin).items()} == {
        ("a",): 1,
        ("ä",): 9,
        ("ö",): 9,
    }
    assert latin.notes == (
        message("line {line} is not UTF-8: the file is read as Latin-1", line=3),
    )


def test_blocks_end_between_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    body = "".join(f'"a\n,{i}",{i}\n' for i in range(200))
    series = only(tmp_path, "k,v\n" + body + '"b",x\n', value="v")
    assert series.values.tolist() == list(range(200))
    assert series.defects == (left_out(1, 201, "not_finite", lines(402)),)


def test_parquet_types(tmp_path: Path) -> None:
    table = pa.table({
        "when": pa.array([2_000_000, 1_000_000, 3_000_000, 4_000_000], pa.timestamp("us")),
        "took": pa.array([1500, 2500, None, 3500], pa.duration("ms")),
        "k": pa.array(["a"] * 4).dictionary_encode(),
        "deep": pa.array([[1]] * 4),
    })  # fmt: skip
    file = tmp_path / "t.parquet"
    pq.write_table(table, file)
    (series,) = read(file, ColumnOptions(value="took", group=("k",), order="when")).series
    assert series.values.tolist() == [2.5, 1.5, 3.5]
    at = args(series.defects[0].message, "{% else %}{places | listing}")
    assert (at["place"], at["places"]) == ("row", [3])


@pytest.mark.parametrize("change", ["cut", "middle", "footer"])
def test_damaged_parquet_is_refused(tmp_path: Path, change: str) -> None:
    data = bytearray((DATA / "c5.parquet").read_bytes())
    if change == "cut":
        data = data[: len(data) // 2]
    elif change == "middle":
        data[4:2500] = bytes(2496)
    else:
        data[-8:-4] = (1 << 30).to_bytes(4, "little")
    file = tmp_path / "t.parquet"
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"t\.parquet"):
        read(file, ColumnOptions(value="bandwidth_gbps"))


def test_a_wide_parquet_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({f"c{i}": [1] for i in range(csv_rows.MOST_COLUMNS + 1)}), file)
    with pytest.raises(InputError, match="10,001 columns"):
        read(file)


SEEDS = [
    (DATA / "c5.csv").read_bytes()[:600],
    (DATA / "facenet.tsv").read_bytes()[:600],
    'k;v\n"a;b";1,5 ms\n"x\ny";-2\n\n;NaN\n'.encode("utf-16"),
    (DATA / "c5.parquet").read_bytes(),
]


@pytest.mark.parametrize("seed", range(len(SEEDS)))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cuts=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=2),
    puts=st.lists(
        st.tuples(
            st.floats(0, 1),
            st.one_of(st.sampled_from([b'"', b"\n", b",", b"\0", b"\r", b"\xff", b"nan", b"1e999"]),
                      st.binary(max_size=6)),
        ),
        max_size=4,
    ),
    named=st.booleans(),
)  # fmt: skip
@example(cuts=[(0.0, 1.0)], puts=[], named=False)
@example(cuts=[], puts=[(1.0, b"\x1c")], named=False)
def test_whatever_a_file_holds_is_read_or_refused(
    tmp_path: Path,
    seed: int,
    cuts: list[tuple[float, float]],
    puts: list[tuple[float, bytes]],
    named: bool,
) -> None:
    data = SEEDS[seed]
    for where, length in cuts:
        at = int(where * len(data))
        data = data[:at] + data[at + int(length * len(data)) :]
    for where, put in puts:
        at = int(where * len(data))
        data = data[:at] + put + data[at:]
    names = {"value": "bandwidth_gbps", "group": ("instance",), "order": "second"} if named else {}
    try:
        imported = made(tmp_path, data, **names)
    except InputError:
        return
    for one in imported.series:
        assert np.isfinite(one.values).all()


def test_a_date_beyond_all_nanoseconds_is_no_order(tmp_path: Path) -> None:
    text = "v,at\n" + "".join(f"{i},{9663 + i}-01-01\n" for i in range(8))
    with pytest.raises(InputError, match="neither numbers nor dates"):
        made(tmp_path, text, value="v", order="at")


def test_a_packed_table_made_to_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.readers.compression._ALWAYS", 1 << 20)
    file = tmp_path / "bomb.csv.gz"
    file.write_bytes(gzip.compress(b"x\n" + b"1\n" * (16 << 20), 9))
    with pytest.raises(InputError, match="MiB unpacked"):
        read(file, ColumnOptions())
    file.write_bytes(gzip.compress(b"x\n" + b"1\n" * 1000, 9))
    assert len(read(file, ColumnOptions()).series[0].values) == 1000


def test_an_index_without_a_name_is_no_value(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(",variant,elapsed\n" + "".join(f"{i},{'AB'[i % 2]},1.{i}5\n" for i in range(9)))
    assert {s.metric for s in read(file, ColumnOptions()).series} == {"elapsed"}


def test_names_with_digits_above_numbers_are_a_header(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("Timestamp,50%,75%\n" + "".join(f"{1e9 + i:.0f},1{i},2{i}\n" for i in range(9)))
    (series,) = read(file, ColumnOptions(value="50%", order="Timestamp")).series
    assert series.values.tolist() == [10.0 + i for i in range(9)]
    file.write_text("1,2\n3,4\n")
    assert read(file, ColumnOptions(value="c1")).series[0].values.tolist() == [1, 3]
    file.write_text("a,2\nb,4\n")
    assert read(file, ColumnOptions(value="c2")).series[0].values.tolist() == [2, 4]


def test_one_column_per_run_is_refused_with_what_is_read(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("program,run1,run2,run3\na,1.5,2.5,3.5\nb,1.25,2.25,3.25\n")
    with pytest.raises(InputError, match="has its values in several columns") as told:
        read(file, ColumnOptions())
    assert "one value per row" in (told.value.hint or "")


def test_a_table_of_table_generator_names_its_source(tmp_path: Path) -> None:
    file = tmp_path / "results.table.csv"
    file.write_text("tool\tT\tT\nrun set\tx\tx\nprogs/\tstatus\tcputime (s)\np.c\ttrue\t0.5\n")
    with pytest.raises(InputError, match="table-generator") as told:
        read(file, ColumnOptions())
    assert "xml" in (told.value.hint or "")


def test_a_column_that_numbers_rows_is_no_value_in_any_language(tmp_path: Path) -> None:
    rows = "".join(f"{a};{n};1.23{n},50\n" for n in range(1, 8) for a in "AB")
    data = f"Ger\u00e4t;Lauf;Zeit (ms)\n{rows}"
    found = [made(tmp_path, data), made(tmp_path, data, compare=("Ger\u00e4t",))]
    for imported in found:
        assert [one.values[0] for one in imported.series] == pytest.approx([1.2315, 1.2315])
        assert imported.rounds == "Lauf"


@pytest.mark.parametrize(
    ("header", "row", "value"),
    [
        (",algo,n,time", "{i},{algo},{n},{time}", "time --group algo,n"),
        ("run,size,duration_s", "{i},{n},{time}", "duration_s --group size"),
        ("run,threads,seen", "{i},{n},{time}", "seen --group threads"),
        ("run,bare_s,docker_s", "{i},{time},{time}", "bare_s   (or docker_s)"),
        (
            "algo,wall_s,cpu_s,rss_kb,exit_code",
            "{algo},{time},{time},{rss},0",
            "wall_s   (or cpu_s)",
        ),
        ("algo,real,user,rss_kb,exit_code", "{algo},{time},{time},{rss},0", "real"),
        ("Seq,Starttime,JobRuntime,Exitval", "{i},{rss},{time},0", "JobRuntime"),
        ("algo,threads,time_s", "{algo},{i},{time}", "time_s"),
        ("algo,submission,time_ms", "{algo},{rss},{n}", "time_ms"),
        # Numbers in another order, or with a unit, do not number the rows.
        ("algo,score,time_s", "{algo},{shuffled},{time}", "time_s"),
        ("algo,latency_ms,clock_mhz", "{algo},{i},{rss}", "latency_ms"),
    ],
)
def test_the_proposed_values_are_no_levels_and_no_numbers_of_runs(
    tmp_path: Path, header: str, row: str, value: str
) -> None:
    rows = [
        row.format(
            i=i,
            algo="ab"[i % 2],
            n=10 * (1 + i % 3),
            time=1.5 + i / 10,
            rss=29_262 + 31 * i,
            shuffled=5 * i % 12,
        )
        for i in range(12)
    ]
    with pytest.raises(InputError) as refused:
        made(tmp_path, "\n".join([header, *rows]))
    assert refused.value.hint == f"--value {value}"


def test_executions_are_not_numbered_by_what_is_inside_of_them(tmp_path: Path) -> None:
    rows = "\n".join(f"{fork},{i},1.{fork}{i}" for fork in range(1, 7) for i in range(1, 5))
    data = f"fork,iteration,time_ms\n{rows}\n"
    with pytest.raises(InputError, match="iteration numbers what is inside") as refused:
        made(tmp_path, data, trial="iteration")
    assert refused.value.hint == "--trial fork"
    (one,) = made(tmp_path, data, trial="fork").series
    assert len(set(one.trial)) == 6


@pytest.mark.parametrize("word", ["mean", "Total"])
def test_a_last_row_of_statistics_is_no_run(tmp_path: Path, word: str) -> None:
    rows = "\n".join(f"{i},1.{i}" for i in range(1, 11))
    with pytest.raises(InputError, match=f"has a row of statistics: run is {word}"):
        made(tmp_path, f"run,time_s\n{rows}\n{word},1.5\n", value="time_s")


@pytest.mark.parametrize("name", ["exit_code", "exitcode", "returncode", "Exit status", "exit"])
def test_rows_with_an_exit_code_other_than_0_are_failed_runs(tmp_path: Path, name: str) -> None:
    codes = [0, 0, 1, 0, 137, 0, -9, 0]
    rows = [f"{cmd},{1 + i / 10},{c if cmd == 'a' else 0}" for cmd in "ab"
            for i, c in enumerate(codes)]  # fmt: skip
    text = "\n".join([f"cmd,wall_s,{name}", *rows])
    failing, good = made(tmp_path, text).series
    assert failing.values.tolist() == [1.0, 1.1, 1.3, 1.5, 1.7]
    assert len(good.values) == 8
    failures = args(failing.losses, "failed{% else %}")
    assert (failures["n"], failures["total"], failures["at"]) == (3, 8, lines(4, 6, 8))
    assert args(made(tmp_path, text).said, "failed{% else %}")["total"] == 16
    named = keyed(made(tmp_path, text, value="wall_s", group=("cmd", name)))
    assert named["a", "137"] == [1.4]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [("status", "ok", "TIMEOUT"), ("Result", "solved", "oom"), ("success", "True", "false"),
     ("ok", "1", "0"), ("failed", "0", "1"), ("timed_out", "no", "yes"), ("error", "", "segfault"),
     ("error", "0", "1"), ("exitval", "0", "1"), ("exit_code", "0", "SIGSEGV"),
     ("status", "200", "503"), ("http_status", "304", "404"), ("status", "200.0", "500.0"),
     ("status", "SAT", "UNKNOWN"), ("exit_code", "10", "137"), ("verdict", "AC", "TLE"),
     ("result", "correct", "time-limit"), ("status", "0", "139"), ("status", "0", "-11"),
     ("status", "done", "Failed (timeout)"), ("error", "nan", "Segfault"), ("solved", "1", "0")],
)  # fmt: skip
def test_rows_that_a_column_calls_failed_are_omitted(
    tmp_path: Path, name: str, good: str, bad: str
) -> None:
    rows = [f"{10 + i},{bad if i in {2, 5} else good}" for i in range(8)]
    one = only(tmp_path, "\n".join([f"wall_s,{name}", *rows]), value="wall_s")
    assert one.values.tolist() == [10, 11, 13, 14, 16, 17]
    failures = args(one.losses, "failed{% else %}")
    assert (failures["n"], failures["total"], failures["at"]) == (2, 8, lines(4, 7))


@pytest.mark.parametrize(
    ("name", "cells"),
    [("error", [0, 0.2, 1]), ("passed", [0, 0, 0]), ("failed", [1, 1, 1]),
     ("status", ["ok", "north", "fail"]), ("error", ["none yet", "slow", "fast"])],
)  # fmt: skip
def test_a_column_that_may_be_something_else_calls_no_row_failed(
    tmp_path: Path, name: str, cells: list[object]
) -> None:
    rows = [f"{i}.5,{cell}" for i, cell in enumerate(cells)]
    series = made(tmp_path, "\n".join([f"wall_s,{name}", *rows]), value="wall_s").series
    assert sum(len(one.values) for one in series) == 3


def test_a_row_without_an_exit_code_did_not_succeed(tmp_path: Path) -> None:
    file = tmp_path / "runs.parquet"
    codes = pa.array([0, None, 3, 0])
    pq.write_table(pa.table({"wall_s": [1.0, 2.0, 3.0, 4.0], "returncode": codes}), file)
    (one,) = read(file).series
    assert one.values.tolist() == [1, 4]
    every = only(tmp_path, "wall_s,returncode\n1,2\n2,2\n", value="wall_s")
    assert (len(every.values), args(every.losses, "failed{% else %}")["total"]) == (0, 2)


def test_a_column_of_other_content_is_no_exit_code(tmp_path: Path) -> None:
    one = only(tmp_path, "exit,wall_s\nnorth,1\nnorth,2\nnorth,3\n", value="wall_s")
    assert len(one.values) == 3
    candidates = only(tmp_path, "rc,wall_s\n1,1\n2,2\n0,3\n", value="wall_s")
    assert len(candidates.values) == 3
    (codes,) = made(tmp_path, "wall_s,exit_code\n1,0\n2,5\n", value="exit_code").series
    assert codes.values.tolist() == [0, 5]


def test_numbers_of_a_sweep_that_nobody_named_are_told_as_pooled(tmp_path: Path) -> None:
    rows = [f"{n},{i % 5},{i + n}.5" for n in (1, 2, 4) for i in range(5)]
    imported = made(tmp_path, "\n".join(["threads,run,latency_us", *rows]), value="latency_us")
    assert imported.levels == ("threads",)
    assert args(imported.notes, "are pooled (--group")["columns"] == ["'threads'"]
    named = made(tmp_path, "\n".join(["threads,run,ms", *rows]), value="ms", group=("threads",))
    assert (named.levels, len(named.series)) == ((), 3)
    # Whole numbers that are measured recur unevenly.
    counts = [0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 3]
    rows = [f"{c},{1 + i / 10}" for i, c in enumerate(counts)]
    assert made(tmp_path, "\n".join(["faults,ms", *rows]), value="ms").levels == ()


@pytest.mark.parametrize(
    ("order", "rounds"),
    [
        ([(r, v) for r in range(8) for v in ("old", "new")], "round"),
        ([(r, v) for r in range(8) for v in (("old", "new"), ("new", "old"))[r % 2]], "round"),
        ([(r, v) for v in ("old", "new") for r in range(8)], None),
        ([(r, "old" if r < 4 else "new") for r in range(8) for _ in range(2)], None),
    ],
)
def test_rounds_have_every_series_side_by_side(
    tmp_path: Path, order: list[tuple[int, str]], rounds: str | None
) -> None:
    rows = [f"{r},{v},{10 + r}.5" for r, v in order]
    assert made(tmp_path, "\n".join(["round,variant,ms", *rows])).rounds == rounds


def test_the_line_that_tells_excel_the_separator_is_no_header(tmp_path: Path) -> None:
    for mark in ("", "\ufeff"):
        imported = made(tmp_path, f"{mark}sep=;\r\nprog;ms\r\na;1,5\r\na;1,6\r\nb;1,7\r\nb;x\r\n")
        assert keyed(imported) == {("a",): [0.0015, 0.0016], ("b",): [0.0017]}
        (defect,) = imported.series[1].defects
        assert args(defect.message, "{% else %}{places | listing}")["places"] == [6]
    assert only(tmp_path, "sep=|\nms|note\n1.5|a;b;c\n2.5|d;e;f\n").values.tolist() == [
        0.0015,
        0.0025,
    ]


def test_durations_in_minutes_and_seconds_are_times(tmp_path: Path) -> None:
    one = only(tmp_path, 'real\n1m2.527s\n0m0.004s\n1h2m3s\n12 s\n"2m 5,5s"\nsoon\n')
    assert one.values.tolist() == pytest.approx([62.527, 0.004, 3723, 12, 125.5])
    assert one.unit == "s"
    (defect,) = one.defects
    assert args(defect.message, "{% else %}{places | listing}")["places"] == [7]


def test_a_parquet_file_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "pyarrow", extras.Extra("tables", "Parquet files"))
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    with pytest.raises(TareError, match="Parquet files need the extra 'tables'") as told:
        read(DATA / "c5.parquet")
    assert told.value.hint == "pip install 'tare-bench[tables]'"


def test_names_that_hold_nothing_are_no_trial_in_any_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8)
    data = "v,run\n1,7\n2,\n3,NA\n4,-8\n5,x\n6,-\n7,-8\n"
    imported = made(tmp_path, data, value="v", trial="run")
    assert imported.series[0].values.tolist() == [1, 4, 5, 7]
    trial = imported.series[0].trial
    assert trial is not None
    assert trial[[0, 1, 3]].tolist() == [7, -8, -8]
    assert args(imported.notes, "trial or block") == {"n": 3, "place": "line", "first": 3}


@pytest.mark.parametrize(
    "odd", ["2026-01-01", "2026/01/01 12:30", "2026-01-01T00:00:01.5Z", "2026-01-01T02:00+01:30"]
)
def test_dates_of_one_form_and_of_several_are_the_same_times(odd: str) -> None:
    dates = ["2026-01-01T00:00:02Z", "2026-01-01 00:00:00.123456789", odd]
    together = Times().numbers(dates)
    assert together is not None
    # A zone, white space or a day that does not exist takes the way of any text.
    apart = Times().numbers([*dates, " 2026-02-30T00:00:00+00:00"])
    assert apart is not None
    assert apart[:3].tolist() == together.tolist()
    assert np.isnan(apart[3])


def test_an_order_of_which_most_is_absent_is_one_of_numbers(tmp_path: Path) -> None:
    series = only(tmp_path, "v,at\n1,5\n2,NA\n3,-\n4,4\n", value="v", order="at")
    assert series.values.tolist() == [4, 1]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("0123456789.eE+-,hms% \tx\xa0", max_size=12), min_size=1, max_size=100))
def test_both_parsers_divide_cells_alike(texts: list[str]) -> None:
    block = "".join('"' + text.replace('"', '""') + '"\n' for text in texts).encode()
    with Parser(";", 1, {0: "number"}, {}) as parser:
        parsed = parser.parse(block)
    assert isinstance(parsed, Parsed)
    ours, theirs = cells.quantities(texts), parsed.columns[0]
    assert isinstance(theirs, Quantities)
    np.testing.assert_array_equal(ours.numbers, theirs.numbers)
    rests = [
        [""] * len(texts) if one.rests is None else [one.rests.texts[c] for c in one.rests.codes]
        for one in (ours, theirs)
    ]
    assert rests[0] == rests[1]


def test_a_table_of_thousands_of_text_columns_is_read(tmp_path: Path) -> None:
    names = [f"name of column {i}" for i in range(2600)]
    rows = "".join(f"{','.join(f'x{k % 2}' for _ in names)},{k}.5\n" for k in range(4))
    (one, other) = made(tmp_path, f"{','.join(names)},ms\n{rows}", value="ms").series
    assert (len(one.values), len(other.values)) == (2, 2)


def test_the_process_that_parses_can_open_nothing_and_ends_with_its_reader() -> None:
    with Parser(",", 1, {0: "number"}, {}) as parser:
        parser.parse(b"1\n")
        process = Path("/proc", str(parser.process.pid))
        limits = process.joinpath("limits").read_text()
        status = process.joinpath("status").read_text()
    for name in ("Max open files", "Max processes", "Max file size"):
        (line,) = [line for line in limits.splitlines() if line.startswith(name)]
        assert line.removeprefix(name).split()[:2] == ["0", "0"]
    assert "NoNewPrivs:\t1" in status
    assert "CapPrm:\t0000000000000000" in status
    assert not process.exists()


def test_a_parser_that_is_killed_is_an_error() -> None:
    with Parser(",", 1, {0: "number"}, {}) as parser:
        parser.process.kill()
        with pytest.raises(AgentError, match="ended: exit code -9"):
            parser.parse(b"1\n" * (1 << 20))
