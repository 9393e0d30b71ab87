"""Servers of a network: the session waits until they listen, and says where they do not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scripted import ScriptedServer

from tare.errors import TrialError
from tare.experiment.session import servers
from tare.results.message import Duration, Message, message

COMMANDS = (("serve",), ("also",))
NETWORK: Any = SimpleNamespace(
    hosts=[SimpleNamespace(host=number, address=f"10.77.0.{number}") for number in (1, 2, 3)]
)


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "HostServer", ScriptedServer)
    monkeypatch.setattr(servers, "LISTENS_S", 0.02)
    monkeypatch.setattr(ScriptedServer, "open", 0)


def started() -> list[Message]:
    notes: list[Message] = []
    servers.session_servers(NETWORK, "session", COMMANDS, {}, None, notes.append)
    return notes


def test_nothing_is_noted_where_all_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedServer, "listening", {2: 2, 3: 3})
    assert started() == []


def test_hosts_on_which_some_do_not_listen_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedServer, "listening", {2: 2, 3: 1})
    assert started() == [
        message(
            "serve: after {limit}, some commands do not listen yet on host"
            "{% if hosts | length > 1 %}s{% endif %} {hosts | listing}; the trials begin",
            limit=Duration(0.02),
            hosts=[3],
        )
    ]
    assert ScriptedServer.open == 4


def test_a_server_that_ends_at_once_takes_the_others_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedServer, "listening", {2: 0, 3: 0})
    monkeypatch.setattr(ScriptedServer, "ended", True)
    with pytest.raises(TrialError):
        started()
    assert ScriptedServer.open == 0
