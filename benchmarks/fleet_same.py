"""Does a fleet measure what is measured without one? CPU time of a kernel, by block.

Rounds alternate: a session without a fleet, and one on `local:4`, of eight trials each. The ratio
of the two medians is taken round by round; over rounds, it must be equivalent to 1 within the
margin, by the exact interval of Wilcoxon's signed ranks, as a shared machine is now and then slow.
How often the kernel runs in a trial is given: of two sessions, one may find twice what the other
does. Also the CPU time that workers took for themselves. Needs root, as `local:N` does.

    sudo .venv/bin/python benchmarks/fleet_same.py [--rounds 12] [--margin 0.05]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tare

HOSTS = 4
#: Of a worker, of the time that its blocks take.
MOST_SHARE = 0.001
TEXT = """
[experiment]
name = "same"
question = "Is it the same in a fleet?"
trials = 8
metric = "kernel_cpu_ns"
fingerprint = false
[[workload]]
kernel = "qsort"
repetitions = 1
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--margin", type=float, default=0.05)
    options = parser.parse_args()
    ratios, shares = [], []
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "same.toml"
        file.write_text(TEXT)
        for number in range(options.rounds):
            alone, fleet = Path(made) / f"alone-{number}", Path(made) / f"fleet-{number}"
            runs = [(alone, []), (fleet, ["--fleet", f"local:{HOSTS}"])]
            for out, words in runs if number % 2 else runs[::-1]:
                command = [sys.executable, "-m", "tare", "experiment", "run"]
                subprocess.run(
                    [*command, file, "--out", out, *words], check=True, stdout=subprocess.DEVNULL
                )
            own = [value for host in sorted((fleet / "hosts").iterdir()) for value in values(host)]
            ratios.append(statistics.median(own) / statistics.median(values(alone)))
            record = json.loads((fleet / "fleet.json").read_text())
            shares += [host["own_cpu_share"] for host in record["hosts"]]
            print(f"round {number + 1}: {ratios[-1]:.4f}", file=sys.stderr)
    middle, low, high = np.exp(signed_ranks(np.log(ratios)))
    same = 1 / (1 + options.margin) < low and high < 1 + options.margin
    print(
        f"fleet / alone: {middle:.4f} [{low:.4f}, {high:.4f}] (90 %: two one-sided "
        f"tests), {'equivalent' if same else 'not shown to be equivalent'} within "
        f"{options.margin:.0%}, {len(ratios)} blocks"
    )
    share = statistics.median(shares)
    print(f"workers: {share:.3%} of the time of their blocks, bar {MOST_SHARE:.1%}")
    return not same or share > MOST_SHARE


def signed_ranks(values: np.ndarray, error: float = 0.05) -> tuple[float, float, float]:
    """Return the median of pairwise means (Hodges and Lehmann), and its interval for two tests."""
    n = len(values)
    means = np.sort([(values[i] + values[j]) / 2 for i in range(n) for j in range(i, n)])
    ways = np.ones(1)
    for rank in range(1, n + 1):
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    least = int(np.searchsorted(np.cumsum(ways) / 2**n, error))
    return float(np.median(means)), float(means[least]), float(means[-1 - least])


def values(folder: Path) -> list[float]:
    """Return the CPU time of each good trial."""
    return [float(value) for value in tare.open(folder).values("kernel_cpu_ns")["value"]]


if __name__ == "__main__":
    sys.exit(main())
