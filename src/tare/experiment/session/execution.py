"""How the agents of a trial's instances execute it, and which of their records are valid."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import msgspec

from tare.agent import record
from tare.agent.client import Answer
from tare.errors import AgentError
from tare.experiment.session.answers import Asked, answers, check_record
from tare.experiment.session.files import seen_inside
from tare.experiment.session.meeting import Meeting
from tare.experiment.session.parts import RunningTrial, SessionResources
from tare.experiment.session.resident import Resident
from tare.experiment.session.window import limit_s, most_records, patience_s

#: Returns what an instance executes.
WorkloadOf = Callable[[Resident], record.Workload]


def execute(
    resources: SessionResources,
    trial: RunningTrial,
    workload_of: WorkloadOf,
    longest_s: float | None,
) -> str | None:
    """Execute a trial in its instances; return why it failed, or None.

    Parameters
    ----------
    resources : SessionResources
    trial : RunningTrial
        Takes the records.
    workload_of : callable
    longest_s : float or None
        Of the good trials of its cell; None: there is none yet.

    Raises
    ------
    AgentError
        If an agent is gone, or sends what is no answer. The instances were ended then.
    """
    groups = [
        record.WatchedGroup(
            worker=r.workers[0] if len(r.workers) == 1 else None, pid=r.instance.host_pid
        )
        for r in trial.residents
        if r.instance.host_pid is not None
    ]
    resources.observer.watch(trial.number, groups)
    try:
        return _execute(resources, trial, workload_of, longest_s)
    except BaseException:
        # Whatever its agents still do belongs to no trial.
        resources.pool.discard(trial.residents, lost=True)
        raise
    finally:
        trial.keep(resources.observer.collect(trial.number))


def _execute(
    resources: SessionResources,
    trial: RunningTrial,
    workload_of: WorkloadOf,
    longest_s: float | None,
) -> str | None:
    limit = limit_s(trial.job)
    failure: str | None = None
    with ExitStack() as stack:
        jobs = {r.key: job for r, job in _jobs(resources, trial, workload_of, stack)}
        asked = []
        for resident in trial.residents:
            job = jobs[resident.key]
            resident.agent.submit(job)
            answer = Answer(resident.agent, job.id, most_records(job))
            patient = limit is not None or resident.instance.shares_memory
            asked.append(Asked(resident, answer, limit if patient else patience_s(longest_s)))

        def check() -> None:
            for part in trial.parts:
                part.check()

        for resident, got in answers(asked, check):
            _check(got, jobs[resident.key], resident)
            if isinstance(got, record.Fault) and got.kind == "survived":
                # What is left of it may end together with the instance.
                trial.write(got)
                raise AgentError(got.message)
            if isinstance(got, record.Sample | record.Output):
                for part in trial.parts:
                    part.take(got, resident)
            failure = trial.keep([got]) or failure
    return failure


def _jobs(
    resources: SessionResources, trial: RunningTrial, workload_of: WorkloadOf, stack: ExitStack
) -> list[tuple[Resident, record.Trial]]:
    """Return the job of each instance; several instances meet in one memory."""
    workers = trial.cell.workers
    meet = None
    if workers > 1:
        # In an instance that has all workers the agent makes the memory.
        meet = record.Rendezvous(handout=None, parties=workers)
    meeting = Meeting(resources.shared, workers) if len(trial.residents) > 1 else None
    jobs = [
        (
            resident,
            _job(
                resources,
                trial,
                workload_of(resident),
                resident,
                meet if meeting is None else meeting.invite(resident.instance.shared),
            ),
        )
        for resident in trial.residents
    ]
    if meeting is not None:
        stack.enter_context(meeting.held())
    return jobs


def _job(
    resources: SessionResources,
    trial: RunningTrial,
    workload: record.Workload,
    resident: Resident,
    meet: record.Rendezvous | None,
) -> record.Trial:
    instance = resident.instance
    for part in reversed(trial.parts):
        workload = part.workload(trial, workload, resident)
    # A sandbox that starts programs itself was given their paths in it.
    if isinstance(workload, record.Command) and instance.starter is None:
        workload = seen_inside(workload, str(resources.shared), instance.shared)
    return msgspec.structs.replace(
        trial.job,
        id=resident.agent.next_id(),
        workload=workload,
        workers=tuple(
            record.Worker(worker=w, cpus=c)
            for w, c in zip(resident.workers, resident.cpus, strict=True)
        ),
        rendezvous=meet,
        # A container has users of its own, and so has a sandbox that starts programs itself.
        user=trial.job.user if instance.users and instance.starter is None else None,
    )


def _check(got: record.Record, job: record.Trial, resident: Resident) -> None:
    """Raise AgentError where a record is none that the agent may send for a job."""
    check_record(got, job.trial, resident.workers)
    if isinstance(got, record.Output):
        capture = job.workload.capture if isinstance(job.workload, record.Command) else None
        if capture is None or not capture.limit_bytes:
            raise AgentError("the agent sent an output that nobody asked for")
