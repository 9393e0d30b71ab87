"""Sweeps without a machine: results of trials in windows, at quotas, of a made-up machine.

``make()`` gives what an experiment would have stored. The truth is a few functions of the quota:
how fast, how much of the CPU time arrives, at which clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import columns
import numpy as np
from synthetic import _facts, _sample_table, _stops

from tare.experiment.results import Results, empty
from tare.experiment.specification import Experiment, SizeSpec, Stopping, WindowSpec
from tare.results.columns import Columns, is_in
from tare.workloads.specification import WorkloadSpec

S = 1_000_000_000
QUOTAS = tuple(round(0.1 * n, 1) for n in range(1, 21))

Curve = Callable[[float], float]


@dataclass(frozen=True)
class Sweep:
    """A machine; shares are of what was asked for."""

    #: Work a second of one CPU's time at the highest clock.
    speed: float = 28e9
    #: CPUs that can be used: threads, or what the machine has.
    usable: float = 2.0
    #: Work a cycle, as a share, and clock, by quota.
    efficiency: Curve = lambda quota: 1.0
    clock_hz: Curve | None = lambda quota: 4.1e9
    frequency_hz: Curve | None = None
    #: Share of the CPU time that others take, and that does not arrive; and whether the workers
    #: waited for that, because other work had it.
    steal: Curve = lambda quota: 0.0
    withheld: Curve = lambda quota: 0.0
    waited: bool = True
    heat: Curve | None = None
    #: Spread between trials, relative.
    noise: float = 0.01
    #: Chance that a trial fails.
    failing: float = 0.0
    delivered: bool = True
    #: Factor on the speed by session.
    sessions: Mapping[int, float] | None = None


HIGHEST_HZ = 4.1e9


def make(
    machine: Sweep | Mapping[tuple[str, ...], Sweep] | None = None,
    *,
    quotas: Sequence[float] = QUOTAS,
    trials: int = 7,
    workers: int = 2,
    platforms: Sequence[str] = ("bare",),
    kernel: str | None = "linpack",
    parameters: Mapping[str, int] | None = None,
    sizes: Mapping[str, SizeSpec] | None = None,
    extra: Mapping[str, Sequence[str]] | None = None,
    facts: Mapping[str, Any] | None = None,
    seed: int = 1,
    **options: Any,
) -> Results:
    """Build the results of a sweep.

    Parameters
    ----------
    machine : Sweep or mapping
        How it behaves; by (platform, levels of ``extra``) where not all alike.
    sizes : mapping, optional
        Swept in place of quotas.
    """
    rng = np.random.default_rng(seed)
    extra = dict(extra or {})
    workload = WorkloadSpec(
        name=kernel or "tool",
        kernel=kernel,
        parameters=dict(parameters or ({"size": 1000} if kernel else {})),
        command=None if kernel else ("tool",),
    )
    steps: dict[str, float] = (
        {name: float(s.cpuset or s.cores or 0) for name, s in sizes.items()}
        if sizes
        else {f"{q:g}": q for q in quotas}
    )
    factor = "size" if sizes else "quota"
    experiment = Experiment(
        name="calibrate",
        question="Does this machine scale linearly with the CPU time that it is given?",
        workloads=(workload,),
        factors={
            "platform": tuple(platforms),
            "workers": (workers,),
            factor: tuple(steps),
            **extra,
        },
        sizes=dict(sizes or {}),
        instances="shared",
        window=WindowSpec(),
        stopping=Stopping(trials=trials),
        fingerprint=False,
        **options,
    )
    rows: list[dict[str, Any]] = []
    samples: list[tuple[Any, ...]] = []
    cells = [
        (platform, *others, step)
        for platform in platforms
        for others in _combinations(list(extra.values()))
        for step in steps
    ]
    numbers = (machine.sessions if isinstance(machine, Sweep) else None) or {1: 1.0}
    for block in range(trials):
        session = list(numbers)[block * len(numbers) // trials]
        for position, cell in enumerate(rng.permutation(len(cells))):
            platform, *others, step = cells[cell]
            how = machine or Sweep()
            if not isinstance(how, Sweep):
                how = how[(platform, *others)]
            failed = bool(rng.random() < how.failing)
            levels = {
                "workload": workload.name,
                "platform": platform,
                "workers": str(workers),
                "pinning": "none",
                "load": "none",
                "size": step if sizes else "all",
                **({} if sizes else {"quota": step}),
                **dict(zip(extra, others, strict=True)),
            }
            number = len(rows) + 1
            rows.append(
                {
                    "trial": number,
                    "session": session,
                    "block": block,
                    "position": position,
                    "cell": int(cell),
                    "seed": 1,
                    "status": "failed" if failed else "ok",
                    "reason": "exit 1" if failed else None,
                    "duration_ns": 2 * S + S // 10,
                    **levels,
                }
            )
            if not failed:
                samples += _trial(rng, how, number, steps[step], workers, kernel, numbers[session])
    return Results(
        experiment=experiment,
        trial_table=columns.of_records(rows),
        sample_table=_sample_table(samples),
        facts=_told(facts or {}),
        sessions=columns.of_records(
            [
                {
                    "session": number,
                    "started": f"2026-01-0{number}T10:00:00+00:00",
                    "ended": f"2026-01-0{number}T10:05:00+00:00",
                    "boot_id": "synthetic",
                    "nonce": number,
                }
                for number in numbers
            ]
        ),
        faults=empty("faults"),
        stops=_stops(len(cells), trials),
    )


def h90() -> Sweep:
    """CALIBRATE's H90: jumps near 0.55 and 2.9, between which the clock is at its least."""

    def clock(quota: float) -> float:
        return 0.8e9 if 0.55 < quota < 2.9 else HIGHEST_HZ

    return Sweep(usable=4.0, speed=54e9, clock_hz=clock, noise=0.02)


def _combinations(levels: Sequence[Iterable[str]]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for some in levels:
        found = [(*one, level) for one in found for level in some]
    return found


def _trial(
    rng: np.random.Generator,
    how: Sweep,
    number: int,
    asked: float,
    workers: int,
    kernel: str | None,
    session: float,
) -> list[tuple[Any, ...]]:
    """Samples of one window."""
    most = min(how.usable, workers) if kernel else how.usable
    used = min(asked, most)
    got = used * (1 - how.steal(asked) - how.withheld(asked))
    clock = how.clock_hz(asked) if how.clock_hz else HIGHEST_HZ
    noise = 1 + how.noise * rng.standard_normal()
    rate = how.speed * how.efficiency(asked) * clock / HIGHEST_HZ * got * noise * session
    window = 2 * S
    # Who does not get what the quota allows is not stopped by it.
    throttled = asked < most and got >= 0.99 * asked
    stopped_ns = window * (workers - got) if throttled else 0.0
    waited_ns = 2.1 * S * used * how.withheld(asked) if how.waited else 0.0
    out: list[tuple[Any, ...]] = []
    for worker in range(workers):
        own = [
            ("throughput", "self" if kernel else "around", rate / workers),
            ("window_executions", "self", 100),
        ]
        if how.delivered:
            own += [
                ("window_ns", "self", window),
                ("window_cpu_ns", "self", got / workers * window),
            ]
        own.append(("wait_ns", "schedstat", (stopped_ns + waited_ns) / workers))
        if kernel == "linpack":
            own.append(("residual", "self", 0.004))
        if how.clock_hz:
            own.append(("clock_hz", "chain", clock * (1 + 0.001 * rng.standard_normal())))
        out += [(number, worker, 0, "measured", *one) for one in own]
    told = [
        ("throttled_ns", "host_cgroup", stopped_ns),
        ("throttled_periods", "host_cgroup", 20 if throttled else 0),
        ("periods", "host_cgroup", 21),
        ("steal_ns", "stat", how.steal(asked) * used * 2.1 * S),
    ]
    if how.frequency_hz:
        told.append(("frequency_hz", "cpufreq", how.frequency_hz(asked)))
    if how.heat:
        told.append(("thermal_throttles", "sysfs", how.heat(asked)))
    return out + [(number, None, None, "measured", *one) for one in told]


def _told(facts: Mapping[str, Any]) -> Columns:
    table = _facts(())
    known = {"cpu": "Synthetic 3000", "hypervisor": "none", "cgroup": "2", **facts}
    more = [
        {"session": 1, "instance": None, "platform": None, "unit": None, "source": "made up",
         "name": name, "value": value}
        for name, value in known.items()
    ]  # fmt: skip
    table = table.rows(~is_in(table["name"], known))
    table = table.with_columns(session=[1] * len(table))
    return columns.stacked(table, columns.facts(more).only(*table.names))
