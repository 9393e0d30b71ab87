"""Traces from files of others: read as they are meant, or refused with the place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from said import template

from tare.errors import InputError
from tare.features.network.identify.identifying import identify
from tare.features.network.identify.reading import Asked, Reading, read
from tare.networks.shaping.trace import Trace
from tare.readers import units
from tare.render.words import sentence
from tare.results.message import Message, message

DATA = Path(__file__).parents[1] / "data"
BASE = [(float(i), 5 + 0.01 * (i % 7)) for i in range(200)]


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    def write(rows: list[tuple[object, ...]], head: str = "second,bandwidth_gbps") -> Path:
        file = tmp_path / "trace.csv"
        lines = [",".join(str(cell) for cell in row) for row in rows]
        file.write_text("\n".join([head, *lines]) + "\n")
        return file

    return write


def ids(found: Reading) -> list[str]:
    return [template(note) for note in found.notes if isinstance(note, Message)]


def only(file: Path, **asked: object) -> Reading:
    found = read(file, Asked(**asked))  # type: ignore[arg-type]
    assert len(found) == 1
    return found[0]


def test_a_table_of_time_and_bandwidth(table: Callable[..., Path]) -> None:
    found = only(table(BASE))
    assert len(found.trace) == 200
    assert found.trace.rate_bps[0] == pytest.approx(5e9)
    assert found.trace.end_s[-1] == pytest.approx(200)
    assert not found.notes


@pytest.mark.parametrize("head", ["date", "datetime", "Date"])
def test_a_column_of_dates_is_the_time(table: Callable[..., Path], head: str) -> None:
    rows = [(f"2026-05-01T12:{t // 60:02.0f}:{t % 60:02.0f}", v) for t, v in BASE]
    found = only(table(rows, f"{head},bandwidth_gbps"))
    assert len(found.trace) == 200
    assert found.trace.end_s[-1] - found.trace.start_s[0] == pytest.approx(200)


def test_units_of_columns_cells_and_options(table: Callable[..., Path]) -> None:
    for head, unit, truth in (
        ("second,bandwidth_mbps", None, 5e6),
        ("time_ms,bandwidth_gbps", None, 5e9),
        ("t,bw", units.unit("Gbit/s"), 5e9),
        ("t,bw", units.unit("MB/s"), 4e7),
        ("second,bandwidth_gbps", units.unit("Mbit/s"), 5e6),
        ("second,mbits_per_second", None, 5e6),
    ):
        found = only(table(BASE, head), unit=unit)
        assert found.trace.rate_bps[0] == pytest.approx(truth)
    cells = only(table([(t, f"{v} Mbit/s") for t, v in BASE], "second,rate"))
    assert cells.trace.rate_bps[0] == pytest.approx(5e6)


@pytest.mark.parametrize(
    ("rows", "line", "why"),
    [
        ([*BASE[:50], (50, -3), *BASE[51:]], "line 52", "negative"),
        ([*BASE[:50], (50, 5e9), *BASE[51:]], "line 52", "no network carries"),
        ([*BASE[:77], (77, 5000), *BASE[78:]], "line 79", "another unit"),
        ([*BASE[:50], (50, "inf"), *BASE[51:]], "line 52", "infinite"),
        ([*BASE[:50], BASE[49], *BASE[50:]], "line 52", "the time 49"),
        ([(100 + t, v) for t, v in [*BASE[:50], *BASE[49:]]], "line 52", "the time 149"),
        ([*BASE[:50], ("", 5), *BASE[51:]], "line 52", "neither a number nor a date"),
        ([*BASE, *BASE], "line 202", "another series begins"),
        ([(t, v * 1e9) for t, v in BASE], "line 2", "no network carries"),
        (BASE[:1], "line 2", "one row"),
        ([*BASE[:5], (5, 5, 5)], "line 7", "3 values"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(
    table: Callable[..., Path], rows: list[tuple[object, ...]], line: str, why: str
) -> None:
    with pytest.raises(InputError) as refused:
        only(table(rows))
    assert line in refused.value.message
    assert why in refused.value.message
    assert refused.value.hint


def test_values_in_another_unit_than_said(table: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="another unit"):
        only(table(BASE, "second,bandwidth_bps"))
    with pytest.raises(InputError, match="in which unit"):
        only(table(BASE, "t,bw"))
    with pytest.raises(InputError, match="no unit of bandwidth"):
        only(table(BASE, "t,load_percent"))


def test_order_gaps_and_steps_of_the_clock(table: Callable[..., Path]) -> None:
    shuffled = [BASE[i] for i in np.random.default_rng(1).permutation(200)]
    found = only(table(shuffled))
    assert (np.diff(found.trace.start_s) > 0).all()
    assert ids(found) == ["not in order"]
    gap = only(table([row for row in BASE if not 60 <= row[0] < 75]))
    assert (gap.trace.start_s[1:] - gap.trace.end_s[:-1]).max() == pytest.approx(15)
    with pytest.raises(InputError, match="line 102: time goes back by 6 s"):
        only(table([(t if t < 100 else t - 7, v) for t, v in BASE]))


def test_what_is_missing_is_not_known(table: Callable[..., Path]) -> None:
    found = only(table([(t, "" if t in (5, 6) else v) for t, v in BASE]))
    assert np.isnan(found.trace.bits).sum() == 2
    (note,) = found.notes
    assert (template(note), note.args["n"], note.args["line"]) == ("a bandwidth, from", 2, 7)


def test_dates_and_times_since_1970(table: Callable[..., Path]) -> None:
    dates = [(f"2026-05-01T12:{i // 60:02d}:{i % 60:02d}", 5.0) for i in range(100)]
    assert only(table(dates, "time,bandwidth_gbps")).trace.end_s[-1] == pytest.approx(100)
    stamps = [(1795269682566 + 1000 * i, 5.0) for i in range(100)]
    found = only(table(stamps, "timestamp,bandwidth_gbps"))
    assert found.trace.end_s[-1] == pytest.approx(100)
    assert found.notes == (message("times are taken for {unit} since 1970", unit="milliseconds"),)


@pytest.mark.parametrize("told", ["zeros", "gaps"])
def test_a_pattern_makes_rests(table: Callable[..., Path], told: str) -> None:
    busy = [t % 40 < 10 for t, _ in BASE]
    rows = [(t, v if on else 0.0) for (t, v), on in zip(BASE, busy, strict=True)]
    if told == "gaps":
        rows = [row for row, on in zip(rows, busy, strict=True) if on]
    assert "--pattern 10-30" in sentence(only(table(rows)).notes[-1])
    trace = only(table(rows), pattern=(10.0, 30.0)).trace
    resting = (trace.on_s == 0) & (trace.end_s <= 160)
    lasts = (trace.end_s - trace.start_s)[resting].sum()
    assert lasts == pytest.approx(120)
    with pytest.raises(InputError, match="no rests"):
        only(table(BASE), pattern=(10.0, 30.0))


def bucket(
    is_gap: bool, rests: tuple[int, ...], budget: float = 5400.0
) -> list[tuple[object, ...]]:
    """Send through a bucket of 10 and 1 Gbit/s until it has been empty for a minute, and rest."""
    rows: list[tuple[object, ...]] = []
    tokens, time, noise = budget, 0, np.random.default_rng(1)
    for rest in (0, *rests):
        if not is_gap:
            rows += [(time + k, 0.0) for k in range(rest)]
        tokens, time, low = min(budget, tokens + rest), time + rest, 0
        while low < 60:
            rate = 1 + min(9.0, tokens)
            low, tokens = low + (rate == 1), max(0.0, tokens + 1 - rate)
            rows.append((time, rate * (1 + 0.002 * noise.standard_normal())))
            time += 1
    return rows


@pytest.mark.parametrize("is_gap", [True, False])
@pytest.mark.parametrize("pattern", [None, "idle"])
def test_unequal_idle_periods_of_a_bucket_are_recognised_or_declared(
    table: Callable[..., Path], is_gap: bool, pattern: str | None
) -> None:
    file = table(bucket(is_gap, (120, 300, 200)))
    found = only(file, pattern=pattern)
    assert ids(found) == ([] if pattern else [", are taken"])
    known = identify(found.trace, {})
    assert known.kind == "bucket"
    assert known.budget_gbit is not None
    assert known.budget_gbit.value == pytest.approx(5400, rel=0.01)
    # Outages restore it as well, and whoever knows that they are some can say so.
    assert (only(file, pattern=(1.0, 0.0)).trace.on_s > 0).all()


def test_a_file_of_flent_is_a_trace_whose_time_is_its_first_column() -> None:
    file = DATA / "interop" / "table" / "flent.csv"
    found = only(file, value="TCP upload", unit=units.unit("Mbit/s"))
    assert found.trace.end_s[-1] == pytest.approx(18.0)
    assert np.isfinite(found.trace.bits).sum() == 40
    assert np.nanmean(found.trace.rate_bps) == pytest.approx(25e6, rel=0.1)


def test_outages_of_a_steady_rate_are_no_idle_periods(table: Callable[..., Path]) -> None:
    rows = [(t, 0.0 if 50 <= t < 60 or 120 <= t < 150 else v) for t, v in BASE]
    found = only(table(rows))
    assert ids(found) == [", are taken"]
    assert identify(found.trace, {}).outages == 2
    declared = only(table(rows), pattern="idle")
    assert identify(declared.trace, {}).outages == 0
    with pytest.raises(InputError, match="no periods without data"):
        only(table(BASE), pattern="idle")


def test_a_trace_that_ends_in_a_rest_of_its_pattern_has_no_outage(
    table: Callable[..., Path],
) -> None:
    rows = [(t, v if t % 40 < 10 else 0.0) for t, v in BASE if t < 180]
    trace = only(table(rows), pattern=(10.0, 30.0)).trace
    assert (trace.on_s > 0).sum() == 50
    assert identify(trace, {}).outages == 0


def test_intervals_with_hardly_any_sending_are_no_outages() -> None:
    start = np.arange(60.0)
    on = np.where(start % 10 < 5, 1.0, 0.0)
    # The next burst began just before the last interval of a rest ended.
    on[start % 10 == 9] = 1e-4
    trace = Trace(start, start + 1, np.where(on == 1, 5e9, 0.0), on)
    found = identify(trace, {})
    assert (found.kind, found.outages) == ("constant", 0)


def test_one_row_a_burst_with_a_pattern(table: Callable[..., Path]) -> None:
    rows = [(35.0 * i, 9.0) for i in range(50)]
    trace = only(table(rows), pattern=(5.0, 30.0)).trace
    sent = trace.on_s > 0
    assert trace.on_s[sent] == pytest.approx(5)
    assert trace.rate_bps[sent] == pytest.approx(9e9)
    assert (trace.end_s - trace.start_s)[~sent] == pytest.approx(30)


def test_iperf3_with_one_run_and_several() -> None:
    folder = DATA / "interop" / "iperf3"
    one = only(folder / "tcp.json")
    assert one.key["direction"] == "to server"
    assert (one.trace.on_s > 0).all()
    several = only(folder / "three_runs.json")
    assert (several.trace.start_s[1:] >= several.trace.end_s[:-1]).all()
    assert several.notes[-1] == message(
        "{n} runs follow each other, with idle periods in between", n=3
    )
    assert len(read(folder / "bidir.json", Asked())) == 2
    with pytest.raises(InputError, match="Connection refused"):
        read(folder / "refused.json", Asked())
    with pytest.raises(InputError, match="no columns"):
        read(folder / "tcp.json", Asked(value="x"))


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "zeros.csv").write_bytes(bytes(range(256)) * 40)
    for name, why in (("empty.csv", "empty"), ("other.json", "not iperf3"), ("none", "no "),
                      ("zeros.csv", "a zero byte")):  # fmt: skip
        with pytest.raises(InputError, match=why):
            read(tmp_path / name, Asked())
