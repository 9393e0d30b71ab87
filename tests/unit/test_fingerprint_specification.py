"""What is predicted of recorded machines, and why measured values differ."""

from __future__ import annotations

from pathlib import Path

import pytest
import recorded
from said import args, template

from tare.features.machine.fingerprint.microarchitectures import TABLE
from tare.features.machine.fingerprint.specification import predict
from tare.host import hardware
from tare.render import words

HOME = Path("/srv/files")


def ids(prediction):
    return [template(why) for why in prediction.why]


@pytest.fixture
def sysmeasure(tmp_path):
    return hardware.read(HOME, recorded.i7_3770k(tmp_path / "i7"))


@pytest.fixture
def guest(tmp_path):
    return hardware.read(HOME, recorded.epyc_guest(tmp_path / "guest"))


def test_sysmeasure_memory_bandwidth(sysmeasure, tmp_path):
    by_modules = predict(sysmeasure, {"memory.bandwidth.read.1": 15.0e9})
    assert by_modules["memory.bandwidth.read.1"].value == 21_328e6
    assert by_modules["memory.bandwidth.read.1"].why[0].args == {
        "channels": 2, "transfers": "1333", "width": 8
    }  # fmt: skip
    hidden = hardware.read(root=recorded.i7_3770k(tmp_path / "hidden", modules=False))
    by_kind = predict(hidden, {"memory.bandwidth.read.8": 15.0e9})["memory.bandwidth.read.8"]
    assert by_kind.value == 25.6e9
    assert ids(by_kind)[0] == "hides the modules"
    assert by_kind.why[0].args == {"guest": False}


def test_sysmeasure_caches_and_memory(sysmeasure):
    """Its own predictions: 3-5, 10-15, 25-50 and 150-250 cycles at 3.5 GHz."""
    names = ["l1", "l2", "l3", "dram"]
    found = predict(sysmeasure, {f"memory.latency.{name}": 10.0 for name in names})
    cycles = [found[f"memory.latency.{name}"].value * 3.5 for name in names]
    assert cycles == pytest.approx([4, 12, 30, 217], rel=1e-6)
    sizes = predict(sysmeasure, {f"memory.cache.l{i}": 1.0 for i in (1, 2, 3)})
    assert [int(p.value) >> 10 for p in sizes.values()] == [32, 256, 8192]


def test_sysmeasure_calls_and_clock(sysmeasure):
    """It predicts 5 cycles and 1 to 2 an argument, and measures 5.9 to 10.6."""
    calls = predict(sysmeasure, {f"call.int.{n}": 2.0 for n in range(8)})
    values = [calls[f"call.int.{n}"].value for n in range(8)]
    assert values == sorted(values)
    assert 3 <= values[0] * 3.5 <= 6
    assert values[7] - values[6] > values[6] - values[5]
    clock = predict(sysmeasure, {"clock.tsc": 8.0, "clock.tscp": 9.0, "clock.vdso": 20.0})
    assert clock["clock.tsc"].value == pytest.approx(27 / 3.5)
    assert clock["clock.tsc"].value < clock["clock.tscp"].value < clock["clock.vdso"].value


def test_sysmeasure_disk(sysmeasure):
    found = predict(
        sysmeasure,
        {"file.read.random.latency.4096": 1e7, "file.read.sequential.bandwidth.1048576": 1e8},
    )
    assert found["file.read.random.latency.4096"].value == pytest.approx(12.67e6)
    assert ids(found["file.read.random.latency.4096"]) == ["a turn at"]
    assert found["file.read.sequential.bandwidth.1048576"].value == 180e6


def test_mitigations_cost_cycles(sysmeasure, guest):
    mitigated = predict(sysmeasure, {"syscall.getpid": 100.0})["syscall.getpid"]
    what = mitigated.why[0].args["what"]
    assert what.args["mitigations"] == ["page table isolation", "cleared buffers"]
    assert mitigated.value * 3.5 == pytest.approx(700)
    free = predict(guest, {"syscall.getpid": 80.0})["syscall.getpid"]
    assert free.why[0].args["what"].args["mitigations"] == []


def test_a_guest_whose_clock_runs_faster_than_it_is_told(guest):
    found = predict(
        guest,
        {"memory.latency.l1": 1.22, "loop.empty": 0.3, "loop.effective_frequency": 3.3e9},
    )
    assert found["memory.latency.l1"].value == pytest.approx(4 / 3.3)
    why = found["memory.latency.l1"].why[0]
    assert args(why, "1 cycle")["cycles"].value == 4
    assert args(why, "1 cycle")["hz"].value == (3.3e9)
    # What the frequency is measured by is not predicted from it.
    assert found["loop.empty"].value == pytest.approx(1 / 2.5961)
    assert ids(found["loop.empty"]) == ["1 cycle", "{time} at the {hz} measured"]
    assert found["loop.empty"].why[1].args["time"].value == pytest.approx(1 / 3.3)
    alone = predict(guest, {"memory.latency.l1": 1.22})["memory.latency.l1"]
    assert alone.value == pytest.approx(4 / 2.5961)
    turbo = found["loop.effective_frequency"].why[1]
    assert (template(turbo), turbo.args) == ("the host hides", {"guest": True})


def test_a_guest_is_told_why_its_memory_differs(guest):
    found = predict(
        guest,
        {"memory.latency.dram": 190.0, "memory.cache.l3": 8e6, "memory.cache.l1": 49152.0,
         "memory.bandwidth.read.2": 3e10, "memory.bandwidth.write.2": 2e10,
         "file.read.random.latency.4096": 5e4},
    )  # fmt: skip
    assert found["memory.latency.dram"].why[1].args == {"guest": True}
    assert ids(found["memory.cache.l3"]) == ["own value, by", "use it as"]
    assert found["memory.cache.l3"].why[1].args == {"guest": True}
    assert ids(found["memory.cache.l1"]) == ["own value, by"]
    assert found["memory.bandwidth.read.2"].why[0].args == {"guest": True}
    assert ids(found["memory.bandwidth.read.2"])[:2] == ["hides the modules", ", and out"]
    assert found["memory.bandwidth.read.2"].value == 64e9
    assert found["memory.bandwidth.write.2"].why[1].args["write"] is True
    # A virtual disk hides what is behind it.
    assert "file.read.random.latency.4096" not in found


def test_a_promise_stands_beside_what_the_clock_did(sysmeasure):
    measured = {"memory.latency.l1": 1.6, "loop.effective_frequency": 2.5e9}
    found = predict(sysmeasure, measured)["memory.latency.l1"]
    assert found.value == pytest.approx(4 / 3.5)
    assert template(found.why[1]) == "{time} at the {hz} measured"
    assert found.why[1].args["time"].value == pytest.approx(1.6)
    assert found.why[1].args["hz"].value == 2.5e9


def test_bounds_made_of_what_was_measured(guest):
    found = predict(
        guest,
        {"syscall.getpid": 80.0, "switch.thread": 1000.0, "network.round_trip.tcp_p50": 6000.0,
         "memory.bandwidth.copy.1": 1e10, "memory.bandwidth.copy.2": 2e10,
         "network.bandwidth.loopback.131072": 3e9, "fault.huge": 3e5,
         "memory.bandwidth.write.1": 2e10},
    )  # fmt: skip
    assert found["network.round_trip.tcp_p50"].value == 4 * 80 + 2 * 1000
    assert found["network.bandwidth.loopback.131072"].value == 0.5e10
    assert "fault.huge" not in found  # this guest does not say how large its huge pages are
    assert "memory.bandwidth.copy.1" in found


def test_the_round_trip_of_56_bytes_names_what_ping_reports(guest):
    trips = dict.fromkeys(("network.round_trip.tcp_p50", "network.round_trip.tcp56_p50"), 6000.0)
    measured = {"syscall.getpid": 80.0, "switch.thread": 1000.0, **trips}
    found = predict(guest, {**measured, "network.ping.loopback": 23_000.0})
    assert "network.ping.loopback" not in found  # a reference, of which nothing is expected
    floor, ping = found["network.round_trip.tcp56_p50"].why
    assert template(floor) == "the protocol, and"
    assert (template(ping), ping.args["time"].value) == ("for as many", 23_000.0)
    assert len(found["network.round_trip.tcp_p50"].why) == 1
    assert len(predict(guest, measured)["network.round_trip.tcp56_p50"].why) == 1


def test_a_mesh_has_a_clock_of_its_own(tmp_path):
    server = hardware.read(root=recorded.xeon_server(tmp_path))
    found = predict(server, {"memory.latency.l3": 40.0, "memory.bandwidth.read.224": 4e11})
    assert found["memory.latency.l3"].value == 33
    assert found["memory.bandwidth.read.224"].value == 614.4e9


def test_what_is_not_known_is_not_predicted(tmp_path):
    nothing = hardware.read(root=tmp_path)
    assert predict(nothing, {"memory.latency.l1": 1.0, "loop.empty": 0.3, "unheard.of": 1.0}) == {}
    arm = hardware.read(root=recorded.graviton(tmp_path))
    found = predict(arm, {"clock.vdso": 20.0, "memory.latency.l1": 1.5, "memory.latency.dram": 120})
    assert found.keys() == {"memory.latency.dram"}


def test_every_reason_is_one_short_text(sysmeasure, guest):
    names = ["loop.empty", "clock.vdso", "clock.coarse", "call.double.3", "branch.mispredict",
             "memory.latency.l1", "memory.latency.dram", "memory.cache.l2", "syscall.getpid",
             "memory.bandwidth.triad.2", "loop.effective_frequency"]  # fmt: skip
    for machine in (sysmeasure, guest):
        found = predict(machine, dict.fromkeys(names, 50.0))
        assert found.keys() >= set(names)
        for name, one in found.items():
            assert one.why, name
            text = "; ".join(map(words.text, one.why))
            assert len(text) < 260, name
            assert not text.endswith("."), name


@pytest.mark.parametrize("name", TABLE)
def test_the_table_is_in_order(name):
    core = TABLE[name]
    assert core.l1 < core.l2 < (core.l3 or 1000)
    for memory in (core.desktop, core.server):
        assert memory is None or 8e9 < memory.bandwidth < 1e12
        assert memory is None or 50 <= memory.latency_ns <= 150
