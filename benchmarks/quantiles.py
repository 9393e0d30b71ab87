"""Five quantiles with intervals of 50 million values, beside numpy.partition on the same ranks.

Each way runs in a process of its own, so that its peak of memory is its own (above what Python
holds with the libraries loaded). Shapes: skewed, with ties, sorted, drifting. Then a file of 1.6 GB
by a process that may allocate 64 MB more than the libraries do: as a memory map, and part by part;
numpy.partition is shown to fail there.

    .venv/bin/python benchmarks/quantiles.py [--millions 50] [--turns 3]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tare.statistics.intervals import quantile_ranks
from tare.statistics.quantiles import quantiles

QS = (0.01, 0.25, 0.5, 0.9, 0.99)
SHAPES = ("lognormal", "whole numbers", "sorted", "drifting")
ROOM = 64 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millions", type=int, default=50)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    n = options.millions * 1_000_000
    if options.child:
        child(*options.child, n, options.turns)
        return
    print(f"{n:,} values, quantiles {QS} with 95 % intervals; CPU time, best of {options.turns}\n")
    print(f"{'shape':<16}{'way':<18}{'s':>8}{'ratio':>8}{'peak / data':>13}  equal")
    for shape in SHAPES:
        peer = run("partition", shape, options)
        for way, found in (("numpy.partition", peer), ("tare", run("tare", shape, options))):
            row = f"{shape:<16}{way:<18}{found['seconds']:>8.2f}"
            row += f"{found['seconds'] / peer['seconds']:>8.2f}{found['memory']:>13.2f}"
            print(f"{row}  {'to the bit' if found['values'] == peer['values'] else 'NO'}")
    larger_than_memory(options)


def run(way: str, where: str, options: argparse.Namespace) -> dict:
    arguments = ["--millions", str(options.millions), "--turns", str(options.turns)]
    command = [sys.executable, __file__, *arguments, "--child", way, where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout)


def larger_than_memory(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values"
        rng = np.random.default_rng(2)
        with path.open("wb") as file:
            for _ in range(200):
                rng.lognormal(0, 1, 1_000_000).tofile(file)
        size = path.stat().st_size
        print(f"\na file of {size / 1e9:.1f} GB, {ROOM >> 20} MB allowed")
        for way in ("map", "parts", "partition-map"):
            found = run(way, str(path), options)
            if "failed" in found:
                print(f"{way:<16}{found['failed']}")
            else:
                seconds = (
                    f"{found['seconds']:.1f} s, median {found['values'][3 * QS.index(0.5)]:.6f}"
                )
                print(f"{way:<16}{seconds}, n = {found['n']:,}")


def child(way: str, where: str, n: int, turns: int) -> None:
    limited = where not in SHAPES
    if limited:
        most = held() + ROOM
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        values = np.memmap(where, dtype=float, mode="r")
        turns = 1
    before = peak()
    if not limited:
        values = shaped(where, n)
    given = (lambda: parts(Path(where))) if way == "parts" else values
    select = by_partition if way.startswith("partition") else by_tare
    seconds = []
    for _ in range(turns):
        start = time.process_time()
        found = select(given)
        seconds.append(time.process_time() - start)
    memory = (peak() - before) / values.nbytes
    print(
        json.dumps({"seconds": min(seconds), "memory": memory, "values": found, "n": len(values)})
    )


def held() -> int:
    """Bytes allocated; maps of files do not count, since their pages can be given back."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmData:")[1].split()[0]) * 1024


def shaped(shape: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    if shape == "sorted":
        return np.arange(n, dtype=float)
    values = rng.standard_normal(n) if shape == "drifting" else rng.lognormal(0, 1, n)
    if shape == "whole numbers":
        np.rint(values, out=values)
    if shape == "drifting":
        for start in range(0, n, 1_000_000):
            values[start : start + 1_000_000] += start / n * 5
    return values


def parts(path: Path) -> Iterator[np.ndarray]:
    with path.open("rb") as file:
        while len(part := np.fromfile(file, dtype=float, count=500_000)):
            yield part


def by_tare(values: np.ndarray | Callable[[], Iterator[np.ndarray]]) -> list[float]:
    return [x for i in quantiles(values, QS) for x in (i.estimate, i.low, i.high)]


def by_partition(values: np.ndarray) -> list[float]:
    """The same figures, as few lines of numpy give them."""
    n = len(values)
    ranks = [quantile_ranks(n, q) for q in QS]
    places = [int((n - 1) * q) for q in QS]
    wanted = {k for p in places for k in (p, p + 1)} | {k - 1 for pair in ranks for k in pair}
    ordered = np.partition(values, sorted(wanted))
    found = []
    for q, place, pair in zip(QS, places, ranks, strict=True):
        share = (n - 1) * q - place
        step = ordered[place + 1] - ordered[place]
        middle = (
            ordered[place] + step * share
            if share < 0.5
            else ordered[place + 1] - step * (1 - share)
        )
        found += [float(middle), float(ordered[pair[0] - 1]), float(ordered[pair[1] - 1])]
    return found


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
