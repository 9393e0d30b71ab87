"""What the trials of a sweep say: a row a trial, a group of trials for each calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tare.experiment.metrics import ranked
from tare.experiment.results import Results
from tare.experiment.samples import NOTHING, Samples
from tare.experiment.specification import Experiment, SizeSpec
from tare.experiment.sweep.axis import MB_BYTES, AxisName
from tare.experiment.sweep.document import By
from tare.results.columns import Columns
from tare.results.message import Message, message
from tare.statistics.statistic import FloatArray

#: Fewer steps of CPU tell no line from a bend (CALIBRATE has 40).
_FEWEST_STEPS = 4
#: A small machine has no more whole CPUs than it has: its steps are told, and decide nothing.
_FEWEST_WHOLE = 2
#: Memory per CPU that differs by less, relatively, is the same.
_ALIKE = 0.01
#: Factor whose levels are periods of the quota in seconds, where several are tried.
PERIOD = "period"
#: What is known of each trial besides its rate: metric, and how its samples become one value.
_METRICS: dict[str, Callable[[FloatArray], float]] = {
    "clock_hz": np.median,
    "frequency_hz": np.mean,
    "throttled_ns": np.sum,
    "throttled_periods": np.sum,
    "periods": np.sum,
    "steal_ns": np.sum,
    "wait_ns": np.sum,
    "thermal_throttles": np.sum,
    "residual": np.max,
}
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
    table : Columns
        One row per good trial: ``trial, session, cpus, memory_bytes, place`` (on the axis),
        ``rate, delivered, clock_hz, frequency_hz, throttled_share, throttled_s, throttled_cpus,
        waited_cpus, steal_cpus, thermal_throttles, residual``; what a trial does not have is NaN.
    asked : tuple of float
        Places of every step that has a trial, good or not.
    left_out : mapping
        Number of trials that are not in it, by why: ``failed``, ``no_limit``, ``no_rate``.
    """

    by: By
    levels: Mapping[str, str]
    period_s: float
    table: Columns
    asked: tuple[float, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def axis(self) -> AxisName:
        """What the speed is followed along."""
        return "memory" if self.by == "memory" else "cpu"


def fewest_steps(by: By) -> int:
    """Return how many steps of CPU a calibration takes."""
    return _FEWEST_WHOLE if by == "cpuset" else _FEWEST_STEPS


def why_not(results: Results) -> Message | None:
    """Say why an experiment is no calibration; None where it is one."""
    if results.experiment.window is None:
        return message("trials are executions, not windows: add a [window] table to the experiment")
    found = _swept(results)
    if found is None:
        return message("no steps of CPU: add a factor quota, or sizes with cores or cpuset")
    most = max((len(one.table.distinct("cpus")) for one in sweeps(results)), default=0)
    if most == 0:
        return message("no trial ended well")
    fewest = fewest_steps(found[1])
    if most < fewest:
        return message(
            "only {steps | counted('step')} of CPU with good trials, a line needs {fewest}",
            steps=most,
            fewest=fewest,
        )
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
    trials = results.without_killed.trial_table.where(status={"ok", "failed"})
    given = [_given(results.experiment, factor, str(level)) for level in trials[factor]]
    cpus = np.array([cpus for cpus, _ in given], dtype=float)
    memory = np.array([memory for _, memory in given], dtype=float)
    place = memory / MB_BYTES if by == "memory" else cpus
    trials = trials.with_columns(cpus=cpus, memory_bytes=memory, place=place)
    # In the order of the experiment, not of chance.
    for _, some in sorted(trials.groups(*others), key=lambda one: one[1]["cell"].min()):
        yield _sweep(results, by, {f: str(some[f][0]) for f in others}, some)


def _swept(results: Results) -> tuple[str, By] | None:
    """Return the factor that says how much CPU there is, and what kind of steps it has."""
    experiment = results.experiment
    if "quota" in results.varied:
        return "quota", "quota"
    if "size" not in results.varied:
        return None
    sizes = [experiment.limits(str(level)) for level in results.levels("size")]
    if len({s.cpuset for s in sizes if s.cpuset}) > 1:
        return "size", "cpuset"
    if len({s.cores for s in sizes if s.cores}) < 2:
        return None
    return "size", "memory" if _proportional(sizes) else "quota"


def _proportional(sizes: Sequence[SizeSpec]) -> bool:
    """Tell whether CPU time is in proportion to memory, as on AWS Lambda."""
    per_core = [s.memory_bytes / s.cores for s in sizes if s.memory_bytes and s.cores]
    return len(per_core) == len(sizes) and max(per_core) <= (1 + _ALIKE) * min(per_core)


def _given(experiment: Experiment, factor: str, level: str) -> tuple[float | None, int | None]:
    """Return CPUs and memory that a level stands for; None where it limits nothing."""
    if factor == "quota":
        try:
            return float(level), None
        except ValueError:
            return None, None
    size: SizeSpec = experiment.limits(level)
    return float(size.cpuset or size.cores or 0) or None, size.memory_bytes


def _sweep(results: Results, by: By, levels: dict[str, str], trials: Columns) -> Sweep:
    good = trials.where(status="ok")
    good = good.rows(~np.isnan(good["cpus"]))
    numbers = good["trial"].tolist()
    samples = results.sample_table.of_trials(set(numbers))
    rates = _rates(samples, int(levels.get("workers", 1)))
    found = {
        metric: _of(samples, metric).reduced("trial", "value", how)
        for metric, how in _METRICS.items()
    }
    known = {
        name: np.array([of.get(trial, np.nan) for trial in numbers], dtype=float)
        for name, of in (*rates.items(), *found.items())
    }
    seconds = good["duration_ns"] if "duration_ns" in good else known["window_ns"]
    shares = np.full(len(numbers), np.nan)
    some = known["periods"] > 0
    shares[some] = known["throttled_periods"][some] / known["periods"][some]
    table = good.with_columns(
        **known,
        throttled_share=shares,
        throttled_s=known["throttled_ns"] / 1e9,
        throttled_cpus=known["throttled_ns"] / seconds,
        waited_cpus=known["wait_ns"] / seconds,
        steal_cpus=known["steal_ns"] / seconds,
    )
    left_out = {
        "failed": len(trials.where(status="failed")),
        "no_limit": int(np.isnan(trials["cpus"]).sum()),
        "no_rate": int(np.isnan(table["rate"]).sum()),
    }
    return Sweep(
        by=by,
        levels=levels,
        period_s=_period(results.experiment, levels),
        table=table.rows(~np.isnan(table["rate"])).sorted_by("cpus", "trial"),
        asked=tuple(np.unique(trials["place"][~np.isnan(trials["place"])]).tolist()),
        left_out={why: n for why, n in left_out.items() if n},
    )


def _rates(samples: Samples, workers: int) -> dict[str, dict[int, float]]:
    """Return rate, CPU delivered and length of the window of all workers, each by trial."""
    window = _of(samples, "window_ns")
    keys = list(zip(window["trial"].tolist(), window["worker"].tolist(), strict=True))
    used = _of(samples, "window_cpu_ns")
    cpu_ns = dict(zip(zip(used["trial"].tolist(), used["worker"].tolist(), strict=True),
                      used["value"].tolist(), strict=True))  # fmt: skip
    both = window.with_columns(cpu=[cpu_ns.get(key, np.nan) for key in keys])
    both = both.rows(~np.isnan(np.asarray(both["cpu"], dtype=float)))
    delivered = both.with_columns(value=both["cpu"] / both["value"])

    def whole(rows: Columns) -> dict[int, float]:
        # A worker that sent nothing makes the sum too small.
        sums = rows.reduced("trial", "value", lambda own: (float(own.sum()), len(own)))
        return {trial: total for trial, (total, n) in sums.items() if n >= workers}

    return {
        "rate": whole(_of(samples, "throughput")),
        "delivered": whole(delivered),
        "window_ns": window.reduced("trial", "value", np.mean),
    }


def _of(samples: Samples, metric: str) -> Columns:
    """Return a metric's samples from the best source that most trials have."""
    trials = {
        source: len(samples.of(metric, source).distinct("trial"))
        for source in samples.sources(metric)
    }
    if not trials:
        return NOTHING
    most = [source for source, n in trials.items() if n == max(trials.values())]
    best = _BEST.get(metric)
    return samples.of(metric, best if best in trials else ranked(metric, most)[0])


def _period(experiment: Experiment, levels: Mapping[str, str]) -> float:
    return float(levels.get(PERIOD, experiment.quota_period_s))
