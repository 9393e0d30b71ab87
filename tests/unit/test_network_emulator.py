"""What an emulator asks of its agent, and what it makes of an agent that does not do it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tare.agent import record
from tare.errors import AgentError, PlatformError
from tare.networks.emulator import Emulator
from tare.networks.shaping.specification import parse

BUCKET = parse("bucket high=2Gbit low=200Mbit budget=10Gbit initial=3Gbit")


def _emulator(how: str = "", hosts: int = 2, interface: str | None = None) -> Emulator:
    script = str(Path(__file__).with_name("emulating.py"))
    return Emulator("tare-0f0f0f", hosts, interface=interface, argv=[sys.executable, script, how])


def test_hosts_are_built_shaped_and_looked_at() -> None:
    with _emulator(hosts=3) as emulator:
        assert [host.address for host in emulator.hosts] == ["10.77.0.1", "10.77.0.2", "10.77.0.3"]
        emulator.shape({1: BUCKET, 3: None})
        tokens = [host.tokens_bits for host in emulator.look().hosts]
        assert tokens == [3 * 10**9, None, None]
        assert emulator.enter(2)[1:] == ["enter", "--network", "/run/netns/tare-0f0f0f-2", "--"]


def test_an_interface_is_host_1_of_this_machine() -> None:
    with _emulator(interface="eth7") as emulator:
        assert [host.interface for host in emulator.hosts] == ["eth7"]
        assert emulator.enter(1) == []


def test_what_is_told_by_itself_goes_to_the_listener() -> None:
    told: list[record.HostStates] = []
    with _emulator() as emulator:
        emulator.log(0.1, told.append)
        assert len(told) == 3
        emulator.log(None)
        assert emulator.look().id is not None


def test_long_shapes_of_many_hosts_are_told() -> None:
    with _emulator(hosts=24) as emulator:
        asked = parse("distribution 0%=1Gbit 100%=2Gbit")
        emulator.shape(dict.fromkeys(range(1, 25), asked))
        assert len(emulator.look().hosts) == 24


def test_a_refusal_comes_with_its_hint() -> None:
    with pytest.raises(PlatformError, match="no rights") as caught:
        _emulator("refuses")
    assert caught.value.hint == "sudo true"


@pytest.mark.parametrize("how", ["dies", "dies later"])
def test_an_agent_that_is_gone_is_told_with_its_last_words(how: str) -> None:
    with pytest.raises(AgentError, match=r"no kernel here|killed by a test"), _emulator(how) as it:
        it.shape({1: BUCKET})


def test_an_agent_that_cannot_be_started() -> None:
    with pytest.raises(AgentError, match="cannot start"):
        Emulator("tare-0f0f0f", argv=["/nonexistent/agent"])


def test_what_fails_by_itself_is_told_at_the_next_call() -> None:
    with _emulator("fails later") as emulator:
        emulator.shape({1: BUCKET})
        with pytest.raises(PlatformError, match="eth0 is gone"):
            _watch(emulator)


def _watch(emulator: Emulator) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        emulator.check()
        time.sleep(0.01)


def test_garbage_is_no_record() -> None:
    with _emulator("garbage") as emulator, pytest.raises(PlatformError, match="no record"):
        emulator.look()
