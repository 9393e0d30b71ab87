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
_WAITING, _THROTTLING = "waiting", "throttling"
#: The same of services, which most of a trial's time have nothing to do.
READY = "ready"
#: Metric and source of time that a trial lost.
_WAIT, _STEAL = ("wait_ns", "schedstat"), ("steal_ns", "stat")
THROTTLED = ("throttled_ns", "cgroup")
#: Metric and source to the kind of disturbance that they count.
RECORDED = {_WAIT: _WAITING, _STEAL: "stolen", THROTTLED: _THROTTLING}
#: Of all threads of a command's tree: what they ran, and what they could have run besides.
_RAN, _WAITED = ("on_cpu_ns", "perf_cpu"), ("off_cpu_preempted_ns", "perf_cpu")
#: CPU time of the root process and of the children that it waited for.
_CPU = ("cpu_ns", "rusage")
#: CPU time that recording one context switch took a program, in ns: the least and the most that
#: was measured (docs/reference/metrics.md).
SWITCH_RECORD_NS = (170.0, 900.0)
#: How many of the kernel's records were lost of a trial, which then has no stamps of the kernel.
LOST = ("lost_records", "perf_buffer")
#: What has to be known of the trials.
NEEDED = (*RECORDED, _RAN, _WAITED, _CPU)
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
        """Whether waiting for a CPU took a notable share, more than all else, without a quota."""
        is_throttled = self.measured.get(_THROTTLING, 0.0) > NOTABLE
        return self.what == _WAITING and self.share > NOTABLE and not is_throttled


def without_throttling(ready_ns: FloatArray, throttled_ns: FloatArray) -> FloatArray:
    """Return the time in which threads waited for a CPU although no quota throttled them.

    Parameters
    ----------
    ready_ns : array, shape (n,)
        Time in which threads were ready and had no CPU. To the kernel, throttled threads are ready.
    throttled_ns : array, shape (n,)
        Time for which a quota throttled their group; NaN where it was not recorded.
    """
    return np.maximum(ready_ns - np.nan_to_num(throttled_ns), 0.0)


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
        A key of :data:`NEEDED` to its value of each trial; NaN where a trial has none.
    wall_ns, duration_ns : array, shape (n,)
        What is measured of each trial, and how long the trial took as a whole.
    cpus : int
        Of the machine.
    serves : bool
        Whether the workload is an application that serves: its first thread does nothing, so only
        what all of its threads ran and waited counts.
    """
    unknown = np.full(len(wall_ns), np.nan)
    values = {key: recorded.get(key, unknown) for key in NEEDED}
    is_short = len(wall_ns) > 0 and median(duration_ns) < _SHORTEST_NS
    least = Chosen(_SHORTEST_NS, "ns")
    absent = {what: _why_not(values[key]) for key, what in RECORDED.items()}
    if serves:
        del absent[_WAITING]
    if is_short:
        absent["stolen"] = message("trials are shorter than {least}", least=least)
    missing = {what: why for what, why in absent.items() if why is not None}
    if np.isfinite(values[_RAN] + values[_WAITED]).any():
        shares = _shares_of_threads(values, wall_ns, cpus, serves=serves)
        if _why_not(values[_RAN]) is None:
            missing.pop(_WAITING, None)
    else:
        shares = _shares_of_first_thread(values, wall_ns, serves=serves)
        if serves:
            missing[_WAITING] = message(_NONE)
    if not is_short:
        shares["stolen"] = _share(values[_STEAL], duration_ns * cpus)
    known = {what: share for what, share in shares.items() if share is not None}
    if not known:
        return None
    what = max(known, key=known.__getitem__)
    return Disturbance(what, known[what], known, missing)


def _shares_of_threads(
    values: Mapping[tuple[str, str], FloatArray], wall_ns: FloatArray, cpus: int, *, serves: bool
) -> dict[str, float | None]:
    """Return the shares of waiting and throttling in the time of all threads of the tree.

    Of services, in the time in which they could have run. Throttled time is that of the launch as
    well, which is not in the time: no more of it counts than threads were ready.
    """
    ran, ready, throttled = values[_RAN], values[_WAITED], values[THROTTLED]
    time_ns = ran + ready if serves else np.maximum(wall_ns, ran + ready)
    waited = _share(ready, time_ns) or 0.0
    # The larger of two lower bounds: a CPU's threads are throttled together, and counted once.
    bounds = _share(np.minimum(throttled, ready), time_ns), _share(throttled, wall_ns * cpus)
    stopped = [min(bound, waited) for bound in bounds if bound is not None]
    if stopped:
        waited -= max(stopped)
    waiting = READY if serves else _WAITING
    first = 0.0 if serves else _share(without_throttling(values[_WAIT], throttled), wall_ns)
    return {waiting: max(waited, first or 0.0), _THROTTLING: max(stopped, default=None)}


def _shares_of_first_thread(
    values: Mapping[tuple[str, str], FloatArray], wall_ns: FloatArray, *, serves: bool
) -> dict[str, float | None]:
    """Return the same shares where only the first thread's time is known.

    No more throttled time counts than the first thread was ready, or no CPU time was used.
    """
    ready, throttled = values[_WAIT], values[THROTTLED]
    idle = wall_ns if serves else np.fmax(wall_ns - np.nan_to_num(values[_CPU]), ready)
    waited = None if serves else _share(without_throttling(ready, throttled), wall_ns)
    return {_WAITING: waited, _THROTTLING: _share(np.minimum(throttled, idle), wall_ns)}


def _share(part_ns: FloatArray, time_ns: FloatArray) -> float | None:
    """Return the share of a time in the trials that have it; None where no trial does."""
    known = ~np.isnan(part_ns)
    total = time_ns[known].sum()
    return float(part_ns[known].sum() / total) if total > 0 else None


def _why_not(values: FloatArray) -> Message | None:
    """Return why something is not known of all trials; None: it is."""
    known = int((~np.isnan(values)).sum())
    if not known:
        return message(_NONE)
    if known < len(values):
        return message("recorded in {trials} of {of} trials", trials=known, of=len(values))
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
    if found.share > NOTABLE and found.what == _THROTTLING:
        return message(
            "throttled by a CPU quota for {share} of the time", share=Amount(found.share, "share")
        )
    if found.share > NOTABLE:
        throttled = found.measured.get(_THROTTLING, 0.0)
        return message(
            "{what} took {share} of the time{% if throttled %}, and a CPU quota throttled it for "
            "{throttled}{% endif %}",
            what=message(_NAME_TEXTS[found.what]),
            share=Amount(found.share, "share"),
            throttled=Amount(throttled, "share") if throttled > NOTABLE else None,
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
    values = results.values("wall_ns")
    # How long killed trials would have taken is not known.
    values = values.rows(np.isfinite(values["value"]))
    recorded = {key: results.values_of(*key, values["trial"]) for key in NEEDED}
    if "duration_ns" not in values:
        values = values.with_columns(duration_ns=np.full(len(values), np.nan))
    return worst(
        recorded,
        values["value"],
        values["duration_ns"],
        int(results.fact("cpus", 1)),
        serves=all(workload.serves for workload in results.experiment.workloads),
    )
