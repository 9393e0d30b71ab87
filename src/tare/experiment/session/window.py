"""The window of time that a trial is to last, where the experiment counts what is done in one."""

from __future__ import annotations

from tare.agent import record
from tare.experiment.specification import Cell, Experiment


def window(experiment: Experiment, cell: Cell, cpus: int) -> record.Window | None:
    """Return the window of a cell's trials; None: each execution is timed.

    Parameters
    ----------
    experiment : Experiment
        Says how many periods of the quota it spans, and whether workers share an instance.
    cell : Cell
        Its quota or size says whether the kernel will stop its workers.
    cpus : int
        CPUs of the machine.
    """
    if experiment.window is None:
        return None
    cores = experiment.cores(cell)
    period_ns, longest_ns = (
        round(seconds * 1e9) for seconds in (experiment.period_s(cell), experiment.longest_period_s)
    )
    return record.Window(
        # Of several periods, all windows are as long as those of the longest.
        periods=-(-experiment.window.periods * longest_ns // period_ns),
        period_ns=period_ns,
        throttled=cores is not None and cores < _usable(experiment, cell, cpus),
    )


def _usable(experiment: Experiment, cell: Cell, cpus: int) -> int:
    """Return how many CPUs the workers of an instance can keep busy."""
    there = min(cpus, experiment.limits(cell.size).cpuset or cpus)
    if cell.workload.kernel is None:
        # Nobody knows how many threads a command has.
        return there
    workers = cell.workers if experiment.instances == "shared" else 1
    return min(there, workers * cell.workload.parameters.get("threads", 1))


def longest_s(given: record.Window, execution_s: float) -> float:
    """Return how long a window may take at most, with what comes before it.

    It lasts until a whole execution is in it, and begins in the midst of one; until then its input
    is made and the kernel is waited for to stop the workers, for which as long again is ample.
    """
    return 2 * (given.periods * given.period_ns / 1e9 + execution_s)
