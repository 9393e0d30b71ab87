"""Slowdown over initial budgets, a ladder: CLOUDNET's Figures 16(a) and 17(a)."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings.charts.chart import ChartUnit
from tare.experiment.findings.network_cells import Networks, applies, networks_of
from tare.experiment.results import Results
from tare.features.network.findings.charts import phrases
from tare.features.network.findings.need import needs
from tare.features.network.findings.network_slowdown import Slowed, slowdowns
from tare.registry import Description
from tare.render.charts.by_size import by_size
from tare.render.drawing import Chart
from tare.results.finding import Finding
from tare.results.message import Amount, Message, message

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
    several = len({name for name, _ in shown}) > 1
    rows = [
        {"panel": "", "series": name if several else "all", "x": (s.level.budget_bits or 0) / _GBIT,
         "at": s.comparison.ratio, "low": s.comparison.low, "high": s.comparison.high}
        for name, s in shown
    ]  # fmt: skip
    growth = 1 + results.experiment.margin
    return by_size(
        rows, f"ratio to {found.reference.name}", sizes="initial budget (Gbit)", logarithmic=True,
        band=(1 / growth, growth), rules=[bits / _GBIT for bits in _needed(found)],
    )  # fmt: skip


def _needed(found: Networks) -> list[float]:
    """Return the most that a trial takes from its bucket, where larger budgets are enough."""
    return [n.bits for n in needs(found) if n.bits and n.bounded]


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
    wanted = [Amount(bits, "bits") for bits in _needed(found)]
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
