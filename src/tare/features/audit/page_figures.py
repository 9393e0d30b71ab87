"""The charts of an audit's page, each with its text alternative."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tare.features.audit import messages as words
from tare.features.audit.answers import kinds
from tare.features.audit.audit import VERDICTS, Audit
from tare.features.audit.comparison import ComparisonAudit
from tare.features.audit.comparison_answers import name as name_of
from tare.features.audit.page_overhead import overhead_figures
from tare.features.audit.series import SeriesAudit, worst
from tare.features.audit.variance import VarianceAudit
from tare.render import charts
from tare.render.charts.forest import MOST_ROWS
from tare.render.words import paragraph, text
from tare.results.message import Chosen, Message, Ratio, Said, message
from tare.results.report import Figure
from tare.statistics.comparison import Comparison
from tare.statistics.statistic import FloatArray
from tare.units import scale_for

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


def _figure(name: str, title: str, chart: Any, *alternative: Said) -> Figure:
    return Figure(name, title, chart.to_dict(), paragraph(alternative))


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
    ends = [
        message("audit.chart.of", name=s.name, value=words.median(s))
        for s in ([least] if most is least else [least, most])
    ]
    said = message("audit.chart.medians", ends=ends)
    title = text(message("audit.trust.table", metric=metric))
    return _figure(name, title, chart, said, *_left_out(some, shown))


def _middle(s: SeriesAudit) -> float:
    return s.median.estimate


def _p10_p90(s: SeriesAudit) -> tuple[float, float]:
    low, high = np.quantile(s.part, [0.1, 0.9])
    return float(low), float(high)


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def _left_out(some: Sequence[SeriesAudit], shown: Sequence[SeriesAudit]) -> tuple[Message, ...]:
    left = len(some) - len(shown)
    return (message("audit.chart.left_out", n=left),) if left else ()


def _convergence(audit: Audit) -> tuple[Figure, ...]:
    some = [s for s in audit.series if len(s.repetitions.curve.s) > 1 and s.median.estimate]
    if not some:
        return ()
    shown = worst(some, _MOST_PANELS)
    chart = charts.convergence(_named((s, s.repetitions) for s in shown))
    needed = [message("audit.chart.with", name=s.name, value=words.runs(s)) for s in shown]
    said = message("audit.chart.convergence", runs=needed)
    title = "How the interval narrows with more runs"
    return (_figure("convergence", title, chart, said, *_left_out(some, shown)),)


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
    left: tuple[Message, ...],
) -> Figure:
    # Where a series is thinned, its changes of level lie at thinned places.
    points = {
        name: [at * s.used // s.n for at in s.assumptions.changes.points]
        for name, s in zip(values, shown, strict=True)
    }
    chart = charts.course(values, points, unit)
    shifts = [
        message("audit.chart.with", name=s.name, value=len(s.assumptions.changes.points))
        for s in shown
        if s.assumptions.changes.points
    ]
    thin = [s.name for s in shown if s.used < s.n]
    said = message("audit.chart.course", shifts=shifts, thinned=thin)
    return _figure(f"course-{i}", f"In order: {metric}", chart, said, *left)


def _distribution(
    i: int,
    metric: str,
    unit: str,
    audit: Audit,
    values: dict[str, FloatArray],
    left: tuple[Message, ...],
) -> Figure:
    quantiles = (0.5, *audit.question.quantiles)
    chart = charts.distribution(values, quantiles, audit.question.confidence, unit)
    said = message("audit.chart.distribution")
    return _figure(f"distribution-{i}", f"Distribution: {metric}", chart, said, *left)


def _normal(
    i: int, metric: str, unit: str, values: dict[str, FloatArray], left: tuple[Message, ...]
) -> Figure:
    said = message("audit.chart.normal")
    chart = charts.normal_plot(values, unit)
    return _figure(f"normal-{i}", f"Normal plot: {metric}", chart, said, *left)


def _forest(some: Sequence[ComparisonAudit], margin: float) -> tuple[Figure, ...]:
    known = [(c, c.location) for c in some if c.location is not None]
    if not known:
        return ()
    drawn = words.clearest([c for c, _ in known], MOST_ROWS)
    shown = [(c, c.location) for c in drawn if c.location is not None]
    chart = charts.forest(
        _apart([name_of(c) for c, _ in shown]),
        [found.ratio for _, found in shown],
        [found.low for _, found in shown],
        [found.high for _, found in shown],
        margin,
        "change vs. the first",
        [found.verdict for _, found in shown],
        [found.n for _, found in shown],
    )
    least = min(known, key=lambda one: one[1].ratio)
    most = max(known, key=lambda one: one[1].ratio)
    said = message(
        "audit.chart.comparisons",
        n=len(known),
        ends=[_end(*one) for one in ([least] if least is most else [least, most])],
        margin=Chosen(margin),
        drawn=len(shown) if len(known) > len(shown) else None,
    )
    return (_figure("comparisons", "Comparisons", chart, said),)


def _end(c: ComparisonAudit, found: Comparison) -> Message:
    ratio = Ratio(found.ratio, found.low, found.high)
    return message("audit.chart.of", name=words.name_of(c), value=ratio)


def _apart(names: Iterable[str]) -> list[str]:
    """Keep apart what is called the same."""
    kept: dict[str, None] = {}
    for name in names:
        apart = name
        while apart in kept:
            apart += "\u200b"
        kept[apart] = None
    return list(kept)


def _shares(v: VarianceAudit, i: int) -> Figure:
    effects = v.decomposition.effects
    chart = charts.share_bars(
        [words.effect_name(e) for e in effects] + ["between trials of a cell"],
        [e.share for e in effects] + [v.decomposition.within],
        [e.rank_share for e in effects] + [None],
    )
    title = f"Variance of {v.metric}"
    said = (message("audit.chart.shares"), *words.variance(v))
    return _figure(f"shares-{i}", title, chart, *said)
