"""The running median of each level, with its interval and error bounds: CLOUDNET's Figure 19."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.network_cells import Ladder, Networks, Rung
from tare.experiment.results import Results
from tare.features.network.findings.charts.network_values import networks
from tare.registry import Description
from tare.render.drawing import MOST_MARKS, colour, data, panel_width, styled
from tare.results.finding import Finding
from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.confirm import Curve, prefixes
from tare.statistics.depletion import BOUND
from tare.units import scale_for

_GUTTER, _HEIGHT, _COLUMNS = 58, 170, 3
_MOST_PANELS = 12


def _curves(found: Networks) -> list[tuple[Ladder, Rung, Curve]]:
    some = [(ladder, rung, prefixes(rung.values)) for ladder, rung in found.rungs]
    return [one for one in some if len(one[2].s)][:_MOST_PANELS]


def draw(results: Results, findings: Sequence[Finding]) -> Any:
    """Draw a panel a level: trials, their running median, its interval and 10 % about it."""
    import altair as alt

    found = networks(results)
    curves = [] if found is None else _curves(found)
    if found is None or not curves:
        return None
    columns = min(_COLUMNS, len(curves))
    gutter = _GUTTER * columns
    most = MOST_MARKS // len(curves)
    panels = [
        _panel(ladder, rung, curve, found, most).properties(
            width=panel_width(columns, gutter), height=_HEIGHT, title=_title(ladder, rung)
        )
        for ladder, rung, curve in curves
    ]
    rows = [
        alt.hconcat(*panels[i : i + columns], spacing=10) for i in range(0, len(panels), columns)
    ]
    return styled(alt.vconcat(*rows, spacing=10), columns=columns, gutter=gutter, stack=True)


def _title(ladder: Ladder, rung: Rung) -> str:
    return f"{rung.level.name}, {ladder.where}" if ladder.where else rung.level.name


def _panel(ladder: Ladder, rung: Rung, curve: Curve, found: Networks, most: int) -> Any:
    import altair as alt

    scale, unit = scale_for([float(curve.median[-1])], found.basis.unit)
    records = [
        {
            "s": int(s),
            **{
                key: float(f"{float(v) / scale:.6g}")
                for key, v in (
                    ("low", low), ("high", high), ("median", m),
                    ("below", m * (1 - BOUND)), ("above", m * (1 + BOUND)),
                )
            },
        }
        for s, low, high, m in zip(curve.s, curve.low, curve.high, curve.median, strict=True)
    ]  # fmt: skip
    step = max(1, rung.n // most)
    dots = [
        {"s": i + 1, "value": float(f"{v / scale:.6g}")}
        for i, v in enumerate(rung.values)
        if i % step == 0
    ]
    x = alt.X(
        "s:Q",
        title="trials so far",
        scale=alt.Scale(domain=[1, rung.n], nice=False),
        axis=alt.Axis(tickCount=4, format=",d", grid=False),
    )
    y: dict[str, Any] = {
        "title": unit,
        "scale": alt.Scale(zero=False, nice=True),
        "axis": alt.Axis(tickCount=5, minExtent=30),
    }
    base = alt.Chart(data(records))
    tip = [
        alt.Tooltip("s:Q", title="trials"),
        *(alt.Tooltip(f"{key}:Q", format=".4~g") for key in ("low", "median", "high")),
    ]
    area = base.mark_area(color=colour("s0"), opacity=0.28).encode(
        x=x, y=alt.Y("low:Q", **y), y2="high:Q", tooltip=tip
    )
    points = alt.Chart(data(dots)).mark_point(
        filled=True, size=12, opacity=0.4, color=colour("quiet")
    )
    line = base.mark_line(color=colour("s0"), strokeWidth=2)
    bounds = base.mark_line(color=colour("mark"), strokeWidth=1.2, strokeDash=[2, 3])
    return alt.layer(
        area,
        points.encode(x=x, y=alt.Y("value:Q", **y)),
        bounds.encode(x=x, y=alt.Y("below:Q", **y)),
        bounds.encode(x=x, y=alt.Y("above:Q", **y)),
        line.encode(x=x, y=alt.Y("median:Q", **y), tooltip=tip),
    )


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the first interval and the last were at each level."""
    found = networks(results)
    curves = [] if found is None else _curves(found)
    if found is None or not curves:
        return (message("network_chart.running.nothing"),)
    said = [
        message("network_chart.running.drawn", metric=found.basis.metric, bound=Chosen(BOUND)),
        *(
            message(
                "network_chart.running.level",
                level=_title(ladder, rung),
                first=_amount(curve, 0, found.basis.unit),
                few=int(curve.s[0]),
                last=_amount(curve, -1, found.basis.unit),
                all=int(curve.s[-1]),
            )
            for ladder, rung, curve in curves
        ),
    ]
    if len(found.rungs) > len(curves):
        said.append(message("network_chart.more_levels", n=len(found.rungs) - len(curves)))
    return tuple(said)


def _amount(curve: Curve, at: int, unit: str) -> Amount:
    return Amount(float(curve.median[at]), unit, float(curve.low[at]), float(curve.high[at]))


UNIT = ChartUnit(
    description=Description(
        name="network_running",
        title="The median as trials are added, with its interval and 10 % about it",
        question="Does every trial begin with the same network?",
        source="CLOUDNET, Figure 19",
    ),
    draw=draw,
    alternative=alternative,
)
