"""Concurrent workers: what they do to the mean and to the spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.charts.rows import tables_of, where
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.charts.forest import ratio_axis
from tare.render.drawing import by_series, colour, data, panel_width, styled
from tare.results.finding import Finding
from tare.results.message import Chosen, Message, message
from tare.units import change_interval

_MOST_GROUPS = 12
_GUTTER, _HEIGHT, _EXTENT = 152, 92, 48
_QUANTITIES = (("shift", "mean"), ("growth", "p10–p90 range"))

Group = tuple[str, list[dict[str, Any]]]


def _groups(results: Results, findings: Sequence[Finding]) -> list[Group]:
    """Rows of the finding's table, by everything but platform and number of workers."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for table in tables_of(findings, "parallelism")[:1]:
        for row in table.rows:
            name = where(row, table, results, without=("platform", "workers"))
            groups.setdefault(name, []).append(row)
    return list(groups.items())


def _platform(row: dict[str, Any], results: Results) -> str:
    return str(row.get("platform") or results.trial_table["platform"].iloc[0])


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw mean and spread relative to one worker's, over the number of workers."""
    import altair as alt

    groups = _groups(results, findings)
    if not groups:
        return None
    shown = groups[:_MOST_GROUPS]
    platforms = list(
        dict.fromkeys(_platform(row, results) for _, rows in shown for row in rows)
    )  # fmt: skip
    experiment = results.experiment
    margins = {"shift": experiment.parallel_shift, "growth": experiment.parallel_growth}
    rows = []
    for name, some in shown:
        pair = []
        for key, what in _QUANTITIES:
            records = _records(some, key, margins[key], results)
            ends = [v for r in records for v in (r["ratio"], r["low"], r["high"])]
            panel = _panel(platforms, ratio_axis(ends, margins[key], what, _EXTENT))
            size = {"width": panel_width(2, _GUTTER), "height": _HEIGHT}
            pair.append(panel.properties(data=data(records), **size))
        rows.append(alt.hconcat(*pair, spacing=18).properties(title=name))
    return styled(alt.vconcat(*rows, spacing=14), columns=2, gutter=_GUTTER, most=360)


def _panel(platforms: list[str], y: dict[str, Any]) -> Any:
    import altair as alt

    tint, shape = by_series(platforms, "platform")
    once = alt.Chart().transform_filter("datum.first")
    band = once.mark_rect(color=colour("band"), opacity=0.9).encode(
        y=alt.Y("inner:Q", **y), y2=alt.Y2("outer:Q")
    )
    none = once.mark_rule(color=colour("soft")).encode(y=alt.Y("one:Q", **y))
    base = alt.Chart().encode(
        x=alt.X(
            "workers:O",
            sort=alt.SortField("place"),
            title="workers",
            axis=alt.Axis(labelAngle=0, grid=False, titlePadding=2),
        ),
        xOffset=alt.XOffset("platform:N", sort=platforms),
        color=tint,
        tooltip=[alt.Tooltip(f"{k}:N") for k in ("platform", "workers", "told", "state", "n")],
    )
    bars = base.mark_rule(strokeWidth=1.8).encode(y=alt.Y("low:Q", **y), y2=alt.Y2("high:Q"))
    marks = base.mark_point(filled=True, size=55, opacity=1).encode(
        y=alt.Y("ratio:Q", **y), shape=shape
    )
    return alt.layer(band, none, bars, marks)


def _records(
    rows: list[dict[str, Any]], key: str, margin: float, results: Results
) -> list[dict[str, Any]]:
    return [
        {
            "platform": _platform(row, results),
            "workers": str(row["workers"]),
            "place": int(row["workers"]),
            "ratio": row[key],
            "low": row[f"{key}_low"],
            "high": row[f"{key}_high"],
            "told": change_interval(row[key], row[f"{key}_low"], row[f"{key}_high"]),
            "state": row["state"],
            "n": row["n"],
            "inner": 1 / (1 + margin),
            "outer": 1 + margin,
            "one": 1,
            "first": i == 0,
        }
        for i, row in enumerate(rows)
        if row[key] is not None
    ]


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the marks mean, and give the limits."""
    return (
        message(
            "chart.parallelism.marks",
            shift=Chosen(results.experiment.parallel_shift),
            growth=Chosen(results.experiment.parallel_growth, "growth"),
        ),
        *left_out([name for name, _ in _groups(results, findings)[_MOST_GROUPS:]]),
    )


UNIT = ChartUnit(
    description=Description(
        name="parallelism",
        title="What more workers do to mean and spread",
        question="How many workers may run at a time?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
