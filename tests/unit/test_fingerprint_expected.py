"""Predictions that are computed from more basic figures, with planted figures."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import recorded

from tare.features.machine.fingerprint.specification import predict
from tare.host import hardware
from tare.render.words import text

BASIC = {
    "syscall.getpid": 100.0,
    "syscall.read_byte": 150.0,
    "syscall.write_byte": 130.0,
    "switch.process": 2000.0,
    "switch.thread": 1500.0,
    "switch.pipe": 500.0,
    "memory.bandwidth.write.1": 4.096e9,
    "memory.bandwidth.copy.1": 8.192e9,
    "fault.minor_anonymous": 1000.0,
    "fault.minor_file": 600.0,
    "fault.copy_on_write": 1200.0,
    "process.fork": 60e3,
    "process.vfork": 30e3,
    "thread.create_join": 20e3,
    "network.ping.loopback": 5000.0,
    "network.ping.remote": 80e3,
    "network.bandwidth.remote": 100e6,
    "file.read.random.latency.4096": 50e3,
    "file.read.sequential.bandwidth.1048576": 409.6e6,
}


@pytest.fixture
def machine(tmp_path):
    return hardware.read(Path("/srv/files"), recorded.i7_3770k(tmp_path / "i7"))


def expect(machine, name, **changes):
    measured = {k: v for k, v in (BASIC | changes).items() if v is not None} | {name: 1.0}
    return predict(machine, measured).get(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # One call, 14 pages made, 2 copied.
        ("process.create", 100 + 14 * 1000 + 2 * 1200),
        ("process.fork", 3 * 100 + 2 * 2000 + 14 * 1000 + 4 * 1200),
        ("process.vfork", 3 * 100 + 2 * 2000 + 4 * 1000),
        ("process.posix_spawn_smallest", 30e3 + 100 + 10 * 1000 + 6 * 600),
        ("process.exec_smallest", 60e3 + 100 + 10 * 1000 + 6 * 600),
        ("process.shell", 60e3 + 100 + 10 * 1000 + 60 * 600),
        ("fault.minor_file", 100),
        ("fault.minor_file_around", 600 / 16),
        ("fault.touches_per_fault", 16),
        # A page of 4,096 bytes at 4.096 GB/s; copied, as many are read as written.
        ("fault.minor_anonymous", 100 + 1000),
        ("fault.copy_on_write", 100 + 1000),
        # Ivy Bridge: as Intel's optimization manual has them.
        ("memory.tlb.l1", 64),
        ("memory.tlb.l2", 512),
        ("thread.create", 3 * 100 + 4 * 1000),
        ("thread.create_join", 8 * 100 + 2 * 1500 + 4 * 1000),
        ("thread.create_join_cold", 20e3 + 3 * 100 + 3 * 1000),
        ("switch.thread", 3000 / 3.5),
        ("switch.process", 3800 / 3.5),
        ("switch.round_trip_thread", 2 * (3000 / 3.5 + 500)),
        ("switch.round_trip_process", 2 * (3800 / 3.5 + 500)),
        ("switch.pipe", 130 + 150),
        ("network.connect.setup", 1.5 * 5000 + 200),
        ("network.connect.teardown", 5000 + 100),
        ("network.connect.whole", 2.5 * 5000 + 300),
        ("network.connect.least", 2.5 * 5000 + 300),
        ("network.connect.reset", 2 * 5000 + 400),
        ("network.connect.remote.setup", 80e3 + 200),
        ("network.connect.remote.teardown", 100),
        ("network.connect.remote.whole", 80e3 + 300),
        ("network.round_trip.remote.tcp_p50", 80e3 + 400 + 4000),
        ("file.remote.random.latency.4096", 80e3 + 4096 * 10),
        ("file.remote.sequential.latency.1048576", 80e3 + 1048576 * 10),
        ("file.remote.sequential.bandwidth.1048576", 1048576e9 / (80e3 + 1048576 * 10)),
    ],
)
def test_sums_of_more_basic_figures(machine, name, value):
    machine = msgspec.structs.replace(
        machine, clock=msgspec.structs.replace(machine.clock, maximum_hz=3.5e9)
    )
    found = expect(machine, name)
    assert found.value == pytest.approx(value)
    assert all(text(why) for why in found.why)


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("process.fork", "fault.copy_on_write"),
        ("process.shell", "process.fork"),
        ("thread.create", "syscall.getpid"),
        ("switch.pipe", "syscall.read_byte"),
        ("switch.round_trip_thread", "switch.pipe"),
        ("network.connect.setup", "network.ping.loopback"),
        ("network.round_trip.remote.udp_p50", "network.ping.remote"),
    ],
)
def test_without_a_basic_figure_nothing_is_predicted(machine, name, lacks):
    assert expect(machine, name, **{lacks: None}) is None


def test_opening_and_closing_are_two_system_calls(machine):
    both, one = (expect(machine, f"syscall.{name}") for name in ("open_close", "open"))
    assert both.value == pytest.approx(2 * one.value)
    assert "2 calls" in text(both.why[0])


def test_a_connection_is_predicted_by_tcp_where_ping_is_missing(machine):
    changes = {"network.ping.loopback": None, "network.round_trip.tcp_p50": 12e3}
    found = expect(machine, "network.connect.teardown", **changes)
    assert found.value == pytest.approx(12e3 + 100)
    assert "network.round_trip.tcp_p50" in text(found.why[0])


def test_remote_reads_by_the_link_where_nothing_was_measured(machine):
    """1 Gbit/s carries 125 MB/s, and a local network answers within about 100 µs."""
    changes = {"network.ping.remote": None, "network.bandwidth.remote": None}
    found = expect(machine, "file.remote.random.latency.4096", **changes)
    assert found.value == pytest.approx(100e3 + 4096 * 8)
    assert "--peer" in text(found.why[0])
    unknown = msgspec.structs.replace(machine, network=())
    found = expect(unknown, "file.remote.random.latency.4096", **changes)
    assert found.value == pytest.approx(100e3)


def test_contention_by_the_kind_of_disk(machine):
    assert expect(machine, "file.contention.slowdown").value == 10
    flash = msgspec.structs.replace(
        machine, disk=msgspec.structs.replace(machine.disk, kind="NVMe")
    )
    # 40,960 bytes at 409.6 MB/s are 100 µs, twice a read alone.
    assert expect(flash, "file.contention.slowdown").value == pytest.approx(2)
    fast = {"file.read.sequential.bandwidth.1048576": 5e9}
    assert expect(flash, "file.contention.slowdown", **fast).value == 1
    # Ten reads of 41 µs of CPU each, on two CPUs.
    few = msgspec.structs.replace(flash, cpus=2)
    slow = fast | {"switch.process": 20e3 + 450}
    assert expect(few, "file.contention.slowdown", **slow).value == pytest.approx(4.1)
    assert expect(flash, "file.contention.slowdown", **{"syscall.getpid": None}) is None
