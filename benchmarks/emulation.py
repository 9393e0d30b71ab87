"""Does an emulated network give what was asked, as iperf3 sees it?

Two hosts of ``tare net emulate`` on this machine; iperf3's receiver counts payload every 100 ms,
which is multiplied by 1514/1448, the headers that the queueing discipline counts. Beside the
emulator, the kernel's own shapers (``tc``: tbf, and htb with one class), where they can: their
budgets end at 2^32 bytes, they refill at the low rate alone, and cannot change while they shape.

- bucket: full speed until well after it is empty, a rest, full speed again. The rates are means of
  the middle 60 % of the intervals before and after it is empty. What was received less the low
  rate times the time grows until then, and not afterwards, whenever the machine stalls: its largest
  value is the budget (where the low rate is the refill; otherwise less the difference until then).
  The refill is what the second epoch so received, over the time since the first ended. When data
  flowed is read from host 2's interface.
- replay: six rates, each for some seconds; the beginning is found by shifting what was asked over
  what was received. Every step's mean is over all of it, its beginning included. It has settled
  where the first 50 ms begin in which host 2's interface receives within a tenth of the rate.

    sudo .venv/bin/python benchmarks/emulation.py [--turns 3] [--only bucket] [--out FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tare.experiment import remnants
from tare.host import lease, processes
from tare.networks.emulator import Emulator
from tare.networks.shaping.specification import Bucket, Replay

GBIT = 1_000_000_000
MBIT = 1_000_000
#: Bits on the wire for each bit that iperf3 counts, with time stamps on.
WIRE = 1514 / 1448
INTERVAL_S = 0.1
#: In which a step has settled or not.
WINDOW_S = 0.05
CUBIC = ("-C", "cubic")

#: The budget fits into the kernel's 32 bits, and refill is the low rate.
PLAIN = Bucket(high_bps=2 * GBIT, low_bps=GBIT // 5, refill_bps=GBIT // 5, capacity_bits=10 * GBIT)
#: Neither does here, and the bucket is not full at first.
LARGE = Bucket(
    high_bps=2 * GBIT,
    low_bps=GBIT // 5,
    refill_bps=GBIT // 10,
    capacity_bits=5_400 * GBIT,
    initial_bits=3 * GBIT,
)
RATES_MBIT = (800, 300, 950, 120, 600, 1500)
#: Parts of high, low, budget and refill that the error may be.
BARS = {"high": 0.02, "low": 0.02, "budget": 0.01, "refill": 0.02}

TBF = "tbf rate 200mbit burst 1250000000 peakrate 2gbit mtu 131072 latency 50ms"
HTB = (
    "qdisc replace dev eth0 root handle 1: htb default 10",
    "class add dev eth0 parent 1: classid 1:10 htb rate 200mbit ceil 2gbit burst 1250000000"
    " cburst 256k quantum 60000",
    "qdisc add dev eth0 parent 1:10 handle 10: bfifo limit 1250000",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--step", type=float, default=5.0, help="seconds of each rate replayed")
    parser.add_argument("--only", default="", help="names that hold this text")
    parser.add_argument("--out", type=Path, help="all figures as JSON")
    options = parser.parse_args()
    plain = (10.0, 15.0, 5.0)
    trials = {
        "bucket, emulated": lambda: bucket(PLAIN, plain),
        "bucket, kernel htb": lambda: bucket(PLAIN, plain, HTB),
        "bucket, kernel tbf": lambda: bucket(PLAIN, plain, (f"qdisc replace dev eth0 root {TBF}",)),
        "bucket of 5,400 Gbit, emulated": lambda: bucket(LARGE, (5.0, 20.0, 4.0)),
        "replay, emulated": lambda: replay(options.step),
    }
    found: dict[str, list[dict[str, float]]] = {}
    for turn in range(options.turns):
        chosen = [name for name in trials if options.only in name]
        for name in chosen if turn % 2 == 0 else reversed(chosen):
            found.setdefault(name, []).append(trials[name]())
            print(f"turn {turn + 1}, {name}: {told(found[name][-1])}", flush=True)
    report(found)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1))


# -- The two kinds of trial


def bucket(asked: Bucket, phases: Sequence[float], kernel: Sequence[str] = ()) -> dict[str, float]:
    first_s, rest_s, second_s = phases
    with network() as emulator, flowing(emulator) as flow:
        cpu = Cpu(emulator.name)
        for command in kernel:
            tc = [*emulator.enter(1), "tc", *command.split()]
            subprocess.run(tc, check=True, capture_output=True)
        began = time.monotonic()
        if not kernel:
            emulator.shape({1: asked})
        first, retransmits = iperf3(emulator, first_s)
        time.sleep(rest_s)
        second, more = iperf3(emulator, second_s)
        used = cpu.part()
    one, two = epoch(first, asked), epoch(second, asked)
    rest = flow.rests()[-1]
    # Where it was not full, tokens came back before there was data as well.
    waited = 0.0 if asked.initial_bits is None else flow.busy()[0] - began
    return {
        "high": one["high"] / asked.high_bps - 1,
        "low": one["low"] / asked.low_bps - 1,
        "budget": (one["sent"] - asked.refill_bps * (waited + one["empty_s"]))
        / (asked.initial_bits or asked.capacity_bits)
        - 1,
        "refill": two["sent"] / (rest + two["empty_s"]) / asked.refill_bps - 1,
        "retransmits": retransmits + more,
        "cpu": float("nan") if kernel else used,
    }


def epoch(bits: np.ndarray, asked: Bucket) -> dict[str, float]:
    """Return both rates of an epoch at full speed, when it was empty, and what it sent before."""
    rate = bits / INTERVAL_S
    beyond = np.cumsum(bits) - asked.low_bps * INTERVAL_S * np.arange(1, len(bits) + 1)
    largest = float(np.median(np.sort(beyond)[-10:]))
    edge = int(np.argmax(beyond >= largest - 0.02 * asked.high_bps * INTERVAL_S))
    before = beyond[edge - 1] if edge else 0.0
    empty_s = edge * INTERVAL_S + (largest - before) / (asked.high_bps - asked.low_bps)
    return {
        "high": middle(rate[1:edge]),
        "low": middle(rate[edge + 2 : -1]),
        "empty_s": empty_s,
        "sent": largest + asked.low_bps * empty_s,
    }


def middle(rates: np.ndarray) -> float:
    cut = len(rates) // 5
    return float(np.sort(rates)[cut : len(rates) - cut].mean())


def replay(step_s: float) -> dict[str, float]:
    asked = Replay(steps=tuple((step_s, one * MBIT) for one in RATES_MBIT), origin="benchmark")
    with network() as emulator, flowing(emulator) as flow:
        began = time.monotonic()
        emulator.shape({1: asked})
        cpu = Cpu(emulator.name)
        bits, retransmits = iperf3(emulator, step_s * (len(RATES_MBIT) + 1) + 1.0)
        used = cpu.part()
    shift = alignment(bits, step_s)
    errors: list[float] = []
    cycle = step_s * len(RATES_MBIT)
    # The first whole cycle; what TCP does at its own beginning is not the emulator's.
    begin = shift + step_s * np.ceil((0.5 - shift) / step_s)
    for number in range(len(RATES_MBIT)):
        start, end = begin + number * step_s, begin + (number + 1) * step_s
        rate = asked_at(np.array([start + step_s / 2 - shift]), step_s, cycle)[0]
        before = asked_at(np.array([start - step_s / 2 - shift]), step_s, cycle)[0]
        after = asked_at(np.array([end + step_s / 2 - shift]), step_s, cycle)[0]
        mean = between(bits, start, end, (before, rate, after)) / step_s
        errors.append(mean / rate - 1)
    largest = max(errors, key=abs)
    settled = [flow.settling(began, number, step_s) for number in range(1, len(RATES_MBIT))]
    return {
        "mean": largest,
        "median": float(np.median(np.abs(errors))),
        "settled_ms": 1e3 * max(settled),
        "settled_median_ms": 1e3 * float(np.median(settled)),
        "retransmits": retransmits,
        "cpu": used,
    }


def asked_at(seconds: np.ndarray, step_s: float, cycle: float) -> np.ndarray:
    number = (np.mod(seconds, cycle) / step_s).astype(int) % len(RATES_MBIT)
    rates: np.ndarray = np.array(RATES_MBIT, float)[number] * MBIT
    return rates


def alignment(bits: np.ndarray, step_s: float) -> float:
    """Return when, in the receiver's time, the first rate began: what explains best what came."""
    cycle, parts = step_s * len(RATES_MBIT), 10
    moments = (np.arange(len(bits) * parts) + 0.5) * INTERVAL_S / parts
    rate = bits / INTERVAL_S

    def miss(shift: float) -> float:
        model = asked_at(moments - shift, step_s, cycle).reshape(-1, parts).mean(axis=1)
        return float(np.abs(rate - model)[10:].sum())

    coarse = min(np.arange(-cycle, 0, INTERVAL_S), key=miss)
    return float(min(np.arange(coarse - 0.06, coarse + 0.06, 0.001), key=miss))


def between(bits: np.ndarray, start: float, end: float, rates: tuple[float, ...]) -> float:
    """Return the bits of a step; the intervals at its edges are divided as the rates say."""
    before, rate, after = rates
    first, last = int(start / INTERVAL_S), int(end / INTERVAL_S)
    whole = bits[first + 1 : last].sum()
    earlier, later = start / INTERVAL_S - first, end / INTERVAL_S - last
    head = bits[first] * rate * (1 - earlier) / (before * earlier + rate * (1 - earlier))
    tail = bits[last] * rate * later / (rate * later + after * (1 - later))
    return float(whole + head + tail)


# -- Around them


@contextlib.contextmanager
def network() -> Iterator[Emulator]:
    with remnants.lease(lease.new_name()) as held, Emulator(held.name, hosts=2) as emulator:
        yield emulator


def iperf3(emulator: Emulator, seconds: float) -> tuple[np.ndarray, int]:
    """Send at full speed from host 1 to host 2; return the wire's bits of every interval there."""
    every = ["-i", str(INTERVAL_S), "-J"]
    server = subprocess.Popen(
        [*emulator.enter(2), "iperf3", "-s", "-1", *every], stdout=subprocess.PIPE, text=True
    )
    time.sleep(0.4)
    address = emulator.hosts[1].address
    assert address is not None
    client = [*emulator.enter(1), "iperf3", "-c", address, "-t", str(round(seconds)), *CUBIC, "-J"]
    done = subprocess.run(client, capture_output=True, text=True, check=False)
    told = json.loads(server.communicate()[0])
    intervals = [one["sum"] for one in told["intervals"]]
    if not intervals:
        raise SystemExit(f"iperf3 measured nothing: {told.get('error')} {done.stdout[-300:]}")
    # Where the machine stalls, one is longer and the next one shorter: even ones again.
    ends = np.array([one["end"] for one in intervals])
    amounts = np.cumsum([8 * one["bytes"] for one in intervals]) * WIRE
    even = np.arange(0.0, ends[-1], INTERVAL_S)
    grown = np.interp(even, np.append(0.0, ends), np.append(0.0, amounts))
    return np.diff(grown), json.loads(done.stdout)["end"]["sum_sent"]["retransmits"]


class Flow:
    """When data arrived at a host, by its interface's counter."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen: list[tuple[float, int]] = []
        self.over = threading.Event()

    def watch(self) -> None:
        while not self.over.wait(0.002):
            line = next(one for one in self.path.read_text().splitlines() if "eth0:" in one)
            self.seen.append((time.monotonic(), int(line.partition(":")[2].split()[0])))

    def busy(self) -> np.ndarray:
        """Return when more than a few packets came."""
        moments = np.array([moment for moment, _ in self.seen])
        grown = np.diff([amount for _, amount in self.seen]) > 20_000
        return moments[1:][grown]

    def rests(self) -> list[float]:
        """Return how long nothing but a few packets came, where that was longer than 2 s."""
        return [float(gap) for gap in np.diff(self.busy()) if gap > 2.0]

    def settling(self, began: float, number: int, step_s: float) -> float:
        """Return how long a step took until its rate was there."""
        moments, amounts = (np.array(column, float) for column in zip(*self.seen, strict=True))
        rate = RATES_MBIT[number % len(RATES_MBIT)] * MBIT
        start = began + number * step_s
        # The interface counts the headers of a large packet once.
        tail = np.interp([start + step_s / 2, start + step_s - 0.1], moments, amounts)
        scale = rate * (step_s / 2 - 0.1) / (8 * (tail[1] - tail[0]))
        for late in np.arange(0, step_s / 2, 0.001):
            ends = np.interp([start + late, start + late + WINDOW_S], moments, amounts)
            if abs(8 * scale * (ends[1] - ends[0]) / WINDOW_S / rate - 1) <= 0.1:
                return float(late)
        return step_s


@contextlib.contextmanager
def flowing(emulator: Emulator) -> Iterator[Flow]:
    sleeper = subprocess.Popen([*emulator.enter(2), "sleep", "1000"])
    flow = Flow(Path(f"/proc/{sleeper.pid}/net/dev"))
    time.sleep(0.2)
    thread = threading.Thread(target=flow.watch)
    thread.start()
    try:
        yield flow
    finally:
        flow.over.set()
        thread.join()
        sleeper.kill()
        sleeper.wait()


class Cpu:
    """What part of a CPU the emulator takes."""

    def __init__(self, name: str) -> None:
        self.pid = next(p.pid for p in processes.named() if p.name == name)
        self.start = (time.monotonic(), self.used_s())

    def used_s(self) -> float:
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(one.read_text().split()[0]) for one in threads) / 1e9

    def part(self) -> float:
        moment, used = self.start
        return (self.used_s() - used) / (time.monotonic() - moment)


def told(figures: dict[str, float]) -> str:
    parts = []
    for name, value in figures.items():
        if name.endswith("_ms") or name == "retransmits":
            parts.append(f"{name} {value:.0f}")
        elif not np.isnan(value):
            parts.append(f"{name} {100 * value:+.2f} %")
    return ", ".join(parts)


def report(found: dict[str, list[dict[str, float]]]) -> None:
    print(f"\n{'':>32} {'':>18} {'median':>9} {'worst':>9} {'bar':>6}")
    for name, turns in found.items():
        for figure in turns[0]:
            values = [turn[figure] for turn in turns if not np.isnan(turn[figure])]
            if not values:
                continue
            plain = figure.endswith("_ms") or figure == "retransmits"
            scale, unit = (1.0, "") if plain else (100.0, " %")
            worst = max(values, key=abs)
            bar = {**BARS, "mean": 0.01, "settled_ms": 50.0}.get(figure)
            shown = "" if bar is None else f"{scale * bar:.0f}{unit}"
            row = f"{scale * np.median(values):>8.2f}{unit} {scale * worst:>8.2f}{unit} {shown:>6}"
            print(f"{name:>32} {figure:>18} {row}")


if __name__ == "__main__":
    main()
