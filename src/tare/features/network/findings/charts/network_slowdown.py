"""Slowdown over initial budgets, a ladder: CLOUDNET's Figures 16(a) and 17(a)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.network_cells import Networks, applies, networks_of
from tare.experiment.results import Results
from tare.features.network.findings.charts import phrases
from tare.features.network.findings.need import needs
from tare.features.network.findings.network_slowdown import Slowed, slowdowns
from tare.registry import Description
from tare.render.charts.axes import logarithmic, sizes_axis
from tare.render.drawing import (
    SERIES,
    SHAPES,
    Chart,
    category,
    colour,
    field,
    layer,
    mark,
    panel_width,
    styled,
)
from tare.render.words import shown as written
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message

_GUTTER, _HEIGHT = 64, 230
#: Lines of one chart.
_MOST = 8
_GBIT = 1e9


def networks(results: Results) -> Networks | None:
    """Return the ladders, where there are any."""
    found = networks_of(results) if applies(results) else None
    return found if isinstance(found, Networks) else None


def _shown(found: Networks) -> list[tuple[str, Slowed]]:
    """Give the comparisons of buckets with the reference, each with its line's name."""
    where = {tuple(x.levels.items()): x.where or "all trials" for x in found.ladders[:_MOST]}
    return [
        (where[tuple(s.pair.levels.items())], s)
        for s in slowdowns(found)
        if s.reference == found.reference
        and s.level.budget_bits
        and tuple(s.pair.levels.items()) in where
    ]


def draw(results: Results, findings: Sequence[Finding]) -> Chart | None:
    """Draw ratios to the reference over the initial budget, both logarithmic."""
    found = networks(results)
    shown = [] if found is None else _shown(found)
    if found is None or len({s.level.budget_bits for _, s in shown}) < 2:
        return None
    names = list(dict.fromkeys(name for name, _ in shown))
    records = [_record(name, s) for name, s in shown]
    margin = results.experiment.margin
    bounds = [r[k] for r in records for k in ("middle", "low", "high")]
    y = logarithmic([*bounds, 1 / (1 + margin), 1 + margin], f"ratio to {found.reference.name}")
    x = sizes_axis([r["budget"] for r in records], "initial budget (Gbit)")
    legend = {"title": None} if len(names) > 1 else None
    tint, shape = (category("name", names, values, legend=legend) for values in (SERIES, SHAPES))
    band = [{"low": 1 / (1 + margin), "high": 1 + margin}]
    ends = {"y": field("low:Q", **y), "y2": field("high")}
    middle = {"y": field("middle:Q", **y)}
    chart = layer(
        mark("rect", ends, band, color=colour("band"), opacity=0.9),
        *_needed(found, x),
        layer(
            mark("rule", ends, strokeWidth=2),
            mark("line", middle, strokeWidth=1.3, opacity=0.7),
            mark("point", {**middle, "shape": shape}, filled=True, size=62, opacity=1),
            rows=records,
            channels={
                "x": field("budget:Q", **x),
                "color": tint,
                "tooltip": [field("name:N", title="where"), field("told:N", title="ratio")],
            },
        ),
        width=panel_width(1, _GUTTER),
        height=_HEIGHT,
    )
    return styled(chart, columns=1, gutter=_GUTTER)


def _needed(found: Networks, x: dict[str, Any]) -> list[Chart]:
    """Draw a rule where trials no longer run dry."""
    low, high = x["scale"]["domain"]
    wanted = [
        {"budget": n.bits / _GBIT}
        for n in needs(found)
        if n.bits and n.bounded and low < n.bits / _GBIT < high
    ]
    if not wanted:
        return []
    tip = field("budget:Q", title="most that a trial takes (Gbit)", format=".3~g")
    at = {"x": field("budget:Q", **x), "tooltip": [tip]}
    return [mark("rule", at, wanted, strokeDash=[4, 3], color=colour("mark"))]


def _record(name: str, s: Slowed) -> dict[str, Any]:
    c = s.comparison
    return {
        "name": name,
        "budget": (s.level.budget_bits or 0) / _GBIT,
        "middle": float(f"{c.ratio:.6g}"),
        "low": None if c.low is None else float(f"{c.low:.6g}"),
        "high": None if c.high is None else float(f"{c.high:.6g}"),
        "told": f"{s.level.name}: {written(s.change)}, n = {c.n}",
    }


def alternative(results: Results, findings: Sequence[Finding]) -> tuple[Message, ...]:
    """Say each line's ratios."""
    found = networks(results)
    if found is None:
        return (message(phrases.NOTHING),)
    shown = _shown(found)
    names = dict.fromkeys(name for name, _ in shown)
    said = [
        message(
            "ratio of the times at each initial budget to those of {reference}, with 95 % "
            "intervals, on logarithmic axes; within the band, times are equivalent",
            reference=found.reference.name,
        )
    ]
    for name in names:
        ratios = [
            message("{level} {ratio}", level=s.level.name, ratio=s.change)
            for of, s in shown
            if of == name
        ]
        where = name if len(names) > 1 else None
        said.append(
            message(
                "{% if where %}{where}: {% endif %}{ratios | join('; ')}",
                where=where,
                ratios=ratios,
            )
        )
    wanted = [Amount(n.bits, "bits") for n in needs(found) if n.bits and n.bounded]
    if wanted:
        said.append(
            message(
                "dashed lines: what trials take from their bucket, {bits | listing}", bits=wanted
            )
        )
    return tuple(said)


UNIT = ChartUnit(
    description=Description(
        name="network_slowdown",
        title="Slowdown by initial budget",
        question="How much does the network slow it down?",
        source="CLOUDNET, Figures 16 and 17",
    ),
    draw=draw,
    alternative=alternative,
)
