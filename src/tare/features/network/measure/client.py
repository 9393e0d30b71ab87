"""Both ends of a network: drives ``tare-agent measure``, phase by phase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import msgspec
from msgspec.structs import replace

from tare.agent import client
from tare.agent.record import (
    Connect,
    Connected,
    Direction,
    EndFact,
    Interval,
    MeasureOver,
    MeasureRecord,
    PhaseOver,
    Sending,
    Skip,
)
from tare.decoding import DecodeError, Decoder
from tare.errors import AgentError
from tare.features.network.measure.ended import EndedError
from tare.host import cloud
from tare.host.kernel_files import KernelFiles
from tare.networks import peering
from tare.networks.recording.lines import Happening

#: Bytes of each write, as iperf3 has it.
WRITE_BYTES = 128 << 10
#: Timeout of the first connection, in seconds: without an answer until then, nothing listens there.
PATIENCE_S = 10.0
#: Round trips a second beside the data.
PINGS = 100
#: Timeout for the remaining records of a skipped phase, in seconds.
_DRAIN_S = 2.0
#: TCP_INFO costs less than a microsecond.
_SAMPLE_NS = 10_000_000
_FOR_EVER_NS = 1 << 62
#: An agent that ends says why, in this time.
_LAST_WORD_S = 5.0

_decoder = Decoder[MeasureRecord](MeasureRecord)


def connection(
    host: str,
    key: str,
    *,
    direction: Direction = "out",
    streams: int = 1,
    congestion: str | None = None,
    pings: int | None = PINGS,
    interval_s: float = 10.0,
    lasts_s: float | None = None,
) -> Connect:
    """Say how to connect to an end that listens.

    Parameters
    ----------
    host : str
        ``HOST[:PORT]``, as ``tare net serve`` prints it.
    key : str
        The secret, hexadecimal, as :func:`tare.networks.peering.read_key` reads it.
    direction : str
        ``out``, ``in`` or ``both``.
    streams : int
        Data streams of each direction.
    congestion : str, optional
        Congestion control; by default the kernel's.
    pings : int or None
        Round trips of 64 bytes a second beside the data; None: one after another.
    interval_s : float
        How often an interval is told.
    lasts_s : float, optional
        How long it will take in all, so that an end that does not allow as much refuses at once.

    Raises
    ------
    ExperimentError
        If the host is none.
    """
    interval_ns = round(interval_s * 1e9)
    return Connect(
        end=peering.numeric(host), key=key, direction=direction, streams=streams,
        congestion=congestion, pings=pings, interval_ns=interval_ns,
        sample_ns=min(_SAMPLE_NS, interval_ns), patience_ns=round(PATIENCE_S * 1e9),
        lasts_ns=None if lasts_s is None else round(lasts_s * 1e9), most_bytes=None,
    )  # fmt: skip


class Ends:
    """An agent that measures between here and the other end; a context manager.

    Parameters
    ----------
    asked : Connect
        As :func:`connection` makes it.
    channel : tare.agent.client.Channel, optional
        Instead of an agent of this machine.

    Attributes
    ----------
    connected : Connected
        Of the latest connection: what is known of both ends.

    Raises
    ------
    EndedError
        If the other end is not reached, is of another version, has another key, or does not allow
        as much.
    """

    def __init__(self, asked: Connect, *, channel: client.Channel | None = None) -> None:
        self._channel = channel or client.ProcessChannel([str(client.binary()), "measure"])
        # The other machine's agent reports nothing of the cloud that this one is in.
        self._placed = cloud.facts(KernelFiles()) if channel is None else {}
        self._last = -1
        self._under_way: int | None = None
        # Whether the phase under way was asked to end early.
        self._skips = False
        try:
            self._channel.send(msgspec.json.encode(asked))
            first = self._receive()
            if not isinstance(first, Connected):
                raise AgentError(f"the agent began with {type(first).__name__}, not `connected`")
        except BaseException:
            self._channel.close()
            raise
        self.connected = first
        #: Round trips a second beside the data; None: as many as come.
        self.pings = asked.pings
        #: Whether it goes there by IP version 6.
        self.ip6 = asked.end.startswith("[")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *about: object) -> None:
        self.close()

    def phase(
        self,
        duration_s: float | None,
        on_s: float | None = None,
        off_s: float = 0.0,
        write_bytes: int = WRITE_BYTES,
        *,
        id: int | None = None,
    ) -> Iterator[Happening]:
        """Send and rest by a pattern, and yield what is told of it, as it is told.

        Parameters
        ----------
        duration_s : float or None
            How long; None: until it is skipped.
        on_s, off_s : float
            Send for so long, then rest for so long, again and again. By default at full speed;
            ``on_s=0`` rests.
        write_bytes : int
            Of each write.
        id : int, optional
            By which its intervals name it; above all before it. By default the next.

        Yields
        ------
        Interval, Gap or Connected
            In order, at last the :class:`~tare.agent.record.PhaseOver`. Whoever leaves the loop
            earlier leaves the phase to be ended by the next, or by :meth:`drain`.

        Raises
        ------
        EndedError
            If the agent, or the other end, ends it before the phase is over.
        """
        yield from self.send(self.order(duration_s, on_s, off_s, write_bytes, id=id))

    def send(self, order: Sending) -> Iterator[Happening]:
        """Have an order carried out; otherwise as :meth:`phase`."""
        self.skip()
        self._channel.send(msgspec.json.encode(order))
        self._under_way = self._last = order.id
        self._skips = False
        yield from self._told(order.id)

    def order(
        self,
        duration_s: float | None,
        on_s: float | None = None,
        off_s: float = 0.0,
        write_bytes: int = WRITE_BYTES,
        *,
        id: int | None = None,
    ) -> Sending:
        """Return what :meth:`phase` would ask of the agent, to be written down first."""
        return Sending(
            id=self._last + 1 if id is None else max(id, self._last + 1),
            duration_ns=_FOR_EVER_NS if duration_s is None else round(duration_s * 1e9),
            # At full speed it sends all the time, however long that is called.
            on_ns=1_000_000_000 if on_s is None else round(on_s * 1e9),
            off_ns=round(off_s * 1e9),
            write_bytes=write_bytes,
        )

    def skip(self) -> None:
        """End the phase under way; what it saw until now is still told."""
        if self._under_way is not None:
            self._skips = True
            self._channel.send(msgspec.json.encode(Skip(id=self._under_way + 1)))

    def close(self) -> None:
        """End the agent; may be called twice."""
        self._channel.close()

    def _told(self, number: int, timeout_s: float | None = None) -> Iterator[Happening]:
        while True:
            got = self._receive(timeout_s)
            if isinstance(got, Connected):
                self.connected = got
            if isinstance(got, PhaseOver | Interval) and got.id != number:
                # Of a phase that nobody listens to any more.
                continue
            if isinstance(got, PhaseOver):
                self._under_way = None
            yield got
            if isinstance(got, PhaseOver):
                if got.skipped and not self._skips:
                    # Nobody asked for that here: why it ended comes next, and is raised.
                    self._receive(_LAST_WORD_S)
                return

    def drain(self) -> Iterator[Happening]:
        """Yield what is still told of a phase that is skipped, as long as that takes no time."""
        if self._under_way is None:
            return
        self.skip()
        try:
            yield from self._told(self._under_way, _DRAIN_S)
        except AgentError:
            # Lost or gone: what came until now is all there is.
            self._under_way = None

    def _receive(self, timeout_s: float | None = None) -> Happening:
        line = self._channel.receive(timeout_s)
        if line is None:
            raise AgentError(f"the measuring agent ended ({self._channel.last_words()})")
        try:
            got = _decoder.decode(line)
        except DecodeError as error:
            raise AgentError(
                f"the measuring agent sent what is no record ({error}): {line[:200]!r}"
            ) from error
        if isinstance(got, MeasureOver):
            raise EndedError(got.why)
        if isinstance(got, Connected):
            facts = (EndFact(name=name, value=value) for name, (value, _) in self._placed.items())
            return replace(got, here=(*facts, *got.here))
        return got
