"""Hosts whose buckets were depleted: when, for how long, and whether trials took longer for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tare.experiment.findings.network_cells import Ladder, Networks, OfRung, Rung
from tare.results.columns import Columns
from tare.statistics.depletion import Following, follows
from tare.statistics.holm import holm
from tare.statistics.statistic import FloatArray


@dataclass(frozen=True)
class DryHost:
    """One host at one level.

    Attributes
    ----------
    times : int
        Trials in which it was depleted.
    first_ns, dry_ns, spells : float or None
        Medians over those trials: when first, how long in all, how often; None where there
        are none, or it was not recorded.
    """

    host: int
    times: int
    first_ns: float | None
    dry_ns: float | None
    spells: float | None


@dataclass(frozen=True, eq=False)
class Dry(OfRung):
    """The hosts of one level.

    Attributes
    ----------
    any : int
        Trials in which the bucket of at least one host was depleted.
    alone : int
        Trials in which exactly one did.
    following : Following or None
        Of the values and the longest time that any host was dry in the trial.
    p : float
        Of the same, after Holm over all levels.
    slope, low, high : float or None
        What a trial takes longer for each unit of dry time, with a 95 % interval.
    """

    hosts: tuple[DryHost, ...]
    any: int
    alone: int
    following: Following | None
    p: float
    slope: float | None
    low: float | None
    high: float | None


@lru_cache(maxsize=4)
def droughts(networks: Networks) -> tuple[Dry, ...]:
    """Look at every level that has buckets; Holm over what trials' times say."""
    some = [(x, r) for x, r in networks.rungs if r.level.bucket is not None and r.use]
    found = [_following(r) for _, r in some]
    adjusted = iter(holm([f.p for f in found if f is not None]))
    made = []
    for (ladder, rung), following in zip(some, found, strict=True):
        p = next(adjusted) if following is not None else 1.0
        made.append(_dry(ladder, rung, following, p))
    return tuple(made)


def dry_times(rung: Rung) -> FloatArray:
    """Longest time that any host was dry in each trial, in order of time."""
    longest = rung.use.reduced("trial", "dry_ns", np.max)
    return np.array([longest.get(trial, 0) for trial in rung.trials["trial"].tolist()], dtype=float)


def _following(rung: Rung) -> Following | None:
    return follows(rung.values, dry_times(rung))


def _dry(ladder: Ladder, rung: Rung, following: Following | None, p: float) -> Dry:
    dry = rung.use.reduced("trial", "times_dry", lambda times: int((times > 0).sum()))
    slope = low = high = None
    if following is not None:
        from scipy import stats  # half a second to load

        fit = stats.theilslopes(rung.values, dry_times(rung), 0.95)
        slope, low, high = (float(x) for x in (fit[0], fit[2], fit[3]))
    return Dry(
        ladder=ladder,
        rung=rung,
        hosts=tuple(_host(host, rows) for host, rows in rung.use.groups("host")),
        any=sum(hosts > 0 for hosts in dry.values()),
        alone=sum(hosts == 1 for hosts in dry.values()),
        following=following,
        p=p,
        slope=slope,
        low=low,
        high=high,
    )


def _host(host: int, rows: Columns) -> DryHost:
    dry = rows.rows(rows["times_dry"] > 0)
    if not dry:
        return DryHost(host, 0, None, None, None)
    first, total, spells = (_median(dry[name]) for name in ("first_dry_ns", "dry_ns", "times_dry"))
    return DryHost(host, len(dry), first, total, spells)


def _median(values: FloatArray) -> float | None:
    """Return the median of what is known; None: nothing is."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None
