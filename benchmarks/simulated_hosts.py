"""Hosts that are simulated: real workers of Dask, whose sessions are scripted.

All of a fleet is real but for what takes place on a host: nothing is started there, and a trial's
values are drawn. They are known beforehand, so that answers can be held against them.

    .venv/bin/python benchmarks/simulated_hosts.py ADDRESS FIRST COUNT
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec
import numpy as np
from distributed import Worker

from tare.agent import record
from tare.errors import TareError
from tare.experiment import file as experiment_file
from tare.experiment import journal, pipeline, plan, plan_file
from tare.experiment.catalogue import catalogue
from tare.experiment.plan import Plan
from tare.experiment.session import session
from tare.experiment.session.resume_state import Past
from tare.features.fleet.laboratory import Asked, Laboratory, Planned, Refusal

TEXT = """
[experiment]
name = "simulated"
question = "Do simulated hosts differ?"
trials = {trials}
fingerprint = false
[[workload]]
command = ["true"]
[factors]
platform = ["bare", "null"]
"""
#: SDs of logarithms: of hosts, of sessions on one host, of trials in one session, and of what the
#: second platform costs on a host; what it costs in the mean; and by what one host is off.
HOST_SD, SESSION_SD, TRIAL_SD, RATIO_SD, RATIO = 0.01, 0.01, 0.02, 0.005, math.log(1.1)
ODD, OFF = 7, math.log(1.1)
BASE_NS = 50e6
#: What a trial of a command brings as well, so that lines are as many and as long as real ones.
_OTHERS = [
    *(("tree_wall_ns", source) for source in ("reaped", "perf_cpu")),
    *(("cpu_ns", source) for source in ("rusage", "reaped", "cgroup")),
    *((f"{name}_ns", "rusage") for name in ("user", "system")),
    *((name, "rusage") for name in ("memory_bytes", "voluntary_switches", "involuntary_switches")),
    *((name, "rusage") for name in ("minor_faults", "major_faults")),
    *((name, "diskstats") for name in ("disk_reads", "disk_writes", "disk_wait_ns")),
    *((name, "perf_cpu") for name in ("start_ns", "end_ns", "on_cpu_ns", "switches_blocked")),
    *((name, "perf_cpu") for name in ("off_cpu_preempted_ns", "off_cpu_blocked_ns")),
    ("wait_ns", "schedstat"), ("migrations", "sched"), ("throttled_ns", "cgroup"),
    ("exit_code", "wait"), ("timed_out", "wait"), ("oom_killed", "wait"), ("steal_ns", "stat"),
]  # fmt: skip
_prepared: dict[str, tuple[pipeline.Prepared, Plan]] = {}
_preparing = threading.Lock()


def levels(host: int, number: int) -> tuple[float, float]:
    """Return the logarithms of a session's value on both platforms, relative to the base."""
    draw = np.random.default_rng([1, host])
    level, ratio = draw.normal(0, HOST_SD), draw.normal(RATIO, RATIO_SD)
    if host == ODD:
        level += OFF
    level += np.random.default_rng([2, host, number]).normal(0, SESSION_SD)
    return level, level + ratio


class Scripted(Laboratory):
    """A session whose lines are drawn, each block after so many seconds."""

    def __init__(self, block_s: float = 0.0) -> None:
        super().__init__()
        self._block_s = block_s

    async def setup(self, worker: Worker) -> None:
        await super().setup(worker)
        self._host = int(str(worker.name).rpartition("-")[2])

    def plan(self, asked: Asked) -> Planned | Refusal:
        self.end()
        try:
            # What the machine has is looked up once for all hosts that it plays.
            with _preparing:
                if asked.text not in _prepared:
                    experiment = experiment_file.parse(asked.text, asked.name, catalogue())
                    prepared = pipeline.check(experiment, text=asked.text)
                    made = plan.make(prepared.experiment, prepared.cells)
                    # That two threads decode a type for the first time is a crash of msgspec.
                    plan_file.decoded(msgspec.json.encode(made), Plan, plan.VERSION, Path())
                    _prepared[asked.text] = prepared, made
        except TareError as error:
            return Refusal(error.message, error.hint)
        self._asked = asked
        self._prepared, made = _prepared[asked.text]
        return made

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Take no turns: nothing is measured."""
        yield

    def _wait(self, patience_s: float | None) -> None:
        """Never give up: 250 hosts that end at once in one process keep others waiting."""

    def _blocks(self, made: Plan, past: Past) -> Generator[None, None, str]:
        path = session.journal_path(self._folder)
        number, reason = int(path.stem), "interrupted"
        values = levels(self._host, number)
        writer = journal.Writer(path)
        assert self._prepared is not None
        writer.write(session.opening(path, "tare-000000", 0), *self._prepared.facts)
        trial, block = past.trials, past.blocks
        try:
            done = min((past.good.get(cell.cell, 0) for cell in made.cells), default=0)
            for _ in range((made.experiment.stopping.trials or 0) - done):
                writer.sync()
                yield
                time.sleep(self._block_s)
                draw = np.random.default_rng([3, self._host, number, block])
                for position, cell in enumerate(made.cells):
                    trial += 1
                    of_cell = values[cell.platform == "null"] + draw.normal(0, TRIAL_SD)
                    place = block, position, cell.cell
                    levels_ = {"workload": cell.workload.name, "platform": cell.platform}
                    others = {"workers": "1", "pinning": "none", "load": "none", "size": "all"}
                    writer.write(*_trial(trial, place, levels_ | others, of_cell))
                block += 1
            for cell in made.cells:
                writer.write(journal.Stop(cell=cell.cell, trials=block, reason="fixed"))
            reason = "finished"
        finally:
            writer.write(session.ending(reason))
            writer.sync()
            writer.close()
        return reason


def _trial(
    trial: int, place: tuple[int, int, int], levels_: dict[str, str], value: float
) -> Iterator[journal.Line]:
    block, position, cell = place
    now, took = time.monotonic_ns(), round(BASE_NS * math.exp(value))
    yield journal.TrialStart(
        trial=trial, block=block, position=position, cell=cell, levels=levels_, seed=block,
        repetitions=None, cpus=(None,), monotonic_ns=now,
    )  # fmt: skip
    timed = [("wall_ns", source) for source in ("around", "perf_cpu")]
    for metric, source in [*timed, *_OTHERS]:
        yield record.Sample(
            id=trial, trial=trial, worker=0, iteration=0, phase="measured", metric=metric,
            source=source, value=took if (metric, source) in timed else 0,
        )  # fmt: skip
    yield journal.TrialEnd(trial=trial, status="ok", monotonic_ns=time.monotonic_ns())


async def play(address: str, first: int, count: int) -> None:
    """Be so many hosts until somebody asks for an end."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    workers: list[Worker] = []
    for start in range(first, first + count, 25):
        some = [
            Worker(address, name=f"host-{number}", nthreads=1, memory_limit=0, dashboard=False)
            for number in range(start, min(start + 25, first + count))
        ]
        workers += await asyncio.gather(*some)
    await over.wait()
    await asyncio.gather(*(worker.close(reason="the end") for worker in workers))


if __name__ == "__main__":
    # Under its own name, by which what the front sends refers to it.
    import simulated_hosts

    asyncio.run(simulated_hosts.play(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
