"""Trials of commands, as the journal has them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tare.agent import record
from tare.experiment import journal
from tare.experiment.metrics import ranked

#: Share of failed trials from which on the exit code says so.
OFTEN = 0.25
#: Numbers of processes, by which the same warning would be another one each time.
_PIDS = re.compile(r" \(\d+\)")
#: (metric, source) to the mean over measured iterations and workers.
Values = dict[tuple[str, str], float]


def failing_often(trials: Iterable[tuple[int, str]]) -> tuple[int, int] | None:
    """Return how many trials failed, and of how many, where it was often; None: it was not.

    What the others say is then not of the command as it is. Of several sessions the last one
    counts: what failed before it may have been repaired since.

    Parameters
    ----------
    trials : iterable of (int, str)
        Session and status of each.
    """
    ended = [(session, status) for session, status in trials if status != "unfinished"]
    last = max((session for session, _ in ended), default=0)
    of_last = [status for session, status in ended if session == last]
    failed = of_last.count("failed")
    return (failed, len(of_last)) if failed and failed >= OFTEN * len(of_last) else None


@dataclass
class Trial:
    """One trial of ``tare run``."""

    number: int
    #: What it was of: its workload, and its platform.
    workload: str = ""
    platform: str = ""
    session: int = 1
    status: str = "unfinished"
    reason: str | None = None
    failure_kind: str | None = None
    values: Values = field(default_factory=dict)
    #: Of its first fault: its kind, and the end of standard error, empty where nothing was written.
    kind: str | None = None
    stderr: str | None = None
    #: When it began, and how long all of it took.
    began_ns: int = 0
    duration_ns: float = 0.0

    def best(self, metric: str) -> tuple[float | None, str | None]:
        """Return the value of a metric on its best source, and that source."""
        found = {source: v for (name, source), v in self.values.items() if name == metric}
        source = next(iter(ranked(metric, found)), None)
        return (None, None) if source is None else (found[source], source)

    def get(self, metric: str, source: str) -> float | None:
        """Return the value of a metric from a source."""
        return self.values.get((metric, source))


def read_trials(folder: Path) -> list[Trial]:
    """Return the good trials that a folder has, in order of time."""
    return [trial for trial in read_all(folder)[0] if trial.status == "ok"]


def read_all(
    folder: Path,
) -> tuple[list[Trial], dict[str, Any], journal.Stop | None, tuple[str, ...]]:
    """Return trials that ended, facts, why the last cell stopped, and warnings."""
    trials: dict[int, Trial] = {}
    sums: dict[int, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    facts: dict[str, Any] = {}
    warnings: dict[str, None] = {}
    stop = None
    session = 1
    for line in journal.read_all(folder):
        match line:
            case journal.Session():
                session = line.session
            case journal.TrialStart(rehearsal=False):
                trials[line.trial] = Trial(
                    line.trial,
                    line.levels["workload"],
                    line.levels.get("platform", ""),
                    session,
                    began_ns=line.monotonic_ns,
                    stderr="" if line.error_captured else None,
                )
            case record.Sample(phase="measured"):
                sums[line.trial][line.metric, line.source].append(line.value)
            case record.Fault() if line.kind != "warning" and line.trial in trials:
                trial = trials[line.trial]
                trial.kind = trial.kind or line.kind
                trial.stderr = trial.stderr or line.evidence or trial.stderr
            case journal.TrialEnd() if line.trial in trials:
                trial = trials[line.trial]
                trial.status, trial.reason = line.status, line.reason
                trial.failure_kind = line.failure_kind or None
                trial.duration_ns = line.monotonic_ns - trial.began_ns
            case record.Fault(kind="warning"):
                warnings[_PIDS.sub("", line.message)] = None
            case journal.MachineFact():
                facts[line.name] = line.value
            case journal.Stop():
                stop = line
    for number, trial in trials.items():
        trial.values = {key: sum(v) / len(v) for key, v in sums[number].items()}
    ended = [t for t in trials.values() if t.status != "unfinished"]
    return ended, facts, stop, tuple(warnings)
