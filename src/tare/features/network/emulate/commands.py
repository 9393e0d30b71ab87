"""Commands on the hosts of an emulated network: what they are told of it, and how they end."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tare.agent import record
from tare.errors import ExperimentError, PlatformError, Typed
from tare.experiment.session.auxiliary import HostServer
from tare.experiment.session.joining import write_hosts
from tare.experiment.session.servers import Servers
from tare.host.programs import rights
from tare.networks.emulator import Emulator
from tare.workloads import CAPTURE_LIMIT_BYTES
from tare.workloads.placeholders import of_hosts

#: How long a server may take until it listens; one that listens nowhere is waited for in vain.
LISTENS_S = 3.0
#: Between being asked to end and being killed.
END_S = 5.0
_PLACEHOLDER = re.compile(r"\{(hosts|host_file|host|host[0-9]+|enter)\}")

_ENTER = """#!/bin/sh
# As ssh HOST COMMAND: on a host of this network, named by its number or its address.
while case $1 in -*) true ;; *) false ;; esac; do shift; done
host=$1
shift
case $host in
{cases}
*) echo "there is no host $host in this network" >&2; exit 255 ;;
esac
exec {agent} "$network" -- /bin/sh -c "$*"
"""


class Commands:
    """Starts commands on the hosts of a network; a context manager that ends them all.

    Parameters
    ----------
    emulator : Emulator
        Of the network.
    folder : Path
        For the file of hosts.
    user : record.User, optional
        Whom commands run as, where that is not this user.
    """

    def __init__(self, emulator: Emulator, folder: Path, user: record.User | None = None) -> None:
        self._emulator = emulator
        self._user = user
        self._started: list[subprocess.Popen[bytes]] = []
        self._servers = Servers(_server_ended)
        self.addresses = [host.address for host in emulator.hosts if host.address is not None]
        self._told = {"hosts": ",".join(self.addresses)}
        if self.addresses:
            enter = folder / "enter"
            enter.write_text(self._script())
            # The user who called sudo reads it without root.
            enter.chmod(0o755)
            file = write_hosts(folder / "hosts", self.addresses)
            self._told = {**of_hosts(self.addresses, str(file)), "enter": str(enter)}

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *about: object) -> None:
        self.end()

    def fill(self, words: Sequence[str], host: int) -> list[str]:
        """Put addresses in the place of ``{hosts}``, ``{host}``, ``{host2}``, ``{host_file}``.

        Other braces are the command's own.

        Raises
        ------
        ExperimentError
            If there is no such host, or the command may not enter another.
        """
        told = self._of(host)

        def put(found: re.Match[str]) -> str:
            if found[1] not in told:
                count = len(self.addresses)
                raise ExperimentError(
                    f"{found[0]} stands for nothing here: the network has "
                    f"{count or 'no'} hosts of its own",
                    Typed(f"--hosts {found[1].removeprefix('host')}")
                    if count
                    else "leave --interface out",
                )
            if found[1] == "enter" and not self._enters():
                raise ExperimentError(
                    "{enter} takes root's rights, and the command does not have them",
                    Typed("--as-root   (as root)"),
                )
            return told[found[1]]

        return [_PLACEHOLDER.sub(put, word) for word in words]

    def start(self, words: Sequence[str], host: int, **streams: Any) -> subprocess.Popen[bytes]:
        """Start a command on a host; ``streams`` as of :class:`subprocess.Popen`.

        Raises
        ------
        PlatformError
            If it cannot be started.
        """
        argv = [*self._before(host), *self.fill(words, host)]
        try:
            started = subprocess.Popen(argv, env=self.environment(host), **streams)
        except OSError as error:
            raise PlatformError(f"cannot start {words[0]}: {error.strerror}") from error
        self._started.append(started)
        return started

    def serve(self, commands: Sequence[Sequence[str]], hosts: Sequence[int]) -> None:
        """Start servers on hosts, and wait until they listen.

        Raises
        ------
        PlatformError
            If one ends at once.
        """
        for words in commands:
            for host in hosts:
                command = record.Command(
                    argv=tuple(self.fill(words, host)),
                    environment=self.environment(host),
                    directory=None,
                    input=None,
                    capture=record.Capture(limit_bytes=CAPTURE_LIMIT_BYTES),
                )
                self._servers.start(self._emulator, host, self._emulator.name, command, self._user)
        self._servers.silent(LISTENS_S)

    def check(self) -> None:
        """Raise PlatformError where a server has ended by itself."""
        self._servers.check()

    def end(self) -> None:
        """End everything that was started here."""
        for process in self._started:
            if process.poll() is None:
                _signal(process, end=True)
        deadline = time.monotonic() + END_S
        for process in self._started:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(process, end=False)
                process.wait()
        self._started.clear()
        self._servers.close(END_S)

    def environment(self, host: int) -> dict[str, str]:
        """Return the variables of a command: this process's, and ``TARE_HOSTS`` and so on.

        tare itself is found, last of all, also where nobody has it in the PATH.
        """
        told = {key: value for key, value in self._of(host).items() if not key[-1].isdigit()}
        own = {f"TARE_{key.upper()}": value for key, value in told.items() if value}
        places = [os.environ.get("PATH", os.defpath), str(Path(sys.argv[0]).resolve().parent)]
        path = os.pathsep.join(places)
        return {**os.environ, **own, "PATH": path, "TARE_HOST_NUMBER": str(host)}

    def _of(self, host: int) -> Mapping[str, str]:
        if not self.addresses:
            return {}
        return {**self._told, "host": self.addresses[host - 1]}

    def _before(self, host: int) -> list[str]:
        user = self._user
        if user is None:
            return self._emulator.enter(host)
        return [*self._emulator.enter(host), "setpriv", *rights(user), "--"]

    def _enters(self) -> bool:
        """Tell whether a command may enter a host: not one of a namespace that only we hold."""
        held = any(str(host.namespace).startswith("/proc/") for host in self._emulator.hosts)
        return self._user is None and not held

    def _script(self) -> str:
        cases = [
            f"{number} | {host.address}) network={shlex.quote(str(host.namespace))} ;;"
            for number, host in enumerate(self._emulator.hosts, 1)
        ]
        entering = self._emulator.enter(1)[:3]
        return _ENTER.format(cases="\n".join(cases), agent=shlex.join(entering))


def _server_ended(server: HostServer, ending: str) -> PlatformError:
    return PlatformError(
        f"`{shlex.join(server.argv)}` on host {server.host} has ended: {ending}",
        "give --serve commands that stay until they are ended, as 'iperf3 -s'",
    )


def _signal(process: subprocess.Popen[bytes], *, end: bool) -> None:
    with contextlib.suppress(OSError):
        if end:
            process.terminate()
        else:
            process.kill()
