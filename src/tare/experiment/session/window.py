"""How long a trial is to last where it is a window of time, and how long an agent is waited for."""

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


def timeout_s(cell: Cell) -> float | None:
    """Return how long an execution of a cell's workload may take; None: without a limit."""
    application = cell.workload.application
    if application is None or application.driver is None:
        return cell.workload.timeout_s
    # Imported here: few workloads have services.
    from tare.workloads import serving

    return cell.workload.timeout_s or serving.longest_s(application)


#: Beyond a workload's own time-out: set-up, linger and the way back.
GRACE_S = 60.0
#: How long a machine of its own may be silent in a trial without a time-out: in the first trial of
#: a cell, and in later ones as a multiple of the longest that was good, with the grace on top.
FIRST_S, PATIENCE = 600.0, 10


#: Of one iteration, over all metrics and sources.
RECORDS = 100
#: Beside the iterations: those of a tail or a window, and pieces of what commands wrote.
MORE_RECORDS = 2_000_000


def most_records(job: record.Trial) -> int:
    """Return more records than the answer to a trial can have."""
    iterations = job.iterations + job.warmup
    return MORE_RECORDS + len(job.workers) * iterations * RECORDS


def limit_s(job: record.Trial) -> float | None:
    """Return how long to wait for an answer: for ever where no execution has a time-out."""
    if job.timeout_ns is None:
        return None
    limit = GRACE_S + (job.iterations + job.warmup) * job.timeout_ns / 1e9
    if job.window is not None:
        limit += longest_s(job.window, job.timeout_ns / 1e9)
    return limit


def patience_s(longest_s: float | None) -> float:
    """Return how long to wait for a machine of its own, which may hang without a word.

    Parameters
    ----------
    longest_s : float or None
        Of the good trials of the same cell; None: there is none yet.
    """
    return FIRST_S if longest_s is None else GRACE_S + PATIENCE * longest_s
