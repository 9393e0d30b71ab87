"""Trials that were killed at a time limit: values of which only a lower bound is known.

A program that was killed at its limit would have taken longer. For metrics of the time that the
limit is about, the trial is no failure, but a value above the limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tare.experiment.metrics import TIME

if TYPE_CHECKING:
    from tare.experiment.specification import Experiment
    from tare.workloads.specification import WorkloadSpec

#: Metrics that a limit bounds, by the kind of the fault with which it kills.
BOUNDED = {
    "timeout": frozenset({"wall_ns", "tree_wall_ns", TIME}),
    "cpu_time": frozenset({"cpu_ns"}),
}
#: Statuses of trials that have a value of the experiment's metric, if only one above a limit.
COUNTED = frozenset({"ok", "killed"})


class Kill(NamedTuple):
    """What is known of a trial that was killed at a time limit.

    Attributes
    ----------
    kind : str
        ``timeout``, or ``cpu_time`` of a limit of CPU time.
    above_ns : float
        The trial's value, a mean over its executions, is larger. With one execution it is the
        limit; of several, at least one took as long as the limit.
    """

    kind: str
    above_ns: float

    def bounds(self, metric: str) -> bool:
        """Whether the values of a metric are known to be above it."""
        return metric in BOUNDED[self.kind]


def kill(
    experiment: Experiment,
    workload: WorkloadSpec,
    workers: int,
    faults: Iterable[tuple[str, int | None]],
) -> Kill | None:
    """Return the lower bound of a failed trial's time; None: it failed for other reasons.

    Parameters
    ----------
    experiment : Experiment
    workload : WorkloadSpec
        Of the trial. Kernels have no programs to kill, and services are not waited for.
    workers : int
        That ran at the same time.
    faults : iterable of (str, int or None)
        Kind and iteration of each fault of the trial, warnings left out.
    """
    found = [*faults]
    kinds = {kind for kind, _ in found}
    if len(kinds) != 1 or workload.kernel or workload.serves or experiment.window is not None:
        return None
    # Warm-up has no value.
    if any(iteration is not None and iteration < experiment.warmup for _, iteration in found):
        return None
    kind = kinds.pop()
    above = above_ns(experiment, workload, workers, kind)
    return None if above is None else Kill(kind, above)


def is_like(metric: str, other: str) -> bool:
    """Whether the limit that bounds a metric bounds another one as well."""
    return any(metric in metrics and other in metrics for metrics in BOUNDED.values())


def above_of(
    experiment: Experiment, workload: WorkloadSpec, workers: int, metric: str
) -> float | None:
    """Return what values of a metric exceed in trials that were killed; None: they have none."""
    kind = next((kind for kind, metrics in BOUNDED.items() if metric in metrics), None)
    return None if kind is None else above_ns(experiment, workload, workers, kind)


def above_ns(
    experiment: Experiment, workload: WorkloadSpec, workers: int, kind: str
) -> float | None:
    """Return what the times of killed trials exceed, by the kind of the limit; None: no limit."""
    limits_s = {
        "timeout": workload.timeout_s,
        "cpu_time": None if workload.enforce is None else workload.enforce.cpu_s,
    }
    limit_s = limits_s.get(kind)
    return None if limit_s is None else 1e9 * limit_s / (experiment.iterations * workers)
