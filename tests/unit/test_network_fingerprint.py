"""Fingerprints of a network: measured on a simulated one, compared, kept, read with suspicion."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
import pytest
from histograms import of_times
from said import args, template
from simulated_network import WIRE, Channel, Network, Silent, measured

from tare.agent.record import Connect
from tare.errors import StoreError
from tare.experiment.fingerprints.network import cache, file
from tare.experiment.fingerprints.network.difference import all_figures, change, compare, margin
from tare.experiment.fingerprints.network.document import Figure, Write
from tare.experiment.fingerprints.network.messages import doubts, figure_told, name_told, shaping_of
from tare.features.network.fingerprint import figures, search
from tare.features.network.fingerprint.page import fastest
from tare.features.network.fingerprint.session import Wanted, take
from tare.features.network.measure.client import Ends
from tare.host import state
from tare.render.words import text
from tare.results.message import Amount, Chosen, message


def test_brief_finds_base_latency_bandwidth_and_latency_under_load() -> None:
    found = measured(Network(capacity=None))
    assert found.figures["latency.unpaced.p50"].value == pytest.approx(50_000, rel=0.1)
    assert found.figures["latency.loaded.p50"].value == pytest.approx(900_000, rel=0.1)
    bandwidth = found.figures["bandwidth.fresh"]
    assert bandwidth.value == pytest.approx(400e6 / WIRE, rel=0.02)
    assert bandwidth.ci is not None
    assert bandwidth.ci[0] <= bandwidth.value <= bandwidth.ci[1]
    assert [one.write_bytes for one in found.writes] == [1 << 10, 1 << 17]
    assert found.here["mtu"] == "1500"


def test_no_bucket_is_never_called_none() -> None:
    said = shaping_of(measured(Network(capacity=None)))
    assert template(said) == "no bucket seen"
    sent = said.args["sent"]
    assert isinstance(sent, Amount)
    assert sent.unit == "bits"
    assert sent.value is not None
    assert sent.value > 0


def test_search_finds_the_bucket_and_rests_before_writes() -> None:
    network = Network()
    found = measured(network, search.Bounds(seconds=60))
    assert found.shaping is not None
    assert found.shaping.kind == "bucket"
    known = found.figures
    assert known["bucket.high"].value == pytest.approx(400e6, rel=0.05)
    assert known["bucket.low"].value == pytest.approx(100e6, rel=0.05)
    assert known["bucket.budget"].value == pytest.approx(300e6, rel=0.10)
    assert known["bucket.refill"].value == pytest.approx(100e6, rel=0.10)
    # Throttled, the queue is longer.
    assert known["latency.throttled.p50"].value > known["latency.loaded.p50"].value
    # Each size of writes met a bucket that held enough.
    for one in found.writes:
        assert one.bandwidth.value == pytest.approx(400e6 / WIRE, rel=0.1)


def test_writes_that_met_an_empty_bucket_are_marked_and_not_compared() -> None:
    slow = measured(Network(), search.Bounds(seconds=60), rest_s=0.0)
    assert any(one.throttled for one in slow.writes)
    assert "left for a" in [template(one) for one in doubts(slow)]
    found = compare(measured(Network(), search.Bounds(seconds=60)), slow)
    assert found.throttled
    assert not any(one.figure.startswith(f"write.{found.throttled[0]}.") for one in found.changes)


def test_latencies_differ_by_what_waking_up_takes() -> None:
    def figure(microseconds: float) -> Figure:
        ns = 1e3 * microseconds
        return Figure(value=ns, ci=(0.99 * ns, 1.01 * ns), unit="ns", n=12)

    name = "latency.unpaced.p50"
    assert change(name, figure(15), figure(51)).verdict == "inconclusive"
    assert change(name, figure(51), figure(15)).verdict == "inconclusive"
    assert change(name, figure(100), figure(200)).verdict == "differs"
    assert change(name, figure(51), figure(51)).verdict == "same"
    tail = "latency.unpaced.p99"
    assert change(tail, figure(40), figure(180)).verdict == "inconclusive"
    assert change(tail, figure(40), figure(400)).verdict == "differs"


def test_a_pipe_is_no_fingerprint_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="no plain file"):
        file.read(tmp_path / "pipe")


def test_search_stops_at_its_bytes() -> None:
    network = Network(capacity=None)
    found = measured(network, search.Bounds(seconds=600, bits=2e9))
    assert found.searched is not None
    assert 2e9 <= found.searched.bits <= 2.1e9
    assert found.searched.ended == text(
        message("the limit of {bits} was reached", bits=Chosen(2e9, "bits"))
    )


def test_lost_end_keeps_what_was_measured() -> None:
    network = Network(capacity=None)
    made = 0

    def opening(asked: Connect) -> Ends:
        nonlocal made
        made += 1
        return Ends(asked, channel=Channel(network, dies_after=None if made == 1 else 8))

    wanted = Wanted(end="192.0.2.1", key="00" * 32, bucket=None, sizes=(1024,))
    found, _ = take(wanted, Silent(), opening=opening, clock=network.clock)
    assert "latency.unpaced.p50" in found.figures
    assert "bandwidth.fresh" not in found.figures
    assert found.problems


def test_round_trips_join_what_the_parts_hold() -> None:
    rng = np.random.default_rng(3)
    times = rng.lognormal(12, 0.3, (24, 400)).astype(int)
    found = figures.round_trips(
        [of_times([int(t) for t in row]) for row in times], (("p50", 0.5), ("max", 1.0))
    )
    assert found["p50"].value == pytest.approx(np.median(times), rel=0.02)
    assert found["p50"].ci is not None
    assert found["max"].value == times.max()
    assert found["max"].ci is None


def test_the_same_network_twice_is_the_same_and_another_differs() -> None:
    one, other = measured(Network(capacity=None, seed=1)), measured(Network(capacity=None, seed=2))
    again = compare(one, other)
    assert again.verdict == "same", again.undecided
    assert not again.deciding
    slower = compare(one, measured(Network(high=300e6, capacity=None)))
    assert slower.verdict == "differs"
    assert "bandwidth.fresh" in {c.figure for c in slower.differing}


def test_another_mtu_is_another_network() -> None:
    network = Network(capacity=None)
    network.facts["mtu"] = "9000"
    found = compare(measured(Network(capacity=None)), measured(network))
    assert found.verdict == "differs"
    assert "here mtu" in found.deciding


def test_what_an_end_does_not_tell_decides_nothing() -> None:
    silent = Network(capacity=None)
    del silent.facts["mtu"]
    found = compare(measured(Network(capacity=None)), measured(silent))
    assert found.facts["here mtu"] == ("1500", None)
    assert not found.deciding


def test_bucket_beside_a_short_look_is_not_decided() -> None:
    bucket = measured(Network(), search.Bounds(seconds=60))
    one = measured(Network(capacity=None))
    short = msgspec.structs.replace(
        one, searched=msgspec.structs.replace(one.searched, bits=1e8) if one.searched else None
    )
    assert "shaping" not in compare(bucket, short).deciding
    assert "shaping" in compare(bucket, one).deciding


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("bucket.high", 0.05),
        ("bucket.budget", 0.1),
        ("write.1024.bandwidth", 0.1),
        ("write.1024.round_trip", 0.5),
    ],
)
def test_margins_go_by_the_longest_name(name: str, limit: float) -> None:
    assert margin(name) == limit


def test_file_comes_back_as_it_was(tmp_path: Path) -> None:
    found = measured()
    file.write(found, tmp_path / "network.json")
    assert file.read(tmp_path / "network.json") == found


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "machine"},
        {"version": 99},
        {"figures": {"bandwidth.fresh": {"value": 1, "ci": [2, 3], "unit": "bits/s", "n": 1}}},
        {"figures": {"BANDWIDTH": {"value": 1, "ci": None, "unit": "bits/s", "n": 1}}},
        {"figures": {"bandwidth.fresh": {"value": -1, "ci": None, "unit": "bits/s", "n": 1}}},
        {"figures": {"bandwidth.fresh": {"value": 1, "ci": None, "unit": "furlong", "n": 1}}},
        {"streams": 0},
        {"more": 1},
        {"started": "yesterday"},
        {"here": {"mtu": "x" * 1000}},
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    whole = msgspec.to_builtins(measured())
    path = tmp_path / "network.json"
    path.write_bytes(msgspec.json.encode({**whole, **change}))
    with pytest.raises(StoreError) as error:
        file.read(path)
    assert error.value.hint


@pytest.mark.parametrize("text", [b"", b"[" * 100_000, b'{"kind": "network"', b"\xff\xfe", b"{}"])
def test_what_is_no_file_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "network.json"
    path.write_bytes(text)
    with pytest.raises(StoreError):
        file.read(path)


def test_facts_of_a_session_bring_the_figures_back() -> None:
    found = measured(Network(), search.Bounds(seconds=60))
    told = cache.read((f.name, f.value) for f in cache.of(found, cache.GIVEN))
    assert told is not None
    assert told.origin == cache.GIVEN
    assert set(told.figures) == set(found.figures)
    for name, figure in found.figures.items():
        assert told.figures[name].value == pytest.approx(figure.value, rel=1e-5)
        assert (told.figures[name].ci is None) == (figure.ci is None)
    assert cache.difference(told, told).verdict != "differs"


def test_state_remembers_the_newest_of_each_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.host.state.folder", lambda: tmp_path)
    assert cache.facts() == []
    first = measured(Network(capacity=None))
    later = msgspec.structs.replace(first, started="2031-01-01T00:00:00Z")
    cache.remember(msgspec.structs.replace(later, end="192.0.2.2"))
    cache.remember(first)
    cache.remember(later)
    assert len(cache.kept()) == 2
    told = {fact.name: fact.value for fact in cache.facts()}
    assert told["network_fingerprint_date"] == "2031-01-01 00:00"
    assert told["network_fingerprint_origin"] == cache.REMEMBERED
    # The time of day was set back.
    cache.remember(msgspec.structs.replace(first, started="2020-01-01T00:00:00Z"))
    assert [one.started[:4] for one in cache.kept()] == ["2020", "2031"]
    told = {fact.name: fact.value for fact in cache.facts()}
    assert told["network_fingerprint_date"] == "2020-01-01 00:00"
    (tmp_path / state.NETWORKS).write_text('{"fingerprints": [{"version": 1}]}')
    assert cache.facts() == []


def test_words() -> None:
    assert name_told("latency.unpaced.p99") == "unpaced latency, p99"
    assert name_told("write.131072.bandwidth").split(": ")[1] == "bandwidth"
    figure = Figure(value=9.41e9, ci=(9.4e9, 9.42e9), unit="bits/s", n=12)
    assert figure_told(figure) == "9.410 Gbit/s [9.400, 9.420]"
    assert all(name_told(name) for name in all_figures(measured()))


def test_sizes_that_are_alike_are_not_ranked() -> None:
    def write(size: int, low: float, high: float) -> Write:
        value = (low + high) / 2
        bandwidth = Figure(value=value, ci=(low, high), unit="bits/s", n=10)
        return Write(write_bytes=size, bandwidth=bandwidth, round_trip=None, retransmitted=None)

    same = [write(1 << 10, 286.3e6, 286.7e6), write(1 << 20, 286.8e6, 286.9e6)]
    assert template(fastest(same)) == "than 1 %:"
    slow = write(64, 90e6, 95e6)
    small, large = Chosen(1 << 10, "bytes"), Chosen(1 << 20, "bytes")
    assert args(fastest([slow, *same]), "{sizes | join(', ')}: {rates | join(' to ')}")[
        "sizes"
    ] == [small, large]
    assert args(fastest([slow, same[1]]), "{sizes | join(', ')}: {rates | join(' to ')}")[
        "sizes"
    ] == [large]
    # Of which nothing is known but one value.
    alone = msgspec.structs.replace(slow, bandwidth=Figure(value=9e7, ci=None, unit="bits/s", n=1))
    assert template(fastest([alone, *same])) == "than 1 %:"
