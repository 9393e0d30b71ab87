"""How long does it take: what is known of a command that is compared with nothing."""

from __future__ import annotations

from tare.findings.cells import answer_metric
from tare.findings.disturbance import Disturbance, disturbance, said
from tare.findings.finding import FindingUnit
from tare.findings.known import Known, know, spread
from tare.findings.phrasing import unit_of
from tare.frames import Results
from tare.registry import Description
from tare.render import words
from tare.results.finding import Column, Estimate, Finding, Table
from tare.results.message import message
from tare.units import counted, percent

_DESCRIPTION = Description(
    name="single",
    title="The quantile that was asked for, of every metric that was asked for",
    question="How much is it?",
    source="order statistics, adjusted for autocorrelation",
)


def find(results: Results) -> Finding | None:
    """Give the figures of an experiment that has a single cell."""
    if results.trial_table["cell"].nunique() != 1 or results.experiment.stopping.compare:
        return None
    found = known(results)
    if not found:
        return None
    first, disturbed = found[0], disturbance(results)
    return Finding(
        name=_DESCRIPTION.name,
        closed=False,
        question=f"What is the {first.name}?",
        answer=f"{_sentence(first)} {_spread(first, results)} {words.sentence(said(disturbed))}",
        verdict="inconclusive" if first.interval.low is None else "none",
        summary=_sentence(first),
        basis=f"{first.metric} ({first.source})",
        estimates=tuple(_estimate(one) for one in found),
        tables=(_table(found), *([] if disturbed is None else [_disturbances(disturbed)])),
        caveats=tuple(f"{_capital(one.name)}: {one.refusal}." for one in found if one.refusal),
    )


def known(results: Results) -> list[Known]:
    """Return how well each metric that was asked for is known; those without values left out."""
    stopping = results.experiment.stopping
    found = []
    for metric in (answer_metric(results), *stopping.also):
        for source in results.sources(metric)[:1]:
            values = results.values(metric, source)["value"].to_numpy(dtype=float)
            found.append(know(metric, source, values, stopping, by_hand=results.by_hand))
    return found


def _sentence(one: Known) -> str:
    i = one.interval
    sure = ", no interval" if i.low is None else " (95 %)"
    return f"{_capital(one.name)}: {one}{sure}, {counted(i.n, 'trial')}."


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _spread(one: Known, results: Results) -> str:
    values = results.values(one.metric, one.source)["value"].to_numpy(dtype=float)
    return f"Spread: {spread(one.metric, values)}." if len(values) > 1 else ""


def _estimate(one: Known) -> Estimate:
    i = one.interval
    return Estimate(
        name=one.name,
        levels={},
        value=i.estimate,
        unit=unit_of(one.metric),
        low=i.low,
        high=i.high,
        confidence=i.confidence,
        method=i.method,
        n=i.n,
    )


def _table(found: list[Known]) -> Table:
    def precision(one: Known) -> str:
        width = one.interval.half_width
        return "–" if width is None else f"±{percent(width)}"

    return Table(
        title="What was asked for",
        columns=(
            Column(key="what", title="figure"),
            Column(key="figure", title="95 %"),
            Column(key="precision", title="precision"),
            Column(key="n", title="trials"),
            Column(key="source", title="source"),
        ),
        rows=tuple(
            {
                "what": one.name,
                "figure": str(one),
                "precision": precision(one),
                "n": one.interval.n,
                "source": one.source,
            }
            for one in found
        ),
    )


def _disturbances(found: Disturbance) -> Table:
    """Lay out what was looked at, and what could not be."""
    return Table(
        title="What took time from the trials",
        columns=(
            Column(key="what", title="what"),
            Column(key="share", title="share of the time", unit="1"),
            Column(key="missing", title="not measured"),
        ),
        rows=tuple(
            {
                "what": words.text(message(f"disturbance.name.{what}")),
                "share": found.measured.get(what),
                "missing": words.text(found.missing[what]) if what in found.missing else None,
            }
            for what in {**found.measured, **found.missing}
        ),
        note="Stolen time: share of the time of all CPUs. Caches, memory bandwidth and clock rates "
        "are not measured.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=2, find=find, of_rates=True)
