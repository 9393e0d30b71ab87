"""A job of an agent that runs one command, once, and is no trial of the experiment."""

from __future__ import annotations

from tare.agent import record


def job(
    number: int,
    command: record.Command,
    user: record.User | None,
    *,
    trial: int = 0,
    limit_s: float | None = None,
) -> record.Trial:
    """Return a job whose only execution is a command.

    Parameters
    ----------
    number : int
        Of the job.
    command : Command
    user : User or None
        As whom it runs; None: as the agent.
    trial : int
        To which it belongs.
    limit_s : float, optional
        After which it is killed.
    """
    return record.Trial(
        id=number, trial=trial, nonce=0, workload=command,
        workers=(record.Worker(worker=0, cpus=None),), iterations=1, warmup=0, process="fresh",
        tail="stop", rendezvous=None, linger_ns=0, observe=False, user=user, window=None,
        timeout_ns=None if limit_s is None else round(limit_s * 1e9),
    )  # fmt: skip
