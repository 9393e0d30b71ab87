"""A fleet by OpenSSH: a scheduler on this machine, a worker on each host, for one experiment.

Only the port of ssh is used. A worker reaches the scheduler, and is reached, by tunnels from
loopback to loopback; since other users of both machines can reach those, all is TLS, by a
certificate of this run, whose key goes over ssh's standard input.
"""

from __future__ import annotations

import contextlib
import random
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

import msgspec

import tare
from tare.errors import PlatformError, UsageError
from tare.features.fleet import certificate as certificates
from tare.features.fleet import node
from tare.features.fleet.certificate import Certificate
from tare.features.fleet.laboratory import Refusal, name_of
from tare.features.fleet.local import WITH_US
from tare.features.fleet.node import LOOPBACK, Answer, Orders, PortError, Tunnels
from tare.platforms.ssh import HOST, connection

#: Until a host that has not answered is given up: a slow one loads tare first.
READY_S = 60.0
#: Other ports are tried so often.
TRIES = 3
#: Ports on hosts are guessed among those from which no connection is made by itself.
_PORTS = range(10_000, 32_768)
#: How long a host may take to end everything, and to clean up.
END_S = node.END_S + 10.0
_LINE_BYTES = 4096
#: Where a login that is none leaves out what is installed for one user.
_SCRIPT = "PATH=$PATH:$HOME/.local/bin; export PATH; exec tare fleet node"


@dataclass(frozen=True)
class Started:
    """What was started.

    Attributes
    ----------
    address : str
        Of the scheduler.
    security : object
        What Dask's client shows to it.
    refused : mapping of str to Refusal
        Hosts that do not take part.
    """

    address: str
    security: object
    refused: dict[str, Refusal]


def hosts(given: str) -> dict[str, str]:
    """Return what ssh is given for each host, by the host's name; raises UsageError."""
    found: dict[str, str] = {}
    for host in given.split(","):
        if not HOST.fullmatch(host):
            raise UsageError(
                f"{'ssh:' + given!r}: {host!r} is no host for ssh (a name, an address, or USER@ "
                "and either)",
                "ssh:box1,user@box2   (ports and keys: ~/.ssh/config)",
            )
        name = name_of(host.rpartition("@")[2])
        if name in found:
            raise UsageError(
                f"{'ssh:' + given!r}: two hosts are called {name}", "give each another name"
            )
        found[name] = host
    return found


@contextlib.contextmanager
def ssh(given: str) -> Iterator[Started]:
    """Start a scheduler here and a worker on each host; all end with this.

    Raises
    ------
    UsageError
        If a host is none.
    PlatformError
        If no host takes part, or no scheduler can be started here.
    """
    asked = hosts(given)
    if shutil.which("ssh") is None:
        raise PlatformError("ssh is not installed", "sudo apt install openssh-client")
    made = certificates.make()
    with _Processes() as processes:
        mark = secrets.token_hex(16)
        orders = Orders(version=tare.__version__, mark=mark, certificate=made)
        scheduler = processes.start([sys.executable, *node.TARE, "fleet", "node"], orders)
        answer = scheduler.answer(monotonic() + READY_S)
        if answer is None or answer.why is not None:
            why = scheduler.last_words() if answer is None else answer.why
            raise PlatformError(f"the scheduler does not come up: {why}")
        refused = _start(asked, answer.port, made, processes)
        if len(refused) == len(asked):
            first = next(iter(refused.values()))
            raise PlatformError(f"no host takes part; {_reasons(refused)}", first.hint)
        yield Started(f"tls://{LOOPBACK}:{answer.port}", made.security(), refused)


def _reasons(refused: Mapping[str, Refusal]) -> str:
    """Say why hosts take no part, once for those of the same reason."""
    names: dict[str, list[str]] = {}
    for name, refusal in refused.items():
        names.setdefault(refusal.why, []).append(name)
    return "; ".join(f"{', '.join(some)}: {why}" for why, some in names.items())


def _start(
    asked: dict[str, str], port: int, made: Certificate, processes: _Processes
) -> dict[str, Refusal]:
    """Start a worker on each host; return those where that cannot be done."""
    refused: dict[str, Refusal] = {}
    waiting = asked
    for _ in range(TRIES):
        begun = {name: _begin(name, host, port, made, processes) for name, host in waiting.items()}
        ends = monotonic() + READY_S
        again = {}
        for name, (process, tunnels) in begun.items():
            refused.pop(name, None)
            host = asked[name]
            answer = process.answer(ends)
            if answer is not None and answer.why is None:
                try:
                    node.reach(tunnels.there, made)
                    continue
                except PortError as error:
                    answer = Answer(why=error.message, ports=True)
            refused[name] = _refusal(host, answer, process)
            processes.end([process])
            if answer is not None and answer.ports:
                again[name] = host
        waiting = again
        if not waiting:
            break
    return refused


def _begin(
    name: str, host: str, port: int, made: Certificate, processes: _Processes
) -> tuple[_Process, Tunnels]:
    there, own = random.sample(_PORTS, 2)
    tunnels = Tunnels(scheduler=there, own=own, there=_free())
    mark = secrets.token_hex(16)
    orders = Orders(
        version=tare.__version__, mark=mark, certificate=made, worker=name, tunnels=tunnels
    )
    return processes.start(command(host, tunnels, port), orders), tunnels


def command(host: str, tunnels: Tunnels, port: int) -> list[str]:
    """Return what starts a worker on a host, with its tunnels to and from a scheduler's port."""
    settings = [word for one in connection.SETTINGS for word in ("-o", one)]
    back = f"{LOOPBACK}:{tunnels.scheduler}:{LOOPBACK}:{port}"
    forth = f"{LOOPBACK}:{tunnels.there}:{LOOPBACK}:{tunnels.own}"
    # Tunnels of the user's own may fail, where he has another connection with these: whether ours
    # lead anywhere is seen from both ends.
    tunnel = ["-o", "ExitOnForwardFailure=no", "-R", back, "-L", forth]
    script = shlex.join(["exec", "/bin/sh", "-c", _SCRIPT])
    return ["ssh", *settings, *tunnel, "--", host, script]


def _free() -> int:
    with socket.create_server((LOOPBACK, 0)) as free:
        return int(free.getsockname()[1])


def _refusal(host: str, answer: Answer | None, process: _Process) -> Refusal:
    """Return why a host does not take part, and what to do about it."""
    same = f"ssh {host} tare --version   (which must print tare {tare.__version__})"
    if answer is not None:
        tunnels = f"AllowTcpForwarding yes   (in /etc/ssh/sshd_config on {host})"
        why = _plain(answer.why or "")
        return Refusal(why, tunnels if answer.ports else _plain(answer.hint or same))
    said, code = process.last_words(), process.code
    if code is None:
        why = f"no answer in {READY_S:g} s ({said})"
        return Refusal(why, f"ssh {host} true   (until it ends at once)")
    if code == 127:
        return Refusal(f"there is no tare on its PATH ({said})", same)
    hint = connection.mend(process.words(), host)
    if code == 255:
        return Refusal(
            f"ssh: {said.removeprefix('ssh: ')}",
            hint or f"ssh {host} true   (until it asks nothing)",
        )
    return Refusal(f"its tare does not start: {said}", same)


def _plain(text: str) -> str:
    """Return what a host says as what can be shown."""
    return re.sub(r"[^ -~]", "?", text)[:400]


class _Process:
    """A node that was started, by ssh or here; what it prints is read until it ends."""

    def __init__(self, argv: Sequence[str], orders: Orders) -> None:
        self._process = subprocess.Popen(
            [*WITH_US, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            # Ctrl-C is the front's to handle.
            start_new_session=True,
        )
        self._mark = orders.mark.encode()
        self._answer: Answer | None = None
        self._heard = threading.Event()
        #: What else it printed last: ssh's complaints, or a login's greetings.
        self._words: deque[str] = deque(maxlen=20)
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
                    self._heard.set()
                elif text := _plain(line.decode(errors="replace").strip()):
                    self._words.append(text)
        self._heard.set()

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        # That it is gone is seen from what it does not answer.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(data)

    def beat(self) -> None:
        """Give it a sign of life."""
        self._write(b"\n")

    def answer(self, ends: float) -> Answer | None:
        """Wait for what it answers; None: nothing, until it ended or that time came."""
        self._heard.wait(max(0.0, ends - monotonic()))
        return self._answer

    @property
    def code(self) -> int | None:
        """Its exit code; None: it has not ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        return self._process.returncode

    def words(self) -> str:
        """Return what it printed but for its answer."""
        return "\n".join(self._words)

    def last_words(self) -> str:
        """Return the last line of that."""
        return self._words[-1] if self._words else "it printed nothing"

    def close(self) -> None:
        """Have it end: its input does."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def wait(self, ends: float) -> None:
        """Wait until it has ended; it is made to at that time."""
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(max(1.0, ends - monotonic()))
                break
        self._reader.join(1)


def _lines(file: int) -> Iterator[bytes]:
    """Yield lines; of one that is too long, pieces."""
    with open(file, "rb", closefd=False) as lines:
        while line := lines.readline(_LINE_BYTES):
            yield line


def _decoded(text: bytes) -> Answer:
    try:
        return msgspec.json.decode(text, type=Answer)
    except msgspec.DecodeError as error:
        return Answer(why=f"its answer cannot be read: {error}")


class _Processes:
    """All nodes that were started, which are given signs of life; a context manager."""

    def __init__(self) -> None:
        self._all: list[_Process] = []
        self._over = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> _Processes:
        self._beating.start()
        return self

    def __exit__(self, *about: object) -> None:
        # The scheduler, which was the first, is there until the others have ended.
        self.end(self._all[1:])
        self.end(self._all)
        self._over.set()
        self._beating.join()

    def _beat(self) -> None:
        while not self._over.wait(node.BEAT_S):
            for one in [*self._all]:
                one.beat()

    def start(self, argv: Sequence[str], orders: Orders) -> _Process:
        """Start one."""
        process = _Process(argv, orders)
        self._all.append(process)
        return process

    def end(self, some: Sequence[_Process]) -> None:
        """End some, all at once."""
        for one in some:
            one.close()
        ends = monotonic() + END_S
        for one in some:
            one.wait(ends)
        self._all = [one for one in self._all if one not in some]
