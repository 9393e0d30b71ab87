"""What took time from the trials beside the workload, and which trials failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tare.statistics.statistic import FloatArray
from tare.statistics.telling import percent

if TYPE_CHECKING:
    from tare.results import Results

#: A smaller share of the time is not worth a name.
NOTABLE = 0.01
#: Metric and source to what they count.
RECORDED = {
    ("wait_ns", "schedstat"): "waiting for a CPU",
    ("steal_ns", "stat"): "time stolen by the hypervisor",
    ("throttled_ns", "cgroup"): "throttling",
}
#: Of all threads of a command's tree: what they ran, and what they could have run besides.
_RAN, _WAITED = ("on_cpu_ns", "perf_cpu"), ("off_cpu_preempted_ns", "perf_cpu")
#: What has to be known of the trials.
NEEDED = (*RECORDED, _RAN, _WAITED)
#: Counted of all CPUs and of the whole trial, not of one process between its exec and its end.
_OF_MACHINE = {"steal_ns"}
#: The shortest trial that ticks of 10 ms can say anything of.
_SHORTEST_NS = 1e8


@dataclass(frozen=True)
class Disturbance:
    """What took most of the trials' time beside the workload.

    Attributes
    ----------
    what : str
    share : float
        Of the time that is measured; of stolen time, of what all CPUs had.
    """

    what: str
    share: float


def worst(
    recorded: Mapping[tuple[str, str], FloatArray],
    wall_ns: FloatArray,
    duration_ns: FloatArray,
    cpus: int,
) -> Disturbance | None:
    """Name what took most of the time; None where nothing was recorded that says so.

    Parameters
    ----------
    recorded : mapping
        A key of :data:`NEEDED` to its values, those of the trials that have it.
    wall_ns, duration_ns : array, shape (n,)
        What is measured of each trial, and how long the trial took as a whole.
    cpus : int
        Of the machine.
    """
    found = []
    for (metric, source), what in RECORDED.items():
        values = recorded.get((metric, source), np.array([]))
        time = duration_ns * cpus if metric in _OF_MACHINE else wall_ns
        if not len(values) or not len(time) or time.mean() <= 0:
            continue
        if metric in _OF_MACHINE and float(np.median(duration_ns)) < _SHORTEST_NS:
            continue
        found.append(Disturbance(what, float(values.mean() / time.mean())))
    ran, waited = (recorded.get(key, np.array([])) for key in (_RAN, _WAITED))
    if len(ran) and len(waited) and ran.mean() + waited.mean() > 0:
        share = float(waited.mean() / (ran.mean() + waited.mean()))
        found.append(Disturbance("waiting for a CPU", share))
    return max(found, key=lambda d: d.share, default=None)


def sentence(found: Disturbance | None) -> str:
    """Say how much it was, without a full stop."""
    if found is None:
        return "disturbances were not recorded"
    if found.share > NOTABLE:
        return f"{found.what} took {percent(found.share)} of the time"
    return "no disturbance above 1 %"


def disturbance(results: Results, metric: str = "wall_ns") -> Disturbance | None:
    """Name what took most of the time of an experiment's trials."""
    recorded = {key: results.values(*key)["value"].to_numpy(dtype=float) for key in NEEDED}
    values = results.values(metric)
    durations = (
        values["duration_ns"].to_numpy(dtype=float) if "duration_ns" in values else np.array([])
    )
    return worst(
        recorded,
        values["value"].to_numpy(dtype=float),
        durations,
        int(results.fact("cpus", 1)),
    )


def failures(
    results: Results, levels: Sequence[str] | None = None, factor: str = "workload"
) -> list[str]:
    """Tell of each level of a factor, or of some, which trials failed, and why."""
    trials = results.trial_table
    if levels is not None:
        trials = trials[trials[factor].isin(levels)]
    failed = trials[trials["status"] == "failed"]
    told = []
    for name, some in failed.groupby(factor, sort=False):
        total = int((trials[factor] == name).sum())
        reasons = sorted({str(r) for r in some["reason"] if r})
        told.append(f"{len(some)} of {total} trials of {name}: {'; '.join(reasons[:3])}")
    return told
