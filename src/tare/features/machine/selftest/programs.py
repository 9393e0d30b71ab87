"""The programs that know their own truth, and the experiment that they make."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from tare.experiment.specification import Cell, Experiment, Stopping
from tare.streams import NULL
from tare.workloads.specification import WorkloadSpec

#: How long the one that is to exceed its time is given.
TIMEOUT_S = 0.05
#: Instances beyond these take longer to start than everything else.
MOST_WORKERS = 64
#: Bytes that a captured stream gets: more than a pipe holds.
OUTPUT_BYTES = 100_000
#: Where output is kept.
KEPT = "output/{trial}.{worker}.{iteration}.out"


@dataclass(frozen=True)
class Program:
    """One program of ``tare-agent truth``, and what tare's figures of it are held against.

    Attributes
    ----------
    name : str
        Of the workload.
    words : tuple of str
        For the agent.
    metrics : tuple of str
        What is compared; the program tells the truth of each, unless it is ``known``.
    parallel : bool
        Whether it is worth its time at several degrees of parallelism.
    known : dict
        Truths that are known beforehand, of programs that do not end with exit code 0.
    timeout_s : float or None
        Time limit, at which the program is killed.
    """

    name: str
    words: tuple[str, ...]
    metrics: tuple[str, ...]
    parallel: bool = False
    known: dict[str, int] = field(default_factory=dict)
    timeout_s: float | None = None

    @property
    def expected_status(self) -> str:
        """Status of its trials where everything works."""
        if self.timeout_s is not None:
            return "killed"
        return "failed" if self.known else "ok"


PROGRAMS = (
    Program("spin", ("spin", "25"), ("wall_ns", "cpu_ns"), parallel=True),
    Program("sleep", ("sleep", "20"), ("wall_ns",), parallel=True),
    Program("allocate", ("allocate", "16"), ("memory_bytes",), parallel=True),
    Program("daemon", ("daemon", "20"), ("wall_ns", "tree_wall_ns", "cpu_ns"), parallel=True),
    Program("threads", ("threads", "10"), ("wall_ns", "cpu_ns")),
    Program("fault", ("fault", "2000"), ("minor_faults",)),
    Program("switch", ("switch", "40"), ("voluntary_switches",)),
    Program("write", ("write", str(OUTPUT_BYTES)), ("output_bytes",), parallel=True),
    Program("teardown", ("teardown", "16"), ("wall_and_teardown_ns",)),
    Program("exit", ("exit", "7"), ("exit_code",), known={"exit_code": 7}),
    Program(
        "signal",
        ("signal", str(int(signal.SIGUSR1))),
        ("signal",),
        known={"signal": int(signal.SIGUSR1)},
    ),
    Program(
        "timeout", ("sleep", "60000"), ("timed_out",),
        known={"timed_out": 1}, timeout_s=TIMEOUT_S,
    ),
)  # fmt: skip
BY_NAME = {program.name: program for program in PROGRAMS}


def degrees(cpus: int) -> tuple[int, ...]:
    """Return how many instances run side by side: one, a CPU each, and twice as many."""
    return tuple(sorted({1, min(cpus, MOST_WORKERS // 2), min(2 * cpus, MOST_WORKERS)}))


def experiment(
    platforms: Sequence[str],
    workers: Sequence[int],
    *,
    trials: int,
    budget_s: float,
    seed: int,
    image: str | None = None,
) -> Experiment:
    """Return the question whether tare measures of each program what it says of itself."""
    return Experiment(
        name="selftest",
        question="Does tare measure correctly here?",
        workloads=tuple(_workload(program) for program in PROGRAMS),
        factors={"platform": tuple(platforms), "workers": tuple(workers)},
        platforms={"docker": {"image": image}} if image else {},
        metric="wall_ns",
        seed=seed,
        stopping=Stopping(trials=trials, budget_s=budget_s),
        skip_missing=True,
        fingerprint=False,
    )


def _workload(program: Program) -> WorkloadSpec:
    return WorkloadSpec(
        name=program.name,
        command=("truth", *program.words),
        of_agent=True,
        output=NULL if program.known else KEPT,
        timeout_s=program.timeout_s,
    )


def worthwhile(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Keep every program by itself, and side by side those for which that may matter."""
    kept = [c for c in cells if c.workers == 1 or BY_NAME[c.workload.name].parallel]
    return tuple(msgspec.structs.replace(cell, cell=n) for n, cell in enumerate(kept))
