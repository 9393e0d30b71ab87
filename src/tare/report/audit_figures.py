"""The charts of an audit's page, each with its text alternative."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tare.audit import VERDICTS, Audit
from tare.audit import telling as words
from tare.audit.answers import kinds
from tare.audit.comparison import ComparisonAudit
from tare.audit.series import SeriesAudit, worst
from tare.audit.variance import VarianceAudit
from tare.render.words import listing
from tare.report.audit_overhead import overhead_figures
from tare.report.page import Figure
from tare.statistics import charts
from tare.statistics.charts.forest import MOST_ROWS
from tare.statistics.comparison import Comparison
from tare.statistics.statistic import FloatArray
from tare.units import change_interval, counted, scale_for

#: Rows of the chart of all medians; the table has all.
_MOST_MEDIANS = 80
#: Series that have panels of their own.
_MOST_PANELS = 12
#: Beyond this factor between the largest and the smallest median the scale is logarithmic.
_WIDE = 20


def figures(audit: Audit) -> dict[str, tuple[Figure, ...]]:
    """Draw an audit: the charts of each finding, by its name."""
    found = {
        "trust": _medians(audit),
        "repetitions": _convergence(audit),
        "assumptions": _shapes(audit),
        "difference": _forest(audit.comparisons, audit.question.margin),
    }
    if audit.overhead is not None:
        found["overhead"] = overhead_figures(audit.overhead)
    for i, v in enumerate(audit.variance):
        found[f"variance of {v.metric}"] = (_shares(v, i),)
    return found


def _figure(name: str, title: str, chart: Any, alternative: str) -> Figure:
    return Figure(name, title, chart.to_dict(), alternative)


def _medians(audit: Audit) -> tuple[Figure, ...]:
    return tuple(
        drawn
        for i, (metric, unit, some) in enumerate(kinds(audit))
        if (drawn := _medians_of(f"medians-{i}", metric, unit, [s for s in some if s.n]))
        is not None
    )


def _medians_of(
    name: str, metric: str, unit: str | None, some: Sequence[SeriesAudit]
) -> Figure | None:
    if not some:
        return None
    shown = worst(some, _MOST_MEDIANS)
    medians = [s.median.estimate for s in shown]
    scale, shown_unit = scale_for(medians, unit or "1")
    ranges = [_p10_p90(s) for s in shown]
    positive = min(low for low, _ in ranges) > 0
    chart = charts.interval_rows(
        [s.name for s in shown],
        [m / scale for m in medians],
        [_scaled(s.median.low, scale) for s in shown],
        [_scaled(s.median.high, scale) for s in shown],
        [(low / scale, high / scale) for low, high in ranges],
        [s.trust.verdict for s in shown],
        shown_unit,
        order=VERDICTS,
        logarithmic=positive and max(medians) > _WIDE * min(medians),
    )
    least, most = min(shown, key=_middle), max(shown, key=_middle)
    span = f"{words.told_median(least)} ({least.name})"
    if most is not least:
        span += f" to {words.told_median(most)} ({most.name})"
    text = (
        f"Median of each series with its interval (thick) and the p10–p90 range of its values "
        f"(thin): {span}.{_left_out(some, shown)}"
    )
    return _figure(name, f"Every series: {metric}", chart, text)


def _middle(s: SeriesAudit) -> float:
    return s.median.estimate


def _p10_p90(s: SeriesAudit) -> tuple[float, float]:
    low, high = np.quantile(s.part, [0.1, 0.9])
    return float(low), float(high)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def _left_out(some: Sequence[SeriesAudit], shown: Sequence[SeriesAudit]) -> str:
    left = len(some) - len(shown)
    return f" {left:,} more series, none worse, are in the table." if left else ""


def _convergence(audit: Audit) -> tuple[Figure, ...]:
    some = [s for s in audit.series if len(s.repetitions.curve.s) > 1 and s.median.estimate]
    if not some:
        return ()
    shown = worst(some, _MOST_PANELS)
    chart = charts.convergence(_named((s, s.repetitions) for s in shown))
    text = (
        "Interval of the median expected of so many of these runs (across), relative to the "
        "median of all; the band is the target, dashes where the interval stays inside. "
        f"Runs needed: {listing(f'{s.name} {words.told_runs(s)}' for s in shown)}."
        f"{_left_out(some, shown)}"
    )
    return (_figure("convergence", "How the interval narrows with more runs", chart, text),)


def _named(some: Iterable[tuple[SeriesAudit, Any]]) -> dict[str, Any]:
    """Name panels."""
    pairs = list(some)
    return dict(zip(_apart(s.name for s, _ in pairs), (v for _, v in pairs), strict=True))


def _shapes(audit: Audit) -> tuple[Figure, ...]:
    """Draw course, distribution and normal plot of the series of each metric."""
    drawn: list[Figure] = []
    for i, (metric, unit, some) in enumerate(kinds(audit)):
        known = [s for s in some if s.n > 1]
        if not known:
            continue
        shown = worst(known, _MOST_PANELS)
        scale, shown_unit = scale_for([s.median.estimate for s in shown], unit or "1")
        values = _named((s, s.part / scale) for s in shown)
        left = _left_out(known, shown)
        drawn += [
            _course(i, metric, shown_unit, shown, values, left),
            _distribution(i, metric, shown_unit, audit, values, left),
            _normal(i, metric, shown_unit, values, left),
        ]
    return tuple(drawn)


def _course(
    i: int,
    metric: str,
    unit: str,
    shown: Sequence[SeriesAudit],
    values: dict[str, FloatArray],
    left: str,
) -> Figure:
    # Where a series is thinned, its changes of level lie at thinned places.
    points = {
        name: [at * s.used // s.n for at in s.assumptions.changes.points]
        for name, s in zip(values, shown, strict=True)
    }
    chart = charts.course(values, points, unit)
    changed = [f"{s.name} {len(s.assumptions.changes.points)}" for s in shown
               if s.assumptions.changes.points]  # fmt: skip
    told = f"Changes of level: {listing(changed)}." if changed else "None changes its level."
    thin = [s.name for s in shown if s.used < s.n]
    thinned = f" Of {listing(thin)} values at even distances are drawn." if thin else ""
    text = f"Values in order, the median of each level as a line, dashes where it changes. {told}"
    return _figure(f"course-{i}", f"In order: {metric}", chart, text + thinned + left)


def _distribution(
    i: int, metric: str, unit: str, audit: Audit, values: dict[str, FloatArray], left: str
) -> Figure:
    quantiles = (0.5, *audit.question.quantiles)
    chart = charts.distribution(values, quantiles, audit.question.confidence, unit)
    text = (
        "How many values fall where, and above it the quantiles with their intervals, taken "
        "for independent; rings have no interval, as there are too few values."
    )
    return _figure(f"distribution-{i}", f"Distribution: {metric}", chart, text + left)


def _normal(i: int, metric: str, unit: str, values: dict[str, FloatArray], left: str) -> Figure:
    text = (
        "Values against the quantiles of a normal distribution: on the line they are normal, a "
        "bend upwards at the right is a long tail of large values, steps are modes."
    )
    chart = charts.normal_plot(values, unit)
    return _figure(f"normal-{i}", f"Beside the normal distribution: {metric}", chart, text + left)


def _forest(some: Sequence[ComparisonAudit], margin: float) -> tuple[Figure, ...]:
    known = [(c, c.location) for c in some if c.location is not None]
    if not known:
        return ()
    drawn = words.clearest([c for c, _ in known], MOST_ROWS)
    shown = [(c, c.location) for c in drawn if c.location is not None]
    chart = charts.forest(
        _apart([words.told_comparison(c) for c, _ in shown]),
        [found.ratio for _, found in shown],
        [found.low for _, found in shown],
        [found.high for _, found in shown],
        margin,
        "change beside the first",
        [found.verdict for _, found in shown],
        [found.n for _, found in shown],
    )
    least = min(known, key=lambda one: one[1].ratio)
    most = max(known, key=lambda one: one[1].ratio)
    ends = list(dict.fromkeys(_told(*one) for one in (least, most)))
    text = (
        f"Ratios of {counted(len(known), 'comparison')}, from {' to '.join(ends)}. Marks are "
        f"estimates with intervals; the band is {words.told_precision(margin)}; rings are not "
        "decided, circles the same, triangles point to where it differs."
    )
    if len(known) > len(shown):
        text += f" The {len(shown)} clearest are drawn; the table has all."
    return (_figure("comparisons", "Comparisons", chart, text),)


def _told(c: ComparisonAudit, found: Comparison) -> str:
    return f"{change_interval(found.ratio, found.low, found.high)} for {words.told_comparison(c)}"


def _apart(names: Iterable[str]) -> list[str]:
    """Keep apart what is called the same."""
    told: dict[str, None] = {}
    for name in names:
        apart = name
        while apart in told:
            apart += "\u200b"
        told[apart] = None
    return list(told)


def _shares(v: VarianceAudit, i: int) -> Figure:
    effects = v.decomposition.effects
    chart = charts.share_bars(
        [" with ".join(e.factors) for e in effects] + ["between trials of a cell"],
        [e.share for e in effects] + [v.decomposition.within],
        [e.rank_share for e in effects] + [None],
    )
    text = (
        f"Shares of the variance (bars) and of that of the ranks (ticks): {words.variance_told(v)}"
    )
    return _figure(f"shares-{i}", f"What explains the variance of {v.metric}", chart, text)
