"""Servers of a network: the session waits until they listen, and says where they do not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tare.errors import TrialError
from tare.experiment.session import servers
from tare.results.message import Duration, Message, message

COMMANDS = (("serve",), ("also",))
HOSTS: Any = [SimpleNamespace(host=number) for number in (2, 3)]


class Scripted:
    """A server of a host on which so many listen."""

    listening: dict[int, int]
    ended = False
    open = 0

    def __init__(self, name: str, words: Any, host: Any, levels: Any, user: Any) -> None:
        self.host = host.host
        Scripted.open += 1

    def waiting(self) -> set[str]:
        return {str(i) for i in range(self.listening[self.host])}

    def check(self) -> None:
        if self.ended:
            raise TrialError("it has ended")

    def close(self) -> None:
        Scripted.open -= 1


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_Server", Scripted)
    monkeypatch.setattr(servers, "LISTENS_S", 0.02)
    monkeypatch.setattr(Scripted, "open", 0)


def started() -> list[Message]:
    notes: list[Message] = []
    servers.Servers("session", COMMANDS, HOSTS, {}, None, notes.append)
    return notes


def test_nothing_is_noted_where_all_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "listening", {2: 2, 3: 3}, raising=False)
    assert started() == []


def test_hosts_on_which_some_do_not_listen_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "listening", {2: 2, 3: 1}, raising=False)
    assert started() == [message("execute.silent", limit=Duration(0.02), hosts=[3])]
    assert Scripted.open == 4


def test_a_server_that_ends_at_once_takes_the_others_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "listening", {2: 0, 3: 0}, raising=False)
    monkeypatch.setattr(Scripted, "ended", True)
    with pytest.raises(TrialError):
        started()
    assert Scripted.open == 0
