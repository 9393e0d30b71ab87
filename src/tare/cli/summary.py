"""What ``tare run`` tells: the first screen, and the JSON of trials, summary and facts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tare import journal, record
from tare.cli import output
from tare.metrics import SOURCES

#: Version of ``tare run --json``.
VERSION = 1
#: Where one disturbance takes more than this of the wall time, it is named.
NOTABLE = 0.01

#: (metric, source) to the mean over measured iterations and workers.
Values = dict[tuple[str, str], float]


@dataclass
class Trial:
    """One trial of ``tare run``."""

    number: int
    status: str = "unfinished"
    reason: str | None = None
    values: Values = field(default_factory=dict)
    evidence: str | None = None

    def best(self, metric: str) -> tuple[float | None, str | None]:
        """Return the value of a metric on its best source, and that source."""
        found = {source: v for (name, source), v in self.values.items() if name == metric}
        for source in (*SOURCES, *sorted(found)):
            if source in found:
                return found[source], source
        return None, None

    def get(self, metric: str, source: str) -> float | None:
        """Return the value of a metric from a source."""
        return self.values.get((metric, source))


@dataclass
class Summary:
    """All that is told of one command."""

    trials: list[Trial]
    facts: dict[str, Any]
    ended: str
    precision: float | None
    stop: journal.Stop | None

    @property
    def good(self) -> list[Trial]:
        """Trials that did not fail."""
        return [trial for trial in self.trials if trial.status == "ok"]

    def evidence(self) -> str | None:
        """Return what the first trial that failed said at last, where it was captured."""
        return next((trial.evidence for trial in self.trials if trial.evidence), None)

    def common(self, metric: str) -> tuple[str | None, list[float]]:
        """Return the best source that all good trials have, and the values."""
        for source in SOURCES:
            values = [trial.get(metric, source) for trial in self.good]
            if values and None not in values:
                return source, [v for v in values if v is not None]
        return None, []

    def elapsed(self) -> tuple[list[float], str]:
        """Return exec to end, with teardown where every trial has it, and what that is."""
        source, wall = self.common("wall_ns")
        teardown = [trial.get("teardown_ns", "switch") for trial in self.good]
        if source == "around":
            return wall, "spawn to wait, read around the command"
        whole = [t for t in teardown if t is not None]
        if len(whole) == len(wall):
            return [a + b for a, b in zip(wall, whole, strict=True)], (
                "exec to end with teardown, stamped by the kernel"
            )
        return wall, "exec to end without teardown, stamped by the kernel"

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` writes."""
        return {
            "version": VERSION,
            "trials": [_trial_json(trial) for trial in self.trials],
            "summary": self._summary_json(),
            "facts": self.facts,
        }

    def _summary_json(self) -> dict[str, Any]:
        values, meaning = self.elapsed()
        told: dict[str, Any] = {
            "n": len(self.good),
            "failed": len(self.trials) - len(self.good),
            "ended": self.ended,
            "time": meaning if values else None,
        }
        if values:
            told |= _statistics(values)
        return told


def _statistics(values: list[float]) -> dict[str, Any]:
    import numpy as np

    from tare.statistics.intervals import quantile_interval
    from tare.statistics.repetitions import reached_precision

    ns = np.array(values)
    median = quantile_interval(ns)
    p10, p90 = np.quantile(ns, [0.1, 0.9])
    return {
        "median_s": median.estimate / 1e9,
        "median_low_s": None if median.low is None else median.low / 1e9,
        "median_high_s": None if median.high is None else median.high / 1e9,
        "confidence": median.confidence,
        "precision": reached_precision(ns),
        "mean_s": float(ns.mean()) / 1e9,
        "sd_s": float(ns.std(ddof=1)) / 1e9 if len(ns) > 1 else None,
        "p10_s": float(p10) / 1e9,
        "p90_s": float(p90) / 1e9,
        "min_s": float(ns.min()) / 1e9,
        "max_s": float(ns.max()) / 1e9,
    }


def _trial_json(trial: Trial) -> dict[str, Any]:
    wall, source = trial.best("wall_ns")
    cpu, cpu_source = trial.best("cpu_ns")
    memory, memory_source = trial.best("memory_bytes")
    code = trial.get("exit_code", "wait")
    number = trial.get("signal", "wait")
    sources: dict[str, dict[str, float]] = defaultdict(dict)
    for (metric, name), value in sorted(trial.values.items()):
        sources[metric][name] = value
    return {
        "trial": trial.number,
        "status": trial.status,
        "reason": trial.reason,
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


def summarize(folder: Path, ended: str) -> Summary:
    """Read the journal of a ``tare run``."""
    trials: dict[int, Trial] = {}
    sums: dict[int, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    facts: dict[str, Any] = {}
    stop = None
    for line in journal.read_all(folder):
        match line:
            case journal.TrialStart(calibration=False):
                trials[line.trial] = Trial(line.trial)
            case record.Sample(phase="measured"):
                sums[line.trial][line.metric, line.source].append(line.value)
            case record.Fault() if line.trial in trials and line.evidence:
                trials[line.trial].evidence = line.evidence
            case journal.TrialEnd() if line.trial in trials:
                trials[line.trial].status = line.status
                trials[line.trial].reason = line.reason
            case journal.MachineFact():
                facts[line.name] = line.value
            case journal.Stop():
                stop = line
    for number, trial in trials.items():
        trial.values = {key: sum(v) / len(v) for key, v in sums[number].items()}
    finished = [trial for trial in trials.values() if trial.status != "unfinished"]
    return Summary(finished, facts, ended, stop.target if stop else None, stop)


def show(summary: Summary, kept: Path | None, platform: str) -> None:
    """Print the first screen: time with interval, spread, n, trust, what to type next."""
    values, meaning = summary.elapsed()
    if not values:
        return
    told = _statistics(values)
    ns = {key: told[key] * 1e9 for key in ("median_s", "p10_s", "p90_s")}
    median, p10, p90 = output.nanoseconds(ns["median_s"], ns["p10_s"], ns["p90_s"])
    if told["median_low_s"] is None:
        interval = "too few for an interval"
    else:
        _, low, high = output.nanoseconds(
            ns["median_s"], told["median_low_s"] * 1e9, told["median_high_s"] * 1e9
        )
        interval = f"95 % [{low}, {high}]"
    say = output.out.print
    say(f"Time    {median}  median, {interval}, n = {len(values)}")
    say(f"        {meaning}", style="dim")
    say(f"Spread  {p10} – {p90}  (p10–p90)")
    _show_resources(summary)
    say(_trust(summary, values))
    for problem in _problems(summary):
        say(problem)
    say(_next(summary, kept, platform), style="dim")


def _show_resources(summary: Summary) -> None:
    import numpy as np

    parts = []
    source, cpu = summary.common("cpu_ns")
    if cpu:
        parts.append(f"CPU {output.nanoseconds(float(np.median(cpu)))[0]} ({source})")
    source, memory = summary.common("memory_bytes")
    if memory:
        parts.append(f"memory {output.size(float(np.median(memory)))} ({source})")
    launch = summary.facts.get("launch_overhead_ns")
    if launch is not None:
        parts.append(f"launch cost {output.nanoseconds(float(launch))[0]} (not in the time)")
    output.out.print("Uses    " + ", ".join(parts))


def _trust(summary: Summary, values: list[float]) -> str:
    """Return one sentence on trust, with the largest disturbance named."""
    import numpy as np

    total = float(np.sum(values))
    shares = {
        "waiting for a CPU": ("wait_ns", "schedstat"),
        "time stolen by the hypervisor": ("steal_ns", "stat"),
        "throttling": ("throttled_ns", "cgroup"),
    }
    found = {
        name: sum(t.get(*key) or 0.0 for t in summary.good) / total for name, key in shares.items()
    }
    worst = max(found, key=lambda name: found[name])
    disturbed = (
        f"{worst} took {found[worst]:.1%} of it"
        if found[worst] > NOTABLE
        else "nothing disturbed it by more than 1 %"
    )
    reached = _statistics(values)["precision"]
    if reached is None:
        return f"Trust   too few trials to say how exact the median is; {disturbed}."
    return (
        f"Trust   the median is known to ±{reached:.2g}".replace(
            f"{reached:.2g}", f"{reached * 100:.2g} %"
        )
        + f"; {disturbed}."
    )


def _problems(summary: Summary) -> list[str]:
    told = []
    failed = len(summary.trials) - len(summary.good)
    if failed:
        reasons = sorted({t.reason for t in summary.trials if t.reason})
        told.append(f"Failed  {failed} of {len(summary.trials)} trials: {'; '.join(reasons[:3])}")
    stop = summary.stop
    if stop and stop.target and stop.reached and stop.reached > stop.target and stop.more_trials:
        more = "" if stop.more_seconds is None else f", {output.seconds(stop.more_seconds)}"
        told.append(
            f"Note    target not reached: ±{stop.reached:.1%} instead of ±{stop.target:.0%}; "
            f"about {stop.more_trials} more trials{more}"
        )
    return told


def _next(summary: Summary, kept: Path | None, platform: str) -> str:
    if kept is not None:
        return f"Next    tare experiment report {kept}"
    stop = summary.stop
    if stop and stop.reason == "budget" and stop.more_seconds:
        return (
            f"Next    tare run --budget '{output.seconds(max(1.0, stop.more_seconds * 1.5))}' -- …"
        )
    if platform == "bare":
        return "Next    tare run --platform unshare -- …   (what does a container cost it?)"
    return "Next    tare experiment new   (compare platforms side by side)"
