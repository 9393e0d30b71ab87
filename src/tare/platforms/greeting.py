"""The first line of an agent, which tells that it lives."""

from __future__ import annotations

import msgspec

from tare.agent import client, record
from tare.errors import AgentError


class _Greeted:
    """A channel whose first line was read already, to know that the agent lives."""

    def __init__(self, channel: client.Channel, first: bytes) -> None:
        self._channel = channel
        self._first: bytes | None = first
        self.fileno = channel.fileno
        self.send = channel.send
        self.close = channel.close
        self.last_words = channel.last_words

    def receive(self, timeout_s: float | None) -> bytes | None:
        first, self._first = self._first, None
        return first if first is not None else self._channel.receive(timeout_s)


def greeted(channel: client.Channel, patience_s: float) -> client.Channel:
    """Return a channel whose agent has said hello, which is still to be received.

    Raises
    ------
    AgentError
        If it has not, in time: what was said.
    """
    try:
        first = channel.receive(patience_s)
        if first is None:
            raise AgentError(channel.last_words())
        _check_hello(first)
    except BaseException:
        channel.close()
        raise
    return _Greeted(channel, first)


def _check_hello(line: bytes) -> None:
    try:
        hello = isinstance(record.decode(line), record.Hello)
    except msgspec.DecodeError as error:
        raise AgentError(f"what it says is no record ({error}): {line[:200]!r}") from error
    if not hello:
        raise AgentError(f"the agent's first record is not `hello`: {line[:200]!r}")
