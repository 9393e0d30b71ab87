"""A network that is only arithmetic: a token bucket behind the channel of a measuring agent."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
from histograms import of_times

from tare.agent.record import (
    Connect,
    Connected,
    EndFact,
    Interval,
    MeasureOrder,
    MeasureRecord,
    PhaseOver,
    Sending,
    Skip,
)
from tare.experiment.fingerprints.network.document import NetworkFingerprint
from tare.features.network.fingerprint import search
from tare.features.network.fingerprint.session import Wanted, take
from tare.features.network.identify.phases import Next
from tare.features.network.measure.client import Ends
from tare.results.message import Said

SEGMENT = 1448
WIRE = 1514 / 1448


class Clock:
    """Seconds that pass when the network says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Network:
    """A bucket, in bits on the wire; `capacity` None: one rate for ever."""

    def __init__(
        self,
        high: float = 400e6,
        low: float = 100e6,
        capacity: float | None = 300e6,
        refill: float = 100e6,
        noise: float = 0.01,
        seed: int = 1,
    ) -> None:
        self.high, self.low, self.capacity, self.refill = high, low, capacity, refill
        self.noise = noise
        self.tokens = capacity or 0.0
        self.clock = Clock()
        self.random = random.Random(seed)
        self.spent = 0.0
        #: By number of the phase: shares for which the sender and round trips waited for a CPU.
        self.waits: Callable[[int], tuple[float, float]] = lambda phase: (0.0, 0.0)
        self.facts = {"kernel": "6.1", "mtu": "1500", "congestion": "cubic", "qdisc": "htb"}

    def pass_time(self, seconds: float, send: bool) -> float:
        """Let time pass; returns the bits on the wire."""
        steps = max(1, round(seconds / 0.002))
        sent = 0.0
        for _ in range(steps):
            step = seconds / steps
            self.clock.now += step
            bits = self.high * step if send else 0.0
            if self.capacity is not None:
                # Tokens first, then the low rate, as a queueing discipline would.
                bits = min(bits, max(self.low * step, self.tokens + self.refill * step))
            bits *= max(0.1, self.random.gauss(1, self.noise))
            sent += bits
            if self.capacity is not None:
                left = self.tokens + self.refill * step - bits
                self.tokens = min(self.capacity, max(0.0, left))
        self.spent += sent
        return sent

    def round_trips(self, send: bool, dry: bool) -> list[int]:
        base = 6_000_000 if send and dry else 900_000 if send else 50_000
        return [max(1, round(base * self.random.gauss(1, 0.05))) for _ in range(20)]


class Channel:
    """The channel of an agent that measures the network."""

    def __init__(self, network: Network, dies_after: int | None = None) -> None:
        self.network = network
        self.lines: list[bytes] = []
        self.waiting: list[Sending] = []
        self.interval_ns = 100_000_000
        self.origin = network.clock.now
        self.dies_after = dies_after
        self.skipped = -1
        self.done_ns = 0
        self.closed = False

    def send(self, line: bytes) -> None:
        order = msgspec.json.decode(line, type=MeasureOrder)
        if isinstance(order, Sending):
            self.waiting.append(order)
        elif isinstance(order, Skip):
            self.skipped = order.id
        else:
            self.interval_ns = order.interval_ns
            facts = tuple(EndFact(name=n, value=v) for n, v in self.network.facts.items())
            self._tell(Connected(at_ns=0, realtime_ns=0, here=facts, there=facts))

    def receive(self, timeout_s: float | None) -> bytes | None:
        if not self.lines and self.waiting:
            self._go_on(self.waiting[0])
        if not self.lines:
            return None
        if self.dies_after is not None:
            self.dies_after -= 1
            if self.dies_after < 0:
                return None
        return self.lines.pop(0)

    def last_words(self) -> str:
        return "it was killed"

    def close(self) -> None:
        self.closed = True

    def _tell(self, record: MeasureRecord) -> None:
        self.lines.append(msgspec.json.encode(record))

    def _go_on(self, order: Sending) -> None:
        network = self.network
        if order.id < self.skipped or self.done_ns >= order.duration_ns:
            self.waiting.pop(0)
            self.done_ns = 0
            self._tell(PhaseOver(id=order.id, skipped=order.id < self.skipped))
            return
        length = min(order.duration_ns - self.done_ns, self.interval_ns)
        self.done_ns += length
        start = round(1e9 * (network.clock.now - self.origin))
        send = order.on_ns > 0
        sent = network.pass_time(length / 1e9, send)
        dry = network.capacity is not None and network.tokens < 1e6
        segments = round(sent / WIRE / 8 / SEGMENT)
        waits, late = network.waits(order.id)
        trips = network.round_trips(send, dry)
        self._tell(
            Interval(
                id=order.id, direction="out", start_ns=start, end_ns=start + length,
                on_ns=length if send else 0, acked_bytes=round(sent / WIRE / 8),
                received_bytes=None, segments=segments if send else None,
                retransmits=segments // 500, segment_bytes=SEGMENT, min_rtt_ns=50_000,
                smoothed_rtt=of_times(network.round_trips(send, dry) if send else []),
                rtt_variation_ns=None, window_segments=None,
                busy_ns=round((1 - waits) * length) if send else 0,
                receiver_limited_ns=None, buffer_limited_ns=None,
                round_trips=of_times(trips), sender_cpu_ns=None, receiver_cpu_ns=None,
                sender_waited_ns=round(waits * length) if send else 0, receiver_waited_ns=0,
                round_trips_waited_ns=round(late * sum(trips)),
            )
        )  # fmt: skip


class Silent:
    """Is told everything, and keeps what was said."""

    def __init__(self) -> None:
        self.said: list[Said] = []

    def stage(self, what: Said) -> None:
        self.said.append(what)

    def left(self, seconds: float) -> None:
        assert seconds >= 0

    def phase(self, what: Next, seconds_left: float) -> None:
        self.said.append(what.why)

    def seen(self, rate_bps: float | None, spent_bits: float, seconds_left: float) -> None:
        pass


def measured(
    network: Network | None = None, bucket: search.Bounds | None = None, **more: object
) -> NetworkFingerprint:
    network = network or Network()
    wanted = Wanted(
        end="192.0.2.1", key="00" * 32, bucket=bucket, idle_s=1.0, fresh_s=2.0, write_s=0.8,
        **{"sizes": (1 << 10, 1 << 17), **more},  # type: ignore[arg-type]
    )  # fmt: skip

    def opening(asked: Connect) -> Ends:
        return Ends(asked, channel=Channel(network))

    return take(wanted, Silent(), opening=opening, clock=network.clock)[0]
