"""What the trials of a sweep say: a row a trial, a group of trials for each calibration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pandas as pd

from tare.experiment.metrics import ranked
from tare.experiment.results import Results
from tare.experiment.specification import Experiment, SizeSpec
from tare.experiment.sweep.document import By
from tare.results.message import Message, message

#: Fewer steps of CPU tell no line from a bend (CALIBRATE has 40).
_FEWEST_STEPS = 4
#: A small machine has no more whole CPUs than it has: its steps are told, and decide nothing.
_FEWEST_WHOLE = 2
#: Factor whose levels are periods of the quota in seconds, where several are tried.
PERIOD = "period"
#: What each trial says beside its rate: column, metric, and how rows of it are put together.
_COLUMNS = (
    ("clock_hz", "clock_hz", "median"),
    ("frequency_hz", "frequency_hz", "mean"),
    ("throttled_ns", "throttled_ns", "sum"),
    ("throttled_periods", "throttled_periods", "sum"),
    ("periods", "periods", "sum"),
    ("steal_ns", "steal_ns", "sum"),
    ("wait_ns", "wait_ns", "sum"),
    ("thermal_throttles", "thermal_throttles", "sum"),
    ("residual", "residual", "max"),
)
#: Of several sources of what the front's observer counts, its own.
_BEST = {
    "throttled_ns": "host_cgroup",
    "throttled_periods": "host_cgroup",
    "periods": "host_cgroup",
}


@dataclass(frozen=True, eq=False)
class Sweep:
    """The trials of one workload on one platform at several steps of CPU.

    Attributes
    ----------
    by : By
        What was swept.
    levels : mapping
        The levels of all other factors.
    table : DataFrame
        One row a good trial: ``trial, session, cpus, memory_bytes, rate, delivered, clock_hz,
        frequency_hz, throttled_share, throttled_s, throttled_cpus, waited_cpus, steal_cpus,
        thermal_throttles, residual``; what a trial does not have is NaN.
    asked : tuple of float
        CPUs of every step that has a trial, good or not.
    left_out : mapping
        Number of trials that are not in it, by why: ``failed``, ``no_limit``, ``no_rate``.
    """

    by: By
    levels: Mapping[str, str]
    period_s: float
    table: pd.DataFrame
    asked: tuple[float, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


def fewest_steps(by: By) -> int:
    """Return how many steps of CPU a calibration takes."""
    return _FEWEST_WHOLE if by == "cpuset" else _FEWEST_STEPS


def why_not(results: Results) -> Message | None:
    """Say why an experiment is no calibration; None where it is one."""
    if results.experiment.window is None:
        return message("calibration.refusal.windows")
    found = _swept(results)
    if found is None:
        return message("calibration.refusal.steps")
    most = max((one.table["cpus"].nunique() for one in sweeps(results)), default=0)
    if most == 0:
        return message("calibration.refusal.failed")
    fewest = fewest_steps(found[1])
    if most < fewest:
        return message("calibration.refusal.few", steps=most, fewest=fewest)
    return None


def swept(results: Results) -> str | None:
    """Return the factor whose levels are the steps of CPU; None where there is none."""
    found = _swept(results) if results.experiment.window is not None else None
    return found and found[0]


def sweeps(results: Results) -> Iterator[Sweep]:
    """Yield the trials of each combination of the factors that were not swept."""
    found = _swept(results)
    if found is None:
        return
    factor, by = found
    others = [f for f in results.factors if f != factor]
    trials = results.trial_table[results.trial_table["status"] != "unfinished"]
    given = trials[factor].map(lambda level: _given(results.experiment, factor, str(level)))
    trials = trials.assign(
        cpus=given.map(lambda one: one[0]), memory_bytes=given.map(lambda one: one[1])
    )
    # In the order of the experiment, not of chance.
    for _, some in trials.sort_values("cell").groupby(others, dropna=False, sort=False):
        levels = {f: str(some[f].iloc[0]) for f in others}
        yield _sweep(results, by, levels, some)


def _swept(results: Results) -> tuple[str, By] | None:
    """Return the factor that says how much CPU there is, and what kind of steps it has."""
    experiment = results.experiment
    if "quota" in results.varied:
        return "quota", "quota"
    if "size" not in results.varied:
        return None
    sizes = [experiment.limits(str(level)) for level in results.trial_table["size"].unique()]
    if len({s.cpuset for s in sizes if s.cpuset}) > 1:
        return "size", "cpuset"
    if len({s.cores for s in sizes if s.cores}) < 2:
        return None
    memory = len({s.memory_bytes for s in sizes if s.memory_bytes}) > 1
    return "size", "memory" if memory else "quota"


def _given(experiment: Experiment, factor: str, level: str) -> tuple[float | None, int | None]:
    """Return CPUs and memory that a level stands for; None where it limits nothing."""
    if factor == "quota":
        try:
            return float(level), None
        except ValueError:
            return None, None
    size: SizeSpec = experiment.limits(level)
    return float(size.cpuset or size.cores or 0) or None, size.memory_bytes


def _sweep(results: Results, by: By, levels: dict[str, str], trials: pd.DataFrame) -> Sweep:
    good = trials[(trials["status"] == "ok") & trials["cpus"].notna()]
    samples = results.sample_table
    samples = samples[(samples["phase"] == "measured") & samples["trial"].isin(good["trial"])]
    table = good.merge(_rates(samples, int(levels.get("workers", 1))), on="trial", how="left")
    for column, metric, how in _COLUMNS:
        values = _of(samples, metric, _BEST.get(metric)).groupby("trial")["value"].agg(how)
        table = table.merge(values.rename(column), on="trial", how="left")
    seconds = table["duration_ns"] if "duration_ns" in table else table["window_ns"]
    table = table.assign(
        throttled_share=table["throttled_periods"] / table["periods"].where(table["periods"] > 0),
        throttled_s=table["throttled_ns"] / 1e9,
        throttled_cpus=table["throttled_ns"] / seconds,
        waited_cpus=table["wait_ns"] / seconds,
        steal_cpus=table["steal_ns"] / seconds,
    )
    left_out = {
        "failed": int((trials["status"] == "failed").sum()),
        "no_limit": int(trials["cpus"].isna().sum()),
        "no_rate": int(table["rate"].isna().sum()),
    }
    return Sweep(
        by=by,
        levels=levels,
        period_s=_period(results.experiment, levels),
        table=table[table["rate"].notna()].sort_values(["cpus", "trial"]),
        asked=tuple(float(c) for c in sorted(trials["cpus"].dropna().unique())),
        left_out={why: n for why, n in left_out.items() if n},
    )


def _rates(samples: pd.DataFrame, workers: int) -> pd.DataFrame:
    """Return rate, CPU delivered and length of the window of each trial, of all workers."""
    rates = _of(samples, "throughput").groupby("trial")["value"].agg(["sum", "count"])
    # A worker that sent nothing makes the sum too small.
    whole = rates.loc[rates["count"] >= workers, "sum"].rename("rate").reset_index()
    keys = ["trial", "worker"]
    window = _of(samples, "window_ns")[[*keys, "value"]]
    cpu = _of(samples, "window_cpu_ns")[[*keys, "value"]]
    both = window.merge(cpu, on=keys, suffixes=("", "_cpu"))
    both["delivered"] = both["value_cpu"] / both["value"]
    delivered = both.groupby("trial")["delivered"].agg(["sum", "count"])
    found = delivered.loc[delivered["count"] >= workers, "sum"].rename("delivered")
    length = window.groupby("trial")["value"].mean().rename("window_ns")
    return whole.merge(found, on="trial", how="left").merge(length, on="trial", how="left")


def _of(samples: pd.DataFrame, metric: str, source: str | None = None) -> pd.DataFrame:
    """Select a metric's samples from the best source that most trials have."""
    rows = samples[samples["metric"] == metric]
    if rows["source"].nunique() < 2:
        return rows
    trials = rows.groupby("source")["trial"].nunique()
    best = [source] if source in trials.index else _ranked(metric, trials)
    return rows[rows["source"] == best[0]]


def _ranked(metric: str, trials: pd.Series) -> list[str]:
    most = [str(name) for name, n in trials.items() if n == trials.max()]
    return ranked(metric, most)


def _period(experiment: Experiment, levels: Mapping[str, str]) -> float:
    return float(levels.get(PERIOD, experiment.quota_period_s))
