"""Measurements of networks as folders: what is read is what was told, and damage is told."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from histograms import bin_of, of_times
from measuring import ScriptedEnds, connect, measure, sending
from said import template

from tare.agent.record import (
    BeyondLimit,
    CongestionRefused,
    Ended,
    EndFull,
    EndSilent,
    EndUnreachable,
    Gap,
    Interval,
    MeasureFailed,
    OtherKey,
    OtherVersion,
    PhaseOver,
    PortClosed,
    Skip,
)
from tare.errors import AgentError, StoreError
from tare.features.network.fingerprint.search import trace_of
from tare.features.network.identify.identifying import identify, on_the_wire
from tare.features.network.measure.client import Ends
from tare.features.network.measure.ended import EndedError, advise, describe
from tare.networks.recording import folder, histogram, lines
from tare.networks.recording import writer as writing
from tare.networks.recording.rows import Rows
from tare.render.words import text
from tare.results.message import message


def test_trace_is_what_was_carried(tmp_path: Path) -> None:
    script = ScriptedEnds(rate=lambda s: 1e10 if s < 60 else 1e9)
    measure(tmp_path / "m", script, sending(0, 120))
    found = folder.trace(tmp_path / "m")
    assert len(found) == 12
    assert found.wire == pytest.approx(1514 / 1448)
    # A hundred round trips a second, of 64 bytes and their headers, are on the wire, too.
    beside = 100 * 8 * (64 + 66) / found.wire
    assert found.rate_bps[:6] == pytest.approx(1e10 + beside, rel=1e-9)
    assert found.rate_bps[6:] == pytest.approx(1e9 + beside, rel=1e-9)
    assert found.start_s[0] == 0
    assert found.end_s[-1] == 120


def test_rests_are_intervals_and_gaps_are_holes(tmp_path: Path) -> None:
    script = ScriptedEnds(lost=((40, 75),))
    measure(tmp_path / "m", script, sending(0, 120, 10, 30))
    found = folder.trace(tmp_path / "m")
    assert set(np.round(found.on_s, 6)) >= {0.0, 10.0}
    assert np.isnan(found.rate_bps[found.on_s == 0]).all()
    assert not ((found.start_s >= 40) & (found.start_s < 75)).any()
    read = folder.read(tmp_path / "m")
    assert read.gaps == ((40.0, 75.0, "connection reset"),)
    assert read.facts["here"]["congestion"] == "cubic"


def test_a_moment_of_sending_in_a_rest_is_a_rest_and_no_outage(tmp_path: Path) -> None:
    # Each burst is 0.1 ms longer than the intervals of its time: nothing comes through in that.
    script = ScriptedEnds(rate=lambda s: 0.0 if s % 10 == 5 else 1e9)
    measure(tmp_path / "m", script, sending(0, 60, 5.0001, 5), interval_ns=1_000_000_000)
    read = folder.read(tmp_path / "m")
    course, trace = read.courses["out"], folder.trace(read)
    moments = (course.on_s > 0) & (course.on_s < 0.01)
    assert moments.sum() == 6
    assert not course.sends[moments].any()
    assert (trace.on_s[moments] == 0).all()
    found = identify(trace, {})
    assert found.outages == 0
    assert found.kind == "constant"


def test_what_is_said_while_it_is_measured_is_said_of_the_folder(tmp_path: Path) -> None:
    script = ScriptedEnds(rate=lambda s: 0.0 if s % 10 == 5 else 1e9)
    measure(tmp_path / "m", script, sending(0, 60, 5.0001, 5), interval_ns=1_000_000_000)
    kept = on_the_wire(folder.trace(tmp_path / "m"))
    live = trace_of([one for *_, one in folder.intervals(tmp_path / "m")], pings=100)
    for name in ("start_s", "end_s", "bits", "on_s", "starved"):
        np.testing.assert_allclose(getattr(live, name), getattr(kept, name), rtol=1e-12)
    assert (kept.on_s == 0).sum() > 6


def test_bursts_shorter_than_a_tenth_of_an_interval_are_no_rests(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 600, 0.5, 9.5))
    assert folder.read(tmp_path / "m").courses["out"].sends.all()


def test_a_trace_that_does_not_say_who_waited_is_read(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 60))
    for name in (writing.ASKED, writing.TRACE):
        path = tmp_path / "m" / name
        text = re.sub(r'"(\w+_waited_ns)":\s*(null|\d+),?', "", path.read_text())
        text = re.sub(r",}", "}", text)
        path.write_text(re.sub(rf'"version":(\s*){lines.VERSION}', r'"version":\g<1>1', text))
    read = folder.read(tmp_path / "m")
    assert not read.notes
    trace = folder.trace(read)
    assert trace.starved is not None
    assert not trace.starved.any()
    assert folder.lacks(read) == ()


def test_directions_are_kept_apart(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 30), direction="both")
    read = folder.read(tmp_path / "m")
    assert set(read.courses) == {"out", "in"}
    assert len(folder.trace(read, "in")) == 3
    measure(tmp_path / "n", ScriptedEnds(), sending(0, 30))
    with pytest.raises(StoreError, match="'in'"):
        folder.trace(tmp_path / "n", "in")


def test_round_trips_idle_and_loaded(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 60), sending(1, 60, 0))
    course = folder.read(tmp_path / "m").courses["out"]
    assert course.round_trips[0].quantile_ns(0.5) == pytest.approx(2_010_000, rel=1 / 64)
    assert course.idle[1].quantile_ns(0.5) == pytest.approx(105_000, rel=1 / 64)
    assert 0 not in course.idle
    assert course.round_trip_ns.shape == (12, 4)
    assert course.round_trip_ns[0, 3] == 2_019_000


def test_last_line_cut_off(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 60))
    path = tmp_path / "m" / writing.TRACE
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    read = folder.read(tmp_path / "m")
    assert len(read.courses["out"]) == 6
    assert read.notes == (message("{n | counted('line')} left out: cut off or damaged", n=1),)
    # What is written after it stands by itself.
    with writing.Writer(tmp_path / "m") as writer:
        writer.stretch()
    assert json.loads(path.read_bytes().splitlines()[-1])["record"] == "stretch"
    assert len(folder.read(tmp_path / "m").courses["out"]) == 6


def test_stretches_follow_each_other(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 60))
    path = tmp_path / "m" / writing.TRACE
    first = path.read_bytes().splitlines(keepends=True)
    later = json.loads(first[0])
    later["boottime_ns"] += 100 * 10**9
    again = [json.dumps(later).encode() + b"\n", *first[1:]]
    path.write_bytes(b"".join([*first, *again]))
    read = folder.read(tmp_path / "m")
    assert read.courses["out"].start_s[6] == pytest.approx(100)
    assert read.gaps == ((60.0, 100.0, message("the measurement was stopped and resumed")),)
    # Another boot, and a clock that was set back.
    later |= {"boot_id": "another", "realtime_ns": later["realtime_ns"] - 10**12}
    path.write_bytes(b"".join([*first, json.dumps(later).encode() + b"\n", *first[1:]]))
    read = folder.read(tmp_path / "m")
    assert read.courses["out"].start_s[6] == pytest.approx(60)
    assert any(template(note) == "and shown as" for note in read.notes)
    assert read.gaps[0][2] == message("the machine was restarted")


def test_times_that_go_back_are_left_out(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 30))
    path = tmp_path / "m" / writing.TRACE
    lines = path.read_bytes().splitlines(keepends=True)
    interval = next(line for line in lines if b'"interval"' in line)
    negative = json.loads(interval) | {"start_ns": 30 * 10**9, "end_ns": 40 * 10**9}
    negative["acked_bytes"] = -5
    path.write_bytes(b"".join([*lines, interval, json.dumps(negative).encode() + b"\n"]))
    read = folder.read(tmp_path / "m")
    assert len(read.courses["out"]) == 3
    assert read.notes == (
        message("{n | counted('interval')} left out: impossible times or counts", n=2),
    )


@pytest.mark.parametrize("count", ["acked_bytes", "received_bytes"])
def test_intervals_with_impossible_counts_are_left_out(tmp_path: Path, count: str) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 30))
    path = tmp_path / "m" / writing.TRACE
    last = [line for line in path.read_bytes().splitlines() if b'"interval"' in line][-1]
    told = json.loads(last)
    most = (told["end_ns"] - told["start_ns"]) * 10**5 // 8
    for bytes_, left in ((most, 3), (most + 1, 2), (2**63 - 1, 2)):
        changed = json.dumps(told | {count: bytes_}).encode()
        path.write_bytes(path.read_bytes().replace(last, changed))
        last = changed
        read = folder.read(tmp_path / "m")
        assert len(read.courses["out"]) == left
        assert any(template(one) == "times or counts" for one in read.notes) == (left == 2)


@pytest.mark.parametrize("number", [2**63, 10**400])
@pytest.mark.parametrize("path", [("busy_ns",), ("acked_bytes",), ("smoothed_rtt", "max_ns")])
def test_integers_above_64_bits_are_damage(
    tmp_path: Path, path: tuple[str, ...], number: int
) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 30))
    trace = tmp_path / "m" / writing.TRACE
    last = [line for line in trace.read_bytes().splitlines() if b'"interval"' in line][-1]
    interval = json.loads(last)
    holder = interval[path[0]] if len(path) > 1 else interval
    holder[path[-1]] = number
    trace.write_bytes(trace.read_bytes().replace(last, json.dumps(interval).encode()))
    read = folder.read(tmp_path / "m")
    assert len(read.courses["out"]) == 2
    assert read.notes == (message("{n | counted('line')} left out: cut off or damaged", n=1),)


@pytest.mark.parametrize("name", [writing.ASKED, writing.TRACE])
def test_a_pipe_in_a_folder_holds_nobody_up(tmp_path: Path, name: str) -> None:
    measure(tmp_path, ScriptedEnds(), sending(0, 30))
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(StoreError, match="no plain file"):
        folder.read(tmp_path)


@pytest.mark.parametrize("what", ["nothing", "garbage", "version", "trace", "binary"])
def test_what_is_no_measurement(tmp_path: Path, what: str) -> None:
    if what != "nothing":
        measure(tmp_path, ScriptedEnds(), sending(0, 30))
    asked, trace = tmp_path / writing.ASKED, tmp_path / writing.TRACE
    match what:
        case "garbage":
            asked.write_text("{]")
        case "version":
            asked.write_text(
                asked.read_text().replace(f'"version": {lines.VERSION}', '"version": 9')
            )
        case "trace":
            trace.write_text('{"some": "json"}\n')
        case "binary":
            head = trace.read_bytes().splitlines(keepends=True)[0]
            trace.write_bytes(head + random.Random(1).randbytes(1 << 16))
    with pytest.raises(StoreError) as caught:
        folder.read(tmp_path)
    assert caught.value.hint


def test_a_measurement_is_not_written_over(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 30))
    with pytest.raises(StoreError, match="already") as caught:
        measure(tmp_path / "m", ScriptedEnds(), sending(0, 30))
    assert "--resume" in str(caught.value.hint)


def test_one_session_at_a_time_and_only_where_it_began(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 20))
    with writing.Writer(tmp_path / "m") as writer:
        with pytest.raises(StoreError, match="another tare is measuring"):
            writing.Writer(tmp_path / "m")
        (tmp_path / "m").rename(tmp_path / "n")
        with pytest.raises(StoreError, match="removed or replaced"):
            writer.stretch()
    writing.Writer(tmp_path / "n").close()


def test_no_room(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 30))
    trace = tmp_path / "m" / writing.TRACE
    trace.unlink()
    trace.symlink_to("/dev/full")
    writer = writing.Writer(tmp_path / "m")
    with pytest.raises(StoreError, match="No space left"):
        writer.stretch()
    writer.close()


def test_what_is_left(tmp_path: Path) -> None:
    measure(tmp_path / "m", ScriptedEnds(over=(4, "the disk burns\ntry: water")), sending(0, 10))
    phases = (sending(0, 60), sending(1, 60))
    with pytest.raises(AgentError, match="burns"):
        measure(tmp_path / "n", ScriptedEnds(over=(4, "it burns\n  try: water")), *phases)
    read = folder.read(tmp_path / "n")
    assert read.left_ns() == {0: 30 * 10**9, 1: 60 * 10**9}
    assert folder.read(tmp_path / "m").left_ns() == {}


def test_ends_yield_a_phase_and_skip(tmp_path: Path) -> None:
    script = ScriptedEnds(lost=((20, 30),))
    with Ends(connect(), channel=script) as ends:
        told = list(ends.phase(60, 10, 30))
        assert isinstance(told[-1], PhaseOver)
        assert any(isinstance(one, Gap) for one in told)
        for one in ends.phase(None):
            assert isinstance(one, Interval)
            break
        # The next phase ends the one that nobody listens to.
        assert all(one.id == 2 for one in ends.phase(30) if isinstance(one, Interval))
    assert any(isinstance(order, Skip) and order.id == 2 for order in script.orders)
    assert script.closed


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (OtherKey(end="192.0.2.1:8273"), "--key"),
        (PortClosed(end="[2001:db8::1]:8273"), "tare net serve --bind 2001:db8::1 "),
        (EndSilent(end="192.0.2.1:8273"), "ping 192.0.2.1"),
        (EndFull(), "--max-streams"),
        (BeyondLimit(limit="time", allowed=12 * 10**9, asked=30 * 10**9), "--max-duration 30s"),
        (BeyondLimit(limit="bytes", allowed=10**6, asked=10**9), "--max-bytes 1GB"),
        (BeyondLimit(limit="bytes", allowed=10**6), "--max-bytes MORE"),
        (BeyondLimit(limit="total_bytes", allowed=10**6), "--max-total-bytes MORE"),
        (MeasureFailed(message="gone"), None),
    ],
)
def test_ends_say_why_there_is_no_connection(said: Ended, hint: str | None) -> None:
    with pytest.raises(EndedError) as caught:
        Ends(connect(), channel=ScriptedEnds(over=(0, said)))
    assert caught.value.ended == said
    assert (caught.value.hint is None) if hint is None else (hint in (caught.value.hint or ""))


def test_fewer_streams_are_what_a_refusal_of_streams_asks_for() -> None:
    refused = BeyondLimit(limit="streams", allowed=2, asked=4)
    assert describe(refused) == message(
        "the other end allows {allowed | counted('data stream')} at a time{% if asked %}, "
        "this measurement takes {asked}{% endif %}",
        allowed=2,
        asked=4,
    )
    assert re.findall(r"--[a-z-]+ \d", advise(refused) or "") == ["--streams 2", "--max-streams 4"]


@pytest.mark.parametrize(
    ("ended", "said", "hint"),
    [
        (PortClosed(end="[::1]:7"), ["[::1]:7"], "--bind ::1"),
        (EndSilent(end="192.0.2.1:7"), ["192.0.2.1:7"], "ping 192.0.2.1"),
        (EndUnreachable(end="192.0.2.1:7", error="no route"), ["no route"], "ip route get 192"),
        (OtherVersion(end="a:7", theirs=9, ours=2), ["a:7", "version 9", "version 2"], "same tare"),
        (EndFull(), [], "--max-streams"),
        (
            CongestionRefused(available="cubic", error="gone", here=False, name="bbr"),
            ["'bbr'", "gone", "cubic", "other end"],
            "--congestion kernel",
        ),
        (BeyondLimit(limit="time", allowed=60 * 10**9), ["60 s", "reached"], "--max-duration"),
        (
            BeyondLimit(limit="total_bytes", allowed=10**9, asked=2 * 10**9),
            ["1 GB", "2 GB", "total"],
            "--max-total-bytes 2GB",
        ),
        (MeasureFailed(message="no memory"), ["no memory"], ""),
    ],
)
def test_whatever_ends_a_measurement_says_its_values_and_what_helps(
    ended: Ended, said: list[str], hint: str
) -> None:
    assert all(part in text(describe(ended)) for part in said)
    assert hint in (advise(ended) or "")


def test_garbage_of_an_agent_is_an_error() -> None:
    script = ScriptedEnds()
    with Ends(connect(), channel=script) as ends:
        script.lines.append(b"\xff{")
        with pytest.raises(AgentError, match="no record"):
            list(ends.phase(10))


@pytest.mark.parametrize("time_ns", [0, 1, 63, 64, 127, 128, 129, 10**6, 123_456_789, 10**12])
def test_bins_hold_their_times(time_ns: int) -> None:
    number = bin_of(time_ns)
    low, high = histogram.EDGES_NS[number], histogram.EDGES_NS[number + 1]
    assert low <= time_ns < high
    assert high - low <= max(1, low / 64)


def test_quantiles_of_rows_are_those_of_the_times() -> None:
    generator = np.random.default_rng(5)
    rows, every = Rows((0.5, 0.99)), []
    for number in range(30):
        times = np.exp(generator.normal(14, 1, 400 if number % 5 else 0)).astype(int)
        every.append(times)
        rows.add(of_times(times.tolist()), (0, True))
    found = rows.quantiles()
    for row, times in zip(found, every, strict=True):
        if len(times):
            assert row[:2] == pytest.approx(np.quantile(times, (0.5, 0.99)), rel=0.05)
            assert row[2] == times.max()
        else:
            assert np.isnan(row).all()
    together = rows.together[0, True]
    assert len(together) == sum(len(times) for times in every)
    assert together.quantile_ns(0.9) == pytest.approx(np.quantile(np.concatenate(every), 0.9), 0.03)


def test_lines_are_read_as_they_were_written() -> None:
    script = ScriptedEnds()
    with Ends(connect(), channel=script) as ends:
        for one in (ends.connected, *ends.phase(20)):
            assert lines.decode(lines.encode(one)) == one
    assert msgspec.json.decode(lines.encode(ends.connected))["record"] == "connected"


@pytest.mark.parametrize("bins", ['[["a",1]]', "[[1,2],[],[3,4]]", "[[1.5,2]]", "7", "[[1,2,3]]"])
def test_bins_that_are_none_are_left_out(tmp_path: Path, bins: str) -> None:
    measure(tmp_path / "m", ScriptedEnds(), sending(0, 30))
    path = tmp_path / "m" / writing.TRACE
    text = path.read_text()
    start = text.index('"bins":', text.index('"round_trips"')) + len('"bins":')
    path.write_text(text[:start] + bins + text[text.index("]]", start) + 2 :])
    course = folder.read(tmp_path / "m").courses["out"]
    assert len(course) == 3
    assert np.isnan(course.round_trip_ns[0, :3]).all()
    assert len(course.round_trips[0]) == 40
