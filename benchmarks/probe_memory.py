"""Are latency and bandwidth of memory what others measure?

Alternating runs: of the probes (a round of the whole effort), of lmbench's lat_mem_rd and bw_mem,
of multichase and of STREAM (external references, built by whoever runs this). Each on one CPU, with
the machine's favour where it can be had. ``best`` is the least latency or the largest bandwidth of
all runs, ``spread`` how far the worst is off, ``ratio`` tare's best over the other's. Bytes are
counted as STREAM counts them: bw_mem's copies count twice here.

    .venv/bin/python benchmarks/probe_memory.py --references DIR [--runs 5]

DIR holds what there is of lat_mem_rd, bw_mem, multichase and stream; stream is built with arrays
beyond the caches (-O3 -fopenmp -DSTREAM_ARRAY_SIZE=16000000).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from contextlib import closing
from pathlib import Path
from statistics import median

import numpy as np

from tare.agent.client import Agent, ProcessChannel, binary
from tare.experiment.session.probing import Given, Turn, perform_round
from tare.render.words import sentence
from tare.statistics.knees import knees

#: Microseconds of one of lmbench's timings, where it would find out for itself, for minutes.
ENOUGH = "20000"
#: Sizes in KiB that all of them have: in the first, second and last cache, and in memory.
SIZES = {"L1": 16, "L2": 256, "L3": 2048, "memory": 128 << 10}
SMALL, HUGE = 4096, 2 << 20
LISTED = [f"memory.bandwidth.{what}" for what in ("read", "write", "copy", "triad")]
BW_MEM = {"read": ("frd", 1), "write": ("fwr", 1), "copy": ("fcp", 2)}

#: Values of each run by what they are of.
Runs = dict[str, list[float]]
Curve = dict[tuple[int, ...], list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", type=Path, metavar="DIR", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    curve: Curve = {}
    ours: Runs = {}
    others: dict[str, Runs] = {}
    for _ in range(options.runs):
        tare(ours, curve)
        for name, run in (("lmbench", lmbench), ("multichase", multichase), ("STREAM", stream)):
            for what, value in run(options).items():
                others.setdefault(what, {}).setdefault(name, []).append(value)
    table(ours, others)
    caches(curve)


def favoured(command: list[str], cpu: int | None) -> list[str]:
    """A session of its own with as much of the machine as may be had."""
    favour = "echo -20 2>/dev/null >/proc/self/autogroup; renice -n -20 $$ >/dev/null 2>&1; "
    pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
    return ["setsid", "-w", "sh", "-c", favour + 'exec "$@"', "sh", *pinned, *command]


def tare(runs: Runs, curve: Curve) -> None:
    """One round of each probe."""
    named = {
        (kib << 10, page): f"{name}, {page >> 10} KiB pages"
        for name, kib in SIZES.items()
        for page in (SMALL, HUGE)
    }
    with closing(Agent(ProcessChannel(favoured([str(binary()), "serve"], None)))) as agent:
        for probe in ("memory.latency", "memory.bandwidth"):
            number = len(next(iter(runs.values()), ()))
            given = Given(effort="whole", memory_bytes=2 << 30)
            done = perform_round(agent, Turn(probe, number, 120), given)
            for fault in done.faults:
                print("tare:", fault.message)
            for reading in done.readings:
                at = tuple(reading.at)
                if reading.metric == "memory.latency":
                    curve.setdefault(at, []).append(reading.value)
                    if at in named:
                        runs.setdefault(named[at], []).append(reading.value)
                elif reading.metric in LISTED:
                    what = f"{reading.metric.split('.')[-1]}, {at[0]} threads"
                    runs.setdefault(what, []).append(reading.value / 1e9)


def output(options: argparse.Namespace, command: list[str], pinned: bool = True) -> str:
    """What a reference says, or nothing where it is not there."""
    program = options.references / command[0]
    if not program.exists():
        return ""
    ran = subprocess.run(
        favoured([str(program.resolve()), *command[1:]], options.cpu if pinned else None),
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "ENOUGH": ENOUGH},
    )
    return ran.stdout + ran.stderr


def lmbench(options: argparse.Namespace) -> dict[str, float]:
    """Random loads in small pages, one thread's bandwidth of every byte."""
    found = {}
    said = output(options, ["lat_mem_rd", "-N", "1", "-t", str(max(SIZES.values()) >> 10), "64"])
    at = dict(re.findall(r"(?m)^([\d.]+) ([\d.]+)$", said))
    for name, kib in SIZES.items():
        if (value := at.get(f"{kib / 1024:.5f}")) is not None:
            found[f"{name}, 4 KiB pages"] = float(value)
    for what, (kind, count) in BW_MEM.items():
        said = output(options, ["bw_mem", "-N", "5", "128m", kind])
        if match := re.search(r"[\d.]+ ([\d.]+)\s*$", said):
            found[f"{what}, 1 threads"] = count * float(match[1]) / 1e3
    return found


def multichase(options: argparse.Namespace) -> dict[str, float]:
    """Random loads over all of the size, TLB misses and all."""
    found = {}
    for name, kib in SIZES.items():
        for page, huge in ((SMALL, []), (HUGE, ["-H"])):
            size = f"{kib}k"
            command = ["multichase", *huge, "-m", size, "-s", "64", "-T", size, "-n", "2"]
            if match := re.search(r"([\d.]+)\s*$", output(options, command)):
                found[f"{name}, {page >> 10} KiB pages"] = float(match[1])
    return found


def stream(options: argparse.Namespace) -> dict[str, float]:
    found = {}
    for threads in sorted({1, len(os.sched_getaffinity(0))}):
        command = ["env", f"OMP_NUM_THREADS={threads}", str(options.references / "stream")]
        if not Path(command[-1]).exists():
            return {}
        # With all threads it may go where it likes.
        cpu = options.cpu if threads == 1 else None
        ran = subprocess.run(
            favoured(command, cpu), check=False, capture_output=True, text=True
        ).stdout
        for kind, rate in re.findall(r"(?m)^(Copy|Triad): +([\d.]+)", ran):
            found[f"{kind.lower()}, {threads} threads"] = float(rate) / 1e3
    return found


def table(ours: Runs, others: dict[str, Runs]) -> None:
    print(f"{'ns, GB/s':<40}{'best':>9}{'median':>9}{'spread':>9}{'ratio':>8}")
    for what, values in ours.items():
        best = max if what.endswith("threads") else min
        print(line(what, values, best))
        for tool, beside in others.get(what, {}).items():
            ratio = best(values) / best(beside)
            print(line(f"    {tool}", beside, best) + f"{ratio:>8.2f}")


def line(name: str, values: list[float], best) -> str:
    spread = max(values) / min(values) - 1
    return f"{name:<40}{best(values):>9.2f}{median(values):>9.2f}{spread:>9.1%}"


def caches(curve: Curve) -> None:
    """The caches found, beside those that the system says there are."""
    folder = Path(f"/sys/devices/system/cpu/cpu{max(os.sched_getaffinity(0))}/cache")
    told = [
        f"L{(index / 'level').read_text().strip()} {(index / 'size').read_text().strip()}"
        for index in sorted(folder.glob("index*"))
        if (index / "type").read_text().strip() != "Instruction"
    ]
    print(f"\nsysfs: {', '.join(told) or 'says nothing'}")
    for page in sorted({page for _, page in curve}):
        sizes = np.array([size for size, of in sorted(curve) if of == page], dtype=float)
        found = knees(sizes, np.array([median(curve[int(size), page]) for size in sizes]))
        print(f"{page >> 10} KiB pages: {sentence(found.sentence)}")


if __name__ == "__main__":
    main()
