"""Do `tare net measure` and its other end carry as much as iperf3, and answer as fast as bare C?

Two network namespaces are joined by veth; the other place is the loopback of one of them. In every
turn iperf3 and tare send one stream for a while with the same writes and the same congestion
control, in an order that alternates; what counts is what the receiver read. Then 64 bytes go there
and back, one after another, over TCP_NODELAY: tare, `pingpong.c`, and sockperf where it is
installed. What is told is the median of the turns' ratios, with its 95 % interval by signs; so what
else the machine does hits both alike.

    sudo .venv/bin/python benchmarks/network_ends.py [--turns 15] [--seconds 1] [--only veth]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from scipy import stats

from tare.agent import record
from tare.agent.client import binary
from tare.networks import peering

SIZES = {"1 KiB": 1 << 10, "16 KiB": 16 << 10, "128 KiB": 128 << 10, "1 MiB": 1 << 20}
MESSAGE = 64
NAMES = tuple(f"tare-ends-{os.getpid()}-{number}" for number in (1, 2))
VETH, LOOPBACK = "10.79.0.2", "127.0.0.1"
#: Of tare, iperf3, pingpong.c and sockperf.
PORTS = 8273, 5201, 8274, 8275
_decoder = msgspec.json.Decoder(record.MeasureRecord)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--congestion", default="cubic")
    parser.add_argument(
        "--only", default="", help="names that hold this text: veth, loopback, 1 KiB"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        stack.enter_context(namespaces())
        bench = Bench(options, Path(folder), stack)
        print(f"load {os.getloadavg()[0]:.1f}; ratios tare / other, median [95 % interval]")
        for place in ("veth", "loopback"):
            for name, size in SIZES.items():
                bench.bandwidth(place, name, size)
            bench.round_trips(place)
        print(f"load {os.getloadavg()[0]:.1f}")


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    one, two = NAMES
    try:
        for line in (
            f"netns add {one}",
            f"netns add {two}",
            f"-n {one} link set lo up",
            f"-n {two} link set lo up",
            f"link add eth0 netns {one} type veth peer name eth0 netns {two}",
            f"-n {one} addr add 10.79.0.1/24 dev eth0",
            f"-n {two} addr add {VETH}/24 dev eth0",
            f"-n {one} link set eth0 up",
            f"-n {two} link set eth0 up",
        ):
            subprocess.run(["ip", *line.split()], check=True)
        for name in NAMES:
            # iperf3 -C comes after it has connected: where the default is BBR, its pacing stays.
            write = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control"
            subprocess.run(["ip", "netns", "exec", name, "sh", "-c", write], check=True)
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False)


class Bench:
    """Servers of everything in both places, and what is measured against them."""

    def __init__(self, options: argparse.Namespace, folder: Path, stack: contextlib.ExitStack):
        self.options = options
        self.key = folder / "key"
        peering.make_key(self.key)
        self.pingpong = str(folder / "pingpong")
        source = Path(__file__).with_name("pingpong.c")
        subprocess.run(["cc", "-O2", "-o", self.pingpong, str(source)], check=True)
        self.sockperf = shutil.which("sockperf")
        for where, address in ((NAMES[1], VETH), (NAMES[0], LOOPBACK)):
            tare, iperf3, pingpong, sockperf = map(str, PORTS)
            servers = [
                [str(binary()), "peer", "--bind", f"{address}:{tare}", "--key-file", str(self.key)],
                ["iperf3", "-s", "-B", address, "-p", iperf3],
                [self.pingpong, "serve", address, pingpong],
            ]
            if self.sockperf:
                words = ["server", "--tcp", "-i", address, "-p", sockperf]
                servers.append([self.sockperf, *words])
            for words in servers:
                stack.enter_context(server(where, words))
        time.sleep(1)

    def here(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", NAMES[0], *words]

    def bandwidth(self, place: str, name: str, size: int) -> None:
        label = f"{place}, writes of {name}"
        if self.options.only in label:
            sides = {"tare": lambda a: self.tare(a, size), "iperf3": lambda a: self.iperf3(a, size)}
            found = self.turns(place, sides)
            for side, values in found.items():
                median = np.median([value[0] for value in values]) * 8 / 1e9
                print(f"{label:>28} {side:>9} {median:8.2f} Gbit/s")
            tell(f"{label:>28}", found, "iperf3", 0)

    def round_trips(self, place: str) -> None:
        label = f"{place}, {MESSAGE} bytes"
        if self.options.only not in label:
            return
        sides = {"tare": self.tare_pings, "pingpong": self.pings}
        if self.sockperf:
            sides["sockperf"] = self.sockperf_pings
        found = self.turns(place, sides)
        for side, values in found.items():
            p50, p99 = np.median(values, axis=0)
            print(f"{label:>28} {side:>9} p50 {p50 / 1e3:7.2f} us  p99 {p99 / 1e3:8.2f} us")
        for other in list(sides)[1:]:
            for number, quantile in enumerate(("p50", "p99")):
                tell(f"{label:>28} {quantile}", found, other, number)

    def turns(
        self, place: str, sides: dict[str, Callable[[str], tuple[float, ...]]]
    ) -> dict[str, list[tuple[float, ...]]]:
        address = VETH if place == "veth" else LOOPBACK
        found: dict[str, list[tuple[float, ...]]] = {side: [] for side in sides}
        for turn in range(self.options.turns):
            order = list(sides) if turn % 2 else list(reversed(sides))
            for side in order:
                found[side].append(sides[side](address))
        return found

    def tare(self, address: str, size: int) -> tuple[float, ...]:
        # The last is what was still on its way, which iperf3's receiver has the time of as well.
        some = self.measure(address, 1, 0, size)
        received = sum(one.received_bytes or 0 for one in some)
        return (received * 1e9 / (some[-1].end_ns - some[0].start_ns),)

    def tare_pings(self, address: str) -> tuple[float, ...]:
        (interval,) = self.measure(address, 0, None, 1)
        return tuple(quantile(interval.round_trips, part) for part in (0.5, 0.99))

    def measure(
        self, address: str, on_ns: int, pings: int | None, size: int
    ) -> list[record.Interval]:
        duration_ns = int(self.options.seconds * 1e9)
        orders = (
            record.Connect(
                end=f"{address}:{PORTS[0]}",
                key=peering.read_key(self.key),
                direction="out",
                streams=1,
                congestion=self.options.congestion,
                pings=pings,
                interval_ns=2 * duration_ns,
                sample_ns=10_000_000,
                patience_ns=5_000_000_000,
            ),
            record.Sending(id=1, duration_ns=duration_ns, on_ns=on_ns, off_ns=0, write_bytes=size),
        )
        words = self.here(str(binary()), "measure")
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stdout
            for order in orders:
                process.stdin.write(msgspec.json.encode(order) + b"\n")
            process.stdin.flush()
            intervals = []
            for line in process.stdout:
                told = _decoder.decode(line)
                if isinstance(told, record.Interval):
                    intervals.append(told)
                elif isinstance(told, record.PhaseOver):
                    process.stdin.close()
                elif isinstance(told, record.MeasureOver):
                    assert told.why is None, told.why
        return intervals

    def iperf3(self, address: str, size: int) -> tuple[float, ...]:
        words = ["-c", address, "-p", str(PORTS[1]), "-l", str(size), "-J"]
        words += ["-C", self.options.congestion, "-t", f"{max(1, round(self.options.seconds))}"]
        # Its server is not always ready for the next one yet.
        for _ in range(20):
            done = subprocess.run(
                self.here("iperf3", *words), capture_output=True, text=True, check=False
            )
            told = json.loads(done.stdout or "{}")
            if "sum_received" in told.get("end", {}):
                return (told["end"]["sum_received"]["bits_per_second"] / 8,)
            time.sleep(0.2)
        raise SystemExit(f"iperf3: {told.get('error', done.stderr)}")

    def pings(self, address: str) -> tuple[float, ...]:
        words = (address, str(PORTS[2]), str(MESSAGE), str(self.options.seconds))
        done = subprocess.run(
            self.here(self.pingpong, *words), capture_output=True, text=True, check=True
        )
        return tuple(float(word) for word in done.stdout.split()[:2])

    def sockperf_pings(self, address: str) -> tuple[float, ...]:
        words = ["ping-pong", "--tcp", "-i", address, "-p", str(PORTS[3])]
        words += ["-m", str(MESSAGE), "-t", f"{max(1, round(self.options.seconds))}", "--full-rtt"]
        done = subprocess.run(
            self.here(str(self.sockperf), *words), capture_output=True, text=True, check=False
        )
        found = [
            re.search(rf"percentile {part}\s*=\s*([\d.]+)", done.stdout)
            for part in ("50.000", "99.000")
        ]
        return tuple(float(match[1]) * 1e3 if match else float("nan") for match in found)


@contextlib.contextmanager
def server(where: str, words: list[str]) -> Iterator[None]:
    process = subprocess.Popen(
        ["ip", "netns", "exec", where, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def quantile(histogram: record.Histogram, part: float) -> float:
    """Middle of the bin that holds it."""
    counts = np.array([count for _, count in histogram.bins])
    place = int(np.searchsorted(np.cumsum(counts), part * counts.sum()))
    number = histogram.bins[place][0]
    e, m = divmod(number, 64)
    return float(m) if e == 0 else (64 + m + 0.5) * 2 ** (e - 1)


def tell(label: str, found: dict[str, list[tuple[float, ...]]], other: str, number: int) -> None:
    ours = np.array([value[number] for value in found["tare"]])
    theirs = np.array([value[number] for value in found[other]])
    ratios = np.sort(ours / theirs)
    # By signs: the widest pair of order statistics that holds the median in 95 of 100 cases.
    skip = max(0, int(stats.binom.ppf(0.025, len(ratios), 0.5)) - 1)
    low, high = ratios[skip], ratios[-1 - skip]
    print(f"{label} tare / {other}: {np.median(ratios):.3f} [{low:.3f}, {high:.3f}]", flush=True)


if __name__ == "__main__":
    main()
