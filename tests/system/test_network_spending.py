"""What trials send on a real interface: counted, less its background, by a plan that is asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cli
import pytest
from simulated_network import Network, measured

from tare.experiment.fingerprints.network import file
from tare.features.network.fingerprint import search
from tare.render.words import sentence
from tare.results.message import message

pytestmark = pytest.mark.system

#: How long the background is watched, and each trial's last packets are waited for.
TARE = cli.argv(
    {
        "tare.features.network.plan.measured._BACKGROUND_S": 0.5,
        "tare.features.network.plan.measured._SETTLING_S": 0.3,
    }
)
SERVER = """
import socket
door = socket.socket()
door.bind(("10.213.7.2", 5001))
door.listen()
print("ready", flush=True)
while True:
    peer, _ = door.accept()
    while peer.recv(1 << 20):
        pass
    peer.close()
"""
CLIENT = """
import socket, sys
peer = socket.create_connection(("10.213.7.2", 5001))
peer.sendall(bytes(int(sys.argv[1])))
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
"""
#: Of two workloads, so that each is counted by itself.
LITTLE, MUCH = 2_000_000, 20_000_000
#: Of a packet of 1,500 bytes: payload, and what the wire carries.
PAYLOAD, WIRE = 1448, 1514
#: What TCP may send twice where a busy machine answers late: some segments as it hands them down.
REPEATED_BITS = 8 * 4 * 65536
EXPERIMENT = """
[experiment]
name = "spending"
question = "What is sent?"
trials = 20
[[workload]]
name = "little"
command = ["{python}", "{folder}/client.py", "{little}"]
[[workload]]
name = "much"
command = ["{python}", "{folder}/client.py", "{much}"]
[[workload]]
name = "nothing"
command = ["true"]
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def enter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two namespaces with a server in the second; gives what enters the first."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces are made by root")
    here, there = (f"tad{os.getpid()}{side}" for side in "ab")
    server: subprocess.Popen[str] | None = None
    try:
        try:
            ip("netns", "add", here)
            ip("netns", "add", there)
            ip("link", "add", "tadva", "netns", here, "type", "veth",
               "peer", "name", "tadvb", "netns", there)  # fmt: skip
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no network can be made here: {error}")
        for space, device, address in ((here, "tadva", "1"), (there, "tadvb", "2")):
            ip("-n", space, "address", "add", f"10.213.7.{address}/24", "dev", device)
            ip("-n", space, "link", "set", device, "up")
            ip("-n", space, "link", "set", "lo", "up")
        ip("-n", here, "route", "add", "default", "via", "10.213.7.2")
        # Its counter has every header, and is what a bucket would count.
        subprocess.run(
            ["tc", "-n", here, "qdisc", "add", "dev", "tadva", "root", "pfifo"],
            check=True, capture_output=True,
        )  # fmt: skip
        server = subprocess.Popen(
            ["ip", "netns", "exec", there, sys.executable, "-c", SERVER],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        yield ["ip", "netns", "exec", here]
    finally:
        if server is not None:
            server.kill()
            server.wait()
        for space in (here, there):
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


def plan(enter: list[str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "client.py").write_text(CLIENT)
    experiment = folder / "spending.toml"
    experiment.write_text(
        EXPERIMENT.format(python=sys.executable, folder=folder, little=LITTLE, much=MUCH)
    )
    network = folder / "network.json"
    file.write(measured(Network(), search.Bounds(seconds=60)), network)
    command = [*enter, *TARE, "net", "plan", str(network), str(experiment), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def queued_bits(enter: list[str]) -> int:
    """Return what the queueing discipline has sent, as a bucket counts it."""
    told = subprocess.run(
        [*enter, "tc", "-s", "qdisc", "show", "dev", "tadva"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = re.search(r"Sent (\d+) bytes", told)
    assert found is not None
    return 8 * int(found[1])


def test_what_each_workload_sends_is_counted_with_its_headers(
    enter: list[str], tmp_path: Path
) -> None:
    before = queued_bits(enter)
    done = plan(enter, tmp_path, "--spend", "measured", "--json", "-")
    assert done.returncode == 0, done.stderr
    sent = queued_bits(enter) - before
    counting = sentence(
        message(
            "counting what leaves by {interface} in one trial of each of {cells | counted('cell')}",
            interface="tadva",
            cells=3,
        )
    )
    assert counting in done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    trials = {trial["cell"]: trial for trial in made["trials"]}
    for cell, payload in (("little", LITTLE), ("much", MUCH)):
        whole = 8 * payload * WIRE / PAYLOAD
        assert 0.98 * whole < trials[cell]["spends_bits"] < 1.02 * whole + REPEATED_BITS
        assert trials[cell]["source"] == "1 trial, tadva"
    assert trials["nothing"]["spends_bits"] < 0.01 * trials["little"]["spends_bits"]
    # All of it is what a bucket would have counted.
    assert sum(t["spends_bits"] for t in trials.values()) == pytest.approx(sent, rel=0.02)
    notes = [one["said"] for one in made["entries"] if one["label"] == "Note"]
    assert any("counted on tadva" in str(note) for note in notes)


def test_an_interface_by_which_nothing_leaves_is_doubted(enter: list[str], tmp_path: Path) -> None:
    done = plan(enter, tmp_path, "--spend", "measured:lo", "--json", "-")
    assert done.returncode == 0, done.stderr
    entries = json.loads(done.stdout)["entries"]
    assert sentence(
        message(
            "no trial sent more than the background of {interface}. If trials send by another "
            "interface: --spend measured:IFACE",
            interface="lo",
        )
    ) in [one["said"]["text"] for one in entries if one["label"] == "Note"]


def test_an_interface_that_is_not_there_is_named_with_those_that_are(
    enter: list[str], tmp_path: Path
) -> None:
    done = plan(enter, tmp_path, "--spend", "measured:eth7")
    assert done.returncode == 11
    assert "eth7" in done.stderr
    assert "--spend measured:tadva" in done.stderr
