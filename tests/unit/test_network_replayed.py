"""Files with a trace, as steps of rates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tare.errors import InputError, StoreError
from tare.networks import replay
from tare.networks.shaping.specification import Replay, parse
from tare.networks.shaping.trace import Trace

IPERF3 = '{"start": {"connected": [], "version": "3.12"}, "intervals": %s}'


def _file(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def _replay(path: Path) -> Replay:
    found = replay.resolved(parse(f"replay:{path}"))
    assert isinstance(found, Replay)
    return found


def test_a_table_is_replayed_step_by_step(tmp_path: Path) -> None:
    path = _file(tmp_path, "instance,second,bandwidth_gbps\na,0,9.5\na,10,5\na,20,0\n")
    assert _replay(path).steps == ((10.0, 9_500_000_000), (10.0, 5_000_000_000), (10.0, 0))


def test_intervals_of_iperf3_are_replayed_with_their_headers(tmp_path: Path) -> None:
    document = {
        "start": {"connected": [], "version": "iperf 3.12", "tcp_mss_default": 1448},
        "intervals": [
            {"sum": {"start": start, "end": end, "seconds": end - start, "sender": False} | rest}
            for start, end, rest in (
                (0, 1, {"bits_per_second": 1e9, "omitted": True}),
                (1, 2, {"bits_per_second": 1.448e9}),
                (2, 4, {"bits_per_second": 1448}),
            )
        ],
    }
    path = _file(tmp_path, json.dumps(document), "iperf3.json")
    assert _replay(path).steps == ((1.0, 1_514_000_000), (2.0, 1514))


def test_gaps_and_rests_go_on_at_the_rate_before(tmp_path: Path) -> None:
    trace = Trace(
        start_s=np.array([0.0, 1, 2, 5]),
        end_s=np.array([1.0, 2, 3, 6]),
        bits=np.array([1e9, np.nan, 0.0, 3e9]),
        on_s=np.array([1.0, 1, 0, 1]),
    )
    assert replay.steps(trace) == ((5.0, 10**9), (1.0, 3 * 10**9))


def test_rows_without_a_bandwidth_are_not_known(tmp_path: Path) -> None:
    shaping = _replay(_file(tmp_path, "second,gbps\n0,1\n1,\n2, \n3,2\n4,2\n5,2\n"))
    assert shaping.steps[:3] == ((3.0, 10**9), (1.0, 2 * 10**9), (1.0, 2 * 10**9))


def test_long_traces_keep_what_they_carry() -> None:
    count = 3 * replay.MOST_STEPS
    start = np.arange(count) / 10
    bits = np.tile([1e6, 2e6, 3e6], replay.MOST_STEPS)
    trace = Trace(start_s=start, end_s=start + 0.1, bits=bits, on_s=np.full(count, 0.1))
    steps = replay.steps(trace)
    assert len(steps) <= replay.MOST_STEPS
    assert sum(lasts * rate for lasts, rate in steps) == pytest.approx(bits.sum())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column of time"),
        ("second,speed\n0,1\n", "no column of bandwidth"),
        ("second,bandwidth\n0,1\n", "its unit"),
        ("second,gbps\n0,1\n", "fewer than two"),
        ("second,gbps\n0,1\n1,-1\n", "line 3: the bandwidth is negative"),
        ("second,gbps\n0,1\n1,fast\n", "line 3 holds no time"),
        ("second,gbps\n0,1\n1\n", "line 3 holds no time"),
        ("second,gbps\n0,1\n1,nan\n", "none"),
        ("second,gbps\n0,1\n1,1e300\n", "none"),
        ("second,gbps\n0,1\n1,1\n0,1\n", "time does not go on at interval 3"),
        ("second,gbps\n0,0\n1,0\n", "carries nothing"),
        ("{", "no JSON of iperf3"),
        ('{"intervals": 3}', "no JSON of iperf3"),
        (IPERF3 % "3", "expected a list"),
        (IPERF3 % "[3]", r"intervals\[0\]: expected an object"),
        (
            IPERF3 % '[{"sum": {"start": 0, "end": 1, "bits_per_second": "x"}}]',
            "expected an amount",
        ),
        (IPERF3 % "[]", "no measurement"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        _replay(_file(tmp_path, text))


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        _replay(tmp_path / "missing.csv")
    with pytest.raises(StoreError, match="no measurement"):
        _replay(tmp_path)
