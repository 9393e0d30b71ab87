"""The page of a week's measurement: how long it takes, and how much memory, against its length.

Traces as the agent would have told them, 10 s an interval: a day, two days and a week (60,480
intervals) with 413 + 413 round trips an interval in histograms, 50 million in the week. The rate
follows a token bucket with noise, round trips are lognormal; a gap of an hour is in the middle.
`tare net report` runs in a process of its own.

    .venv/bin/python benchmarks/network_report.py [--days 1 2 7]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tare.agent.record import Connected, EndFact, Histogram, Interval, PhaseOver, Sending
from tare.networks.recording import writer as writing
from tare.networks.recording.histogram import EDGES_NS
from tare.networks.recording.lines import encode
from tare.networks.recording.writer import Asked

INTERVAL_NS = 10 * 10**9
TRIPS = 413
BAR_S = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=float, nargs="+", default=[1, 2, 7])
    parser.add_argument("--keep", type=Path, help="folder in which the last trace stays")
    options = parser.parse_args()
    print(f"{'days':>5}{'intervals':>11}{'round trips':>13}{'trace':>9}{'wall s':>8}{'CPU s':>7}"
          f"{'peak':>9}{'page':>9}")  # fmt: skip
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        for days in options.days:
            folder = options.keep or Path(place) / f"{days:g}"
            trips = made(folder, days)
            show(folder, days, trips)


def show(folder: Path, days: float, trips: int) -> None:
    page = folder / "report.html"
    began = time.perf_counter()
    command = [
        sys.executable,
        "-c",
        "from tare.wiring import main; main()",
        "net",
        "report",
        folder,
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - began
    assert status == 0, status
    trace = (folder / writing.TRACE).stat().st_size
    late = "" if wall_s <= BAR_S or days < 7 else "   LATE"
    print(
        f"{days:>5g}{int(days * 8640):>11,}{trips:>13,}{trace / 2**20:>5.0f} MiB{wall_s:>8.2f}"
        f"{used.ru_utime + used.ru_stime:>7.2f}{used.ru_maxrss / 1024:>5.0f} MiB"
        f"{page.stat().st_size / 2**20:>5.1f} MiB{late}"
    )


def made(folder: Path, days: float) -> int:
    """Write a trace; return how many round trips are in it."""
    rng = np.random.default_rng(7)
    n = int(days * 8640)
    asked = Asked(
        host="192.0.2.1", direction="out", streams=1, congestion="cubic", pings=100,
        interval_ns=INTERVAL_NS, begun_ns=1_760_000_000 * 10**9,
        phases=(
            Sending(
                id=0, duration_ns=n * INTERVAL_NS, on_ns=10**9, off_ns=0, write_bytes=1 << 17
            ),
        ),
    )  # fmt: skip
    with writing.create(folder, asked) as writer:
        writer.stretch()
        writer.phase(asked.phases[0])
    total = 0
    with (folder / writing.TRACE).open("ab", buffering=1 << 20) as file:
        fact = EndFact(name="congestion", value="cubic")
        connected = Connected(at_ns=0, realtime_ns=asked.begun_ns, here=(fact,), there=(fact,))
        file.write(encode(connected))
        for i in range(n):
            if n // 2 <= i < n // 2 + 360:
                continue
            one = interval(rng, i)
            total += sum(c for _, c in one.smoothed_rtt.bins + one.round_trips.bins)
            file.write(encode(one))
        file.write(encode(PhaseOver(id=0, skipped=False)))
    return total


def interval(rng: np.random.Generator, i: int) -> Interval:
    dry = i * INTERVAL_NS > 600 * 10**9
    rate = (1e9 if dry else 1e10) * rng.normal(1, 0.03)
    acked = int(rate * 10 / 8)
    return Interval(
        id=0, direction="out", start_ns=i * INTERVAL_NS, end_ns=(i + 1) * INTERVAL_NS,
        on_ns=INTERVAL_NS, acked_bytes=acked, received_bytes=acked, segments=acked // 1448,
        retransmits=int(rng.poisson(20)), segment_bytes=1448, min_rtt_ns=90_000,
        smoothed_rtt=histogram(rng, 2e6), rtt_variation_ns=100_000, window_segments=80.0,
        busy_ns=INTERVAL_NS, receiver_limited_ns=0, buffer_limited_ns=0,
        round_trips=histogram(rng, 1.8e6), sender_cpu_ns=10**9, receiver_cpu_ns=10**9,
    )  # fmt: skip


def histogram(rng: np.random.Generator, middle_ns: float) -> Histogram:
    times = middle_ns * np.exp(rng.normal(0, 0.6, TRIPS))
    bins, counts = np.unique(np.searchsorted(EDGES_NS, times, "right") - 1, return_counts=True)
    return Histogram(
        bins=tuple(zip(bins.tolist(), counts.tolist(), strict=True)),
        min_ns=int(times.min()), max_ns=int(times.max()), sum_ns=int(times.sum()),
    )  # fmt: skip


if __name__ == "__main__":
    main()
