"""What few repetitions would have said, over the interval of all: CLOUDNET's Figure 3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.results import Results
from tare.features.network.findings.charts import phrases
from tare.features.network.findings.charts.network_slowdown import networks
from tare.features.network.findings.few_repetitions import (
    GROUPS,
    NAMES,
    QUANTILES,
    Few,
    few,
)
from tare.registry import Description
from tare.render.drawing import (
    MOST_MARKS,
    Chart,
    category,
    colour,
    field,
    label_axis,
    label_width,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import text
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message
from tare.units import quantity

#: Levels; each has two quantiles and two sizes of groups.
_MOST_LEVELS = 12
_ROW = 17
#: Classes of a group of repetitions: its value is inside or outside the interval of all
#: repetitions.
_INSIDE, _OUTSIDE = "inside", "outside"


def _drawn(results: Results) -> tuple[list[Few], str, int]:
    """Return what is drawn, the unit of its values, and how many levels are not drawn."""
    found = networks(results)
    if found is None:
        return [], "", 0
    every = few(found)
    levels = list(dict.fromkeys(_name(f) for f in every))
    kept = set(levels[:_MOST_LEVELS])
    return [f for f in every if _name(f) in kept], found.basis.unit, len(levels) - len(kept)


def _name(f: Few) -> str:
    return text(f.ladder.named(f.rung.level))


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel a quantile: rows of groups, over the interval of all."""
    found, unit, _ = _drawn(results)
    if not found:
        return None
    names = [_row(f) for f in found if f.quantile == QUANTILES[0]]
    label = label_width(names)
    panels = [_panel(q, found, unit, names, label) for q in QUANTILES]
    return styled({"hconcat": panels, "spacing": 14}, columns=2, gutter=label + 8)


def _row(f: Few) -> str:
    return f"{_name(f)} · {f.size}"


def _panel(
    quantile: float, every: Sequence[Few], unit: str, names: Sequence[str], label: int
) -> Chart:
    found = [f for f in every if f.quantile == quantile]
    # The panels share their rows.
    axis = label_axis(label, names) if quantile == QUANTILES[0] else None
    channels = {
        "y": field("row:N", sort=[*names], title=None, axis=axis, scale={"domain": [*names]}),
        "x": field(
            "value:Q",
            title="relative to the estimate of all",
            scale={"zero": False},
            axis={"tickCount": 5, "format": ".2~f", "grid": False, "labelFlush": True},
        ),
    }
    intervals = [
        {"row": _row(f), "value": low / f.all.estimate, "high": high / f.all.estimate}
        for f in found
        for low, high in [f.ends]
    ]
    key = {"title": "interval of all (area)"}
    colours = [colour("quiet"), colour("mark")]
    group = {
        "color": category("where", [_INSIDE, _OUTSIDE], colours, legend=key),
        "tooltip": [field(f"{key}:N") for key in ("row", "group", "measured", "where")],
    }
    return layer(
        mark("bar", {"x2": field("high")}, intervals, height=_ROW - 3, color=colour("band")),
        mark("tick", group, _groups(found, unit), thickness=1.6, height=_ROW - 7),
        channels=channels,
        width=panel_width(2, label + 8),
        height=_ROW * len(names),
        title=NAMES[quantile],
    )


def _groups(found: Sequence[Few], unit: str) -> list[dict[str, Any]]:
    """Return a record a group; of very many, evenly chosen ones."""
    some = []
    most = max(1, MOST_MARKS // (len(QUANTILES) * len(found)))
    for f in found:
        for number in np.unique(np.linspace(0, f.groups - 1, most).round().astype(int)):
            value = float(f.each[number])
            some.append(
                {
                    "row": _row(f),
                    "group": int(number) + 1,
                    "value": float(f"{value / f.all.estimate:.6g}"),
                    "measured": quantity(value, unit),
                    "where": _OUTSIDE if f.is_outside[number] else _INSIDE,
                }
            )
    return some


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say how many groups are outside at each level."""
    found, _, more = _drawn(results)
    if not found:
        return (message(phrases.NOTHING),)
    said = [
        message(
            "the area is the 95 % interval of all repetitions; a mark is the quantile of one "
            "group of consecutive ones, and stands out where it is outside. A row has groups of "
            "{sizes | listing}",
            sizes=list(GROUPS),
        )
    ]
    for level in dict.fromkeys(map(_name, found)):
        for quantile in QUANTILES:
            of = [f for f in found if _name(f) == level and f.quantile == quantile]
            said.append(
                message(
                    "{level}, {name}: outside are {outside | listing}",
                    level=level,
                    name=NAMES[quantile],
                    outside=[
                        message(
                            "{outside} of groups of {size}",
                            size=f.size,
                            outside=Amount(f.outside / f.groups, "share"),
                        )
                        for f in of
                    ],
                )
            )
    if more:
        said.append(message(phrases.MORE_LEVELS, n=more))
    return tuple(said)


UNIT = ChartUnit(
    description=Description(
        name="few_repetitions",
        title="Groups of 3 and of 10 repetitions, over the interval of all",
        question="Would few repetitions have misled?",
        source="CLOUDNET, Figure 3",
    ),
    draw=draw,
    alternative=alternative,
)
