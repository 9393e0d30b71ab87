"""Long tables read into series, beside pandas and DuckDB on the same files.

A million rows and then many, as CSV and as Parquet, as one series and parted into four that are
interleaved; and the CSV once more with a bound that has the values kept on disk. Each way runs in
a process of its own: CPU time of it and its child processes, and the peak of memory above what
Python holds with the libraries loaded, as a multiple of the column of values.

    .venv/bin/python benchmarks/reading_tables.py [--millions 50]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tare.readers import ColumnOptions, growing_columns, read, table  # noqa: F401

WAYS = ("tare", "pandas", "duckdb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millions", type=int, default=50)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    print(
        f"{'rows':>12} {'file':<8} {'series':>6}  {'way':<12}{'s (CPU)':>8}{'ratio':>7}{'peak':>7}"
    )
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        for millions in (1, options.millions):
            for groups in (1, 4):
                for file in written(Path(folder), millions * 1_000_000, groups):
                    show(millions, file, groups)
                    file.unlink()


def show(millions: int, file: Path, groups: int) -> None:
    n = millions * 1_000_000
    ways = [*WAYS, "tare on disk"] if file.suffix == ".csv" else WAYS
    found = {way: run(way, file, groups) for way in ways}
    for way, one in found.items():
        row = f"{n:>12,} {file.suffix[1:]:<8} {groups:>6}  {way:<12}{one['seconds']:>8.2f}"
        row += f"{one['seconds'] / found['pandas']['seconds']:>7.2f}{one['bytes'] / (8 * n):>7.2f}"
        equal = np.isclose(one["total"], found["pandas"]["total"], rtol=1e-9)
        print(row if equal else f"{row}  NOT EQUAL")


def written(folder: Path, rows: int, groups: int) -> list[Path]:
    """Write platform, iteration and a time of six digits, a million rows at a time.

    Whatever differs in the column of platforms makes series, so one series has one platform.
    """
    files = [folder / "long.csv", folder / "long.parquet"]
    rng = np.random.default_rng(1)
    first = part(rng, 0, 1, groups)
    with (
        pyarrow.csv.CSVWriter(files[0], first.schema) as text,
        pq.ParquetWriter(files[1], first.schema) as parquet,
    ):
        for at in range(0, rows, 1_000_000):
            some = part(rng, at, 1_000_000, groups)
            text.write_table(some)
            parquet.write_table(some)
    return files


def part(rng: np.random.Generator, at: int, n: int, groups: int) -> pa.Table:
    number = np.arange(at, at + n)
    return pa.table({
        "platform": np.array(["bare", "docker", "vm", "unshare"])[number % groups],
        "iteration": number,
        "time_s": np.round(np.exp(rng.normal(-1, 0.1, n)), 6),
    })  # fmt: skip


def run(way: str, file: Path, groups: int) -> dict:
    command = [sys.executable, __file__, "--child", way, str(file), str(groups)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def child(way: str, name: str, groups: str) -> None:
    file, parted = Path(name), groups != "1"
    loaded = peak_bytes()
    begin = cpu_seconds()
    if way.startswith("tare"):
        if way == "tare on disk":
            growing_columns.MOST_RESIDENT_BYTES = 1 << 20
        series = read(file, ColumnOptions("time_s", ("platform",) if parted else ())).series
        arrays = [one.values for one in series]
    else:
        arrays = peer(way, file, parted)
    seconds = cpu_seconds() - begin
    peak = peak_bytes()
    total = float(sum(array.sum() for array in arrays))
    assert len(arrays) == int(groups)
    print(json.dumps({"seconds": seconds, "bytes": peak - loaded, "total": total}))


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usages)


def peak_bytes() -> int:
    """Return the most that this program has had in memory; ru_maxrss is also its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def peer(way: str, file: Path, parted: bool) -> list[np.ndarray]:
    columns = ["platform", "time_s"] if parted else ["time_s"]
    if way == "duckdb":
        frame = duckdb.sql(f"SELECT {', '.join(columns)} FROM '{file}'").df()
    elif file.suffix == ".csv":
        frame = pd.read_csv(file, usecols=columns)
    else:
        frame = pd.read_parquet(file, columns=columns)
    if not parted:
        return [frame["time_s"].to_numpy()]
    return [rows.to_numpy() for _, rows in frame.groupby("platform", sort=False)["time_s"]]


if __name__ == "__main__":
    main()
