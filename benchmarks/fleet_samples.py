"""A fleet of very many samples: how long its answers take, how much memory, and whether they hold.

Each host has three sessions in blocks of two cells, of normal logarithms: a level of the host, one
of each session on it, one of each trial; the second cell is slower by a ratio that differs by host.
One host is slower than all others. The values are written as Parquet by host, as tare makes them of
journals; making them is not part of the times. Then, each in a process of its own: what
`tare fleet report` works out, and that command itself with its page.

    .venv/bin/python benchmarks/fleet_samples.py [--hosts 1000] [--samples 1e8] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tare.experiment import plan, plan_file, store
from tare.experiment.specification import Cell, Experiment
from tare.features.fleet import folder as fleet_folder
from tare.features.fleet import values
from tare.features.fleet.folder import HostRecord, Record
from tare.workloads.specification import WorkloadSpec

SESSIONS, PLATFORMS = 3, ("bare", "docker")
HOST_SD, SESSION_SD, TRIAL_SD = 0.01, 0.01, 0.02
RATIO, RATIO_SD = math.log(1.05), 0.005
ODD, ODD_BY = "box-7", 0.10
BAR_S, BAR_BYTES = 120.0, 4 << 30
SOURCE = "perf_cpu"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--samples", type=float, default=1e8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        answer(Path(options.child))
        return
    blocks = math.ceil(options.samples / (options.hosts * SESSIONS * len(PLATFORMS)))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        folder = Path(place) / "fleet"
        began = time.monotonic()
        make(folder, options.hosts, blocks, options.seed)
        size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
        rows = options.hosts * SESSIONS * len(PLATFORMS) * blocks
        print(f"{rows:,} samples of {options.hosts:,} hosts, {os.cpu_count()} CPUs; "
              f"{size / 2**20:,.0f} MiB, written in {time.monotonic() - began:.0f} s")  # fmt: skip
        found = timed("answers", [sys.executable, __file__, "--child", str(folder)])
        covered(json.loads(found), options.hosts)
        tare = [sys.executable, "-m", "tare.wiring", "fleet", "report", str(folder)]
        timed("tare fleet report", tare)


def timed(name: str, command: list[str]) -> str:
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    printed = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds, peak = time.monotonic() - began, used.ru_maxrss << 10
    held = process.returncode == 0 and seconds <= BAR_S and peak <= BAR_BYTES
    print(f"{name:<20}{seconds:>7.1f} s{used.ru_utime + used.ru_stime:>8.1f} s CPU"
          f"{peak / 2**20:>8.0f} MiB   {'held' if held else 'NOT HELD'}")  # fmt: skip
    return printed


def make(folder: Path, hosts: int, blocks: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = planned()
    names = [f"box-{number}" for number in range(hosts)]
    for name in names:
        host = folder / plan_file.HOSTS / name
        host.mkdir(parents=True)
        plan_file.write(made, host)
        summary = values.Summary(
            failures=0,
            origins=store.origins(host), sessions=SESSIONS,
            trials=SESSIONS * blocks * len(PLATFORMS), factor="platform", emulated=(),
            metric=made.metric, sources=(SOURCE,),
            cells=tuple(values.MeasuredCell(c.cell, (*c.levels().items(),)) for c in made.cells),
        )  # fmt: skip
        table = drawn(rng, blocks, odd=name == ODD)
        (host / values.FILE).write_bytes(values.encode(summary, [table]))
    record = tuple(HostRecord(name=name, ended="finished") for name in names)
    fleet_folder.write(Record(name="fleet", question="Do hosts differ?", hosts=record), folder)


def planned() -> plan.Plan:
    workload = WorkloadSpec(name="sort", kernel="sort")
    experiment = Experiment(
        name="fleet", question="Do hosts differ?", workloads=(workload,),
        factors={"platform": PLATFORMS}, seed=1,
    )  # fmt: skip
    cells = tuple(
        Cell(
            cell=number, workload=workload, platform=platform, workers=1, pinning="none",
            load="none", size="all",
        )
        for number, platform in enumerate(PLATFORMS)
    )  # fmt: skip
    return plan.make(experiment, cells)


def drawn(rng: np.random.Generator, blocks: int, *, odd: bool) -> pa.Table:
    """Draw all values of one host."""
    shape = (SESSIONS, blocks, len(PLATFORMS))
    level = math.log(2e8) + rng.normal(0, HOST_SD) + odd * ODD_BY
    sessions = rng.normal(0, SESSION_SD, (SESSIONS, 1, 1))
    ratio = np.array([0, rng.normal(RATIO, RATIO_SD)])
    x = level + sessions + ratio + rng.normal(0, TRIAL_SD, shape)
    session, block, cell = np.indices(shape)
    columns = (cell, session + 1, block, np.exp(x), np.ones(shape, dtype=bool))
    arrays = [pa.array(c.ravel()).cast(f.type)
              for c, f in zip(columns, values.SCHEMA, strict=True)]  # fmt: skip
    return pa.Table.from_arrays(arrays, schema=values.SCHEMA)


def answer(folder: Path) -> None:
    """Work out what a report says, as it does."""
    from tare.features.fleet import answers, results
    from tare.render import data

    fleet = results.load(folder)
    print(json.dumps(data.builtins(answers.findings(fleet))))


def covered(found: list[dict[str, Any]], hosts: int) -> None:
    """Hold the answers against what was drawn."""
    tables = {table["id"]: table["rows"] for one in found for table in one["tables"]}
    # The odd host is one of those whose spread is looked at, of what is drawn for it besides.
    host = math.sqrt(HOST_SD**2 + (ODD_BY**2 / hosts))
    bare, other = tables["components"]
    both = math.sqrt(host**2 + RATIO_SD**2)
    for name, row, truth in (
        ("SD of hosts, bare", bare, ("host", host)),
        ("SD of hosts, docker", other, ("host", both)),
        ("SD of sessions", bare, ("session", SESSION_SD)),
        ("SD of trials", bare, ("trial", TRIAL_SD)),
        ("ratio", tables["everywhere"][0], ("ratio", None)),
    ):
        key, value = truth
        true = math.expm1(value) if value is not None else math.exp(RATIO)
        low, high = row[f"{key}_low"], row[f"{key}_high"]
        said = "covered" if low <= true <= high else "NOT COVERED"
        print(f"  {name:<20}{row[key]:.5f} [{low:.5f}, {high:.5f}]   {true:.5f} {said}")
    row = tables["everywhere"][0]
    truth_low, truth_high = (math.exp(RATIO + z * RATIO_SD) for z in (-1.96, 1.96))
    print(f"  {'next host':<20}[{row['next_low']:.5f}, {row['next_high']:.5f}]"
          f"   [{truth_low:.5f}, {truth_high:.5f}] drawn")  # fmt: skip
    odd = next(one for one in found if one["name"] == "odd")
    named = sorted({str(said["args"].get("host")) for said in odd["answer"]})
    print(f"  {'odd':<20}{', '.join(named)}   {ODD}")


if __name__ == "__main__":
    main()
