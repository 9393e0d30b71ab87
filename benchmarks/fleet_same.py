"""Does a fleet measure what is measured without one? CPU time of a kernel, by block.

Rounds alternate: a session without a fleet, and one on `local:4`, of three trials each. The ratio
of the two medians is taken round by round; its mean must be equivalent to 1 within the margin, by
Student's t. Also the CPU time that workers took for themselves. Needs root, as `local:N` does.

    sudo .venv/bin/python benchmarks/fleet_same.py [--rounds 12] [--margin 0.05]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats

import tare

HOSTS = 4
#: Of a worker, of the time that its blocks take.
MOST_SHARE = 0.001
TEXT = """
[experiment]
name = "same"
question = "Is it the same in a fleet?"
trials = 3
metric = "kernel_cpu_ns"
fingerprint = false
[[workload]]
kernel = "qsort"
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
                command = [sys.executable, "-m", "tare.wiring", "experiment", "run"]
                subprocess.run(
                    [*command, file, "--out", out, *words], check=True, stdout=subprocess.DEVNULL
                )
            own = [value for host in sorted((fleet / "hosts").iterdir()) for value in values(host)]
            ratios.append(statistics.median(own) / statistics.median(values(alone)))
            record = json.loads((fleet / "fleet.json").read_text())
            shares += [host["own_cpu_share"] for host in record["hosts"]]
            print(f"round {number + 1}: {ratios[-1]:.4f}", file=sys.stderr)
    logs = np.log(ratios)
    half = stats.t.ppf(0.95, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs))
    low, high = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
    same = 1 / (1 + options.margin) < low and high < 1 + options.margin
    print(
        f"fleet / alone: {math.exp(logs.mean()):.4f} [{low:.4f}, {high:.4f}] (90 %: two one-sided "
        f"tests), {'equivalent' if same else 'not shown to be equivalent'} within "
        f"{options.margin:.0%}, {len(logs)} blocks"
    )
    share = statistics.median(shares)
    print(f"workers: {share:.3%} of the time of their blocks, bar {MOST_SHARE:.1%}")
    return not same or share > MOST_SHARE


def values(folder: Path) -> list[float]:
    """Return the CPU time of each good trial."""
    return [float(value) for value in tare.open(folder).values("kernel_cpu_ns")["value"]]


if __name__ == "__main__":
    sys.exit(main())
