"""What ``tare run`` tells: the first screen, and the JSON of trials, summary and facts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tare import journal, plan_file, record
from tare.cli import output
from tare.cli.trial_json import trial_json
from tare.experiment import Stopping
from tare.metrics import SOURCES

if TYPE_CHECKING:
    from tare.cli.asked import Known
    from tare.findings.sessions import Caveat
    from tare.statistics.intervals import Interval

#: Version of ``tare run --json``.
VERSION = 1
#: Budgets that are worth typing; who wants to wait longer knows it.
BUDGETS_S = (20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
#: Of the trials that are projected: spreads are not known exactly.
RESERVE = 1.2
#: Share of failed trials from which on the exit code says so.
OFTEN = 0.25
#: Where one disturbance takes more than this of the wall time, it is named.
NOTABLE = 0.01

#: (metric, source) to the mean over measured iterations and workers.
Values = dict[tuple[str, str], float]


def fails_often(failed: int, trials: int) -> bool:
    """Tell whether so many failed that what the others say is not of the command as it is."""
    return failed > 0 and failed >= OFTEN * trials


@dataclass
class Trial:
    """One trial of ``tare run``."""

    number: int
    session: int = 1
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
    #: What was asked, and of which metric first.
    stopping: Stopping
    metric: str
    stop: journal.Stop | None
    caveats: tuple[Caveat, ...] = ()
    #: Session that levels are taken from, where the machine was not the same in all; None: all.
    levels_of: int | None = None

    @property
    def by_hand(self) -> bool:
        """Whether somebody who watched it ended it."""
        return self.ended == "interrupted"

    @property
    def good(self) -> list[Trial]:
        """Trials that did not fail."""
        return [trial for trial in self.trials if trial.status == "ok"]

    @property
    def short(self) -> str | None:
        """What is short of what was asked for: good trials, or a command that mostly works."""
        asked = self.stopping.trials
        if asked is not None and len(self.good) < asked:
            return f"{len(self.good)} of {asked} trials are good"
        if self.stop is not None and self.stop.reason == "failed":
            return f"it was given up with {len(self.good)} good trials, since it kept failing"
        failed = len(self.trials) - len(self.good)
        if fails_often(failed, len(self.trials)):
            return f"{failed} of {len(self.trials)} trials failed"
        return None

    @property
    def of_levels(self) -> list[Trial]:
        """Good trials that levels are taken from."""
        return [t for t in self.good if self.levels_of in (None, t.session)]

    def evidence(self) -> str | None:
        """Return what the first trial that failed said at last, where it was captured."""
        return next((trial.evidence for trial in self.trials if trial.evidence), None)

    def common(self, metric: str) -> tuple[str | None, list[float]]:
        """Return the best source that all good trials have, and the values."""
        for source in SOURCES:
            values = [trial.get(metric, source) for trial in self.of_levels]
            if values and None not in values:
                return source, [v for v in values if v is not None]
        return None, []

    def known(self) -> list[Known]:
        """Return how well what was asked is known; nothing of a metric that has no values."""
        from tare.cli.asked import know

        found = []
        for metric in (self.metric, *self.stopping.also):
            source, values = self.common(metric)
            if source is not None:
                found.append(know(metric, source, values, self.stopping, by_hand=self.by_hand))
        return found

    def elapsed(self) -> tuple[list[float], str]:
        """Return exec to end, with teardown where every trial has it, and what that is."""
        source, wall = self.common("wall_ns")
        teardown = [trial.get("teardown_ns", "switch") for trial in self.of_levels]
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
            "trials": [trial_json(trial) for trial in self.trials],
            "summary": self._summary_json(),
            "facts": self.facts,
            "caveats": self.caveats,
        }

    def _summary_json(self) -> dict[str, Any]:
        values, meaning = self.elapsed()
        told: dict[str, Any] = {
            "n": len(self.of_levels),
            "levels_of": self.levels_of,
            "failed": len(self.trials) - len(self.good),
            "ended": self.ended,
            "time": meaning if values else None,
        }
        if values:
            told |= _statistics(values, self)
        told["asked"] = [known.as_json() for known in self.known()]
        stop = self.stop
        told["stop"] = None if stop is None else {
            "reason": stop.reason, "why": stop.why, "refusal": stop.refusal, "target": stop.target,
            "reached": stop.reached, "more_trials": stop.more_trials,
        }  # fmt: skip
        return told


def _median(values: list[float], summary: Summary) -> Interval:
    import numpy as np

    from tare.cli.asked import interval

    return interval(np.array(values), 0.5, summary.stopping, by_hand=summary.by_hand)


def _statistics(values: list[float], summary: Summary) -> dict[str, Any]:
    import numpy as np

    ns, median = np.array(values), _median(values, summary)
    p10, p90 = np.quantile(ns, [0.1, 0.9])
    return {
        "median_s": median.estimate / 1e9,
        "median_low_s": None if median.low is None else median.low / 1e9,
        "median_high_s": None if median.high is None else median.high / 1e9,
        "confidence": median.confidence,
        "precision": median.half_width,
        "mean_s": float(ns.mean()) / 1e9,
        "sd_s": float(ns.std(ddof=1)) / 1e9 if len(ns) > 1 else None,
        "p10_s": float(p10) / 1e9,
        "p90_s": float(p90) / 1e9,
        "min_s": float(ns.min()) / 1e9,
        "max_s": float(ns.max()) / 1e9,
    }


def summarize(folder: Path, ended: str) -> Summary:
    """Read the journal of a ``tare run``, and look whether all sessions were of one machine."""
    trials: dict[int, Trial] = {}
    sums: dict[int, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    facts: dict[str, Any] = {}
    stop = None
    session = 1
    for line in journal.read_all(folder):
        match line:
            case journal.Session():
                session = line.session
            case journal.TrialStart(rehearsal=False):
                trials[line.trial] = Trial(line.trial, session)
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
    asked = plan_file.read(folder)
    summary = Summary(finished, facts, ended, asked.experiment.stopping, asked.metric, stop)
    if asked.experiment.fingerprint and summary.good:
        from tare import conclude
        from tare.findings.sessions import caveats

        results = conclude.results_of(folder)
        summary.caveats, summary.levels_of = caveats(results), results.levels_of
    return summary


def show(summary: Summary, kept: Path | None, platform: str) -> None:
    """Print the first screen: time with interval, spread, n, trust, what to type next."""
    from tare.findings.instrument import beside

    values, meaning = summary.elapsed()
    if not values:
        return
    told = _statistics(values, summary)
    ns = {key: told[key] * 1e9 for key in ("median_s", "p10_s", "p90_s")}
    median, p10, p90 = output.nanoseconds(ns["median_s"], ns["p10_s"], ns["p90_s"])
    if told["median_low_s"] is None:
        interval = "no interval"
    else:
        _, low, high = output.nanoseconds(
            ns["median_s"], told["median_low_s"] * 1e9, told["median_high_s"] * 1e9
        )
        interval = f"95 % [{low}, {high}]"
    say = output.out.print
    noted: Sequence[str] = ()
    if summary.caveats:
        # Whoever has none does not wait for what they are told with.
        from tare.findings.caveats import notes, sentences

        noted = notes(summary.caveats)
        for sentence in sentences(summary.caveats, summary.levels_of):
            say(f"Caveat  {sentence}", soft_wrap=True)
    say(f"Time    {median}  median, {interval}, n = {len(values)}")
    say(f"        {meaning}", style="dim")
    for known in summary.known():
        # The median of the time stands above already.
        if (known.metric, known.quantile) != ("wall_ns", 0.5):
            say(f"{_label(known.metric):<7} {known.sentence()}")
    say(f"Spread  {p10} – {p90}  (p10–p90)")
    _show_resources(summary)
    own = beside(summary.facts.get, ns["median_s"])
    if own is not None:
        say(f"Error   {own}")
    say(_trust(summary, values))
    for problem in _problems(summary):
        say(problem)
    for note in noted:
        say(f"Note    {note}", soft_wrap=True)
    if summary.short is None:
        say(_next(summary, kept, platform), style="dim")


def _label(metric: str) -> str:
    return {"wall_ns": "Time", "cpu_ns": "CPU", "memory_bytes": "Memory"}.get(metric, "Asked")


def _show_resources(summary: Summary) -> None:
    import numpy as np

    from tare.cli.summary_network import told as network_told

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
    if network := network_told(summary.good):
        output.out.print(f"Network {network}")


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
    known = _median(values, summary)
    reached = known.half_width
    refusals = [known.refusal for known in summary.known() if known.refusal]
    if refusals:
        return f"Trust   {'; '.join(refusals)}; {disturbed}."
    if reached is None:
        return f"Trust   the median has no interval: {known.refusal}; {disturbed}."
    return f"Trust   the median is known to ±{reached * 100:.2g} %; {disturbed}."


def _problems(summary: Summary) -> list[str]:
    told = []
    failed = len(summary.trials) - len(summary.good)
    if failed:
        reasons = sorted({t.reason for t in summary.trials if t.reason})
        told.append(f"Failed  {failed} of {len(summary.trials)} trials: {'; '.join(reasons[:3])}")
    if summary.by_hand:
        told.append(f"Note    stopped by hand after {len(summary.good)} trials")
    stop = summary.stop
    if stop and stop.refusal and stop.reason not in ("target", "fixed"):
        told.append(f"Note    target not reached: {stop.refusal}")
    elif (
        stop
        and stop.reason != "fixed"
        and stop.target
        and stop.reached
        and stop.reached > stop.target
        and stop.more_trials
    ):
        more = "" if stop.more_seconds is None else f", {output.seconds(stop.more_seconds)}"
        told.append(
            f"Note    target not reached: ±{100 * stop.reached:.2g} % instead of "
            f"±{100 * stop.target:.2g} %; "
            f"about {stop.more_trials} more trials{more}"
        )
    return told


def _longer(stop: journal.Stop, n: int) -> str | None:
    """Return the budget that reaches the target; where none does, what the longest brings."""
    if not (n and stop.more_trials and stop.more_seconds and stop.reached and stop.target):
        return None
    each_s = stop.more_seconds / stop.more_trials
    # What was measured is not kept: it begins anew.
    needed_s = RESERVE * each_s * (n + stop.more_trials)
    budget_s = next((some for some in BUDGETS_S if some >= needed_s), None)
    if budget_s is not None:
        brings = f"±{100 * stop.target:.2g} %"
    else:
        budget_s = BUDGETS_S[-1]
        brings = f"about ±{100 * stop.reached * math.sqrt(n * each_s / budget_s):.2g} %"
    return f"tare run --budget '{output.seconds(budget_s)}' -- …   ({brings})"


def _next(summary: Summary, kept: Path | None, platform: str) -> str:
    if kept is not None:
        return f"Next    tare experiment report {kept}"
    stop = summary.stop
    if stop and stop.reason == "budget" and stop.reached and stop.target:
        longer = _longer(stop, len(summary.good))
        if longer is not None:
            return f"Next    {longer}"
    if platform == "bare":
        return "Next    tare run --platform unshare -- …   (what does a container cost it?)"
    return "Next    tare experiment new   (compare platforms side by side)"
