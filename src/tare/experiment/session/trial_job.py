"""What the agents of a trial are asked to do, without what its parts make of it."""

from __future__ import annotations

import msgspec

from tare import workloads
from tare.agent import record
from tare.experiment.session.files import placed
from tare.experiment.session.parts import RunningTrial, SessionResources
from tare.experiment.session.resident import Resident
from tare.experiment.session.window import longest_s, timeout_s, window
from tare.experiment.specification import Cell
from tare.workloads.specification import Enforced


def levels_of(resources: SessionResources, cell: Cell, seed: int) -> dict[str, str]:
    """Return what placeholders stand for in a trial of a cell, except those of hosts."""
    return workloads.values(
        cell.workload, cell.levels(), seed=seed, given=_given_size(resources, cell)
    )


def workload_of(trial: RunningTrial, resident: Resident | None = None) -> record.Workload:
    """Return what is executed in an instance.

    Parameters
    ----------
    trial : RunningTrial
    resident : Resident, optional
        The instance; without it, host 1 of the network.
    """
    cell, resources = trial.cell, trial.resources
    job = workloads.job(
        cell.workload,
        cell.levels(),
        repetitions=trial.repetitions,
        seed=trial.seed,
        surroundings=resources.environment,
        hosts=trial.hosts(resident),
        given=_given_size(resources, cell),
    )
    if not isinstance(job, record.Command):
        return job
    if job.capture is None and trial.error_captured:
        job = msgspec.structs.replace(job, capture=record.Capture(limit_bytes=0))
    if cell.workload.application is not None:
        return job
    return placed(job, cell.platform, resources.experiment.platforms)


def job_of(trial: RunningTrial, iterations: int | None) -> record.Trial:
    """Return what all instances of a trial are asked to do.

    Parameters
    ----------
    trial : RunningTrial
    iterations : int or None
        None: those of the experiment.
    """
    resources, cell = trial.resources, trial.cell
    experiment = resources.experiment
    given = window(experiment, cell, len(resources.machine.spread))
    limit_s = timeout_s(cell)
    if given is not None and limit_s is not None and cell.workload.kernel:
        # Of a kernel the agent sees a whole window as one execution.
        limit_s = longest_s(given, limit_s)
    return record.Trial(
        id=0,
        trial=trial.number,
        nonce=resources.nonce,
        workload=workload_of(trial),
        workers=(),
        iterations=experiment.iterations if iterations is None else iterations,
        warmup=experiment.warmup,
        process=experiment.process if cell.workload.kernel else "fresh",
        tail=experiment.tail,
        rendezvous=None,
        timeout_ns=None if limit_s is None else round(limit_s * 1e9),
        limits=limits_of(cell.workload.enforce),
        linger_ns=round(experiment.linger_s * 1e9),
        observe=not resources.observer.stamps,
        user=resources.user,
        window=given,
    )


def limits_of(given: Enforced | None) -> record.Limits | None:
    """Return what an agent is to enforce."""
    if given is None:
        return None
    return record.Limits(
        cpu_ns=None if given.cpu_s is None else round(given.cpu_s * 1e9),
        memory_bytes=given.memory_bytes,
        output_bytes=given.output_bytes,
        processes=given.processes,
    )


def _given_size(resources: SessionResources, cell: Cell) -> dict[str, str]:
    """Return what the size of a cell gives to an application."""
    experiment, machine = resources.experiment, resources.machine
    cores = experiment.given_cores(cell)
    memory_bytes = experiment.limits(cell.size).memory_bytes
    return workloads.given(
        len(machine.spread) if cores is None else cores,
        machine.memory_bytes if memory_bytes is None else memory_bytes,
    )
