"""The figures of a single cell, which is compared with nothing."""

from __future__ import annotations

import math

from msgspec import UNSET

from tare.experiment import request_quantiles
from tare.experiment.findings.cells import answer_metric
from tare.experiment.findings.disturbance import disturbance, said
from tare.experiment.findings.finding import FindingUnit
from tare.experiment.findings.known import FEWEST_FOR_QUANTILES, Known, amount, exceeded, know
from tare.experiment.findings.level_names import unit_of
from tare.experiment.results import Results
from tare.registry import Description
from tare.render import words
from tare.results.finding import Column, Estimate, Finding, Table
from tare.results.message import Message, message
from tare.statistics.intervals import p10_and_p90
from tare.units import percent, span

_DESCRIPTION = Description(
    name="single",
    title="The requested quantile of every requested metric",
    question="How much is it?",
    source="order statistics, adjusted for autocorrelation",
)


def find(results: Results) -> Finding | None:
    """Give the figures of an experiment that has a single cell."""
    if len(results.levels("cell")) != 1 or results.experiment.stopping.compare:
        return None
    found = known(results)
    if not found:
        return None
    first = found[0]
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=message("What is the {name}?", name=first.name),
        answer=(_figure(first), *_range(first, results), said(disturbance(results))),
        verdict="inconclusive" if first.interval.low is None else "none",
        settle=first.interval.refusal,
        summary=_figure(first),
        basis=f"{first.metric} ({first.source})",
        estimates=tuple(_estimate(one) for one in found),
        tables=(_table(found),),
        caveats=tuple(
            message("{name}: {why}", name=one.name, why=one.refusal) for one in found if one.refusal
        ),
    )


def known(results: Results) -> list[Known]:
    """Return how well each requested metric is known; those without values are left out."""
    stopping = results.experiment.stopping
    found = []
    for metric in (answer_metric(results), *stopping.also):
        for source in results.sources(metric)[:1]:
            values = results.values(metric, source)
            found.append(
                know(
                    metric, source, values["value"], stopping, by_hand=results.by_hand,
                    few=request_quantiles.few_in(results, metric), above=values["above"],
                )
            )  # fmt: skip
    return found


def _figure(one: Known) -> Message:
    i = one.interval
    return message(
        "{name}: {figure}{% if interval %} (95 %{% if early %}, in this session{% endif %})"
        "{% else %}, no interval{% endif %}, {n | counted('trial')}"
        "{% if exceeded is defined %}; {exceeded}{% endif %}",
        name=one.name,
        figure=amount(unit_of(one.metric), i),
        interval=i.low is not None,
        early=i.early,
        n=i.n,
        **({"exceeded": exceeded(one)} if one.killed else {}),
    )


def _range(one: Known, results: Results) -> list[Message]:
    """Give the range of most values, p10 to p90; of few trials, that of all."""
    values = results.values(one.metric, one.source)["value"]
    if len(values) < 2:
        return []
    several = len(values) >= FEWEST_FOR_QUANTILES
    ends = p10_and_p90(values) if several else (float(values.min()), float(values.max()))
    # Both ends in one unit, with as many decimals as they need to differ.
    told = span(unit_of(one.metric), *ends, one.interval.above)
    return [
        message(
            "spread: {span} (p10–p90)" if several else "spread: {span} (least to most)", span=told
        )
    ]


def _estimate(one: Known) -> Estimate:
    i = one.interval
    return Estimate(
        name=words.text(one.name),
        levels={},
        value=None if math.isinf(i.estimate) else i.estimate,
        unit=unit_of(one.metric),
        low=i.low,
        high=None if one.is_open else i.high,
        open="high" if one.is_open else UNSET,
        confidence=i.confidence,
        method=i.method,
        n=i.n,
    )


def _table(found: list[Known]) -> Table:
    def precision(one: Known) -> str:
        width = one.interval.half_width
        return "–" if width is None else f"±{percent(width)}"

    return Table(
        title=message("Requested quantiles"),
        columns=(
            Column(key="what", title="quantity"),
            Column(key="figure", title="value (95 %)"),
            Column(key="precision", title="precision (longer side)"),
            Column(key="n", title="trials"),
            Column(key="source", title="source"),
        ),
        rows=tuple(
            {
                "what": words.text(one.name),
                "figure": str(one),
                "precision": precision(one),
                "n": one.interval.n,
                "source": one.source,
            }
            for one in found
        ),
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=2, find=find, of_rates=True, killed="used")
