"""The running median of each level, with its interval and error bounds: CLOUDNET's Figure 19."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.network_cells import Networks
from tare.experiment.results import Results
from tare.features.network.findings.charts import phrases
from tare.features.network.findings.charts.network_slowdown import networks
from tare.registry import Description
from tare.render.charts.lines import Axis, Line, lines
from tare.render.drawing import Chart
from tare.render.words import text
from tare.results.finding import Finding
from tare.results.message import Amount, Chosen, Message, message
from tare.statistics.confirm import Curve, prefixes
from tare.statistics.depletion import BOUND

_MOST_PANELS = 12


def _curves(found: Networks | None) -> list[tuple[str, Curve]]:
    rungs = [] if found is None else found.rungs
    some = [(text(ladder.named(rung.level)), prefixes(rung.values)) for ladder, rung in rungs]
    return [one for one in some if len(one[1].s)][:_MOST_PANELS]


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw a panel a level: the running median, its interval and 10 % about the median of all."""
    panels = []
    for title, curve in _curves(networks(results)):
        s, last = [int(n) for n in curve.s], float(curve.median[-1]) or 1.0
        running = (list(values / last) for values in (curve.median, curve.low, curve.high))
        bounds = [
            Line(f"{BOUND:.0%} {word}", [s[0], s[-1]], [1 + by] * 2)
            for word, by in (("below", -BOUND), ("above", BOUND))
        ]
        panels.append((title, [Line("running median", s, *running), *bounds]))
    if not panels:
        return None
    return lines(panels, Axis("trials so far", "1"), Axis("relative to the median of all", "1"))


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say what the first interval and the last were at each level."""
    found = networks(results)
    curves = _curves(found)
    if found is None or not curves:
        return (message("no level has enough trials for an interval"),)
    said = [
        message(
            "{metric | metric} as trials are added, relative to the median of all: the line "
            "is the median, the area its 95 % interval, and two lines are {bound} below and "
            "above",
            metric=found.basis.metric,
            bound=Chosen(BOUND),
        ),
        *(
            message(
                "{level}: {first} after {few | counted('trial')}{% if all > few %}, {last} "
                "after {all}{% endif %}",
                level=title,
                first=_amount(curve, 0, found.basis.unit),
                few=int(curve.s[0]),
                last=_amount(curve, -1, found.basis.unit),
                all=int(curve.s[-1]),
            )
            for title, curve in curves
        ),
    ]
    if len(found.rungs) > len(curves):
        said.append(message(phrases.MORE_LEVELS, n=len(found.rungs) - len(curves)))
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
