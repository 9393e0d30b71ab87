"""The platform that is none: a template to copy, and a double for tests of what uses platforms."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence

import msgspec

from tare.agent import record
from tare.agent.client import Channel
from tare.decoding import decode
from tare.errors import AgentError
from tare.platforms.layer import Ground, Layer, Place
from tare.registry import Description


class Null(Ground):
    """Starts nothing: its agent is a few lines of Python that say hello and done."""

    description = Description(
        name="null",
        title="no platform: answers every job with nothing",
        question="Does what uses a platform work?",
    )
    double = True

    def start(self, argv: list[str], place: Place, inner: Sequence[Layer]) -> Channel:
        """Make a channel with an agent at its other end that has nothing to say."""
        return _Silent()


class _Silent:
    def __init__(self) -> None:
        hello = record.Hello(
            schema=record.SCHEMA,
            version="null",
            boot_id=None,
            pid=1,
            uid=0,
            monotonic_ns=0,
            realtime_ns=0,
        )
        self._lines = deque([msgspec.json.encode(hello)])
        self._open = True
        #: Readable at any time.
        self._ready = os.eventfd(1, os.EFD_CLOEXEC)

    def fileno(self) -> int:
        """Return what can be waited for, as for a process."""
        return self._ready

    def send(self, line: bytes) -> None:
        """Answer with ``done`` alone."""
        if not self._open:
            raise AgentError("the null platform was closed")
        job = decode(line, record.Job)
        self._lines.append(msgspec.json.encode(record.Done(id=job.id, records=0)))

    def receive(self, timeout_s: float | None) -> bytes | None:
        """Return the next line, or None after the end."""
        if self._lines:
            return self._lines.popleft()
        if self._open:
            raise AgentError("the null platform was asked nothing, so it answers nothing")
        return None

    def last_words(self) -> str:
        """Tell that there is nothing to tell."""
        return "closed"

    def close(self) -> None:
        """End."""
        if self._open:
            os.close(self._ready)
        self._open = False


UNIT = Null()
