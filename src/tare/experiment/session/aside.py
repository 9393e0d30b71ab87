"""Commands of ours where a trial took place, in none of its times."""

from __future__ import annotations

import msgspec

from tare.agent import record
from tare.experiment.session.resident import Resident

#: How long one may take.
LIMIT_S = 600.0


def aside(
    argv: tuple[str, ...],
    job: record.Trial,
    resident: Resident,
    limit_bytes: int = 0,
    limit_s: float = LIMIT_S,
) -> list[record.Record]:
    """Run a command as a trial's own is run; return what its agent says of it.

    Parameters
    ----------
    argv : tuple of str
    job : Trial
        The trial.
    resident : Resident
        Where it took place.
    limit_bytes : int
        Of its output that is passed on.
    limit_s : float
        How long it may take.
    """
    assert isinstance(job.workload, record.Command)
    asked = msgspec.structs.replace(
        job,
        id=resident.agent.next_id(),
        # Whoever observes the trial sees nothing of it.
        nonce=job.nonce ^ 1,
        observe=False,
        workload=msgspec.structs.replace(
            job.workload,
            argv=argv,
            capture=record.Capture(limit_bytes=limit_bytes),
            ignored_exits=None,
        ),
        workers=(record.Worker(worker=resident.workers[0], cpus=None),),
        iterations=1,
        warmup=0,
        rendezvous=None,
        window=None,
        timeout_ns=round(limit_s * 1e9),
        user=job.user if resident.instance.users else None,
    )
    return resident.agent.ask(asked, limit_s + 10)
