"""A network that is none: an emulator whose hosts send the same in every trial."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from tare.agent import record
from tare.networks.shaping.specification import Bucket, Shaping


class ScriptedEmulator:
    """Stands in for ``tare.networks.emulator.Emulator``; remembers what was asked of it."""

    #: All that were made, the last one last.
    made: list[ScriptedEmulator] = []  # noqa: RUF012
    #: Bytes that every host sends between a trial's begin and its end.
    sends = 1_000_000
    #: From where another host reaches host 2, and is reached.
    met = "10.77.0.1"

    def __init__(self, name: str, hosts: int = 2) -> None:
        self.hosts = tuple(
            record.BuiltHost(
                host=n, namespace=f"/run/netns/{name}-{n}", address=f"10.77.0.{n}", interface="eth0"
            )
            for n in range(1, hosts + 1)
        )
        self.shaped: list[tuple[Shaping, int]] = []
        self.closed = False
        #: What ports lead to, by number.
        self.ports: dict[int, record.PortEnd] = {}
        self._sent = 0
        self._listener: Callable[[record.HostStates], None] | None = None
        self._tokens: int | None = None
        self._at_ns = 10**9
        ScriptedEmulator.made.append(self)

    def shape(self, shapes: Mapping[int, Shaping], *, carry: bool = False, draw: int = 0) -> None:
        assert set(shapes) == {host.host for host in self.hosts}
        shaping = shapes[1]
        self.shaped.append((shaping, draw))
        self._tokens = None
        if isinstance(shaping, Bucket):
            full = shaping.capacity_bits
            self._tokens = full if shaping.initial_bits is None else shaping.initial_bits

    def add_port(self, end: record.PortEnd, host: int = 1) -> record.BuiltPort:
        number = 65 + len(self.ports)
        self.ports[number] = end
        space = str(self.hosts[host - 1].namespace)
        own = space[:-1] if isinstance(end, record.OwnNamespace) else None
        return record.BuiltPort(
            port=number,
            address=f"10.77.0.{number}",
            prefix=24,
            namespace=None if own is None else f"{own}{number}",
            interface=f"t{number}",
        )

    def remove_port(self, port: int) -> None:
        del self.ports[port]

    def enter(self, host: int) -> list[str]:
        return []

    @contextlib.contextmanager
    def meeting(self, host: int) -> Iterator[Any]:
        address = f"{self.hosts[host - 1].address}:40000"
        yield SimpleNamespace(address=address, outcome=lambda: (self.met, "nobody reached it"))

    def look(self) -> record.HostStates:
        return self._states(None)

    def _states(self, number: int | None) -> record.HostStates:
        self._at_ns += 10**6
        return record.HostStates(
            id=number,
            at_ns=self._at_ns,
            hosts=tuple(
                record.HostState(
                    host=host.host, tokens_bits=self._tokens, rate_bps=None, sent_bytes=self._sent,
                    dropped_packets=0, waiting_bytes=0, times_dry=int(self._tokens == 0),
                    dry_ns=0, first_dry_ns=None,
                )
                for host in self.hosts
            ),
        )  # fmt: skip

    def log(self, every_s: float | None, listener: Any = None) -> None:
        if every_s is None:
            assert self._listener is not None
            # What happens in a trial, just before it ends.
            self._sent += self.sends
            if self._tokens is not None:
                self._tokens = max(0, self._tokens - 8 * self.sends)
            self._listener(self._states(None))
            self._listener = None
        else:
            self._listener = listener

    def check(self) -> None:
        assert not self.closed

    def close(self) -> None:
        self.closed = True
