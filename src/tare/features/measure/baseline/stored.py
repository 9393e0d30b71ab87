"""What a baseline holds, and how it comes out of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from tare.errors import StoreError
from tare.experiment.findings.sessions import probed, rules
from tare.experiment.fingerprints.machine.difference import Rule
from tare.experiment.fingerprints.network import cache as networks
from tare.experiment.results import STATUSES, Results
from tare.experiment.specification import Experiment
from tare.render.words import listing
from tare.statistics.statistic import FloatArray
from tare.units import counted

#: Facts that say how a session was, not where: what is measured anew, and who was busy.
_PASSING = frozenset({"load_average"})
_MEASURED = ("_ns",)
#: What `tare selftest` and `tare calibrate` found at last is found anew each time.
_FOUND_ANEW = ("selftest_", "calibration_", networks.PREFIX)
#: What decides about a trial besides its command, and what it is called.
_SETTINGS = ("iterations", "warmup", "process", "instances", "fresh")
LEVELS = ("platform", "workers", "pinning", "load", "size")
#: Version of the file; one of another version is refused.
VERSION = 1


def settings(experiment: Experiment, levels: Mapping[str, str]) -> dict[str, str]:
    """Return what decides about the trials of a cell, besides its workload."""
    held = {name: levels[name] for name in ("quota", "period", "network") if name in levels}
    if "network" in levels:
        network = experiment.network
        served = " ".join(word for command in network.serve for word in command)
        held["network"] += f", {network.hosts} hosts{f', serving {served}' if served else ''}"
    if experiment.window is not None:
        held["window"] = f"{experiment.window.periods} × {experiment.longest_period_s:g} s"
    return {
        **{name: levels.get(name, "") for name in LEVELS},
        **{name: str(getattr(experiment, name)) for name in _SETTINGS},
        **held,
    }


def lasting(facts: Iterable[tuple[str, Any, Any]]) -> dict[str, Any]:
    """Name facts given as (name, platform or None, value), without what is measured anew."""
    return {
        f"{name} ({platform})" if isinstance(platform, str) else name: value
        for name, platform, value in facts
        if name not in _PASSING
        and not name.endswith(_MEASURED)
        and not name.startswith(_FOUND_ANEW)
    }


def networked(facts: Iterable[tuple[str, Any, Any]]) -> dict[str, Any]:
    """Choose of facts those of a network's fingerprint; otherwise as :func:`lasting`."""
    return {
        name: value
        for name, platform, value in facts
        if name.startswith(networks.PREFIX) and not isinstance(platform, str)
    }


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """Values of a metric of the machine in each take of a session."""

    rule: Rule
    takes: tuple[tuple[float, ...], ...]


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One uninterrupted stretch: its trial values by source, and its facts."""

    started: str
    tare: str
    agent: str
    #: By name; those of a platform's instances as ``name (platform)``.
    facts: dict[str, bool | int | float | str]
    values: dict[str, tuple[float, ...]]
    #: What the value of each trial that was killed at a time limit exceeds; it has no other value.
    above: tuple[float, ...] = ()
    #: What probes found of the machine before and after, by metric.
    machine: dict[str, Probed] = {}
    #: What a fingerprint said of the network, by name of the fact.
    network: dict[str, bool | int | float | str] = {}

    @property
    def trials(self) -> int:
        """Trials with a value, if only one above a limit."""
        return len(next(iter(self.values.values()), ())) + len(self.above)

    def series(self, source: str) -> tuple[FloatArray, FloatArray]:
        """Return all values from a source, infinite above a limit, and what these exceed."""
        ended = np.array(self.values[source], dtype=float)
        above = np.array(self.above, dtype=float)
        values = np.concatenate([ended, np.full(len(above), np.inf)])
        return values, np.concatenate([np.full(len(ended), np.nan), above])


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """Trial values of one cell, session by session."""

    version: int = VERSION
    workload: str
    metric: str
    #: Levels and settings under which every trial was made.
    settings: dict[str, str]
    sessions: tuple[Session, ...]

    @property
    def trials(self) -> int:
        """Trials of a typical session."""
        return int(np.median([s.trials for s in self.sessions]))


def of(
    results: Results, metric: str, workload: str | None = None, like: dict[str, str] | None = None
) -> Baseline:
    """Take a baseline out of results.

    Parameters
    ----------
    results : Results
        Of any experiment, or of ``tare run``.
    metric : str
        What is to be compared.
    workload : str, optional
        Which of several, if there are several.
    like : dict, optional
        Settings that its cell must have; without it there must be one cell only.

    Raises
    ------
    StoreError
        If it holds no such cell, several, or no trial of it with a value.
    """
    cells = [levels for levels, _ in results.cells(STATUSES)]
    fitting = [
        row for row in cells if like is None or all(str(row[name]) == like[name] for name in LEVELS)
    ]
    if len(fitting) > 1 and workload is not None:
        fitting = [row for row in fitting if row["workload"] == workload]
    if len(fitting) != 1:
        raise _choice(fitting or cells, some=bool(fitting))
    levels = {f: str(fitting[0][f]) for f in results.factors}
    sessions = [
        made
        for row in results.sessions.records()
        if (made := _session(results, row, int(fitting[0]["cell"]), metric)) is not None
    ]
    if not sessions:
        raise StoreError(
            f"no session of the baseline has a good trial with {metric}",
            "choose another --metric",
        )
    return Baseline(
        workload=levels["workload"],
        metric=metric,
        settings=settings(results.experiment, levels),
        sessions=tuple(sessions),
    )


def _choice(cells: Sequence[Mapping[Any, Any]], *, some: bool) -> StoreError:
    names, platforms = (
        listing(dict.fromkeys(str(row[factor]) for row in cells))
        for factor in ("workload", "platform")
    )
    if some:
        n = counted(len(cells), "cell")
        return StoreError(
            f"the baseline holds {n} that this could be compared with: {names}",
            "name the one that is measured anew with --name",
        )
    return StoreError(
        f"the baseline holds no cell like this one: it has {names} on {platforms}",
        "ask for the same platform, workers and pinning, and --name NAME of one of several",
    )


def _session(results: Results, row: Mapping[Any, Any], cell: int, metric: str) -> Session | None:
    number = row["session"]
    own = results.good.where(session=number, cell=cell)["trial"]
    found = {
        source: results.values_of(metric, source, own)
        for source in results.sample_table.sources(metric)
    }
    by_source = {
        source: tuple(values.tolist())
        for source, values in found.items()
        if len(values) and not np.isnan(values).any()
    }
    killed = results.killed(metric).where(session=number, cell=cell)
    if killed and not len(own):
        by_source = dict.fromkeys(found, ())
    if not by_source:
        return None
    facts = results.facts.where(session=number)
    told = list(zip(facts["name"], facts["platform"], facts["value"], strict=True))
    return Session(
        started=str(row["started"]),
        tare=str(row.get("tare", "")),
        agent=str(row.get("agent_digest", "")),
        facts=lasting(told),
        values=by_source,
        above=tuple(killed["above"].tolist()),
        machine=_machine(results, int(number)),
        network=networked(told),
    )


def _machine(results: Results, session: int) -> dict[str, Probed]:
    found = probed(results).get(session)
    # What was seen while others used the machine is not kept of it.
    moments = () if found is None else found.moments
    some = [first.figures for first, *_ in moments if not first.disturbed]
    return {
        metric: Probed(rule=rule, takes=tuple(tuple(take[metric]) for take in some))
        for metric, rule in rules(results).items()
        if some and all(metric in take for take in some)
    }
