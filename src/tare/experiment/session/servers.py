"""Servers on the hosts of a network, from their start until the network is taken down."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tare import workloads
from tare.agent import record
from tare.errors import TareError, TrialError
from tare.experiment.session.auxiliary import HostServer
from tare.results.message import Duration, Message, message
from tare.workloads import placeholders

if TYPE_CHECKING:
    from tare.networks.emulator import Emulator

#: How long a server may take until it listens.
LISTENS_S = 10.0
#: Interval between looks whether servers listen.
LOOK_S = 0.01
#: Variables that servers get, as commands do by default.
_INHERITED = ("PATH", "HOME", "USER", "LANG", "TZ")


class Servers:
    """Servers on several hosts.

    Parameters
    ----------
    error_of : callable
        Makes the error that is raised where one has ended, from how it ended.
    """

    def __init__(self, error_of: Callable[[HostServer, str], TareError]) -> None:
        self._error_of = error_of
        self._running: list[HostServer] = []

    def start(
        self,
        emulator: Emulator,
        host: int,
        name: str,
        command: record.Command,
        user: record.User | None,
    ) -> None:
        """Start a command on a host, under the name of the session."""
        number = 1 + sum(server.host == host for server in self._running)
        own = f"{name}-serve-{host}-{number}"
        self._running.append(HostServer(emulator, host, own, command, user))

    def silent(self, limit_s: float) -> list[int]:
        """Wait until every server listens; return the hosts where one does not after a time.

        Raises TareError if one ends before that.
        """
        deadline = time.monotonic() + limit_s
        while True:
            # A host has no network but this, so that whatever waits there is one of them.
            silent = sorted({one.host for one in self._running if not self._all_listen(one)})
            self.check()
            if not silent or time.monotonic() > deadline:
                return silent
            time.sleep(LOOK_S)

    def _all_listen(self, server: HostServer) -> bool:
        return len(server.sockets()) >= sum(one.host == server.host for one in self._running)

    def check(self) -> None:
        """Raise the error of the first server that has ended."""
        for server in self._running:
            if (ending := server.ending()) is not None:
                raise self._error_of(server, ending)

    def close(self, grace_s: float = 0.0) -> None:
        """End all of them, with all that they started.

        Parameters
        ----------
        grace_s : float
            How long they have to end after they were asked; 0: they are not asked.
        """
        running, self._running = self._running, []
        with ExitStack() as stack:
            # Each is closed, whatever becomes of the others.
            for server in running:
                stack.callback(server.close)
            if grace_s:
                for server in running:
                    server.terminate()
                deadline = time.monotonic() + grace_s
                for server in running:
                    server.wait(max(0.0, deadline - time.monotonic()))


def session_servers(
    emulator: Emulator,
    name: str,
    commands: Sequence[tuple[str, ...]],
    levels: Mapping[str, str],
    user: record.User | None,
    note: Callable[[Message], None],
) -> Servers:
    """Start every command on every host but the first, and wait until they listen.

    Parameters
    ----------
    emulator : Emulator
        Of the network.
    name : str
        Of the session.
    commands : sequence of tuple of str
    levels : mapping
        Placeholders of the hosts.
    user : User or None
        As whom servers run.
    note : callable
        Takes what is to be reported with the results.

    Raises
    ------
    TrialError
        If one ends before it listens.
    """
    servers = Servers(_ended)
    try:
        for host in emulator.hosts[1:]:
            own = {**levels, placeholders.HOST: str(host.address)}
            for words in commands:
                servers.start(emulator, host.host, name, _command(words, own), user)
        silent = servers.silent(LISTENS_S)
    except BaseException:
        servers.close()
        raise
    if silent:
        note(
            message(
                "serve: after {limit}, some commands do not listen yet on host"
                "{% if hosts | length > 1 %}s{% endif %} {hosts | listing}; the trials begin",
                limit=Duration(LISTENS_S),
                hosts=silent,
            )
        )
    return servers


def _ended(server: HostServer, ending: str) -> TrialError:
    return TrialError(
        f"the server {server.argv[0]} on host {server.host} has ended: {ending}",
        "[network] serve: commands that stay until they are ended",
    )


def _command(words: tuple[str, ...], levels: Mapping[str, str]) -> record.Command:
    return record.Command(
        argv=tuple(placeholders.fill(word, levels) for word in words),
        environment={**workloads.inherited(_INHERITED, os.environ), **workloads.of_hosts(levels)},
        directory=None,
        input=None,
        # Only its last words are wanted.
        capture=record.Capture(limit_bytes=0),
    )
