"""How one instance is on a host of the session's network: in it, or by a port of that host."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tare import platforms
from tare.agent import client, record
from tare.errors import PlatformError, TareError, Typed
from tare.platforms import Instance, Port
from tare.workloads import placeholders

if TYPE_CHECKING:
    from tare.networks.emulator import Emulator

#: Longer than the agent itself waits.
MEET_S = 30.0


class Joining:
    """What an instance has of the network; closed after the instance.

    Parameters
    ----------
    emulator : Emulator
        Of the network.
    stack : str
        Layers of the instance, outside-in.
    folder : Path
        What instances are shown; a file of the hosts' addresses, as seen by this one, is put there.
    hosts : mapping
        The placeholders of what is on host 1 itself.
    serves_on : int or None
        The host whose services it has. It gets an address of its own, as those of another
        application may listen on the same ports there. None: it is on host 1, and has none.

    Raises
    ------
    PlatformError
        If there is no right to add a port, or this kernel cannot.
    """

    def __init__(
        self,
        emulator: Emulator,
        stack: str,
        folder: Path,
        hosts: Mapping[str, str],
        serves_on: int | None = None,
    ) -> None:
        self._emulator = emulator
        self._stack = stack
        self._folder = folder
        self._host = host = serves_on or 1
        self._built: record.BuiltPort | None = None
        self._file: Path | None = None
        #: Path of the network namespace in which its layers start.
        self.network = emulator.hosts[host - 1].namespace
        #: What a virtual machine opens there.
        self.port: Port | None = None
        #: What the hosts of the network stand for in a command that it runs.
        self.placeholders = hosts
        end = platforms.network_end(stack)
        if end == "own_namespace" or (end == "host" and serves_on is not None):
            self._add(record.OwnNamespace())
        elif end == "tap":
            self._add(record.Tap())
        self._moved = end == "container"

    @property
    def address(self) -> str:
        """Its own address."""
        if self._built is None:
            return str(self._emulator.hosts[self._host - 1].address)
        return str(self._built.address)

    def begun(self, instance: Instance) -> None:
        """Give a container that has started its port.

        Raises
        ------
        PlatformError
            If it cannot be given one, or does not show its processes.
        """
        if not self._moved:
            return
        if instance.host_pid is None:
            raise PlatformError(
                f"the processes of {self._stack} are not seen from here, so that it cannot be "
                "given an interface of the network",
                "run tare where the engine runs, not in a container",
            )
        self._add(record.Container(namespace=f"/proc/{instance.host_pid}/ns/net"))

    def check(self, agent: client.Agent) -> None:
        """See that another host reaches the instance under its address, and is reached by it.

        Raises
        ------
        PlatformError
            If not: what was seen at which end.
        """
        if len(self._emulator.hosts) < 2:
            return
        with self._emulator.meeting(self._other) as meeting:
            job = record.MeetHost(id=agent.next_id(), host=meeting.address)
            self._judge(agent.ask(job, MEET_S), *meeting.outcome())

    def _judge(self, inside: Sequence[record.Record], outside: str, why: str) -> None:
        own = [got.value for got in inside if isinstance(got, record.Fact)]
        faults = [got.message for got in inside if isinstance(got, record.Fault)]
        if own == [self.address] and outside == self.address:
            return
        seen = f"inside it is {own[0]}" if own else f"inside: {'; '.join(faults)}"
        raise PlatformError(
            f"{self._stack} is to have the address {self.address} in the network of the "
            f"experiment; {seen}; on host {self._other}: {outside or why}",
            Typed(
                "tare net emulate none -- true   "
                "(whether it works at all; or leave the platform out)"
            ),
        )

    @property
    def _other(self) -> int:
        """A host on which it is not."""
        return 2 if self._host == 1 else 1

    def close(self) -> None:
        """Remove its port; may be called twice. What cannot be removed goes with the network."""
        built, self._built = self._built, None
        if built is None:
            return
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        with contextlib.suppress(TareError):
            self._emulator.remove_port(built.port)

    def _add(self, end: record.PortEnd) -> None:
        self._built = built = self._emulator.add_port(end, self._host)
        others = [str(host.address) for host in self._emulator.hosts[1:]]
        self._file = write_hosts(self._folder / f"hosts-{built.port}", [built.address, *others])
        self.placeholders = placeholders.of_hosts([built.address, *others], str(self._file))
        self.network = built.namespace or self.network
        self.port = Port(
            interface=built.interface,
            address=built.address,
            prefix=built.prefix,
            host_file=str(self._file),
        )


def write_hosts(path: Path, addresses: Sequence[str]) -> Path:
    """Write the file of the hosts' addresses, one a line, that every user can read."""
    path.write_text("".join(f"{address}\n" for address in addresses))
    path.chmod(0o644)
    return path
