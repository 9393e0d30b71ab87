"""The front's end of the stream: starts nothing itself, speaks with a resident agent.

A platform hands over a :class:`Channel`; an :class:`Agent` speaks jobs and records over it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import selectors
import signal
import socket
import subprocess
import termios
import time
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from tare.agent import record
from tare.decoding import DecodeError
from tare.errors import AgentError, Typed

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A line longer than this is not a record (bounds what a peer can make us hold).
LINE_LIMIT = 1 << 20
#: An agent ends at once when nobody speaks to it any more; more than this means that it hangs.
END_S = 5.0
#: How long what is around a hanging agent may take to end all that it started.
CLEANING_S = 30.0


@cache
def binary() -> Path:
    """Path of the agent that was built with this package.

    Raises
    ------
    AgentError
        If it is not there.
    """
    path = Path(__file__).parents[1] / "bin" / "tare-agent"
    if not os.access(path, os.X_OK):
        raise AgentError(
            f"the agent {path} is missing: the package was not built with it",
            Typed("make setup   (or: pip install .)"),
        )
    return path


def digest() -> str:
    """SHA-256 of the agent, hexadecimal."""
    return _digest(binary())


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class SilenceError(AgentError):
    """Nothing came in time.

    Parameters
    ----------
    seconds : float
        For how long.
    context : str
        What else is known of where the agent is.
    """

    def __init__(self, seconds: float, context: str = "") -> None:
        more = f"; {context}" if context else ""
        super().__init__(f"the agent did not answer within {seconds:g} s{more}")
        self.context = context


class Channel(Protocol):
    """A bidirectional stream of lines, to and from one resident agent."""

    def fileno(self) -> int:
        """Return the descriptor that is readable when more has come."""

    def send(self, line: bytes) -> None:
        """Write one line (without its end). Raises AgentError if the other side is gone."""

    def receive(self, timeout_s: float | None) -> bytes | None:
        """Return the next line without its end, or None where the stream has ended.

        Raises SilenceError when nothing came in time.
        """

    def last_words(self) -> str:
        """Return how the other side ended and what it said outside the stream."""

    def close(self) -> None:
        """End the stream; the agent ends with it. May be called twice."""


class LineBuffer:
    """Cuts a byte stream into bounded lines."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Append what was read."""
        self._data += data
        if len(self._data) > LINE_LIMIT and b"\n" not in self._data:
            raise AgentError(
                f"the agent sent a line longer than {LINE_LIMIT} bytes, so this is no record stream"
            )

    def line(self) -> bytes | None:
        """Return the next whole line without its end, or None."""
        end = self._data.find(b"\n")
        if end < 0:
            return None
        line = bytes(self._data[:end])
        del self._data[: end + 1]
        return line

    def rest(self) -> bytes:
        """Return what is left after the stream ended in the middle of a line."""
        return bytes(self._data)


class LineChannel:
    """What channels to whatever has a descriptor have in common: lines, and how long to wait."""

    def __init__(self) -> None:
        self._lines = LineBuffer()
        self._selector = selectors.DefaultSelector()

    def receive(self, timeout_s: float | None) -> bytes | None:
        """Return the next line, or None at the end."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (line := self._lines.line()) is None:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._selector.select(wait):
                raise SilenceError(timeout_s or 0.0, self._context())
            if not self._read():
                return None
        return line

    def _read(self) -> bool:
        """Read what has come; False: nothing will come any more."""
        raise NotImplementedError

    def _context(self) -> str:
        """Return what is known of where the agent is when it is silent."""
        return ""


class SocketChannel(LineChannel):
    """The stream of an agent behind a socket."""

    #: What is gone where nothing can be sent.
    around: str

    def __init__(self, connected: socket.socket) -> None:
        super().__init__()
        self._socket = connected
        self._selector.register(connected, selectors.EVENT_READ)

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._socket.fileno()

    def send(self, line: bytes) -> None:
        """Write one line."""
        try:
            self._socket.sendall(line + b"\n")
        except OSError as error:
            raise AgentError(f"{self.around} is gone ({self.last_words()})") from error

    def last_words(self) -> str:
        """Return how the other side ended and what it said outside the stream."""
        raise NotImplementedError

    def _read(self) -> bool:
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionError:
            return False
        self._feed(data)
        return bool(data)

    def _feed(self, data: bytes) -> None:
        self._lines.feed(data)


class ProcessChannel(LineChannel):
    """The stream of an agent that was started as a child process of the front.

    Parameters
    ----------
    argv : sequence of str
        Command that starts the agent, with whatever the platform wraps around it.

    Raises
    ------
    AgentError
        If it cannot be started, or this process ignores SIGCHLD.
    """

    def __init__(self, argv: Sequence[str], *, environment: dict[str, str] | None = None) -> None:
        super().__init__()
        self.argv = list(argv)
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            # The agent would inherit it: the kernel then keeps no exit code of any child.
            raise AgentError(
                "this process ignores SIGCHLD, so no exit code of a command could be read: "
                "first call signal.signal(signal.SIGCHLD, signal.SIG_DFL)"
            )
        try:
            self.process = subprocess.Popen(
                self.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                # Ctrl-C is the front's to handle; the agent ends when its stream does.
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise AgentError(f"cannot start {self.argv[0]}: {error.strerror}") from error
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in = self.process.stdin
        self._out = self.process.stdout
        self._selector.register(self._out, selectors.EVENT_READ)

    def fileno(self) -> int:
        """Return the descriptor of the agent's standard output."""
        return self._out.fileno()

    def send(self, line: bytes) -> None:
        """Write one line."""
        try:
            view = memoryview(line + b"\n")
            while view:
                view = view[self._in.write(view) :]
        except OSError as error:
            raise AgentError(f"the agent is gone ({self.last_words()})") from error

    def unread(self) -> bool:
        """Tell whether the process has yet to read what it was sent."""
        waiting = bytearray(4)
        fcntl.ioctl(self._in.fileno(), termios.FIONREAD, waiting)
        # What has ended reads nothing more.
        return any(waiting) and self.process.poll() is None

    def _read(self) -> bool:
        data = os.read(self._out.fileno(), 1 << 16)
        self._lines.feed(data)
        return bool(data)

    def close(self) -> None:
        """Close the agent's standard input and wait for its end; end it if it stays."""
        if not self._in.closed:
            self._in.close()
        # An agent that blocks on a full pipe would never see the end of its input.
        self._selector.close()
        self._out.close()
        try:
            self.process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            # Whatever is around the agent may have more to end than itself.
            self.process.terminate()
            try:
                self.process.wait(timeout=CLEANING_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def last_words(self) -> str:
        """Return the exit code and what came on standard error."""
        try:
            code = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "its standard input is closed"
        assert self.process.stderr is not None
        words = self.process.stderr.read(4096) or b""
        said = words.decode(errors="replace").strip() or "it said nothing"
        return f"exit code {code}: {said}"


class Agent:
    """A resident agent: asks jobs of it and reads the records that answer them.

    What it runs may try to speak for it. So a job has a number that cannot be foreseen, and every
    record must name it.

    Parameters
    ----------
    channel : Channel
        To an agent that was just started; closed where the agent does not say hello.
    timeout_s : float
        How long its hello is waited for.

    Raises
    ------
    AgentError
        If the first that comes is not the hello of an agent of this version.
    """

    def __init__(self, channel: Channel, *, timeout_s: float = 30.0) -> None:
        self.channel = channel
        try:
            self.hello = _hello(channel, timeout_s)
        except BaseException:
            channel.close()
            raise

    @staticmethod
    def next_id() -> int:
        """Return a fresh number for a job."""
        # What a number of JavaScript holds exactly.
        return secrets.randbits(53)

    def submit(self, job: record.Job) -> None:
        """Send a job without waiting for its answer."""
        self.channel.send(msgspec.json.encode(job))

    def ask(self, job: record.Job, timeout_s: float | None = None) -> list[record.Record]:
        """Send a job and return all records that answer it.

        Raises
        ------
        AgentError
            If the stream ends, or holds what answers no such job, before ``done``.
        """
        self.submit(job)
        answer = Answer(self, job.id)
        return list(iter(partial(answer.next, timeout_s), None))

    def close(self) -> None:
        """End the agent."""
        self.channel.close()

    def receive(self, timeout_s: float | None) -> record.Record:
        """Return the next record.

        Raises
        ------
        SilenceError
            If none came in time.
        AgentError
            If the stream ends, or holds what is no record.
        """
        line = self.channel.receive(timeout_s)
        if line is None:
            said = self.channel.last_words()
            raise AgentError(f"the agent's stream ended before its answer was complete ({said})")
        try:
            return record.decode(line)
        except DecodeError as error:
            raise AgentError(
                f"the agent sent what is no record ({error}): {line[:200]!r}"
            ) from error


def _hello(channel: Channel, timeout_s: float) -> record.Hello:
    line = channel.receive(timeout_s)
    if line is None:
        raise AgentError(channel.last_words())
    try:
        first = record.decode(line)
    except DecodeError as error:
        raise AgentError(f"what it says is no record ({error}): {line[:200]!r}") from error
    if not isinstance(first, record.Hello):
        raise AgentError(f"the agent's first record is not `hello`: {line[:200]!r}")
    if first.schema != record.SCHEMA:
        raise AgentError(
            f"the agent speaks schema {first.schema}, this tare speaks {record.SCHEMA}",
            Typed("make setup   (builds the agent of this version)"),
        )
    return first


class Answer:
    """The answer to one job, as far as it has come.

    Parameters
    ----------
    agent : Agent
        To which the job was submitted.
    job_id : int
        Its number.
    limit : int, optional
        More records than this are no answer: bounds what an agent can make us keep.
    """

    def __init__(self, agent: Agent, job_id: int, limit: int | None = None) -> None:
        self._agent = agent
        self._job_id = job_id
        self._limit = limit
        self._count = 0
        self.whole = False

    def next(self, timeout_s: float | None) -> record.Record | None:
        """Return the next record, or None where the answer is whole.

        Raises
        ------
        SilenceError
            If none came in time.
        AgentError
            If the stream ends, or holds what answers no such job, or too much.
        """
        if self.whole:
            return None
        got = self._agent.receive(timeout_s)
        if isinstance(got, record.Hello) or got.id != self._job_id:
            raise AgentError("the agent sent a record that answers no job of this time")
        if isinstance(got, record.Done):
            if got.records != self._count:
                raise AgentError(
                    f"the agent closed a job with {got.records} records, but it brought "
                    f"{self._count}"
                )
            self.whole = True
            return None
        self._count += 1
        if self._limit is not None and self._count > self._limit:
            raise AgentError(f"the agent sent more than the {self._limit:,} records of an answer")
        return got
