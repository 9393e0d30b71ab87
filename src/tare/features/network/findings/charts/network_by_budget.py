"""Programs without a tight and right median, by initial budget: CLOUDNET's Figure 19, bottom."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.results import Results
from tare.features.network.findings.by_budget import by_level, counts
from tare.features.network.findings.charts.network_slowdown import networks
from tare.registry import Description
from tare.render.drawing import (
    SERIES,
    Chart,
    category,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.results.finding import Finding
from tare.results.message import Message, message

_GUTTER, _HEIGHT = 64, 200
#: Reasons, bottom segment first.
_WRONG, _WIDE = "median off by more than 10 %", "right, but interval wider than 10 %"


def _counts(results: Results) -> list[tuple[str, int, int, int]]:
    """Return each budget with its wrong medians, its wide intervals, and all programs."""
    found = networks(results)
    levels = {} if found is None else by_level(found)
    return [(level.name, *counts(some), len(some)) for level, some in levels.items()]


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a bar per budget, of two parts."""
    found = _counts(results)
    if not found:
        return None
    names = [name for name, *_ in found]
    records = [
        {"budget": name, "why": why, "n": n}
        for name, wrong, wide, _ in found
        for why, n in ((_WRONG, wrong), (_WIDE, wide))
    ]
    most = max(of for *_, of in found)
    channels = {
        "x": field("budget:N", sort=names, title="budget of the last repetitions",
                   axis={"labelAngle": 0}),
        "y": field("n:Q", title="programs", scale={"domain": [0, most]},
                   axis={"tickMinStep": 1, "format": "d"}),
        "color": category("why", [_WRONG, _WIDE], SERIES, legend={"title": None}),
        "tooltip": [field("budget:N"), field("why:N"), field("n:Q")],
    }  # fmt: skip
    chart = layer(mark("bar", channels, records), width=panel_width(1, _GUTTER), height=_HEIGHT)
    return styled(chart, columns=1, gutter=_GUTTER)


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say the counts of each budget."""
    found = _counts(results)
    if not found:
        return (message("no program ran with two budgets that each trial begins with"),)
    return tuple(
        message(
            "down to {level}: of {of | counted('program')}, {wrong} with a median off by "
            "more than 10 %, {wide} with a right median and an interval wider than 10 %",
            level=name,
            wrong=wrong,
            wide=wide,
            of=of,
        )
        for name, wrong, wide, of in found
    )


UNIT = ChartUnit(
    description=Description(
        name="network_by_budget",
        title="Programs without a tight and right median, by initial budget",
        question="Does every trial begin with the same network?",
        source="CLOUDNET, Figure 19",
    ),
    draw=draw,
    alternative=alternative,
)
