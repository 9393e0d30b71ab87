"""What ``tare run`` has found of one command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from tare.experiment import journal, plan, request_quantiles
from tare.experiment.findings import disturbance
from tare.experiment.findings.failures import Failure, failing_often, failures, reasons
from tare.experiment.findings.known import Known, know
from tare.experiment.findings.outlived import other_warnings
from tare.experiment.metrics import DRIVER, PRINTED, TIME, waited_for
from tare.experiment.metrics import tick as metric_tick
from tare.experiment.specification import Stopping
from tare.experiment.time_limits import COUNTED
from tare.results import phrases
from tare.results.message import Message, message
from tare.results.report import Entry
from tare.statistics.intervals import more_trials_for

if TYPE_CHECKING:
    from tare.experiment.findings.sessions import Caveat
    from tare.experiment.results import Results
    from tare.results.columns import Columns
    from tare.statistics.shared_timeline import SharedTimeline
    from tare.statistics.statistic import FloatArray
    from tare.statistics.trust import Trust


@dataclass
class Summary:
    """Trials of one command, and what they show."""

    results: Results
    ended: str
    #: Metric that the precision target is about.
    metric: str
    caveats: tuple[Caveat, ...] = ()
    #: Share of the CPUs that other programs used while it was measured; None: not known.
    neighbours: float | None = None
    #: Conditions of an application: its parameters.
    conditions: tuple[dict[str, Any], ...] = ()
    #: Load on an application's services and the resources that it took, each with its label.
    load: tuple[Entry, ...] = ()

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
        """Whether Ctrl-C ended the session."""
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
            return message(
                "{good | counted('good trial')} of the {asked} that were requested: {failed} of "
                "{trials} failed",
                good=len(self.good),
                asked=asked,
                failed=len(self.trials) - len(self.good),
                trials=len(self.trials),
            )
        if self.stop is not None and self.stop.reason == "failed":
            return message(
                "it was given up with {good | counted('good trial')}, because it kept failing",
                good=len(self.good),
            )
        often = failing_often(zip(self.trials["session"], self.trials["status"], strict=True))
        return (
            None if often is None else message(phrases.RUN_OFTEN, failed=often[0], trials=often[1])
        )

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
            "{failed} of {trials} trials, left out: {reasons}",
            failed=failed,
            trials=len(self.trials),
            reasons=reasons(self.failed),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What agents warned of, each once."""
        return tuple(dict.fromkeys(other_warnings(self.results)))

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
        time = self.known(self.time_metric, 0.5)
        assert time is not None, "only results with values are shown"
        return self.judged(time)

    def judged(self, median: Known) -> Trust:
        """Judge the trials by a metric whose median is known."""
        # Imported only where it is needed, since it takes time.
        from tare.experiment.findings.doubt import judge

        return judge(
            self.least_values(median.metric, median.source),
            self.stopping,
            median.interval,
            len(set(self.of_levels.counted["session"])),
            metric_tick(median.metric, median.source),
            self.timeline(median.metric, median.source),
        )

    @cached_property
    def disturbance(self) -> disturbance.Disturbance | None:
        """What took most of the time besides the command; None where nothing says so."""
        return disturbance.disturbance(self.of_levels)

    @property
    def is_of_time(self) -> bool:
        """Whether the precision target is about the median of the time alone."""
        asked = [(known.metric, known.quantile) for known in self.asked]
        return asked == [(self.time_metric, 0.5)]

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
        time = self.known(self.time_metric, 0.5)
        if is_ruled or time is None or not self.is_of_time or self.trust.imprecision is None:
            return more, stop.more_seconds
        # Imported only where it is needed, since it takes time.
        from tare.experiment.findings.doubt import precision_of

        wanted = more_trials_for(time.interval, precision_of(self.stopping))
        if wanted is None or not self.trust.is_sound:
            return None, None
        each_s = stop.more_seconds / more if more and stop.more_seconds is not None else None
        return wanted, None if each_s is None else wanted * each_s

    @property
    def reached(self) -> float | None:
        """The precision of the least well known of what was asked."""
        widths = [known.interval.half_width for known in self.asked]
        found = [width for width in widths if width is not None]
        return max(found) if found and len(found) == len(widths) else None


def summarize(results: Results, ended: str, neighbours: float | None = None) -> Summary:
    """Summarise the results of one command."""
    experiment = results.experiment
    summary = Summary(results, ended, plan.metric(experiment), neighbours=neighbours)
    # One session with a take before and one after its trials shows no change of the machine.
    if experiment.fingerprint and summary.good and len(results.sessions) > 1:
        from tare.experiment.findings.sessions import caveats

        summary.caveats = caveats(results)
    if any(workload.application for workload in experiment.workloads):
        from tare.experiment.findings import conditions

        summary.load = tuple(_load(summary.of_levels))
        summary.conditions = tuple(conditions.rows(summary.of_levels))
    return summary


def _load(results: Results) -> Iterator[Entry]:
    """Say of a single cell what load was asked and reached, and what it took: an entry each.

    Nothing of what does not serve, or has no good trial.
    """
    if not any(workload.serves for workload in results.experiment.workloads):
        return
    # Loaded only where it is needed, since it takes time.
    from tare.experiment.findings import service_load
    from tare.experiment.findings.service_cells import driven

    one = next(iter(driven(results)), None)
    if one is None:
        return
    yield Entry("Load", service_load.reached(one))
    if (said := service_load.backlog([one])) is not None:
        yield Entry("Backlog", said)
    times, few = service_load.times(one), service_load.few([one])
    yield Entry(
        "Tail",
        message(
            "response times {times | join(', ')}; quantiles are medians of trials{% if few %}; "
            "{few}{% endif %}",
            times=times,
            few=few,
        ),
    )
    yield Entry("Driver", service_load.generator(one))
