"""All iterations of all cells, in order of time: STABILITY's main figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tare.findings.cells import Basis, basis_of, measured
from tare.findings.finding import Finding
from tare.findings.phrasing import at_levels, counted, listing, metric_name, percent
from tare.registry import Description
from tare.report.charts.chart import (
    MOST_MARKS,
    MOST_PANELS,
    ChartUnit,
    colour,
    data,
    panel_width,
    styled,
)
from tare.report.scales import scale_for
from tare.results import Results

_GUTTER = 62
_HEIGHT = 92


@dataclass(frozen=True)
class _Shown:
    """What of an experiment is drawn.

    Attributes
    ----------
    rows : list of (str, DataFrame)
        A row of panels each: its levels in words, its iterations.
    every : int
        Only every so many trials are drawn.
    left_out : list of str
        Rows beyond what one chart holds.
    total : int
        Iterations that there are in the rows.
    """

    platforms: list[str]
    rows: list[tuple[str, pd.DataFrame]]
    every: int
    left_out: list[str]
    total: int


def _select(results: Results, basis: Basis) -> _Shown:
    trials = results.trial_table
    good = trials[trials["status"] == "ok"]
    points = measured(results, basis.metric, basis.source).merge(good, on="trial")
    platforms = [str(p) for p in dict.fromkeys(good.sort_values("cell")["platform"])]
    varied = [f for f in results.varied if f != "platform"]
    groups: list[tuple[str, pd.DataFrame]] = []
    for _, some in points.sort_values(["cell", "trial"]).groupby(varied or ["size"], sort=False):
        levels = {f: str(some[f].iloc[0]) for f in results.factors if f != "platform"}
        groups.append((at_levels(levels, varied), some))
    most = max(1, MOST_PANELS // max(1, len(platforms)))
    # Evenly over the rows, so that few and many workers are both seen.
    step = len(groups) / most
    chosen = range(len(groups)) if step <= 1 else [int(i * step) for i in range(most)]
    rows = [groups[i] for i in chosen]
    left_out = [name for i, (name, _) in enumerate(groups) if i not in set(chosen)]
    total = sum(len(some) for _, some in rows)
    every = math.ceil(total / MOST_MARKS)
    return _Shown(platforms, [(n, _thin(some, every)) for n, some in rows], every, left_out, total)


def _thin(points: pd.DataFrame, every: int) -> pd.DataFrame:
    """Keep every so many trials of each cell, whole, and number all trials in order of time."""
    order = points.groupby("cell")["trial"].rank("dense").astype(int) - 1
    return points.assign(order=order)[order % every == 0]


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a row of panels for each workload and load, a column for each platform."""
    import altair as alt

    basis = basis_of(results)
    if isinstance(basis, str):
        return None
    shown = _select(results, basis)
    rows = []
    for i, (name, points) in enumerate(shown.rows):
        scale, unit = scale_for(points["value"], basis.unit)
        records = _records(points, scale)
        base = alt.Chart().encode(
            x=alt.X("x:Q", axis=None, scale=alt.Scale(nice=False, padding=4)),
            y=alt.Y(
                "y:Q",
                title=unit,
                scale=alt.Scale(zero=False, nice=True),
                axis=alt.Axis(tickCount=4, minExtent=38, maxExtent=38),
            ),
        )
        others = base.transform_filter("datum.w > 0").mark_point(
            size=11, strokeWidth=0.9, opacity=0.65, stroke=colour("quiet")
        )
        one = base.transform_filter("datum.w <= 0").mark_circle(
            size=15, opacity=0.85, color=colour("mark")
        )
        middle = (
            alt.Chart()
            .transform_filter("isValid(datum.m)")
            .mark_rule(color=colour("ink"), strokeWidth=1, opacity=0.7)
            .encode(y="m:Q")
        )
        tip = [
            alt.Tooltip("y:Q", title=unit), alt.Tooltip("t:Q", title="trial"),
            alt.Tooltip("w:N", title="worker"), alt.Tooltip("i:N", title="iteration"),
        ]  # fmt: skip
        panels = alt.layer(
            others.encode(tooltip=tip), one.encode(tooltip=tip), middle, data=data(records)
        ).properties(width=panel_width(len(shown.platforms), _GUTTER), height=_HEIGHT)
        header = alt.Header(title=None, labels=i == 0 and len(shown.platforms) > 1)
        column = alt.Column("p:N", sort=shown.platforms, header=header)
        rows.append(panels.facet(column=column).properties(title=name))
    chart = alt.vconcat(*rows, spacing=12)
    return styled(chart, columns=len(shown.platforms), gutter=_GUTTER)


def _records(points: pd.DataFrame, scale: float) -> list[dict[str, Any]]:
    per_trial = points["iteration"].max() + 1 if points["iteration"].notna().any() else 1
    medians = points.groupby("platform")["value"].median() / scale
    rows: Any = points.to_dict("records")
    records: list[dict[str, Any]] = []
    for row in rows:
        iteration = None if pd.isna(row["iteration"]) else int(row["iteration"])
        record = {
            "p": row["platform"],
            "x": round(row["order"] + (iteration or 0) / per_trial, 3),
            "y": float(f"{row['value'] / scale:.6g}"),
            "w": -1 if pd.isna(row["worker"]) else int(row["worker"]),
            "i": iteration,
            "t": int(row["trial"]),
        }
        if row["platform"] in medians.index:
            record["m"] = float(f"{medians.pop(row['platform']):.6g}")
        records.append(record)
    return records


def alternative(results: Results, findings: Sequence[Finding]) -> str:
    """Tell the most extreme panels, and what was thinned."""
    basis = basis_of(results)
    if isinstance(basis, str):
        return basis
    shown = _select(results, basis)
    spreads = {}
    for name, points in shown.rows:
        for platform, some in points.groupby("platform"):
            middle = some["value"].median()
            if len(some) > 1 and middle:
                low, high = some["value"].quantile([0.1, 0.9])
                spreads[f"{name} on {platform}"] = (high - low) / middle
    text = (
        f"Every {metric_name(basis.metric)} measured, in order of time: a row for each group of "
        f"levels, a column for each of {counted(len(shown.platforms), 'platform')} "
        f"({listing(shown.platforms)}). Worker 0 is filled, other workers are rings; the line is "
        "the median."
    )
    if spreads:
        least, most = min(spreads, key=spreads.__getitem__), max(spreads, key=spreads.__getitem__)
        text += f" The middle 80 % of points lie within {percent(spreads[least])} of the median "
        text += f"for {least}"
        text += f", and within {percent(spreads[most])} for {most}." if most != least else "."
    if shown.every > 1:
        drawn = sum(len(points) for _, points in shown.rows)
        text += (
            f" Drawn are {drawn:,} of {shown.total:,} iterations: one in {shown.every} trials of "
            "each cell; all tables and intervals use all of them."
        )
    if shown.left_out:
        text += (
            f" Not drawn, for want of room: {listing(shown.left_out[:12])}"
            + (f" and {len(shown.left_out) - 12} more" if len(shown.left_out) > 12 else "")
            + "."
        )
    return text


UNIT = ChartUnit(
    description=Description(
        name="scatter",
        title="Every iteration, by platform, workload and load",
        question="What do the measured times look like?",
        source="STABILITY",
    ),
    draw=draw,
    alternative=alternative,
)
