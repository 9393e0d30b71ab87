"""Limits: is the share of runs that are misjudged inside the interval that was predicted for it?

    benchmarks/limits.py [JUDGEMENTS]

Programs that spin for a known CPU time, on bare, docker and, where it is installed, isolate, with 1
and 2 workers, while others keep the machine busy. One of them is measured, the others are judged
by limits near their time: 2,000 runs each, or as many as given. As root, an hour or two on two
CPUs.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import tare
from tare.experiment.findings.limit_cells import LimitCell, limit_cells
from tare.experiment.results import Results
from tare.results.message import Message
from tare.statistics.misjudgement import shares_above

HERE = Path(__file__).parent
#: CPU time of the program that is measured, and of those that are judged.
MEASURED_MS, JUDGED_MS = 20, (18, 19, 21, 22)
#: Limits, relative to the median of the measured program in the cell.
LIMITS = (0.95, 1.0, 1.05, 1.2)
APPLICATION = """
[application]
name = "spin"
question = "How long does it spin?"
[image]
root = "root"
[run]
command = ["/spin", "{ms}", "-"]
[parameters.ms]
meaning = "milliseconds of CPU time"
default = 20
"""
EXPERIMENT = """
[experiment]
name = "limits"
question = "How often is it misjudged?"
trials = {trials}
metric = "wall_ns"
limit = "{limit} ms"
fingerprint = false
skip_missing = true
{workloads}
[factors]
platform = {platforms}
workers = [1, 2]
load = ["busy"]
ms = {ms}
[loads.busy]
kind = "stress-ng"
stressor = "cpu"
workers = 1
"""
IMAGE = """
[[workload]]
application = "{application}"
only = {{ platform = ["bare", "docker"] }}
"""
#: It has no images.
ISOLATE = """
[[workload]]
name = "spin in a box"
command = ["{application}/root/spin", "{{ms}}", "-"]
only = {{ platform = ["isolate"] }}
"""


def measured(trials: int) -> Results:
    """Run the programs."""
    folder = Path(tempfile.mkdtemp(prefix="limits-"))
    application = folder / "spin"
    for name in ("etc", "usr", "application", "data", "tmp"):
        (application / "root" / name).mkdir(parents=True)
    (application / "root/etc/hosts").write_text("127.0.0.1 localhost tare\n")
    spin = application / "root/spin"
    subprocess.run(["cc", "-O2", "-static", "-o", spin, HERE / "spin.c"], check=True)
    (application / "application.toml").write_text(APPLICATION)
    isolate = shutil.which("isolate") is not None
    workloads = IMAGE + (ISOLATE if isolate else "")
    text = EXPERIMENT.format(
        trials=trials,
        limit=MEASURED_MS,
        workloads=workloads.format(application=application),
        platforms=["bare", "docker", *(["isolate"] if isolate else [])],
        ms=[MEASURED_MS, *JUDGED_MS],
    )
    (folder / "limits.toml").write_text(text)
    folder.chmod(0o755)
    command = [sys.executable, "-m", "tare", "experiment", "run", folder / "limits.toml"]
    subprocess.run([*command, "--out", folder / "out"], check=True)
    return tare.open(folder / "out")


def main() -> None:
    """Print each cell's share and the interval that was predicted for it."""
    (cells,) = limit_cells(measured(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
    assert not isinstance(cells, Message)
    by_setting: dict[tuple[str, str], dict[str, LimitCell]] = {}
    for cell in cells.all:
        setting = (cell.levels["platform"], cell.levels["workers"])
        true = np.full_like(cell.values, 1e6 * float(cell.levels["ms"]))
        by_setting.setdefault(setting, {})[cell.levels["ms"]] = replace(cell, true=true)
    inside = []
    for (platform, workers), programs in by_setting.items():
        known = programs[str(MEASURED_MS)]
        for ms, factor in itertools.product(JUDGED_MS, LIMITS):
            judged = programs[str(ms)]
            limit = factor * float(np.median(known.values))
            found = known.over_at(np.array([ms * 1e6]), limit)
            ends = [shares.next(judged.values.size, known.values.size) for shares in found]
            low = min(float(end[0][0]) for end in ends)
            high = max(float(end[1][0]) for end in ends)
            share = float(shares_above(judged.values, np.array([limit])).estimate[0])
            inside.append(low <= share <= high)
            print(
                f"{platform} ×{workers}, {ms} ms, limit {limit / 1e6:.2f} ms: {share:.2%} over,"
                f" predicted {low:.2%} to {high:.2%}{'' if inside[-1] else '  outside'}"
            )
    print(f"inside in {sum(inside)} of {len(inside)}")


if __name__ == "__main__":
    main()
