"""Ends without CPU are named before the network: made intervals, each with one thing wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from histograms import of_times
from measuring import ScriptedEnds, measure, sending
from said import args, template
from simulated_network import Network, measured

from tare.agent.record import Interval
from tare.experiment.fingerprints.network import difference, file, messages
from tare.features.network.fingerprint import search, starving
from tare.features.network.fingerprint.search import trace_of
from tare.features.network.identify.identifying import identify
from tare.features.network.measure.caveats import advice, blamed, caveats
from tare.features.network.measure.summary import summaries
from tare.networks.recording import folder, starved
from tare.networks.recording.intervals import of_intervals
from tare.networks.recording.starved import Work, lacks, of_course
from tare.networks.shaping.trace import QUANTUM_BITS

N = 60
MS = 1_000_000


def interval(number: int, rate: float = 1e9, **more: int | None) -> Interval:
    """A tenth of a second at full speed; waits and so on in milliseconds."""
    ns = {f"{name}_ns": None if ms is None else ms * MS for name, ms in more.items()}
    plain = {"busy_ns": 100 * MS, "receiver_limited_ns": 0, "sender_waited_ns": 0,
             "receiver_waited_ns": 0}  # fmt: skip
    return Interval(
        id=0, direction="out", start_ns=100 * MS * number, end_ns=100 * MS * (number + 1),
        on_ns=100 * MS, acked_bytes=round(rate / 80), retransmits=0, segment_bytes=1448,
        round_trips=of_times([]), smoothed_rtt=of_times([]), **{**plain, **ns},
    )  # fmt: skip


def some(**at: Interval) -> list[Interval]:
    """A steady trace, in which some intervals are others: `i30=…`."""
    return [at.get(f"i{number}", interval(number)) for number in range(N)]


def work_of(intervals: list[Interval], streams: int) -> Work:
    return of_course(of_intervals("out", intervals), streams)


def ends(intervals: list[Interval]) -> tuple[list[int], list[int]]:
    found = starved.starved(work_of(intervals, 1))
    return np.flatnonzero(found.sender).tolist(), np.flatnonzero(found.receiver).tolist()


def test_streams_that_run_dry_while_the_sender_waits() -> None:
    assert ends(some(i30=interval(30, 0.7e9, busy=70, sender_waited=60))) == ([30], [])
    # A whole trace of it has no other level to be compared with.
    every = [interval(i, 0.6e9, busy=60, sender_waited=70) for i in range(N)]
    assert ends(every) == (list(range(N)), [])


def test_waiting_while_data_is_under_way_does_no_harm() -> None:
    every = [interval(i, 0.3e9, sender_waited=40, receiver_waited=70) for i in range(N)]
    assert ends(every) == ([], [])


def test_streams_that_run_dry_while_nobody_waits_are_slow_for_another_reason() -> None:
    assert ends(some(i30=interval(30, 0.7e9, busy=70, sender_waited=2))) == ([], [])


def test_a_window_that_closes_while_the_receiver_waits() -> None:
    one = interval(30, 0.6e9, receiver_limited=40, receiver_waited=50)
    assert ends(some(i30=one)) == ([], [30])
    one = interval(30, 0.6e9, receiver_limited=40)
    assert ends(some(i30=one)) == ([], [])


def test_a_dip_is_the_ends_where_their_wait_explains_it() -> None:
    # The kernel counts a wait when it ends, and what was late comes with the next interval.
    late = some(i30=interval(30, 0.8e9), i31=interval(31, 1.2e9, receiver_waited=60))
    assert ends(late) == ([], [30, 31])
    deep = some(i30=interval(30, 0.1e9), i31=interval(31, receiver_waited=20))
    assert ends(deep) == ([], [])
    assert ends(some(i30=interval(30, 0.8e9))) == ([], [])


def test_a_piece_more_or_less_is_nobodys_wait() -> None:
    """What is left out must not be what carried more: the mean is then another."""
    # 500 Mbit/s in intervals of 20 ms, acknowledged in pieces of 64 KiB, threads that wait a bit.
    edges = np.floor(np.arange(N + 1) * 500e6 * 0.02 / QUANTUM_BITS) * QUANTUM_BITS
    work = starved.Work(
        on_s=np.full(N, 0.02),
        rate_bps=np.diff(edges) / 0.02,
        dry=np.zeros(N),
        limited=np.zeros(N),
        sender=np.full(N, 0.05),
        receiver=np.full(N, 0.05),
    )
    assert len(np.unique(work.rate_bps)) == 2
    assert not starved.starved(work).either.any()


def test_a_fall_that_lasts_is_the_networks() -> None:
    fallen = [
        interval(i, 1e9 if i < N / 2 else 0.2e9, receiver_waited=30, sender_waited=10)
        for i in range(N)
    ]
    assert ends(fallen) == ([], [])


def test_what_the_kernel_does_not_tell_says_nothing() -> None:
    absent = [
        interval(i, 0.6e9, busy=None, sender_waited=None, receiver_waited=None) for i in range(N)
    ]
    assert ends(absent) == ([], [])
    work = work_of(absent, 1)
    assert lacks(work, starved.starved(work)) == ()
    assert starved.waited(work) == {}
    assert ends([]) == ([], [])


def test_several_streams_wait_each_for_itself() -> None:
    one = interval(30, 0.9e9, busy=360, sender_waited=40)
    work = work_of([one] * N, 4)
    assert work.sender == pytest.approx(0.1)
    assert work.dry == pytest.approx(0.1)


def test_how_much_is_reported() -> None:
    work = work_of(
        [interval(i, 0.7e9, busy=70, sender_waited=60) if i % 4 == 0 else interval(i)
         for i in range(N)], 1,
    )  # fmt: skip
    (lack,) = lacks(work, starved.starved(work))
    assert lack.end == "sender"
    assert lack.waited == pytest.approx(0.15)
    assert lack.intervals == pytest.approx(0.25)
    few = work_of(some(i30=interval(30, 0.7e9, busy=70, sender_waited=60)), 1)
    assert lacks(few, starved.starved(few)) == ()


def test_waking_up_is_no_wait_of_round_trips() -> None:
    assert starved.late_share(0.53 * 15_000, 15_000, 1) is None
    assert starved.late_share(33_000, 39_000, 1) == pytest.approx(23 / 39)
    assert starved.late_share(0, 0, 0) is None


def stalling(number: int) -> Interval:
    """Slow for seconds, since the sender has no CPU, and then as before."""
    noise = 1 + 0.01 * (number * 7 % 11 - 5) / 5
    if 90 <= number < 150:
        return interval(number, noise * 0.5e9, busy=55, sender_waited=60)
    return interval(number, noise * 1e9)


def test_stalls_are_no_neighbours() -> None:
    trace = trace_of([stalling(i) for i in range(200)])
    assert identify(replace(trace, starved=None), {}).kind == "stepped"
    assert identify(trace, {}).kind == "constant"
    assert identify(trace, {}).outages == 0


def test_a_bucket_is_found_between_stalls() -> None:
    fall = [
        interval(i, 0.3e9 if i >= 100 else 1e9)
        if i % 10
        else interval(i, 0.15e9, busy=15, sender_waited=80)
        for i in range(200)
    ]
    found = identify(trace_of(fall), {})
    assert found.kind == "drop"
    assert found.high_gbps is not None
    assert found.high_gbps.value == pytest.approx(1514 / 1448, rel=0.01)


def test_measure_names_the_end_first(tmp_path: Path) -> None:
    def waits(second: float) -> tuple[float, float, float, float]:
        return (0.6, 0.0, 0.5, 0.4) if second % 100 < 30 else (0.0, 0.0, 0.0, 0.0)

    script = ScriptedEnds(rate=lambda s: 0.6e9 if s % 100 < 30 else 1e9, waits=waits)
    measure(tmp_path / "m", script, sending(0, 1000))
    read = folder.read(tmp_path / "m")
    (one,) = summaries(read)
    (lack,) = one.lacks
    assert (lack.end, lack.intervals) == ("sender", pytest.approx(0.3))
    assert lack.waited == pytest.approx(0.18)
    assert folder.lacks(read) == (lack,)
    assert one.limit is not None
    first = blamed([one])
    assert first[0].args["limit"] == one.limit.said
    said = args(first[0], "instead of the")
    assert (said["end"], said["waited"].value) == ("sender", pytest.approx(0.18))
    assert first[1] == starved.rule()
    again = advice([one], 1)
    assert again is not None
    assert (template(again), again.args["streams"]) == ("a CPU at", 1)
    assert caveats(read, [one])[: len(first)] == first
    trace = folder.trace(read)
    assert trace.starved is not None
    assert trace.starved.mean() == pytest.approx(0.3)
    assert identify(trace, {}).kind == "constant"


def test_phases_are_measured_again_until_nobody_lacks_cpu() -> None:
    network = Network(capacity=None)
    # The first two phases are base latency's.
    network.waits = lambda phase: (0.0, 0.9) if phase < 2 else (0.0, 0.0)
    found = measured(network)
    assert found.starved == ()
    assert not found.problems


def test_a_phase_is_repeated_a_few_times_and_then_told() -> None:
    network = Network(capacity=None)
    network.waits = lambda phase: (0.5, 0.0)
    found = measured(network)
    by_figure = {name: one for one in found.starved for name in one.figures}
    fresh = by_figure["bandwidth.fresh"]
    assert (fresh.end, fresh.tries) == ("sender", starving.TRIES)
    assert fresh.waited == pytest.approx(0.5)
    assert fresh.intervals == pytest.approx(1.0)
    assert {f"write.{1 << 10}", f"write.{1 << 17}"} <= set(by_figure)
    assert "latency.unpaced" not in by_figure
    assert not found.problems
    # Each end is named once, with all figures.
    ends = {one.end for one in found.starved}
    said = messages.doubts(found)
    assert [one.args.get("end") for one in said] == ["sender"] == [*ends]
    assert {"base bandwidth", "writes of 1 KiB"} <= {*said[0].args["figures"]}
    assert "throttled latency" not in said[0].args["figures"]
    assert [round(one.value, 2) for one in said[0].args["waited"]] == [0.5]
    assert file.decode(msgspec.json.encode(found), "it") == found


def test_fingerprints_of_ends_without_cpu_are_no_other_network() -> None:
    before = measured(Network(capacity=None))
    slow = Network(high=200e6, capacity=None)
    assert difference.compare(before, measured(slow)).verdict == "differs"
    slow = Network(high=200e6, capacity=None)
    slow.waits = lambda phase: (0.5, 0.5)
    found = difference.compare(before, measured(slow))
    assert found.verdict == "inconclusive"
    assert found.differing == ()
    (fresh,) = (one for one in found.changes if one.figure == "bandwidth.fresh")
    assert fresh.starved == ("sender",)
    # The same is the same, whoever waited.
    busy = Network(capacity=None)
    busy.waits = lambda phase: (0.5, 0.0)
    assert difference.compare(before, measured(busy)).verdict != "differs"


def test_a_search_goes_on_while_an_end_has_no_cpu() -> None:
    network = Network(capacity=None)
    network.waits = lambda phase: (0.5, 0.0)
    found = measured(network, search.Bounds(seconds=20.0))
    assert found.shaping is not None
    assert found.shaping.kind != "stepped"
    assert found.searched is not None
    assert any("shaping" in one.figures for one in found.starved)
