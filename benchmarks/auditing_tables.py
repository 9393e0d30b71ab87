"""``tare audit`` of large tables vs. pandas' group-by median of the same files.

A million rows as 100 series and as one, with values to the nanosecond and with values of three
decimals, of which many are equal. Each way runs in a process of its own after it has done a small
file, so that start-up is left out: CPU time of all threads and child processes, reading included,
and the peak of memory of the process vs. 100 MB and three times the file.

    .venv/bin/python benchmarks/auditing_tables.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

WAYS = ("pandas", "tare")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    print(
        f"{'series':>6} {'rows each':>10} {'decimals':>8}  {'way':<7}{'s (CPU)':>8}{'ratio':>7}",
        end="",
    )
    print(f"{'peak':>9}{'allowed':>9}")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        small = written(Path(folder, "small.csv"), 2, 100, 9)
        for series, rows in ((100, 10_000), (1, 1_000_000)):
            for decimals in (9, 3):
                file = written(Path(folder, "long.csv"), series, rows, decimals)
                show(small, file, f"{series:>6} {rows:>10,} {decimals:>8}", options.rounds)


def show(small: Path, file: Path, title: str, rounds: int) -> None:
    found = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            found[way].append(run(way, small, file))
    seconds = {way: statistics.median(one["seconds"] for one in found[way]) for way in WAYS}
    allowed = 100 + 3 * file.stat().st_size / 1e6
    for way in WAYS:
        peak = max(one["bytes"] for one in found[way]) / 1e6
        row = f"{title}  {way:<7}{seconds[way]:>8.3f}{seconds[way] / seconds['pandas']:>7.2f}"
        print(f"{row}{peak:>6.0f} MB{allowed:>6.0f} MB")


def written(file: Path, series: int, rows: int, decimals: int) -> Path:
    """Write interleaved series of lognormal times with a coefficient of variation of 5 %."""
    rng = np.random.default_rng(1)
    levels = 0.1 * (1 + np.arange(series) / series)
    values = levels * rng.lognormal(0, 0.05, (rows, series))
    with file.open("w") as out:
        out.write("series,value\n")
        for row in values.tolist():
            out.writelines(f"case {i:03d},{one:.{decimals}f}\n" for i, one in enumerate(row))
    return file


def run(way: str, small: Path, file: Path) -> dict:
    command = [sys.executable, __file__, "--child", way, str(small), str(file)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def child(way: str, small: str, large: str) -> None:
    work = audited if way == "tare" else medians()
    with contextlib.redirect_stdout(io.StringIO()):
        work(small)
        begin = cpu_seconds()
        work(large)
        seconds = cpu_seconds() - begin
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) << 10
    print(json.dumps({"seconds": seconds, "bytes": peak}))


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usages)


def audited(file: str) -> None:
    from tare import wiring

    sys.argv = ["tare", "audit", file, "--value", "value", "--group", "series"]
    with contextlib.suppress(SystemExit):
        wiring.main()


def medians():
    import pandas as pd

    return lambda file: pd.read_csv(file).groupby("series")["value"].median()


if __name__ == "__main__":
    main()
