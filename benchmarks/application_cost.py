"""What does tare cost FFmpeg?

Pairs of a trial by tare on bare and of the same command without tare, in random order, in the same
place: the plain one is a child of this program that enters the agent's mount namespace and root.
Ratios tare to plain of user and system CPU time, and of wall time, as Hodges-Lehmann medians with
95 % intervals. And what starting a trial takes beside its command where the platform is there.

    .venv/bin/python benchmarks/application_cost.py [--pairs 40] [--set seconds=2 …]

As root.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from tare import platforms, workloads
from tare.agent import client, record
from tare.experiment.file import application
from tare.experiment.session.roots import Roots
from tare.experiment.specification import Cell
from tare.features.run import application as typed
from tare.host import lease
from tare.platforms import session_folder
from tare.statistics.comparison import compare_family
from tare.workloads.application import SCRATCH
from tare.workloads.specification import WorkloadSpec

LIBC = ctypes.CDLL(None, use_errno=True)
NEWNS = 0x20000
MARGIN = 0.005


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--application", default="ffmpeg")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    found = application.read(options.application)
    line = typed.line(options.application, options.set, {})
    arguments = {p.name: line.options.get(p.name, p.default) for p in found.parameters}
    cell = Cell(
        cell=0,
        workload=WorkloadSpec(
            name=found.name, application=found, arguments=arguments, command=found.command,
            environment=found.environment, inherit=(), directory=SCRATCH,
        ),
    )  # fmt: skip
    job = workloads.job(cell.workload, cell.levels(), repetitions=None, seed=1, surroundings={})
    name = lease.new_name()
    with ExitStack() as stack:
        stack.enter_context(lease.hold(name))
        folder = stack.enter_context(session_folder.made(name))
        root = Roots([cell], folder.parent, print, stack).of(cell)
        place = platforms.Place(name=f"{name}-0", shared=str(folder), root=root)
        instance = platforms.start("bare", place)
        stack.callback(instance.close)
        agent = client.Agent(instance.channel, timeout_s=60)
        rows = [pair(agent, instance.host_pid, job, number) for number in range(options.pairs)]
    report(np.array(rows))


def pair(agent: client.Agent, pid: int, job: record.Command, number: int) -> list[float]:
    """Return CPU and wall time of both, in seconds, and what the trial took besides."""
    values: dict[str, tuple[float, ...]] = {}
    for one in random.sample(["plain", "tare"], 2):
        values[one] = plain(pid, job) if one == "plain" else by_tare(agent, job, number)
    return [*values["tare"], *values["plain"]]


def by_tare(agent: client.Agent, job: record.Command, number: int) -> tuple[float, ...]:
    trial = record.Trial(
        id=agent.next_id(), trial=number, nonce=1, workload=job,
        workers=(record.Worker(worker=0, cpus=None),), iterations=1, warmup=0, process="fresh",
        tail="stop", rendezvous=None, timeout_ns=None, linger_ns=0, observe=True, user=None,
        window=None,
    )  # fmt: skip
    began = time.perf_counter()
    got = agent.ask(trial, 600)
    whole = time.perf_counter() - began
    faults = [one for one in got if isinstance(one, record.Fault) and one.kind != "warning"]
    assert not faults, faults
    best = {(s.metric, s.source): s.value / 1e9 for s in got if isinstance(s, record.Sample)}
    wall = best["wall_ns", "around"]
    return best["cpu_ns", "rusage"], wall, whole - wall


def plain(pid: int, job: record.Command) -> tuple[float, ...]:
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        enter(namespace, job)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - began
    os.close(namespace)
    assert status == 0, status
    return used.ru_utime + used.ru_stime, wall


def enter(namespace: int, job: record.Command) -> None:
    """Become the command, in the root that the namespace has; never returns."""
    try:
        if LIBC.setns(namespace, NEWNS) != 0:
            os._exit(120)
        os.chdir(job.directory or "/")
        null = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.execvpe(job.argv[0], list(job.argv), job.environment)
    finally:
        os._exit(121)


def report(rows: np.ndarray) -> None:
    for name, first, second in (("user + system CPU", 0, 3), ("wall", 1, 4)):
        (found,) = compare_family([(rows[:, second], rows[:, first])], MARGIN)
        low, at, high = (100 * ((x or 1) - 1) for x in (found.low, found.ratio, found.high))
        print(
            f"{name:<18} tare / plain {at:+.2f} % [{low:+.2f}, {high:+.2f}]   "
            f"(median {np.median(rows[:, first]):.3f} s, n = {len(rows)} pairs)"
        )
    besides = rows[1:, 2]
    print(
        f"a trial besides its command: {1e3 * np.median(besides):.1f} ms, "
        f"at most {1e3 * besides.max():.1f} ms"
    )


if __name__ == "__main__":
    assert Path("/proc/self/ns/mnt").exists()
    main()
