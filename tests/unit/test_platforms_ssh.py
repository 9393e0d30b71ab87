"""Hosts as a user writes them, the command that reaches one, and what is said before the agent."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from pathlib import Path

import pytest

from tare.agent import client
from tare.agent.client import SilenceError
from tare.agent.record import User
from tare.errors import AgentError, ExperimentError, PlatformError
from tare.platforms import Place, stack
from tare.platforms.ssh import UNIT, connection

NAME = "tare-0123ab-0"


@pytest.fixture(autouse=True)
def binary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "tare-agent"
    path.write_bytes(b"\x7fELF and so on")
    monkeypatch.setattr(client, "binary", lambda: path)
    return path


@pytest.mark.parametrize("host", ["box", "me@box.example.org", "192.0.2.1", "::1", "fe80::1%eth0"])
def test_hosts(host: str) -> None:
    (layer,) = stack.layers(f"ssh:{host}")
    assert layer.description.name == "ssh"
    assert not layer.shares_memory  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "host",
    ["", "-oProxyCommand=x", "a b", "a\n", "a;b", "$(a)", "me@-x", "@a", "a@b@c", "é", "a" * 300],
)
def test_what_is_no_host_is_refused_with_a_hint(host: str) -> None:
    with pytest.raises(ExperimentError, match="is no host for ssh") as caught:
        stack.layers(f"ssh:{host}")
    assert caught.value.hint


def test_other_layers_take_no_argument() -> None:
    with pytest.raises(ExperimentError, match="unshare takes nothing after a colon"):
        stack.layers("ssh:a/unshare:b")


def test_ssh_stands_outermost() -> None:
    with pytest.raises(ExperimentError, match="only be the outermost"):
        stack.layers("docker/ssh:a")


def test_ssh_without_a_host_says_how_to_write_it() -> None:
    with pytest.raises(PlatformError, match="names no host") as caught:
        UNIT.check_here(Place(name=NAME, shared="/dev/shm/x"))
    assert "ssh:HOST" in (caught.value.hint or "")


def test_a_directory_that_a_shell_would_read_is_refused() -> None:
    place = Place(name=NAME, shared="/dev/shm/x", options={"ssh": {"folder": "/tmp/$(id)"}})
    with pytest.raises(ExperimentError, match="no plain absolute path"):
        UNIT.named("a").check_here(place)


def command(**given: object) -> list[str]:
    settings = {"config": None, "options": "", "folder": "/tmp", **given}
    argv = ["/tmp/x/tare-agent", "it's $(id)\n"]
    return connection.command("box", NAME, settings, ("runc",), argv)


def test_nothing_that_a_shell_there_would_read_gets_through() -> None:
    argv = command()
    assert argv[-3:-1] == ["--", "box"]
    words = shlex.split(argv[-1])
    assert words[:3] == ["exec", "/bin/sh", "-c"]
    assert words[-2:] == ["/tmp/x/tare-agent", "it's $(id)\n"]


def test_it_asks_nothing_and_shares_no_connection() -> None:
    argv = command(options="-o ServerAliveInterval=1", config="conf")
    assert {"BatchMode=yes", "ControlPath=none", "RemoteCommand=none"} <= set(argv)
    # Of two values ssh takes the first.
    assert argv.index("ServerAliveInterval=1") < argv.index("ServerAliveInterval=4")
    assert argv[argv.index("-F") + 1] == "conf"


def speaking(script: str) -> connection.Connection:
    return connection.Connection([sys.executable, "-c", script], "box", NAME)


def test_what_a_login_says_is_passed_over() -> None:
    channel = speaking(f"print('Welcome!\\n\\n{NAME} host Linux riscv64 6.1\\x1b[0m far')")
    try:
        assert channel.meet() == ("Linux", "riscv64", "6.1?[0m", "far")
    finally:
        channel.close()


@pytest.mark.parametrize("script", ["while True: print('no shell')", f"print('{NAME} host x')"])
def test_a_host_that_is_no_host_is_told(script: str) -> None:
    channel = speaking(script)
    try:
        with pytest.raises(PlatformError, match="box does not"):
            channel.meet()
    finally:
        channel.close()


def test_a_host_that_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "STEP_S", 2.0)
    said = f"{NAME} host Linux x86_64 6.1 far\\n{NAME} send"
    channel = speaking(f"import time; print('{said}', flush=True); time.sleep(60)")
    try:
        channel.meet()
        with pytest.raises(PlatformError, match="box has not taken the agent within 2 s"):
            channel.copy(bytes(4 << 20))
    finally:
        channel.close()


def test_a_login_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "STEP_S", 1.0)
    channel = speaking("import time\nwhile True: print('wait', flush=True); time.sleep(0.05)")
    try:
        with pytest.raises(SilenceError):
            channel.meet()
    finally:
        channel.close()


@pytest.mark.parametrize(("words", "hint"), connection.MENDS)
def test_every_mend_is_for_the_host(words: str, hint: str) -> None:
    found = UNIT.named("me@box").mend(f"ssh: {words} …")
    assert found == hint.format(host="me@box")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts ssh as another user")
def test_under_sudo_ssh_runs_as_who_called_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "ssh").write_text("#!/bin/sh\necho ssh runs as $(id -u) >&2; exit 255\n")
        (folder / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        caller = User(uid=54321, gid=54321, groups=())
        place = Place(name=NAME, shared="/dev/shm/x", user=caller)
        with pytest.raises(AgentError, match="ssh runs as 54321"):
            UNIT.named("box").start(["true"], place, [])  # type: ignore[attr-defined]
