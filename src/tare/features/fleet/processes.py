"""Processes that play a fleet's scheduler or one of its workers, started here or by ssh.

Each gets its orders, the key of the run among them, as one line of its standard input, and a
heartbeat every few seconds: it ends when that input ends or is silent.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from time import monotonic

import msgspec

from tare.decoding import DecodeError, decode
from tare.errors import PlatformError
from tare.features.fleet import node
from tare.features.fleet.node import Answer, Orders
from tare.host import python

#: Seconds until a node must answer after its start; loading tare is slow on slow machines.
READY_S = 60.0
#: Seconds until a node must have ended its session and cleaned up.
END_S = node.END_S + 10.0
#: Ends a child when this process is killed; Ctrl-C is this process's to handle.
WITH_US = ("setpriv", "--pdeathsig", "TERM", "--")
_LINE_BYTES = 4096


def command(role: str) -> list[str]:
    """Return what starts a node on this machine; `role` is for readers of process lists."""
    return python.tare("fleet", "node", role)


def printable(text: str) -> str:
    """Return what a host printed, without what a terminal would obey."""
    return re.sub(r"[^ -~]", "?", text)[:400]


class NodeProcess:
    """A node that was started; its output is read until it ends."""

    def __init__(self, argv: Sequence[str], orders: Orders) -> None:
        self._process = subprocess.Popen(
            [*WITH_US, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
        self._mark = orders.mark.encode()
        self._answer: Answer | None = None
        self._answered = threading.Event()
        #: The last lines of its other output: complaints of ssh, greetings of a login.
        self._output: deque[str] = deque(maxlen=20)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._write(msgspec.json.encode(orders) + b"\n")

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        with contextlib.suppress(OSError, ValueError):
            for line in _lines(out.fileno()):
                if self._answer is None and line.startswith(self._mark):
                    self._answer = _decoded(line.removeprefix(self._mark))
                    self._answered.set()
                elif text := printable(line.decode(errors="replace").strip()):
                    self._output.append(text)
        self._answered.set()

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        # A node that has ended is noticed by its missing answer.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(data)

    def beat(self) -> None:
        """Send a heartbeat."""
        self._write(b"\n")

    def answer(self, ends: float) -> Answer | None:
        """Wait for the answer; None: the node ended, or did not answer until `ends`."""
        self._answered.wait(max(0.0, ends - monotonic()))
        return self._answer

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        return self._process.returncode

    def output(self) -> str:
        """Return what it printed last, without its answer."""
        return "\n".join(self._output)

    def last_line(self) -> str:
        """Return the last line of its output."""
        return self._output[-1] if self._output else "it printed nothing"

    def kill(self) -> None:
        """Kill it at once; :meth:`wait` still collects it."""
        self._process.kill()

    def close(self) -> None:
        """Ask it to end by closing its input."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def wait(self, ends: float) -> None:
        """Wait until it has ended; after `ends` it is terminated, then killed."""
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(max(1.0, ends - monotonic()))
                break
        self._reader.join(1)

    @property
    def was_killed(self) -> bool:
        """Whether it ended without a chance to clean up."""
        return self._process.returncode == -signal.SIGKILL


def _lines(file: int) -> Iterator[bytes]:
    """Yield lines; longer ones in pieces of `_LINE_BYTES`."""
    with open(file, "rb", closefd=False) as lines:
        while line := lines.readline(_LINE_BYTES):
            yield line


def _decoded(text: bytes) -> Answer:
    try:
        return decode(text, Answer)
    except DecodeError as error:
        return Answer(why=f"its answer cannot be read: {error}")


class NodeProcesses:
    """All nodes of a run, the scheduler first; a context manager that ends them."""

    def __init__(self) -> None:
        self._all: list[NodeProcess] = []
        self._over = threading.Event()
        self._heartbeats = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> NodeProcesses:
        self._heartbeats.start()
        return self

    def __exit__(self, *about: object) -> None:
        # Workers end their sessions by way of the scheduler, so that it ends last.
        self.end(self._all[1:])
        self.end(self._all)
        self._over.set()
        self._heartbeats.join()

    def _beat(self) -> None:
        while not self._over.wait(node.BEAT_S):
            for one in [*self._all]:
                one.beat()

    def start(self, argv: Sequence[str], orders: Orders) -> NodeProcess:
        """Start a node."""
        process = NodeProcess(argv, orders)
        self._all.append(process)
        return process

    def scheduler(self, orders: Orders, before: Sequence[str] = ()) -> int:
        """Start the scheduler, and return its port.

        Parameters
        ----------
        orders : Orders
        before : sequence of str
            Words before its command, such as those that enter a network namespace.

        Raises
        ------
        PlatformError
            If it does not come up.
        """
        process = self.start([*before, *command("scheduler")], orders)
        return ready(process, "the scheduler", monotonic() + READY_S).port

    def end(self, some: Sequence[NodeProcess]) -> None:
        """End nodes, all at the same time."""
        for one in some:
            one.close()
        ends = monotonic() + END_S
        for one in some:
            one.wait(ends)
        self._all = [one for one in self._all if one not in some]


def ready(process: NodeProcess, name: str, ends: float) -> Answer:
    """Return the answer of a node that is ready; raises PlatformError where it is not."""
    answer = process.answer(ends)
    if answer is None or answer.why is not None:
        why = process.last_line() if answer is None else answer.why
        raise PlatformError(f"{name} does not come up: {why}", answer.hint if answer else None)
    return answer
