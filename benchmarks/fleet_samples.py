"""A fleet of very many samples: how long its answers take, how much memory, and whether they hold.

Each host has three sessions in blocks of two cells, of normal logarithms: a level of the host, one
of each session on it, one of each trial; the second cell is slower by a ratio that differs by host.
One host is slower than all others. Each host has a journal, as its sessions would have written it;
writing them is not part of the times, reading them is. Then, each in a process of its own: what
`tare fleet report` works out, and that command itself with its page.

    .venv/bin/python benchmarks/fleet_samples.py [--hosts 1000] [--samples 1e6] [--seed 1]
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tare.agent import record
from tare.experiment import journal, plan, plan_file
from tare.experiment.specification import Cell, Experiment
from tare.features.fleet import folder as fleet_folder
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
    parser.add_argument("--samples", type=float, default=1e6)
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
        size = sum(path.stat().st_size for path in folder.rglob("*.ndjson"))
        rows = options.hosts * SESSIONS * len(PLATFORMS) * blocks
        print(f"{rows:,} samples of {options.hosts:,} hosts, {os.cpu_count()} CPUs; "
              f"{size / 2**20:,.0f} MiB, written in {time.monotonic() - began:.0f} s")  # fmt: skip
        found = timed("answers", [sys.executable, __file__, "--child", str(folder)])
        covered(json.loads(found), options.hosts)
        tare = [sys.executable, "-m", "tare", "fleet", "report", str(folder)]
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
        (host / "journal").mkdir(parents=True)
        plan_file.write(made, host)
        trial = 0
        for number, values in enumerate(drawn(rng, blocks, odd=name == ODD), 1):
            writer = journal.Writer(host / "journal" / f"{number}.ndjson")
            writer.write(begun(number), *trials(made, values, trial))
            writer.write(journal.SessionEnd(ended="2026-01-01T11:00:00+00:00", reason="finished"))
            writer.close()
            trial += values.size
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


def begun(session: int) -> journal.Session:
    return journal.Session(
        version=plan.VERSION, session=session, name=f"tare-{session:06}", nonce=1, boot_id="",
        started="2026-01-01T10:00:00+00:00", tare="0.1.0", agent_digest="0" * 64, argv=("tare",),
    )  # fmt: skip


def trials(made: plan.Plan, values: np.ndarray, first: int) -> Iterator[journal.Line]:
    """Yield the lines of a session's trials, whose values are of shape (blocks, cells)."""
    for number, ((block, cell), value) in enumerate(np.ndenumerate(values), first + 1):
        yield journal.TrialStart(
            trial=number, block=block, position=cell, cell=cell,
            levels=made.cells[cell].levels(), seed=1, repetitions=None, cpus=(None,),
            monotonic_ns=number * 10**9,
        )  # fmt: skip
        yield record.Sample(
            id=number, trial=number, worker=0, iteration=0, phase="measured",
            metric=made.metric, source=SOURCE, value=float(value),
        )  # fmt: skip
        yield journal.TrialEnd(trial=number, status="ok", monotonic_ns=(number + 1) * 10**9 - 1)


def drawn(rng: np.random.Generator, blocks: int, *, odd: bool) -> np.ndarray:
    """Draw all values of one host, of shape (sessions, blocks, cells)."""
    shape = (SESSIONS, blocks, len(PLATFORMS))
    level = math.log(2e8) + rng.normal(0, HOST_SD) + odd * ODD_BY
    sessions = rng.normal(0, SESSION_SD, (SESSIONS, 1, 1))
    ratio = np.array([0, rng.normal(RATIO, RATIO_SD)])
    x = level + sessions + ratio + rng.normal(0, TRIAL_SD, shape)
    return np.exp(x)


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
