"""What an interface counts: which is the default one, and what counters mean on the wire."""

from __future__ import annotations

from pathlib import Path

import pytest
from said import template

from tare.errors import ExperimentError
from tare.features.network.plan import interface
from tare.features.network.plan.interface import Counted, between, wire_bytes
from tare.features.network.plan.spending import Count, doubts
from tare.results.message import Amount

DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo:     100       1    0    0    0     0          0         0      100       1    0    0 0 0 0 0
  eth0: 5000000    4000    0    0    0     0          0         0  7000000    6000    0    0 0 0 0 0
"""
ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t0002A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, file, text in (("_DEV", "dev", DEV), ("_ROUTES", "route", ROUTES)):
        (tmp_path / file).write_text(text)
        monkeypatch.setattr(interface, name, tmp_path / file)
    monkeypatch.setattr(interface, "_ROUTES_6", tmp_path / "none")
    return tmp_path


@pytest.mark.usefixtures("kernel")
def test_the_kernel_prefers_the_route_of_the_smallest_metric() -> None:
    assert interface.default() == "eth0"
    assert interface.counted("eth0").sent_bytes == 7_000_000
    assert interface.counted("eth0").sent_packets == 6000


def test_without_a_default_route_an_interface_is_to_be_named(kernel: Path) -> None:
    (kernel / "route").write_text(ROUTES.splitlines()[0])
    with pytest.raises(ExperimentError, match="no default route") as caught:
        interface.default()
    assert caught.value.hint == "--spend measured:eth0"


def test_counters_that_cannot_be_read_are_told(kernel: Path) -> None:
    (kernel / "dev").unlink()
    with pytest.raises(ExperimentError, match="no interface eth0"):
        interface.counted("eth0")


def test_each_segment_has_a_header_of_its_own() -> None:
    payload = 1448 * 45 * 100
    # Super-packets of 45 segments, as a device with segmentation offload counts them.
    assert wire_bytes(payload + 66 * 100, 100, 1500) == pytest.approx(payload / 1448 * 1514)
    # A device that counts what it sends says it all.
    assert wire_bytes(1514 * 4500, 4500, 1500) == pytest.approx(1514 * 4500)
    # Acknowledgements have nothing to divide.
    assert wire_bytes(66 * 1000, 1000, 1500) == 66 * 1000
    assert wire_bytes(0, 0, 1500) == 0


def test_an_interface_that_was_made_anew_is_not_counted() -> None:
    with pytest.raises(ExperimentError, match="made anew"):
        between(Counted(0.0, 1000, 10), Counted(1.0, 10, 1), 1500)


def test_a_background_that_disturbs_is_told() -> None:
    quiet = doubts([Count("eth0", 1e9, 10.0, 1e3)])
    assert len(quiet) == 1
    (_, loud) = doubts([Count("eth0", 1e9, 10.0, 12e6)])
    assert loud.args["share"] == Amount(pytest.approx(0.12), "share")
    wrong = doubts([Count("eth0", 10.0, 1.0, 1e3)])
    assert template(wrong[1]) == ". If trials"
