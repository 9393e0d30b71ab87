"""What ``tare run`` tells: the first screen, and the JSON of trials, summary and facts."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from tare import units
from tare.cli import console
from tare.cli.again import FILES, again
from tare.experiment import journal, plan, request_quantiles
from tare.experiment.findings import disturbance
from tare.experiment.findings.failures import Failure, failing_often, failures, reasons
from tare.experiment.findings.known import (
    FEWEST_FOR_QUANTILES,
    Known,
    exceeded,
    know,
    relative_spread,
)
from tare.experiment.findings.level_names import unit_of
from tare.experiment.metrics import (
    DRIVER,
    OF_HOSTS,
    PRINTED,
    SUPERVISED,
    TIME,
    waited_for,
)
from tare.experiment.metrics import tick as metric_tick
from tare.experiment.results import COUNTED
from tare.experiment.specification import Stopping
from tare.features.run.exports import trial_json, trials_of
from tare.measure.comparison import service_load
from tare.render import data
from tare.render.words import sentence, sentences, text
from tare.results.message import Amount, Atom, Chosen, Message, message
from tare.statistics.interim_analysis import first_look
from tare.statistics.intervals import extremes_interval, p10_and_p90
from tare.statistics.statistic import median
from tare.statistics.warmup import cold_start, warm_up

if TYPE_CHECKING:
    from tare.experiment.findings.sessions import Caveat
    from tare.experiment.results import Results
    from tare.features.run.table import Row
    from tare.results.columns import Columns
    from tare.statistics.shared_timeline import SharedTimeline
    from tare.statistics.statistic import FloatArray
    from tare.statistics.trust import Trust

#: Version of ``tare run --json``.
VERSION = 2
#: Budgets that are worth typing.
BUDGETS_S = (20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
#: Platforms to suggest for an application, the most likely to work first; the first that is
#: installed is taken.
CONTAINERS = ("docker", "runc")
#: Factor on the projected number of trials, since the spread is only estimated.
RESERVE = 1.2
#: Share of the CPUs from which on other programs explain that a target was not reached.
NOTABLE_NEIGHBOURS = 0.05
#: Numbers of processes, by which the same warning would be another one each time.
_PIDS = re.compile(r" \(\d+\)")
#: Sources of a wall time of which it is said what is timed (``run.timed``).
TIMED = ("self", "switch", "perf_cpu", "perf_task", "around", DRIVER)


@dataclass
class Summary:
    """All that is told of one command."""

    results: Results
    ended: str
    #: Metric that the precision target is about.
    metric: str
    caveats: tuple[Caveat, ...] = ()
    #: Share of the CPUs that other programs used while it was measured; None: not known.
    neighbours: float | None = None
    #: Conditions of an application (its parameters), then the same as labelled sentences.
    conditions: tuple[dict[str, Any], ...] = ()
    run_with: tuple[tuple[str, Message], ...] = ()
    #: Load on an application's services and the resources that it took, each with its label.
    load: tuple[tuple[str, Message], ...] = ()

    @property
    def stopping(self) -> Stopping:
        """What was asked."""
        return self.results.experiment.stopping

    @property
    def levels_of(self) -> int | None:
        """Session that levels are taken from, where the machine was not the same; None: all."""
        return self.results.levels_of

    @cached_property
    def of_levels(self) -> Results:
        """The results that levels are taken from."""
        return self.results.of_levels

    @property
    def workers(self) -> int:
        """Workers that ran at the same time in each trial."""
        return max((cell.workers for cell in self.results.planned), default=1)

    @property
    def time_metric(self) -> str:
        """Name the duration that a user of the workload waits for."""
        serves = any(workload.serves for workload in self.results.experiment.workloads)
        return waited_for(TIME, serves=serves)

    @cached_property
    def stop(self) -> journal.Stop | None:
        """Why the cell stopped."""
        stops = [*self.results.stops.records()]
        return msgspec.convert(stops[-1], journal.Stop, strict=False) if stops else None

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Facts of the machine and of the platform, those of its last instance included."""
        results = self.results
        found = dict(zip(results.facts["name"], results.facts["value"], strict=True))
        last = results.instances.rows(range(len(results.instances))[-1:])
        seen = next(last.only(*journal.SEEN).records(), {})
        return found | {name: int(value) for name, value in seen.items() if value is not None}

    @property
    def by_hand(self) -> bool:
        """Whether somebody who watched it ended it."""
        return self.ended == "interrupted"

    @property
    def good(self) -> Columns:
        """Trials with a value, if only one above a time limit."""
        return self.results.counted

    @property
    def killed(self) -> int:
        """Trials whose value is only known to exceed a time limit."""
        return len(self.results.trial_table.where(status="killed"))

    @cached_property
    def trials(self) -> Columns:
        """Trials that ended."""
        return self.results.trial_table.where(status={*COUNTED, "failed"})

    @property
    def is_complete(self) -> bool:
        """Whether as many trials have a value as were asked for."""
        asked = self.stopping.trials
        return asked is not None and len(self.good) >= asked

    @property
    def short(self) -> Message | None:
        """What is short of what was asked for: good trials, or a command that mostly works."""
        asked = self.stopping.trials
        if asked is not None and not self.is_complete and not self.by_hand:
            return message("run.short", good=len(self.good), asked=asked)
        if self.stop is not None and self.stop.reason == "failed":
            return message("run.given_up", good=len(self.good))
        often = failing_often(zip(self.trials["session"], self.trials["status"], strict=True))
        return None if often is None else message("run.often", failed=often[0], trials=often[1])

    @cached_property
    def failed(self) -> list[Failure]:
        """How trials failed, the most frequent reason first."""
        return failures(self.results)

    @property
    def failures(self) -> Message | None:
        """How many trials failed, and why; None where none did."""
        failed = len(self.trials) - len(self.good)
        if not failed:
            return None
        return message(
            "run.failed", failed=failed, trials=len(self.trials), reasons=reasons(self.failed)
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What agents warned of, each once: that children were left, and ended."""
        some = self.results.faults.where(kind="warning")["message"]
        return tuple(dict.fromkeys(_PIDS.sub("", one) for one in some))

    def timeline(self, metric: str, source: str) -> SharedTimeline | None:
        """Return what trials have in common over their iterations; None: nothing is shown."""
        trials = self.of_levels.good["trial"].tolist()
        return self.of_levels.timeline(metric, source, trials)

    def values(self, metric: str, source: str) -> FloatArray:
        """Return what trials have of a metric from a source; infinite above a time limit."""
        return self.of_levels.values(metric, source)["value"]

    def above(self, metric: str, source: str) -> FloatArray:
        """Return the limits that infinite values exceed; NaN elsewhere."""
        return self.of_levels.values(metric, source)["above"]

    def least_values(self, metric: str, source: str) -> FloatArray:
        """Return the values with the limit in place of what is above it, in the same order."""
        values = self.values(metric, source)
        return np.where(np.isposinf(values), self.above(metric, source), values)

    def common(self, metric: str) -> str | None:
        """Return the best source that all good trials have of a metric."""
        return next(iter(self.of_levels.sources(metric)), None)

    def whole(self, metric: str) -> str | None:
        """Return the source that counts all processes, of services; of commands, the best one."""
        groups = [s for s in ("cgroup", "host_cgroup") if self.load and len(self.values(metric, s))]
        return next(iter(groups), None) or self.common(metric)

    def known(self, metric: str, quantile: float | None = None) -> Known | None:
        """Return how well a quantile is known; None where the metric has no values."""
        source = self.common(metric)
        if source is None:
            return None
        values = self.values(metric, source)
        return know(
            metric, source, values, self.stopping, by_hand=self.by_hand, quantile=quantile,
            few=request_quantiles.few_of(metric, self.values("requests", DRIVER)),
            above=self.above(metric, source),
        )  # fmt: skip

    @property
    def printed(self) -> list[str]:
        """Metrics that the program printed in all good trials, but for the one that was asked."""
        metrics = self.of_levels.sample_table.metrics
        return [m for m in metrics if m != self.metric and PRINTED in self.of_levels.sources(m)]

    @property
    def asked(self) -> list[Known]:
        """How well what was asked is known; nothing of a metric that has no values."""
        found = (self.known(metric) for metric in (self.metric, *self.stopping.also))
        return [known for known in found if known is not None]

    @cached_property
    def trust(self) -> Trust:
        """Whether the time can be trusted, and to what."""
        # Imported only where it is needed, since it takes time.
        from tare.experiment.findings.doubt import judge

        time = self.known(self.time_metric, 0.5)
        assert time is not None, "only results with values are shown"
        return judge(
            self.least_values(time.metric, time.source),
            self.stopping,
            time.interval,
            len(set(self.of_levels.counted["session"])),
            metric_tick(time.metric, time.source),
            self.timeline(time.metric, time.source),
        )

    @cached_property
    def disturbance(self) -> disturbance.Disturbance | None:
        """What took most of the time besides the command; None where nothing says so."""
        return disturbance.disturbance(self.of_levels)

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` writes."""
        return {
            "version": VERSION,
            "trials": [trial_json(trial) for trial in trials_of(self.results)],
            "summary": self._summary_json(),
            "facts": self.facts,
            "caveats": self.caveats,
        }

    def _summary_json(self) -> dict[str, Any]:
        time = self.known(self.time_metric, 0.5)
        told: dict[str, Any] = {
            "n": len(self.of_levels.counted),
            "killed": self.killed,
            "levels_of": self.levels_of,
            "failed": len(self.trials) - len(self.good),
            "ended": self.ended,
            "time": None if time is None else data.builtins(timed(time.source)),
        }
        if time is not None:
            told |= _statistics(time, self.values(time.metric, time.source))
            told["trust"] = trust_json(self.trust)
        told["conditions"] = [data.builtins(one) for one in self.conditions]
        told["asked"] = [known.as_json() for known in self.asked]
        stop = self.stop
        told["stop"] = None if stop is None else {
            "reason": stop.reason, "why": stop.why, "refusal": stop.refusal, "target": stop.target,
            "reached": self.reached, "more_trials": self.more_trials[0],
        }  # fmt: skip
        found = self.disturbance
        told["neighbours"] = self.neighbours
        told["disturbance"] = None if found is None else data.builtins(found)
        return told

    @property
    def is_only_dependent(self) -> bool:
        """Whether the target is reached, but by trials that depend on each other."""
        stop = self.stop
        return bool(
            stop
            and stop.why == "remembers"
            and stop.reason != "target"
            and stop.target
            and self.reached is not None
            and self.reached <= stop.target
        )

    @property
    def more_trials(self) -> tuple[int | None, float | None]:
        """How many more trials reach the target, and the seconds they take; None: not known.

        As the stopping rule estimated it of all trials; of the median of a fixed number, which no
        rule ends, and of the steady part, as an audit of the values that count.
        """
        stop = self.stop
        if stop is None:
            return None, None
        more = stop.more_trials
        is_ruled = stop.reason != "fixed" and self.results.steady is None
        has_values = self.known(self.time_metric, 0.5) is not None
        if is_ruled or not has_values or not _is_of_time(self):
            return more, stop.more_seconds
        imprecision = self.trust.imprecision
        if imprecision is None:
            return more, stop.more_seconds
        wanted = imprecision.args["more"]
        if not isinstance(wanted, int):
            return None, None
        each_s = stop.more_seconds / more if more and stop.more_seconds is not None else None
        return wanted, None if each_s is None else wanted * each_s

    @property
    def reached(self) -> float | None:
        """The precision of the least well known of what was asked."""
        widths = [known.interval.half_width for known in self.asked]
        found = [width for width in widths if width is not None]
        return max(found) if found and len(found) == len(widths) else None


def trust_json(found: Trust) -> dict[str, Any]:
    """Return a verdict on values as ``--json`` has it."""
    return {
        "verdict": found.verdict,
        "extent": found.extent,
        "sessions": found.sessions,
        "reasons": sentences(found.reasons),
    }


def _statistics(time: Known, ns: FloatArray) -> dict[str, Any]:
    i = time.interval
    p10, p90 = p10_and_p90(ns)
    several = len(ns) >= FEWEST_FOR_QUANTILES
    # What is infinite is above the limit, and becomes null.
    return {
        "median_s": i.estimate / 1e9,
        "median_low_s": None if i.low is None else i.low / 1e9,
        "median_high_s": None if i.high is None else i.high / 1e9,
        "above_s": None if i.above is None else i.above / 1e9,
        "confidence": i.confidence,
        "precision": i.half_width,
        "mean_s": float(ns.mean()) / 1e9,
        "sd_s": float(ns.std(ddof=1)) / 1e9 if len(ns) > 1 and not time.killed else None,
        "p10_s": p10 / 1e9 if several else None,
        "p90_s": p90 / 1e9 if several else None,
        "min_s": float(ns.min()) / 1e9,
        "max_s": float(ns.max()) / 1e9,
    }


def summarize(results: Results, ended: str, neighbours: float | None = None) -> Summary:
    """Derive from the results what ``tare run`` prints."""
    experiment = results.experiment
    summary = Summary(results, ended, plan.metric(experiment), neighbours=neighbours)
    # One session with a take before and one after its trials shows no change of the machine.
    if experiment.fingerprint and summary.good and len(results.sessions) > 1:
        from tare.experiment.findings.sessions import caveats

        summary.caveats = caveats(results)
    if any(workload.application for workload in experiment.workloads):
        from tare.experiment.findings import conditions

        summary.load = tuple(service_load.lines(summary.of_levels))
        summary.conditions = tuple(conditions.rows(summary.of_levels))
        summary.run_with = tuple(("With", one) for one in conditions.sentences(summary.conditions))
    return summary


def show(summary: Summary, kept: Path | None, platform: str) -> None:
    """Print the first screen: time with interval, spread, n, trust, what to type next."""
    from tare.experiment.findings.instrument import notable

    time = summary.known(summary.time_metric, 0.5)
    if time is None:
        return
    noted: Sequence[str] = ()
    if summary.caveats:
        # Imported only where it is needed, since it takes time.
        from tare.experiment.findings import caveats

        noted = sentences(caveats.notes(summary.caveats))
        for caveat in sentences(caveats.sentences(summary.caveats, summary.levels_of)):
            _say("Caveat", caveat)
    values = summary.values(time.metric, time.source)
    _say("Time", _time(summary, time, values))
    if failures := summary.failures:
        _say("Failed", failures)
    for label, said in (*summary.run_with, *summary.load):
        _say(label, said)
    for known in summary.asked:
        # The median of the time stands above already.
        if (known.metric, known.quantile) != (time.metric, 0.5):
            _say(_label(known, time.metric), _asked(known, time.metric))
    if (target := target_of(summary)) is not None:
        _say("Target", target)
    _say(*_trust(summary, time))
    if error := notable(summary.facts.get, time.interval.estimate):
        _say("Error", error)
    _show_resources(summary)
    _say("Timed", timed(time.source), style="dim")
    for label, problem in _problems(summary, kept):
        _say(label, problem)
    for note in (*_of_warm_up(summary, time), *noted):
        _say("Note", note)
    if summary.short is None:
        _say("Next", _next(summary, kept, platform, doubtful=_is_doubtful(summary)), style="dim")


def _of_warm_up(summary: Summary, time: Known) -> list[str]:
    """Say what was left out as warm-up, and that the first run took longer than all others."""
    cold = cold_start(summary.least_values(time.metric, time.source))
    steady = summary.results.steady
    said = [steady, None if cold is None else cold.sentence]
    return [sentence(one) for one in said if one is not None]


def _say(label: str, said: Message | str, style: str | None = None) -> None:
    written = said if isinstance(said, str) else text(said)
    console.labelled(label, written, 7, style)


def timed(source: str) -> Message:
    """Return what a wall time from a source is the time of."""
    if source in TIMED:
        return message(f"run.timed.{source}")
    return message("run.timed.other", source=source)


def as_row(summary: Summary, name: str) -> tuple[Row, str]:
    """Return the result as the line of a table, and the metric that it is of."""
    from tare.features.run.table import Row

    (known, *_) = summary.asked
    values = summary.values(known.metric, known.source)
    return Row(name, str(known), None, relative_spread(values), str(len(values))), known.metric


def _label(known: Known, time_metric: str) -> str:
    """Name a line: the one of the time has the median already."""
    if known.metric == time_metric:
        return units.quantile_name(known.quantile)
    return {"cpu_ns": "CPU", "memory_bytes": "Memory"}.get(known.metric, "Asked")


def target_of(summary: Summary) -> Message | None:
    """Say whether the precision was reached of what else than the median of the time was asked."""
    stop, asked = summary.stop, summary.asked
    if (
        _is_of_time(summary)
        or not asked
        or stop is None
        or not stop.target
        or stop.reason == "fixed"
    ):
        return None
    if missed(summary) is not None:
        return None
    reached = summary.reached
    return message(
        "run.target",
        target=Chosen(stop.target),
        names=[known.name for known in asked],
        met=reached is not None and reached <= stop.target,
        reached=None if reached is None else Amount(reached, "share"),
    )


def _sure(known: Known) -> Chosen | None:
    i = known.interval
    is_above = i.above is not None and i.low is not None and i.low >= i.above
    return None if i.low is None or i.high is None or is_above else Chosen(i.confidence)


def _time(summary: Summary, time: Known, values: FloatArray) -> Message:
    spread = None
    if len(values) > 1:
        several = len(values) >= FEWEST_FOR_QUANTILES
        ends = p10_and_p90(values) if several else (float(values.min()), float(values.max()))
        name, extremes = "range" if several else "ends", extremes_interval(values)
        level = None if extremes is None else Chosen(extremes.confidence)
        span = units.span("ns", *ends, time.interval.above)
        spread = message(f"run.{name}", range=span, level=level)
    return message(
        "run.time",
        figure=str(time),
        sure=_sure(time),
        n=time.interval.n,
        workers=summary.workers if summary.workers > 1 else None,
        spread=spread,
        ended=_ended(summary, time, values),
        **({"exceeded": exceeded(time)} if time.killed else {}),
    )


def _ended(summary: Summary, time: Known, values: FloatArray) -> Message | None:
    """Return why the budget ended before the target was reached; None: it did not."""
    stop, reached, n = summary.stop, summary.reached, len(values)
    target = stop.target if stop and stop.reason == "budget" else None
    if stop is None or not target or time.is_open or (reached is not None and reached <= target):
        return None
    used = summary.neighbours
    if n >= FEWEST_FOR_QUANTILES and used is not None and used >= NOTABLE_NEIGHBOURS:
        return message("run.ended.neighbours", share=Amount(used, "share"))
    if stop.why in ("drifts", "jumps"):
        return message(f"run.ended.{stop.why}")
    if n < first_look(summary.stopping.quantile):
        return message("run.ended.few", n=n)
    if stop.why == "remembers" or reached is None:
        return message("run.ended.remembers")
    p10, p90 = p10_and_p90(values)
    share = None if math.isinf(p90) else Amount((p90 - p10) / median(values), "share")
    return message("run.ended.spread", share=share)


def _asked(known: Known, time_metric: str) -> Message:
    return message(
        "run.asked",
        figure=str(known),
        name=None if known.metric == time_metric else known.name,
        sure=_sure(known),
        early=known.interval.early,
        why=known.interval.refusal,
    )


def _show_resources(summary: Summary) -> None:
    from tare.measure.comparison import network_use

    parts: list[Atom] = []
    for metric in ("cpu_ns", "memory_bytes"):
        source = summary.whole(metric)
        if source is not None:
            middle = median(summary.values(metric, source))
            name = message(f"run.resource_name.{metric}")
            amount = Amount(middle, unit_of(metric))
            # The command's own is a small part of what its services on the hosts do for it.
            hosts = summary.values("hosts_cpu_ns", OF_HOSTS) if metric == "cpu_ns" else np.zeros(0)
            of_hosts = Amount(median(hosts), "ns") if len(hosts) else None
            parts.append(message("run.resource", name=name, amount=amount, hosts=of_hosts))
    for metric in summary.printed:
        middle = median(summary.values(metric, PRINTED))
        stem = metric.removesuffix(f"_{unit_of(metric)}")
        amount = Amount(middle, unit_of(metric))
        parts.append(message("run.resource", name=stem, amount=amount, hosts=None))
    ready = summary.values("services_ready_ns", SUPERVISED)
    if len(ready):
        parts.append(message("run.ready", amount=Amount(median(ready), "ns")))
    launch = summary.facts.get("launch_overhead_ns")
    if launch is not None and not len(ready):
        parts.append(message("run.launch", amount=Amount(float(launch), "ns")))
    ended = {"ended": len(summary.results.good)} if summary.killed and summary.results.good else {}
    _say("Uses", message("run.uses", parts=parts, **ended))
    if network := network_use.of_trials(summary.results):
        _say("Network", network)


def _trust(summary: Summary, time: Known) -> tuple[str, Message]:
    """Return the verdict, and its extent or reason with the largest disturbance."""
    # What refuses an interval stands next to the figure.
    refusals: list[Atom] = [
        known.refusal for known in summary.asked if known.refusal and not known.interval.refusal
    ]
    found = summary.trust
    label: str = found.verdict
    if refusals:
        label = label if label == "DOUBT" else "Trust"
        said = message("run.refused", refusals=refusals)
    elif time.is_open:
        label, said = "Trust", message("run.open")
    elif found.extent is None:
        label, said = "Trust", message("run.no_interval", why=time.interval.refusal)
    else:
        said = found.claim if found.verdict == "TRUST" else _doubt(summary, found)
    return label, message("run.trust", said=said, disturbed=disturbance.said(summary.disturbance))


def _doubt(summary: Summary, found: Trust) -> Message:
    """Return why the median is doubtful, in short."""
    from tare.experiment.findings.doubt import why

    reason = found.grounds[0]
    if reason.kind != "imprecise":
        n = len(summary.of_levels.good)
        return message("run.doubt", extent=Amount(found.extent, "share"), why=why(reason, n))
    more, seconds = summary.more_trials
    if not _is_of_time(summary) or not more:
        return why(reason, len(summary.of_levels.good))
    return message(
        "run.imprecise",
        half=reason.said.args["half"],
        target=reason.said.args["target"],
        more=more,
        time=None if seconds is None else console.seconds(seconds),
    )


def _is_of_time(summary: Summary) -> bool:
    """Whether the precision target is about the median of the time alone, which stands first."""
    asked = [(known.metric, known.quantile) for known in summary.asked]
    return asked == [(summary.time_metric, 0.5)]


def _is_doubtful(summary: Summary) -> bool:
    """Whether something else than the precision speaks against the median."""
    return summary.trust.verdict == "DOUBT" and not summary.trust.is_sound


def _problems(summary: Summary, kept: Path | None) -> list[tuple[str, Message | str]]:
    found: list[tuple[str, Message | str]] = []
    if summary.by_hand:
        stopped = message(
            "run.by_hand",
            asked=summary.stopping.trials,
            n=len(summary.good),
            kept=kept is not None,
        )
        found.append(("Note", stopped))
    found += [("Note", warning) for warning in summary.warnings]
    lost = disturbance.lost(summary.results.values(*disturbance.LOST)["value"], len(summary.trials))
    if lost is not None:
        found.append(("Note", lost))
    if (recording := disturbance.switch_records(summary.results)) is not None:
        found.append(("Note", recording))
    note = missed(summary)
    # The line of the verdict has a missed precision of the time.
    is_told = summary.trust.imprecision is not None and _is_of_time(summary)
    if note is not None and not (is_told and note.id == "run.missed"):
        found.append(("Note", note))
    return found


def missed(summary: Summary) -> Message | None:
    """Return why the target was not reached; None: it was, or there was none."""
    stop = summary.stop
    if stop is None:
        return None
    if summary.is_only_dependent:
        return message("run.dependent", refusal=stop.refusal)
    if stop.refusal and stop.reason not in ("target", "fixed"):
        return message("run.refusal", refusal=stop.refusal)
    more, seconds = summary.more_trials
    if stop.reason == "fixed" or not (stop.target and summary.reached and more):
        return None
    if summary.reached <= stop.target:
        return None
    return message(
        "run.missed",
        reached=Amount(summary.reached, "share"),
        target=Chosen(stop.target),
        more=more,
        time=None if seconds is None else console.seconds(seconds),
    )


#: Times as many trials, where as many as there were gave no interval.
_MORE = 3


def _longer(summary: Summary) -> Message | None:
    """Return the budget that brings what the last one did not: an interval, or the target.

    None where neither is missing, or nothing says how long a trial takes.
    """
    good, stop, reached = summary.good, summary.stop, summary.reached
    if not good:
        return None
    if reached is None or len(good) < FEWEST_FOR_QUANTILES:
        needed = FEWEST_FOR_QUANTILES if len(good) < FEWEST_FOR_QUANTILES else _MORE * len(good)
        brings = message("run.brings.interval")
    elif stop and (more := summary.more_trials[0]) and stop.target and reached > stop.target:
        # What was measured is not kept: it begins anew.
        needed = len(good) + more
        brings = message("run.brings.precision", share=Chosen(stop.target))
    else:
        # Trials after the last look at them reached the target.
        return None
    each_s = float(np.mean(good["duration_ns"])) / 1e9
    needed_s = RESERVE * each_s * needed
    budget_s = next((some for some in BUDGETS_S if some >= needed_s), needed_s)
    command = again("run", {"--budget": console.seconds(budget_s)})
    return message("run.next", command=command, brings=brings)


def _longer_limit(summary: Summary) -> Message | None:
    """Return the command with twice the time limit where that leaves open what was asked.

    None: it does not.
    """
    limits = [w.timeout_s for w in summary.results.experiment.workloads if w.timeout_s is not None]
    if not limits or not any(known.is_open for known in summary.asked):
        return None
    command = again("run", {"--timeout": units.duration(2 * max(limits))})
    return message("run.next", command=command, brings=message("run.brings.limit"))


def _warms_up(summary: Summary) -> bool:
    """Whether the times change by a warm-up of the first trials, which --steady leaves out."""
    stop, time = summary.stop, summary.known(summary.time_metric, 0.5)
    if summary.results.steady is not None or time is None or stop is None:
        return False
    if stop.why not in ("drifts", "jumps"):
        return False
    return warm_up(summary.least_values(time.metric, time.source)).shape == "warm-up"


def _waits(summary: Summary) -> bool:
    """Whether wall time was asked for, and spreads mainly because of waiting for a CPU."""
    found = summary.disturbance
    wall = summary.common("wall_ns")
    cpu = summary.common("cpu_ns")
    if summary.metric != "wall_ns" or wall is None or cpu is None or summary.killed:
        return False
    if found is None or not found.is_waiting:
        return False
    # Imported only where it is needed, since it takes time.
    from tare.experiment.findings.waiting import waits

    return waits(
        summary.values("wall_ns", wall),
        summary.values("wait_ns", "schedstat"),
        summary.values("cpu_ns", cpu),
    )


def _narrower(summary: Summary) -> Message | None:
    """Return the command without the main cause of the spread; None: it is not known."""
    if _warms_up(summary):
        steady = message("run.brings.steady")
        return message("run.next", command=again("run", {"--steady": None}, FILES), brings=steady)
    if _waits(summary):
        by_cpu = message("run.brings.cpu")
        command = again("run", {"--metric": "cpu"}, FILES)
        return message("run.next", command=command, brings=by_cpu)
    return None


def _next(summary: Summary, kept: Path | None, platform: str, *, doubtful: bool) -> Message:
    if kept is not None:
        return message("run.next", command=f"tare experiment report {kept}", brings=None)
    stop = summary.stop
    if (longer := _longer_limit(summary)) is not None:
        return longer
    if (narrower := _narrower(summary)) is not None:
        return narrower
    if stop and stop.refusal and not summary.is_only_dependent:
        return _disturbs()
    if stop and stop.reason == "budget":
        longer = _longer(summary)
        if longer is not None:
            return longer
    return _disturbs() if doubtful else _further(platform, of_application=bool(summary.conditions))


def _disturbs() -> Message:
    return message("run.next", command="tare doctor", brings=message("run.brings.disturbs"))


def _further(platform: str, *, of_application: bool) -> Message:
    """Return what else can be measured, where nothing is wrong with what was."""
    if platform == "bare":
        overhead = message("run.brings.overhead")
        # Applications bring their files, which a container has as well.
        containers = CONTAINERS if of_application else ()
        container = next((one for one in containers if shutil.which(one)), "unshare")
        command = again("run", {"--platform": container}, FILES)
        return message("run.next", command=command, brings=overhead)
    platforms = message("run.brings.platforms")
    return message("run.next", command="tare experiment new", brings=platforms)
