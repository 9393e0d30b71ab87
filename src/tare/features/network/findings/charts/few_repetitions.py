"""What few repetitions would have said, over the interval of all: CLOUDNET's Figure 3."""

from __future__ import annotations

from collections.abc import Sequence

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
from tare.render.charts.strips import Names, Strip, strips
from tare.render.drawing import MOST_MARKS, Chart
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message

#: Levels; each has two quantiles and two sizes of groups.
_MOST_LEVELS = 12


def _drawn(results: Results) -> tuple[list[Few], int]:
    """Return what is drawn, and how many levels are not."""
    found = networks(results)
    if found is None:
        return [], 0
    every = few(found)
    levels = list(dict.fromkeys(f.name for f in every))
    kept = set(levels[:_MOST_LEVELS])
    return [f for f in every if f.name in kept], len(levels) - len(kept)


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel a quantile: rows of groups, over the interval of all."""
    found, _ = _drawn(results)
    if not found:
        return None
    most = max(1, MOST_MARKS // len(found))
    panels = [
        (NAMES[quantile], [_strip(f, most) for f in found if f.quantile == quantile])
        for quantile in QUANTILES
    ]
    names = Names("groups", "group", "estimate of all", "outside", "inside")
    return strips(panels, "relative to the estimate of all", names)


def _strip(f: Few, most: int) -> Strip:
    """Return a mark a group; of very many, evenly chosen ones."""
    kept = np.unique(np.linspace(0, f.groups - 1, most).round().astype(int))
    middle = f.all.estimate
    low, high = f.ends
    values, is_outside = (f.each / middle)[kept].tolist(), f.is_outside[kept].tolist()
    return Strip(f"{f.name} · {f.size}", 1.0, values, is_outside, (low / middle, high / middle))


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say how many groups are outside at each level."""
    found, more = _drawn(results)
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
    for level in dict.fromkeys(f.name for f in found):
        for quantile in QUANTILES:
            of = [f for f in found if f.name == level and f.quantile == quantile]
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
