"""Reading iperf3's JSON: one run or several, whole or as a stream of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from said import args

from tare import readers
from tare.errors import InputError
from tare.readers import Columns
from tare.readers.readings import counted
from tare.results.message import Chosen, message

DATA = Path(__file__).parents[1] / "data" / "interop" / "iperf3"


def run(*rates: object, seconds: float = 1.0, **test: Any) -> dict[str, Any]:
    sums = [{"bits_per_second": rate, "seconds": seconds, "sender": True} for rate in rates]
    return {
        "start": {"connected": [], "version": "iperf 3.12", "test_start": test},
        "intervals": [{"streams": [], "sum": one} for one in sums],
    }


def written(folder: Path, *runs: dict[str, Any]) -> Path:
    file = folder / "iperf.json"
    file.write_text("\n".join(map(json.dumps, runs)))
    return file


def test_intervals_of_one_run_are_no_trials() -> None:
    found = readers.read(DATA / "tcp.json")
    assert found.format == "iperf3"
    (one,) = found.series
    assert one.key == {
        "server": "127.0.0.1",
        "protocol": "TCP",
        "streams": "1",
        "direction": "to server",
    }
    assert (one.metric, one.unit, one.lower_is_better) == ("bandwidth", "bits/s", False)
    assert one.trial is None
    assert len(one.values) == 12
    assert args(one.notes, "interop.warm_up") == {"count": counted([4], "interval")}
    assert args(one.notes, "interop.iperf3.limited") == {"rate": Chosen(200e6, "bits/s")}
    said = found.specification
    repetitions = args(said.repetitions, "interop.iperf3.repetitions")
    assert repetitions == {"runs": counted([1], "run"), "intervals": counted([12], "interval")}
    assert said.environment == "Linux 6.1.0 x86_64, iperf 3.12"


def test_runs_that_were_appended_are_trials() -> None:
    (one,) = readers.read(DATA / "three_runs.json").series
    assert one.trial is not None
    assert list(one.trial) == [0, 0, 1, 1, 2, 2]


def test_a_stream_of_events_is_a_run() -> None:
    found = readers.read(DATA / "stream.jsonl")
    (one,) = found.series
    assert len(one.values) == 5


def test_streams_at_once_are_one_series() -> None:
    (one,) = readers.read(DATA / "reverse_parallel.json").series
    assert (one.key["streams"], one.key["direction"]) == ("2", "to client")
    assert one.values.mean() == pytest.approx(200e6, rel=0.1)


def test_both_directions_at_once_are_two_series() -> None:
    found = readers.read(DATA / "bidir.json")
    assert [one.key["direction"] for one in found.series] == ["to server", "to client"]


def test_udp_is_told_from_tcp() -> None:
    (one,) = readers.read(DATA / "udp.json").series
    assert one.key["protocol"] == "UDP"


def test_other_fields_are_had_by_name() -> None:
    (one,) = readers.read(DATA / "tcp.json", Columns(value="retransmits")).series
    assert (one.metric, one.unit, one.lower_is_better) == ("retransmits", None, True)
    with pytest.raises(InputError, match="have no 'heat'"):
        readers.read(DATA / "tcp.json", Columns(value="heat"))


@pytest.mark.parametrize("name", ["refused.json", "refused.jsonl"])
def test_a_run_that_failed_says_why(name: str) -> None:
    with pytest.raises(InputError, match="unable to connect"):
        readers.read(DATA / name)


def test_a_failed_run_among_others_is_told(tmp_path: Path) -> None:
    failed = {**run(), "error": "no route"}
    found = readers.read(written(tmp_path, run(1.0, 2.0), failed))
    assert found.notes == (message("interop.iperf3.failed", error="no route"),)
    assert found.series[0].trial is None


def test_the_whole_after_a_stream_is_not_counted_twice(tmp_path: Path) -> None:
    whole = run(1.0, 2.0)
    events = [{"event": "start", "data": whole["start"]}]
    events += [{"event": "interval", "data": one} for one in whole["intervals"]]
    events += [{"event": "end", "data": {}}, whole]
    (one,) = readers.read(written(tmp_path, *events)).series
    assert list(one.values) == [1, 2]


def test_an_interval_cut_short_is_left_out(tmp_path: Path) -> None:
    one_run = run(1.0, 2.0, 3.0, 90.0)
    one_run["intervals"][3]["sum"]["seconds"] = 0.01
    (one,) = readers.read(written(tmp_path, one_run)).series
    assert list(one.values) == [1, 2, 3]
    assert one.notes == (message("interop.iperf3.cut_short", n=1),)


def test_what_is_wrong_is_told_with_its_path(tmp_path: Path) -> None:
    (one,) = readers.read(written(tmp_path, run(1.0, "fast"), run(-1.0, 3.0))).series
    assert list(one.values) == [1, 3]
    assert [args(d.message, "interop.place") for d in one.defects] == [
        {"place": "document 1.intervals[1].sum.bits_per_second", "found": "'fast'"},
        {"place": "document 2.intervals[0].sum.bits_per_second", "found": "-1.0"},
    ]
    broken = run(1.0)
    broken["intervals"][0]["sum"] = 3
    with pytest.raises(InputError, match=r"intervals\[0\].sum: expected an object"):
        readers.read(written(tmp_path, broken))
    with pytest.raises(InputError, match="the run has no intervals"):
        readers.read(written(tmp_path, run()))
