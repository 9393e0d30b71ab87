"""Traces whose truth is made up: buckets, acknowledged in pieces, and what is no bucket."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tare.features.network.identify.phases import next_phase
from tare.networks.shaping.trace import Trace

#: A super-segment on the wire, headers included.
PIECE_BITS = 8 * 65_160 * 1514 / 1448
INTERVAL_S = 0.02
GIGA = 1e9

Random = np.random.Generator


def noise(n: int, sd: float, phi: float, rng: Random) -> np.ndarray:
    """Noise of a SD; with ``phi`` each value remembers the one before."""
    white = rng.standard_normal(n)
    if phi == 0:
        return sd * white
    from scipy.signal import lfilter

    return np.asarray(sd * np.sqrt(1 - phi**2) * lfilter([1.0], [1.0, -phi], white))


class Link:
    """A bucket that is full, behind a receiver that acknowledges pieces of 64 KiB.

    Rates in bits a second, the capacity in bits; the rate's noise is the same for 0.1 s. What waits
    in the sender's buffers goes through for ``drain_s`` after each burst.
    """

    def __init__(
        self, high: float, low: float, capacity: float, rng: Random, *, sd: float, drain_s: float
    ) -> None:
        self.high, self.low, self.capacity = high, low, capacity
        self.drain_s = drain_s
        self._tokens = capacity
        self._noise = np.maximum(0.02, 1 + np.repeat(noise(4000, sd, 0.0, rng), 5))
        self._cut = rng.random()
        self._rows: list[tuple[float, float, float, float]] = []
        self._now, self._sent = 0.0, 0

    @property
    def now(self) -> float:
        return self._now

    def trace(self) -> Trace:
        """What the sender has been told so far."""
        if not self._rows:
            return Trace(*(np.empty(0) for _ in range(4)))
        start, end, bits, on = np.array(self._rows).T
        pieces = np.floor(np.cumsum(bits) / PIECE_BITS + self._cut)
        acked = PIECE_BITS * np.diff(pieces, prepend=np.floor(self._cut))
        return Trace(start, end, acked, on)

    def send(self, seconds: float, *, told: bool = True) -> None:
        """Send at full speed; ``told``: not what drains from buffers in a rest."""
        for _ in range(max(1, round(seconds / INTERVAL_S))):
            fast = min(INTERVAL_S, self._tokens / (self.high - self.low))
            self._tokens = max(0.0, self._tokens - (self.high - self.low) * fast)
            bits = self.high * fast + self.low * (INTERVAL_S - fast)
            bits *= self._noise[self._sent % len(self._noise)]
            self._sent += 1
            self._row(INTERVAL_S, bits, INTERVAL_S if told else 0.0)

    def rest(self, seconds: float) -> None:
        """Send nothing but what waits in buffers."""
        drain = min(self.drain_s, seconds / 2)
        if drain >= INTERVAL_S:
            self.send(drain, told=False)
        left = max(INTERVAL_S, seconds - drain)
        count = min(50, round(left / INTERVAL_S))
        for _ in range(count):
            self._tokens = min(self.capacity, self._tokens + self.low * left / count)
            self._row(left / count, 0.0, 0.0)

    def _row(self, seconds: float, bits: float, on: float) -> None:
        self._rows.append((self._now, self._now + seconds, bits, on))
        self._now += seconds


def searched(link: Link, most_s: float = 120.0, calls: int = 60) -> Trace:
    """Send and rest as a search would, until it is done."""
    for _ in range(calls):
        trace = link.trace()
        what = next_phase(trace, most_s, 0.05)
        if what.action == "done" or link.now > 10 * most_s:
            break
        if what.action == "send":
            link.send(min(what.seconds, 5.0))
        else:
            link.rest(what.seconds)
    return link.trace()


def flat(rates_gbps: np.ndarray, on: np.ndarray) -> Trace:
    """A trace in intervals of a second."""
    start = np.arange(len(rates_gbps), dtype=float)
    return Trace(start, start + 1, rates_gbps * on * GIGA, on.astype(float))


def bursts(schedule: str, rng: Random) -> np.ndarray:
    """When data is to be sent: 10-30, or with one rest, or with two of unequal length."""
    if schedule == "10-30":
        return np.arange(3600) % 40 < 10
    sends = rng.integers(300, 900, 3)
    rest = int(rng.integers(60, 400))
    factor = rng.uniform(1.5, 4)
    other = int(rest * factor) if rng.random() < 0.5 else max(10, int(rest / factor))
    parts = [(True, sends[0]), (False, rest), (True, sends[1])]
    if schedule == "two rests":
        parts += [(False, other), (True, sends[2])]
    return np.concatenate([np.full(length, sending) for sending, length in parts])


def boost(on: np.ndarray, rng: Random) -> np.ndarray:
    """Each burst is fast for as long, whatever the rest."""
    low, lasts = rng.uniform(1, 8), rng.integers(2, 8 if on.mean() < 0.4 else 60)
    since = np.arange(len(on)) - np.maximum.accumulate(np.where(on, 0, np.arange(len(on)) + 1))
    return np.where(since < lasts, 10.0, low)


def hysteresis(on: np.ndarray, rng: Random) -> np.ndarray:
    """Hot after a while of sending, and fast again after a rest, for as long as that has cooled."""
    low, tau, most = rng.uniform(1, 8), rng.uniform(60, 500), rng.uniform(0.5, 0.9)
    rate, heat, hot = np.zeros(len(on)), 0.0, False
    for at, sending in enumerate(on):
        if not sending:
            heat, hot = heat * (1 - 1 / tau), False
            continue
        if not hot:
            heat += (1 - heat) / tau
            hot = heat >= most
        rate[at] = low if hot else 10.0
    return rate


def decline(on: np.ndarray, rng: Random) -> np.ndarray:
    """Slower the hotter, without any step."""
    low, tau = rng.uniform(2, 7), rng.uniform(30, 300)
    rate, heat = np.zeros(len(on)), 0.0
    for at, sending in enumerate(on):
        heat += ((1.0 if sending else 0.0) - heat) / tau
        rate[at] = 10 - (10 - low) * heat
    return rate


def drift(on: np.ndarray, rng: Random) -> np.ndarray:
    return np.asarray(10 * (1 - rng.uniform(0.15, 0.6) * np.arange(len(on)) / len(on)))


def contention_each_second(on: np.ndarray, rng: Random) -> np.ndarray:
    return np.where(rng.random(len(on)) < rng.uniform(0.2, 0.8), 10.0, rng.uniform(2, 8))


def contention_in_spells(on: np.ndarray, rng: Random) -> np.ndarray:
    spells = np.cumsum(rng.random(len(on)) < 1 / rng.uniform(20, 300)) % 2
    return np.where(spells == 0, 10.0, rng.uniform(2, 8))


def contention_that_pauses(on: np.ndarray, rng: Random) -> np.ndarray:
    """It ends in each rest, and begins again some time after."""
    rate, low = np.full(len(on), 10.0), rng.uniform(1, 8)
    edges = np.flatnonzero(np.diff(on.astype(int), prepend=0, append=0))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        rate[first + rng.integers(5, max(6, end - first)) : end] = low
    return rate


def square(on: np.ndarray, rng: Random) -> np.ndarray:
    spells = np.arange(len(on)) // rng.choice([30, 60, 90])
    return np.where(spells % 2 == 0, 10.0, rng.uniform(2, 8))


def steps(on: np.ndarray, rng: Random) -> np.ndarray:
    n = len(on)
    edges = np.sort(rng.integers(n // 20, n - n // 20, rng.integers(1, 6)))
    return rng.uniform(2, 10, len(edges) + 1)[np.searchsorted(edges, np.arange(n))]


def constant(on: np.ndarray, rng: Random) -> np.ndarray:
    return np.full(len(on), 10.0)


def wild(on: np.ndarray, rng: Random) -> np.ndarray:
    """A rate that is anything, as on a network of a few hosts."""
    return np.asarray(10 * np.exp(0.3 * rng.standard_normal(len(on))))


NO_BUCKETS: dict[str, Callable[[np.ndarray, Random], np.ndarray]] = {
    "boost": boost,
    "hysteresis": hysteresis,
    "decline": decline,
    "drift": drift,
    "contention, each second": contention_each_second,
    "contention, in spells": contention_in_spells,
    "contention that pauses in rests": contention_that_pauses,
    "square wave": square,
    "steps": steps,
    "one rate": constant,
    "spread of 30 %": wild,
}
