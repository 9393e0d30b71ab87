"""What took time from the trials beside the workload: one name and a share, for one sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tare.results import Results

#: Metric, source, and the shortest trial that its ticks can say anything of.
_DISTURBANCES = {
    "waiting for a CPU": ("wait_ns", "schedstat", 0.0),
    "time stolen by the hypervisor": ("steal_ns", "stat", 1e8),
    "throttling": ("throttled_ns", "cgroup", 0.0),
}


def disturbance(results: Results, metric: str = "wall_ns") -> tuple[str, float]:
    """Name what took most of the trials' time beside the workload, and its share.

    Returns
    -------
    (str, float)
        Of waiting, stolen time and throttling the largest; share 0 where none was seen.
    """
    values = results.values(metric)["value"]
    total = float(np.sum(values))
    s = results.sample_table[results.sample_table["phase"] == "measured"]
    good = results.trial_table.loc[results.trial_table["status"] == "ok", "trial"]
    s = s[s["trial"].isin(set(good))]
    found = {
        name: float(s.loc[(s["metric"] == m) & (s["source"] == source), "value"].sum()) / total
        for name, (m, source, least) in _DISTURBANCES.items()
        if total > 0 and float(values.median()) >= least
    }
    if not found:
        return "nothing", 0.0
    most = max(found, key=lambda name: found[name])
    return most, found[most]


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
