"""What a fleet adds to a block: a trivial command on `local:1`, and the same without a fleet.

Sessions alternate. A block's time is from its first trial's start to that of the next block, by the
journal's stamps, so that it holds all that takes place between blocks. Fails where the fleet costs
more than the bar. Needs root, as `local:N` does.

    sudo .venv/bin/python benchmarks/fleet_block.py [--rounds 3] [--blocks 60]
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tare.experiment import journal

#: Milliseconds a block.
BAR = 20.0
TEXT = """
[experiment]
name = "block"
question = "What does a fleet cost?"
trials = {blocks}
fingerprint = false
[[workload]]
command = ["true"]
[factors]
platform = ["bare"]
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--blocks", type=int, default=60)
    options = parser.parse_args()
    times: dict[str, list[float]] = {"alone": [], "fleet": []}
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "block.toml"
        file.write_text(TEXT.format(blocks=options.blocks))
        for number in range(options.rounds):
            for name, words in (("alone", []), ("fleet", ["--fleet", "local:1"])):
                out = Path(made) / f"{name}-{number}"
                tare = [sys.executable, "-m", "tare", "experiment", "run"]
                subprocess.run([*tare, file, "--out", out, *words], check=True, capture_output=True)
                times[name] += blocks(out if not words else out / "hosts/host-1")
    median = {name: statistics.median(some) for name, some in times.items()}
    for name, some in times.items():
        low, high = statistics.quantiles(some, n=10)[0], statistics.quantiles(some, n=10)[-1]
        print(
            f"{name}: median {median[name]:.1f} ms a block, p10–p90 {low:.1f} to {high:.1f}, "
            f"n = {len(some)}"
        )
    cost = median["fleet"] - median["alone"]
    print(f"the fleet costs {cost:.1f} ms a block, bar {BAR:.0f}")
    return cost > BAR


def blocks(folder: Path) -> list[float]:
    """Return the milliseconds from each block's start to the next one's."""
    starts = [
        one.monotonic_ns
        for one in journal.read_all(folder)
        if isinstance(one, journal.TrialStart) and one.position == 0
    ]
    return [(after - before) / 1e6 for before, after in itertools.pairwise(starts)]


if __name__ == "__main__":
    sys.exit(main())
