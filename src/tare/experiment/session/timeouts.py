"""How long an agent is waited for, and how much it may say."""

from __future__ import annotations

from tare.agent import record
from tare.experiment.session.window import longest_s

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
