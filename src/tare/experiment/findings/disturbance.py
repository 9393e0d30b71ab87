"""What took time from the trials beside the workload."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.statistic import FloatArray, median

if TYPE_CHECKING:
    from tare.experiment.results import Results

_NONE = "not recorded"
_NAME_TEXTS = {
    "waiting": "waiting for a CPU",
    "ready": "waiting for a CPU",
    "stolen": "stolen time",
    "throttling": "throttling",
}

#: A smaller share of the time is not worth a name.
NOTABLE = 0.01
_WAITING = "waiting"
#: The same of services, which most of a trial's time have nothing to do.
READY = "ready"
#: Metric and source to the kind of disturbance that they count.
RECORDED = {
    ("wait_ns", "schedstat"): _WAITING,
    ("steal_ns", "stat"): "stolen",
    ("throttled_ns", "cgroup"): "throttling",
}
#: Of all threads of a command's tree: what they ran, and what they could have run besides.
_RAN, _WAITED = ("on_cpu_ns", "perf_cpu"), ("off_cpu_preempted_ns", "perf_cpu")
#: CPU time that recording one context switch took a program, in ns: the least and the most that
#: was measured (docs/reference/metrics.md).
SWITCH_RECORD_NS = (170.0, 900.0)
#: How many of the kernel's records were lost of a trial, which then has no stamps of the kernel.
LOST = ("lost_records", "perf_buffer")
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
        Kind of disturbance: ``waiting``, ``ready``, ``stolen`` or ``throttling``.
    share : float
        Of the time that is measured; of stolen time, of what all CPUs had.
    measured : dict
        Everything that was measured, with its share: the largest is the one above.
    missing : dict
        What was not measured, or not in all trials, and why.
    """

    what: str
    share: float
    measured: dict[str, float]
    missing: dict[str, Message]

    @property
    def is_waiting(self) -> bool:
        """Whether a notable share of the time went to waiting for a CPU, more than to all else."""
        return self.what == _WAITING and self.share > NOTABLE


def worst(
    recorded: Mapping[tuple[str, str], FloatArray],
    wall_ns: FloatArray,
    duration_ns: FloatArray,
    cpus: int,
    *,
    serves: bool = False,
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
    serves : bool
        Whether the workload is an application that serves: its first thread does nothing, so only
        what all of its threads ran and waited counts.
    """
    shares: dict[str, float] = {}
    missing: dict[str, Message] = {}
    for (metric, source), what in RECORDED.items():
        if serves and what == _WAITING:
            continue
        values = recorded.get((metric, source), np.array([]))
        time = duration_ns * cpus if metric in _OF_MACHINE else wall_ns
        why = _why_not(values, wall_ns)
        if metric in _OF_MACHINE and len(time) and median(duration_ns) < _SHORTEST_NS:
            values, why = (
                np.array([]),
                message("trials are shorter than {least}", least=Chosen(_SHORTEST_NS, "ns")),
            )
        if len(values) and len(time) and time.mean() > 0:
            shares[what] = float(values.mean() / time.mean())
        if why is not None:
            missing[what] = why
    ran, waited = (recorded.get(key, np.array([])) for key in (_RAN, _WAITED))
    if len(ran) and len(waited) and ran.mean() + waited.mean() > 0:
        share = float(waited.mean() / (ran.mean() + waited.mean()))
        waiting = READY if serves else _WAITING
        shares[waiting] = max(share, shares.get(waiting, 0.0))
        if _why_not(ran, wall_ns) is None:
            missing.pop(_WAITING, None)
    elif serves:
        missing[_WAITING] = message(_NONE)
    if not shares:
        return None
    what = max(shares, key=shares.__getitem__)
    return Disturbance(what, shares[what], shares, missing)


def _why_not(values: FloatArray, wall_ns: FloatArray) -> Message | None:
    """Return why something is not known of all trials; None: it is."""
    if not len(values):
        return message(_NONE)
    if len(values) < len(wall_ns):
        return message("recorded in {trials} of {of} trials", trials=len(values), of=len(wall_ns))
    return None


def said(found: Disturbance | None) -> Message:
    """Return how much it was; of little, what was not measured."""
    if found is None:
        return message("disturbances were not recorded")
    if found.share > NOTABLE and found.what == READY:
        return message(
            "services waited for a CPU in {share} of the time in which they could have run",
            share=Amount(found.share, "share"),
        )
    if found.share > NOTABLE:
        what = message(_NAME_TEXTS[found.what])
        return message(
            "{what} took {share} of the time", what=what, share=Amount(found.share, "share")
        )
    return message(
        "no disturbance above {limit} of the time{% if missing %} (not measured: "
        "{missing | join(', ')}){% endif %}",
        limit=Chosen(NOTABLE),
        missing=[message(_NAME_TEXTS[what]) for what in found.missing],
    )


def lost(counts: FloatArray, trials: int) -> Message | None:
    """Say of how many trials the kernel's records were lost; None: of none.

    Parameters
    ----------
    counts : array
        Records of each such trial, and perhaps zeros.
    trials : int
        How many there are in all.
    """
    some = counts[counts > 0]
    if not len(some):
        return None
    return message(
        "the kernel's records were lost in {trials} of {of | counted('trial')} (up to {most}"
        "): their times are tare's own, less exact",
        trials=len(some),
        of=trials,
        most=int(some.max()),
    )


def switch_records(results: Results) -> Message | None:
    """Return how much CPU time recording context switches took, in the cell where it took most.

    None where context switches were not recorded, or took at most 1 % of the CPU time. Where
    records of a trial were lost, its switches are those that the kernel counted (getrusage).
    """
    good = results.good
    sources = results.sources("cpu_ns")
    if not results.experiment.context_switches or not sources or not len(good):
        return None
    names = (
        ("switches_preempted", "involuntary_switches"),
        ("switches_blocked", "voluntary_switches"),
    )
    trials = good["trial"]
    lost = np.nan_to_num(results.values_of(*LOST, trials)) > 0
    switches = np.zeros(len(trials))
    for recorded, counted in names:
        kernel = results.values_of(counted, "rusage", trials)
        switches += np.where(lost, kernel, results.values_of(recorded, "perf_cpu", trials))
    cpu_ns = results.values_of("cpu_ns", sources[0], trials)
    known = (cpu_ns > 0) & ~np.isnan(switches)
    cells = good["cell"]
    found = [
        (median(switches[own] / cpu_ns[own]), median(switches[own]))
        for cell in np.unique(cells[known])
        if (own := known & (cells == cell)).any()
    ]
    per_ns, count = max(found, default=(0.0, 0.0))
    least, most = (cost * per_ns for cost in SWITCH_RECORD_NS)
    if most <= NOTABLE:
        return None
    return message(
        "recording {switches} context switches per execution took an estimated {least} to "
        "{most} of the CPU time ({costs[0]} to {costs[1]} each). Without: "
        "context_switches = false in an experiment file",
        switches=Amount(round(count), "1"),
        least=Amount(least, "share"),
        most=Amount(most, "share"),
        costs=[Chosen(cost, "ns") for cost in SWITCH_RECORD_NS],
    )


def disturbance(results: Results) -> Disturbance | None:
    """Name what took most of the time of an experiment's trials.

    Trials whose records were lost are left out: the first thread's time is known of them alone.
    """
    if len(without := results.values(*LOST)):
        rows = results.trial_table
        kept = rows.rows(~np.isin(rows["trial"], without["trial"]))
        results = dataclasses.replace(results, trial_table=kept)
    recorded = {key: results.values(*key)["value"] for key in NEEDED}
    values = results.values("wall_ns")
    durations = values["duration_ns"] if "duration_ns" in values else np.zeros(0)
    return worst(
        recorded,
        values["value"],
        durations,
        int(results.fact("cpus", 1)),
        serves=all(workload.serves for workload in results.experiment.workloads),
    )
