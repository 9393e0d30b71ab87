"""Hosts of a fleet by ssh: what is none is refused, what a node is given and answers is checked."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import msgspec
import pytest

from tare.errors import UsageError
from tare.features.fleet import certificate, node, ssh, work
from tare.features.fleet.laboratory import Refusal

TUNNELS = node.Tunnels(scheduler=10_001, own=10_002, there=40_003)
GOOD = {
    "version": "1",
    "mark": "0" * 32,
    "certificate": {"certificate": "c", "key": "k"},
    "worker": "box1",
    "tunnels": msgspec.to_builtins(TUNNELS),
}


def test_hosts_have_the_name_of_the_machine() -> None:
    assert ssh.hosts("box1,me@box2,10.0.0.1,::1") == {
        "box1": "box1", "box2": "me@box2", "10.0.0.1": "10.0.0.1", "1": "::1"
    }  # fmt: skip


@pytest.mark.parametrize(
    "given",
    ["", "box1,", "-oProxyCommand=x", "a b", "box1;x", "$(x)", "me@-x", "box1\n", "a@b@c", "`x`"],
)
def test_what_a_shell_or_ssh_would_read_as_more_is_no_host(given: str) -> None:
    with pytest.raises(UsageError, match="no host for ssh"), work.connected(f"ssh:{given}"):
        pass


@pytest.mark.parametrize("given", ["box1,box1", "me@box1,root@box1"])
def test_one_machine_is_one_host(given: str) -> None:
    with pytest.raises(UsageError, match="two hosts are called box1"):
        ssh.hosts(given)


def test_tunnels_are_from_loopback_to_loopback_and_nothing_is_asked() -> None:
    words = ssh.command("me@box", TUNNELS, 40_001)
    assert words[words.index("-R") + 1] == "127.0.0.1:10001:127.0.0.1:40001"
    assert words[words.index("-L") + 1] == "127.0.0.1:40003:127.0.0.1:10002"
    assert "BatchMode=yes" in words
    # It clears those of the command line as well.
    assert "ClearAllForwardings=yes" not in words
    assert words[-3:-1] == ["--", "me@box"]
    assert shlex.split(words[-1])[:3] == ["exec", "/bin/sh", "-c"]


@pytest.mark.parametrize(
    "changed",
    [
        {"worker": "../x"}, {"worker": ""}, {"mark": "x"}, {"more": 1}, {"certificate": None},
        {"tunnels": {"scheduler": 22, "own": 10_002, "there": 40_003}},
        {"tunnels": {"scheduler": 70_000, "own": 10_002, "there": 40_003}},
    ],
)  # fmt: skip
def test_orders_that_are_wrong_are_refused(
    changed: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    read(monkeypatch, msgspec.json.encode(GOOD))
    with pytest.raises(UsageError, match="no orders"):
        read(monkeypatch, msgspec.json.encode(GOOD | changed))


@pytest.mark.parametrize("text", [b"", b"\n", b"{" * 100_000, b'"' + b"x" * 100_000])
def test_what_is_no_order_is_refused(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no orders"):
        read(monkeypatch, text)


def read(monkeypatch: pytest.MonkeyPatch, text: bytes) -> node.Orders:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    return node._read()


def test_who_has_not_the_certificate_is_not_the_other_end() -> None:
    with pytest.raises(node.PortError, match="tunnel"):
        # Nobody listens there.
        node.reach(1, certificate.make())


def test_certificates_are_of_one_run_and_leave_no_file() -> None:
    one, other = certificate.make(), certificate.make()
    assert one.key != other.key
    assert one.key.startswith("-----BEGIN PRIVATE KEY")
    for role in ("client", "scheduler", "worker"):
        assert one.security().get_connection_args(role)["ssl_context"] is not None
    left = [path for folder in ("/dev/shm", "/tmp") for path in Path(folder).glob("tare-*/key")]
    assert left == []


def test_hosts_that_take_no_part_for_one_reason_are_named_together() -> None:
    gone, unknown = Refusal("no route", None), Refusal("its name is unknown", None)
    assert ssh._reasons({"a": gone, "b": unknown, "c": gone}) == (
        "a, c: no route; b: its name is unknown"
    )
