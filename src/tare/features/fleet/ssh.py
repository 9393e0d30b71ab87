"""A fleet by OpenSSH: a scheduler on this machine, a worker on each host, for one experiment.

Only the port of ssh is used. A worker reaches the scheduler, and is reached, by tunnels from
loopback to loopback; since other users of both machines can reach those, all is TLS, by a
certificate of this run, whose key goes over ssh's standard input.
"""

from __future__ import annotations

import contextlib
import random
import shlex
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import monotonic

from tare.errors import PlatformError, Typed, UsageError
from tare.features.fleet import certificate as certificates
from tare.features.fleet import node
from tare.features.fleet.certificate import Certificate
from tare.features.fleet.laboratory import Refusal, name_of
from tare.features.fleet.node import LOOPBACK, Answer, PortError, Tunnels, orders
from tare.features.fleet.processes import READY_S, NodeProcess, NodeProcesses, printable
from tare.platforms.ssh import HOST, connection
from tare.version import __version__

#: Other ports are tried so often.
TRIES = 3
#: Ports on hosts are guessed among those from which no connection is made by itself.
_PORTS = range(10_000, 32_768)
#: Shell line that starts a node; a non-login shell may lack the user's ``~/.local/bin``.
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
        raise PlatformError("ssh is not installed", Typed("sudo apt install openssh-client"))
    made = certificates.make()
    with NodeProcesses() as processes:
        port = processes.scheduler(orders(made))
        refused = _start(asked, port, made, processes)
        if len(refused) == len(asked):
            first = next(iter(refused.values()))
            raise PlatformError(f"no host takes part; {_reasons(refused)}", first.hint)
        yield Started(f"tls://{LOOPBACK}:{port}", made.security(), refused)


def _reasons(refused: Mapping[str, Refusal]) -> str:
    """Say why hosts take no part, once for those of the same reason."""
    names: dict[str, list[str]] = {}
    for name, refusal in refused.items():
        names.setdefault(refusal.why, []).append(name)
    return "; ".join(f"{', '.join(some)}: {why}" for why, some in names.items())


def _start(
    asked: dict[str, str], port: int, made: Certificate, processes: NodeProcesses
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
    name: str, host: str, port: int, made: Certificate, processes: NodeProcesses
) -> tuple[NodeProcess, Tunnels]:
    there, own = random.sample(_PORTS, 2)
    tunnels = Tunnels(scheduler=there, own=own, there=_free())
    words = command(host, tunnels, port)
    return processes.start(words, orders(made, worker=name, tunnels=tunnels)), tunnels


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


def _refusal(host: str, answer: Answer | None, process: NodeProcess) -> Refusal:
    """Return why a host does not take part, and what to do about it."""
    same = Typed(
        f"ssh {shlex.quote(str(host))} tare --version   (which must print tare {__version__})"
    )
    if answer is not None:
        tunnels = f"AllowTcpForwarding yes   (in /etc/ssh/sshd_config on {host})"
        why = printable(answer.why or "")
        return Refusal(
            why, tunnels if answer.ports else printable(answer.hint) if answer.hint else same
        )
    said, code = process.last_line(), process.code
    if code is None:
        why = f"no answer in {READY_S:g} s ({said})"
        return Refusal(why, Typed(f"ssh {shlex.quote(str(host))} true   (until it ends at once)"))
    if code == 127:
        return Refusal(f"there is no tare on its PATH ({said})", same)
    hint = connection.mend(process.output(), host)
    if code == 255:
        return Refusal(
            f"ssh: {said.removeprefix('ssh: ')}",
            hint or Typed(f"ssh {shlex.quote(str(host))} true   (until it asks nothing)"),
        )
    return Refusal(f"its tare does not start: {said}", same)
