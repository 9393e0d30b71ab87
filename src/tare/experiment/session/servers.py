"""Servers on the hosts of a network, while a session lasts: each is the child of an agent there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from tare import workloads
from tare.agent import client, record
from tare.decoding import DecodeError
from tare.errors import AgentError, TrialError
from tare.experiment.session import single_execution
from tare.networks.listening import waiting
from tare.results.message import Duration, Message, message
from tare.workloads import placeholders

#: How long a server may take until it listens.
LISTENS_S = 10.0
#: Variables that servers get, as commands do by default.
_INHERITED = ("PATH", "HOME", "USER", "LANG", "TZ")


class Servers:
    """Every command on every host.

    An agent in the host's namespace starts it and waits for it, so that all of it ends with the
    session, however that ends, and what it said last is known.

    Raises
    ------
    TrialError
        If one ends before it listens.
    """

    def __init__(
        self,
        name: str,
        commands: Sequence[tuple[str, ...]],
        hosts: Sequence[record.BuiltHost],
        levels: Mapping[str, str],
        user: record.User | None,
        note: Callable[[Message], None],
    ) -> None:
        self._running: list[_Server] = []
        try:
            for host in hosts:
                for number, words in enumerate(commands, 1):
                    own = f"{name}-serve-{host.host}-{number}"
                    self._running.append(_Server(own, words, host, levels, user))
            silent = self._silent(len(commands))
        except BaseException:
            self.close()
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

    def _silent(self, each: int) -> list[int]:
        """Wait until every server listens; return the hosts where that is not so after a while."""
        deadline = time.monotonic() + LISTENS_S
        wanting = {server.host: server for server in self._running}
        while True:
            # A host has no network but this, so that whatever waits there is one of them.
            wanting = {host: one for host, one in wanting.items() if len(one.waiting()) < each}
            self.check()
            if not wanting or time.monotonic() > deadline:
                return sorted(wanting)
            time.sleep(0.01)

    def check(self) -> None:
        """Raise TrialError, with its last words, where one has ended."""
        for server in self._running:
            server.check()

    def close(self) -> None:
        """End all of them, with all that they started."""
        for server in self._running:
            server.close()
        self._running.clear()


class _Server:
    def __init__(
        self,
        name: str,
        words: tuple[str, ...],
        host: record.BuiltHost,
        levels: Mapping[str, str],
        user: record.User | None,
    ) -> None:
        self.host = host.host
        self._called = f"{words[0]} on host {host.host}"
        #: How it ended, with its last words; None: it runs.
        self._end: str | None = None
        argv = [str(client.binary()), "enter", "--network", str(host.namespace), "--"]
        self._channel = client.ProcessChannel(
            [*argv, str(client.binary()), "serve", "--name", name]
        )
        try:
            speaking = client.Agent(self._channel)
            levels = {**levels, placeholders.HOST: str(host.address)}
            speaking.submit(_job(speaking.next_id(), words, levels, user))
        except BaseException:
            self._channel.close()
            raise

    def check(self) -> None:
        """Raise TrialError where it has ended: its agent speaks only then."""
        if self._end is None:
            self._end = self._heard()
        if self._end is not None:
            raise TrialError(
                f"the server {self._called} has ended: {self._end}",
                "[network] serve: commands that stay until they are ended",
            )

    def close(self) -> None:
        """End its agent, which takes it along with all that it started."""
        self._channel.close()

    def _heard(self) -> str | None:
        """Return how the server ended and its last output, as far as its agent reported them."""
        said: list[str] = []
        try:
            while (line := self._channel.receive(0.0)) is not None:
                got = record.decode(line)
                if isinstance(got, record.Fault):
                    said.append(": ".join(part for part in (got.message, got.evidence) if part))
                if isinstance(got, record.Done):
                    return "; ".join(said) or "by itself, without a fault"
        except (AgentError, DecodeError) as error:
            if self._channel.process.poll() is None:
                return "; ".join(said) or None
            said.append(str(error))
        return "; ".join(said) or self._channel.last_words()

    def waiting(self) -> set[str]:
        """Return the sockets of its host that wait for somebody."""
        return waiting(self._channel.process.pid)


def _job(
    number: int,
    words: tuple[str, ...],
    levels: Mapping[str, str],
    user: record.User | None,
) -> record.Trial:
    """Return a trial without an end, whose only execution is the server."""
    workload = record.Command(
        argv=tuple(placeholders.fill(word, levels) for word in words),
        environment={**workloads.inherited(_INHERITED, os.environ), **workloads.of_hosts(levels)},
        directory=None,
        input=None,
        # Only its last words are wanted.
        capture=record.Capture(limit_bytes=0),
    )
    return single_execution.job(number, workload, user)
