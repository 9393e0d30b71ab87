"""Concurrent workers: what they do to the mean and to the spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.charts.rows import tables_of, where
from tare.experiment.findings.parallelism import UNIT as FINDING
from tare.experiment.results import Results
from tare.render.charts.forest import has_factors, ratio_axis
from tare.render.drawing import (
    Chart,
    by_series,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.results.finding import Finding
from tare.results.message import Chosen, Message, message
from tare.units import change_interval

_MOST_GROUPS = 12
_GUTTER, _HEIGHT, _EXTENT = 152, 92, 48
_TOOLTIP = ("platform", "workers", "told", "state", "n")
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
    return str(row.get("platform") or results.trial_table["platform"][0])


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw mean and spread relative to one worker's, over the number of workers."""
    groups = _groups(results, findings)
    if not groups:
        return None
    shown = groups[:_MOST_GROUPS]
    platforms = list(
        dict.fromkeys(_platform(row, results) for _, rows in shown for row in rows)
    )  # fmt: skip
    experiment = results.experiment
    margins = {"shift": experiment.parallel_shift, "growth": experiment.parallel_growth}
    # Of each group and quantity: all panels have labels of one kind.
    records = [
        {key: _records(some, key, margins[key], results) for key in margins} for _, some in shown
    ]
    factors = any(has_factors(_ends(of[key]), margins[key]) for of in records for key in of)
    rows = []
    for (name, _), of in zip(shown, records, strict=True):
        pair = []
        for key, what in _QUANTITIES:
            y = ratio_axis(_ends(of[key]), margins[key], what, _EXTENT, factors=factors)
            pair.append(_panel(platforms, y) | {"data": {"values": of[key]}})
        rows.append({"hconcat": pair, "spacing": 18, "title": name})
    return styled({"vconcat": rows, "spacing": 14}, columns=2, gutter=_GUTTER, most=360)


def _panel(platforms: list[str], y: dict[str, Any]) -> Chart:
    tint, shape = by_series(platforms, "platform")
    band = {"y": field("inner:Q", **y), "y2": field("outer")}
    interval = {"y": field("low:Q", **y), "y2": field("high")}
    at = {"y": field("ratio:Q", **y), "shape": shape}
    axis = {"labelAngle": 0, "grid": False, "titlePadding": 2}
    once = "datum.first"
    return layer(
        mark("rect", band, where=once, color=colour("band"), opacity=0.9),
        mark("rule", {"y": field("one:Q", **y)}, where=once, color=colour("soft")),
        layer(
            mark("rule", interval, strokeWidth=1.8),
            mark("point", at, filled=True, size=55, opacity=1),
            channels={
                "x": field("workers:O", sort={"field": "place"}, title="workers", axis=axis),
                "xOffset": field("platform:N", sort=platforms),
                "color": tint,
                "tooltip": [field(f"{k}:N") for k in _TOOLTIP],
            },
        ),
        width=panel_width(2, _GUTTER),
        height=_HEIGHT,
    )


def _ends(records: list[dict[str, Any]]) -> list[float | None]:
    return [record[name] for record in records for name in ("ratio", "low", "high")]


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
            "marks are ratios relative to the fewest workers, with 95 % intervals; bands are "
            "the limits, {shift} for the mean and {growth} for the spread",
            shift=Chosen(results.experiment.parallel_shift),
            growth=Chosen(results.experiment.parallel_growth, "growth"),
        ),
        *left_out([name for name, _ in _groups(results, findings)[_MOST_GROUPS:]]),
    )


UNIT = chart_of(FINDING.description, "What more workers do to mean and spread", draw, alternative)
