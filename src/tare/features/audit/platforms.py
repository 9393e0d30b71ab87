"""A study of platforms in imported series, as results that the findings of experiments read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from tare.experiment.findings import overhead, pinning, platform_factor, platform_size
from tare.experiment.findings.answers import all_findings
from tare.experiment.findings.charts import (
    overhead as overhead_chart,
)
from tare.experiment.findings.charts import (
    pinning_scatter,
    platform_chr,
    platform_pinning,
    platform_values,
)
from tare.experiment.findings.platform_cells import FREE
from tare.experiment.metrics import FILE
from tare.experiment.report.page import section
from tare.experiment.results import Imported, Results, empty
from tare.experiment.samples import COLUMNS, Key, Samples
from tare.experiment.specification import Experiment, SizeSpec, Stopping
from tare.features.audit.cold import ColdStart
from tare.features.audit.design import Design, cores_of
from tare.features.audit.naming import by_kind
from tare.features.audit.pairing import match
from tare.features.audit.question import Question
from tare.features.audit.series import SeriesAudit, averaged
from tare.readers import Series
from tare.results.columns import Columns, objects
from tare.results.finding import Finding
from tare.results.message import Said, each, message
from tare.results.report import Figure
from tare.workloads.specification import WorkloadSpec

#: Findings on platforms, and their charts.
_FINDINGS = {
    one.UNIT.description.name: one.UNIT
    for one in (overhead, platform_size, platform_factor, pinning)
}
#: Those of them that have a summary.
_SUMMARISED = ("overhead", "platform_size")
_CHARTS = {
    one.UNIT.description.name: one.UNIT
    for one in (overhead_chart, platform_values, platform_chr, platform_pinning, pinning_scatter)
}
#: Columns of trials, and factors whose levels an experiment reads as numbers or networks: none is
#: what another tool calls so.
_TAKEN = frozenset({
    "trial", "session", "block", "position", "cell", "seed", "status", "reason", "above_ns",
    "platform", "size", "pinning", "value", "above", "workers", "quota", "network", "duration_ns",
    "started", "variance", "worker", "error_captured", "failure_kind", "limit_kind",
})  # fmt: skip


@dataclass(frozen=True, eq=False)
class Study:
    """A study of platforms.

    Attributes
    ----------
    design : Design
    results : dict of str to Results
        By metric.
    cold : bool
        Whether the first value of every series is left out.
    trials_known : bool
        Whether trials are identified in every series.
    """

    design: Design
    results: dict[str, Results]
    cold: bool
    trials_known: bool

    @cached_property
    def _answered(self) -> dict[str, list[Finding]]:
        return {metric: all_findings(one, _FINDINGS) for metric, one in self.results.items()}

    @property
    def summary(self) -> tuple[Said, ...]:
        """What matters most, a sentence for each finding; the others are not worked out for it."""
        some = [
            _FINDINGS[name].find(results)
            for results in self.results.values()
            for name in _SUMMARISED
        ]
        return tuple(said[0] for one in some if one is not None and (said := each(one.summary)))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The answers on platforms, metric by metric."""
        return tuple(
            msgspec.structs.replace(
                one,
                name=self._name(one, metric),
                caveats=(*one.caveats, *(() if i else self._caveats)),
            )
            for metric, found in self._answered.items()
            for i, one in enumerate(found)
        )

    @property
    def figures(self) -> dict[str, tuple[Figure, ...]]:
        """The charts of each finding, by its name."""
        return {
            self._name(one, metric): section(one, _CHARTS, self.results[metric], found).figures
            for metric, found in self._answered.items()
            for one in found
        }

    def _name(self, finding: Finding, metric: str) -> str:
        return finding.name if len(self.results) == 1 else f"{finding.name} of {metric}"

    @property
    def _caveats(self) -> Iterator[Said]:
        if not self.trials_known:
            yield message(
                "the execution of each value is unknown. If a series is one run, its "
                "interval covers its items, not other runs"
            )
        if self.design.size is not None and self.design.host_cores is None:
            yield message(
                "the host's cores are unknown: PSO is over cores, as if the largest size "
                "were the whole host. --host-cores sets them"
            )
        if self.cold:
            yield message(
                "the first value of every series is left out of comparisons of platforms, as "
                "it is cold"
            )


def study(
    series: Sequence[SeriesAudit], design: Design, cold: ColdStart | None, question: Question
) -> Study:
    """Lay imported series out as the results of an experiment with platforms.

    Parameters
    ----------
    series : sequence of SeriesAudit
    design : Design
        What the columns mean.
    cold : ColdStart or None
        Where found, the first value of every series is left out.
    question : Question
    """
    without_first = cold is not None and cold.found
    some = [s for s in series if design.platform in s.key and s.n]
    results = {
        name: _results(of_kind, design, question, without_first=without_first)
        for name, of_kind in by_kind(some).items()
    }
    return Study(design, results, without_first, all(s.trials_known for s in some))


def _results(
    series: Sequence[SeriesAudit], design: Design, question: Question, *, without_first: bool
) -> Results:
    series = sorted(series, key=lambda s: _cores(s, design) or 0.0)
    levels = [_levels(s, design) for s in series]
    factors = list(dict.fromkeys(f for own in levels for f in own))
    trials = [s.trials.rows(slice(1, None)) if without_first else s.trials for s in series]
    paired = all(t.block is not None for t in trials) or all(
        match(trials[0], t).paired for t in trials[1:]
    )
    trials = [t if t.block is None or not paired else averaged(t, t.block) for t in trials]
    counts = [len(t.values) for t in trials]
    cells = np.repeat(np.arange(len(series)), counts)
    values = np.concatenate([t.values for t in trials])
    above = np.concatenate([np.full(len(t.values), np.nan) if t.above is None else t.above
                            for t in trials])  # fmt: skip
    killed, unfit = np.isposinf(values), np.repeat([_is_unfit(s) for s in series], counts)
    number = np.arange(len(values))
    table = Columns({
        "trial": number,
        "session": np.zeros(len(values), dtype=np.int64),
        "block": np.concatenate([_blocks(t, paired=paired) for t in trials]),
        "position": number,
        "cell": cells,
        "status": objects(np.where(unfit, "failed", np.where(killed, "killed", "ok")).tolist()),
        "reason": objects([None] * len(values)),
        "above_ns": above,
        **{f: objects(levels[c].get(f, "") for c in cells.tolist()) for f in factors},
    })  # fmt: skip
    nothing = np.full(len(values), np.nan)
    columns = (number, number, nothing, nothing, values)
    samples = Columns(dict(zip(COLUMNS, columns, strict=True))).rows(~killed & ~unfit)
    metric = series[0].series.metric
    return Results(
        experiment=_experiment(metric, series, levels, factors, design, question),
        trial_table=table,
        sample_table=Samples({Key(metric, FILE): samples}),
        facts=_facts(series, design),
        sessions=empty("sessions"),
        faults=empty("faults"),
        stops=empty("stops"),
        imported=Imported(
            unit=series[0].series.unit or "1",
            lower_is_better=series[0].series.lower_is_better,
            references=MappingProxyType({"platform": design.reference}),
            paired=paired,
            ticks=MappingProxyType({i: s.tick for i, s in enumerate(series)}),
            dependence=MappingProxyType({i: s.dependence for i, s in enumerate(series)}),
        ),
    )


def _levels(s: SeriesAudit, design: Design) -> dict[str, str]:
    """Name the levels of a series as experiments do, the platform last.

    A level of the column of pinning that says nothing of pinning stays a level of that column.
    """
    own = {design.platform: "platform", design.size: "size"}
    found, pinned = {}, FREE
    for column, level in s.key.items():
        if column == design.pinning and level in (design.free, design.pinned):
            pinned = FREE if level == design.free else "pinned"
        else:
            found[own.get(column) or (f"{column} level" if column in _TAKEN else column)] = level
    platform = found.pop("platform")
    return {**found, "pinning": pinned, "platform": platform}


def _cores(s: SeriesAudit, design: Design) -> float | None:
    return cores_of(s.key.get(design.size or "", ""))


def _is_unfit(s: SeriesAudit) -> bool:
    return bool(s.series.defects or s.counted.refusal)


def _blocks(trials: Series, *, paired: bool) -> np.ndarray:
    """Return the block of each trial; without blocks, its rank among those of its series."""
    if paired and trials.block is not None:
        return trials.block
    return np.arange(len(trials.values))


def _experiment(
    metric: str,
    series: Sequence[SeriesAudit],
    levels: Sequence[dict[str, str]],
    factors: Iterable[str],
    design: Design,
    question: Question,
) -> Experiment:
    named: dict[str, tuple[Any, ...]] = {
        f: tuple(dict.fromkeys(own.get(f, "") for own in levels)) for f in factors
    }
    cores = {level: cores_of(level) for level in named.get("size", ())}
    named |= {"size": tuple(sorted(cores, key=lambda level: cores[level] or 0.0))} if cores else {}
    return Experiment(
        name=metric,
        question="What does each platform cost, size by size?",
        workloads=(WorkloadSpec(name=metric),),
        factors=named,
        sizes={level: SizeSpec(cores=n) for level, n in cores.items()},
        metric=metric,
        seed=question.seed,
        margin=question.margin,
        stopping=Stopping(trials=max(s.n for s in series)),
    )


def _facts(series: Sequence[SeriesAudit], design: Design) -> Columns:
    """Return the host's CPUs: those named, otherwise those of the largest size."""
    known = [n for s in series if (n := _cores(s, design))]
    cpus = design.host_cores or max(known, default=None)
    if cpus is None:
        return empty("facts")
    fact = {"session": 0, "name": "cpus", "value": max(cpus, *known, cpus), "source": FILE}
    names = empty("facts").names
    return Columns({name: objects([fact.get(name)]) for name in names})
