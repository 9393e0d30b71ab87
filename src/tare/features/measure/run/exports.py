"""Trials of ``tare run`` as JSON: as ``--json`` writes them, and as hyperfine does."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tare.experiment.metrics import ranked
from tare.experiment.results import mean_by
from tare.experiment.samples import is_bucket
from tare.experiment.time_limits import COUNTED

if TYPE_CHECKING:
    from tare.cli.lines import Line
    from tare.experiment.results import Results


@dataclass(frozen=True)
class Trial:
    """One trial, as files have it."""

    number: int
    #: Workload and platform of the trial.
    workload: str
    platform: str
    status: str
    reason: str | None
    #: End of standard error of a failed trial, empty if nothing was written; None: not captured.
    stderr: str | None
    #: Values of the trial, by metric and source.
    values: Mapping[tuple[str, str], float]
    #: What the time of a killed trial exceeds, in nanoseconds; None: it was not killed.
    above_ns: float | None = None

    def best(self, metric: str) -> tuple[float | None, str | None]:
        """Return the value of a metric on its best source, and that source."""
        sources = [source for name, source in self.values if name == metric]
        source = next(iter(ranked(metric, sources)), None)
        return (None, None) if source is None else (self.values[metric, source], source)

    def get(self, metric: str, source: str) -> float | None:
        """Return the value of a metric from a source."""
        return self.values.get((metric, source))


def trials_of(results: Results) -> list[Trial]:
    """Return the trials that ended, in order of time."""
    values: dict[int, dict[tuple[str, str], float]] = defaultdict(dict)
    for key, part in results.sample_table:
        if key.phase == "measured":
            for row in mean_by(part, "trial").records():
                values[row["trial"]][key.metric, key.source] = row["value"]
    evidence: dict[int, str] = {}
    for fault in results.faults.records():
        if fault["kind"] != "warning" and fault["evidence"]:
            evidence.setdefault(fault["trial"], fault["evidence"])
    return [
        Trial(
            number := row["trial"], row["workload"], row["platform"], row["status"], row["reason"],
            None if row["status"] == "ok"
            else evidence.get(number, "" if row["error_captured"] else None),
            values[number],
            row.get("above_ns") if row["status"] == "killed" else None,
        )
        for row in results.trial_table.where(status={*COUNTED, "failed"}).records()
    ]  # fmt: skip


def trial_json(trial: Trial) -> dict[str, Any]:
    """Return a trial's values on their best sources, and on all."""
    wall, source = trial.best("wall_ns")
    cpu, cpu_source = trial.best("cpu_ns")
    memory, memory_source = trial.best("memory_bytes")
    code = trial.get("exit_code", "wait")
    number = trial.get("signal", "wait")
    sources: dict[str, dict[str, float]] = defaultdict(dict)
    for (metric, name), value in sorted(trial.values.items()):
        if not is_bucket(metric):
            sources[metric][name] = value
    return {
        "trial": trial.number,
        "status": trial.status,
        "reason": trial.reason,
        "above_s": _seconds(trial.above_ns),
        "stderr": trial.stderr,
        "wall_s": _seconds(wall),
        "source": source,
        "teardown_s": _seconds(trial.get("teardown_ns", "switch")),
        "cpu_s": _seconds(cpu),
        "cpu_source": cpu_source,
        "memory_bytes": None if memory is None else round(memory),
        "memory_source": memory_source,
        "wait_s": _seconds(trial.get("wait_ns", "schedstat")),
        "exit": None if code is None else int(code),
        "signal": None if number is None else int(number),
        "timed_out": bool(trial.get("timed_out", "wait") or 0),
        "sources": dict(sources),
    }


def _seconds(value: float | None) -> float | None:
    return None if value is None else value / 1e9


def as_hyperfine(
    trials: Iterable[Trial], commands: Sequence[Line], *, named: bool = False
) -> dict[str, Any]:
    """Return what ``hyperfine --export-json`` writes; a command without a good trial is left out.

    Where runs were killed at a time limit, ``times`` has the others; what the killed ones take part
    in is null: the mean, the SD, the largest, and a median above the limit.

    Parameters
    ----------
    trials : iterable of Trial
        In order of time; failed ones are left out.
    commands : sequence of Line
        In the order of the document.
    named : bool
        Whether names were given, which hyperfine writes in place of commands.
    """
    by_name: dict[str, list[Trial]] = {one.name: [] for one in commands}
    killed: dict[str, int] = defaultdict(int)
    for trial in trials:
        if trial.status == "ok":
            by_name[trial.workload].append(trial)
        killed[trial.workload] += trial.status == "killed"
    return {
        "results": [
            _result(
                one.name if named else one.text,
                one.parameters,
                by_name[one.name],
                killed[one.name],
            )
            for one in commands
            if by_name[one.name]
        ]
    }


def _result(
    command: str, parameters: Mapping[str, str], trials: Sequence[Trial], killed: int
) -> dict[str, Any]:
    times = [value / 1e9 for t in trials if (value := t.best("wall_ns")[0]) is not None]
    memory = [round(value) for t in trials if (value := t.best("memory_bytes")[0]) is not None]
    median = statistics.median([*times, *[math.inf] * killed])
    return {
        "command": command,
        "mean": None if killed else float(np.mean(times)),
        "stddev": float(np.std(times, ddof=1)) if len(times) > 1 and not killed else None,
        "median": median if math.isfinite(median) else None,
        "user": _mean(trials, "user_ns"),
        "system": _mean(trials, "system_ns"),
        "min": min(times),
        "max": None if killed else max(times),
        "times": times,
        **({"memory_usage_byte": memory} if len(memory) == len(times) else {}),
        "exit_codes": [_code(t) for t in trials],
        **({"parameters": dict(parameters)} if parameters else {}),
    }


def _mean(trials: Sequence[Trial], metric: str) -> float | None:
    values = [value for t in trials if (value := t.get(metric, "rusage")) is not None]
    return float(np.mean(values)) / 1e9 if values else None


def _code(trial: Trial) -> int | None:
    code = trial.get("exit_code", "wait")
    return None if code is None else int(code)
