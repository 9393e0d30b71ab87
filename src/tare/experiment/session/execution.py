"""How the agents of a trial's instances execute it, and which of their records are valid."""

from __future__ import annotations

from contextlib import ExitStack

import msgspec

from tare.agent import record
from tare.errors import AgentError
from tare.experiment.session.answers import answers, ask, check_record
from tare.experiment.session.files import seen_inside
from tare.experiment.session.meeting import Meeting
from tare.experiment.session.parts import RunningTrial
from tare.experiment.session.resident import Key, Resident
from tare.experiment.session.trial_job import workload_of
from tare.experiment.session.window import limit_s, most_records, patience_s


def execute(trial: RunningTrial) -> str | None:
    """Execute a trial in its instances, and have it keep the records.

    Returns
    -------
    str or None
        Why it failed; None: it did not.

    Raises
    ------
    AgentError
        If an agent is gone, or sends records that do not answer the job; the instances have then
        been ended.
    """
    groups = [
        record.WatchedGroup(
            worker=r.workers[0] if len(r.workers) == 1 else None, pid=r.instance.host_pid
        )
        for r in trial.residents
        if r.instance.host_pid is not None
    ]
    trial.resources.observer.watch(trial.number, groups)
    try:
        return _execute(trial)
    except BaseException:
        # Whatever its agents still do belongs to no trial.
        trial.resources.pool.discard(trial.residents, lost=True)
        raise
    finally:
        trial.keep(trial.resources.observer.collect(trial.number))


def _execute(trial: RunningTrial) -> str | None:
    limit = limit_s(trial.job)
    failure: str | None = None
    with ExitStack() as stack:
        jobs = _jobs(trial, stack)
        asked = []
        for resident in trial.residents:
            job = jobs[resident.key]
            patient = limit is not None or resident.instance.shares_memory
            silence_s = limit if patient else patience_s(trial.longest_s)
            asked.append(ask(resident, job, silence_s, most_records(job)))

        def check() -> None:
            for part in trial.parts:
                part.check()

        for resident, got in answers(asked, check):
            _check(got, jobs[resident.key], resident)
            if isinstance(got, record.Fault) and got.kind == "survived":
                # What is left of it may end together with the instance.
                trial.resources.write(got)
                raise AgentError(got.message)
            if isinstance(got, record.Sample | record.Output):
                for part in trial.parts:
                    part.take(got, resident)
            failure = trial.keep([got]) or failure
    return failure


def _jobs(trial: RunningTrial, stack: ExitStack) -> dict[Key, record.Trial]:
    """Return the job of each instance; several instances meet in one memory."""
    workers, residents = trial.cell.workers, trial.residents
    # In an instance that has all workers the agent makes the memory.
    meet = record.Rendezvous(handout=None, parties=workers) if workers > 1 else None
    if len(residents) == 1:
        return {residents[0].key: _job(trial, residents[0], meet)}
    meeting = Meeting(trial.resources.shared, workers)
    jobs = {r.key: _job(trial, r, meeting.invite(r.instance.shared)) for r in residents}
    stack.enter_context(meeting.held())
    return jobs


def _job(trial: RunningTrial, resident: Resident, meet: record.Rendezvous | None) -> record.Trial:
    instance = resident.instance
    workload = workload_of(trial, resident)
    for part in reversed(trial.parts):
        workload = part.workload(trial, workload, resident)
    # A sandbox that starts programs itself was given their paths in it.
    if isinstance(workload, record.Command) and instance.starter is None:
        workload = seen_inside(workload, str(trial.resources.shared), instance.shared)
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
