"""How fast is the kernel linpack beside OpenBLAS?

Rounds in alternation: of the agent's kernel, of SciPy's dgesv with OpenBLAS as it chooses its
instructions, and with those for AVX-512 where the processor has them (for some processors OpenBLAS
does not choose its fastest). One solve at a time, and two independent ones side by side, each on a
CPU of its own with one thread. Both sides do the same: copy the matrix (by columns, in place of the
last factors), solve, and take the scaled residual; and besides, dgesv is timed alone, while the
kernel never is. Before it is measured each side has solved once.

``best`` is of single solves, ``median`` of all; with two, of rounds: the solves' rates added up.
Ratios are the kernel's over the other's; ``alone`` is the kernel with all that it does over dgesv
alone.

    .venv/bin/python benchmarks/linpack.py [--sizes 1000 2000 5000] [--rounds 10]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

from tare.agent.client import Agent, ProcessChannel, binary, record

#: Operations that a process is given in a round: a second or less.
ROUND = 3e10
FAVOUR = "echo -20 2>/dev/null >/proc/self/autogroup; renice -n -20 $$ >/dev/null 2>&1; "
WIDEST = "SKYLAKEX"

#: Seconds of each solve, of each process.
Times = list[list[float]]


def flops(size: int) -> float:
    return 2 / 3 * size**3 + 2 * size**2


def favoured(command: list[str]) -> list[str]:
    """A session of its own with as much of the machine as may be had."""
    return ["setsid", "-w", "sh", "-c", FAVOUR + 'exec "$@"', "sh", *command]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 5000])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--reference", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reference:
        reference(*options.reference)
        return
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    print(f"{'GFLOPS':<30}{'best':>8}{'median':>8}   ratio of best and median   alone")
    for size in options.sizes:
        for places in (cpus[-1:], cpus)[: len(cpus)]:
            compare(size, places, options.rounds)


def compare(size: int, cpus: list[int], rounds: int) -> None:
    solves = max(1, round(ROUND / flops(size)))
    sides = [Kernel(size, cpus), OpenBlas(size, cpus)]
    if "avx512f" in Path("/proc/cpuinfo").read_text() and sides[1].core != WIDEST:
        sides.append(OpenBlas(size, cpus, WIDEST))
    found: list[list[tuple[Times, Times]]] = [[] for _ in sides]
    for turn in range(rounds):
        for index in range(len(sides)) if turn % 2 else reversed(range(len(sides))):
            found[index].append(sides[index].round(solves))
    print(f"n = {size}, {len(cpus)} at once, {rounds} × {solves} solves each")
    own = None
    for side, times in zip(sides, found, strict=True):
        side.close()
        whole, alone = (rates(size, [round[part] for round in times]) for part in (0, 1))
        text = f"  {side.name:<28}{whole[0]:>8.1f}{whole[1]:>8.1f}"
        if own is None:
            own = whole
        else:
            ratios = [f"{mine / other:.2f}" for mine, other in zip(own, whole, strict=True)]
            strict = [f"{mine / other:.2f}" for mine, other in zip(own, alone, strict=True)]
            text += f"   {' '.join(ratios):<26} {' '.join(strict)}"
        print(text, flush=True)


def rates(size: int, rounds: list[Times]) -> tuple[float, float]:
    """Best and median GFLOPS."""
    if len(rounds[0]) == 1:
        each = [flops(size) / seconds / 1e9 for times in rounds for seconds in times[0]]
    else:
        each = [sum(flops(size) / median(one) / 1e9 for one in times) for times in rounds]
    return max(each), median(each)


class Kernel:
    """Workers of the agent, each in one process; a trial is a round."""

    name = "linpack"

    def __init__(self, size: int, cpus: list[int]) -> None:
        self.size = size
        self.cpus = cpus
        self.agent = Agent(ProcessChannel(favoured([str(binary()), "serve"])))

    def round(self, solves: int) -> tuple[Times, Times]:
        answer = self.agent.ask(self.trial(solves), timeout_s=600)
        for fault in answer:
            if isinstance(fault, record.Fault):
                raise SystemExit(f"linpack: {fault.message}")
        walls: Times = [[] for _ in self.cpus]
        for sample in answer:
            measured = isinstance(sample, record.Sample) and sample.phase == "measured"
            if measured and sample.metric == "kernel_wall_ns":
                walls[sample.worker].append(sample.value / 1e9)
        return walls, walls

    def trial(self, solves: int) -> record.Trial:
        workload = record.Kernel(
            name="linpack", parameters={"size": self.size}, repetitions=1, seed=1
        )
        workers = [record.Worker(worker=i, cpus=(cpu,)) for i, cpu in enumerate(self.cpus)]
        return record.Trial(
            id=self.agent.next_id(),
            trial=0,
            nonce=1,
            workload=workload,
            workers=tuple(workers),
            iterations=solves,
            warmup=1,
            process="same",
            tail="loaded",
            rendezvous=record.Rendezvous(handout=None, parties=len(self.cpus)),
            linger_ns=0,
            observe=False,
        )

    def close(self) -> None:
        self.agent.close()


class OpenBlas:
    """This file again, one process on each CPU."""

    def __init__(self, size: int, cpus: list[int], core: str | None = None) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        if core is not None:
            environment["OPENBLAS_CORETYPE"] = core
        self.processes = [
            subprocess.Popen(
                favoured([sys.executable, __file__, "--reference", str(size), str(cpu)]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for cpu in cpus
        ]
        ready = [json.loads(process.stdout.readline()) for process in self.processes]
        self.core = ready[0]
        self.name = f"OpenBLAS, {self.core}" + (" (forced)" if core else "")

    def round(self, solves: int) -> tuple[Times, Times]:
        for process in self.processes:
            print(solves, file=process.stdin, flush=True)
        both = [json.loads(process.stdout.readline()) for process in self.processes]
        return [one[0] for one in both], [one[1] for one in both]

    def close(self) -> None:
        for process in self.processes:
            process.communicate()


def reference(size: int, cpu: int) -> None:
    """Solve as often as each line of the input says, and tell the seconds."""
    from scipy.linalg import lapack

    os.sched_setaffinity(0, {cpu})
    rng = np.random.default_rng(1)
    a = np.asfortranarray(rng.random((size, size)) - 0.5)
    b = rng.random(size) - 0.5
    work = np.empty_like(a, order="F")
    norms = np.abs(a).sum(axis=1).max(), np.abs(b).max()

    def solve() -> tuple[float, float]:
        start = time.perf_counter()
        work[:] = a
        x = b.copy()
        begin = time.perf_counter()
        _, _, x, _ = lapack.dgesv(work, x, overwrite_a=1, overwrite_b=1)
        end = time.perf_counter()
        scale = np.finfo(float).eps * (norms[0] * np.abs(x).max() + norms[1]) * size
        assert np.abs(a @ x - b).max() / scale < 16
        return time.perf_counter() - start, end - begin

    solve()
    print(json.dumps(core()), flush=True)
    for line in sys.stdin:
        times = [solve() for _ in range(int(line))]
        print(json.dumps(list(zip(*times, strict=True))), flush=True)


def core() -> str:
    """The processor for which OpenBLAS has chosen its instructions."""
    import scipy

    for library in (Path(scipy.__file__).parents[1] / "scipy.libs").glob("libscipy_openblas*"):
        name = ctypes.CDLL(str(library)).scipy_openblas_get_corename
        name.restype = ctypes.c_char_p
        return name().decode()
    return "of this system"


if __name__ == "__main__":
    main()
