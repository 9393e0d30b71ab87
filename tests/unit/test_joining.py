"""How instances are hosts of a network: what each is given, and that it is verified."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from emulated import ScriptedEmulator
from scripted import ScriptedChannel

from tare.agent import client, record
from tare.errors import PlatformError
from tare.experiment.session.joining import Joining

HOSTS = {"hosts": "10.77.0.1,10.77.0.2"}


def joining(stack: str, folder: Path, hosts: int = 2) -> tuple[Joining, ScriptedEmulator]:
    emulator: Any = ScriptedEmulator("tare-0123ab", hosts)
    return Joining(emulator, stack, folder, HOSTS), emulator


def agent(address: str | None) -> client.Agent:
    channel: Any = ScriptedChannel(lambda _job, _worker: None)
    channel.address = address
    return client.Agent(channel, timeout_s=1.0)


def test_what_keeps_its_network_is_host_1(tmp_path: Path) -> None:
    joined, emulator = joining("bare/runc", tmp_path)
    assert joined.network == "/run/netns/tare-0123ab-1"
    assert (joined.port, joined.placeholders, emulator.ports) == (None, HOSTS, {})


@pytest.mark.parametrize(
    ("stack", "network"),
    [("vm", "/run/netns/tare-0123ab-1"), ("gvisor", "/run/netns/tare-0123ab-65")],
)
def test_others_have_an_address_of_their_own(tmp_path: Path, stack: str, network: str) -> None:
    joined, emulator = joining(stack, tmp_path)
    assert joined.network == network
    assert joined.port is not None
    assert (joined.port.address, joined.port.prefix) == ("10.77.0.65", 24)
    assert joined.placeholders["host1"] == "10.77.0.65"
    assert joined.placeholders["hosts"] == "10.77.0.65,10.77.0.2"
    file = Path(joined.placeholders["host_file"])
    assert file.read_text() == "10.77.0.65\n10.77.0.2\n"
    joined.close()
    joined.close()
    assert not file.exists()
    assert emulator.ports == {}


def test_a_container_is_given_its_port_when_it_has_started(tmp_path: Path) -> None:
    joined, emulator = joining("docker", tmp_path)
    assert emulator.ports == {}
    instance: Any = SimpleNamespace(host_pid=42)
    joined.begun(instance)
    assert emulator.ports == {65: record.Container(namespace="/proc/42/ns/net")}
    assert joined.address == "10.77.0.65"


def test_a_container_whose_processes_are_not_seen_is_refused(tmp_path: Path) -> None:
    joined, _ = joining("docker", tmp_path)
    instance: Any = SimpleNamespace(host_pid=None)
    with pytest.raises(PlatformError, match="not seen from here") as refused:
        joined.begun(instance)
    assert refused.value.hint


def test_an_instance_is_checked_from_both_sides(tmp_path: Path) -> None:
    joined, emulator = joining("bare", tmp_path)
    joined.check(agent("10.77.0.1"))
    for inside, outside in (("10.77.0.9", "10.77.0.1"), ("10.77.0.1", "10.77.0.9")):
        emulator.met = outside
        with pytest.raises(PlatformError, match=r"10\.77\.0\.9"):
            joined.check(agent(inside))
    emulator.met = ""
    with pytest.raises(PlatformError, match="no route to host; on host 2: nobody reached it"):
        joined.check(agent(None))


def test_nobody_is_there_to_check_a_network_of_one_host(tmp_path: Path) -> None:
    joined, _ = joining("bare", tmp_path, hosts=1)
    joined.check(agent(None))
