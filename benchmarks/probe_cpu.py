"""Are system calls what lmbench measures, and calls, clocks and cycles the same run after run?

Alternating runs: of the probes (a session of quick rounds, their median) and of lmbench, an
external reference, as it is (its median of 11) and at its best (the least of 11 single ones, which
is what a machine that others use is to be compared by). All on one CPU, with the machine's favour
where it can be had. ``best`` is the least run, ``spread`` the largest run over the least, less one,
``ratio`` tare's best over lmbench's. lmbench's null is getppid, which takes the kernel a fifth
longer than getpid; its call has the loop in it, ours has not.

    .venv/bin/python benchmarks/probe_cpu.py [--lmbench DIR] [--runs 5] [--rounds 7]

DIR holds lat_syscall and lat_proc, somewhere. To have them, where libtirpc-dev is installed:

    git clone https://github.com/intel/lmbench && cd lmbench/src && mkdir ../bin
    make O=../bin OS=any CC=gcc CFLAGS="-O -w -fcommon -std=gnu89 -I/usr/include/tirpc
        -DHAVE_uint -DHAVE_int64_t -DHAVE_socklen_t" LDLIBS="-ltirpc -lm" ../bin/lmbench.a
        ../bin/lat_syscall ../bin/lat_proc          (all of this in one line)
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median

from probe_processes import ENOUGH, Runs, favoured, line

from tare.agent.client import Agent, ProcessChannel, binary
from tare.experiment.session.probing import Given, Turn, perform_round

PROBES = ("clock", "loop", "call", "syscall", "branch", "cpu.smt")
#: Our name, lmbench's program and its arguments.
BESIDE = {
    "syscall.getppid": ("lat_syscall", "null"),
    "syscall.read_byte": ("lat_syscall", "read"),
    "syscall.write_byte": ("lat_syscall", "write"),
    "syscall.open_close": ("lat_syscall", "open"),
    "call.int.1": ("lat_proc", "procedure"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lmbench", type=Path, metavar="DIR")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    options = parser.parse_args()
    tools = {
        "tare": lambda: tare(options.rounds),
        "lmbench": lambda: lmbench(options.lmbench, options.cpu),
        "lmbench, least": lambda: least_of(11, options.lmbench, options.cpu),
    }
    runs: dict[str, Runs] = {tool: {} for tool in tools}
    for _ in range(options.runs):
        for tool, run in tools.items():
            for name, value in run().items():
                runs[tool].setdefault(name, []).append(value)
    print(f"{'ns, Hz or 1':<38}{'best':>12}{'median':>12}{'spread':>9}{'ratio':>8}")
    for name, values in runs.pop("tare").items():
        print(line(name, values))
        for tool, figures in runs.items():
            if name in figures:
                ratio = min(values) / min(figures[name])
                told = f"    {tool}: {' '.join(BESIDE[name])}"
                print(line(told, figures[name]) + f"{ratio:>8.2f}")


def tare(rounds: int) -> dict[str, float]:
    """Median over rounds of every figure."""
    values: Runs = {}
    with closing(Agent(ProcessChannel(favoured([str(binary()), "serve"])))) as agent:
        for number in range(rounds):
            for probe in PROBES:
                done = perform_round(agent, Turn(probe, number, 60), Given())
                for reading in done.readings:
                    name = ".".join([reading.metric, *map(str, reading.at)])
                    values.setdefault(name, []).append(reading.value)
                if number == 0:
                    for fault in done.faults:
                        print("tare:", fault.message)
    return {name: median(found) for name, found in values.items()}


def lmbench(folder: Path | None, cpu: int, *, repetitions: int = 11) -> dict[str, float]:
    """Nanoseconds by our name; nothing without lmbench."""
    found: dict[str, float] = {}
    with tempfile.NamedTemporaryFile(dir="/tmp") as file:
        for name, (program, argument) in BESIDE.items():
            programs = sorted(folder.rglob(program)) if folder else []
            if not programs:
                continue
            path = [file.name] if argument == "open" else []
            ran = subprocess.run(
                favoured([str(programs[0]), "-N", str(repetitions), argument, *path], cpu),
                check=False,
                capture_output=True,
                text=True,
                env={**os.environ, "ENOUGH": ENOUGH},
            )
            number = re.search(r": ([\d.]+) microseconds", ran.stdout + ran.stderr)
            if number:
                found[name] = float(number[1]) * 1e3
    return found


def least_of(tries: int, folder: Path | None, cpu: int) -> dict[str, float]:
    """Nanoseconds by our name, the least of some single measurements."""
    every = [lmbench(folder, cpu, repetitions=1) for _ in range(tries)]
    return {name: min(one[name] for one in every if name in one) for name in every[0]}


if __name__ == "__main__":
    main()
