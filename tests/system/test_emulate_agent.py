"""``tare-agent emulate``: networks that it builds and shapes, and that nothing stays of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tare.agent import client
from tare.errors import PlatformError
from tare.host import lease
from tare.networks import remnants

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root's networks have names"),
]
NETNS = Path("/run/netns")
MBIT = 1_000_000
BUCKET: dict[str, Any] = {
    "kind": "bucket",
    "high_bps": 1000 * MBIT,
    "low_bps": 40 * MBIT,
    "refill_bps": 40 * MBIT,
    "capacity_bits": 80 * MBIT,
}
RECEIVE = """
import socket
with socket.create_server(("", 5000)) as door:
    print("ready", flush=True)
    peer = door.accept()[0]
    while peer.recv(1 << 16):
        pass
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 5000)) as peer:
    peer.sendall(bytes(int(sys.argv[2])))
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)
"""


class Emulating:
    """The agent, and what it answers."""

    def __init__(self, *before: str, user: int | None = None, binary: str | None = None) -> None:
        self.name = lease.new_name()
        self.binary = binary or str(client.binary())
        self.process = subprocess.Popen(
            [*before, self.binary, "emulate", "--name", self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        self.hosts: list[dict[str, Any]] = []

    def say(self, line: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, job: str, **order: Any) -> dict[str, Any]:
        return self.say(json.dumps({"job": job, "id": 7, **order}))

    def build(self, hosts: int = 2) -> None:
        built = self.ask("build_network", name=self.name, hosts=hosts, subnet="10.77.0")
        if "modprobe" in str(built.get("hint")):
            pytest.skip(built["message"])
        assert built["record"] == "network_built", built
        self.hosts = built["hosts"]

    def take(self, interface: str) -> dict[str, Any]:
        return self.ask("take_interface", name=self.name, interface=interface)

    def shape(self, shape: dict[str, Any], host: int = 1, **more: Any) -> dict[str, Any]:
        return self.ask("shape_hosts", hosts=[{"host": host, "shape": shape, **more}])

    def look(self) -> dict[str, Any]:
        states = self.ask("look_at_hosts")
        assert states["record"] == "host_states", states
        first: dict[str, Any] = states["hosts"][0]
        return first

    def within(self, host: int) -> list[str]:
        return [self.binary, "enter", "--network", self.hosts[host - 1]["namespace"], "--"]

    def enter(self, host: int, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*self.within(host), *argv], stdout=subprocess.PIPE, text=True)

    def send(self, amount: int) -> None:
        """From host 1 to host 2, until all of it has arrived."""
        receiver = self.enter(2, sys.executable, "-c", RECEIVE)
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        address = self.hosts[1]["address"]
        sender = self.enter(1, sys.executable, "-c", SEND, address, str(amount))
        assert sender.wait(60) == 0
        assert receiver.wait(60) == 0

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(20)

    def named(self) -> list[str]:
        return [path.name for path in NETNS.glob(f"{self.name}*")] if NETNS.exists() else []


@pytest.fixture
def emulating() -> Iterator[Emulating]:
    one = Emulating()
    yield one
    if one.process.poll() is None:
        one.end()
    for remnant in _left(one.name):
        remnant.remove()


def _left(name: str) -> list[lease.Remnant]:
    return [one for one in remnants.found() if lease.session_of(one.name) == name]


def test_a_bucket_is_spent_by_what_is_sent(emulating: Emulating) -> None:
    emulating.build()
    assert sorted(emulating.named()) == [f"{emulating.name}-{one}" for one in "12s"]
    assert emulating.shape(BUCKET)["record"] == "network_shaped"
    began = time.monotonic_ns()
    emulating.send(12_000_000)
    state = emulating.look()
    passed_s = (time.monotonic_ns() - began) / 1e9
    # The interface counts headers, too.
    assert 12_000_000 < state["sent_bytes"] < 13_500_000
    assert state["times_dry"] >= 1
    assert state["dry_ns"] > 0
    assert began < state["first_dry_ns"] < time.monotonic_ns()
    # Nothing leaves but tokens, those that came back, and what the kernel gives at once.
    given_bits = BUCKET["capacity_bits"] + BUCKET["refill_bps"] * passed_s + 16 * MBIT
    assert state["sent_bytes"] * 8 < given_bits
    # What was sent before the agent turned the rate is owed, and repaid first: on a busy machine
    # the agent runs late, so the wait for the first tokens has no fixed length.
    while not (paid := emulating.look())["tokens_bits"]:
        assert time.monotonic_ns() - began < 30e9, paid
        time.sleep(0.02)
    since = time.monotonic_ns()
    time.sleep(0.3)
    rested_s = (time.monotonic_ns() - since) / 1e9
    rested = emulating.look()
    back_bits = rested["tokens_bits"] - paid["tokens_bits"]
    # The idle hosts send each other's addresses at most.
    assert back_bits >= BUCKET["refill_bps"] * rested_s - MBIT
    assert rested["rate_bps"] == BUCKET["high_bps"]
    # Tokens are kept where only the rates change.
    emulating.shape({**BUCKET, "high_bps": 500 * MBIT})
    kept = emulating.look()
    passed_s = (time.monotonic_ns() - since) / 1e9
    since_rest_bits = kept["tokens_bits"] - rested["tokens_bits"]
    assert 0 <= since_rest_bits <= BUCKET["refill_bps"] * passed_s
    emulating.shape({**BUCKET, "tokens_bits": 0, "refill_bps": 1})
    empty = emulating.look()
    assert (empty["tokens_bits"], empty["rate_bps"]) == (0, BUCKET["low_bps"])


def test_steps_follow_one_another_and_hosts_are_told_of(emulating: Emulating) -> None:
    emulating.build()
    steps = [{"duration_ns": 30 * MBIT, "rate_bps": rate * MBIT} for rate in (100, 0, 300)]
    emulating.shape({"kind": "steps", "steps": steps})
    assert emulating.ask("log_hosts", every_ns=5 * MBIT)["record"] == "network_shaped"
    told = [emulating.hear() for _ in range(60)]
    assert all(one["record"] == "host_states" and one["id"] is None for one in told)
    stamps = [one["at_ns"] for one in told]
    assert stamps == sorted(set(stamps))
    assert {one["hosts"][0]["rate_bps"] for one in told} == {0, 100 * MBIT, 300 * MBIT}
    assert all(one["hosts"][1]["rate_bps"] is None for one in told)


def test_a_port_is_shaped_as_host_1_and_goes_with_what_runs_in_it(emulating: Emulating) -> None:
    """A namespace behind host 1 spends the tokens of host 1's bucket."""
    emulating.build()
    full = 1000 * MBIT
    emulating.shape({**BUCKET, "capacity_bits": full, "tokens_bits": full, "refill_bps": 8})
    own = {"kind": "own_namespace"}
    first, again = (emulating.ask("add_port", host=1, end=own) for _ in range(2))
    assert (first["port"]["address"], again["port"]["address"]) == ("10.77.0.65", "10.77.0.66")
    behind = {**emulating.hosts[0], **first["port"]}
    emulating.hosts = [behind, emulating.hosts[1]]
    emulating.send(1_000_000)
    spent = full - emulating.look()["tokens_bits"]
    assert 8_000_000 < spent < 9_000_000
    stays = emulating.enter(1, "sh", "-c", "echo inside; exec sleep 60")
    assert stays.stdout is not None
    assert stays.stdout.readline() == "inside\n"
    assert emulating.ask("remove_port", port=65)["record"] == "network_shaped"
    assert stays.wait(20) < 0
    assert not Path(first["port"]["namespace"]).exists()
    assert emulating.ask("remove_port", port=65)["record"] == "network_refused"
    # The address is free again.
    assert emulating.ask("add_port", host=1, end=own)["port"] == first["port"]
    assert emulating.end() == 0
    assert not emulating.named()


def test_a_port_of_another_host_is_shaped_as_that_one(emulating: Emulating) -> None:
    emulating.build()
    full = 1000 * MBIT
    emulating.shape({**BUCKET, "capacity_bits": full, "tokens_bits": full, "refill_bps": 8})
    port = emulating.ask("add_port", host=2, end={"kind": "own_namespace"})["port"]
    emulating.hosts = [{**emulating.hosts[1], **port}, emulating.hosts[0]]
    emulating.send(1_000_000)
    # Answers alone are what host 1 has sent.
    assert full - emulating.look()["tokens_bits"] < 500_000
    for host in (0, 3):
        refused = emulating.ask("add_port", host=host, end={"kind": "own_namespace"})
        assert refused["message"] == f"there is no host {host}"


def test_the_network_of_this_machine_is_given_no_port(emulating: Emulating) -> None:
    emulating.build()
    for path in ("/proc/self/ns/net", "/proc/1/ns/net", "/nowhere"):
        end = {"kind": "container", "namespace": path}
        assert emulating.ask("add_port", host=1, end=end)["record"] == "network_refused"
    assert emulating.ask("add_port", host=1, end={"kind": "tap"})["port"]["port"] == 65


def test_nothing_is_left_when_orders_end(emulating: Emulating) -> None:
    emulating.build(hosts=3)
    sleeper = emulating.enter(3, "sleep", "60")
    shown = emulating.enter(2, "ls", "/sys/class/net").communicate()[0]
    assert shown.split() == ["eth0", "lo"]
    assert emulating.end() == 0
    assert sleeper.wait(10) != 0
    assert emulating.named() == []
    assert _left(emulating.name) == []


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_after_a_signal(emulating: Emulating, asked: signal.Signals) -> None:
    emulating.build()
    emulating.process.send_signal(asked)
    assert emulating.process.wait(20) == 0
    assert emulating.named() == []


def test_what_a_killed_agent_leaves_is_found_and_removed(emulating: Emulating) -> None:
    emulating.build()
    sleeper = emulating.enter(1, "sleep", "60")
    emulating.process.kill()
    emulating.process.wait()
    left = _left(emulating.name)
    assert len(left) == len(emulating.named()) == 3
    # Somebody else's network of the same name is not taken for one's own.
    second = Emulating()
    refused = second.ask("build_network", name=emulating.name, hosts=1, subnet="10.77.0")
    assert refused["record"] == "network_refused"
    assert "tare cleanup" in refused["hint"]
    assert second.end() == 0
    assert len(emulating.named()) == 3
    for remnant in left:
        remnant.remove()
    assert sleeper.wait(10) == -signal.SIGKILL
    assert emulating.named() == []
    assert _left(emulating.name) == []


def test_an_interface_is_given_back(emulating: Emulating) -> None:
    emulating.build()
    taker = Emulating(*emulating.within(1))
    assert "no interface" in taker.take("nosuch0")["message"]
    # The discipline there is not the kernel's default.
    assert "tc qdisc del" in taker.take("eth0")["hint"]
    assert taker.take("lo")["hosts"][0]["namespace"] is None
    assert taker.shape(BUCKET)["record"] == "network_shaped"
    taker.process.kill()
    taker.process.wait()
    another = Emulating(*emulating.within(1))
    assert "tare cleanup" in another.take("lo")["hint"]
    # From another network namespace it cannot be reached, so its note stays.
    (note,) = _left(taker.name)
    with pytest.raises(PlatformError, match="in another network namespace"):
        note.remove()
    released = emulating.enter(1, emulating.binary, "release", "--interface", "lo")
    assert released.wait(20) == 0
    assert another.take("lo")["record"] == "network_built"
    assert another.shape(BUCKET)["record"] == "network_shaped"
    (taken,) = _left(another.name)
    assert taken.what.endswith(" lo")
    assert another.end() == 0
    assert _left(another.name) == []
    last = Emulating(*emulating.within(1))
    assert last.take("lo")["record"] == "network_built", "its default is back"
    last.end()
    # With its namespace the interface is gone, and the note goes, too.
    emulating.end()
    (note,) = _left(taker.name)
    note.remove()
    assert _left(taker.name) == []


def test_what_cannot_be_is_refused_and_what_was_holds(emulating: Emulating) -> None:
    named = {"name": emulating.name, "hosts": 2, "subnet": "10.77.0"}
    for line in ("garbage", "[]", '{"job": "dance"}', '{"job": "look_at_hosts"}'):
        assert emulating.say(line)["record"] == "network_refused"
    wrong = ({"name": "../x"}, {"name": ""}, {"hosts": 0}, {"hosts": 65}, {"subnet": "10.77"})
    for one in (*wrong, {"subnet": "127.0.0"}, {"subnet": "10.77.300"}):
        assert emulating.ask("build_network", **{**named, **one})["record"] == "network_refused"
    assert "no network yet" in emulating.shape(BUCKET)["message"]
    emulating.build()
    assert emulating.ask("build_network", **named)["record"] == "network_refused"
    emulating.shape(BUCKET)
    for key, value in (
        ("high_bps", 0),
        ("low_bps", 0),
        ("refill_bps", 0),
        ("capacity_bits", 0),
        ("low_bps", 2000 * MBIT),
        ("high_bps", 2**64 - 1),
        ("capacity_bits", 2**64),
        ("tokens_bits", 81 * MBIT),
        ("tokens_bits", -1),
    ):
        assert emulating.shape({**BUCKET, key: value})["record"] == "network_refused", key
    for steps in (
        [],
        [{"duration_ns": 0, "rate_bps": 1000}],
        [{"duration_ns": 2**63, "rate_bps": 0}],
    ):
        assert emulating.shape({"kind": "steps", "steps": steps})["record"] == "network_refused"
    assert emulating.shape(BUCKET, host=3)["record"] == "network_refused"
    assert emulating.shape(BUCKET, queue_bytes=1500)["record"] == "network_refused"
    assert emulating.look()["rate_bps"] == BUCKET["high_bps"]
    huge = {"capacity_bits": 2**64 - 1, "high_bps": 10**12}
    assert emulating.shape({**BUCKET, **huge})["record"] == "network_shaped"


def test_an_ordinary_user_builds_one_of_his_own() -> None:
    nobody = 65534
    folder = Path(tempfile.mkdtemp(prefix="tare-test-"))
    try:
        folder.chmod(0o755)
        binary = shutil.copy(client.binary(), folder / "tare-agent")
        Path(binary).chmod(0o755)
        one = Emulating(user=nobody, binary=str(binary))
        assert "sudo" in one.take("lo")["hint"]
        built = one.ask("build_network", name=one.name, hosts=2, subnet="10.77.0")
        if built["record"] == "network_refused":
            # A kernel that gives users no namespaces; then it is said what to type.
            assert "sudo" in built["hint"]
        else:
            one.hosts = built["hosts"]
            argv = [*one.within(1), "ls", "/proc/self/net/dev"]
            assert subprocess.run(argv, user=nobody, group=nobody, check=False).returncode == 0
            assert one.shape(BUCKET)["record"] == "network_shaped"
            assert one.look()["tokens_bits"] == BUCKET["capacity_bits"]
        assert one.end() == 0
        assert one.named() == []
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["--network", "/run/netns/nosuch", "--", "true"], 126, "no network namespace"),
        (["--network", "/etc/passwd", "--", "true"], 126, "is no network namespace"),
        (["--network", "/proc/self/ns/net"], 2, "no command"),
        (["--network", "/proc/self/ns/net", "--", "/nosuch"], 127, "/nosuch: not found"),
        (["--", "true"], 2, "enter needs --network"),
    ],
)
def test_enter_says_why_it_cannot(argv: list[str], code: int, said: str) -> None:
    done = subprocess.run(
        [str(client.binary()), "enter", *argv], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert said in done.stderr
