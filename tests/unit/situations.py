"""Made-up results of one experiment of each kind: for every finding, one in which it answers.

A new finding or chart that answers in none of them needs a situation here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import columns
import journals
import msgspec
import networked
import numpy as np
import served
import sweeps
import synthetic
import tasked
from synthetic import MS, Behaviour

from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.sessions import judged
from tare.experiment.fingerprints.network import cache as remembered
from tare.experiment.fingerprints.network.cache import GIVEN
from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint
from tare.experiment.journal import SEEN
from tare.experiment.results import Results, typed
from tare.experiment.samples import Samples
from tare.experiment.specification import Limit, Stopping
from tare.experiment.tables import TABLES
from tare.results.columns import Columns
from tare.results.finding import Finding
from tare.wiring import SUPPLIES

SIZES = ("0.25c", "0.5c", "1c", "2c")
#: What a session stores of the machine's calibration.
CALIBRATION = {
    "calibration_date": "2026-05-01 10:00",
    "calibration_workload": "linpack (size 1000)",
    "calibration_platform": "bare",
    "calibration_verdict": "linear",
    "calibration_linear": "0.1 to 2",
    "calibration_lost_share": 0.002,
    "calibration_r_squared": 0.99951,
}
CALM, BUSY = 0.02, 1.3
#: How often threads were on a CPU for some 4 ms, and waited for some 33 ms.
STRETCHES = {
    ("on_cpu_ns", "perf_cpu"): 2e8,
    ("on_cpu_stretches_22", "perf_cpu"): 40.0,
    ("off_cpu_blocked_stretches_25", "perf_cpu"): 3.0,
}


def disturbed(levels: dict[str, str]) -> Behaviour:
    """Docker costs and is less stable; two workers wait for each other; inputs matter."""
    docker, two = levels["platform"] == "docker", levels["workers"] == "2"
    return Behaviour(
        mean_ns=MS * (210 if docker else 200),
        spread=0.01 * (3 if docker else 1) * (3 if two else 1),
        waiting=0.8 if two else 0.0,
        inputs=0.01,
        worker_difference=0.03,
    )


def disturbed_now_and_then(levels: dict[str, str]) -> Behaviour:
    """Docker costs, and of two workers one in thirty trials takes a quarter more."""
    docker, two = levels["platform"] == "docker", levels["workers"] == "2"
    return Behaviour(mean_ns=MS * (210 if docker else 200), outliers=0.03 * two, outlier_size=0.25)


def half_a_core_pinned(levels: dict[str, str]) -> bool:
    """Half a core cannot be pinned."""
    return levels["pinning"] == "pinned" and float(levels["size"][:-1]) < 1


def failing_on_docker(levels: dict[str, str]) -> Behaviour:
    return Behaviour(failing=0.5 if levels["platform"] == "docker" else 0.0)


def with_quotas(
    *quotas: float, facts: Mapping[str, Any] = CALIBRATION, own: bool = False, **more: Any
) -> Results:
    """Spread the trials of bare over some quotas, on a machine that was calibrated."""
    found = synthetic.make(**{"platforms": ("bare",), "workers": (1, 2), "trials": 10, **more})
    trials = found.trial_table
    if quotas:
        levels = [f"{quotas[i % len(quotas)]:g}" for i in range(len(trials))]
        trials = trials.with_columns(quota=levels)
    known = [
        {"session": 0, "instance": None, "platform": None, "name": name, "value": value,
         "unit": None, "source": "tare calibrate"}
        for name, value in facts.items()
    ]  # fmt: skip
    return dataclasses.replace(
        found,
        experiment=msgspec.structs.replace(found.experiment, instances="own" if own else "shared"),
        trial_table=trials,
        facts=_more_facts(found.facts, known),
    )


def _more_facts(facts: Columns, rows: list[dict[str, Any]]) -> Columns:
    return columns.stacked(facts, columns.facts(rows).only(*facts.names)) if rows else facts


def with_starts(results: Results, **medians: float) -> Results:
    """Give each platform twenty starts of so many ms; the first takes ten times as long."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "platform": platform,
            "cold": k == 0,
            "start_ns": int(ms * MS * rng.lognormal(0, 0.05) * (10 if k == 0 else 1)),
            "stop_ns": None if k == 19 else int(ms * MS / 2),
        }
        for platform, ms in medians.items()
        for k in range(20)
    ]
    return _with_instances(results, rows)


def with_seen(results: Results) -> Results:
    """Give each cell an instance, in which a program sees two CPUs, or those of its pinning."""
    instances = []
    table = results.trial_table
    first = [table["cell"].tolist().index(cell) for cell in table.distinct("cell")]
    for i, cell in enumerate(table.rows(first).records()):
        cores, pinned = float(cell["size"][:-1]), cell["pinning"] == "pinned"
        instances.append(
            {k: cell[k] for k in ("platform", "size", "pinning")}
            | {"instance": f"tare-{i}", "cores": None if pinned else cores}
            | {"cpus": list(range(int(cores))) if pinned else None}
            | {"cpus_affinity": int(cores) if pinned else 2}
        )
    return _with_instances(results, instances)


def _with_instances(results: Results, rows: list[dict[str, Any]]) -> Results:
    table = columns.of_table(
        "instances", [[row.get(name) for name in TABLES["instances"].names] for row in rows]
    )
    seen = {name: typed("DOUBLE", [row.get(name) for row in rows]) for name in SEEN}
    return dataclasses.replace(results, instances=table.with_columns(**seen))


def with_takes(results: Results, *levels: tuple[Any, ...], recorded: bool = True) -> Results:
    """Give sessions takes in which getpid is at a level, and fork always the same.

    Each is (session, moment, level), with how many CPUs others used, and the number of the take.
    """
    rng = np.random.default_rng(1)
    figures, takes = [], []
    for session, moment, getpid, *more in levels:
        others, take = (*more, *(CALM, 1)[len(more) :])
        figures += [
            (session, moment, metric, "ns", "lower", 0.1,
             tuple(map(float, level * rng.normal(1, 0.01, 8))), take)
            for metric, level in (("syscall.getpid", getpid), ("process.fork", 70_000.0))
        ]  # fmt: skip
        takes.append((session, moment, take, 5.0, 2, 0.1, others, 0.0, 0.1, 0.0, 0.0))
    return dataclasses.replace(
        results,
        figures=columns.of_table("figures", figures),
        takes=columns.of_table("takes", takes if recorded else []),
    )


def in_two_sessions(made: Results, first: int = 10) -> Results:
    """Divide results into two sessions after so many blocks."""
    second = made.trial_table["block"] >= first
    trials = made.trial_table.with_columns(session=np.where(second, 2, 1))
    sessions = Columns.of_rows(
        ["session", "started", "ended", "boot_id", "nonce"],
        [(1, "2030-01-01", "2030-01-01", "", 1), (2, "2030-01-02", "2030-01-02", "", 2)],
    )
    return dataclasses.replace(made, trial_table=trials, sessions=sessions)


def network_fingerprint(gbps: float, mtu: str = "1500", width: float = 0.01) -> NetworkFingerprint:
    rate = 1e9 * gbps
    figures = {
        "bandwidth.fresh": Figure(
            value=rate, ci=(rate * (1 - width), rate * (1 + width)), unit="bits/s", n=12
        ),
        "latency.unpaced.p50": Figure(value=50e3, ci=(49e3, 51e3), unit="ns", n=12),
    }
    return NetworkFingerprint(
        tare="0.1.0", agent="0" * 64, started="2030-01-01T00:00:00Z", seconds=10.0, effort="brief",
        end="192.0.2.1", direction="out", streams=1, figures=figures, writes=(), shaping=None,
        searched=None, here={"mtu": mtu}, there={"mtu": mtu},
    )  # fmt: skip


def with_networks(results: Results, *given: tuple[NetworkFingerprint, str]) -> Results:
    """Give each session a fingerprint of its network, and where it is from."""
    rows = [
        (number, None, None, fact.name, fact.value, fact.unit, fact.source)
        for number, (one, origin) in enumerate(given, 1)
        for fact in remembered.of(one, origin)
    ]
    return dataclasses.replace(results, facts=columns.of_table("facts", rows))


def _planned(made: Results) -> Results:
    return dataclasses.replace(made, planned=journals.cells(made))


def over_days(results: Results, every_s: float) -> Results:
    """Return results whose trials began so far apart, and follow the time of day by ± 20 %."""
    trials = results.trial_table
    at_s = every_s * np.arange(len(trials))
    factor = 1 + 0.2 * np.sin(2 * np.pi * at_s / 86_400)
    samples = Samples({
        key: part.with_columns(value=part["value"] * factor[part["trial"]])
        for key, part in results.sample_table
    })  # fmt: skip
    return dataclasses.replace(
        results,
        trial_table=trials.with_columns(started=(1e12 + 1e9 * at_s).astype(np.int64)),
        sample_table=samples,
    )


_SITUATIONS: dict[str, Callable[[], Results]] = {
    "platforms": lambda: synthetic.make(
        disturbed,
        pinnings=("none", "spread"),
        trials=24,
        iterations=2,
        inputs=4,
        notes=["isolate was left out: it is not on PATH."],
    ),
    "comparison": lambda: synthetic.make(
        disturbed, workers=(1,), trials=24, stopping=Stopping(compare="platform")
    ),
    "limits": lambda: synthetic.make(
        disturbed_now_and_then, trials=320, limit=(Limit(value=230.0 * MS),)
    ),
    "one cell": lambda: synthetic.make(platforms=("bare",), workers=(1,), trials=24),
    "failures": lambda: _planned(
        synthetic.make(failing_on_docker, trials=8, stopping=Stopping(trials=8, budget_s=None))
    ),
    "sizes": lambda: with_seen(
        synthetic.make(
            platforms=("bare", "docker", "vm"),
            workers=(1,),
            pinnings=("none", "pinned"),
            sizes=SIZES,
            trials=8,
            leave_out=half_a_core_pinned,
            emulated=("vm",),
        )
    ),
    "starts": lambda: with_starts(
        synthetic.make(trials=8, more=lambda _: STRETCHES), bare=2, docker=300
    ),
    "quotas": lambda: with_quotas(0.5, 1.0),
    "sweep": lambda: sweeps.make(sweeps.h90(), quotas=[0.1 * n for n in range(1, 41)]),
    "sweep by platform": lambda: sweeps.make(platforms=("bare", "docker")),
    "network": lambda: networked.make(
        networked.budgets(4, 1), networked.Program(sends={1: 1e8, 2: 3e9}), trials=13,
        budget="carry",
    ),
    "long network": lambda: networked.make(
        networked.budgets(400), networked.Program(noise=0.05), trials=40, logged=False,
    ),
    "budgets": lambda: networked.make(
        networked.budgets(8, 1), networked.Program(), trials=6, logged=False,
    ),
    "tasks": lambda: tasked.make(tasked.Job(begins={3: 0.05})),
    "changed machine": lambda: judged(
        with_takes(
            in_two_sessions(synthetic.make(trials=20)),
            (1, "before", 100.0), (1, "after", 100.0), (2, "before", 150.0), (2, "after", 150.0),
        ),
        (), Path("here"),
    ),
    "services": lambda: served.make(
        None, lambda trial: served.Served(own_cpus=0 if trial["platform"] == "docker" else 1),
    ).results,
    "networks of sessions": lambda: with_networks(
        synthetic.make(trials=20), (network_fingerprint(9.4), GIVEN)
    ),
    "two weeks": lambda: over_days(
        synthetic.make(platforms=("bare",), workers=(1,), trials=336), every_s=3600
    ),
}  # fmt: skip
NAMES = tuple(_SITUATIONS)


@cache
def results(name: str) -> Results:
    """Return the results of a situation; the same ones to every test."""
    return _SITUATIONS[name]()


@cache
def findings(name: str) -> tuple[Finding, ...]:
    """Return all findings of a situation."""
    return tuple(all_findings(results(name), SUPPLIES.findings()))
