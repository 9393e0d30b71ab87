"""What a trial brought, as the session counts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tare.experiment.metrics import of_workload, waited_for
from tare.experiment.session.parts import RunningTrial
from tare.experiment.specification import Experiment
from tare.experiment.time_limits import kill

#: Gives the value of a trial, by source, for a metric.
Means = Callable[[int, str], dict[str, float]]


@dataclass
class Outcome:
    """What a trial brought."""

    #: As in :data:`tare.experiment.results.STATUSES`; a killed one has no values, since they are
    #: above a limit.
    status: str
    reason: str | None
    seconds: float
    #: Trial value of the metric by source: means over measured iterations and workers.
    values: dict[str, float] = field(default_factory=dict)
    #: The same of the further metrics that the stopping rule is about.
    also: dict[str, dict[str, float]] = field(default_factory=dict)
    #: It came to a wrong result: the machine is not to be trusted with more.
    wrong: bool = False
    #: A program failed that could be started, and may do better the next time.
    by_chance: bool = False


def outcome_of(
    trial: RunningTrial, experiment: Experiment, metric: str, means: Means, seconds: float
) -> Outcome:
    """Return what a trial brought that was written down.

    Parameters
    ----------
    trial : RunningTrial
    experiment : Experiment
    metric : str
        The experiment's own; of a rehearsal it is the CPU time of the kernel.
    means : callable
    seconds : float
        How long it took.
    """
    metric = "kernel_cpu_ns" if trial.rehearsal else metric
    workload = trial.cell.workload

    def values(metric: str) -> dict[str, float]:
        recorded = waited_for(metric, serves=workload.serves)
        return of_workload(metric, means(trial.number, recorded))

    reason = None if trial.failure is None else trial.failure.reason
    if trial.failure is not None and not trial.rehearsal:
        killed = kill(experiment, workload, trial.cell.workers, trial.faults)
        if killed is not None and killed.bounds(metric):
            return Outcome("killed", reason, seconds)
    return Outcome(
        status="ok" if trial.failure is None else "failed",
        reason=reason,
        seconds=seconds,
        values=values(metric),
        also={other: values(other) for other in experiment.stopping.also},
        wrong=trial.wrong,
        by_chance=trial.may_do_better,
    )
