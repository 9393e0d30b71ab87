"""Do the file probes read what fio reads?

Every turn reads the same file with the probe and with fio (psync, iodepth=1, direct=1), one block
size and order after the other, in an order that alternates. What counts is the median latency of a
turn's reads. A figure's best is the least over the turns; its spread is (largest - least) / median,
its inner spread that of the middle half.

    .venv/bin/python benchmarks/probe_files.py [--directory DIR] [--turns 10]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from tare.agent.client import Agent, ProcessChannel, binary
from tare.experiment.session.probing import Given, Turn, perform_round

FILE_BYTES = 64 << 20
ORDERS = {"sequential": "read", "random": "randread"}
BLOCKS = (4096, 65536, 1 << 20)
#: Rounds of the probe in one turn, of which the median counts, as a fingerprint would take them.
ROUNDS = 3
SECONDS = 0.4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, default=Path.cwd(), help="on the disk")
    parser.add_argument("--fio", default=shutil.which("fio"))
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        # Whoever is first makes the file.
        tare(folder)
        (path,) = Path(folder).iterdir()
        found: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
        for turn in range(options.turns):
            ours, theirs = None, None
            for side in (0, 1) if turn % 2 else (1, 0):
                if side:
                    theirs = fio(options.fio, path)
                else:
                    ours = tare(folder)
            for key in theirs:
                sides = found.setdefault(key, ([], []))
                sides[0].append(ours[key])
                sides[1].append(theirs[key])
    report(found)


def tare(folder: str) -> dict[tuple[str, int], float]:
    values: dict[tuple[str, int], list[float]] = {}
    with closing(Agent(ProcessChannel([str(binary()), "serve"]))) as agent:
        for number in range(ROUNDS):
            given = Given(directory=folder, effort="quick", file_bytes=FILE_BYTES)
            one = perform_round(agent, Turn("file.read", number, 60), given)
            for reading in one.readings:
                _, _, order, what = reading.metric.split(".")
                if what == "latency":
                    values.setdefault((order, reading.at[0]), []).append(reading.value)
    return {key: float(np.median(found)) for key, found in values.items()}


def fio(program: str, path: Path) -> dict[tuple[str, int], float]:
    found = {}
    for order, mode in ORDERS.items():
        for block in BLOCKS:
            command = [
                program,
                "--name=reference",
                f"--filename={path}",
                f"--size={FILE_BYTES}",
                f"--rw={mode}",
                f"--bs={block}",
                "--ioengine=psync",
                "--iodepth=1",
                "--direct=1",
                "--time_based",
                f"--runtime={SECONDS * 1000:.0f}ms",
                "--readonly",
                "--output-format=json",
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
            found[order, block] = job["read"]["clat_ns"]["percentile"]["50.000000"]
    return found


def report(found: dict[tuple[str, int], tuple[list[float], list[float]]]) -> None:
    print(
        f"{'median latency, us':>22} {'side':>6}{'best':>10}{'median':>10}{'spread':>8}{'inner':>8}"
    )
    for (order, block), sides in found.items():
        for side, values in zip(("tare", "fio"), sides, strict=True):
            middle = np.median(values)
            low, high = np.quantile(values, [0.25, 0.75])
            print(
                f"{order:>13}{block:>9} {side:>6}{min(values) / 1e3:>10.1f}{middle / 1e3:>10.1f}"
                f"{(max(values) - min(values)) / middle:>8.3f}{(high - low) / middle:>8.3f}"
            )
        paired = np.array(sides[0]) / np.array(sides[1])
        print(
            f"{'':>22} tare / fio: best {min(sides[0]) / min(sides[1]):.3f}, "
            f"median of turns {np.median(paired):.3f}"
        )


if __name__ == "__main__":
    main()
