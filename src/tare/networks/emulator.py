"""A network that is shaped: drives ``tare-agent emulate``, which builds it and keeps buckets."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import IO, NamedTuple, Self

import msgspec

from tare.agent import client, record
from tare.decoding import DecodeError, Decoder
from tare.errors import AgentError, PlatformError, Typed
from tare.networks.replay import resolved
from tare.networks.shaping import draws
from tare.networks.shaping.specification import Shaping

#: First three bytes of the hosts' addresses, which nothing outside the network sees.
SUBNET = "10.77.0"
#: The agent answers in milliseconds, also on a machine that is busy.
ANSWER_S = 20.0
#: Taking a network of many hosts down again.
END_S = 20.0
_WORDS_LIMIT = 4096

#: Who is told how the hosts are; on a thread of the emulator's.
Listener = Callable[[record.HostStates], None]

_decoder = Decoder[record.EmulateRecord](record.EmulateRecord)


class Emulator:
    """A small network of hosts, or an interface that is there; a context manager.

    Parameters
    ----------
    name : str
        What everything made is called, as :func:`tare.host.lease.new_name` makes one.
    hosts : int
        How many hosts the network has; each is a network namespace.
    interface : str, optional
        Instead of a network: what leaves by this interface is shaped, as host 1.
    subnet : str
        First three bytes of the hosts' addresses.
    argv : sequence of str, optional
        Instead of this machine's agent.

    Attributes
    ----------
    hosts : tuple of BuiltHost
        Path of the namespace, address and interface of each, host 1 first.

    Raises
    ------
    PlatformError
        If the network cannot be built: no rights, no such interface, a kernel that cannot.
    AgentError
        If the agent does not start, or does not answer.
    """

    def __init__(
        self,
        name: str,
        hosts: int = 2,
        *,
        interface: str | None = None,
        subnet: str = SUBNET,
        argv: Sequence[str] | None = None,
    ) -> None:
        self.name = name
        self._talk = _Talk(argv or [str(client.binary()), "emulate", "--name", name])
        self._asked = 0
        self._asking = threading.Lock()
        try:
            built = self._ask(
                record.BuildNetwork(id=self._number(), name=name, hosts=hosts, subnet=subnet)
                if interface is None
                else record.TakeInterface(id=self._number(), name=name, interface=interface)
            )
            if not isinstance(built, record.NetworkBuilt):
                raise AgentError(f"the emulating agent answered {type(built).__name__} first")
        except BaseException:
            self._talk.close()
            raise
        self.hosts = built.hosts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def shape(self, shapes: Mapping[int, Shaping], *, carry: bool = False, draw: int = 0) -> None:
        """Change how hosts are shaped; those that are not named stay as they are.

        Parameters
        ----------
        shapes : mapping of int to Shaping
            By host, from 1.
        carry : bool
            Buckets keep the tokens that were left, instead of beginning with their initial budget.
        draw : int
            Which of several draws of a distribution, as of the trials of an experiment.

        Raises
        ------
        PlatformError
            If it cannot be done; what was before holds.
        InputError, StoreError
            If a file to be replayed cannot be.
        """
        told = [
            record.HostShape(
                host=host,
                shape=draws.shape(resolved(shaping), host=host, draw=draw, carry=carry),
                queue_bytes=None if shaping is None else shaping.queue_bytes,
            )
            for host, shaping in sorted(shapes.items())
        ]
        self._ask(record.ShapeHosts(id=self._number(), hosts=tuple(told)))

    def add_port(self, end: record.PortEnd, host: int = 1) -> record.BuiltPort:
        """Give a host a further address, for what cannot be in its namespace.

        Raises
        ------
        PlatformError
            If it cannot be done: why, and what would fix it.
        """
        with self._asking:
            added = self._ask(record.AddPort(id=self._number(), host=host, end=end))
        if not isinstance(added, record.PortAdded):
            raise AgentError(f"the emulating agent answered {type(added).__name__}, no port")
        return added.port

    def remove_port(self, port: int) -> None:
        """Remove a port, and end what runs in a namespace that was made for it."""
        with self._asking:
            self._ask(record.RemovePort(id=self._number(), port=port))

    def look(self) -> record.HostStates:
        """Return how every host is: tokens left, bytes sent, how often its bucket was empty."""
        states = self._ask(record.LookAtHosts(id=self._number()))
        if not isinstance(states, record.HostStates):
            raise AgentError(f"the emulating agent told {type(states).__name__}, no states")
        return states

    def log(self, every_s: float | None, listener: Listener | None = None) -> None:
        """From now on tell a listener how every host is, so often; None: no more.

        The listener is called on a thread of the emulator's, and should not take long.
        """
        self._talk.listener = listener
        every_ns = None if every_s is None else round(1e9 * every_s)
        self._ask(record.LogHosts(id=self._number(), every_ns=every_ns))

    def check(self) -> None:
        """Raise PlatformError or AgentError where something has failed by itself meanwhile."""
        self._talk.check()

    def enter(self, host: int) -> list[str]:
        """Return the words before a command that make it run on a host; none: this one is it."""
        path = self.hosts[host - 1].namespace
        return [] if path is None else [str(client.binary()), "enter", "--network", path, "--"]

    @contextlib.contextmanager
    def meeting(self, host: int) -> Iterator[Meeting]:
        """Have a host wait for another one that is to reach it, and to be reached by it."""
        own = str(self.hosts[host - 1].address)
        argv = [*self.enter(host), str(client.binary()), "meet", "--bind", own]
        with subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                port = _stream(process.stdout).readline().decode().strip()
                yield Meeting(f"{own}:{port}", process)
            finally:
                process.kill()

    def close(self) -> None:
        """Take everything down and put back what was changed; may be called twice."""
        self._talk.close()

    def _number(self) -> int:
        self._asked += 1
        return self._asked

    def _ask(self, order: record.EmulateOrder) -> record.EmulateRecord:
        answer = self._talk.ask(msgspec.json.encode(order))
        if isinstance(answer, record.NetworkRefused):
            # The agent has no hint in words.
            raise PlatformError(answer.message, answer.hint and Typed(answer.hint))
        if _id(answer) != order.id:
            raise AgentError(f"the emulating agent answered {_id(answer)}, not {order.id}")
        return answer


class Meeting(NamedTuple):
    """A host that waits for another one."""

    #: Address and port.
    address: str
    process: subprocess.Popen[bytes]

    def outcome(self) -> tuple[str, str]:
        """Return the address of who came and was reached; none: and why."""
        said = self.process.communicate(timeout=ANSWER_S)
        address, why = (text.decode(errors="replace").strip() for text in said)
        return address, why.removeprefix("tare-agent: ")


class _Talk:
    """The stream of an emulating agent: answers to whoever asks, what it tells by itself aside."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.listener: Listener | None = None
        self._fault: str | None = None
        #: None: the stream has ended.
        self._answers: queue.Queue[record.EmulateRecord | None] = queue.Queue()
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C is the front's to handle; the agent ends when its input does.
                start_new_session=True,
            )
        except OSError as error:
            raise AgentError(f"cannot start {argv[0]}: {error.strerror}") from error
        self._words = b""
        self._threads = [
            threading.Thread(target=self._read, args=(_stream(self._process.stdout),), daemon=True),
            threading.Thread(target=self._hear, args=(_stream(self._process.stderr),), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, order: bytes) -> record.EmulateRecord:
        self.check()
        pipe = _stream(self._process.stdin)
        try:
            pipe.write(order + b"\n")
            pipe.flush()
            answer = self._answers.get(timeout=ANSWER_S)
        except queue.Empty:
            raise AgentError(f"the emulating agent did not answer within {ANSWER_S:g} s") from None
        except (OSError, ValueError):
            answer = None
        if answer is None:
            self.check()
            raise self._gone()
        return answer

    def check(self) -> None:
        if self._fault is not None:
            raise PlatformError(f"the emulated network has failed: {self._fault}")
        if self._process.poll() is not None:
            raise self._gone()

    def close(self) -> None:
        """End its input, at which it puts everything back, and wait for it."""
        with contextlib.suppress(OSError):
            _stream(self._process.stdin).close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(1)

    def _gone(self) -> AgentError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._threads[1].join(1)
        said = self._words.decode(errors="replace").strip() or "no output"
        code = self._process.poll()
        return AgentError(
            f"the agent that emulates the network is gone (exit code {code}: {said})",
            Typed("tare cleanup"),
        )

    def _read(self, lines: IO[bytes]) -> None:
        """Take what it tells, on a thread of its own, until the stream ends or holds garbage."""
        try:
            while line := lines.readline(client.LINE_LIMIT):
                self._take(_decoder.decode(line))
        except DecodeError as error:
            self._fault = f"the agent sent what is no record ({error}): {line[:200]!r}"
        finally:
            self._answers.put(None)

    def _take(self, told: record.EmulateRecord) -> None:
        if isinstance(told, record.NetworkFault):
            self._fault = told.message
        elif not isinstance(told, record.HostStates) or told.id is not None:
            self._answers.put(told)
        elif (listener := self.listener) is not None:
            listener(told)

    def _hear(self, words: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while some := words.readline(_WORDS_LIMIT):
                self._words = (self._words + some)[-_WORDS_LIMIT:]


def _stream(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _id(answer: record.EmulateRecord) -> int | None:
    return None if isinstance(answer, record.NetworkFault) else answer.id
