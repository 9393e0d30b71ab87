"""The charts of an audit's page, each with its text alternative."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts.forest import describe_ratios, ratio_of
from tare.experiment.findings.charts.rows import first_of
from tare.experiment.findings.time_of_day import day_figures, week_figures
from tare.experiment.findings.variance import described, drawn
from tare.experiment.task_sets.charts import scatters
from tare.features.audit import messages as words
from tare.features.audit import phrases
from tare.features.audit.answers import kinds
from tare.features.audit.audit import VERDICTS, Audit
from tare.features.audit.comparison import ComparisonAudit
from tare.features.audit.comparison_answers import name as name_of
from tare.features.audit.comparison_answers import ratio_cells
from tare.features.audit.series import SeriesAudit, worst
from tare.render import charts
from tare.render.charts.forest import MOST_ROWS, draw_ratios
from tare.render.words import paragraph, sentence, text
from tare.results.message import Message, Said, message
from tare.results.report import Figure
from tare.units import scale_for

_CHART_WITH = "{name} {value}"

#: Rows of the chart of all medians; the table has all.
_MOST_MEDIANS = 80
#: Series that have panels of their own.
_MOST_PANELS = 12
#: Beyond this factor between the largest and the smallest median the scale is logarithmic.
_WIDE = 20


def drawings(audit: Audit) -> dict[str, tuple[Figure, ...]]:
    """Draw an audit: the charts of each finding, by its name."""
    found = {"difference": _forest(audit.comparisons, audit.question.margin)}
    if audit.tasks is not None and audit.tasks.are_enough:
        found["faster"] = scatters(audit.tasks.compared)
    if not audit.is_of_tasks:
        found |= {
            "trust": (*_medians(audit), *_timelines(audit)),
            "repetitions": _convergence(audit),
            "assumptions": _shapes(audit),
        }
    if audit.platforms is not None:
        found |= audit.platforms.figures
    for i, v in enumerate(audit.variance):
        found[f"variance of {v.metric}"] = (
            _figure(f"shares-{i}", f"Variance of {v.metric}", drawn(v), *described(v)),
        )
    for i, (metric, some) in enumerate(audit.timed.items()):
        of, suffix = f" of {metric}" if len(audit.timed) > 1 else "", f"-{i}" if i else ""
        found[f"time_of_day{of}"] = day_figures(some, suffix)
        found[f"time_of_week{of}"] = week_figures(some, suffix)
    return found


def _figure(name: str, title: str, chart: Any, *alternative: Said) -> Figure:
    return Figure(name, title, chart, paragraph(alternative))


def _medians(audit: Audit) -> tuple[Figure, ...]:
    drawn = (_medians_of(f"medians-{i}", *kind) for i, kind in enumerate(kinds(audit)))
    return tuple(figure for figure in drawn if figure is not None)


def _medians_of(
    name: str, metric: str, unit: str | None, every: Sequence[SeriesAudit]
) -> Figure | None:
    some = [s for s in every if s.n]
    if not some:
        return None
    shown = worst(some, _MOST_MEDIANS)
    # What exceeds a limit is drawn at it.
    ranked = sorted(shown, key=_middle)
    scale, shown_unit = scale_for([_middle(s) for s in shown], unit or "1")
    ranges = [np.quantile(s.part, [0.1, 0.9]) / scale for s in shown]
    lows, highs = (
        [None if x is None else x / scale for x in ends]
        for ends in zip(*(s.median.drawn[1:] for s in shown), strict=True)
    )
    chart = charts.interval_rows(
        [s.name for s in shown],
        [_middle(s) / scale for s in shown],
        lows,
        highs,
        [(float(low), float(high)) for low, high in ranges],
        [s.trust.verdict for s in shown],
        shown_unit,
        order=VERDICTS,
        logarithmic=min(low for low, _ in ranges) > 0
        and _middle(ranked[-1]) > _WIDE * _middle(ranked[0]),
    )
    said = message(
        "Median of each series with its interval (thick) and the p10–p90 range of its values "
        "(thin): {ends | join(' to ')}",
        ends=[
            message("{value} ({name})", name=s.name, value=words.median(s))
            for s in (*ranked[:1], *ranked[1:][-1:])
        ],
    )
    title = text(message(phrases.TRUST_TABLE, metric=metric))
    return _figure(name, title, chart, said, *_left_out(some, shown))


def _middle(s: SeriesAudit) -> float:
    return s.median.drawn[0]


def _left_out(some: Sequence[SeriesAudit], shown: Sequence[SeriesAudit]) -> tuple[Message, ...]:
    left = len(some) - len(shown)
    return (message("{n} more series, none worse, are in the table", n=left),) if left else ()


def _convergence(audit: Audit) -> tuple[Figure, ...]:
    some = [s for s in audit.series if len(s.repetitions.curve.s) > 1 and s.median.estimate]
    if not some:
        return ()
    shown = worst(some, _MOST_PANELS)
    chart = charts.convergence(_named((s, s.repetitions) for s in shown))
    needed = [message(_CHART_WITH, name=s.name, value=words.runs(s)) for s in shown]
    said = message(
        "Expected interval of the median by number of runs, relative to the median of all. "
        "Band: the target. Dashes: from there on the interval stays inside. Runs needed: "
        "{runs | listing}",
        runs=needed,
    )
    title = "How the interval narrows with more runs"
    return (_figure("convergence", title, chart, said, *_left_out(some, shown)),)


def _named(some: Iterable[tuple[SeriesAudit, Any]]) -> dict[str, Any]:
    """Name panels."""
    pairs = list(some)
    return dict(zip(_apart(s.name for s, _ in pairs), (v for _, v in pairs), strict=True))


def _shapes(audit: Audit) -> tuple[Figure, ...]:
    """Draw course, distribution and normal plot of the series of each metric."""
    drawn: list[Figure] = []
    quantiles, confidence = (0.5, *audit.question.quantiles), audit.question.confidence
    for i, (metric, stored, some) in enumerate(kinds(audit)):
        known = [s for s in some if s.n > 1]
        if not known:
            continue
        shown = worst(known, _MOST_PANELS)
        scale, unit = scale_for([_middle(s) for s in shown], stored or "1")
        values = _named((s, s.part / scale) for s in shown)
        # Where a series is thinned, its changes of level lie at thinned places.
        points = [[at * s.used // s.n for at in s.changes.points] for s in shown]
        course = charts.course(values, dict(zip(values, points, strict=True)), unit)
        distribution = charts.distribution(values, quantiles, confidence, unit)
        drawn += [
            _figure(f"{name}-{i}", f"{title}: {metric}", chart, said, *_left_out(known, shown))
            for name, title, chart, said in (
                ("course", "In order", course, _course(shown)),
                ("distribution", "Distribution", distribution,
                 message("Number of values by size. Above: quantiles with intervals, for "
                     "independent values. Rings: too few values for an interval")),
                ("normal", "Normal plot", charts.normal_plot(values, unit),
                 message("Values against the quantiles of a normal distribution. On the line: "
                     "normal. A bend upwards at the right: a long tail of large values. "
                     "Steps: modes")),
            )
        ]  # fmt: skip
    return tuple(drawn)


def _timelines(audit: Audit) -> Iterator[Figure]:
    """Draw the inside of single runs, a figure for each metric."""
    found = [(s, one, said) for s in audit.series for one, said in words.inside(s)]
    for i, metric in enumerate(dict.fromkeys(one.metric for _, one, _ in found)):
        some = [(s, one, said) for s, one, said in found if one.metric == metric][:_MOST_PANELS]
        levels = [float(np.median(one.values)) for _, one, _ in some]
        scale, unit = scale_for(levels, some[0][1].unit or "1")
        values = _named((s, one.values / scale) for s, one, _ in some)
        chart = charts.course(values, {name: [] for name in values}, unit)
        said = tuple(sentence(said) for _, _, said in some)
        yield _figure(f"inside-{i}", f"Inside the run: {metric}", chart, *said)


def _course(shown: Sequence[SeriesAudit]) -> Message:
    shifts = [
        message(_CHART_WITH, name=s.name, value=len(s.changes.points))
        for s in shown
        if s.changes.points
    ]
    thinned = [s.name for s in shown if s.used < s.n]
    return message(
        "Values in order, with the median of each level as a line and dashes at level "
        "shifts. {% if shifts %}Level shifts: {shifts | listing}{% else %}No level shifts"
        "{% endif %}{% if thinned %}. Evenly spaced values are drawn of {thinned | listing}"
        "{% endif %}",
        shifts=shifts,
        thinned=thinned,
    )


def _forest(some: Sequence[ComparisonAudit], margin: float) -> tuple[Figure, ...]:
    known = [c for c in some if c.location is not None]
    drawn = words.clearest(known, MOST_ROWS)
    names = _apart(map(name_of, drawn))
    ratios = [
        found
        for c, name in zip(drawn, names, strict=True)
        if (found := ratio_of(ratio_cells(c), "", name)) is not None
    ]
    if not ratios:
        return ()
    chart = draw_ratios(ratios, margin, "change vs. the first")
    said = (*describe_ratios(ratios), *first_of(len(drawn), len(known)))
    return (_figure("comparisons", "Comparisons", chart, *said),)


def _apart(names: Iterable[str]) -> list[str]:
    """Keep apart what is called the same."""
    kept: dict[str, None] = {}
    for name in names:
        apart = name
        while apart in kept:
            apart += "\u200b"
        kept[apart] = None
    return list(kept)
