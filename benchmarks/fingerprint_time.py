"""How long does a quick fingerprint take, beside lmbench's programs for the same figures?

    .venv/bin/python benchmarks/fingerprint_time.py [--lmbench DIR] [--enough 5000] [--full]

DIR holds lmbench's programs, built by you. Without ``--enough`` each of them decides how long a
measurement must be, as lmbench's own script has it; 5000 microseconds make lmbench as short as it
gets.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

TARE = [sys.executable, "-c", "from tare.wiring import main; main()", "fingerprint"]

#: Probes of tare's, and lmbench's programs for figures of theirs. FILE is a file of 64 MiB.
SUBSET: tuple[tuple[str, str], ...] = (
    ("syscall", "lat_syscall null"),
    ("syscall", "lat_syscall read"),
    ("syscall", "lat_syscall write"),
    ("syscall", "lat_syscall open FILE"),
    ("call", "lat_proc procedure"),
    ("process", "lat_proc fork"),
    ("process", "lat_proc exec"),
    ("switch", "lat_ctx -s 0 2"),
    ("switch", "lat_pipe"),
    ("fault", "lat_pagefault FILE"),
    ("memory.latency", "lat_mem_rd -t 128 64"),
    ("memory.bandwidth", "bw_mem 128m frd"),
    ("memory.bandwidth", "bw_mem 128m fwr"),
    ("memory.bandwidth", "bw_mem 128m fcp"),
    ("memory.bandwidth", "bw_mem -P 2 128m frd"),
    ("network.round_trip", "lat_tcp localhost"),
    ("network.connect", "lat_connect localhost"),
    ("network.bandwidth", "bw_tcp -m 128k localhost"),
)
#: Have a server that is started with -s and stopped with -S.
SERVERS = ("lat_tcp", "lat_connect", "bw_tcp")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lmbench", type=Path, help="folder of lmbench's programs")
    parser.add_argument("--enough", type=int, help="shortest measurement, microseconds")
    parser.add_argument("--full", action="store_true", help="the whole fingerprint, too")
    options = parser.parse_args()
    print(f"load average at the beginning: {os.getloadavg()[0]:.1f}", flush=True)
    for effort in ((), ("--full",)) if options.full else ((),):
        fingerprint(effort)
    if options.lmbench is not None:
        lmbench(options.lmbench, options.enough)


def fingerprint(effort: tuple[str, ...]) -> None:
    """Print what the whole command takes, and what it brings."""
    began = time.monotonic()
    done = subprocess.run(
        [*TARE, *effort, "--json", "-"], capture_output=True, text=True, check=True
    )
    took = time.monotonic() - began
    found = json.loads(done.stdout)
    rounds = [one["n"] for one in found["metrics"].values()]
    without = sorted(name for name, one in found["metrics"].items() if one["ci"] is None)
    points = sum(len(curve["points"]) for curve in found["curves"].values())
    print(f"tare fingerprint {' '.join(effort)}: {took:.1f} s")
    print(f"  {len(rounds)} figures of {min(rounds)} to {max(rounds)} rounds, {points} points")
    print(f"  without an interval: {', '.join(without) or 'none'}")
    for problem in found["problems"]:
        print(f"  missing {problem['probe']}: {problem['why']}")
    sys.stdout.flush()


def lmbench(folder: Path, enough: int | None) -> None:
    """Print what the programs take for the figures that they share with the fingerprint."""
    environment = dict(os.environ, LOOP_O="0", TIMING_O="0")
    if enough is not None:
        environment["ENOUGH"] = str(enough)
    took: dict[str, float] = defaultdict(float)
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        file.write(os.urandom(64 << 20))
        file.flush()
        for probe, line in SUBSET:
            name, *words = line.replace("FILE", file.name).split()
            if not (folder / name).exists():
                print(f"  lmbench has no {name} there")
                continue
            took[probe] += perform([str(folder / name), *words], environment)
    print(f"lmbench, the same subset: {sum(took.values()):.1f} s")
    for probe, seconds in took.items():
        print(f"  {probe:<20} {seconds:6.1f} s")


def perform(argv: list[str], environment: dict[str, str]) -> float:
    """Perform one program, and return its seconds."""
    served = Path(argv[0]).name in SERVERS
    if served:
        subprocess.run([argv[0], "-s"], env=environment, check=True)
        time.sleep(0.5)
    began = time.monotonic()
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    if served:
        subprocess.run([argv[0], "-S", argv[-1]], env=environment, check=False)
    lines = (done.stderr + done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
    print(f"  {took:5.1f} s  {' '.join([Path(argv[0]).name, *argv[1:]])}: {lines[-1]}", flush=True)
    return took


if __name__ == "__main__":
    main()
