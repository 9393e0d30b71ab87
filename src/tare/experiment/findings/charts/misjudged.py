"""The share of runs that a limit stops, over how long a program really takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts.chart import chart_of
from tare.experiment.findings.charts.grid import left_out
from tare.experiment.findings.level_names import where
from tare.experiment.findings.limit_cells import LimitCell, LimitCells, limit_cells
from tare.experiment.findings.misjudged import ADVISED, needed
from tare.experiment.findings.misjudged import UNIT as FINDING
from tare.experiment.results import Results
from tare.render.drawing import (
    Chart,
    axis,
    by_series,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import shown
from tare.results.finding import Finding
from tare.results.message import Chosen, Levels, Message, message
from tare.units import percent, quantity

_MOST_PANELS, _MOST_LINES, _POINTS = 4, 8, 80
_GUTTER, _HEIGHT = 70, 230
#: Smallest share on the axis.
_LEAST = 5e-4

#: Vega expression that writes a share in per cent.
_PERCENT = "format(datum.value * 100, '~g') + ' %'"

Panel = tuple[str, LimitCells, list[tuple[str, LimitCell]]]


def _panels(results: Results) -> list[Panel]:
    """Return a panel for each limit and program, with a line a setting."""
    found: list[Panel] = []
    for cells in limit_cells(results):
        if isinstance(cells, Message):
            continue
        programs: dict[str, list[tuple[str, LimitCell]]] = {}
        for cell in cells.all:
            named = where(cell.levels, results.varied).levels
            program = {f: level for f, level in named.items() if f not in cell.setting}
            around = {f: level for f, level in named.items() if f in cell.setting}
            line = shown(Levels(around)).removeprefix("on ") or cell.levels["platform"]
            programs.setdefault(shown(Levels(program)), []).append((line, cell))
        several = len(results.experiment.limit) > 1
        for title, lines in programs.items():
            limit = quantity(cells.limit.value, cells.basis.unit)
            own = f"{title}, {cells.basis.metric}, limit {limit}" if several else title
            found.append((own, cells, lines))
    return found


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a line a setting, with the interval of the share around it."""
    panels = _panels(results)
    if not panels:
        return None
    drawn = [
        {
            **_panel(cells, lines[:_MOST_LINES]),
            "width": panel_width(1, _GUTTER), "height": _HEIGHT, "title": name,
        }
        for name, cells, lines in panels[:_MOST_PANELS]
    ]  # fmt: skip
    chart = drawn[0]
    if len(drawn) > 1:
        chart = {"vconcat": drawn, "spacing": 20, "resolve": {"scale": {"x": "independent"}}}
    return styled(chart, columns=1, gutter=_GUTTER)


def _panel(cells: LimitCells, lines: Sequence[tuple[str, LimitCell]]) -> Chart:
    records = [record for name, cell in lines for record in _line(name, cell, cells)]
    names = [name for name, _ in lines]
    unit = quantity(cells.limit.value, cells.basis.unit)
    true = f"true value, relative to the limit of {unit}"
    x = field("true:Q", **axis(true, {"zero": False, "nice": False}, format=".3~f", grid=False))
    shares = {"type": "log", "domain": [_LEAST, 1], "clamp": True, "nice": False}
    y = axis("over the limit", shares, values=[0.001, 0.01, 0.1, 1], labelExpr=_PERCENT)
    interval = {"y": field("low:Q", **y), "y2": field("high")}
    share = {"y": field("share:Q", **y)}
    tip = [field(f"{key}:N") for key in ("setting", "true value", "over", "interval")]
    look: dict[str, Any] = {"strokeDash": [2, 3], "color": colour("quiet")}
    return layer(
        layer(
            mark("area", interval, opacity=0.18, interpolate="step-before"),
            mark("line", {**share, "tooltip": tip}, strokeWidth=1.8, interpolate="step-before"),
            rows=records,
            channels={"x": x, "color": by_series(names, "setting")[0]},
        ),
        mark("rule", share, [{"share": ADVISED}], **look),
        mark("rule", {"x": x}, [{"true": 1}], **look),
    )


def _line(name: str, cell: LimitCell, cells: LimitCells) -> list[dict[str, Any]]:
    """Return the line of one cell: from where none to where all are over the limit."""
    limit = cells.limit.value
    finite = cell.ratios[np.isfinite(cell.ratios)]
    # A program of the true value t is over the limit where its ratio is above limit / t.
    ends = np.quantile(finite, np.linspace(1, 0, _POINTS))
    true = limit / np.unique(np.append(ends, ends[-1] * (1 - 1e-6)))[::-1]
    found = cell.over_at(true, limit)
    low = np.min([shares.low for shares in found], axis=0)
    high = np.max([shares.high for shares in found], axis=0)
    return [
        {
            "setting": name,
            "true": float(f"{t / limit:.5g}"),
            "share": max(float(share), _LEAST),
            "low": max(float(least), _LEAST),
            "high": max(float(most), _LEAST),
            "true value": quantity(float(t), cells.basis.unit),
            "over": percent(float(share)),
            "interval": f"{percent(float(least))} to {percent(float(most))}",
        }
        for t, share, least, most in zip(true, found[0].estimate, low, high, strict=True)
    ]


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what is drawn, and for each line where half are over the limit."""
    panels = _panels(results)
    if not panels:
        return (message("No runs can be judged by the limit."),)
    more = [name for name, _, _ in panels[_MOST_PANELS:]]
    more += [line for _, _, lines in panels[:_MOST_PANELS] for line, _ in lines[_MOST_LINES:]]
    return (
        message(
            "Lines: the share of runs that exceed the limit, for a program whose true value "
            "is so much of the limit. Areas: 95 % intervals, where what is added to the true "
            "value stays, grows with it, or with its square. The dotted line is at {chance}",
            chance=Chosen(ADVISED),
        ),
        *(
            message(
                "{program}, {setting}: {chance} are over it at {share} of the limit",
                program=program,
                setting=setting,
                chance=percent(ADVISED),
                share=percent(1 / factor),
            )
            for program, _, lines in panels[:_MOST_PANELS]
            for setting, cell in lines[:_MOST_LINES]
            if (factor := needed(cell, ADVISED).over.estimate) is not None
        ),
        *left_out(more),
    )


UNIT = chart_of(
    FINDING.description,
    "Share of runs over the limit, over how long the program really takes",
    draw,
    alternative,
    of_levels=True,
)
