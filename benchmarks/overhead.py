"""What does an experiment cost besides measuring?

Cost of one trial of an empty program inside a running platform, side by side with ``hyperfine -N``
(whole duration divided by n, start-up taken off by a second, longer execution), and the share of an
experiment's time that is spent outside its iterations.

    .venv/bin/python benchmarks/overhead.py [--platform bare …]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
TARE = HERE.parent / ".venv/bin/tare"
FEW, MANY = 50, 550

EXPERIMENT = """
[experiment]
name = "share"
question = "How much of the time is spent outside iterations?"
trials = 60
[[workload]]
kernel = "exp_double"
[factors]
platform = ["bare"]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", nargs="*", default=["bare", "unshare"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        empty = build_empty(Path(folder))
        print("cost of one trial of an empty static program, ms")
        print(f"  hyperfine -N      {per_trial(lambda n: hyperfine(empty, n)):.2f}")
        for platform in options.platform:
            cost = per_trial(lambda n, p=platform: tare(empty, n, p))
            print(f"  tare, {platform:<11} {cost:.2f}")
        print(f"outside iterations, bare: {100 * share(Path(folder)):.1f} % of the time")


def build_empty(folder: Path) -> Path:
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-O2", "-static", "-o", folder / "empty", source], check=True)
    return folder / "empty"


def per_trial(harness) -> float:
    """Milliseconds a trial, from two executions of different length, so start-up cancels."""
    return (harness(MANY) - harness(FEW)) / (MANY - FEW) * 1e3


def timed(command: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def hyperfine(program: Path, runs: int) -> float:
    return timed(["hyperfine", "-N", "--style=none", "--runs", str(runs), str(program)])


def tare(program: Path, runs: int, platform: str) -> float:
    return timed([str(TARE), "run", "-p", platform, "-n", str(runs), "--", str(program)])


def share(folder: Path) -> float:
    """Share of the time from first to last trial that no iteration covers."""
    file = folder / "share.toml"
    file.write_text(EXPERIMENT)
    out = folder / "share"
    subprocess.run([TARE, "experiment", "run", file, "--out", out], check=True, capture_output=True)
    measured, stamps = 0.0, []
    for line in (out / "journal/1.ndjson").read_text().splitlines():
        got = json.loads(line)
        match got:
            case {"record": "trial", "monotonic_ns": stamp} if not got.get("calibration"):
                stamps.append(stamp)
            case {"record": "ended", "monotonic_ns": stamp} if stamps:
                stamps.append(stamp)
            case {"record": "sample", "metric": "wall_ns", "source": "around"} if stamps:
                measured += got["value"]
    return 1 - measured / (stamps[-1] - stamps[0])


if __name__ == "__main__":
    main()
