"""A measuring agent that follows a script: no process, no network, no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from histograms import of_times

from tare.agent import record
from tare.errors import AgentError
from tare.features.network.measure.client import Ends
from tare.networks.recording import writer as writing
from tare.networks.recording.writer import Asked

#: Bits a second that the network carries at a second since the measurement began.
Rate = Callable[[float], float]
FACTS = (
    record.EndFact(name="kernel", value="6.18.44"),
    record.EndFact(name="congestion", value="cubic"),
    record.EndFact(name="mtu", value="1500"),
    record.EndFact(name="qdisc", value="fq_codel"),
    record.EndFact(name="tso", value="on"),
    record.EndFact(name="gro", value="on"),
)


@dataclass
class ScriptedEnds:
    """A channel to an agent whose time passes as it is asked: a phase takes none."""

    rate: Rate = lambda second: 1e9
    #: Seconds at which the other end is lost for a while.
    lost: tuple[tuple[float, float], ...] = ()
    #: What the agent says at last, after so many records.
    over: tuple[int, record.Ended | str] | None = None
    #: Held back by its own buffer, as a share; CPU of the sender, as a share of the time.
    buffer: float = 0.0
    cpu: float = 0.4
    #: Shares of the time for which the sender, the receiver, and round trips waited for a CPU, and
    #: for which the sender had nothing under way, at a second.
    waits: Callable[[float], tuple[float, float, float, float]] | None = None
    #: Round trips of segments at a second; None: the kernel reports none.
    segment_ns: Callable[[float], list[int]] | None = None
    #: Segments of an interval that were chosen for a time stamp and got none.
    left_out: int = 0
    #: Facts of both ends besides `FACTS`.
    facts: tuple[record.EndFact, ...] = ()
    realtime_ns: int = 1_760_000_000_000_000_000
    now_ns: int = 0
    asked: record.Connect | None = None
    orders: list[record.MeasureOrder] = field(default_factory=list)
    lines: deque[bytes] = field(default_factory=deque)
    told: int = 0
    closed: bool = False

    def send(self, line: bytes) -> None:
        order = msgspec.json.decode(line, type=record.MeasureOrder)
        self.orders.append(order)
        match order:
            case record.Connect():
                self.asked = order
                self._connect()
            case record.Sending():
                self._phase(order)

    def receive(self, timeout_s: float | None) -> bytes | None:
        if self.over is not None and self.told == self.over[0]:
            self.told += 1
            why = self.over[1]
            if isinstance(why, str):
                why = record.MeasureFailed(message=why)
            return msgspec.json.encode(record.MeasureOver(why=why))
        if not self.lines:
            if timeout_s is not None:
                raise AgentError("the agent did not answer")
            return None
        self.told += 1
        return self.lines.popleft()

    def last_words(self) -> str:
        return "the script ended"

    def close(self) -> None:
        self.closed = True

    def _say(self, *some: record.MeasureRecord) -> None:
        self.lines.extend(msgspec.json.encode(one) for one in some)

    def _connect(self) -> None:
        self._say(
            record.Connected(
                at_ns=self.now_ns, realtime_ns=self.realtime_ns + self.now_ns,
                here=(*FACTS, *self.facts), there=(*FACTS, *self.facts),
            )
        )  # fmt: skip

    def _phase(self, order: record.Sending) -> None:
        assert self.asked is not None
        begun, end = self.now_ns, self.now_ns + min(order.duration_ns, 10**15)
        directions = ("out", "in") if self.asked.direction == "both" else (self.asked.direction,)
        while self.now_ns < end:
            stop = min(end, self.now_ns + self.asked.interval_ns)
            gap = next((g for g in self.lost if self.now_ns <= g[0] * 1e9 < stop), None)
            if gap is not None:
                start, self.now_ns = self.now_ns, round(gap[1] * 1e9)
                self._say(record.Gap(start_ns=start, end_ns=self.now_ns, why="connection reset"))
                self._connect()
                continue
            self._say(*(self._interval(order, begun, stop, d) for d in directions))
            self.now_ns = stop
        self._say(record.PhaseOver(id=order.id, skipped=False))

    def _interval(
        self, order: record.Sending, begun: int, stop: int, direction: str
    ) -> record.Interval:
        length = stop - self.now_ns
        cycle = order.on_ns + order.off_ns

        def sent(until: int) -> int:
            whole, part = divmod(until - begun, cycle)
            return whole * order.on_ns + min(part, order.on_ns)

        on = length if not order.off_ns else sent(stop) - sent(self.now_ns)
        on = 0 if not order.on_ns else on
        acked = int(self.rate(self.now_ns / 1e9) * on / 8e9)
        loaded = [2_000_000 + 1000 * i for i in range(20)] if on else []
        pings = loaded or [100_000 + 500 * i for i in range(20)]
        segments = self.segment_ns(self.now_ns / 1e9) if on and self.segment_ns else ()
        sender, receiver, trips, dry = (
            (None,) * 4 if self.waits is None else self.waits(self.now_ns / 1e9)
        )
        return record.Interval(
            id=order.id, direction=direction, start_ns=self.now_ns, end_ns=stop, on_ns=on,
            acked_bytes=acked, received_bytes=acked, segments=acked // 1448 + 5,
            retransmits=5 if on else 0, segment_bytes=1448, min_rtt_ns=90_000,
            smoothed_rtt=of_times(loaded), rtt_variation_ns=1000, window_segments=40.0,
            busy_ns=int((1 - (dry or 0)) * on), receiver_limited_ns=0,
            buffer_limited_ns=int(self.buffer * on),
            segment_rtt=of_times(segments) if segments else None,
            segments_left_out=self.left_out if segments else None,
            round_trips=of_times(pings), sender_cpu_ns=int(self.cpu * on),
            receiver_cpu_ns=int(0.3 * on), sender_waited_ns=_of(sender, on),
            receiver_waited_ns=_of(receiver, on), round_trips_waited_ns=_of(trips, sum(pings)),
        )  # fmt: skip


def _of(share: float | None, all_ns: int) -> int | None:
    return None if share is None else int(share * all_ns)


KEY = "00" * 16


def connect(**changes: object) -> record.Connect:
    """Ask for a connection, as the command line would."""
    plain = record.Connect(
        end="192.0.2.1:8273", key=KEY, direction="out", streams=1, congestion="cubic", pings=100,
        interval_ns=10_000_000_000, sample_ns=10_000_000, patience_ns=10**10,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def sending(id: int, seconds: float, on_s: float = 1, off_s: float = 0) -> record.Sending:
    """Ask for a phase."""
    return record.Sending(
        id=id, duration_ns=round(seconds * 1e9), on_ns=round(on_s * 1e9),
        off_ns=round(off_s * 1e9), write_bytes=131072,
    )  # fmt: skip


def asked(*phases: record.Sending, **changes: object) -> Asked:
    """What a measurement was asked to do."""
    plain = Asked(
        host="192.0.2.1", direction="out", streams=1, congestion="cubic", pings=100,
        interval_ns=10_000_000_000, phases=phases, begun_ns=1_760_000_000_000_000_000,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def measure(folder: Path, script: ScriptedEnds, *phases: record.Sending, **changes: object) -> Path:
    """Make a measurement's folder of what a script tells."""
    connection = connect(**{k: v for k, v in changes.items() if k in ("direction", "interval_ns")})
    with writing.create(folder, asked(*phases, **changes)) as writer:
        writer.stretch()
        with Ends(connection, channel=script) as ends:
            writer.write(ends.connected)
            for order in phases:
                writer.phase(order)
                for happening in ends.send(order):
                    writer.write(happening)
    return folder
