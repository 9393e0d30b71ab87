#!/usr/bin/env python3
"""CPU time of help and completion, as a multiple of importing NumPy.

All commands take turns in one run, so that what else the machine does meets all of them.

Run: ``python benchmarks/start.py [--repetitions 9]``
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys

TARE = [sys.executable, "-c", "from tare.__main__ import main; main()"]
PEER = "import numpy"
COMMANDS = {
    PEER: [sys.executable, "-c", PEER],
    "tare --version": [*TARE, "--version"],
    "tare run --help": [*TARE, "run", "--help"],
    "tare compare --help": [*TARE, "compare", "--help"],
    "tare --help": [*TARE, "--help"],
    "tare <TAB>": [*TARE, "--complete", "bash", ""],
    "tare run --<TAB>": [*TARE, "--complete", "bash", "run", "--"],
    "tare run -p <TAB>": [*TARE, "--complete", "bash", "run", "-p", ""],
    "tare run --metric <TAB>": [*TARE, "--complete", "bash", "run", "--metric", ""],
}


def cpu_s(command: list[str]) -> float:
    """Return the CPU time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratios(repetitions: int) -> dict[str, float]:
    """Return the median CPU time of each command, as a multiple of the peer's."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(repetitions):
        for name, command in COMMANDS.items():
            times[name].append(cpu_s(command))
    medians = {name: statistics.median(some) for name, some in times.items()}
    return {name: median / medians[PEER] for name, median in medians.items()}


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=9)
    for name, ratio in ratios(parser.parse_args().repetitions).items():
        print(f"{name:24} {ratio:5.2f}")


if __name__ == "__main__":
    main()
