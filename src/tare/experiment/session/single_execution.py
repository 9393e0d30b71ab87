"""A job of an agent that runs one command, once: a run of a task, a server, a load generator."""

from __future__ import annotations

from tare.agent import record


def job(
    number: int,
    command: record.Command,
    user: record.User | None,
    *,
    trial: int = 0,
    limit_s: float | None = None,
    nonce: int = 0,
    cpus: tuple[int, ...] | None = None,
    limits: record.Limits | None = None,
    linger_s: float = 0.0,
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
    nonce : int
        Of the session.
    cpus : tuple of int, optional
        On which it runs; None: on all.
    limits : Limits, optional
        What else it may use.
    linger_s : float
        How long what it leaves running may go on.
    """
    return record.Trial(
        id=number, trial=trial, nonce=nonce, workload=command,
        workers=(record.Worker(worker=0, cpus=cpus),), iterations=1, warmup=0, process="fresh",
        tail="stop", rendezvous=None, linger_ns=round(linger_s * 1e9), observe=False, user=user,
        window=None, timeout_ns=None if limit_s is None else round(limit_s * 1e9), limits=limits,
    )  # fmt: skip
