"""Results without a machine: made from a few numbers that say how each cell behaves.

``make()`` gives what an experiment would have stored. Whoever tests a finding, a chart or a page
says what the truth is (``Behaviour`` of the levels of a cell) and sees whether it comes out.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import columns
import msgspec
import numpy as np

from tare.experiment.results import Results, empty
from tare.experiment.samples import Samples
from tare.experiment.specification import Experiment, LoadSpec, SizeSpec
from tare.results.columns import Columns, objects
from tare.workloads.specification import WorkloadSpec

MS = 1_000_000


@dataclass(frozen=True)
class Behaviour:
    """How the trials of one cell come out; spreads are relative to the mean."""

    mean_ns: float = 200 * MS
    #: SD between trials.
    spread: float = 0.01
    #: SD between the iterations of one worker.
    within: float = 0.002
    #: Constant difference between the fastest and the slowest worker.
    worker_difference: float = 0.0
    #: Share of trials that are disturbed, and by how much of the mean.
    outliers: float = 0.0
    outlier_size: float = 0.5
    #: Growth of the mean from the first trial to the last.
    drift: float = 0.0
    #: The first iterations of a worker are slower by this.
    warmup: float = 0.0
    #: SD between inputs.
    inputs: float = 0.0
    #: Share of the trials' variance that comes from waiting in the run queue.
    waiting: float = 0.0
    #: Mean and SD of what a harness adds.
    harness_cpu_ns: float = 1.0 * MS
    harness_cpu_sd_ns: float = 0.1 * MS
    harness_wall_ns: float = 3.0 * MS
    harness_wall_sd_ns: float = 0.5 * MS
    #: Chance that a trial fails.
    failing: float = 0.0


Behave = Callable[[dict[str, str]], Behaviour]


def make(
    behave: Behave | Behaviour | None = None,
    *,
    workloads: Sequence[str] = ("exp_float",),
    platforms: Sequence[str] = ("bare", "docker"),
    workers: Sequence[int] = (1, 2),
    loads: Sequence[str] = ("none",),
    pinnings: Sequence[str] = ("none",),
    sizes: Sequence[str] = ("all",),
    trials: int = 40,
    iterations: int = 1,
    inputs: int = 1,
    tail: str = "loaded",
    seed: int = 1,
    notes: Sequence[str] = (),
    without: dict[str, Sequence[str]] | None = None,
    leave_out: Callable[[dict[str, str]], bool] = lambda _: False,
    emulated: Sequence[str] = (),
    more: Callable[[dict[str, str]], dict[tuple[str, str], float]] = lambda _: {},
    **options: Any,
) -> Results:
    """Build the results of an experiment over all combinations of the levels.

    ``behave`` maps the levels of a cell to its behaviour; ``without`` names sources that a
    platform lacks, e.g. ``{"docker": ["perf_cpu"]}``; sizes are cores, "0.5c"; ``leave_out`` says
    which cells there are not, ``more`` what else each trial has, by metric and source; ``options``
    go to the ``Experiment``.
    """
    rule = behave if callable(behave) else _constant(behave or Behaviour())
    rng = np.random.default_rng(seed)
    experiment = Experiment(
        name="synthetic",
        question="Are containers as stable as bare?",
        workloads=tuple(WorkloadSpec(name=w, kernel=w) for w in workloads),
        factors={
            "platform": tuple(platforms),
            "workers": tuple(workers),
            "load": tuple(loads),
            "pinning": tuple(pinnings),
            "size": tuple(sizes),
        },
        sizes={name: SizeSpec(cores=float(name[:-1])) for name in sizes if name != "all"},
        loads={name: LoadSpec(kind="stress_ng") for name in loads if name != "none"},
        iterations=iterations,
        inputs=inputs,
        tail=tail,  # type: ignore[arg-type]
        seed=seed,
        **options,
    )
    crossed = itertools.product(workloads, platforms, workers, pinnings, loads, sizes)
    cells = [cell for cell in crossed if not leave_out(_levels(*cell))]
    effects = {w: rng.standard_normal(inputs) for w in workloads}
    rows: list[dict[str, Any]] = []
    samples: list[tuple[Any, ...]] = []
    now = 10**12
    for block in range(trials):
        for position, cell in enumerate(rng.permutation(len(cells))):
            levels = _levels(*cells[cell])
            workload, platform, count = cells[cell][:3]
            number = len(rows)
            how = rule(levels)
            failed = bool(rng.random() < how.failing)
            rows.append(
                {
                    "trial": number,
                    "session": 0,
                    "block": block,
                    "position": position,
                    "cell": int(cell),
                    "seed": block % inputs,
                    "status": "failed" if failed else "ok",
                    "reason": "exit 1" if failed else None,
                    **levels,
                }
            )
            if failed:
                continue
            shift = how.inputs * effects[workload][block % inputs]
            one, now = _trial(rng, how, number, count, iterations, block / trials, shift, tail, now)
            missing = set((without or {}).get(platform, ()))
            samples += [s for s in one if s[5] not in missing]
            samples += [
                (number, 0, 0, "measured", metric, source, value)
                for (metric, source), value in more(levels).items()
            ]
    return Results(
        experiment=experiment,
        trial_table=columns.of_records(rows),
        sample_table=_sample_table(samples),
        facts=_facts(platforms, emulated),
        sessions=columns.of_records(
            [
                {
                    "session": 0,
                    "started": "2026-01-01T10:00:00+00:00",
                    "ended": "2026-01-01T10:04:00+00:00",
                    "boot_id": "synthetic",
                    "nonce": 1,
                }
            ]
        ),
        faults=empty("faults"),
        stops=_stops(len(cells), trials),
        notes=list(notes),
    )


def with_limit(results: Results, limit_ns: float, metric: str = "wall_ns") -> Results:
    """Give the workloads a time limit, at which trials with a longer time were killed.

    Workloads become commands, and ``metric`` the one that is asked for.
    """
    asked = results.experiment
    workloads = tuple(
        WorkloadSpec(name=one.name, command=(one.name,), timeout_s=limit_ns / 1e9)
        for one in asked.workloads
    )
    experiment = msgspec.structs.replace(asked, workloads=workloads, metric=metric)
    trials = results.trial_table
    values = results.values(metric)
    late = set(values["trial"][values["value"] > limit_ns].tolist())
    is_killed = np.array([trial in late for trial in trials["trial"].tolist()])
    return dataclasses.replace(
        results,
        experiment=experiment,
        trial_table=trials.with_columns(
            status=objects(
                "killed" if late else status
                for late, status in zip(is_killed, trials["status"], strict=True)
            ),
            limit_kind=objects("timeout" if late else None for late in is_killed),
            above_ns=np.where(is_killed, limit_ns, np.nan),
        ),
    )


def _constant(behaviour: Behaviour) -> Behave:
    return lambda _: behaviour


def _trial(
    rng: np.random.Generator,
    how: Behaviour,
    number: int,
    workers: int,
    iterations: int,
    progress: float,
    shift: float,
    tail: str,
    now: int,
) -> tuple[list[tuple[Any, ...]], int]:
    """Samples of one trial, and the clock at its end."""
    noise = rng.standard_normal()
    wait_share = np.sqrt(how.waiting) * abs(rng.standard_normal())
    common = 1 + how.spread * (np.sqrt(1 - how.waiting) * noise + wait_share)
    common += how.drift * progress + shift
    if rng.random() < how.outliers:
        common += how.outlier_size
    out: list[tuple[Any, ...]] = []
    latest = now
    offsets = np.linspace(0, how.worker_difference, workers) if workers > 1 else np.zeros(1)
    for worker in range(workers):
        clock = now + int(rng.integers(0, 50_000))
        for iteration in range(iterations + (1 if tail == "loaded" and workers > 1 else 0)):
            phase = "measured" if iteration < iterations else "tail"
            warm = how.warmup if iteration < 3 and iterations > 10 else 0.0
            value = how.mean_ns * (
                common + offsets[worker] + warm + how.within * rng.standard_normal()
            )
            wait = how.mean_ns * how.spread * wait_share + rng.exponential(50_000)
            out += _iteration(rng, how, number, worker, iteration, phase, value, wait, clock)
            clock += int(value + how.harness_wall_ns)
            latest = max(latest, clock)
    out.append((number, None, None, "measured", "steal_ns", "stat", 0))
    out.append((number, None, None, "measured", "cpu_pressure_ns", "system", 1000))
    return out, latest + 5 * MS


def _iteration(
    rng: np.random.Generator,
    how: Behaviour,
    number: int,
    worker: int,
    iteration: int,
    phase: str,
    value: float,
    wait: float,
    clock: int,
) -> list[tuple[Any, ...]]:
    """Samples of one iteration of one worker."""
    own = value + 2 * MS
    cpu = own + how.harness_cpu_ns + how.harness_cpu_sd_ns * rng.standard_normal()
    wall = own + how.harness_wall_ns + abs(how.harness_wall_sd_ns * rng.standard_normal())
    values = [
        ("kernel_cpu_ns", "self", value),
        ("kernel_wall_ns", "self", value + 10_000),
        ("kernel_realtime_ns", "self", value + 10_000),
        ("cpu_ns", "self", own),
        ("cpu_ns", "rusage", cpu),
        ("cpu_ns", "cgroup", cpu + 20_000),
        ("wall_ns", "self", own + 10_000),
        ("wall_ns", "perf_cpu", own + 0.4 * MS),
        ("wall_ns", "around", wall),
        ("start_ns", "self", clock + how.harness_wall_ns / 2),
        ("end_ns", "self", clock + how.harness_wall_ns / 2 + own),
        ("start_ns", "perf_cpu", clock + how.harness_wall_ns / 2 - 0.2 * MS),
        ("end_ns", "perf_cpu", clock + how.harness_wall_ns / 2 + own + 0.2 * MS),
        ("wait_ns", "schedstat", wait),
        ("voluntary_switches", "rusage", 1 + rng.poisson(1)),
        ("involuntary_switches", "rusage", rng.poisson(1 + wait / MS)),
        ("minor_faults", "rusage", 600 + rng.poisson(5)),
        ("major_faults", "rusage", 0),
        ("migrations", "sched", rng.poisson(0.5)),
        ("memory_bytes", "cgroup", 4 * 2**20),
        ("exit_code", "wait", 0),
    ]
    return [(number, worker, iteration, phase, m, s, v) for m, s, v in values]


def _sample_table(samples: list[tuple[Any, ...]]) -> Samples:
    names = ["trial", "worker", "iteration", "phase", "metric", "source", "value"]
    return columns.samples_of(Columns.of_rows(names, samples))


def _levels(
    workload: str, platform: str, workers: int, pinning: str, load: str, size: str
) -> dict[str, str]:
    return {
        "workload": workload,
        "platform": platform,
        "workers": str(workers),
        "pinning": pinning,
        "load": load,
        "size": size,
    }


def _facts(platforms: Sequence[str], emulated: Sequence[str] = ()) -> Columns:
    rows: list[dict[str, Any]] = [
        {"name": "cpus", "value": 2, "unit": "1", "platform": None, "source": "sysfs"},
        {"name": "kernel", "value": "6.1.0", "unit": None, "platform": None, "source": "uname"},
    ]
    rows += [
        {
            "name": "launch_overhead_ns",
            "value": 900_000 + 100_000 * i,
            "unit": "ns",
            "platform": p,
            "source": "self",
        }
        for i, p in enumerate(platforms)
    ]
    rows += [
        {"name": "emulated", "value": True, "unit": None, "platform": p, "source": "qemu"}
        for p in emulated
    ]
    return columns.facts([{"session": 0, "instance": None, **r} for r in rows])


def _stops(cells: int, trials: int) -> Columns:
    return columns.of_records(
        [
            {
                "cell": c,
                "trials": trials,
                "reason": "fixed",
                "target": None,
                "reached": None,
                "more_trials": None,
                "more_seconds": None,
            }
            for c in range(cells)
        ]
    )
